/* What the launch code of the set's kernels shares. Not for programs: they include the set's own header. */
#ifndef NS_SUPPORT_H
#define NS_SUPPORT_H

#include "common.h"

#if defined(__GNUC__)
#define NS_HIDDEN __attribute__((visibility("hidden")))
#else
#define NS_HIDDEN
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* How a call becomes launches, as data. */

enum { NS_MOST_KERNELS = 9, NS_MOST_ARGUMENTS = 16, NS_MOST_REGIONS = 6, NS_MOST_AXES = 4, NS_MOST_BOUNDS = 6 };

/* What a tensor is to its layer. */
enum { NS_X, NS_WEIGHT, NS_BIAS, NS_Y, NS_GRAD_X, NS_GRAD_Y, NS_GRAD_WEIGHT, NS_GRAD_BIAS, NS_ROLES };

/* A number that depends on the sizes of a call. */
enum {
  NS_ONE,
  NS_BATCH,
  NS_IN_DEPTH,
  NS_IN_HEIGHT,
  NS_IN_WIDTH,
  NS_OUT_DEPTH,
  NS_OUT_HEIGHT,
  NS_OUT_WIDTH,
  NS_IN_IMAGE,
  NS_OUT_IMAGE,
  NS_IN_PIXELS,
  NS_OUT_PIXELS,
  NS_IN_PLANE,
  NS_OUT_PLANE,
  NS_QUANTITIES
};

/* constant + factor * per */
typedef struct ns_amount {
  int64_t constant, factor;
  int per; /* a quantity */
} ns_amount;

typedef struct ns_tensor {
  int role;
  ns_amount elements;
  int64_t alignment; /* bytes that its address is a multiple of */
  int written;       /* 1: by the call; those that are written come first */
  int runs;          /* a quantity: more than one run where it is channels of a larger tensor */
  ns_amount gap;     /* elements between two runs, which no call touches */
} ns_tensor;

/* A part of the workspace. Each begins at a multiple of NS_WORKSPACE_ALIGNMENT. */
typedef struct ns_region {
  ns_amount bytes;
  int kept; /* 1: what a call writes there serves later calls with the same weights */
} ns_region;

/* A tensor map that is made for each call. */
typedef struct ns_map {
  int of_region, which; /* 1: of this region of the workspace; 0: of the tensor of this role */
  int element;          /* u8, u16, u32, f16, bf16, f32, tf32, f64, counted from 0 */
  int rank;
  ns_amount sizes[5], pitches[5]; /* elements, and bytes from one index to the next; pitches[0] is not used */
  uint32_t box[5], steps[5];
  int swizzle, fill; /* as the driver counts them */
} ns_map;

/* What a launch gives for a parameter. */
enum { NS_TENSOR, NS_REGION, NS_QUANTITY, NS_CONSTANT, NS_MAP };
typedef struct ns_argument {
  int kind, which; /* the role, the region, the quantity or the map */
  int64_t value;   /* of a constant */
  int is_int;      /* 1: the parameter has 32 bits */
} ns_argument;

/* blocks_per_tile * the product of ceil(extent / tile), or of most_tiles where that is less. */
typedef struct ns_grid {
  int axis_count;
  struct {
    ns_amount extent;
    int64_t tile;
  } axes[NS_MOST_AXES];
  int64_t blocks_per_tile, most_tiles; /* 0: all tiles have blocks */
  int bound_count;
  struct {
    int extent; /* a quantity */
    int64_t most;
  } bounds[NS_MOST_BOUNDS]; /* beyond which the kernel's 32-bit coordinates don't reach */
} ns_grid;

/* A kernel in a binary. */
typedef struct ns_part {
  const void* function; /* for the CUDA runtime, else null */
  const char* symbol;
  unsigned int threads, shared_bytes; /* of a block */
  int waits; /* 1: it may begin before the kernel before it has ended, and waits for it itself */
  int once;  /* 1: may be left out where the call has no weights, which an earlier one has packed */
  ns_grid grid;
  int argument_count;
  ns_argument arguments[NS_MOST_ARGUMENTS]; /* in the kernel's order */
} ns_part;

/* The layer's kernels as they were made for one architecture, and how they are launched. */
typedef struct ns_binary {
  const char* architecture; /* "sm_90a", "compute_80" */
  int capability;           /* 10 * major + minor */
  unsigned int minors;      /* bit m: it runs on chips of the same major version and minor version m */
  int is_ptx;               /* 1: on this chip and all later ones, whatever `minors` says */
  const void* image;        /* for the driver, else null */
  const char* workspace;    /* what it is for; "" where there is no need of any */
  int region_count;
  ns_region regions[NS_MOST_REGIONS];
  const ns_map* maps; /* or null */
  int part_count;
  ns_part parts[NS_MOST_KERNELS]; /* in the order in which they run */
} ns_binary;

/* One call, checked. */
typedef struct ns_call {
  ns_sizes sizes;
  int64_t quantities[NS_QUANTITIES];
  void* tensors[NS_ROLES]; /* by their roles; null if the call lacks it */
  void* workspace;
  uint64_t workspace_bytes;
} ns_call;

/* The kernel as a library for the host device. */
typedef struct ns_host_binary {
  const char* begin;
  const char* end;
  ns_binary binary;
  int (*launch)(const ns_kernel* kernel, const ns_call* call);
  int (*prepare)(const ns_kernel* kernel);
} ns_host_binary;

/* A kernel in one context (or, with the CUDA runtime, on one device), ready to be launched. */
typedef struct ns_place {
  const void* context;
  unsigned long long id; /* of the context: a new one may get an old one's address */
  const ns_binary* binary;
  void* functions[NS_MOST_KERNELS]; /* of the driver; not for the CUDA runtime */
  struct ns_place* next;
} ns_place;

