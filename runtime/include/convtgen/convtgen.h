/* convtgen: kernels for transposed convolutions, generated for one layer each, compiled and launched in this process.
 *
 *     convtgen_layer* layer = NULL;
 *     convtgen_device* device = NULL;
 *     convtgen_kernel* kernel = NULL;
 *     const convtgen_tensors tensors = {.struct_size = sizeof(tensors), .x = x, .weight = weight, .y = y,
 *                                       .workspace = workspace, .workspace_bytes = workspace_bytes};
 *     const convtgen_sizes sizes = {batch, {1, height, width}};
 *     if (convtgen_layer_parse("conv_transpose2d 512 -> 256; kernel 4; stride 2; padding 1; input ?x?x?", NULL,
 *                              &layer) ||
 *         convtgen_device_open("auto", &device) ||
 *         convtgen_prepare(device, layer, CONVTGEN_FORWARD, &kernel) ||
 *         convtgen_launch(kernel, &tensors, &sizes, stream)) {
 *       fprintf(stderr, "%s\n", convtgen_last_error());
 *     }
 *
 * Every function may be called from any thread, on the same handles too, except the one that destroys a handle: by
 * then nobody else may use it. A function that can fail returns a convtgen_status; convtgen_last_error() is the
 * message, which names the argument or the field of the layer and what would be legal. What a function returns through
 * a pointer is NULL or zero if it fails. Nothing throws, aborts or prints (but see convtgen_set_log).
 * A handle that was destroyed, or never was one, is CONVTGEN_INVALID_ARGUMENT, never another object: handles are
 * numbers that this process uses once, not addresses.
 *
 * A child of fork() may use the library, but not CUDA once its parent has started it (CONVTGEN_FORKED). No other thread
 * may be inside a function of this library while one forks, unless the child does nothing but exec: the child would
 * have the locks of the library, of NVRTC, of the driver and of callbacks as they were at that moment, without the
 * threads that would release them, and could wait for ever. No library can hold all of these while a process forks.
 *
 * No CUDA header and no CUDA library is needed to build or to load this. The driver and NVRTC are opened when a GPU is,
 * and NVRTC only where a kernel is not in the store of compiled kernels (see "Environment" below).
 *
 * Environment, read when it is needed:
 *   CONVTGEN_LOG          what goes to standard error: off, error, warning (the default), info, debug
 *   CONVTGEN_DUMP         a folder where the sources of all kernels that are prepared are written
 *   CONVTGEN_CACHE_DIR    the store's folder; else $XDG_CACHE_HOME/convtgen or $HOME/.cache/convtgen
 *   CONVTGEN_CACHE_SIZE   its bound in bytes ("500M", "2G"); 1 GiB if it is not set
 *   CONVTGEN_ARCHITECTURE the older chip ("sm_80") whose kernels a GPU runs, as PTX; unless it is set, its own. On
 *                         the host device the chip whose source runs. It is read when a device is opened
 *   CONVTGEN_NVRTC        the NVRTC library to use, or CONVTGEN_NVRTC_DIR a folder with one; where one is set, no other
 *                         place is searched
 *   CXX                   the C++ compiler of the host device; else g++, c++ or clang++
 *   CONVTGEN_CUDA_DRIVER  a driver library to use
 */
#ifndef CONVTGEN_CONVTGEN_H
#define CONVTGEN_CONVTGEN_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CONVTGEN_API __attribute__((visibility("default")))
#else
#define CONVTGEN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Versions ------------------------------------------------------------------------------------------------- */

/* The ABI: up to 1.0 each minor version has one of its own, which its library's SONAME names (libconvtgen.so.0.2).
 * Within a minor version functions and enumerators are added, and nothing else changes: a program that was built
 * against one patch version runs with every later one. A struct begins with its size, so that a program that was built
 * against another minor version gets an error that says so. docs/migration.md lists what each minor version changed. */

/** Of this header. */
#define CONVTGEN_VERSION_MAJOR 0
#define CONVTGEN_VERSION_MINOR 2
#define CONVTGEN_VERSION_PATCH 0

/** Of the library that is loaded: 10000 * major + 100 * minor + patch. */
CONVTGEN_API int convtgen_version(void);
/** The same as text, "0.2.0". */
CONVTGEN_API const char* convtgen_version_text(void);

