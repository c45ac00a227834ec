// The layout of `phase_gemm`: columns of products, strips, stages, and weights in shared memory.
#pragma once

#include "device/instruction.h"
#include "device/positions.h"
#include "device/static_parameters.h"
#include "device/template.h"

using P = Parameters;
using Element = P::Element;

constexpr int kKSteps = P::block_k / kInstructionK;
constexpr int kKBlocks = ceil_div(P::in_channels, P::block_k);
constexpr int kConsumers = 128 * P::warpgroups;
constexpr int kThreads = kConsumers + 32;  // the last warp copies

// Outputs of a position: adjacent elements of each of its rows.
constexpr int kLine = P::stride_w * P::out_channels;
constexpr int kOutputs = P::stride_h * kLine;

// Columns of the products: the outputs of a position, once for each row of positions that an input row adds to. Of a
// row's columns each of four threads has every fourth pair. Vectors of outputs, which are stored together, go round
// these threads, so that each has all of a vector.
constexpr int kColumnUnit = P::store > 2 ? 4 * P::store : 8;
constexpr int kRowColumns = ceil_div(kOutputs, kColumnUnit) * kColumnUnit;
constexpr int kInstructionN = kReachH * kRowColumns;
constexpr int kSlots = kRowColumns / 4;  // of a thread
__host__ __device__ constexpr int output_of_slot(int slot, int quarter) {
  return (slot / P::store * 4 + quarter) * P::store + slot % P::store;
}
__host__ __device__ constexpr int column_of_output(int output) {
  const int slot = output / (4 * P::store) * P::store + output % P::store;
  return slot / 2 * 8 + output / P::store % 4 * 2 + slot % 2;
}

// Rows of the products: a tile's positions of a row of each image, with what its taps reach to the left, one image
// after the other. So any shift along the row is one distance away; what lies between images is made for nothing. A
// stage is an input row of these, for some channels, as A operands: rows of channels, for each pixel one.
constexpr int kMTiles = P::thread_tiles;  // of 64 rows, of a warpgroup
constexpr int kProductRows = 64 * P::warpgroups * kMTiles;
constexpr int kPitch = P::tile_w + kReachW - 1;
constexpr int kPositions = (P::tile_n - 1) * kPitch + P::tile_w;
constexpr int kPixelBytes = P::block_k * kBytes;  // and the width of their swizzle
constexpr int kCopiedBytes = P::tile_n * kPitch * kPixelBytes;
constexpr int kTailBytes = (kProductRows + kReachW - 1) * kPixelBytes - kCopiedBytes;  // that no copy brings
constexpr int kStageBytes = ceil_div(kCopiedBytes + kTailBytes, 1024) * 1024;

// Weights, for the block's life: for each k-block, shift of the input along a row, and step of K a B operand without
// swizzle, K-major: two columns of 16-byte rows.
constexpr int kProductBytes = kInstructionN * 32;
constexpr int kBlockWeightBytes = kReachW * kKSteps * kProductBytes;  // of a k-block
constexpr int kWeightOffset = P::stages * kStageBytes;
constexpr int kBarrierOffset = kWeightOffset + kKBlocks * kBlockWeightBytes;
constexpr int kSharedBytes = 1024 + kBarrierOffset + 2 * P::stages * 8;

// How weights come through registers (forward_gemm/resident_weights.h).
constexpr int kWeightThreads = kConsumers;
constexpr int kWeightColumns = P::out_channels * kTaps;
constexpr int kResidentBytes = kKBlocks * kBlockWeightBytes;
constexpr bool kHasGaps = kReachH * kReachW * kRowColumns > kWeightColumns || P::in_channels % P::block_k != 0;
// Where a weight lies: of an input channel, and a column in the order of memory.
__device__ inline unsigned int weight_place(unsigned int ci, unsigned int column) {
  const unsigned int tap = P::weight_channels_last ? column / P::out_channels : column % kTaps;
  const unsigned int co = P::weight_channels_last ? column % P::out_channels : column / kTaps;
  const unsigned int kh = tap / P::kernel_w;
  const unsigned int kw = tap % P::kernel_w;
  const unsigned int output = kh % P::stride_h * kLine + kw % P::stride_w * P::out_channels + co;
  const unsigned int row = ci % kInstructionK / 8 * kInstructionN + kh / P::stride_h * kRowColumns +
                           column_of_output(static_cast<int>(output));
  const unsigned int product =
      (ci / P::block_k * kReachW + kw / P::stride_w) * kKSteps + ci % P::block_k / kInstructionK;
  return product * kProductBytes + row * 16 + ci % 8 * kBytes;
}

constexpr int kAlignment = 16;  // of x, y and the weights, in bytes

static_assert(P::channels_last, "pixels are rows of channels");
static_assert(P::in_channels % 8 == 0, "pixels are whole 16-byte vectors");
static_assert(kLine % P::store == 0 && P::padding_w * P::out_channels % P::store == 0,
              "vectors are of one row and begin at whole vectors");
constexpr int kMostAccumulators = 128;  // of a thread
static_assert(kPitch <= 256 && P::tile_n <= 256, "a tensor copy spans a row of the images");
static_assert(kPositions <= kProductRows, "products have rows for all positions");
static_assert(P::block_k == 64 || P::block_k == 32 || P::block_k == 16, "a row has a swizzle");
