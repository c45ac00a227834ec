/* Calls of kernels, from their arguments to a launch: checks, errors, and the choice of a binary. */
#include "support.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t ns_most = 2147483647; /* of any extent, and of blocks */

static __thread char ns_message[1024];

int ns_fail(int status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(ns_message, sizeof ns_message, format, arguments);
  va_end(arguments);
  return status;
}

const char* ns_last_error(void) {
  return ns_message;
}

const char* ns_error_text(int status) {
  switch (status) {
    case NS_OK:
      return "ok";
    case NS_INVALID_ARGUMENT:
      return "invalid argument";
    case NS_UNSUPPORTED:
      return "unsupported";
    case NS_NO_DEVICE:
      return "no GPU";
    case NS_DRIVER:
      return "CUDA error";
    case NS_NOT_PREPARED:
      return "not prepared";
    case NS_OUT_OF_MEMORY:
      return "out of memory";
    case NS_KERNEL_FAULT:
      return "kernel fault";
    case NS_INTERNAL:
      return "internal error";
    default:
      return "unknown status";
  }
}

/* a * b; -1 where that has more than 63 bits, or a is -1 for that reason. */
static int64_t ns_product(int64_t a, int64_t b) {
  return a < 0 || (b > 0 && a > INT64_MAX / b) ? -1 : a * b;
}

/* Takes the layer's own size for -1. */
static int ns_check_size(const ns_kernel* kernel, const char* name, int64_t known, int64_t least, int64_t* size) {
  if (*size == -1 && known >= 0) {
    *size = known;
  }
  if (known >= 0 && *size != known) {
    return ns_fail(NS_INVALID_ARGUMENT, "%s: %s %lld contradicts the layer, whose %s is %lld", kernel->name, name,
                   (long long)*size, name, (long long)known);
  }
  if (*size < least || *size > ns_most) {
    return ns_fail(NS_INVALID_ARGUMENT, "%s: %s %lld is not from %lld to %lld", kernel->name, name, (long long)*size,
                   (long long)least, (long long)ns_most);
  }
  return NS_OK;
}

static int ns_check_output(const ns_kernel* kernel, const char* name, int64_t in, int64_t out) {
  if (out < 1 || out > ns_most) {
    return ns_fail(NS_INVALID_ARGUMENT, "%s: output %s would be %lld for input %s %lld; legal is 1 to %lld",
                   kernel->name, name, (long long)out, name, (long long)in, (long long)ns_most);
  }
  return NS_OK;
}

int ns_kernel_sizes(const ns_kernel* kernel, int64_t batch, int64_t height, int64_t width, ns_sizes* sizes) {
  const ns_recipe* layer;
  int status;
  if (kernel == NULL || sizes == NULL) {
    return ns_fail(NS_INVALID_ARGUMENT, "%s is null", kernel == NULL ? "kernel" : "sizes");
  }
  memset(sizes, 0, sizeof *sizes);
  layer = kernel->recipe;
  status = ns_check_size(kernel, "batch", layer->batch, 0, &batch);
  if (status == NS_OK) {
    status = ns_check_size(kernel, "height", layer->height, 1, &height);
  }
  if (status == NS_OK) {
    status = ns_check_size(kernel, layer->width_name, layer->width, 1, &width);
  }
  if (status == NS_OK) {
    status = ns_check_output(kernel, "height", height, (height - 1) * layer->stride_h + layer->reach_h);
  }
  if (status == NS_OK) {
    status = ns_check_output(kernel, layer->width_name, width, (width - 1) * layer->stride_w + layer->reach_w);
  }
  if (status != NS_OK) {
    return status;
  }
  sizes->batch = batch;
  sizes->in_channels = layer->in_channels;
  sizes->in_height = height;
  sizes->in_width = width;
  sizes->out_channels = layer->out_channels;
  sizes->out_height = (height - 1) * layer->stride_h + layer->reach_h;
  sizes->out_width = (width - 1) * layer->stride_w + layer->reach_w;
  sizes->x_elements = ns_product(ns_product(ns_product(batch, layer->in_channels), height), width);
  sizes->y_elements =
      ns_product(ns_product(ns_product(batch, layer->out_channels), sizes->out_height), sizes->out_width);
  sizes->weight_elements = layer->weight_elements;
  sizes->bias_elements = layer->bias_elements;
  sizes->element_bytes = layer->element_bytes;
  if (ns_product(sizes->x_elements, layer->element_bytes) < 0 ||
      ns_product(sizes->y_elements, layer->element_bytes) < 0) {
    const int is_x = ns_product(sizes->x_elements, layer->element_bytes) < 0;
    memset(sizes, 0, sizeof *sizes);
    return ns_fail(NS_INVALID_ARGUMENT, "%s: %s has more bytes than 63 bits can count", kernel->name, is_x ? "x" : "y");
  }
  return NS_OK;
}

