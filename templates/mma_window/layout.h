// What templates of products of warps (mma.sync) share that read a window of pixels: threads, tiles, and which loads of
// the input serve which taps.
// Needs: kBytes, kFlat, kInstructionK, kPixelVectors, kVector, P
#pragma once

#include "device/static_parameters.h"
#include "device/template.h"

constexpr int kThreads = 32 * P::warps_m * P::warps_n;
constexpr int kStagers = kThreads;
constexpr int kPackers = 256;  // threads of a block that packs weights

constexpr int kGroupIn = P::in_channels / P::groups;
constexpr int kGroupOut = P::out_channels / P::groups;

// Volumes: layers with more than one plane, or more of an axis of depth than a kernel of one tap.
constexpr bool kVolume = P::depth != 1 || P::kernel_d != 1 || P::stride_d != 1 || P::padding_d != 0 ||
                         P::output_padding_d != 0 || P::input_stride_d != 1;

constexpr int kKSteps = P::block_k / kInstructionK;
constexpr int kUnits = P::block_k / kVector;  // of channels: 16 bytes
constexpr int kUnitSharers = kUnits;
constexpr int kKBlocks = ceil_div(kGroupIn, P::block_k);

// Pixels from one that may be read to the next one, and strides and dilations in such steps (window/geometry.h).
__host__ __device__ constexpr int pixel_step(int input_stride, int dilation, int kernel) {
  return greatest_common_divisor(input_stride, kernel > 1 ? dilation : 0);
}
constexpr int kPixelStepH = pixel_step(P::input_stride_h, P::dilation_h, P::kernel_h);
constexpr int kPixelStepW = pixel_step(P::input_stride_w, P::dilation_w, P::kernel_w);
constexpr int kInputStrideH = P::input_stride_h / kPixelStepH;
constexpr int kInputStrideW = P::input_stride_w / kPixelStepW;
constexpr int kDilationH = ceil_div(P::dilation_h, kPixelStepH);
constexpr int kDilationW = ceil_div(P::dilation_w, kPixelStepW);

// Phases of a block. Taps of a phase read the input at up to kHaloH rows and kHaloW columns before a position.
constexpr int kPhases = P::phase_rows * P::stride_w;
constexpr int kPhaseGroups = P::stride_h / P::phase_rows;
constexpr int kHaloH = kDilationH * (P::kernel_h - 1) / P::stride_h;
constexpr int kHaloW = kDilationW * (P::kernel_w - 1) / P::stride_w;
constexpr int kTaps = P::kernel_h / kPhaseGroups * P::kernel_w;  // of a block

// The block's kernel row and the kernel column that read so far before a position for a phase; -1: none.
__host__ __device__ constexpr int kernel_row(int before, int phase_row) {
  const int reach = before * P::phase_rows + phase_row;
  return reach % kDilationH == 0 && reach / kDilationH < P::kernel_h / kPhaseGroups ? reach / kDilationH : -1;
}
__host__ __device__ constexpr int kernel_column(int before, int phase_column) {
  const int reach = before * P::stride_w + phase_column;
  return reach % kDilationW == 0 && reach / kDilationW < P::kernel_w ? reach / kDilationW : -1;
}
// Whether any tap reads so many rows and columns before a position.
__host__ __device__ constexpr bool has_taps(int y, int x) {
  bool rows = false;
  for (int phase = 0; phase < P::phase_rows; ++phase) {
    rows = rows || kernel_row(y, phase) >= 0;
  }
  bool columns = false;
  for (int phase = 0; phase < P::stride_w; ++phase) {
    columns = columns || kernel_column(x, phase) >= 0;
  }
  return rows && columns;
}

// The phase rows of a block that a kernel row makes, and which of their kernel rows it is.
__host__ __device__ constexpr int phase_group_of(int kh) {
  return P::dilation_h * kh % P::stride_h / P::phase_rows;
}
__host__ __device__ constexpr int row_of_kernel_row(int kh) {
  return kPhaseGroups == 1
             ? kh
             : P::dilation_h * kh / P::stride_h * P::phase_rows + P::dilation_h * kh % P::stride_h % P::phase_rows;
}

constexpr int kChannelTiles = ceil_div(kGroupOut, P::block_n);
constexpr int kNTiles = P::groups * kPhaseGroups * kChannelTiles;

// The tile, in parts of 64 positions, and a warp's share of it: tiles of 16 positions. These are such that a tap that
// reads next to another one makes products of the same loads, of the next tile: in parts of a row, each tile has
// every warp_tiles-th position; in parts of 8x8, two rows that are warp_tiles apart.
constexpr int kPositions = P::tile_h * P::tile_w;
constexpr int kAcross = P::tile_w / P::part_w;
constexpr int kWarpRows = 16 * P::warp_tiles;  // positions
constexpr int kWarpChannels = P::block_n / P::warps_n;
constexpr int kAdjacentChannels = P::adjacent_channels;  // of a thread
constexpr bool kAlongRow = P::part_w == 64;
// Staged pixels from a position of a tile to its next one.
constexpr int kInterleave = (kAlongRow ? P::warp_tiles : 1) * kInputStrideW;

#include "window/geometry.h"

// Where pixels and units lie: a pixel's units are adjacent, and a pixel is an odd number of them. Where a tile has
// every n-th pixel and n is even, so many are followed by another unit. So eight pixels of a tile lie in different
// banks.
constexpr int kUnitPitch = 16;
constexpr int kPixelPitch = 16 * (kPixelVectors / 2 * 2 + 1);
__host__ __device__ constexpr int pixel_offset(int pixel) {
  return pixel * kPixelPitch + (kInterleave % 2 == 0 ? pixel / kInterleave * 16 : 0);
}
constexpr int kInputBytes = pixel_offset(kPixels + kInterleave - 1);  // the input of a stage

