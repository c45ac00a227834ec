/* Calls of kernels, from their arguments to a launch: checks of sizes and tensors, and where they run. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t ns_most = 2147483647; /* of any extent, and of blocks */

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

/* The product of the extents and what is given; -1 where that has more than 63 bits. */
static int64_t ns_elements(int64_t batch, int64_t channels, const int64_t* extents) {
  int64_t elements = ns_product(batch, channels);
  int axis;
  for (axis = 0; axis < NS_AXES; ++axis) {
    elements = ns_product(elements, extents[axis]);
  }
  return elements;
}

int ns_kernel_sizes(const ns_kernel* kernel, const ns_input* input, ns_sizes* sizes) {
  const ns_form* layer;
  int axis, status;
  if (kernel == NULL || input == NULL || sizes == NULL) {
    return ns_fail(NS_INVALID_ARGUMENT, "%s is null", kernel == NULL ? "kernel" : input == NULL ? "input" : "sizes");
  }
  memset(sizes, 0, sizeof *sizes);
  layer = kernel->form;
  sizes->batch = input->batch;
  status = ns_check_size(kernel, "batch", layer->batch, 0, &sizes->batch);
  for (axis = 0; axis < NS_AXES && status == NS_OK; ++axis) {
    const ns_axis* own = &layer->axes[axis];
    sizes->in[axis] = input->extents[axis];
    status = ns_check_size(kernel, own->name, own->extent, 1, &sizes->in[axis]);
    sizes->out[axis] = (sizes->in[axis] - 1) * own->stride + own->reach;
  }
  for (axis = 0; axis < NS_AXES && status == NS_OK; ++axis) {
    status = ns_check_output(kernel, layer->axes[axis].name, sizes->in[axis], sizes->out[axis]);
  }
  sizes->in_channels = layer->in_channels;
  sizes->out_channels = layer->out_channels;
  sizes->weight_elements = layer->weight_elements;
  sizes->bias_elements = layer->bias_elements;
  sizes->element_bytes = layer->element_bytes;
  if (status == NS_OK) {
    sizes->x_elements = ns_elements(sizes->batch, layer->in_channels, sizes->in);
    sizes->y_elements = ns_elements(sizes->batch, layer->out_channels, sizes->out);
    if (ns_product(sizes->x_elements, layer->element_bytes) < 0 ||
        ns_product(sizes->y_elements, layer->element_bytes) < 0) {
      status = ns_fail(NS_INVALID_ARGUMENT, "%s: %s has more bytes than 63 bits can count", kernel->name,
                       ns_product(sizes->x_elements, layer->element_bytes) < 0 ? "x" : "y");
    }
  }
  if (status != NS_OK) {
    memset(sizes, 0, sizeof *sizes);
  }
  return status;
}

/* An array of a call. */
typedef struct ns_array {
  const char* name;
  const void* begin;
  int64_t bytes; /* 0: the call has none */
  int written;
  int64_t run, pitch; /* bytes of a run, and from one to the next; pitch 0: there is one */
} ns_array;

/* Whether runs of one array lie between those of the other, as channels of one tensor do. */
static int ns_alternate(const ns_array* one, const ns_array* other) {
  int64_t after;
  if (one->pitch == 0 || one->pitch != other->pitch) {
    return 0;
  }
  after = (int64_t)((uintptr_t)other->begin - (uintptr_t)one->begin) % one->pitch;
  after = after < 0 ? after + one->pitch : after;
  return after >= one->run && after + other->run <= one->pitch;
}

static int ns_overlap(const ns_array* one, const ns_array* other) {
  const uintptr_t begin = (uintptr_t)one->begin, other_begin = (uintptr_t)other->begin;
  return begin < other_begin + (uintptr_t)other->bytes && other_begin < begin + (uintptr_t)one->bytes &&
         !ns_alternate(one, other);
}

