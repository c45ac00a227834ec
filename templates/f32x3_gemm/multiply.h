// The products of a k-block: of high parts with both parts of the weights, and of low parts with high weights.
#pragma once

#include "device/printed.h"
#include "device/ring.h"
#include "forward_gemm/accumulators.h"
#include "forward_gemm/taps.h"
#include "fragments.h"
#include "layout.h"
#include "totals.h"

// The first accumulators of a row's phases, and a tap's relative to them.
__host__ __device__ constexpr int set_of_row(int kh) {
  return kPhaseGroups > 1 ? 0
                          : phase_of_tap(kh, P::stride_h, P::padding_h, P::dilation_h) * (P::stride_w / kFusedPhases);
}
__host__ __device__ constexpr int set_of_column(int kw) {
  return phase_of_tap(kw, P::stride_w, P::padding_w, P::dilation_w) / kFusedPhases;
}

// A tap's products of the low parts of x with high weights, or of its `high` parts with both parts of the weights.
//
// The former come first: they begin the accumulators of their phase where `accumulate` is 0.
__device__ __forceinline__ void multiply_part(Accumulators& acc, int set, const Fragments& a, int first,
                                              unsigned long long weights, int accumulate, bool high) {
#pragma unroll
  for (int tile = 0; tile < kMTiles; ++tile) {
    wgmma_rs(kWgmmaF16, kWgmmaMajorK, acc[high ? set : kPhaseSets + set][tile], a[kTileColumns * tile + first], weights,
             accumulate);
    if (high) {
      wgmma_rs(kWgmmaF16, kWgmmaMajorK, acc[kPhaseSets + set][tile], a[kTileColumns * tile + first],
               moved(weights, kOperandBytes), 1);
    }
  }
}

// The offset of the row-th staged row that some tap reads; whether these are at equal distances.
__host__ __device__ constexpr int offset_of_used(int row) {
  int offset = 0;
  while (!is_used(offset) || used_before(offset) != row) {
    ++offset;
  }
  return offset;
}
__host__ __device__ constexpr bool are_even() {
  bool even = true;
  for (int row = 0; row < kUsedRows; ++row) {
    even = even && offset_of_used(row) * (kUsedRows - 1) == row * (kOffsetsH - 1);
  }
  return even;
}
constexpr bool kEven = are_even();
constexpr int kUsedPitch =
    (staged_row(0, 1) - staged_row(0, 0)) * (kUsedRows > 1 ? (kOffsetsH - 1) / (kUsedRows - 1) : 1);

// Where a thread reads the row-th of these rows, of all k-steps of a k-block, from its first position and channel on.
__device__ inline int place_of_row(int row) {
  const int first = staged_row(0, 0) + (kKSteps == 1 ? 0 : row / kUsedRows * kKStepPitch);
  const int used = kKSteps == 1 ? row : row % kUsedRows;
  if (kEven) {
    return kUsedRows == 1 ? first : first + used * kUsedPitch;
  }
  int further = 0;
  CONVTGEN_UNROLL
  for (int i = 1; i < kUsedRows; ++i) {
    if (used == i) {
      further = staged_row(0, offset_of_used(i)) - staged_row(0, 0);
    }
  }
  return first + further;
}

// Whether each of these rows has one row of taps, found by its number, and all of the same phase.
__host__ __device__ constexpr bool are_uniform() {
  bool uniform = kUsedRows == kBlockTapRows;
  for (int kh = 1; kh < kBlockTapRows; ++kh) {
    uniform = uniform && set_of_row(kh) == set_of_row(0);
  }
  return uniform;
}
constexpr bool kUniform = are_uniform();
constexpr int kTapRowBytes = P::kernel_w / kFusedPhases * kKSteps * kProductBytes;  // B operands of a row of taps

