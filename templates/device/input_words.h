// The activations of `fuse_input`, of the elements that a word or a vector has.
// Needs `Parameters` with fuse_count and fuse_input_count, and what input_activation.h needs; pair(), which rounds two
// numbers to a word of elements of 16 bits.
#pragma once

#include "device/input_activation.h"
#include "device/template.h"

// A word, activated: an element of fp32, or two of 16 bits.
__device__ __forceinline__ unsigned int activate_word(unsigned int word) {
  if constexpr (sizeof(Element) == 4) {
    return __float_as_uint(activate_input(__uint_as_float(word)));
  } else {
    return pair(activate(widen(static_cast<Element>(word)), Parameters::fuse_count, Parameters::fuse_input_count),
                activate(widen(static_cast<Element>(word >> 16)), Parameters::fuse_count, Parameters::fuse_input_count));
  }
}

// The same of a vector.
__device__ __forceinline__ uint4 activate_words(uint4 words) {
  return make_uint4(activate_word(words.x), activate_word(words.y), activate_word(words.z), activate_word(words.w));
}

// A word as products take it: activated where the layer has the chain.
__device__ inline unsigned int input_word(unsigned int word) {
  return kActivatesInput ? activate_word(word) : word;
}
