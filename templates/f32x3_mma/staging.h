// Threads load input to registers, find its largest magnitude, and write its high and low parts to shared memory.
#pragma once

#include "device/input_activation.h"
#include "device/memory.h"
#include "device/split.h"
#include "layout.h"

constexpr int kSharers = kUnits;  // threads that share a place, each with a unit of 8 channels
#include "window/places.h"

// A k-block's input of a thread: a unit of each of its places.
using Values = float[kPlaces][kVector];

__device__ __forceinline__ int unit_of(int thread) {
  return P::channels_last ? thread % kUnits : thread / kPlaceStep;
}

// Loads a k-block of input channels: zeros where the image or the channels end.
__device__ __forceinline__ void load_values(Values& values, const Element* __restrict__ x, const Places& places,
                                            int first_channel, int thread, const int in_d, const int in_h,
                                            const int in_w) {
  const int ci = first_channel + unit_of(thread) * kVector;
  const long long plane = static_cast<long long>(in_h) * in_w * in_d;
#pragma unroll
  for (int i = 0; i < kPlaces; ++i) {
    const Element* pixel = x + places[i];
    const Element* from = P::channels_last ? pixel + ci : pixel + ci * plane;
    if (P::vector == 4) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        uint4 loaded = make_uint4(0, 0, 0, 0);
        if (places[i] >= 0 && (kGroupIn % P::block_k == 0 || ci + half * 4 < kGroupIn)) {
          loaded = load_constant_16(from + half * 4);
        }
        values[i][half * 4] = __uint_as_float(loaded.x);
        values[i][half * 4 + 1] = __uint_as_float(loaded.y);
        values[i][half * 4 + 2] = __uint_as_float(loaded.z);
        values[i][half * 4 + 3] = __uint_as_float(loaded.w);
      }
    } else {
#pragma unroll
      for (int c = 0; c < kVector; ++c) {
        values[i][c] = 0;
        if (places[i] >= 0 && (kGroupIn % P::block_k == 0 || ci + c < kGroupIn)) {
          values[i][c] = P::channels_last ? from[c] : from[c * plane];
        }
      }
    }
  }
}

// Activates a k-block's input. An activation keeps zeros where the image or the channels end.
__device__ __forceinline__ void activate_values(Values& values) {
#pragma unroll
  for (int i = 0; i < kPlaces; ++i) {
#pragma unroll
    for (int c = 0; c < kVector; ++c) {
      values[i][c] = activate_input(values[i][c]);
    }
  }
}

// Writes the largest finite magnitude of a warp's values. Collective.
__device__ __forceinline__ void write_maximum(float* maxima, const Values& values, int thread) {
  float most = 0;
#pragma unroll
  for (int i = 0; i < kPlaces; ++i) {
#pragma unroll
    for (int c = 0; c < kVector; ++c) {
      most = larger_finite(most, values[i][c]);
    }
  }
#pragma unroll
  for (int mask = 16; mask >= 1; mask /= 2) {
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, mask));
  }
  if (thread % 32 == 0) {
    maxima[thread / 32] = most;
  }
}

// The maximum of all warps.
__device__ __forceinline__ float block_maximum(const float* maxima) {
  float most = maxima[0];
#pragma unroll
  for (int warp = 1; warp < kWarps; ++warp) {
    most = fmaxf(most, maxima[warp]);
  }
  return most;
}

// Writes a thread's values to a stage, split.
__device__ __forceinline__ void store_split(unsigned char* to, const Values& values, float scale, int thread) {
#pragma unroll
  for (int i = 0; i < kPlaces; ++i) {
    if (is_place(thread, i)) {
      SplitPair pairs[4];
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        pairs[word] = split_pair(values[i][word * 2], values[i][word * 2 + 1], scale, false);
      }
      unsigned char* unit = to + unit_of(thread) * kUnitPitch + pixel_offset(place_of(thread, i));
      *reinterpret_cast<uint4*>(unit) = make_uint4(pairs[0].high, pairs[1].high, pairs[2].high, pairs[3].high);
      *reinterpret_cast<uint4*>(unit + kLowOffset) = make_uint4(pairs[0].low, pairs[1].low, pairs[2].low, pairs[3].low);
    }
  }
}
