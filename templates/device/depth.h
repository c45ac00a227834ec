// Planes: with three axes an image is a stack of planes, one for each place along the depth. With fewer axes it has
// one. Depth is not tiled: a block has one plane, and goes over the depth taps around everything else. Needs
// `Parameters` with depth (-1 where it is open), and the kernel, stride, padding and dilation of that axis.
#pragma once

#include "device/static_parameters.h"

__device__ inline int input_depth(int depth) {
  return Parameters::depth >= 0 ? Parameters::depth : depth;
}
__device__ inline int output_depth(int in_d) {
  return (in_d - 1) * Parameters::stride_d + (Parameters::dilation_d * (Parameters::kernel_d - 1) +
                                              Parameters::output_padding_d + 1 - 2 * Parameters::padding_d);
}
