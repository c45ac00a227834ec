/* From a call to its launches: quantities, grids, regions of the workspace, arguments, tensor maps. */
#include "support.h"

#include <stdio.h>
#include <string.h>

static const int64_t ns_most_blocks = 2147483647;
enum { NS_WORKSPACE_ALIGNMENT = 128 };

int64_t ns_amount_in(const ns_amount* amount, const int64_t* quantities) {
  int64_t value;
  if (__builtin_mul_overflow(amount->factor, quantities[amount->per], &value) ||
      __builtin_add_overflow(value, amount->constant, &value)) {
    return -1;
  }
  return value;
}

int64_t ns_tensor_span(const ns_tensor* tensor, const int64_t* quantities) {
  const int64_t elements = ns_amount_in(&tensor->elements, quantities);
  return elements > 0 ? elements + ns_amount_in(&tensor->gap, quantities) * (quantities[tensor->runs] - 1) : elements;
}

void ns_find_quantities(const ns_sizes* sizes, int64_t* quantities) {
  int axis;
  quantities[NS_ONE] = 1;
  quantities[NS_BATCH] = sizes->batch;
  quantities[NS_IN_IMAGE] = 1;
  quantities[NS_OUT_IMAGE] = 1;
  for (axis = 0; axis < NS_AXES; ++axis) {
    quantities[NS_IN_DEPTH + axis] = sizes->in[axis];
    quantities[NS_OUT_DEPTH + axis] = sizes->out[axis];
    quantities[NS_IN_IMAGE] *= sizes->in[axis];
    quantities[NS_OUT_IMAGE] *= sizes->out[axis];
  }
  quantities[NS_IN_PIXELS] = sizes->batch * quantities[NS_IN_IMAGE];
  quantities[NS_OUT_PIXELS] = sizes->batch * quantities[NS_OUT_IMAGE];
  quantities[NS_IN_PLANE] = sizes->in[NS_AXES - 2] * sizes->in[NS_AXES - 1];
  quantities[NS_OUT_PLANE] = sizes->out[NS_AXES - 2] * sizes->out[NS_AXES - 1];
}

int64_t ns_region_offset(const ns_binary* binary, int region, const int64_t* quantities) {
  int64_t end = 0;
  int i;
  for (i = 0; i < binary->region_count; ++i) {
    const int64_t begin = (end + NS_WORKSPACE_ALIGNMENT - 1) / NS_WORKSPACE_ALIGNMENT * NS_WORKSPACE_ALIGNMENT;
    const int64_t bytes = ns_amount_in(&binary->regions[i].bytes, quantities);
    if (i == region) {
      return begin;
    }
    if (bytes < 0 || bytes > INT64_MAX - begin - NS_WORKSPACE_ALIGNMENT) {
      return -1;
    }
    end = begin + bytes;
  }
  return end;
}

/* "output height" */
static const char* ns_words_of(const ns_kernel* kernel, int quantity, const char** axis) {
  if (quantity >= NS_IN_DEPTH && quantity < NS_IN_DEPTH + (int)NS_AXES) {
    *axis = kernel->form->axes[quantity - NS_IN_DEPTH].name;
    return "input";
  }
  if (quantity >= NS_OUT_DEPTH && quantity < NS_OUT_DEPTH + (int)NS_AXES) {
    *axis = kernel->form->axes[quantity - NS_OUT_DEPTH].name;
    return "output";
  }
  *axis = "size";
  return quantity == NS_BATCH ? "batch" : "output";
}

/* Whether a kernel takes the tensor of this role. */
static int ns_takes(const ns_part* part, int role) {
  int i;
  for (i = 0; i < part->argument_count; ++i) {
    if (part->arguments[i].kind == NS_TENSOR && part->arguments[i].which == role) {
      return 1;
    }
  }
  return 0;
}

int ns_may_omit_weight(const ns_binary* binary) {
  int i, packs = 0;
  for (i = 0; i < binary->part_count; ++i) {
    if (ns_takes(&binary->parts[i], NS_WEIGHT)) {
      if (!binary->parts[i].once) {
        return 0;
      }
      packs = 1;
    }
  }
  return packs;
}

static int ns_grid_blocks(const ns_kernel* kernel, const ns_grid* grid, const ns_call* call, int64_t* blocks) {
  const int64_t most = (ns_most_blocks - 2 * grid->most_tiles) / grid->blocks_per_tile;
  int64_t tiles = 1;
  int i;
  for (i = 0; i < grid->bound_count; ++i) {
    const int64_t extent = call->quantities[grid->bounds[i].extent];
    if (extent > grid->bounds[i].most) {
      const char* axis;
      const char* which = ns_words_of(kernel, grid->bounds[i].extent, &axis);
      return ns_fail(NS_INVALID_ARGUMENT,
                     "%s: %s %s %lld is too large for the kernel's 32-bit coordinates; at most %lld", kernel->name,
                     which, axis, (long long)extent, (long long)grid->bounds[i].most);
    }
  }
  for (i = 0; i < grid->axis_count; ++i) {
    const int64_t extent = ns_amount_in(&grid->axes[i].extent, call->quantities);
    const int64_t count = extent / grid->axes[i].tile + (extent % grid->axes[i].tile != 0);
    if (extent < 0 || (count > 0 && tiles > most / count)) {
      char depth[32] = "";
      if (call->sizes.out[0] > 1) {
        snprintf(depth, sizeof depth, "%lld x ", (long long)call->sizes.out[0]);
      }
      return ns_fail(
          NS_INVALID_ARGUMENT,
          "%s: a batch of %lld with outputs of %s%lld x %lld needs more blocks than a grid can have (2^31 - 1)",
          kernel->name, (long long)call->sizes.batch, depth, (long long)call->sizes.out[1],
          (long long)call->sizes.out[2]);
    }
    tiles *= count;
  }
  *blocks = grid->blocks_per_tile * (grid->most_tiles != 0 && tiles > grid->most_tiles ? grid->most_tiles : tiles);
  return NS_OK;
}

