// A fragments: words of high and of low parts, as products take them from registers.
#pragma once

#include "device/printed.h"
#include "device/warpgroup.h"
#include "forward_gemm/taps.h"
#include "layout.h"

// The A operands of products whose first position is each of the loaded columns.
using Fragments = unsigned int[kLoadedColumns - P::input_stride_w][4];
using Words = unsigned int[2][kLoadedColumns];  // for the halves of a product's K

// Columns from an M tile's first position to the next one's.
constexpr int kTileColumns = 2 * P::input_stride_w;

// The fragments that some tap reads, each by the bit of its loaded column.
static_assert(kHoldsPairs || kLoadedColumns <= 32, "a bit for each fragment");
__host__ __device__ constexpr unsigned int used_fragments() {
  unsigned int used = 0;
  for (int kw = 0; kw < P::kernel_w; kw += kFusedPhases) {
    for (int tile = 0; tile < kMTiles; ++tile) {
      used |= 1u << (kTileColumns * tile + column_of_tap(kw)) % 32;
    }
  }
  return used;
}
constexpr unsigned int kUsedFragments = used_fragments();
constexpr int kFirstUsed = lowest_bit(kUsedFragments);
constexpr int kUsedEnd = highest_bit(kUsedFragments) + 1;
constexpr bool kAllUsedBetween = kUsedFragments == (1u << kUsedEnd % 32) - (1u << kFirstUsed % 32);
// Whether some tap reads the fragment of this loaded column.
__device__ inline bool is_fragment_used(int column) {
  return (kUsedFragments >> column & 1u) != 0;
}

// Makes the fragments of words, before the fence. Keeps two copies of each word, one with an opaque zero, so that ptxas
// cannot merge them and copy again. {with is_read: Fragments that products may still read (`is_read`) depend on their
// old words.}
//
// The compiler doesn't know that `zero` is 0. Copies made after the fence would be made between the products, and there
// are no registers to spare for them. Words that depend on nothing would be put where products of an earlier iteration
// of a loop still read. Fragments that no tap reads are left out: their loads would be in flight when the stage is
// released.
__device__ __forceinline__ void make_fragments(Fragments& a, const Words& words, unsigned int zero, bool is_read) {
#pragma unroll
  for (int i = 4 * kFirstUsed; i < 4 * kUsedEnd; ++i) {
    if (kAllUsedBetween || is_fragment_used(i / 4)) {
      unsigned int& word = a[i / 4][i % 4];
      word = words[i % 4 / 2][i / 4 + i % 2 * P::input_stride_w] | (is_read ? word & zero : i % 2 == 1 ? zero : 0);
      wgmma_pin_operand(word);
    }
  }
}

// `zero` as it is known after a wait alone: a load brings it, which no assembler moves to before the wait. So
// instructions that read the registers of products in flight at a k-block's beginning stay after the wait too.
//
// `weights` are any words in shared memory.
__device__ inline unsigned int zero_after_wait(const unsigned char* weights, unsigned int zero) {
  return kKBlocks == 1 ? zero : *reinterpret_cast<const unsigned int*>(weights) & zero;
}

// Loads the words of a thread's positions of one staged row, for one k-step: high parts, or `low` ones.
//
// With channels last both are loaded at once, since they lie together. A thread has two adjacent channels of each half.
__device__ __forceinline__ void load_words(Words (&words)[2], const unsigned int* row, int low) {
  if (P::channels_last && low == 0) {
    return;
  }
#pragma unroll
  for (int i = 0; i < 2 * kLoadedColumns; ++i) {
    if (!P::channels_last) {
      words[low][i / kLoadedColumns][i % kLoadedColumns] =
          row[(i / kLoadedColumns * 8 + low) * kChannelPitch + i % kLoadedColumns];
    } else {
      words[0][i / kLoadedColumns][i % kLoadedColumns] = row[i % kLoadedColumns * kPixelPitch + i / kLoadedColumns * 2];
      words[1][i / kLoadedColumns][i % kLoadedColumns] =
          row[i % kLoadedColumns * kPixelPitch + i / kLoadedColumns * 2 + 1];
    }
  }
}

// Fake dependency: the arrive of a stage's release depends on these words, so it stays after their loads.
//
// The compiler takes loads apart, and an arrive on a barrier waits for no load by itself.
__device__ __forceinline__ unsigned int word_of_all(const Words& words) {
  unsigned int word = 0;
#pragma unroll
  for (int i = 0; i < kLoadedColumns; ++i) {
    word |= words[0][i] | words[1][i];
  }
  return word;
}
