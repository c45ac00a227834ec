// Part of the template `grad_weight_gemm`: how producers load a unit of channels at a position and store it.
#pragma once

#include "device/memory.h"
#include "grad_weight/matrices.h"
#include "device/parts.h"
#include "layout.h"

constexpr int kWords = P::channels_last && !kSplit ? 4 : kVector;  // of a unit
constexpr int kMostUnits = (kSplit ? 64 : 32) / kWords;            // of a batch
using Word = P::Word;
using Words = Word[kMostUnits][kWords];

#include "grad_weight/split_unit.h"

// Loads a unit: zeros where it is outside the image, and for channels past the last. {with plane: `plane` is from
// a channel to the next one.}
__device__ __forceinline__ void load_unit(Word (&words)[kWords], const Element* __restrict__ from, bool is_inside,
                                          int left, const bool is_whole, const long long plane) {
  if constexpr (P::channels_last && kSplit) {
    load_channels(words, from, is_inside && (is_whole || left > 0));
  } else if (P::channels_last) {
    uint4 loaded = make_uint4(0, 0, 0, 0);
    if (is_inside && (is_whole || left > 0)) {
      loaded = load_constant_16(from);
    }
    words[0] = loaded.x;
    words[1] = loaded.y;
    words[2] = loaded.z;
    words[3] = loaded.w;
  } else {
#pragma unroll
    for (int c = 0; c < kVector; ++c) {
      if constexpr (kSplit || P::splits) {
        words[c] = is_inside && (is_whole || c < left) ? from[c * plane] : 0;
      } else {
        words[c] = is_inside && (is_whole || c < left) ? bits_of(from[c * plane]) : 0;
      }
    }
  }
}

// Two channels in a word: those of the low or the high halves.
__device__ __forceinline__ uint4 packed_unit(const Word (&words)[kWords], const int half) {
  if (P::channels_last) {
    return make_uint4(words[0], words[1], words[2], words[3]);
  }
  if (half == 1) {
    return make_uint4(high_halves(words[0], words[1]), high_halves(words[2], words[3]), high_halves(words[4], words[5]),
                      high_halves(words[6], words[7]));
  }
  return make_uint4(low_halves(words[0], words[1]), low_halves(words[2], words[3]), low_halves(words[4], words[5]),
                    low_halves(words[6], words[7]));
}

// Where a unit lies, in bytes.
__device__ __forceinline__ int input_place(int pixel, int unit) {
  return P::type == kWgmmaTf32 ? pixel / 4 * kQuadPitch + unit * (kVector * 16) + pixel % 4 * 4
                               : unit * kInputUnitPitch + pixel * 16;
}
__device__ __forceinline__ int window_place(int pixel, int unit) {
  return P::type == kWgmmaTf32 ? unit * (kVector * kChannelPitch) + pixel * 4 : unit * kWindowUnitPitch + pixel * 16;
}

// The scales of the block's channels, of x and then of grad_y.
__device__ __forceinline__ const float* block_scales() {
  return reinterpret_cast<const float*>(shared_align(shared_memory(), kSharedAlignment) + kScalesOffset);
}

// Writes both parts of a value of x.
__device__ __forceinline__ void store_value(unsigned char* to, float value) {
  const unsigned int word = __float_as_uint(value);
  *reinterpret_cast<unsigned int*>(to) = high_part(word);
  *reinterpret_cast<unsigned int*>(to + kInputPartBytes) = low_part(word);
}

// Writes {with next: the unit that is `next` units after }the one at `to`{with unit: , which is the block's unit
// `unit`: in 16 bits that of the words' low or high halves}.
__device__ __forceinline__ void store_input_unit(unsigned char* to, const Word (&words)[kWords], int unit,
                                                 const int next, const int half) {
  if constexpr (kSplit) {
    store_split(to + next * kInputUnitPitch, kInputPartBytes, words, block_scales() + (unit + next) * kVector);
  } else if constexpr (P::splits) {
#pragma unroll
    for (int c = 0; c < kVector; ++c) {
      store_value(to + (next * kVector + c) * 16, words[c]);
    }
  } else if constexpr (P::type == kWgmmaTf32) {
#pragma unroll
    for (int c = 0; c < kVector; ++c) {
      *reinterpret_cast<unsigned int*>(to + (next * kVector + c) * 16) = operand(words[c]);
    }
  } else {
    *reinterpret_cast<uint4*>(to + next * kInputUnitPitch) = packed_unit(words, half);
  }
}
__device__ __forceinline__ void store_window_unit(unsigned char* to, const Word (&words)[kWords], int unit,
                                                  const int next, const int half) {
  if constexpr (kSplit) {
    store_split(to + next * kWindowUnitPitch, kWindowPartBytes, words,
                block_scales() + (P::block_in + (unit + next) * kVector));
  } else if constexpr (P::splits) {  // who loads fragments splits them
#pragma unroll
    for (int c = 0; c < kVector; ++c) {
      *reinterpret_cast<float*>(to + (next * kVector + c) * kChannelPitch) = words[c];
    }
  } else if constexpr (P::type == kWgmmaTf32) {
#pragma unroll
    for (int c = 0; c < kVector; ++c) {
      *reinterpret_cast<unsigned int*>(to + (next * kVector + c) * kChannelPitch) = operand(words[c]);
    }
  } else {
    *reinterpret_cast<uint4*>(to + next * kWindowUnitPitch) = packed_unit(words, half);
  }
}

