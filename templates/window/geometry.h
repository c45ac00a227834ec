// Where products of a window of pixels read: positions that have outputs, and the input with its halo that a tile stages.
//
// Along each axis an output has position m = (output + padding) / stride and phase (output + padding) % stride. Kernel
// tap k makes the phase dilation * k % stride, of the input at m - dilation * k / stride. With an input stride s, of a
// gradient of the input, the stride is 1 and tap k reads at s * (m - padding) + padding - dilation * k. Where s and
// these dilations have a common divisor, kPixelStepH or kPixelStepW, only every so-many-th pixel is read and staged:
// kInputStrideH, kHaloH and their like count staged pixels.
// Needs: kFlat, kHaloH, kHaloW, kInputStrideH, kInputStrideW, kInterleave, kPositions, P
#pragma once

#include "device/static_parameters.h"
#include "device/template.h"

// Positions that have outputs: from the first to some beyond the input's end.
constexpr int kFirstH = P::padding_h / P::stride_h;
constexpr int kFirstW = P::padding_w / P::stride_w;
constexpr int kBeyondH = floor_div(P::dilation_h * (P::kernel_h - 1) + P::output_padding_h - P::padding_h, P::stride_h);
constexpr int kBeyondW = floor_div(P::dilation_w * (P::kernel_w - 1) + P::output_padding_w - P::padding_w, P::stride_w);

// Where all images' positions form one sequence, rows (and images) end with as many zeros as taps reach at their end or
// before the next one's beginning.
constexpr int kGapH = larger(0, larger(kBeyondH, kHaloH - kFirstH));
constexpr int kGapW = larger(0, larger(kBeyondW, kHaloW - kFirstW));

// The staged input. Its rows begin where a load of adjacent pixels may, and are whole groups of kInterleave pixels.
constexpr int kAlign = P::channels_last || kFlat ? 1 : P::vector;
constexpr int kSkew = floor_mod(kFirstW - kHaloW, kAlign);
constexpr int kGroup = kInterleave % kAlign == 0 ? kInterleave : kInterleave * kAlign;
constexpr int kStagedRows = kInputStrideH * (P::tile_h - 1) + 1 + kHaloH;
constexpr int kStagedColumns = ceil_div(kSkew + kInputStrideW * (P::tile_w - 1) + 1 + kHaloW, kGroup) * kGroup;
constexpr int kRowPitch = kFlat ? P::width + kGapW : kStagedColumns;  // used only with a halo of rows
constexpr int kPixels =
    kFlat ? kPositions + (kHaloH > 0 ? kHaloH * kRowPitch : 0) + kHaloW : kStagedRows * kStagedColumns;
