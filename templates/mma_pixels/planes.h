// Part of the template `mma_pixels`: stages of planes as nchw has them. A stage has rows of a channel each: for each
// position its words, taps that are adjacent in x. So nothing is arranged before, and where kernels are as large as
// their strides a block reads whole pieces of rows. Lanes load their words of several positions together.
#pragma once

#include "device/async_copy.h"
#include "device/static_parameters.h"
#include "layout.h"

constexpr int kWordElements = 4 / kBytes;

// Adjacent positions that a lane has, in its two rows of a product.
constexpr int kSpan = kPlanes && !kFusedPhases ? P::store : 1;

// ---- K ----

// A k-step has eight words of K. Where a product takes words t and t + 4 of lane t, they are: of plane_words 1 those of
// eight channels, of 2 both words of four channels, of 4 two adjacent words, of two lanes for each of two channels.
constexpr int kStepChannels = kPlanes ? 8 / P::plane_words : 1;
__device__ inline int channel_of_step(int unit, int lane) {
  return P::plane_words == 1 ? unit * 4 + lane : P::plane_words == 2 ? lane : lane / 2;
}

// The tap, of those of a stage, that an element of a word has: the last one reads before the others.
__device__ inline int tap_of_step(int unit, int lane, int element) {
  const int word = P::plane_words == 1 ? 0 : P::plane_words == 2 ? unit : lane % 2 * 2 + unit;
  return kRowTaps - 1 - (word * kWordElements + element);
}

// ---- Copies ----

// The first word, of a row of a stage, of a thread's unit.
__device__ inline int unit_word(int thread, const int place) {
  return (thread % kRowUnits + place * kThreads) * (P::copy_bytes / 4);
}

// Copies a unit, or zeros.
__device__ __forceinline__ void copy_unit(unsigned char* to, const unsigned char* from, bool any) {
  if constexpr (P::copy_bytes == 16) {
    async_copy_16(to, from, any ? 16 : 0);
  } else if constexpr (P::copy_bytes == 8) {
    async_copy_8(to, from, any ? 8 : 0);
  } else {
    async_copy_4(to, from, any ? 4 : 0);
  }
}

// ---- Fragments ----

// Where the first row of half a tile lies in its warp's positions; the next row is kSpan positions on.
__host__ __device__ constexpr int position_of(int tile, int half) {
  return tile * 16 + half * (kSpan == 2 ? 1 : 8);
}

// Where a lane's words of a stage begin, in bytes: of its warp's first position and the first k-step.
__device__ inline int lane_place(int first, int lane) {
  const int own = first + lane / 4 * kSpan;
  return P::plane_words == 4 ? (lane % 4 / 2 * kRowPitch + own * 4 + lane % 2 * 2) * 4
                             : (lane % 4 * kRowPitch + own * P::plane_words) * 4;
}

// Positions of a load, and halves of K.
constexpr int kLoadPositions = P::plane_words == 4 ? 1 : kSpan;
constexpr int kLoadHalves = P::plane_words == 1 ? 1 : 2;
constexpr int kLoadWords = kLoadPositions * kLoadHalves;

__device__ __forceinline__ void load_words(unsigned int (&words)[kLoadWords], const unsigned char* from) {
  if constexpr (kLoadWords == 4) {
    const uint4 four = *reinterpret_cast<const uint4*>(from);
    words[0] = four.x;
    words[1] = four.y;
    words[2] = four.z;
    words[3] = four.w;
  } else if constexpr (kLoadWords == 2) {
    const uint2 two = *reinterpret_cast<const uint2*>(from);
    words[0] = two.x;
    words[1] = two.y;
  } else {
    words[0] = *reinterpret_cast<const unsigned int*>(from);
  }
}

// Loads what the products of a k-step take of the input, which begins at the lane's place in the stage.
__device__ __forceinline__ void load_planes(unsigned int (&a)[kParts * kWarpTiles][4], const unsigned char* input,
                                            const int k_step) {
#pragma unroll
  for (int first = 0; first < 2 * kWarpTiles; first += kLoadPositions) {
#pragma unroll
    for (int half = 0; half < 2; half += kLoadHalves) {
      unsigned int words[kLoadWords];
      load_words(words, input + ((k_step * kStepChannels + half * 4) * kRowPitch +
                                 position_of(first / 2, first % 2) * P::plane_words) *
                                    4);
#pragma unroll
      for (int i = 0; i < kLoadWords; ++i) {
        const int row = first + i / kLoadHalves;
        a[row / 2][(half + i % kLoadHalves) * 2 + row % 2] = words[i];
      }
    }
  }
}
