// A transposed convolution as matrix products: what follows from the static parameters, for templates whose A operands
// are input positions that taps shift.
//
// M is positions of the input (m = output / stride), N output channels of fused phases, K input channels. Each tap
// serves one phase of the outputs and reads the input at a constant offset from m.
//
// A gradient of the input, where the layer has strides, is such products too: there the stride is 1, and a tap reads
// the input at a constant offset from input_stride * m.
// Needs: Parameters
#pragma once

#include "device/static_parameters.h"
#include "device/template.h"

using P = Parameters;

constexpr int kConsumers = 256;  // threads: two warpgroups

// With input strides, each kernel row has k-blocks of its own: the rows that it reads are input_stride_h apart.
static_assert(P::input_stride_h * P::input_stride_w == 1 || P::stride_h * P::stride_w == 1,
              "a gradient of the input has one phase");
constexpr int kRowBlocks = P::input_stride_h * P::input_stride_w == 1 ? 1 : P::kernel_h;
constexpr int kKBlocks = ceil_div(P::in_channels, P::block_k) * kRowBlocks;
constexpr int kInChannels = P::x_channels;  // of a pixel
constexpr int kOutChannels = P::y_channels;

// Phases and taps of a block.
constexpr int kTaps = P::kernel_h * P::kernel_w;  // of all blocks
constexpr int kPhases = P::phase_rows * P::stride_w;
constexpr int kPhaseGroups = P::stride_h / P::phase_rows;
constexpr int kRowGroups = kPhaseGroups * kRowBlocks;  // that the kernel's rows are divided into
constexpr int kBlockTaps = kTaps / kRowGroups;
constexpr int kBlockTapRows = P::kernel_h / kRowGroups;
static_assert(kPhaseGroups == 1 || (P::phase_rows == 1 && P::kernel_h % P::stride_h == 0 && P::dilation_h == 1),
              "blocks have single phase rows only where each phase row has as many kernel rows");

// Adjacent column phases whose taps read the same positions are fused into one product.
constexpr int kFusedPhases = P::kernel_w % P::stride_w == 0 && P::dilation_w == 1
                                 ? greatest_common_divisor(P::stride_w, P::padding_w % P::stride_w)
                                 : 1;
constexpr int kPhaseSets = kPhases / kFusedPhases;

// One product: 64 positions of a warpgroup by kInstructionN.
constexpr int kInstructionN = kFusedPhases * P::block_n;
constexpr int kMTiles = P::thread_positions / 2;  // of 64 positions, of a warpgroup

// Blocks of a tile: their output channels and phase rows.
constexpr int kChannelTiles = ceil_div(P::out_channels, P::block_n);
constexpr int kNTiles = P::groups * kPhaseGroups * kChannelTiles;

// The halo: least and greatest offsets of taps, and how many offsets there are in height.
constexpr int kLeastOffsetH = offset_of_tap(P::kernel_h - 1, P::stride_h, P::padding_h, P::dilation_h);
constexpr int kLeastOffsetW = offset_of_tap(P::kernel_w - 1, P::stride_w, P::padding_w, P::dilation_w);
constexpr int kMostOffsetH = offset_of_tap(0, P::stride_h, P::padding_h, P::dilation_h);
constexpr int kMostOffsetW = offset_of_tap(0, P::stride_w, P::padding_w, P::dilation_w);
constexpr int kOffsetsH = kRowGroups == 1 ? kMostOffsetH - kLeastOffsetH + 1 : kBlockTapRows;

// Whether each input position makes stride_h * stride_w outputs alone: then an image may be taken as one row.
constexpr bool kPointwise = P::input_stride_h * P::input_stride_w == 1 && kLeastOffsetH == 0 && kMostOffsetH == 0 &&
                            kLeastOffsetW == 0 && kMostOffsetW == 0 &&
                            P::dilation_h * (P::kernel_h - 1) + P::output_padding_h + 1 == P::stride_h &&
                            P::dilation_w * (P::kernel_w - 1) + P::output_padding_w + 1 == P::stride_w;
constexpr bool kRowOfKnownSize =
    P::height > 1 && P::width > 0 && P::width % P::thread_positions == 0 && P::height <= 0x3fffffff / P::width;

// Whether any tap makes outputs of a phase of the block; the others are bias alone.
__host__ __device__ constexpr bool has_taps(int phase) {
  bool rows = kPhaseGroups > 1;
  for (int k = 0; k < P::kernel_h; ++k) {
    rows = rows || phase_of_tap(k, P::stride_h, P::padding_h, P::dilation_h) == phase / P::stride_w;
  }
  bool columns = false;
  for (int k = 0; k < P::kernel_w; ++k) {
    columns = columns || phase_of_tap(k, P::stride_w, P::padding_w, P::dilation_w) == phase % P::stride_w;
  }
  return rows && columns;
}
__host__ __device__ constexpr bool all_have_taps() {
  bool all = true;
  for (int phase = 0; phase < kPhases; ++phase) {
    all = all && has_taps(phase);
  }
  return all;
}
constexpr bool kAllHaveTaps = all_have_taps();

// Rows and columns of the output, of layers with input strides too.
__host__ __device__ constexpr int strided_output_rows(int in_h) {
  return ((in_h - 1) * P::stride_h +
          (P::dilation_h * (P::kernel_h - 1) + P::output_padding_h + P::input_stride_h - 2 * P::padding_h)) /
         P::input_stride_h;
}
__host__ __device__ constexpr int strided_output_columns(int in_w) {
  return ((in_w - 1) * P::stride_w +
          (P::dilation_w * (P::kernel_w - 1) + P::output_padding_w + P::input_stride_w - 2 * P::padding_w)) /
         P::input_stride_w;
}