// The row and the column in the tile of its first position that a warp has, which is so many positions after the
// first.
__device__ __forceinline__ int first_row(int place) {
  return place / 64 / kAcross * (64 / P::part_w) + place % 64 / P::part_w;
}
__device__ __forceinline__ int first_column(int place) {
  return place / 64 % kAcross * P::part_w + (kAlongRow ? place % 64 : 0);
}
// From there to the i-th position of a tile, in rows and columns.
__device__ __forceinline__ int rows_to(int tile, int i) {
  return kAlongRow ? 0 : i / 8 * P::warp_tiles + tile;
}
__device__ __forceinline__ int columns_to(int tile, int i) {
  return kAlongRow ? i * P::warp_tiles + tile : i % 8;
}

// Taps along the axis in which tiles are next to one another, the inner one, share what is loaded.
constexpr int kOuterHalo = kAlongRow ? kHaloH : kHaloW;
constexpr int kInnerHalo = kAlongRow ? kHaloW : kHaloH;
constexpr int kInnerStride = kAlongRow ? kInputStrideW : kInputStrideH;
constexpr int kLoads = kInnerStride * (P::warp_tiles - 1) + 1 + kInnerHalo;  // of an outer tap
// The load that a tile and an inner tap need.
__host__ __device__ constexpr int load_of(int tile, int inner) {
  return kInnerStride * tile + kInnerHalo - inner;
}
// The first inner tap that may need a load, for some tile; -1: none.
__host__ __device__ constexpr int first_use(int load) {
  int first = -1;
  for (int tile = P::warp_tiles - 1; tile >= 0; --tile) {
    const int inner = load_of(tile, load);
    first = inner >= 0 && inner <= kInnerHalo ? inner : first;
  }
  return first;
}
__host__ __device__ constexpr bool has_taps_at(int outer, int inner) {
  return kAlongRow ? has_taps(outer, inner) : has_taps(inner, outer);
}
// Whether products of an outer tap need that load.
__host__ __device__ constexpr bool is_needed(int outer, int load) {
  bool needed = false;
  for (int tile = 0; tile < P::warp_tiles; ++tile) {
    const int inner = load_of(tile, load);
    needed = needed || (inner >= 0 && inner <= kInnerHalo && has_taps_at(outer, inner));
  }
  return needed;
}
// From a lane's first pixel to that of a load.
__host__ __device__ constexpr int offset_of_load(int outer, int load) {
  return pixel_offset(kSkew + (kAlongRow ? (kHaloH - outer) * kRowPitch + load : load * kRowPitch + kHaloW - outer));
}

// Outputs in nchw: of eight channels and a phase row, a warp has a place in shared memory for rows of whole vectors.
// Threads that make other channels write to other banks.
constexpr int kTurnChannels = 8;
constexpr int kOutputVector = 16 / kBytes;  // elements
constexpr int kOutputRows = kAlongRow ? 1 : 2 * P::warp_tiles;
constexpr int kOutputColumns = (kAlongRow ? kWarpRows : 8) * P::stride_w;
constexpr int kOutputSpan = (kAlongRow ? P::warp_tiles : 1) * P::stride_w;  // adjacent outputs of a thread
constexpr int kShift = floor_mod(-(P::padding_w % P::stride_w), P::store);  // columns before a row in its first vector
// From a row to the next one, and from a channel to the next one, in elements.
constexpr int kOutputRowPitch = ceil_div(kOutputColumns + (kShift > 0 ? P::store : 0), kOutputVector) * kOutputVector;
constexpr int kChannelPitch = (ceil_div(kOutputRows * kOutputRowPitch * kBytes, 128) * 128 + 16) / kBytes;
// Elements that a thread puts there together.
__host__ __device__ constexpr int put_together_of() {
  int most = kOutputVector;
  while (kOutputSpan % most != 0 || kShift % most != 0) {
    most /= 2;
  }
  return most;
}
constexpr int kPut = put_together_of();
constexpr int kWarpOutputBytes = P::channels_last ? 0 : kTurnChannels * kChannelPitch * kBytes;

// A warp's products of a step, which are written out.
constexpr int kStepProducts = kTaps * P::warp_tiles * kWarpChannels / 8;

static_assert(P::block_k % kInstructionK == 0, "a k-block is whole products");
static_assert(kPositions == P::warps_m * kWarpRows && P::tile_w % P::part_w == 0 && P::tile_h % (64 / P::part_w) == 0 &&
                  (!kFlat || (P::tile_h == 1 && P::part_w == 64)),
              "warps make the whole tile, which is whole parts");
static_assert(P::warp_tiles == 1 || P::warp_tiles == 2 || P::warp_tiles == 4, "a warp's positions are of one part");
static_assert(P::block_n % (8 * P::warps_n) == 0, "warps make whole columns");
static_assert(P::input_stride_h * P::input_stride_w == 1 || (P::stride_h * P::stride_w == 1 && !kFlat),
              "a gradient of the input has one phase, and tiles of its own images");
static_assert(kPhaseGroups == 1 || (P::kernel_h % P::stride_h == 0 && P::dilation_h == 1),
              "phase rows are parted only where each has as many kernel rows");
static_assert(!kFlat || !kVolume, "a sequence's planes would have different depth taps");
static_assert(!kFlat || kHaloH == 0 || P::width >= 0, "the pitch of rows in the sequence is known");