/* ---- Errors --------------------------------------------------------------------------------------------------- */

typedef enum convtgen_status {
  CONVTGEN_OK = 0,
  CONVTGEN_INVALID_ARGUMENT = 1, /**< a null, negative, contradicting or overflowing argument, or a freed handle */
  CONVTGEN_INVALID_LAYER = 2,    /**< a text that is no layer, or a layer that breaks a limit */
  CONVTGEN_UNSUPPORTED = 3,      /**< a legal layer without a kernel */
  CONVTGEN_NO_DEVICE = 4,        /**< no driver, or no such GPU */
  CONVTGEN_NO_COMPILER = 5,      /**< no NVRTC to compile a kernel that is not in the store; "host": no C++ compiler */
  CONVTGEN_COMPILE_FAILED = 6,   /**< with the compiler's log; a source that it refused is not tried again */
  CONVTGEN_DRIVER = 7,           /**< a call of the CUDA driver failed */
  CONVTGEN_NOT_PREPARED = 8,     /**< a launch in a capture of a kernel that is not ready: convtgen_prepare() first */
  CONVTGEN_CANCELLED = 9,        /**< a callback asked for it */
  CONVTGEN_OUT_OF_MEMORY = 10,
  CONVTGEN_FORKED = 11,       /**< CUDA was started in the parent of this process before fork() */
  CONVTGEN_KERNEL_FAULT = 12, /**< the host device found a fault in a kernel: a bug of convtgen */
  CONVTGEN_INTERNAL = 13      /**< a bug of convtgen */
} convtgen_status;

/** "invalid argument", ... of a convtgen_status; "unknown status" of other numbers. */
CONVTGEN_API const char* convtgen_status_text(int status);

/** What the last call of this thread that failed has to say; "" where none has. Valid until the next one that fails. */
CONVTGEN_API const char* convtgen_last_error(void);

/* ---- Layers --------------------------------------------------------------------------------------------------- */

/** A layer that is checked. Immutable. */
typedef struct convtgen_layer convtgen_layer;

/** A size that is known only at run time: "?" in the language. */
#define CONVTGEN_DYNAMIC (-1)

/** What a kernel computes. Each direction takes and gives tensors of certain roles (convtgen_tensors). */
typedef enum convtgen_direction
#ifdef __cplusplus
    : int /* each int is a value of it, so that a wrong one is an error and not undefined */
#endif
{ CONVTGEN_FORWARD = 0,     /**< x, weight, bias -> y */
  CONVTGEN_GRAD_INPUT = 1,  /**< grad_y, weight -> grad_x */
  CONVTGEN_GRAD_WEIGHT = 2, /**< x, grad_y -> grad_weight, and grad_bias where the layer has a bias */
  CONVTGEN_GRAD_BIAS = 3    /**< grad_y -> grad_bias alone */
} convtgen_direction;

/** Axes of arrays of axes: depth, height, width. A layer of one dimension uses the last, one of two the last two. */
#define CONVTGEN_AXES 3

/** One axis of a layer; the words are the language's (docs/language.md). */
typedef struct convtgen_axis {
  int64_t kernel, stride;
  int64_t padding_before, padding_after;
  int64_t output_padding, dilation;
  int64_t extent; /**< of the input, or CONVTGEN_DYNAMIC */
} convtgen_axis;

/** A layer, field by field. */
typedef struct convtgen_layer_fields {
  size_t struct_size; /**< sizeof(convtgen_layer_fields), as convtgen_layer_fields_init sets it */
  int32_t dimensions; /**< 1, 2 or 3 */
  int32_t bias;       /**< 0 or 1 */
  int64_t in_channels, out_channels, groups;
  int64_t batch;                     /**< or CONVTGEN_DYNAMIC */
  convtgen_axis axes[CONVTGEN_AXES]; /**< depth, height, width; those that are not used stay as init leaves them */
  const char* fuse;                  /**< "relu", "leaky_relu(0.2), scale(0.5)"; NULL: none */
  const char* dtype;                 /**< "f64", "f32", "f16", "bf16"; NULL: "f32" */
  const char* compute;               /**< "f32", "tf32", "f32x3", ...; NULL: as the dtype */
  const char* layout;                /**< "nchw", "nhwc"; NULL: "nchw" */
  const char* weight_layout;         /**< "contiguous", "channels_last"; NULL: "contiguous" */
  const char* directions;            /**< "forward, grad_input"; NULL: "forward" */
  int32_t streaming;                 /**< 0 or 1: calls of chunks of its input give the same bits (convtgen_stream) */
  const char* fuse_input;            /**< activations of x as it is read, as in `fuse`; NULL: none */
  int64_t x_channels, y_channels;    /**< of the tensors that x and y are channels of; 0: x and y are whole tensors */
} convtgen_layer_fields;

