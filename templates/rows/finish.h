// What becomes of an accumulator before it is stored, for templates that make rows of outputs.
#pragma once

#include "device/activation.h"
#include "device/static_parameters.h"

// An output from its accumulator: the bias and the fuse chain.
__device__ __forceinline__ Parameters::Sum finish(Parameters::Sum acc, Parameters::Sum bias) {
  const Parameters::Sum biased = Parameters::has_bias ? acc + bias : acc;
  return Parameters::fuse_count > 0 ? activate(biased) : biased;
}
