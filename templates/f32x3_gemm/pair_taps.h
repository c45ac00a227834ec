// Products of a row of taps, two taps at a time: where registers can't hold the fragments of all of them.
//
// With input strides each tap has fragments of its own. While the products of a pair are in flight, the fragments of
// the next pair are loaded.
#pragma once

#include "device/printed.h"
#include "device/ring.h"
#include "device/warpgroup.h"
#include "forward_gemm/accumulators.h"
#include "forward_gemm/taps.h"
#include "layout.h"
#include "totals.h"

// The A operands of two taps: of high and of low parts, of each tap and M tile.
using PairFragments = unsigned int[kParts][2][kMTiles][4];

// Where the columns of two taps are adjacent, and begin where a vector may, their words are loaded together. The first
// pair lacks a tap where the first tap's column begins a vector.
constexpr bool kLoadsPairs = !P::channels_last && P::dilation_w == 1 && P::input_stride_w % 2 == 0;
constexpr int kLackedTaps = kLoadsPairs && column_of_tap(0) % 2 == 0 ? 1 : 0;
constexpr int kPairs = ceil_div(P::kernel_w + kLackedTaps, 2);  // of a row of taps
constexpr bool kAllPairs = kPairs * 2 == P::kernel_w;           // each has two taps
constexpr int kKBlockPairs = kKSteps * kPairs;
// Taps of a pair may read the same words, of positions that are this many apart; 0: they don't.
constexpr int kPairPositions = P::dilation_w % P::input_stride_w == 0 ? P::dilation_w / P::input_stride_w : 0;

// The first tap of a k-block's pair; whether a kernel row has such a tap.
__device__ inline int first_of_pair(int pair) {
  return (kKSteps == 1 ? pair : pair % kPairs) * 2 - kLackedTaps;
}
__device__ inline bool is_tap(int kw) {
  return kAllPairs || (kw >= 0 && kw < P::kernel_w);
}

// Loads the fragments of a k-block's pair of taps. `rows` is the thread's first position in the stage.
//
// Words are pinned before the fence. Two fragments with the same value keep a copy each: one has an opaque zero, so
// that ptxas cannot merge them and copy again.
__device__ __forceinline__ void load_pair(PairFragments& a, const unsigned int* rows, const int pair,
                                          unsigned int zero) {
  const int first = first_of_pair(pair);
  const unsigned int* from = rows + staged_row(0, 0) + (kKSteps == 1 ? 0 : pair / kPairs * kKStepPitch) +
                             (column_of_tap(0) - first * P::dilation_w) * (P::channels_last ? kPixelPitch : 1);
#pragma unroll
  for (int tile = 0; tile < kMTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (P::channels_last) {  // of a tap and a position: both parts of two pairs of channels
        const int tap = i / 2;
        const int column = (2 * tile + i % 2) * P::input_stride_w - tap * P::dilation_w;
        if (is_tap(first + tap)) {
          const uint4 v = *reinterpret_cast<const uint4*>(from + column * kPixelPitch);
          a[0][tap][tile][i % 2] = v.x;
          a[1][tap][tile][i % 2] = v.y;
          a[0][tap][tile][2 + i % 2] = v.z;
          a[1][tap][tile][2 + i % 2] = v.w;
        }
      } else {
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
          const unsigned int* word =
              from + i / 2 * 4 * kChannelPitch + part * kPartnerPitch + (2 * tile + i % 2) * P::input_stride_w;
          if (kLoadsPairs) {
            const uint2 v = *reinterpret_cast<const uint2*>(word - 1);
            a[part][0][tile][i] = v.y;
            a[part][1][tile][i] = v.x;
          } else {
#pragma unroll
            for (int tap = 0; tap < 2; ++tap) {
              if (is_tap(first + tap)) {
                a[part][tap][tile][i] = word[-tap * P::dilation_w];
              }
            }
          }
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kParts * 2 * kMTiles * 4; ++i) {
    if (is_tap(first + i / (4 * kMTiles) % 2)) {
      unsigned int& word = a[i / (8 * kMTiles)][i / (4 * kMTiles) % 2][i / 4 % kMTiles][i % 4];
      if (kPairPositions > 0 && (kPairPositions % 2 == 1 ? i : i / (4 * kMTiles)) % 2 == 1) {
        word |= zero;
      }
      wgmma_pin_operand(word);
    }
  }
}

// The products of a pair of taps, with the B operands of the first one at `weights`: those of low parts with high
// weights, then those of high parts with both parts of the weights.{with later:  They begin the accumulators if
// not `later`.}
__device__ __forceinline__ void multiply_pair(Accumulators& acc, const PairFragments& a, unsigned long long weights,
                                              const int first, int later) {
#pragma unroll
  for (int part = kParts - 1; part >= 0; --part) {
#pragma unroll
    for (int tap = 0; tap < 2; ++tap) {
      if (is_tap(first + tap)) {
        const int begun = tap == 0 || !is_tap(first) ? later : 1;
#pragma unroll
        for (int tile = 0; tile < kMTiles; ++tile) {
          wgmma_rs(kWgmmaF16, kWgmmaMajorK, acc[part][tile], a[part][tap][tile],
                   moved(weights, tap * (kKSteps * kProductBytes)), begun);
          if (part == 0) {
            wgmma_rs(kWgmmaF16, kWgmmaMajorK, acc[1][tile], a[0][tap][tile],
                     moved(weights, tap * (kKSteps * kProductBytes) + kOperandBytes), 1);
          }
        }
      }
    }
  }
}

// All products of one k-block of split values. `rows` is the thread's first position in the stage, which is released at
// `empty` once they are done.
__device__ __forceinline__ void multiply_pairs(Accumulators& acc, ScaleState& state, const unsigned int* rows,
                                               const unsigned char* weights, unsigned long long* empty,
                                               unsigned int zero) {
  const unsigned long long operands = wgmma_descriptor(weights, kInstructionN * 16, 128, 0);
  const int later = kHasTotals && state.rows > 0 ? 1 : 0;
  const int last = P::kernel_w - 1;
  PairFragments fragments[2];  // of the pair whose products are in flight, and of the next one
#pragma unroll
  for (int pair = 0; pair < kKBlockPairs; ++pair) {
    if (pair > 1) {
      wgmma_wait(1);  // the fragments of the pair before the last one may be overwritten
    }
    load_pair(fragments[pair % 2], rows, pair, zero);
    const unsigned long long operand =
        moved(operands, (first_of_pair(pair) * kKSteps + (kKSteps == 1 ? 0 : pair / kPairs)) * kProductBytes);
    wgmma_fence();
    if (kRowGroups == 1) {
      multiply_pair(acc, fragments[pair % 2], operand, first_of_pair(pair),
                    pair == 0 ? later : 1);  // taps (0, 0 to {last})
    } else {
      multiply_pair(acc, fragments[pair % 2], operand, first_of_pair(pair),
                    pair == 0 ? later : 1);  // taps (0 + r, 0 to {last})
    }
    wgmma_commit();
  }
  wgmma_wait(0);
  state.rows += kRows;
  warp_arrive(empty, (state.exponent & zero) == 0);  // once the exponent was loaded
}
