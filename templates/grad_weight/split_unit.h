// A unit of channels at a position, split: for gradients of weights. Its words are values, eight of them.
// Needs: kWords, Word
#pragma once

#include "device/memory.h"
#include "device/split.h"
#include "grad_weight/planes.h"

// Loads a unit that lies with channels last, or zeros.
__device__ __forceinline__ void load_channels(Word (&words)[kWords], const Element* __restrict__ from, bool is_there) {
  uint4 first = make_uint4(0, 0, 0, 0);
  uint4 second = make_uint4(0, 0, 0, 0);
  if (is_there) {
    first = load_constant_16(from);
    second = load_constant_16(from + 4);
  }
  words[0] = __uint_as_float(first.x);
  words[1] = __uint_as_float(first.y);
  words[2] = __uint_as_float(first.z);
  words[3] = __uint_as_float(first.w);
  words[kWords - 4] = __uint_as_float(second.x);
  words[kWords - 3] = __uint_as_float(second.y);
  words[kWords - 2] = __uint_as_float(second.z);
  words[kWords - 1] = __uint_as_float(second.w);
}

// Writes the high parts of a unit, and its low parts so many bytes on. `scales` are those of its channels.
__device__ __forceinline__ void store_split(unsigned char* to, const int low_offset, const Word (&words)[kWords],
                                            const float* scales) {
  const float4 first = *reinterpret_cast<const float4*>(scales);
  const float4 second = *reinterpret_cast<const float4*>(scales + 4);
  const float scaled[8] = {words[0] * first.x,           words[1] * first.y,           words[2] * first.z,
                           words[3] * first.w,           words[kWords - 4] * second.x, words[kWords - 3] * second.y,
                           words[kWords - 2] * second.z, words[kWords - 1] * second.w};
  unsigned int high[4];
  unsigned int low[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    high[i] = floats_to_half2(scaled[2 * i], scaled[2 * i + 1]);
    low[i] = low_parts(scaled[2 * i], scaled[2 * i + 1], high[i]);
  }
  *reinterpret_cast<uint4*>(to) = make_uint4(high[0], high[1], high[2], high[3]);
  *reinterpret_cast<uint4*>(to + low_offset) = make_uint4(low[0], low[1], low[2], low[3]);
}