/* What a binary's workspace is for, of the first that needs one. */
static const char* ns_workspace_words(const ns_kernel* kernel) {
  const ns_form* form = kernel->form;
  int i;
  for (i = 0; i < form->binary_count; ++i) {
    if (form->binaries[i].region_count > 0) {
      return form->binaries[i].workspace;
    }
  }
  return form->host != NULL ? form->host->binary.workspace : "";
}

/* For the binary that needs the most: which one runs is known on the machine only. */
static int ns_find_workspace(const ns_kernel* kernel, const int64_t* quantities, int64_t* bytes) {
  const ns_form* form = kernel->form;
  int i;
  *bytes = 0;
  for (i = 0; i <= form->binary_count; ++i) {
    const ns_binary* binary = i < form->binary_count ? &form->binaries[i]
                              : form->host != NULL   ? &form->host->binary
                                                     : NULL;
    const int64_t own = binary != NULL ? ns_region_offset(binary, binary->region_count, quantities) : 0;
    if (own < 0) {
      return ns_fail(NS_INVALID_ARGUMENT, "%s: workspace: the call needs more bytes there than 63 bits can count",
                     kernel->name);
    }
    *bytes = own > *bytes ? own : *bytes;
  }
  return NS_OK;
}

static int ns_check_workspace(const ns_kernel* kernel, const ns_call* call, const ns_array* arrays, int count) {
  enum { ALIGNMENT = 128 };
  ns_array workspace = {"workspace", NULL, 0, 0, 0, 0};
  int i;
  const int status = ns_find_workspace(kernel, call->quantities, &workspace.bytes);
  workspace.begin = call->workspace;
  if (status != NS_OK || workspace.bytes == 0) {
    return status;
  }
  if (workspace.begin == NULL) {
    return ns_fail(NS_INVALID_ARGUMENT, "%s: workspace is null: the kernel needs %lld bytes there, for %s",
                   kernel->name, (long long)workspace.bytes, ns_workspace_words(kernel));
  }
  if ((uint64_t)workspace.bytes > call->workspace_bytes) {
    return ns_fail(NS_INVALID_ARGUMENT, "%s: workspace: %llu bytes are too few: the call needs %lld, for %s",
                   kernel->name, (unsigned long long)call->workspace_bytes, (long long)workspace.bytes,
                   ns_workspace_words(kernel));
  }
  if ((uintptr_t)workspace.begin % ALIGNMENT != 0) {
    return ns_fail(NS_INVALID_ARGUMENT,
                   "%s: workspace (%p) is misaligned: its %lld bytes must begin at a multiple of %d", kernel->name,
                   workspace.begin, (long long)workspace.bytes, ALIGNMENT);
  }
  for (i = 0; i < count; ++i) {
    if (ns_overlap(&workspace, &arrays[i])) {
      return ns_fail(NS_INVALID_ARGUMENT, "%s: workspace (%lld bytes) overlaps %s", kernel->name,
                     (long long)workspace.bytes, arrays[i].name);
    }
  }
  return NS_OK;
}

/* Whether some binary keeps a packed copy of the weights: which one runs is known on the machine only. */
static int ns_some_keep_weights(const ns_kernel* kernel) {
  const ns_form* form = kernel->form;
  int i;
  for (i = 0; i < form->binary_count; ++i) {
    if (ns_may_omit_weight(&form->binaries[i])) {
      return 1;
    }
  }
  return form->host != NULL && ns_may_omit_weight(&form->host->binary);
}

static const char* const ns_role_names[] = {"x", "weight", "bias", "y", "grad_x", "grad_y", "grad_weight", "grad_bias"};

/* "grad_x, grad_y and weight": the tensors that a call has. */
static const char* ns_tensor_names(const ns_form* form) {
  static __thread char text[128];
  size_t length = 0;
  int i;
  for (i = 0; i < form->tensor_count && length < sizeof text; ++i) {
    const char* between = i == 0 ? "" : i + 1 < form->tensor_count ? ", " : " and ";
    length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", between,
                               ns_role_names[form->tensors[i].role]);
  }
  return text;
}

