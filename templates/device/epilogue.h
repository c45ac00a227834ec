// The epilogue of an accumulator: what becomes of it before it is stored.
// Needs `Parameters` with has_bias and what activation.h needs.
#pragma once

#include "device/activation.h"
#include "device/static_parameters.h"

// Adds the bias and applies the fuse chain, where the layer has them.
__device__ __forceinline__ Parameters::Sum epilogue(Parameters::Sum acc, Parameters::Sum bias) {
  const Parameters::Sum value = Parameters::has_bias ? acc + bias : acc;
  return Parameters::fuse_count > 0 ? activate(value, 0, Parameters::fuse_count) : value;
}
