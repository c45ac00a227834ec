// What each tap of a block reads, and which products it takes part in.
// Needs: kBlockTapRows, kFirstColumn, kFusedPhases, kKStepPitch, kKSteps, kLeastOffsetH, kLoadStart, kOffsetsH,
//   kProductBytes, kRowGroups, kRowOffsetPitch, offset_of_tap(), P, phase_of_tap()
#pragma once

#include "layout.h"

// Whether some tap reads the staged rows of this offset, and how many offsets before it some tap reads.
__host__ __device__ constexpr bool is_used(int offset) {
  bool used = kRowGroups > 1;
  for (int kh = 0; kh < P::kernel_h; ++kh) {
    used = used || offset_of_tap(kh, P::stride_h, P::padding_h, P::dilation_h) - kLeastOffsetH == offset;
  }
  return used;
}
__host__ __device__ constexpr int used_before(int offset) {
  int count = 0;
  for (int i = 0; i < offset; ++i) {
    count += is_used(i) ? 1 : 0;
  }
  return count;
}
constexpr int kUsedRows = used_before(kOffsetsH);

// Whether a tap is the first of its phase in its row.
__host__ __device__ constexpr bool is_first_of_row(int kw) {
  bool first = true;
  for (int k = 0; k < kw; ++k) {
    first = first && phase_of_tap(k, P::stride_w, P::padding_w, P::dilation_w) !=
                         phase_of_tap(kw, P::stride_w, P::padding_w, P::dilation_w);
  }
  return first;
}

// Whether a tap's products are the first of its phase: rows are multiplied by falling kh.
__host__ __device__ constexpr bool is_first(int kh, int kw) {
  bool first = is_first_of_row(kw);
  for (int k = kh + 1; k < kBlockTapRows; ++k) {
    first = first && kRowGroups == 1 &&
            phase_of_tap(k, P::stride_h, P::padding_h, P::dilation_h) !=
                phase_of_tap(kh, P::stride_h, P::padding_h, P::dilation_h);
  }
  return first;
}

// The offset of the staged rows that a kernel row reads.
__host__ __device__ constexpr int offset_of_row(int kh) {
  return kRowGroups > 1 ? kBlockTapRows - 1 - kh
                        : offset_of_tap(kh, P::stride_h, P::padding_h, P::dilation_h) - kLeastOffsetH;
}
// The loaded column that a tap's products read, for a thread's first position.
__host__ __device__ constexpr int column_of_tap(int kw) {
  return offset_of_tap(kw, P::stride_w, P::padding_w, P::dilation_w) - kFirstColumn - kLoadStart;
}
// Where a tap's B operand lies among the weights of a k-block, in bytes.
__host__ __device__ constexpr int operand_of_tap(int kh, int kw, int k_step) {
  return ((kh * P::kernel_w + kw) / kFusedPhases * kKSteps + k_step) * kProductBytes;
}

// Where a thread reads the staged input of a k-step and a row offset, from its own first position and channel.
__host__ __device__ constexpr int staged_row(int k_step, int offset) {
  return offset * kRowOffsetPitch + k_step * kKStepPitch + kLoadStart;
}

// The descriptor with its start moved by `bytes`, a multiple of 16.
__device__ inline unsigned long long moved(unsigned long long descriptor, int bytes) {
  return descriptor + bytes / 16;
}