static int ns_check_arrays(const ns_kernel* kernel, const ns_call* call) {
  const ns_form* form = kernel->form;
  ns_array arrays[NS_ROLES];
  int taken[NS_ROLES] = {0};
  int i, k, count = 0;
  for (i = 0; i < form->tensor_count; ++i) {
    taken[form->tensors[i].role] = 1;
  }
  for (i = 0; i < NS_ROLES; ++i) {
    if (!taken[i] && call->tensors[i] != NULL) {
      if (form->bias_elements == 0 && (i == NS_BIAS || i == NS_GRAD_BIAS)) {
        return ns_fail(NS_INVALID_ARGUMENT, "%s: %s must be null: the layer has no bias", kernel->name,
                       ns_role_names[i]);
      }
      return ns_fail(NS_INVALID_ARGUMENT, "%s: %s must be null: the call has %s", kernel->name, ns_role_names[i],
                     ns_tensor_names(form));
    }
  }
  for (i = 0; i < form->tensor_count; ++i) {
    const ns_tensor* tensor = &form->tensors[i];
    const void* begin = call->tensors[tensor->role];
    const char* name = ns_role_names[tensor->role];
    const int64_t elements = ns_amount_in(&tensor->elements, call->quantities);
    ns_array* array = &arrays[count];
    if (elements == 0 || (tensor->role == NS_WEIGHT && begin == NULL && ns_some_keep_weights(kernel))) {
      continue;
    }
    if (begin == NULL && tensor->role == NS_WEIGHT) {
      return ns_fail(NS_INVALID_ARGUMENT, "%s: weight is null: the kernel reads the weights in each call, so each call needs them",
                     kernel->name);
    }
    if (begin == NULL) {
      return ns_fail(NS_INVALID_ARGUMENT, "%s: %s is null", kernel->name, name);
    }
    if ((uintptr_t)begin % (uintptr_t)tensor->alignment != 0) {
      return ns_fail(NS_INVALID_ARGUMENT, "%s: %s (%p) is misaligned: a multiple of %lld bytes is needed", kernel->name,
                     name, begin, (long long)tensor->alignment);
    }
    array->name = name;
    array->begin = begin;
    array->bytes = ns_tensor_span(tensor, call->quantities) * form->element_bytes;
    array->run = array->pitch = 0;
    if (tensor->runs != NS_ONE) {
      array->run = elements / call->quantities[tensor->runs] * form->element_bytes;
      array->pitch = array->run + ns_amount_in(&tensor->gap, call->quantities) * form->element_bytes;
    }
    array->written = tensor->written;
    for (k = 0; k < count; ++k) {
      if (arrays[k].written && ns_overlap(array, &arrays[k])) {
        return ns_fail(NS_INVALID_ARGUMENT, "%s: %s overlaps %s", kernel->name, arrays[k].name, name);
      }
    }
    ++count;
  }
  return ns_check_workspace(kernel, call, arrays, count);
}

static int ns_host_mode = -1; /* as ns_use_host() takes it */

int ns_use_host(int on) {
  const ns_kernel* const* kernel;
  if (on < -1 || on > 1) {
    return ns_fail(NS_INVALID_ARGUMENT, "on is %d; legal are 1, 0 and -1", on);
  }
  for (kernel = ns_kernels(); on == 1 && *kernel != NULL; ++kernel) {
    if ((*kernel)->form->host == NULL) {
      return ns_fail(NS_UNSUPPORTED, "%s was made without the host device", (*kernel)->name);
    }
  }
  __atomic_store_n(&ns_host_mode, on, __ATOMIC_RELAXED);
  return NS_OK;
}

/* Found once. Without a GPU the call does not fail. */
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
  return kernel->form->host != NULL && (mode == 1 || (mode == -1 && !ns_has_gpu()));
}

int ns_uses_host(void) {
  const ns_kernel* const* kernel = ns_kernels();
  return *kernel != NULL && ns_on_host(*kernel);
}

