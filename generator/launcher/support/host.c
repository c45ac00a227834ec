/* Kernels on the host device, which is in libconvtgen. */
#include "support.h"

#include <convtgen/host.h>
#include <stdio.h>

int ns_host_launch(const ns_kernel* kernel, const ns_call* call) {
  const ns_host_binary* host = kernel->recipe->host;
  const ns_binary* binary = &host->binary;
  const ns_sizes* sizes = &call->sizes;
  convtgen_host_argument arguments[NS_MOST_ARGUMENTS];
  convtgen_host_launch_fields launch;
  int64_t blocks = 0;
  int i;
  int status = ns_blocks(kernel, binary, sizes, &blocks);
  if (status != NS_OK) {
    return status;
  }
  for (i = 0; i < binary->argument_count; ++i) {
    convtgen_host_argument* argument = &arguments[i];
    const int what = binary->arguments[i];
    const int64_t elements = what == NS_X        ? sizes->x_elements
                             : what == NS_WEIGHT ? sizes->weight_elements
                             : what == NS_BIAS   ? sizes->bias_elements
                             : what == NS_Y      ? sizes->y_elements
                                                 : 0;
    argument->value = ns_argument_value(call, what);
    argument->bytes = (size_t)(elements * sizes->element_bytes);
    argument->kind = what > NS_Y ? CONVTGEN_HOST_INTEGER : what == NS_Y ? CONVTGEN_HOST_WRITTEN : CONVTGEN_HOST_READ;
  }
  launch.struct_size = sizeof launch;
  launch.library = host->begin;
  launch.library_bytes = (size_t)(host->end - host->begin);
  launch.symbol = binary->symbol;
  launch.threads = (int32_t)binary->threads;
  launch.shared_bytes = (int64_t)binary->shared_bytes;
  launch.blocks = blocks;
  launch.arguments = arguments;
  launch.argument_count = (size_t)binary->argument_count;
  status = convtgen_host_launch(&launch);
  return status == 0 ? NS_OK : ns_fail(status, "%s: %s", kernel->name, convtgen_last_error());
}
