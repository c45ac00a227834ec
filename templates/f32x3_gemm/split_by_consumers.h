// Consumers split the values that they load, 16 channels at a time: where rows of taps share no input.
#pragma once

#include "device/input_activation.h"
#include "device/ring.h"
#include "device/split.h"
#include "forward_gemm/accumulators.h"
#include "forward_gemm/taps.h"
#include "fragments.h"
#include "layout.h"
#include "multiply.h"
#include "totals.h"

using Values = float[4][kLoadedColumns];  // of a thread's channels

// Loads a thread's positions, for one k-step: two adjacent channels of each half of a product's K, with channels last
// all four at once.
__device__ __forceinline__ void load_values(Values& values, const float* row) {
#pragma unroll
  for (int i = 0; i < kLoadedColumns; i += kLoadVector) {
    if (P::channels_last) {
      const float4 v = *reinterpret_cast<const float4*>(row + i * kPixelPitch);
      values[0][i] = v.x;
      values[1][i] = v.y;
      values[2][i] = v.z;
      values[3][i] = v.w;
    } else {
#pragma unroll
      for (int channel = 0; channel < 4; ++channel) {
        const float* from = row + (channel / 2 * 8 + channel % 2) * kChannelPitch + i;
        if (kLoadVector == 4) {
          const float4 v = *reinterpret_cast<const float4*>(from);
          values[channel][i] = v.x;
          values[channel][i + 1] = v.y;
          values[channel][i + 2] = v.z;
          values[channel][i + 3] = v.w;
        } else {
          const float2 v = *reinterpret_cast<const float2*>(from);
          values[channel][i] = v.x;
          values[channel][i + 1] = v.y;
        }
      }
    }
  }
}

// Makes the words of all high parts first, so that none waits for its low part.
__device__ __forceinline__ void split_values(Words (&words)[2], const Values& values, float scale) {
#pragma unroll
  for (int i = 0; i < 2 * kLoadedColumns; ++i) {
    const int half = i / kLoadedColumns * 2;
    words[0][i / kLoadedColumns][i % kLoadedColumns] = floats_to_half2(
        input_of(values[half][i % kLoadedColumns]) * scale, input_of(values[half + 1][i % kLoadedColumns]) * scale);
  }
#pragma unroll
  for (int i = 0; i < 2 * kLoadedColumns; ++i) {
    const int half = i / kLoadedColumns * 2;
    words[1][i / kLoadedColumns][i % kLoadedColumns] = low_parts(input_of(values[half][i % kLoadedColumns]) * scale,
                                                                 input_of(values[half + 1][i % kLoadedColumns]) * scale,
                                                                 words[0][i / kLoadedColumns][i % kLoadedColumns]);
  }
}

// All products of one k-block of fp32 values. The first `values` are loaded already. {with row: `row` is the thread's
// first position.}
//
// The stage is released at `empty`; or the one before at `previous`, except in a tile's `first` k-block.
__device__ __forceinline__ void split_and_multiply(Accumulators& acc, Fragments (&fragments)[kParts], ScaleState& state,
                                                   Values& values, const float* row, const unsigned char* weights,
                                                   int image, bool first, unsigned long long* empty,
                                                   unsigned long long* previous, unsigned int zero) {
  unsigned long long operands = wgmma_descriptor(weights, kInstructionN * 16, 128, 0);
  const float scale = power_of_two(P::tile_n == 1 ? state.exponent : __shfl_sync(0xffffffffu, state.exponent, image));
#pragma unroll
  for (int k_step = 0; k_step < kKSteps; ++k_step) {
    const int later = state.rows > 0 ? 1 : 0;
    ++state.rows;
    Words words[2];
    split_values(words, values, scale);
    if (P::resident && k_step == kKSteps - 1) {
      warp_arrive(empty, (word_of_all(words[1]) & zero) == 0);
    }
    make_fragments(fragments[0], words[1], zero, false);
    wgmma_fence();
    multiply_taps(acc, fragments[0], operands, 0, later, false);
    wgmma_commit();
    wgmma_wait(1);  // the fragments of the other part may be overwritten
    if (!P::resident && k_step == 0) {
      warp_arrive(previous, !first);
    }
    if (k_step < kKSteps - 1) {
      row += kKStepPitch;  // prefetch: the next values are loaded while these products run
      load_values(values, row);
    }
    make_fragments(fragments[1], words[0], zero_after_wait(weights, zero), true);
    wgmma_fence();
    multiply_taps(acc, fragments[1], operands, 0, later, true);
    wgmma_commit();
    wgmma_wait(1);
    operands = moved(operands, kProductBytes);
  }
}