/* An array of a call. */
typedef struct ns_array {
  const char* name;
  const void* begin;
  int64_t bytes; /* 0: the call has none */
  int64_t alignment;
} ns_array;

static int ns_overlap(const ns_array* one, const ns_array* other) {
  const uintptr_t begin = (uintptr_t)one->begin, other_begin = (uintptr_t)other->begin;
  return begin < other_begin + (uintptr_t)other->bytes && other_begin < begin + (uintptr_t)one->bytes;
}

static int ns_check_workspace(const ns_kernel* kernel, const ns_array* workspace, const ns_array* arrays, int count) {
  int i;
  if (workspace->bytes == 0) {
    return NS_OK;
  }
  if (workspace->begin == NULL) {
    return ns_fail(NS_INVALID_ARGUMENT,
                   "%s: workspace is null: the kernel needs %lld bytes there, for a packed copy of the weights",
                   kernel->name, (long long)workspace->bytes);
  }
  if ((uintptr_t)workspace->begin % (uintptr_t)workspace->alignment != 0) {
    return ns_fail(NS_INVALID_ARGUMENT,
                   "%s: workspace (%p) is misaligned: its %lld bytes must begin at a multiple of %lld", kernel->name,
                   workspace->begin, (long long)workspace->bytes, (long long)workspace->alignment);
  }
  for (i = 0; i < count; ++i) {
    if (ns_overlap(workspace, &arrays[i])) {
      return ns_fail(NS_INVALID_ARGUMENT, "%s: workspace (%lld bytes) overlaps %s", kernel->name,
                     (long long)workspace->bytes, arrays[i].name);
    }
  }
  return NS_OK;
}

static int ns_check_arrays(const ns_kernel* kernel, const ns_call* call) {
  const ns_recipe* layer = kernel->recipe;
  const ns_sizes* sizes = &call->sizes;
  const int64_t element = layer->element_bytes;
  const int packed_before = call->weight == NULL && layer->workspace_bytes > 0;
  const ns_array arrays[] = {
      {"y", call->y, sizes->y_elements * element, layer->alignment},
      {"x", call->x, sizes->x_elements * element, layer->alignment},
      {"weight", call->weight, packed_before ? 0 : sizes->weight_elements * element, element},
      {"bias", call->bias, sizes->bias_elements * element, element},
  };
  const int count = (int)(sizeof arrays / sizeof arrays[0]);
  const ns_array workspace = {"workspace", call->workspace, layer->workspace_bytes, layer->workspace_alignment};
  int i;
  if (sizes->bias_elements == 0 && call->bias != NULL) {
    return ns_fail(NS_INVALID_ARGUMENT, "%s: bias must be null: the layer has no bias", kernel->name);
  }
  for (i = 0; i < count; ++i) {
    const ns_array* array = &arrays[i];
    if (array->bytes == 0) {
      continue;
    }
    if (array->begin == NULL) {
      return ns_fail(NS_INVALID_ARGUMENT, "%s: %s is null", kernel->name, array->name);
    }
    if ((uintptr_t)array->begin % (uintptr_t)array->alignment != 0) {
      return ns_fail(NS_INVALID_ARGUMENT, "%s: %s (%p) is misaligned: a multiple of %lld bytes is needed", kernel->name,
                     array->name, array->begin, (long long)array->alignment);
    }
    if (i > 0 && ns_overlap(array, &arrays[0])) {
      return ns_fail(NS_INVALID_ARGUMENT, "%s: y overlaps %s", kernel->name, array->name);
    }
  }
  return ns_check_workspace(kernel, &workspace, arrays, count);
}

static int ns_takes(const ns_part* part, int argument) {
  int i;
  for (i = 0; i < part->argument_count; ++i) {
    if (part->arguments[i] == argument) {
      return 1;
    }
  }
  return 0;
}

