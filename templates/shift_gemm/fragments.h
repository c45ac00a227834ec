// A fragments: a thread's words of the staged input, as products take them from registers.
#pragma once

#include "device/element.h"
#include "device/input_words.h"
#include "device/warpgroup.h"
#include "forward_gemm/taps.h"
#include "layout.h"
#include "skewed_rows.h"

// Taps of a kernel row whose fragments a thread holds at a time. Without an input stride all: adjacent positions share
// fragments. With one each tap has its own of each M tile, and registers hold those of some taps.
constexpr bool kSharesFragments = P::input_stride_w == 1;
constexpr int kMostHeldFragments = kMTiles * P::block_n > 192 ? 2 : 4;
constexpr int kMostHeldTaps = ceil_div(kMostHeldFragments, kMTiles);
constexpr int kHeldTaps = kSharesFragments || P::kernel_w < kMostHeldTaps ? P::kernel_w : kMostHeldTaps;
constexpr int kTapParts = ceil_div(P::kernel_w, kHeldTaps);  // of a kernel row

constexpr int kHeldFragments = kSharesFragments ? kLoadedColumns - 1 : kMTiles * kHeldTaps;
constexpr int kTileFragments = kSharesFragments ? 2 : kHeldTaps;  // from an M tile's to the next one's

// The A operands of products.
using Fragments = unsigned int[kHeldFragments][4];

// Each part of the taps of a staged row has fragments of its own, which a k-step later overwrites. A single one has
// two, used in turn.
constexpr int kBatches = kUsedRows * kTapParts;
constexpr int kFragmentSets = kBatches > 1 ? kBatches : 2;
static_assert(kBatches > 1 || kKSteps % kFragmentSets == 0, "each k-block begins with the same fragments");

// The fragment that a tap's products read, in the first M tile.
__host__ __device__ constexpr int fragment_of_tap(int kw) {
  return kSharesFragments ? column_of_tap(kw) : kw % kHeldTaps;
}
// Whether a part of the taps has a fragment, and the loaded column of its first position.
__host__ __device__ constexpr bool has_fragment(int part, int fragment) {
  return kSharesFragments || part * kHeldTaps + fragment % kHeldTaps < P::kernel_w;
}
__host__ __device__ constexpr int column_of_fragment(int part, int fragment) {
  return kSharesFragments
             ? fragment
             : column_of_tap(part * kHeldTaps + fragment % kHeldTaps) + fragment / kHeldTaps * (2 * P::input_stride_w);
}
// Whether some fragment of a part of the taps has words of this column; and of one of those that are loaded together
// from it on.
__host__ __device__ constexpr bool is_read(int part, int column) {
  bool read = kSharesFragments;
  for (int i = 0; i < kHeldFragments; ++i) {
    const int first = column_of_fragment(part, i);
    read = read || (has_fragment(part, i) && (column == first || column == first + P::input_stride_w));
  }
  return read;
}
__host__ __device__ constexpr bool is_loaded(int part, int column) {
  bool loaded = false;
  for (int i = 0; i < kLoadVector; ++i) {
    loaded = loaded || is_read(part, column + i);
  }
  return loaded;
}

// The loaded columns of a part of the taps lie between these two, which are whole vectors.
__host__ __device__ constexpr int first_loaded(int part) {
  int first = kLoadedColumns;
  for (int i = 0; i < kHeldFragments; ++i) {
    const int column = column_of_fragment(part, i);
    first = has_fragment(part, i) && column < first ? column : first;
  }
  return first / kLoadVector * kLoadVector;
}
__host__ __device__ constexpr int end_loaded(int part) {
  int end = 0;
  for (int i = 0; i < kHeldFragments; ++i) {
    const int column_end = column_of_fragment(part, i) + P::input_stride_w + 1;
    end = has_fragment(part, i) && column_end > end ? column_end : end;
  }
  return ceil_div(end, kLoadVector) * kLoadVector;
}

// Loads of a thread for a staged row, of each half of a product's K.
__host__ __device__ constexpr int loads_of_row() {
  int loads = 0;
  for (int part = 0; part < kTapParts; ++part) {
    for (int column = 0; column < kLoadedColumns; column += kLoadVector) {
      loads += kSharesFragments || is_loaded(part, column) ? 1 : 0;
    }
  }
  return loads;
}
constexpr int kLoads = loads_of_row();

// Whether some tap reads the fragment of this loaded column.
__host__ __device__ constexpr bool is_operand(int column) {
  bool used = false;
  for (int kw = 0; kw < P::kernel_w; kw += kFusedPhases) {
    for (int tile = 0; tile < kMTiles; ++tile) {
      used = used || column == 2 * tile + fragment_of_tap(kw);
    }
  }
  return used;
}

// Two words, of two positions, of two channels' elements: those of `low` and those of `high`.
__device__ __forceinline__ void interleave(unsigned int* words, unsigned int low, unsigned int high) {
  words[0] = (low & 0xffffu) | high << 16;
  words[1] = low >> 16 | (high & 0xffff0000u);
}

// How registers are kept from one k-block to the next: by predicated-off stores, which read four each.
constexpr bool kKeptByStores = kOwnKBlocks > 1 && !P::channels_last && P::type != kWgmmaTf32;

