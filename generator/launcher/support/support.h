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

enum { NS_MOST_ARGUMENTS = 8 };

/* An argument of a kernel, by what it is to the caller; the arrays come first. */
enum ns_argument { NS_X, NS_WEIGHT, NS_PACKED, NS_BIAS, NS_Y, NS_BATCH, NS_HEIGHT, NS_WIDTH };

/* What a call launches, in this order: the packing of its weights, where the kernel reads a packed copy of them, and
 * the kernel. */
enum { NS_PACKING, NS_MAIN, NS_PARTS };

/* One of the two. */
typedef struct ns_part {
  const void* function;               /* for the CUDA runtime, else null */
  const char* symbol;                 /* null: there is no such part */
  unsigned int threads, shared_bytes; /* of a block */
  int argument_count;
  unsigned char arguments[NS_MOST_ARGUMENTS]; /* in the kernel's order */
} ns_part;

/* The kernel as it was made for one architecture, and how that is launched. */
typedef struct ns_binary {
  const char* architecture; /* "sm_90a", "compute_80" */
  int capability;           /* 10 * major + minor */
  int only_there;           /* 1: on chips of this capability alone; 0: also on later ones of the same major version */
  int is_ptx;               /* 1: on this chip and all later ones */
  const void* image;        /* for the driver, else null */
  int64_t tile_images, tile_rows, tile_columns; /* outputs that a block makes */
  int64_t blocks_per_tile;                      /* for all channels and phases of a tile */
  int64_t most_tiles;                           /* that have blocks at a time, which go on to others; 0: all have */
  int64_t packing_blocks;
  int64_t packed_bytes; /* that the packing writes, from the workspace's beginning */
  int overlaps;         /* 1: the kernel may begin before the packing has ended, and waits for it */
  ns_part parts[NS_PARTS];
} ns_binary;

/* One call, checked. */
typedef struct ns_call {
  ns_sizes sizes;
  const void* x;
  const void* weight;
  const void* bias;
  void* y;
  void* workspace;
} ns_call;

/* The kernel as a library for the host device. */
typedef struct ns_host_binary {
  const char* begin;
  const char* end;
  ns_binary binary;
  int (*launch)(const ns_kernel* kernel, const ns_call* call);
} ns_host_binary;

/* A kernel in one context (or, with the CUDA runtime, on one device), ready to be launched. */
typedef struct ns_place {
  const void* context;
  unsigned long long id; /* of the context: a new one may get an old one's address */
  const ns_binary* binary;
  void* functions[NS_PARTS]; /* of the driver, null where there is no such part; not for the CUDA runtime */
  struct ns_place* next;
} ns_place;

/* A layer as launches see it. Sizes that it leaves open are -1. */
typedef struct ns_recipe {
  int64_t batch, height, width;
  int64_t in_channels, out_channels;
  int64_t weight_elements, bias_elements;
  int64_t stride_h, stride_w;
  int64_t reach_h, reach_w; /* out = (in - 1) * stride + reach */
  int64_t element_bytes;
  int64_t alignment;                            /* bytes that the addresses of x and y are multiples of */
  int64_t workspace_bytes, workspace_alignment; /* the most that a binary needs; 0: none needs any */
  const char* width_name;                       /* "width", or "length" of a layer with one dimension */
  const ns_binary* binaries;
  int binary_count;
  const ns_host_binary* host; /* or null */
  ns_place** places;          /* where it is ready: only ever added to, at the front */
} ns_recipe;

/* Keeps the words for ns_last_error() and returns the status. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
NS_HIDDEN int
ns_fail(int status, const char* format, ...);

/* The blocks of each part in a call; 0 for one that it does not launch. Errors: more blocks than a grid can have; no
 * weights where the kernel reads them. */
NS_HIDDEN int ns_blocks(const ns_kernel* kernel, const ns_binary* binary, const ns_call* call,
                        int64_t blocks[NS_PARTS]);
NS_HIDDEN uint64_t ns_argument_value(const ns_call* call, int argument);

/* The place of a kernel in a context, or null; reads without a lock. */
NS_HIDDEN const ns_place* ns_find_place(const ns_kernel* kernel, const void* context, unsigned long long id);
/* Adds one. Nothing else may add meanwhile. Null where there is no memory. */
NS_HIDDEN const ns_place* ns_add_place(const ns_kernel* kernel, const ns_place* place);

/* The binary to run on a GPU of this capability, whose blocks can have so much shared memory: the newest that was made
 * for it, else the newest PTX. Errors: none fits. */
NS_HIDDEN int ns_choose(const ns_kernel* kernel, int capability, int most_shared_bytes, const ns_binary** chosen);

/* On the host device, where the set has it. */
NS_HIDDEN int ns_host_launch(const ns_kernel* kernel, const ns_call* call);

/* Of the driver or the CUDA runtime. */
NS_HIDDEN int ns_gpu_missing(void); /* NS_OK where there is a GPU */
NS_HIDDEN int ns_gpu_prepare(const ns_kernel* kernel);
NS_HIDDEN int ns_gpu_launch(const ns_kernel* kernel, const ns_call* call, void* stream);

#ifdef __cplusplus
}
#endif

#endif /* NS_SUPPORT_H */