int ns_blocks(const ns_kernel* kernel, const ns_binary* binary, const ns_call* call, int64_t blocks[NS_PARTS]) {
  const ns_recipe* layer = kernel->recipe;
  const ns_sizes* sizes = &call->sizes;
  const int64_t rows = (sizes->out_height + binary->tile_rows - 1) / binary->tile_rows;
  const int64_t columns = (sizes->out_width + binary->tile_columns - 1) / binary->tile_columns;
  const int64_t images = (sizes->batch + binary->tile_images - 1) / binary->tile_images;
  int64_t count;
  /* The kernel counts positions of the last tile too, in 32 bits. */
  if (sizes->out_height > ns_most - binary->tile_rows ||
      sizes->in_height - 1 > (ns_most - binary->tile_rows) / layer->stride_h) {
    return ns_fail(NS_INVALID_ARGUMENT, "%s: height %lld is more than the kernel's 32-bit coordinates can count",
                   kernel->name, (long long)sizes->in_height);
  }
  if (sizes->out_width > ns_most - binary->tile_columns ||
      sizes->in_width - 1 > (ns_most - binary->tile_columns) / layer->stride_w) {
    return ns_fail(NS_INVALID_ARGUMENT, "%s: %s %lld is more than the kernel's 32-bit coordinates can count",
                   kernel->name, layer->width_name, (long long)sizes->in_width);
  }
  count = ns_product(ns_product(ns_product(binary->blocks_per_tile, rows), columns), images);
  if (count < 0 || count > ns_most) {
    return ns_fail(NS_INVALID_ARGUMENT,
                   "%s: a batch of %lld with outputs of %lld x %lld needs more blocks than a grid can have (2^31 - 1)",
                   kernel->name, (long long)sizes->batch, (long long)sizes->out_height, (long long)sizes->out_width);
  }
  if (call->weight == NULL && ns_takes(&binary->parts[NS_MAIN], NS_WEIGHT)) {
    return ns_fail(NS_INVALID_ARGUMENT, "%s: weight is null, and the kernel for %s keeps no packed copy of it",
                   kernel->name, binary->architecture);
  }
  blocks[NS_PACKING] = binary->parts[NS_PACKING].symbol != NULL && call->weight != NULL ? binary->packing_blocks : 0;
  blocks[NS_MAIN] = binary->most_tiles > 0 && count > binary->blocks_per_tile * binary->most_tiles
                        ? binary->blocks_per_tile * binary->most_tiles
                        : count;
  return NS_OK;
}

uint64_t ns_argument_value(const ns_call* call, int argument) {
  switch (argument) {
    case NS_X:
      return (uint64_t)(uintptr_t)call->x;
    case NS_WEIGHT:
      return (uint64_t)(uintptr_t)call->weight;
    case NS_PACKED:
      return (uint64_t)(uintptr_t)call->workspace;
    case NS_BIAS:
      return (uint64_t)(uintptr_t)call->bias;
    case NS_Y:
      return (uint64_t)(uintptr_t)call->y;
    case NS_BATCH:
      return (uint64_t)call->sizes.batch;
    case NS_HEIGHT:
      return (uint64_t)call->sizes.in_height;
    default:
      return (uint64_t)call->sizes.in_width;
  }
}

const ns_place* ns_find_place(const ns_kernel* kernel, const void* context, unsigned long long id) {
  const ns_place* place = __atomic_load_n(kernel->recipe->places, __ATOMIC_ACQUIRE);
  while (place != NULL && (place->context != context || place->id != id)) {
    place = place->next;
  }
  return place;
}

const ns_place* ns_add_place(const ns_kernel* kernel, const ns_place* place) {
  ns_place* added = (ns_place*)malloc(sizeof *added);
  if (added != NULL) {
    *added = *place;
    added->next = *kernel->recipe->places;
    __atomic_store_n(kernel->recipe->places, added, __ATOMIC_RELEASE);
  }
  return added;
}

static int ns_runs_on(const ns_binary* binary, int capability) {
  if (binary->is_ptx) {
    return binary->capability <= capability;
  }
  if (binary->only_there) {
    return binary->capability == capability;
  }
  return binary->capability / 10 == capability / 10 && binary->capability <= capability;
}