// A staged word as products take it. An activation keeps zeros outside of the image, and comes before tf32 is rounded;
// words of two channels are activated once they are put together.
__device__ inline unsigned int product_word(unsigned int word) {
  return operand(P::type == kWgmmaTf32 ? input_word(word) : word);
}

// Loads the fragments of a thread's positions of one staged row, for one k-step. `row` is its first position of its
// first channel.
//
// They are those of one part of the taps.
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
__device__ __forceinline__ void load_fragments(Fragments& fragments, const Element* row, const int part,
                                               const Fragments& before, bool reads_before, bool last, unsigned int zero,
                                               const Place& place, const int in_w) {
  unsigned int words[2][kLoadedColumns];  // for the halves of a product's K
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int i = first_loaded(part); i < end_loaded(part); i += kLoadVector) {
      if (kSharesFragments || is_loaded(part, i)) {
        if (P::channels_last) {
          words[half][i] =
              product_word(*reinterpret_cast<const unsigned int*>(row + staged_pixel(i) + half * (4 / kBytes)));
        } else if (P::type == kWgmmaTf32 && kLoadVector == 4) {
          const uint4 v = *reinterpret_cast<const uint4*>(row + half * 4 * kChannelPitch + i);
          words[half][i] = product_word(v.x);
          words[half][i + 1] = product_word(v.y);
          words[half][i + 2] = product_word(v.z);
          words[half][i + 3] = product_word(v.w);
        } else if (kLoadVector == 1) {
          words[half][i] = product_word(*reinterpret_cast<const unsigned int*>(row + half * 4 * kChannelPitch + i));
        } else if (P::type == kWgmmaTf32) {
          const uint2 v = *reinterpret_cast<const uint2*>(row + half * 4 * kChannelPitch + i);
          words[half][i] = product_word(v.x);
          words[half][i + 1] = product_word(v.y);
        } else if (kLoadVector == 2) {
          // Two channels, position by position.
          const unsigned int low = *reinterpret_cast<const unsigned int*>(row + half * 8 * kChannelPitch + i);
          const unsigned int high = *reinterpret_cast<const unsigned int*>(row + (half * 8 + 1) * kChannelPitch + i);
          words[half][i] = (low & 0xffffu) | high << 16;
          words[half][i + 1] = low >> 16 | (high & 0xffff0000u);
        } else if (kLoadVector == 4) {
          const uint2 low = *reinterpret_cast<const uint2*>(row + half * 8 * kChannelPitch + i);
          const uint2 high = *reinterpret_cast<const uint2*>(row + (half * 8 + 1) * kChannelPitch + i);
          interleave(words[half] + i, low.x, high.x);
          interleave(words[half] + i + 2, low.y, high.y);
        } else {
          const uint4 low = *reinterpret_cast<const uint4*>(row + half * 8 * kChannelPitch + i);
          const uint4 high = *reinterpret_cast<const uint4*>(row + (half * 8 + 1) * kChannelPitch + i);
          interleave(words[half] + i, low.x, high.x);
          interleave(words[half] + i + 2, low.y, high.y);
          interleave(words[half] + i + 4, low.z, high.z);
          interleave(words[half] + i + 6, low.w, high.w);
        }
        if (kActivatesInput && P::type != kWgmmaTf32) {
#pragma unroll
          for (int k = 0; k < kLoadVector; ++k) {
            words[half][i + k] = activate_word(words[half][i + k]);
          }
        }
      }
    }
  }
  if (kSkewed && place.at_edge) {
#pragma unroll
    for (int i = first_loaded(part); i < end_loaded(part); ++i) {
      if (static_cast<unsigned int>(place.column + i) >= static_cast<unsigned int>(in_w)) {
        words[0][i] = 0;
        words[1][i] = 0;
      }
    }
  }
#pragma unroll
  for (int i = first_loaded(part); i < end_loaded(part); ++i) {
    if (kSharesFragments || is_read(part, i)) {
      wgmma_pin_operand(words[0][i]);
      wgmma_pin_operand(words[1][i]);
    }
  }
#pragma unroll
  for (int i = 0; i < kHeldFragments; ++i) {
    if (kSharesFragments || has_fragment(part, i)) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const unsigned int word = words[j / 2][column_of_fragment(part, i) + j % 2 * P::input_stride_w];
        if (kOwnKBlocks == 1) {
          fragments[i][j] = word;
        } else if (kKeptByStores) {
          fragments[i][j] = word | (last && j % 2 == 1 ? zero : 0);
        } else {
          fragments[i][j] = word | (reads_before ? before[i][j] & zero : j % 2 == 1 ? zero : 0);
        }
        if (kOwnKBlocks > 1 && (!kSharesFragments || is_operand(i)) && (!kKeptByStores || (last && j % 2 == 1))) {
          wgmma_pin_operand(fragments[i][j]);
        }
      }
    }
  }
}

// After a k-block's first wait, for the products of the k-block before: reads the fragments of these products.
__device__ __forceinline__ void keep_fragments(const Fragments& fragments, unsigned int zero) {
#pragma unroll
  for (int i = 0; i < kHeldFragments; ++i) {
    if (kSharesFragments ? is_operand(i) : has_fragment(kTapParts - 1, i)) {
      wgmma_keep_operand(fragments[i], zero);
    }
  }
}