int ns_blocks(const ns_kernel* kernel, const ns_binary* binary, const ns_call* call, int64_t blocks[NS_MOST_KERNELS]) {
  const int has_weights = call->tensors[NS_WEIGHT] != NULL;
  int i;
  for (i = 0; i < binary->part_count; ++i) {
    const ns_part* part = &binary->parts[i];
    const int status = ns_grid_blocks(kernel, &part->grid, call, &blocks[i]);
    if (status != NS_OK) {
      return status;
    }
    if (!has_weights && ns_takes(part, NS_WEIGHT) && !part->once) {
      return ns_fail(NS_INVALID_ARGUMENT,
                     "%s: weight is null: the kernel for %s (%s) keeps no packed copy and reads the weights in each "
                     "call, so each call needs them; ns_kernel_keeps_weights() returns whether null is legal on a GPU",
                     kernel->name, binary->architecture, part->symbol);
    }
    if (!has_weights && part->once) {
      blocks[i] = 0;
    }
  }
  return NS_OK;
}

static uint64_t ns_region_address(const ns_binary* binary, const ns_call* call, int region) {
  return (uint64_t)(uintptr_t)call->workspace + (uint64_t)ns_region_offset(binary, region, call->quantities);
}

int ns_argument_value(const ns_kernel* kernel, const ns_binary* binary, const ns_call* call,
                      const ns_argument* argument, uint64_t* value) {
  switch (argument->kind) {
    case NS_TENSOR:
      *value = (uint64_t)(uintptr_t)call->tensors[argument->which];
      return NS_OK;
    case NS_REGION:
      *value = ns_region_address(binary, call, argument->which);
      return NS_OK;
    case NS_QUANTITY:
      *value = (uint64_t)call->quantities[argument->which];
      if (argument->is_int && *value > 2147483647) {
        return ns_fail(NS_INVALID_ARGUMENT, "%s: a size of %llu does not fit the kernel's int; at most 2147483647",
                       kernel->name, (unsigned long long)*value);
      }
      return NS_OK;
    default:
      *value = (uint64_t)argument->value;
      return NS_OK;
  }
}

int ns_encode_map(const ns_kernel* kernel, const ns_binary* binary, const ns_call* call, int index, ns_encode encode,
                  ns_encoded_map* encoded) {
  /* The driver's CUtensorMapDataType of u8, u16, u32, f16, bf16, f32, tf32, f64. */
  static const int types[] = {0, 1, 2, 6, 9, 7, 11, 8};
  const ns_map* map = &binary->maps[index];
  uint64_t address =
      map->of_region ? ns_region_address(binary, call, map->which) : (uint64_t)(uintptr_t)call->tensors[map->which];
  uint64_t sizes[5], pitches[5];
  int d, code;
  if (encode == NULL) {
    return ns_fail(NS_UNSUPPORTED, "%s: tensor maps need a driver for CUDA 12.0 or later", kernel->name);
  }
  for (d = 0; d < map->rank; ++d) {
    sizes[d] = (uint64_t)ns_amount_in(&map->sizes[d], call->quantities);
    pitches[d] = (uint64_t)ns_amount_in(&map->pitches[d], call->quantities);
    if (sizes[d] == 0) { /* nothing is copied of an empty tensor: a map has an element and an address */
      sizes[d] = 1;
      address = address == 0 ? 128 : address;
    }
  }
  /* No interleaving; 128 bytes are brought to the L2 cache at once. */
  code = encode(encoded, types[map->element], (uint32_t)map->rank, (void*)(uintptr_t)address, sizes, pitches + 1,
                map->box, map->steps, 0, map->swizzle, 2, map->fill);
  return code == 0 ? NS_OK : ns_fail(NS_DRIVER, "%s: CUDA: encoding a tensor map failed with %d", kernel->name, code);
}

int ns_fill_slots(const ns_kernel* kernel, const ns_binary* binary, const ns_call* call, const ns_part* part,
                  ns_encode encode, ns_slots* slots) {
  int i, status = NS_OK;
  for (i = 0; status == NS_OK && i < part->argument_count; ++i) {
    const ns_argument* argument = &part->arguments[i];
    if (argument->kind == NS_MAP) {
      status = ns_encode_map(kernel, binary, call, argument->which, encode, &slots->maps[i]);
      slots->parameters[i] = &slots->maps[i];
    } else {
      status = ns_argument_value(kernel, binary, call, argument, &slots->values[i]);
      slots->parameters[i] = &slots->values[i]; /* as many bytes as the parameter has are read, lowest first */
    }
  }
  return status;
}