/** Fills in the defaults: two dimensions, kernels, strides, dilations and channels 1, no padding, one group, all sizes
 * open, no bias, f32, nchw, contiguous weights, forward. Errors: `fields` is NULL. */
CONVTGEN_API convtgen_status convtgen_layer_fields_init(convtgen_layer_fields* fields);

/** Makes a layer of fields. Errors: CONVTGEN_INVALID_LAYER names the field that breaks a limit. */
CONVTGEN_API convtgen_status convtgen_layer_create(const convtgen_layer_fields* fields, convtgen_layer** layer);

/** Makes a layer of text: one layer in its one-line form ("conv_transpose2d 64 -> 32; kernel 4; stride 2") where `name`
 * is NULL and the text begins so; else a whole layer file: its layer `name` is taken, or with NULL the only
 * one. Errors: CONVTGEN_INVALID_LAYER with all errors of the text, each with line, column, the line itself and a caret.
 */
CONVTGEN_API convtgen_status convtgen_layer_parse(const char* text, const char* name, convtgen_layer** layer);

/** The canonical form: equal layers have equal texts. Valid while the layer is; "" for an invalid handle. */
CONVTGEN_API const char* convtgen_layer_text(const convtgen_layer* layer);

/** The sizes of x in a call, whatever its direction. CONVTGEN_DYNAMIC stands for the layer's own, where it has one. */
typedef struct convtgen_sizes {
  int64_t batch;                  /**< at least 0 */
  int64_t extents[CONVTGEN_AXES]; /**< depth, height, width, at least 1; 1 on an axis that the layer does not use */
} convtgen_sizes;

/** All extents of one call of a layer, in elements. x and grad_x are (batch, in_channels, in...), y and grad_y (batch,
 * out_channels, out...), with the axes that the layer has, in this order for nchw and with channels last for nhwc.
 * weight and grad_weight are (in_channels, out_channels / groups, kernel...), or (in_channels, kernel...,
 * out_channels / groups) where the layer's weight_layout is channels_last; bias and grad_bias are (out_channels). All
 * are contiguous, except x and y of a layer with x_channels or y_channels, and their gradients: their pointer is that
 * of their first channel in a tensor of so many. */
typedef struct convtgen_shape {
  size_t struct_size; /**< to be set to sizeof(convtgen_shape) before the call */
  int64_t batch;
  int64_t in_channels, out_channels;
  int64_t in[CONVTGEN_AXES], out[CONVTGEN_AXES]; /**< depth, height, width; 1 on an axis that the layer does not use */
  int64_t x_elements, weight_elements, bias_elements, y_elements; /**< of their gradients too */
  int64_t element_bytes;                                          /**< of all tensors alike */
} convtgen_shape;

/** The shape for an input of these sizes; NULL stands for the layer's own.
 * Errors: CONVTGEN_INVALID_ARGUMENT for a size that contradicts the layer, gives no output, or overflows. */
CONVTGEN_API convtgen_status convtgen_layer_shape(const convtgen_layer* layer, const convtgen_sizes* sizes,
                                                  convtgen_shape* shape);

/** How a layer with `streaming` runs while its input arrives. A frame is a position of x.
 *
 * After n frames, outputs up to max(0, n * stride - delay) are final; once no more come, up to
 * max(0, n * stride - delay + rest). For more frames, call the layer with the last min(n, context) frames before them;
 * at the end, with these alone. Output 0 of such a call is output (n - min(n, context)) * stride of the sequence. All
 * calls are of one kernel, and each output has the bits that one call with the whole sequence gives it. Where no
 * outputs become final there is nothing to call. A caller keeps `context` frames and nothing else. */
typedef struct convtgen_stream {
  size_t struct_size; /**< to be set to sizeof(convtgen_stream) before the call */
  int64_t context;
  int64_t stride;
  int64_t delay;
  int64_t rest;
} convtgen_stream;

