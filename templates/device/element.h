// What memory holds, for products on tensor cores: conversions and stores of its elements.
// Needs `Parameters` with the type Element, type (a WgmmaType) and store (elements that are stored together).
// An element is fp32 where products are of tf32, or of values that are split into parts of f16.
#pragma once

#include "device/convert.h"
#include "device/memory.h"
#include "device/printed.h"
#include "device/static_parameters.h"
#include "device/template.h"

constexpr bool kIsFloat = sizeof(Parameters::Element) == 4;

// Two elements of 16 bits in a word.
__device__ __forceinline__ unsigned int pair(float low, float high) {
  return Parameters::type == kWgmmaF16 ? floats_to_half2(low, high) : floats_to_bfloat162(low, high);
}

__device__ __forceinline__ Parameters::Element narrow(float value) {
  if constexpr (kIsFloat) {
    return value;
  } else if constexpr (Parameters::type == kWgmmaF16) {
    return accumulator_to_half(value);
  } else {
    return float_to_bfloat16(value);
  }
}

__device__ __forceinline__ float widen(Parameters::Element value) {
  if constexpr (kIsFloat) {
    return value;
  } else if constexpr (Parameters::type == kWgmmaF16) {
    return half_to_float(value);
  } else {
    return bfloat16_to_float(value);
  }
}

// An element's bits.
__device__ __forceinline__ unsigned int bits_of(Parameters::Element value) {
  if constexpr (kIsFloat) {
    return __float_as_uint(value);
  } else {
    return value;
  }
}

// A staged word as a product takes it: tf32 is rounded.
__device__ __forceinline__ unsigned int operand(unsigned int word) {
  return Parameters::type == kWgmmaTf32 ? float_to_tf32(__uint_as_float(word)) : word;
}

// The low or the high halves of two words in one.
__device__ __forceinline__ unsigned int low_halves(unsigned int a, unsigned int b) {
  return (a & 0xffffu) | b << 16;
}
__device__ __forceinline__ unsigned int high_halves(unsigned int a, unsigned int b) {
  return a >> 16 | (b & 0xffff0000u);
}

// The word of a float, or of two elements of 16 bits.
__device__ __forceinline__ unsigned int word_of(const float* values) {
  return Parameters::type == kWgmmaTf32 ? __float_as_uint(values[0]) : pair(values[0], values[1]);
}

// Stores adjacent elements, aligned to all of them, in one piece: nobody reads them while the kernel runs.
__device__ inline void store_together(Parameters::Element* to, const float (&values)[Parameters::store]) {
  if (kIsFloat) {
    if (Parameters::store == 4) {
      store_global_16(to, make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]), __float_as_uint(values[2]),
                                     __float_as_uint(values[3])));
    } else if (Parameters::store == 2) {
      store_global_8(to, make_uint2(__float_as_uint(values[0]), __float_as_uint(values[1])));
    } else {
      *to = values[0];
    }
  } else {
    if (Parameters::store == 8) {
      store_global_16(to, make_uint4(pair(values[0], values[1]), pair(values[2], values[3]), pair(values[4], values[5]),
                                     pair(values[6], values[7])));
    } else if (Parameters::store == 4) {
      store_global_8(to, make_uint2(pair(values[0], values[1]), pair(values[2], values[3])));
    } else if (Parameters::store == 2) {
      store_global_4(to, pair(values[0], values[1]));
    } else {
      *to = narrow(values[0]);
    }
  }
}

// Stores adjacent elements from shared memory as one vector.
//
// They lie there as they will in memory.
__device__ __forceinline__ void store_staged_vector(Parameters::Element* to, const Parameters::Element* from) {
  constexpr int kPieceBytes = Parameters::store * static_cast<int>(sizeof(Parameters::Element));
  if constexpr (kPieceBytes == 16) {
    store_global_16(to, *reinterpret_cast<const uint4*>(from));
  } else if constexpr (kPieceBytes == 8) {
    store_global_8(to, *reinterpret_cast<const uint2*>(from));
  } else if constexpr (Parameters::store > 1) {
    store_global_4(to, *reinterpret_cast<const unsigned int*>(from));
  } else {
    *to = *from;
  }
}
