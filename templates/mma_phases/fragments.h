// Part of the template `mma_phases`: operands from shared memory.
#pragma once

#include "device/element.h"
#include "layout.h"

// ---- Weights ----

// Weights of an input channel, which follow one another in either order.
constexpr int kColumns = P::out_channels * kTaps;
constexpr int kColumnSteps = ceil_div(kColumns, 32);  // of a lane

// Where a weight's column lies among the words of its step of K: the shift, the row of the products.
__device__ __forceinline__ int column_place(int column) {
  const int tap = P::weight_channels_last ? column / P::out_channels : column % kTaps;
  const int co = P::weight_channels_last ? column % P::out_channels : column / kTaps;
  const int kh = tap / P::kernel_w;
  const int kw = tap % P::kernel_w;
  const int shift = (kReachH - 1 - kh / P::stride_h) * kReachW + (kReachW - 1 - kw / P::stride_w);
  const int row = (co * P::stride_h + kh % P::stride_h) * P::stride_w + kw % P::stride_w;
  return (shift * kRowTiles + row / kInstructionM) * kFragmentWords + row % 8 * 16 + row / 8 % 2;
}

// The word of an input channel's weights before those of its columns.
__device__ __forceinline__ int channel_place(int ci) {
  const int k = ci % kInstructionK;
  return ci / kInstructionK * (kShifts * kRowTiles * kFragmentWords) + (kBytes == 4 ? k % 4 : k % 8 / 2) * 4 +
         k / (kInstructionK / 2) * 2;
}

// Puts all weights to shared memory, with zeros where a phase has no tap of a shift. By the warps that multiply.
__device__ __forceinline__ void stage_weights(unsigned int* to, const Element* __restrict__ weight, int warp,
                                              int lane) {
  for (int i = threadIdx.x; i < kWeightWords / 4; i += 32 * P::warps) {
    *reinterpret_cast<uint4*>(to + i * 4) = make_uint4(0, 0, 0, 0);
  }
  int places[kColumnSteps];
#pragma unroll
  for (int i = 0; i < kColumnSteps; ++i) {
    places[i] = column_place(lane + i * 32);
  }
  named_barrier_sync(1, 32 * P::warps);
#pragma unroll 4
  for (int ci = warp; ci < P::in_channels; ci += P::warps) {
#pragma unroll
    for (int i = 0; i < kColumnSteps; ++i) {
      if (lane + i * 32 < kColumns) {
        const Element value = weight[static_cast<long long>(ci) * kColumns + (lane + i * 32)];
        unsigned int* word = to + (channel_place(ci) + places[i]);
        if (kBytes == 4) {
          *word = operand(bits_of(value));
        } else {
          reinterpret_cast<unsigned short*>(word)[ci % 2] = static_cast<unsigned short>(bits_of(value));
        }
      }
    }
  }
}

__device__ __forceinline__ void load_weights(unsigned int (&a)[4], const unsigned int* from) {
  const uint4 words = *reinterpret_cast<const uint4*>(from);
  a[0] = words.x;
  a[1] = words.y;
  a[2] = words.z;
  a[3] = words.w;
}

// ---- Input ----

// Vectors of the channels that a lane has in a product: two of f32, four of 16 bits.
struct Rows {
  unsigned int words[kLaneChannels][kVectors * 4];
};

// The channel of a lane's row, in a step of K.
__device__ __forceinline__ int channel_of(int lane, int i) {
  return kBytes == 4 ? lane % 4 + i * 4 : lane % 4 * 2 + i % 2 + i / 2 * 8;
}

// Loads the vectors of a chunk. `from` is the lane's own place: channel_of(lane, 0) and its first position.
__device__ __forceinline__ void load_rows(Rows& rows, const Element* from) {
#pragma unroll
  for (int i = 0; i < kLaneChannels; ++i) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const uint4 words = *reinterpret_cast<const uint4*>(from + channel_of(0, i) * kStagedPixels + v * kVector);
      rows.words[i][v * 4] = words.x;
      rows.words[i][v * 4 + 1] = words.y;
      rows.words[i][v * 4 + 2] = words.z;
      rows.words[i][v * 4 + 3] = words.w;
    }
  }
}

// The B fragment of the positions that lie `at` after the lanes' first ones.
__device__ __forceinline__ void fragment_of(unsigned int (&b)[2], const Rows& rows, const int at) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if constexpr (kBytes == 4) {
      b[i] = rows.words[i][at];
    } else {
      const unsigned int first = rows.words[i * 2][at / 2];
      const unsigned int second = rows.words[i * 2 + 1][at / 2];
      b[i] = at % 2 == 0 ? low_halves(first, second) : high_halves(first, second);
    }
  }
}