/** Errors: CONVTGEN_INVALID_ARGUMENT for a layer without `streaming`. */
CONVTGEN_API convtgen_status convtgen_layer_stream(const convtgen_layer* layer, convtgen_stream* stream);

/** NULL is fine. */
CONVTGEN_API void convtgen_layer_destroy(convtgen_layer* layer);

/* ---- Models of ONNX -------------------------------------------------------------------------------------------- */

/** Weights or a bias of a model. */
typedef struct convtgen_onnx_tensor {
  size_t axes;            /**< 0: there is no such tensor, or the caller of the model gives it */
  const int64_t* extents; /**< `axes` numbers */
  const void* data;       /**< little-endian elements in C order; NULL where another file has them */
  size_t bytes;
  const char* file;    /**< that file as the model names it, relative to the model's folder, else NULL: check that the
                            path stays in that folder */
  int64_t file_offset; /**< of the first element */
} convtgen_onnx_tensor;

/** A ConvTranspose of a model. Either it became a layer, or `reason` has why not. Texts are printable ASCII. */
typedef struct convtgen_onnx_node {
  size_t struct_size;
  const char* node;      /**< its name in the model */
  const char* name;      /**< the layer's name, which no other layer of the model has; NULL where it was not taken */
  const char* layer;     /**< its canonical form, as convtgen_layer_parse() takes it, or NULL */
  const char* x;         /**< the model's value that is x, or NULL */
  const char* y;         /**< the value that is y, after the nodes that are fused, or NULL */
  const char* notes;     /**< what else is to be known, one a line, or NULL */
  const char* attribute; /**< the attribute or input that is at fault, or NULL where it was taken */
  const char* value;     /**< its value, or NULL */
  const char* reason;    /**< or NULL */
  convtgen_onnx_tensor weight, bias;
} convtgen_onnx_node;

/** Called with each node. What it points to is valid during the call. Any return value except 0 ends the import. */
typedef int (*convtgen_onnx_visit)(void* user, const convtgen_onnx_node* node);

/** Calls `visit` with each ConvTranspose of an ONNX model: those that became layers in the model's order, then the
 * others. docs/onnx.md has how they are read. `auto_pad_as` is "standard" or NULL, or "onnxruntime": ONNX Runtime's
 * reading where ONNX's own sources contradict each other. No file is read.
 * Errors: CONVTGEN_INVALID_ARGUMENT for bytes that are no ONNX model; CONVTGEN_CANCELLED. */
CONVTGEN_API convtgen_status convtgen_import_onnx(const void* model, size_t bytes, const char* auto_pad_as,
                                                  convtgen_onnx_visit visit, void* user);

/* ---- Devices -------------------------------------------------------------------------------------------------- */

/** What kernels run on, with the kernels that are ready there. */
typedef struct convtgen_device convtgen_device;

/** Opens "cuda" (the first GPU), "cuda:N", "host" (the CPU, slowly, with every access of a kernel checked), or "auto":
 * a GPU where there is one and an NVRTC, else "host", with a warning in the log. "host:sm_90a" is the host device with
 * the kernels of that architecture; "host" has those of $CONVTGEN_ARCHITECTURE, else of the oldest one. No CUDA context
 * is made: kernels are loaded into the calling thread's context if it is one of that GPU, else into the primary one.
 * Errors: CONVTGEN_INVALID_ARGUMENT for another word, or where $CONVTGEN_ARCHITECTURE does not run there (the message
 * lists what does); CONVTGEN_NO_DEVICE; CONVTGEN_FORKED. */
CONVTGEN_API convtgen_status convtgen_device_open(const char* which, convtgen_device** device);

/** "cuda:0 (NVIDIA H200, ...)", "cuda:0 (..., as sm_80)" or "host (8 workers)". Valid while the device is; "" for an
 * invalid handle. */
CONVTGEN_API const char* convtgen_device_name(const convtgen_device* device);

/** 1 for the host device, whose arrays are in the host's memory; else 0. */
CONVTGEN_API int convtgen_device_is_host(const convtgen_device* device);

/** Kernels that are held stay usable. NULL is fine. */
CONVTGEN_API void convtgen_device_close(convtgen_device* device);

/* ---- Kernels -------------------------------------------------------------------------------------------------- */

/** A layer made ready on a device. */
typedef struct convtgen_kernel convtgen_kernel;

