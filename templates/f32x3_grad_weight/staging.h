// Part of the template `f32x3_grad_weight`: how producers load a unit of channels at a position, split and store it.
#pragma once

#include "device/memory.h"
#include "device/split.h"
#include "grad_weight/matrices.h"
#include "grad_weight/split_unit.h"
#include "layout.h"

constexpr int kMostUnits = 8;  // of a batch: 64 registers
using Words = float[kMostUnits][kWords];

// Loads a unit: zeros where it is outside the image, and for channels that there are not. `plane` is from a channel to
// the next one.
__device__ __forceinline__ void load_unit(float (&words)[kWords], const Element* __restrict__ from, bool is_inside,
                                          int left, const bool is_whole, const long long plane) {
  if (P::channels_last) {
    load_channels(words, from, is_inside && (is_whole || left > 0));
  } else {
#pragma unroll
    for (int c = 0; c < kVector; ++c) {
      words[c] = is_inside && (is_whole || c < left) ? from[c * plane] : 0;
    }
  }
}

// Where a unit lies, in bytes.
__device__ __forceinline__ int input_place(int pixel, int unit) {
  return unit * kInputUnitPitch + pixel * 16;
}
__device__ __forceinline__ int window_place(int pixel, int unit) {
  return unit * kWindowUnitPitch + pixel * 16;
}

// Writes the unit that is `next` units behind the one at `to`, which is the block's unit `unit`.
__device__ __forceinline__ void store_input_unit(unsigned char* to, const float (&words)[kWords], int unit,
                                                 const int next, int) {
  const float* scales = reinterpret_cast<const float*>(shared_align(shared_memory(), kSharedAlignment) + kScalesOffset);
  store_split(to + next * kInputUnitPitch, kInputBytes, words, scales + (unit + next) * kVector);
}
__device__ __forceinline__ void store_window_unit(unsigned char* to, const float (&words)[kWords], int unit,
                                                  const int next, int) {
  const float* scales = reinterpret_cast<const float*>(shared_align(shared_memory(), kSharedAlignment) + kScalesOffset);
  store_split(to + next * kWindowUnitPitch, kWindowBytes, words, scales + (P::block_in + (unit + next) * kVector));
}

// ---- Rows that are turned ----

// A word of a row as it lies in memory: an element.
using Word = float;
using Scales = float[4];
__device__ __forceinline__ void load_scales(Scales& scales, int channel, const int octets) {
  const float* all = reinterpret_cast<const float*>(shared_align(shared_memory(), kSharedAlignment) + kScalesOffset);
#pragma unroll
  for (int octet = 0; octet < octets; ++octet) {
    scales[octet] = all[channel + octet * kBlockChannels];
  }
}

// Splits a lane's words of some octets of channels, and writes their high parts at `to`, and their low parts.
__device__ __forceinline__ void store_split_block(unsigned char* to, unsigned char* to_low,
                                                  const Word (&words)[4][kLaneWords], const Scales& scales,
                                                  const int octets) {
  unsigned int high[4];
  unsigned int low[4];
#pragma unroll
  for (int octet = 0; octet < octets; ++octet) {
    const SplitPair pair = split_pair(words[octet][0], words[octet][1], scales[octet], false);
    high[octet] = pair.high;
    low[octet] = pair.low;
  }
  store_matrices(to, high, octets);
  store_matrices(to_low, low, octets);
}
__device__ __forceinline__ void store_input_block(unsigned char* input, unsigned char* spare,
                                                  const Word (&words)[4][kLaneWords], const Scales& scales,
                                                  const Positions& positions, int octet, int lane) {
  unsigned char* to = input + input_place(positions[0].at, octet + lane / 8 % kInputTogether);
  store_split_block(positions[0].is_wanted ? to : spare, positions[0].is_wanted ? to + kInputBytes : spare, words,
                    scales, kInputTogether);
}
__device__ __forceinline__ void store_window_block(unsigned char* window, unsigned char* spare,
                                                   const Word (&words)[4][kLaneWords], const Scales& scales,
                                                   const Positions& positions, int octet, int lane) {
  unsigned char* to = window + window_place(positions[0].at, octet + lane / 8 % kWindowTogether);
  store_split_block(positions[0].is_wanted ? to : spare, positions[0].is_wanted ? to + kWindowBytes : spare, words,
                    scales, kWindowTogether);
}