enum { NS_AXES = 3 };

/* An axis of a layer. */
typedef struct ns_axis {
  const char* name; /* "width", or "length" of a layer with one dimension */
  int64_t extent;   /* of the input, -1 where the layer leaves it open */
  int64_t stride;
  int64_t reach; /* out = (in - 1) * stride + reach */
} ns_axis;

/* How a layer is called. */
typedef struct ns_form {
  int64_t batch; /* -1 where the layer leaves it open */
  ns_axis axes[NS_AXES];
  int64_t in_channels, out_channels;
  int64_t weight_elements, bias_elements;
  int64_t element_bytes;
  int tensor_count;
  ns_tensor tensors[NS_ROLES]; /* of the call, whichever binary runs */
  const ns_binary* binaries;
  int binary_count;
  const ns_host_binary* host; /* or null */
  ns_place** places;          /* where it is ready: only ever added to, at the front */
} ns_form;

/* Keeps the words for ns_last_error() and returns the status. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
NS_HIDDEN int
ns_fail(int status, const char* format, ...);

/* constant + factor * per; -1 where that has more than 63 bits. */
NS_HIDDEN int64_t ns_amount_in(const ns_amount* amount, const int64_t* quantities);

/* Elements of a tensor from the first to the last, gaps among them. */
NS_HIDDEN int64_t ns_tensor_span(const ns_tensor* tensor, const int64_t* quantities);
NS_HIDDEN void ns_find_quantities(const ns_sizes* sizes, int64_t* quantities);

/* The beginning of a region in the workspace; for the number after the last region, the end. -1 where 63 bits don't
 * count it. */
NS_HIDDEN int64_t ns_region_offset(const ns_binary* binary, int region, const int64_t* quantities);

/* Whether it keeps a packed copy of the weights, so that calls may leave them out. */
NS_HIDDEN int ns_may_omit_weight(const ns_binary* binary);

/* The blocks of each kernel in a call; 0 for one that it does not launch. Errors: more blocks than a grid can have; no
 * weights where a kernel reads them. */
NS_HIDDEN int ns_blocks(const ns_kernel* kernel, const ns_binary* binary, const ns_call* call,
                        int64_t blocks[NS_MOST_KERNELS]);

/* The value of an argument that is no map. Errors: a size that does not fit the kernel's int. */
NS_HIDDEN int ns_argument_value(const ns_kernel* kernel, const ns_binary* binary, const ns_call* call,
                                const ns_argument* argument, uint64_t* value);

/* CUtensorMap and cuTensorMapEncodeTiled. */
typedef struct ns_encoded_map {
  __attribute__((aligned(64))) uint64_t words[16];
} ns_encoded_map;
typedef int (*ns_encode)(ns_encoded_map* map, int type, uint32_t rank, void* address, const uint64_t* sizes,
                         const uint64_t* pitches, const uint32_t* box, const uint32_t* steps, int interleave,
                         int swizzle, int promotion, int fill);

/* A tensor map of the call in the chip's form. Errors: a driver without them; what it has against this one. */
NS_HIDDEN int ns_encode_map(const ns_kernel* kernel, const ns_binary* binary, const ns_call* call, int map,
                            ns_encode encode, ns_encoded_map* encoded);

/* The arguments of a kernel's launch: parameters[i] points to values[i] or to one of the maps. There is room for
 * as many maps as a kernel has arguments. */
typedef struct ns_slots {
  uint64_t values[NS_MOST_ARGUMENTS];
  ns_encoded_map maps[NS_MOST_ARGUMENTS];
  void* parameters[NS_MOST_ARGUMENTS];
} ns_slots;
NS_HIDDEN int ns_fill_slots(const ns_kernel* kernel, const ns_binary* binary, const ns_call* call, const ns_part* part,
                            ns_encode encode, ns_slots* slots);

/* "launching convtgen_direct_forward_...", for the error of a launch; valid until the thread's next one. */
NS_HIDDEN const char* ns_launching(const ns_part* part);

/* The place of a kernel in a context, or null; reads without a lock. */
NS_HIDDEN const ns_place* ns_find_place(const ns_kernel* kernel, const void* context, unsigned long long id);
/* Adds one. Nothing else may add meanwhile. Null where there is no memory. */
NS_HIDDEN const ns_place* ns_add_place(const ns_kernel* kernel, const ns_place* place);

/* Dynamic shared memory of a block of the kernel that needs the most. */
NS_HIDDEN unsigned int ns_shared_bytes(const ns_binary* binary);

/* The binary to run on a GPU of this capability, whose blocks can have so much shared memory: the newest that was made
 * for it, else the newest PTX; none of those whose bits are set in `refused`. Errors: none fits. */
NS_HIDDEN int ns_choose(const ns_kernel* kernel, int capability, int most_shared_bytes, uint64_t refused,
                        const ns_binary** chosen);

/* On the host device, where the set has it. */
NS_HIDDEN int ns_host_launch(const ns_kernel* kernel, const ns_call* call);
NS_HIDDEN int ns_host_prepare(const ns_kernel* kernel);

/* Of the driver or the CUDA runtime. */
NS_HIDDEN int ns_gpu_missing(void);                                              /* NS_OK where there is a GPU */
NS_HIDDEN int ns_gpu_prepare(const ns_kernel* kernel, const ns_binary** binary); /* gives the binary that runs here */
NS_HIDDEN int ns_gpu_launch(const ns_kernel* kernel, const ns_call* call, void* stream);

#ifdef __cplusplus
}
#endif

#endif /* NS_SUPPORT_H */