/** The tensors of one call by their roles, on the kernel's device: in host memory for the host device. Those that the
 * direction does not take are NULL. Each has the shape that convtgen_layer_shape() gives, and is aligned to its
 * elements; x, y, their gradients and the gradient of the weights to as much as the kernel reads and writes at once, at
 * most 16 bytes. What is written must not overlap anything else.
 *
 * `workspace` is memory on the kernel's device of at least as many bytes as convtgen_kernel_workspace() gives, aligned
 * to CONVTGEN_WORKSPACE_ALIGNMENT, that overlaps none of the tensors; if that is 0 bytes, it is not read. A
 * kernel may read the weights in another order, from a packed copy of them there. A call with `weight` makes that copy
 * first. A call with `weight` NULL uses the workspace as an earlier call of this kernel with weights has left it, so
 * that a caller whose weights stay the same packs them once; a kernel that packs no weights needs a `weight` in every
 * call (convtgen_kernel_keeps_weights()). Calls that may run at the same time, as those in two streams, need workspaces
 * of their own, unless `weight` is NULL in both and all bytes of the workspace are kept. CONVTGEN_GRAD_WEIGHT and
 * CONVTGEN_GRAD_BIAS have sums of parts of the call there, which no other call reads. */
typedef struct convtgen_tensors {
  size_t struct_size; /**< to be set to sizeof(convtgen_tensors) */
  const void* x;
  const void* weight;
  const void* bias; /**< NULL where the layer has none */
  void* y;
  const void* grad_y;
  void* grad_x;
  void* grad_weight;
  void* grad_bias; /**< of CONVTGEN_GRAD_WEIGHT too, where the layer has a bias */
  void* workspace;
  size_t workspace_bytes; /**< the size of `workspace` */
} convtgen_tensors;

/** Makes a layer's kernel of one direction ready to launch in the calling thread's context: from those the device has,
 * else from the store, else by compiling. One kernel serves all sizes that the layer leaves open. The handle is the
 * caller's to destroy; the device keeps the kernel too, as long as it is among the 256 last used.
 * Errors: CONVTGEN_INVALID_ARGUMENT for a direction that the layer lacks; CONVTGEN_UNSUPPORTED, CONVTGEN_NO_COMPILER,
 * CONVTGEN_COMPILE_FAILED, CONVTGEN_DRIVER. */
CONVTGEN_API convtgen_status convtgen_prepare(convtgen_device* device, const convtgen_layer* layer,
                                              convtgen_direction direction, convtgen_kernel** kernel);

/** Told after each kernel, from any thread but one at a time: its place in the list, how many are done of how many, and
 * its status. Any return value except 0 cancels what is not done. So does an exception of a C++ callback; the error,
 * CONVTGEN_CANCELLED, has its message. */
typedef int (*convtgen_progress)(void* user, size_t index, size_t done, size_t count, convtgen_status status);

/** convtgen_prepare() for `count` layers, several at once: at most `threads`, or one a core for 0. `directions` has
 * `count` places; NULL means forward everywhere. `kernels` has `count` places and may be NULL where the kernels
 * are only to be ready; a place is NULL where that kernel failed. `progress` may be NULL. Errors: the first one, by the
 * order of the list; the other kernels are prepared all the same. */
CONVTGEN_API convtgen_status convtgen_prepare_all(convtgen_device* device, const convtgen_layer* const* layers,
                                                  const convtgen_direction* directions, size_t count, int threads,
                                                  convtgen_progress progress, void* user, convtgen_kernel** kernels);

/** Puts one call on `stream`. `sizes` may be NULL where the layer has all of its own. Where the output is empty nothing
 * is launched and no pointer is read. `stream` is a CUstream or cudaStream_t of the context, NULL for the default
 * stream; NULL on the host device, which is done when the call is. No lock and no allocation, and safe in the capture
 * of a CUDA graph. The kernel must live until the work is done, and as long as graphs that captured it.
 *
 * Errors: CONVTGEN_INVALID_ARGUMENT names the tensor or the size, and of a workspace that is too small the bytes that
 * are needed; CONVTGEN_NOT_PREPARED in a capture in a context that the kernel was not prepared in; CONVTGEN_DRIVER
 * names which kernel of the call failed. */
