// Sizes of a call. Those that the layer gives are numbers, the others are arguments of the kernel.
// Needs `Parameters` with height, width (-1 where they are open) and the layer's strides, paddings and dilations.
#pragma once

#include "device/static_parameters.h"

__device__ inline int input_rows(int height) {
  return Parameters::height >= 0 ? Parameters::height : height;
}
__device__ inline int input_columns(int width) {
  return Parameters::width >= 0 ? Parameters::width : width;
}
__device__ inline int output_rows(int in_h) {
  return (in_h - 1) * Parameters::stride_h + (Parameters::dilation_h * (Parameters::kernel_h - 1) +
                                              Parameters::output_padding_h + 1 - 2 * Parameters::padding_h);
}
__device__ inline int output_columns(int in_w) {
  return (in_w - 1) * Parameters::stride_w + (Parameters::dilation_w * (Parameters::kernel_w - 1) +
                                              Parameters::output_padding_w + 1 - 2 * Parameters::padding_w);
}
