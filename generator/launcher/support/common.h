#ifndef NS_COMMON_H
#define NS_COMMON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the functions return. */
enum ns_status {
  NS_OK = 0,
  NS_INVALID_ARGUMENT = 1, /* a null, misaligned or overlapping array, or a size that the layer can't have */
  NS_UNSUPPORTED = 3,      /* nothing that the kernel is built for runs on this GPU, or with this host device */
  NS_NO_DEVICE = 4,        /* no CUDA driver, or no GPU */
  NS_DRIVER = 7,           /* a call of the CUDA driver or runtime failed */
  NS_NOT_PREPARED = 8,     /* in the capture of a CUDA graph, a kernel that is not loaded: prepare it first */
  NS_OUT_OF_MEMORY = 10,
  NS_KERNEL_FAULT = 12, /* the host device found a fault in a kernel */
  NS_INTERNAL = 13      /* a bug of convtgen */
};

/* "invalid argument", ... of an ns_status. */
const char* ns_error_text(int status);
/* What the last call of this thread that failed has to say, naming the argument; "" where none has. */
const char* ns_last_error(void);

/* The sizes of x in a call, whatever its direction; -1 stands for the layer's own, where it has one. */
typedef struct ns_input {
  int64_t batch;
  int64_t extents[3]; /* depth, height, width; 1 on an axis that the layer does not have */
} ns_input;

/* All extents of one call, in elements. x and its gradient are (batch, in_channels, in...), y and its gradient (batch,
 * out_channels, out...), with the axes that the layer has, and with the channels last where its layout is nhwc. weight
 * and its gradient are (in_channels, out_channels / groups, kernel...), or (in_channels, kernel..., out_channels /
 * groups) where its weight_layout is channels_last. All are contiguous, except x and y that
 * are channels of larger tensors, and their gradients: their pointer is that of the first channel. */
typedef struct ns_sizes {
  int64_t batch;
  int64_t in_channels, out_channels;
  int64_t in[3], out[3]; /* depth, height, width; 1 on an axis that the layer does not have */
  int64_t x_elements, weight_elements, bias_elements, y_elements; /* of their gradients too */
  int64_t element_bytes;                                          /* of all tensors alike */
} ns_sizes;

/* The tensors of one call by their roles; null for those that its direction does not take. */
typedef struct ns_tensors {
  const void* x;
  const void* weight;
  const void* bias; /* null where the layer has none */
  void* y;
  const void* grad_y;
  void* grad_x;
  void* grad_weight;
  void* grad_bias;
  void* workspace;
  size_t workspace_bytes; /* its size */
} ns_tensors;

/* How a layer with streaming runs while its input arrives. A frame is a position of x.
 *
 * After n frames, outputs up to max(0, n * stride - delay) are final; once no more come, up to
 * max(0, n * stride - delay + rest). For more frames, call the layer with the last min(n, context) frames before them;
 * at the end, with these alone. Output 0 of such a call is output (n - min(n, context)) * stride of the sequence. Each
 * output has the bits that one call with the whole sequence gives it. Where no outputs become final there is nothing to
 * call. */
typedef struct ns_stream {
  int64_t context, stride, delay, rest;
} ns_stream;

/* One kernel of the set: a layer in one direction. */
typedef struct ns_kernel {
  const char* name;          /* "up_forward": its function is ns_up_forward() */
  const char* layer;         /* "up" */
  const char* direction;     /* "forward" */
  const char* text;          /* the layer in its canonical form, with this direction alone */
  const char* architectures; /* what it is built for: "sm_80 sm_90a compute_80"; compute_80 is PTX */
  const struct ns_form* form;
} ns_kernel;

/* All kernels of the set; a null pointer ends the list. */
const ns_kernel* const* ns_kernels(void);

/* Makes all kernels of the set ready in the calling thread's context, so that no later call there loads anything: to
 * be called before the capture of a CUDA graph. */
int ns_prepare(void);

/* The functions of one kernel for programs that go over the list. */
int ns_kernel_prepare(const ns_kernel* kernel);
/* Sets *keeps to 1 where calls in the calling thread's context may pass null for weight, once an earlier call with this
 * workspace has packed it; to 0 where the kernel for this GPU reads the weights in each call, or has none. Other GPUs
 * may have it otherwise. Makes the kernel ready as ns_kernel_prepare() does, and returns what that returns. */
int ns_kernel_keeps_weights(const ns_kernel* kernel, int* keeps);
int ns_kernel_sizes(const ns_kernel* kernel, const ns_input* input, ns_sizes* sizes);
/* Bytes of the workspace that a call with these sizes needs. 0: it needs none, or the layer can't have these sizes, and
 * the call itself will be refused. */
size_t ns_kernel_workspace(const ns_kernel* kernel, const ns_input* input);
int ns_kernel_launch(const ns_kernel* kernel, const ns_tensors* tensors, const ns_input* input, void* stream);

/* Where kernels run from now on: 1, on the host device, with arrays in the host's memory; 0, on a GPU; -1, as it is
 * without a call, on a GPU where there is one, else on the host device. 1 is an error where the set was made without
 * the host device. */
int ns_use_host(int on);
/* 1 where they run on the host device, so that arrays must be in the host's memory; else 0. */
int ns_uses_host(void);

#ifdef __cplusplus
}
#endif

#endif /* NS_COMMON_H */