CONVTGEN_API convtgen_status convtgen_launch(convtgen_kernel* kernel, const convtgen_tensors* tensors,
                                             const convtgen_sizes* sizes, void* stream);

/** convtgen_prepare() and convtgen_launch() in one, with no handle to keep; where the kernel needs a workspace and gets
 * none, the error names its bytes. In a capture the layer must have been prepared (CONVTGEN_NOT_PREPARED), and its
 * kernel then stays loaded as long as the device is open. */
CONVTGEN_API convtgen_status convtgen_run(convtgen_device* device, const convtgen_layer* layer,
                                          convtgen_direction direction, const convtgen_tensors* tensors,
                                          const convtgen_sizes* sizes, void* stream);

/** What the address of a workspace is a multiple of. */
#define CONVTGEN_WORKSPACE_ALIGNMENT 128

/** Bytes of the workspace of convtgen_launch() for calls of these sizes (NULL: the layer's own); 0 where the kernel
 * needs none. They may grow with the sizes. `kept_bytes` may be NULL: of these, from the beginning, the bytes that hold
 * packed weights, which later calls only read. Errors: those of convtgen_layer_shape(). */
CONVTGEN_API convtgen_status convtgen_kernel_workspace(const convtgen_kernel* kernel, const convtgen_sizes* sizes,
                                                       size_t* bytes, size_t* kept_bytes);

/** 1 where calls may pass NULL for `weight` once an earlier call with the same workspace has packed it; 0 where the
 * kernel reads the weights in each call or has none, and for an invalid handle. Kernels for other chips may differ.
 */
CONVTGEN_API int convtgen_kernel_keeps_weights(const convtgen_kernel* kernel);

/* Facts of a kernel. The texts are valid while the kernel is; "" for an invalid handle. */

/** The CUDA source, the same bytes that `convtgen emit` writes. */
CONVTGEN_API const char* convtgen_kernel_source(const convtgen_kernel* kernel);
/** The plan: template, launch and parameters, one a line. */
CONVTGEN_API const char* convtgen_kernel_plan(const convtgen_kernel* kernel);
/** The store's key of the binary, 64 hexadecimal digits; "" on the host device. */
CONVTGEN_API const char* convtgen_kernel_key(const convtgen_kernel* kernel);
/** The extern "C" name in the source. */
CONVTGEN_API const char* convtgen_kernel_symbol(const convtgen_kernel* kernel);
/** The canonical form of the layer with the kernel's direction alone. */
CONVTGEN_API const char* convtgen_kernel_layer(const convtgen_kernel* kernel);
/** What it was compiled for: "sm_90a", "compute_89" (PTX, for a GPU newer than the compiler) or "host". */
CONVTGEN_API const char* convtgen_kernel_architecture(const convtgen_kernel* kernel);

/** NULL is fine. */
CONVTGEN_API void convtgen_kernel_destroy(convtgen_kernel* kernel);

/* ---- Tuning --------------------------------------------------------------------------------------------------- */

/** Told before each plan is measured: which one it is, and which part of all is done, from 0 to 1. Anything but 0 back
 * ends the tuning before the next plan; so does an exception of a C++ callback, whose message the error has. */
typedef int (*convtgen_tune_progress)(void* user, const char* doing, double fraction);

typedef struct convtgen_tune_options {
  size_t struct_size;    /**< to be set to sizeof(convtgen_tune_options) */
  int32_t again;         /**< not 0: what was measured before is measured again */
  uint64_t memory_limit; /**< bytes of the device that may be allocated; 0: what is free */
  /** The caller's own tensors and workspace, of the sizes of the tuning, whose contents are overwritten: nothing is
   * allocated in their place. A plan that needs a larger workspace is skipped. NULL: they are allocated. */
  const convtgen_tensors* tensors;
  convtgen_tune_progress progress; /**< or NULL */
  void* user;                      /**< that `progress` is given */
} convtgen_tune_options;

/** Measures the planner's best plans for a layer in calls of these sizes (NULL: the layer's own), each only after its
 * results were verified, and keeps their times in the store with the kernels. From then on convtgen_prepare() makes
 * this kernel by the fastest, in every process and without compiling, except where it is prepared already. It takes
 * seconds to minutes, threads of its own that compile, and memory as convtgen_tune_memory() says; what was measured
 * before, by a tuning that was ended too, is not measured again. Not in a capture. `options` may be NULL, and
 * `milliseconds`, the fastest plan's time.
 * Errors: CONVTGEN_INVALID_ARGUMENT, CONVTGEN_UNSUPPORTED, CONVTGEN_CANCELLED; CONVTGEN_OUT_OF_MEMORY where memory is
 * short, before anything is allocated: the layer then has the kernel that the planner chooses; CONVTGEN_COMPILE_FAILED
 * where no plan could be measured. */
