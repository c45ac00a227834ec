// Stores of adjacent outputs as one vector, for templates that multiply one number at a time.
// Needs `Parameters` with the types Element and Sum, and element_kind.
#pragma once

#include "device/memory.h"
#include "device/scalar.h"
#include "device/static_parameters.h"

// Two 16-bit elements in a word.
__device__ __forceinline__ unsigned int word_of(Parameters::Sum low, Parameters::Sum high) {
  return static_cast<unsigned int>(narrow(low)) | static_cast<unsigned int>(narrow(high)) << 16;
}

// Writes as many adjacent elements as 16 bytes have as one vector, to which `to` is aligned.
__device__ __forceinline__ void store_16(Parameters::Element* to, const Parameters::Sum* values) {
  if constexpr (sizeof(Parameters::Element) == 2) {
    store_global_16(to, make_uint4(word_of(values[0], values[1]), word_of(values[2], values[3]),
                                   word_of(values[4], values[5]), word_of(values[6], values[7])));
  } else if constexpr (sizeof(Parameters::Element) == 4) {
    store_global_16(to, make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]), __float_as_uint(values[2]),
                                   __float_as_uint(values[3])));
  } else {
    to[0] = values[0];
    to[1] = values[1];
  }
}

// Writes as many adjacent elements as 8 bytes have as one vector, to which `to` is aligned.
__device__ __forceinline__ void store_8(Parameters::Element* to, const Parameters::Sum* values) {
  if constexpr (sizeof(Parameters::Element) == 2) {
    store_global_8(to, make_uint2(word_of(values[0], values[1]), word_of(values[2], values[3])));
  } else if constexpr (sizeof(Parameters::Element) == 4) {
    store_global_8(to, make_uint2(__float_as_uint(values[0]), __float_as_uint(values[1])));
  } else {
    to[0] = values[0];
  }
}