int ns_choose(const ns_kernel* kernel, int capability, int most_shared_bytes, const ns_binary** chosen) {
  const ns_recipe* recipe = kernel->recipe;
  const ns_binary* too_large = NULL;
  int i;
  *chosen = NULL;
  for (i = 0; i < recipe->binary_count; ++i) {
    const ns_binary* binary = &recipe->binaries[i];
    const ns_binary* best = *chosen;
    if (!ns_runs_on(binary, capability)) {
      continue;
    }
    if (binary->parts[NS_MAIN].shared_bytes > (unsigned int)most_shared_bytes) {
      too_large = binary;
      continue;
    }
    if (best == NULL || (best->is_ptx && !binary->is_ptx) ||
        (best->is_ptx == binary->is_ptx &&
         (binary->capability > best->capability || (binary->capability == best->capability && binary->only_there)))) {
      *chosen = binary;
    }
  }
  if (*chosen != NULL) {
    return NS_OK;
  }
  if (too_large != NULL) {
    return ns_fail(NS_UNSUPPORTED,
                   "%s for %s needs %u bytes of shared memory a block, and this GPU of compute capability %d.%d has "
                   "%d; the set is built for %s",
                   kernel->name, too_large->architecture, too_large->parts[NS_MAIN].shared_bytes, capability / 10,
                   capability % 10, most_shared_bytes, kernel->architectures);
  }
  return ns_fail(NS_UNSUPPORTED,
                 "%s is built for %s, and nothing of that runs on this GPU of compute capability %d.%d; add its "
                 "architecture, or PTX of an older one, to the set's architectures",
                 kernel->name, kernel->architectures, capability / 10, capability % 10);
}

static int ns_host_mode = -1; /* as ns_use_host() takes it */

int ns_use_host(int on) {
  const ns_kernel* const* kernel;
  if (on < -1 || on > 1) {
    return ns_fail(NS_INVALID_ARGUMENT, "on is %d; legal are 1, 0 and -1", on);
  }
  for (kernel = ns_kernels(); on == 1 && *kernel != NULL; ++kernel) {
    if ((*kernel)->recipe->host == NULL) {
      return ns_fail(NS_UNSUPPORTED, "%s was made without the host device", (*kernel)->name);
    }
  }
  __atomic_store_n(&ns_host_mode, on, __ATOMIC_RELAXED);
  return NS_OK;
}

/* Asked once. That there is none is no failure of the call that asks. */
static int ns_has_gpu(void) {
  static int known = -1;
  int has = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (has < 0) {
    char kept[sizeof ns_message];
    memcpy(kept, ns_message, sizeof kept);
    has = ns_gpu_missing() == NS_OK;
    memcpy(ns_message, kept, sizeof kept);
    __atomic_store_n(&known, has, __ATOMIC_RELAXED);
  }
  return has;
}

static int ns_on_host(const ns_kernel* kernel) {
  const int mode = __atomic_load_n(&ns_host_mode, __ATOMIC_RELAXED);
  return kernel->recipe->host != NULL && (mode == 1 || (mode == -1 && !ns_has_gpu()));
}

int ns_uses_host(void) {
  const ns_kernel* const* kernel = ns_kernels();
  return *kernel != NULL && ns_on_host(*kernel);
}

size_t ns_kernel_workspace(const ns_kernel* kernel) {
  return kernel != NULL ? (size_t)kernel->recipe->workspace_bytes : 0;
}

int ns_kernel_launch(const ns_kernel* kernel, const void* x, const void* weight, const void* bias, void* y,
                     void* workspace, int64_t batch, int64_t height, int64_t width, void* stream) {
  ns_call call;
  int status = ns_kernel_sizes(kernel, batch, height, width, &call.sizes);
  if (status != NS_OK || call.sizes.y_elements == 0) {
    return status;
  }
  call.x = x;
  call.weight = weight;
  call.bias = bias;
  call.y = y;
  call.workspace = workspace;
  status = ns_check_arrays(kernel, &call);
  if (status != NS_OK) {
    return status;
  }
  if (ns_on_host(kernel)) {
    if (stream != NULL) {
      return ns_fail(NS_INVALID_ARGUMENT, "%s: stream must be null on the host device, which has none", kernel->name);
    }
    return kernel->recipe->host->launch(kernel, &call);
  }
  return ns_gpu_launch(kernel, &call, stream);
}

int ns_kernel_prepare(const ns_kernel* kernel) {
  if (kernel == NULL) {
    return ns_fail(NS_INVALID_ARGUMENT, "kernel is null");
  }
  return ns_on_host(kernel) ? NS_OK : ns_gpu_prepare(kernel);
}

int ns_prepare(void) {
  const ns_kernel* const* kernel;
  int status = NS_OK;
  for (kernel = ns_kernels(); status == NS_OK && *kernel != NULL; ++kernel) {
    status = ns_kernel_prepare(*kernel);
  }
  return status;
}
