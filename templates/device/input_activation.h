// The activations of `fuse_input`, which x has before products are formed of it.
// Needs `Parameters` with the type Sum, fuse_count and fuse_input_count, and what activation.h needs;
// the type Element above its line, with widen() and narrow().
#pragma once

#include "device/static_parameters.h"
#include "device/template.h"

// In activation.h, which comes with the epilogue.
__device__ __forceinline__ Parameters::Sum activate(Parameters::Sum value, const int first, const int count);

constexpr bool kActivatesInput = Parameters::fuse_input_count > 0;

// An element of x, activated and rounded to its type, as an operator before the layer would write it.
__device__ __forceinline__ Element activate_input(Element value) {
  return narrow(activate(widen(value), Parameters::fuse_count, Parameters::fuse_input_count));
}

// An element as products take it: activated where the layer has the chain.
__device__ inline Element input_of(Element value) {
  return kActivatesInput ? activate_input(value) : value;
}