size_t ns_kernel_workspace(const ns_kernel* kernel, const ns_input* input) {
  int64_t quantities[NS_QUANTITIES], bytes = 0;
  ns_sizes sizes;
  if (ns_kernel_sizes(kernel, input, &sizes) != NS_OK) {
    return 0;
  }
  ns_find_quantities(&sizes, quantities);
  return ns_find_workspace(kernel, quantities, &bytes) == NS_OK ? (size_t)bytes : 0;
}

/* Whether the call writes anything: of an empty batch, gradients of the weights alone. */
static int ns_writes(const ns_kernel* kernel, const int64_t* quantities) {
  int i;
  for (i = 0; i < kernel->form->tensor_count; ++i) {
    const ns_tensor* tensor = &kernel->form->tensors[i];
    if (tensor->written && ns_amount_in(&tensor->elements, quantities) != 0) {
      return 1;
    }
  }
  return 0;
}

int ns_kernel_launch(const ns_kernel* kernel, const ns_tensors* tensors, const ns_input* input, void* stream) {
  ns_call call;
  int status = ns_kernel_sizes(kernel, input, &call.sizes);
  if (status != NS_OK) {
    return status;
  }
  ns_find_quantities(&call.sizes, call.quantities);
  if (!ns_writes(kernel, call.quantities)) {
    return NS_OK;
  }
  if (tensors == NULL) {
    return ns_fail(NS_INVALID_ARGUMENT, "tensors is null");
  }
  call.tensors[NS_X] = (void*)tensors->x;
  call.tensors[NS_WEIGHT] = (void*)tensors->weight;
  call.tensors[NS_BIAS] = (void*)tensors->bias;
  call.tensors[NS_Y] = tensors->y;
  call.tensors[NS_GRAD_X] = tensors->grad_x;
  call.tensors[NS_GRAD_Y] = (void*)tensors->grad_y;
  call.tensors[NS_GRAD_WEIGHT] = tensors->grad_weight;
  call.tensors[NS_GRAD_BIAS] = tensors->grad_bias;
  call.workspace = tensors->workspace;
  call.workspace_bytes = tensors->workspace_bytes;
  status = ns_check_arrays(kernel, &call);
  if (status != NS_OK) {
    return status;
  }
  if (ns_on_host(kernel)) {
    if (stream != NULL) {
      return ns_fail(NS_INVALID_ARGUMENT, "%s: stream must be null on the host device, which has none", kernel->name);
    }
    return kernel->form->host->launch(kernel, &call);
  }
  return ns_gpu_launch(kernel, &call, stream);
}

/* Makes the kernel ready where calls will run; *binary is the one that they run. */
static int ns_prepare_here(const ns_kernel* kernel, const ns_binary** binary) {
  if (kernel == NULL) {
    return ns_fail(NS_INVALID_ARGUMENT, "kernel is null");
  }
  if (ns_on_host(kernel)) {
    *binary = &kernel->form->host->binary;
    return kernel->form->host->prepare(kernel);
  }
  return ns_gpu_prepare(kernel, binary);
}

int ns_kernel_prepare(const ns_kernel* kernel) {
  const ns_binary* binary = NULL;
  return ns_prepare_here(kernel, &binary);
}

int ns_kernel_keeps_weights(const ns_kernel* kernel, int* keeps) {
  const ns_binary* binary = NULL;
  int status;
  if (keeps == NULL) {
    return ns_fail(NS_INVALID_ARGUMENT, "keeps is null");
  }
  *keeps = 0;
  status = ns_prepare_here(kernel, &binary);
  if (status == NS_OK) {
    *keeps = ns_may_omit_weight(binary);
  }
  return status;
}

int ns_prepare(void) {
  const ns_kernel* const* kernel;
  int status = NS_OK;
  for (kernel = ns_kernels(); status == NS_OK && *kernel != NULL; ++kernel) {
    status = ns_kernel_prepare(*kernel);
  }
  return status;
}