CONVTGEN_API convtgen_status convtgen_tune(convtgen_device* device, const convtgen_layer* layer,
                                           convtgen_direction direction, const convtgen_sizes* sizes,
                                           const convtgen_tune_options* options, double* milliseconds);

/** The bytes that convtgen_tune() allocates on the device with these arguments, and in the host's memory; either
 * pointer may be NULL. Errors: as convtgen_tune(). */
CONVTGEN_API convtgen_status convtgen_tune_memory(convtgen_device* device, const convtgen_layer* layer,
                                                  convtgen_direction direction, const convtgen_sizes* sizes,
                                                  const convtgen_tune_options* options, uint64_t* device_bytes,
                                                  uint64_t* host_bytes);

/* ---- Choices -------------------------------------------------------------------------------------------------- */

/** The most bytes of a key and of a choice, without the 0 at the end. */
#define CONVTGEN_CHOICE_BYTES 65536

/** Keeps what a program chose once, for example by measuring, for all processes of the user. The store has it, with
 * the kernels. `*kept` is the choice under `key`. If it is missing, `choice` is kept, unless another process or
 * thread is first: `*kept` is then the other one's choice, so that all act alike. With `choice` NULL nothing is kept,
 * and `*kept` is "" if it is missing. `*kept` is valid until this thread's next call of this function, whose
 * `choice` it may be. Each call reads a file.
 *
 * Both texts are the program's own, as "my_program 3; y = up(x) + b; 16x512x32x32; NVIDIA H200" and "fused". The key
 * must name all that the choice depends on; the library adds nothing. It should begin with the program's name: all
 * programs share the store. `convtgen cache list` prints the beginning of the key's first line.
 *
 * A choice stays as long as a kernel does: until `convtgen cache clear`, or until the store reaches its bound and this
 * was not used for longest. Where the store can't be written, it stays in memory, for this process alone.
 * Errors: CONVTGEN_INVALID_ARGUMENT for a `key` that is NULL, and for a text that is empty or has more than
 * CONVTGEN_CHOICE_BYTES. */
CONVTGEN_API convtgen_status convtgen_choice(const char* key, const char* choice, const char** kept);

/* ---- What goes on --------------------------------------------------------------------------------------------- */

/** What this process has done so far, over all devices. */
typedef struct convtgen_counters {
  size_t struct_size; /**< to be set to sizeof(convtgen_counters) before the call */
  uint64_t prepared;  /**< kernels made ready */
  uint64_t reused;    /**< asked for again and ready */
  uint64_t hits;      /**< binaries that the store had */
  uint64_t misses;    /**< those it lacked */
  uint64_t compiles;  /**< runs of NVRTC */
  uint64_t evicted;   /**< kernels that a device let go, being the least recently used */
  uint64_t loads;     /**< modules loaded, and host libraries */
  uint64_t unloads;   /**< those unloaded again */
} convtgen_counters;

/** Errors: `counters` is NULL or of an unknown size. */
CONVTGEN_API convtgen_status convtgen_get_counters(convtgen_counters* counters);

typedef enum convtgen_log_level {
  CONVTGEN_LOG_OFF = 0,
  CONVTGEN_LOG_ERROR = 1,
  CONVTGEN_LOG_WARNING = 2,
  CONVTGEN_LOG_INFO = 3,
  CONVTGEN_LOG_DEBUG = 4
} convtgen_log_level;

/** A message, from any thread; the text is valid during the call. What a C++ callback throws is dropped. */
typedef void (*convtgen_log_callback)(void* user, convtgen_log_level level, const char* message);

/** Sends messages up to `level` to `callback` instead of standard error; with NULL back to standard error, where
 * $CONVTGEN_LOG is the level. `level` is a convtgen_log_level. Errors: another number. */
CONVTGEN_API convtgen_status convtgen_set_log(convtgen_log_callback callback, void* user, int level);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* CONVTGEN_CONVTGEN_H */
