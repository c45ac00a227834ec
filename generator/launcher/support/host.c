/* Kernels on the host device, which is in libconvtgen. */
#include "support.h"

#include <convtgen/host.h>
#include <stdio.h>

static int64_t ns_host_bytes(const ns_binary* binary, const ns_sizes* sizes, int argument) {
  switch (argument) {
    case NS_X:
      return sizes->x_elements * sizes->element_bytes;
    case NS_WEIGHT:
      return sizes->weight_elements * sizes->element_bytes;
    case NS_PACKED:
      return binary->packed_bytes;
    case NS_BIAS:
      return sizes->bias_elements * sizes->element_bytes;
    case NS_Y:
      return sizes->y_elements * sizes->element_bytes;
    default:
      return 0;
  }
}

static int ns_host_launch_part(const ns_kernel* kernel, const ns_call* call, int part_index, int64_t blocks) {
  const ns_host_binary* host = kernel->recipe->host;
  const ns_part* part = &host->binary.parts[part_index];
  const int written = part_index == NS_PACKING ? NS_PACKED : NS_Y;
  convtgen_host_argument arguments[NS_MOST_ARGUMENTS];
  convtgen_host_launch_fields launch;
  int i, status;
  for (i = 0; i < part->argument_count; ++i) {
    const int what = part->arguments[i];
    arguments[i].value = ns_argument_value(call, what);
    arguments[i].bytes = (size_t)ns_host_bytes(&host->binary, &call->sizes, what);
    arguments[i].kind = what > NS_Y       ? CONVTGEN_HOST_INTEGER
                        : what == written ? CONVTGEN_HOST_WRITTEN
                                          : CONVTGEN_HOST_READ;
  }
  launch.struct_size = sizeof launch;
  launch.library = host->begin;
  launch.library_bytes = (size_t)(host->end - host->begin);
  launch.symbol = part->symbol;
  launch.threads = (int32_t)part->threads;
  launch.shared_bytes = (int64_t)part->shared_bytes;
  launch.blocks = blocks;
  launch.arguments = arguments;
  launch.argument_count = (size_t)part->argument_count;
  status = convtgen_host_launch(&launch);
  return status == 0 ? NS_OK : ns_fail(status, "%s: %s", kernel->name, convtgen_last_error());
}

int ns_host_launch(const ns_kernel* kernel, const ns_call* call) {
  int64_t blocks[NS_PARTS];
  int i;
  int status = ns_blocks(kernel, &kernel->recipe->host->binary, call, blocks);
  for (i = 0; status == NS_OK && i < NS_PARTS; ++i) {
    if (blocks[i] > 0) {
      status = ns_host_launch_part(kernel, call, i, blocks[i]);
    }
  }
  return status;
}
