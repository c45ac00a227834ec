// A fragments: a thread's words of the staged input, as products take them from registers.
#pragma once

#include "device/element.h"
#include "device/warpgroup.h"
#include "gemm/taps.h"
#include "layout.h"
#include "skewed_rows.h"

// The A operands of products whose first position is each of the loaded columns.
using Fragments = unsigned int[kLoadedColumns - 1][4];

// Each staged row has fragments of its own, which a k-step later overwrites. A single row has two, used in turn.
constexpr int kFragmentSets = kUsedRows > 1 ? kUsedRows : 2;
static_assert(kUsedRows > 1 || kKSteps % kFragmentSets == 0, "each k-block begins with the same fragments");

// Whether some tap reads the fragment of this loaded column.
__host__ __device__ constexpr bool is_operand(int column) {
  bool used = false;
  CONVTGEN_UNROLL
  for (int kw = 0; kw < P::kernel_w; kw += kFusedPhases) {
    for (int tile = 0; tile < kMTiles; ++tile) {
      used = used || column == 2 * tile + fragment_of_tap(kw);
    }
  }
  return used;
}

// How registers are kept from one k-block to the next: by predicated-off stores, which read four each.
constexpr bool kKeptByStores = kOwnKBlocks > 1 && !P::channels_last && P::type != kWgmmaTf32;

// Loads the fragments of a thread's positions of one staged row, for one k-step. `row` is its first position of its
// first channel.
//
// A word is part of two fragments. Words are pinned before the fence. Otherwise the compiler makes them between the
// products, which then run one after the other. (CUDA 13.5's assembler does the same to pinned copies.)
//
// Where a tile has several k-blocks, a k-block begins while products still read the last fragments of the k-block
// before. The assembler keeps registers of products in flight in straight code only, not from one iteration of a loop
// to the next. An instruction that reads them after the wait keeps them. So the fragments that are loaded after a
// k-block's first wait (`reads_before`) depend on the fragments `before`. Words of permutes leave no room for that;
// there keep_fragments() reads the `last` fragments of the k-block. The two copies of a word are different values then,
// each with a register of its own. `zero` is 0, which the compiler doesn't know.
__device__ __forceinline__ void load_fragments(Fragments& fragments, const Element* row, const Fragments& before,
                                               bool reads_before, bool last, unsigned int zero, const Place& place,
                                               const int in_w) {
  unsigned int words[2][kLoadedColumns];  // for the halves of a product's K
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int i = 0; i < kLoadedColumns; i += kLoadVector) {
      if (P::channels_last) {
        words[half][i] = operand(*reinterpret_cast<const unsigned int*>(
            row +
            (P::bulk ? i / P::thread_positions * kPixelGroupPitch + i % P::thread_positions * P::block_k
                     : i * kPixelPitch) +
            half * (4 / kBytes)));
      } else if (P::type == kWgmmaTf32 && kLoadVector == 4) {
        const uint4 v = *reinterpret_cast<const uint4*>(row + half * 4 * kChannelPitch + i);
        words[half][i] = operand(v.x);
        words[half][i + 1] = operand(v.y);
        words[half][i + 2] = operand(v.z);
        words[half][i + 3] = operand(v.w);
      } else if (kLoadVector == 1) {
        words[half][i] = operand(*reinterpret_cast<const unsigned int*>(row + half * 4 * kChannelPitch + i));
      } else if (P::type == kWgmmaTf32) {
        const uint2 v = *reinterpret_cast<const uint2*>(row + half * 4 * kChannelPitch + i);
        words[half][i] = operand(v.x);
        words[half][i + 1] = operand(v.y);
      } else {
        // Two channels, position by position.
        const unsigned int low = *reinterpret_cast<const unsigned int*>(row + half * 8 * kChannelPitch + i);
        const unsigned int high = *reinterpret_cast<const unsigned int*>(row + (half * 8 + 1) * kChannelPitch + i);
        words[half][i] = (low & 0xffffu) | high << 16;
        words[half][i + 1] = low >> 16 | (high & 0xffff0000u);
      }
    }
  }
  if (kSkewed && place.at_edge) {
#pragma unroll
    for (int i = 0; i < kLoadedColumns; ++i) {
      if (static_cast<unsigned int>(place.column + i) >= static_cast<unsigned int>(in_w)) {
        words[0][i] = 0;
        words[1][i] = 0;
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kLoadedColumns; ++i) {
    wgmma_pin_operand(words[0][i]);
    wgmma_pin_operand(words[1][i]);
  }
#pragma unroll
  for (int i = 0; i < kLoadedColumns - 1; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const unsigned int word = words[j / 2][i + j % 2];
      if (kOwnKBlocks == 1) {
        fragments[i][j] = word;
      } else if (kKeptByStores) {
        fragments[i][j] = word | (last && j % 2 == 1 ? zero : 0);
      } else {
        fragments[i][j] = word | (reads_before ? before[i][j] & zero : j % 2 == 1 ? zero : 0);
      }
      if (kOwnKBlocks > 1 && is_operand(i) && (!kKeptByStores || (last && j % 2 == 1))) {
        wgmma_pin_operand(fragments[i][j]);
      }
    }
  }
}

// After a k-block's first wait, for the products of the k-block before: reads the fragments of these products.
__device__ __forceinline__ void keep_fragments(const Fragments& fragments, unsigned int zero) {
#pragma unroll
  for (int i = 0; i < kLoadedColumns - 1; ++i) {
    if (is_operand(i)) {
      wgmma_keep_operand(fragments[i], zero);
    }
  }
}