// ---- Rows that are turned ----

// A word of a row as it lies in memory is an element, or two. They are multiplied as they are, or split.
using Scales = float[kSplit ? 4 : 1];
__device__ __forceinline__ void load_scales(Scales& scales, int channel, const int octets) {
  if constexpr (kSplit) {
    const float* all = block_scales();
#pragma unroll
    for (int octet = 0; octet < octets; ++octet) {
      scales[octet] = all[channel + octet * kBlockChannels];
    }
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
    const SplitPair pair = split_pair(words[octet][0], words[octet][kLaneWords - 1], scales[octet], false);
    high[octet] = pair.high;
    low[octet] = pair.low;
  }
  store_matrices(to, high, octets);
  store_matrices(to_low, low, octets);
}

// Writes a lane's words of some octets of channels at its positions.
__device__ __forceinline__ void store_input_block(unsigned char* input, unsigned char* spare,
                                                  const Word (&words)[4][kLaneWords], const Scales& scales,
                                                  const Positions& positions, int octet, int lane) {
  if constexpr (kSplit) {
    unsigned char* to = input + input_place(positions[0].at, octet + lane / 8 % kInputTogether);
    store_split_block(positions[0].is_wanted ? to : spare, positions[0].is_wanted ? to + kInputPartBytes : spare, words,
                      scales, kInputTogether);
  } else if constexpr (kByMatrices) {
    const int place = input_place(positions[0].at, octet + lane / 8 % kInputTogether);
    const unsigned int values[4] = {static_cast<unsigned int>(words[0][0]), static_cast<unsigned int>(words[1][0]),
                                    static_cast<unsigned int>(words[2][0]), static_cast<unsigned int>(words[3][0])};
    store_matrices(positions[0].is_wanted ? input + place : spare, values, kInputTogether);
  } else {
#pragma unroll
    for (int i = 0; i < kLanePositions; ++i) {
      if (positions[i].is_wanted) {
        unsigned char* to = input + (input_place(positions[i].at, 2 * octet) + lane / 4 * 16);
#pragma unroll
        for (int next = 0; next < kInputTogether; ++next) {
          if constexpr (P::splits) {
            store_value(to + next * (kBlockChannels * 16), words[next][i]);
          } else {
            *reinterpret_cast<unsigned int*>(to + next * (kBlockChannels * 16)) = operand(words[next][i]);
          }
        }
      }
    }
  }
}
__device__ __forceinline__ void store_window_block(unsigned char* window, unsigned char* spare,
                                                   const Word (&words)[4][kLaneWords], const Scales& scales,
                                                   const Positions& positions, int octet, int lane) {
  if constexpr (kSplit) {
    unsigned char* to = window + window_place(positions[0].at, octet + lane / 8 % kWindowTogether);
    store_split_block(positions[0].is_wanted ? to : spare, positions[0].is_wanted ? to + kWindowPartBytes : spare,
                      words, scales, kWindowTogether);
  } else if constexpr (kByMatrices) {
    const int place = window_place(positions[0].at, octet + lane / 8 % kWindowTogether);
    const unsigned int values[4] = {static_cast<unsigned int>(words[0][0]), static_cast<unsigned int>(words[1][0]),
                                    static_cast<unsigned int>(words[2][0]), static_cast<unsigned int>(words[3][0])};
    store_matrices(positions[0].is_wanted ? window + place : spare, values, kWindowTogether);
  } else {
#pragma unroll
    for (int i = 0; i < kLanePositions; ++i) {
      if (positions[i].is_wanted) {
        unsigned char* to = window + (window_place(positions[i].at, 2 * octet) + lane / 4 * kChannelPitch);
#pragma unroll
        for (int next = 0; next < kWindowTogether; ++next) {
          if constexpr (P::splits) {
            *reinterpret_cast<float*>(to + next * (kBlockChannels * kChannelPitch)) = words[next][i];
          } else {
            *reinterpret_cast<unsigned int*>(to + next * (kBlockChannels * kChannelPitch)) = operand(words[next][i]);
          }
        }
      }
    }
  }
}