// The products of taps that read the row-th of these rows.{with later:  In the first row they begin accumulators if not
// `later`.}
__device__ __forceinline__ void multiply_taps(Accumulators& acc, const Fragments& a, unsigned long long weights,
                                              const int row, int later, bool high) {
  const int used = kKSteps == 1 ? row : row % kUsedRows;
  const int step_bytes = kKSteps == 1 ? 0 : row / kUsedRows * kProductBytes;
  if (kUniform && kUsedRows > 1) {
    weights += ((kUsedRows - 1 - used) * kTapRowBytes + step_bytes) / 16;  // descriptors count 16-byte vectors
  } else if (kProducersSplit && kKSteps > 1) {
    weights += step_bytes / 16;
  }
  const int begun =
      !kClears && (P::promote_rows > 0 || (kUniform ? row == 0 : kKSteps == 1 || row < kUsedRows)) ? later : 1;
  CONVTGEN_UNROLL
  for (int read = 0; read < (kUniform ? 1 : kUsedRows); ++read) {
    if (kUniform || kUsedRows == 1 || used == read) {
      CONVTGEN_UNROLL
      for (int kh = 0; kh < (kUniform ? 1 : kBlockTapRows); ++kh) {
        if (kUniform || used_before(offset_of_row(kh)) == read) {
          const bool may_begin = P::promote_rows > 0 || kUniform || is_first(kh, 0);
          const int top = kh * kRowGroups;  // the kernel rows of these products
          const int end = (kUniform ? kBlockTapRows : kh + 1) * kRowGroups;
          const int bottom = end - kRowGroups;
          if (P::stride_w == 1 && P::kernel_w > 2) {
            const int last = P::kernel_w - 1;
#pragma unroll
            for (int kw = 0; kw < P::kernel_w; ++kw) {
              if (kRowGroups == 1) {
                multiply_part(acc, set_of_row(kh), a, column_of_tap(0) - kw * P::dilation_w,
                              moved(weights, operand_of_tap(kh, 0, 0) + kw * (kKSteps * kProductBytes)),
                              may_begin && kw == 0 ? begun : 1, high);  // taps ({top to bottom}, 0 to {last})
              } else {
                multiply_part(acc, set_of_row(kh), a, column_of_tap(0) - kw * P::dilation_w,
                              moved(weights, operand_of_tap(kh, 0, 0) + kw * (kKSteps * kProductBytes)),
                              may_begin && kw == 0 ? begun : 1,
                              high);  // taps {for k from top below end step kRowGroups: ({k} + r, 0 to {last})}
              }
            }
          } else {
            CONVTGEN_UNROLL
            for (int kw = 0; kw < P::kernel_w; kw += kFusedPhases) {
              const int set = set_of_row(kh) + set_of_column(kw);
              const int first = column_of_tap(kw);
              const int operand = operand_of_tap(kh, kw, 0);
              const bool begins = may_begin && is_first_of_row(kw);
              const int last = kw + kFusedPhases - 1;
              if (kRowGroups > 1) {
                multiply_part(acc, set, a, first, moved(weights, operand), begins ? begun : 1,
                              high);  // taps {for k from top below end step kRowGroups: ({k} + r, {kw to last})}
              } else if (top < bottom || kw < last) {
                multiply_part(acc, set, a, first, moved(weights, operand), begins ? begun : 1,
                              high);  // taps ({top to bottom}, {kw to last})
              } else {
                multiply_part(acc, set, a, first, moved(weights, operand), begins ? begun : 1,
                              high);  // tap ({top}, {kw})
              }
            }
          }
        }
      }
    }
  }
}

// All products of one k-block of split values. `rows` is the thread's first position in the stage.
//
// The stage is released at `empty`; or the one before at `previous`, when its products are done, except in a tile's
// `first` k-block. With resident weights a stage is released as soon as it has been read.
__device__ __forceinline__ void multiply_k_block(Accumulators& acc, Fragments (&fragments)[kParts], ScaleState& state,
                                                 const unsigned int* rows, const unsigned char* weights, int image,
                                                 bool first, unsigned long long* empty, unsigned long long* previous,
                                                 unsigned int zero) {
  const unsigned long long operands = wgmma_descriptor(weights, kInstructionN * 16, 128, 0);
  int later = kHasTotals && state.rows > 0 ? 1 : 0;
  Words words[2];
  load_words(words, rows + staged_row(0, 0), 1);
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    if (P::promote_rows > 0) {
      if (row != 0) {
        if (state.rows == kRowsTogether) {
          promote(acc, state, image);
        }
        later = state.rows > 0 ? 1 : 0;
      }
      ++state.rows;
      if (kClears && later == 0) {
        clear(acc);
        pin(acc);
      }
    }
    make_fragments(fragments[0], words[1], zero, false);
    if (P::prefetch) {
      wgmma_fence();
      multiply_taps(acc, fragments[0], operands, row, later, false);
      wgmma_commit();
      if (!P::resident && !kEndsIdle && row == 0) {
        wgmma_wait(1);  // before loads, for which it needn't wait
        warp_arrive(previous, !first);
      }
    }
    load_words(words, rows + place_of_row(row), 0);  // while these products run, where registers allow it
    if (P::prefetch && ((P::resident && !kBeginsIdle) || row != 0)) {
      wgmma_wait(1);  // the fragments of the other part may be overwritten
    }
    const bool reads_before = P::prefetch && !kBeginsIdle && row == 0;
    const unsigned int late_zero = reads_before ? zero_after_wait(weights, zero) : zero;
    make_fragments(fragments[1], words[0], late_zero, reads_before);
    if (P::resident && row == kRows - 1) {
      warp_arrive(empty, ((word_of_all(words[0]) | (P::prefetch ? 0 : word_of_all(words[1])) | state.exponent) &
                          late_zero) == 0);
    }
    wgmma_fence();
    if (!P::prefetch) {
      multiply_taps(acc, fragments[0], operands, row, later, false);
    }
    multiply_taps(acc, fragments[1], operands, row, later, true);
    wgmma_commit();
    if (!P::prefetch) {
      wgmma_wait(0);
    }
    if (row != kRows - 1) {
      load_words(words, rows + place_of_row(row + 1), 1);
    }
    if (P::prefetch && (!kBeginsIdle || row != kRows - 1)) {
      wgmma_wait(1);
    }
  }
  if (P::prefetch && kBeginsIdle) {
    wgmma_wait(0);
  }
  if (P::promote_rows == 0) {
    state.rows += kRows;
  }
  if (!P::resident && kEndsIdle) {
    warp_arrive(empty, kRowBlocks == 1 || (state.exponent & zero) == 0);  // once the exponent was loaded
  }
}
