/* Kernels on the host device, which is in libconvtgen. */
#include "support.h"

#include <convtgen/host.h>
#include <stdio.h>
#include <string.h>

enum { NS_MOST_ARRAYS = NS_ROLES + (int)NS_MOST_REGIONS };

/* The arrays of a call: its tensors, and each region of its workspace. */
typedef struct ns_host_arrays {
  convtgen_host_array all[NS_MOST_ARRAYS];
  int of_role[NS_ROLES]; /* where they are among all */
  int of_region[NS_MOST_REGIONS];
  int count;
} ns_host_arrays;

static void ns_find_arrays(const ns_kernel* kernel, const ns_call* call, ns_host_arrays* arrays) {
  const ns_form* form = kernel->form;
  const ns_binary* binary = &form->host->binary;
  int i;
  memset(arrays, 0, sizeof *arrays);
  for (i = 0; i < form->tensor_count; ++i) {
    const ns_tensor* tensor = &form->tensors[i];
    convtgen_host_array* array = &arrays->all[arrays->count];
    if (call->tensors[tensor->role] != NULL) {
      array->address = call->tensors[tensor->role];
      array->bytes = (size_t)(ns_tensor_span(tensor, call->quantities) * form->element_bytes);
      array->kind = !tensor->written         ? CONVTGEN_HOST_READ
                    : tensor->runs == NS_ONE ? CONVTGEN_HOST_WRITTEN
                                             : CONVTGEN_HOST_UPDATED;
      arrays->of_role[tensor->role] = arrays->count++;
    }
  }
  for (i = 0; i < binary->region_count; ++i) {
    convtgen_host_array* array = &arrays->all[arrays->count];
    const int packed_before = call->tensors[NS_WEIGHT] == NULL;
    array->address = (char*)call->workspace + ns_region_offset(binary, i, call->quantities);
    array->bytes = (size_t)ns_amount_in(&binary->regions[i].bytes, call->quantities);
    array->kind = !binary->regions[i].kept ? CONVTGEN_HOST_SCRATCH
                  : packed_before          ? CONVTGEN_HOST_READ
                                           : CONVTGEN_HOST_WRITTEN;
    arrays->of_region[i] = arrays->count++;
  }
}

static void ns_fill_map(const ns_call* call, const ns_host_arrays* arrays, const ns_map* map,
                        convtgen_host_map* filled) {
  int d;
  memset(filled, 0, sizeof *filled);
  filled->array = map->of_region ? arrays->of_region[map->which] : arrays->of_role[map->which];
  filled->element = map->element;
  filled->rank = map->rank;
  for (d = 0; d < map->rank; ++d) {
    filled->sizes[d] = (uint64_t)ns_amount_in(&map->sizes[d], call->quantities);
    filled->pitches[d] = (uint64_t)ns_amount_in(&map->pitches[d], call->quantities);
    filled->box[d] = map->box[d];
    filled->steps[d] = map->steps[d];
  }
  filled->swizzle = map->swizzle;
  filled->fill = map->fill;
}

/* Calls the kernel's library. It has the kernels that were made for the set's first architecture, or is refused. */
static int ns_call_host(const ns_kernel* kernel, convtgen_host_call_fields* fields) {
  const ns_host_binary* host = kernel->form->host;
  int status;
  fields->struct_size = sizeof *fields;
  fields->library = host->begin;
  fields->library_bytes = (size_t)(host->end - host->begin);
  status = convtgen_host_call(fields);
  if (status == (int)CONVTGEN_UNSUPPORTED) {
    return ns_fail(status,
                   "%s: %s; this set's host device runs the kernels for %s: 'convtgen compile --format host "
                   "--arch %s'",
                   kernel->name, convtgen_last_error(), host->binary.architecture, host->binary.architecture);
  }
  return status == 0 ? NS_OK : ns_fail(status, "%s: %s", kernel->name, convtgen_last_error());
}

int ns_host_launch(const ns_kernel* kernel, const ns_call* call) {
  const ns_binary* binary = &kernel->form->host->binary;
  int64_t blocks[NS_MOST_KERNELS];
  convtgen_host_kernel kernels[NS_MOST_KERNELS];
  convtgen_host_argument arguments[NS_MOST_KERNELS][NS_MOST_ARGUMENTS];
  convtgen_host_map maps[NS_MOST_KERNELS][NS_MOST_ARGUMENTS];
  convtgen_host_call_fields fields;
  ns_host_arrays arrays;
  size_t launched = 0;
  int i, k;
  int status = ns_blocks(kernel, binary, call, blocks);
  if (status != NS_OK) {
    return status;
  }
  ns_find_arrays(kernel, call, &arrays);
  for (i = 0; i < binary->part_count; ++i) {
    const ns_part* part = &binary->parts[i];
    convtgen_host_kernel* one = &kernels[launched];
    if (blocks[i] == 0) {
      continue;
    }
    for (k = 0; k < part->argument_count; ++k) {
      const ns_argument* argument = &part->arguments[k];
      convtgen_host_argument* given = &arguments[launched][k];
      memset(given, 0, sizeof *given);
      given->array = -1;
      if (argument->kind == NS_TENSOR && call->tensors[argument->which] != NULL) {
        given->array = arrays.of_role[argument->which];
      } else if (argument->kind == NS_REGION) {
        given->array = arrays.of_region[argument->which];
      } else if (argument->kind == NS_MAP) {
        ns_fill_map(call, &arrays, &binary->maps[argument->which], &maps[launched][k]);
        given->map = &maps[launched][k];
      } else {
        status = ns_argument_value(kernel, binary, call, argument, &given->value);
        if (status != NS_OK) {
          return status;
        }
      }
    }
    one->symbol = part->symbol;
    one->threads = (int32_t)part->threads;
    one->shared_bytes = (int64_t)part->shared_bytes;
    one->blocks = blocks[i];
    one->arguments = arguments[launched];
    one->argument_count = (size_t)part->argument_count;
    ++launched;
  }
  memset(&fields, 0, sizeof fields);
  fields.arrays = arrays.all;
  fields.array_count = (size_t)arrays.count;
  fields.kernels = kernels;
  fields.kernel_count = launched;
  return ns_call_host(kernel, &fields);
}

int ns_host_prepare(const ns_kernel* kernel) {
  const ns_binary* binary = &kernel->form->host->binary;
  convtgen_host_kernel kernels[NS_MOST_KERNELS];
  convtgen_host_call_fields fields;
  int i;
  memset(kernels, 0, sizeof kernels);
  memset(&fields, 0, sizeof fields);
  for (i = 0; i < binary->part_count; ++i) {
    kernels[i].symbol = binary->parts[i].symbol;
    kernels[i].threads = (int32_t)binary->parts[i].threads;
    kernels[i].shared_bytes = (int64_t)binary->parts[i].shared_bytes;
  }
  fields.kernels = kernels;
  fields.kernel_count = (size_t)binary->part_count;
  return ns_call_host(kernel, &fields);
}
