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

// The same of a word: an element of fp32, or two of 16 bits.
__device__ __forceinline__ unsigned int activate_word(unsigned int word) {
  if constexpr (sizeof(Element) == 4) {
    return __float_as_uint(activate_input(__uint_as_float(word)));
  } else {
    const unsigned int low = activate_input(static_cast<Element>(word));
    const unsigned int high = activate_input(static_cast<Element>(word >> 16));
    return low | high << 16;
  }
}

// The same of a vector.
__device__ __forceinline__ uint4 activate_words(uint4 words) {
  return make_uint4(activate_word(words.x), activate_word(words.y), activate_word(words.z), activate_word(words.w));
}

// An element or a word as products take it: activated where the layer has the chain.
__device__ inline Element input_of(Element value) {
  return kActivatesInput ? activate_input(value) : value;
}
__device__ inline unsigned int input_word(unsigned int word) {
  return kActivatesInput ? activate_word(word) : word;
}
