// The layout of `mma_phases`: tiles, stages, and the weights in shared memory.
#pragma once

#include "device/instruction.h"
#include "device/positions.h"
#include "device/static_parameters.h"
#include "device/template.h"

using P = Parameters;
using Element = P::Element;

constexpr int kThreads = 32 * (P::warps + 1);  // the last warp copies

constexpr int kShifts = kReachH * kReachW;  // of the input, each of the taps of all phases that read one neighbour

// Rows of the products: the phases of each output channel.
constexpr int kInstructionM = 16;
constexpr int kInstructionN = 8;
constexpr int kPhases = P::stride_h * P::stride_w;
constexpr int kRows = P::out_channels * kPhases;
constexpr int kRowTiles = ceil_div(kRows, kInstructionM);

// K: input channels.
constexpr int kKSteps = P::block_k / kInstructionK;
constexpr int kKBlocks = ceil_div(P::in_channels, P::block_k);

// Columns of the products: positions of the tile, in rows as wide as those that are staged, so that every tap reads at
// one distance. Those beyond kTileColumns of a row have no outputs. A chunk is what a warp loads at a time: each lane a
// vector of positions of some channels.
constexpr int kTileColumns = (P::staged_columns - (kReachW - 1)) / kVector * kVector;
constexpr int kStagedRows = P::tile_h + kReachH - 1;
constexpr int kStagedPixels = kStagedRows * P::staged_columns;
constexpr int kChunk = kVector * kInstructionN;
constexpr int kWarpPositions = kChunk * P::warp_chunks;
constexpr int kPositions = (P::tile_h - 1) * P::staged_columns + kTileColumns;
// Vectors of a lane: one, and those that taps to its right read.
constexpr int kVectors = 1 + ceil_div(kReachW - 1, kVector);
constexpr int kLaneChannels = kInstructionK / 4;

// The first position of the first tile: where its copies may begin.
constexpr int kOriginW = floor_div(kFirstW - (kReachW - 1), kVector) * kVector + (kReachW - 1);

// Shared memory. Of a stage: channels by pixels, and after them what positions without outputs read.
constexpr int kReadPixels = kWarpPositions * P::warps + (kReachH - 1) * P::staged_columns + (kVectors - 1) * kVector;
constexpr int kTailPixels = kReadPixels > kStagedPixels ? kReadPixels - kStagedPixels : 0;
constexpr int kCopiedBytes = kStagedPixels * P::block_k * kBytes;
constexpr int kTailBytes = kTailPixels * kBytes;
constexpr int kStageBytes = ceil_div(kCopiedBytes + kTailBytes, 128) * 128;
// Weights as A fragments: by steps of K, shifts and tiles of rows, four words of each lane.
constexpr int kFragmentWords = 128;
constexpr int kWeightWords = kKBlocks * kKSteps * kShifts * kRowTiles * kFragmentWords;
constexpr int kWeightOffset = P::stages * kStageBytes;
// What lanes of a warp exchange of a chunk: of each channel and row phase a line of adjacent outputs. The skew and the
// pitch keep lanes in different banks, where a stride is 1, 2 or 4.
constexpr int kLines = P::out_channels * P::stride_h;
constexpr int kLine = kChunk * P::stride_w;
__host__ __device__ constexpr int place_in_line(int element) {
  return element + element / 32 * 8;
}
constexpr int kLinePitch = place_in_line(kLine) + floor_mod(P::stride_w - place_in_line(kLine), 8);
constexpr int kExchanged = kLines * kLinePitch;  // words of a warp
constexpr int kExchangeOffset = kWeightOffset + kWeightWords * 4;
constexpr int kBarrierOffset = ceil_div(kExchangeOffset + P::warps * kExchanged * 4, 16) * 16;
constexpr int kSharedBytes = 128 + kBarrierOffset + 2 * P::stages * 8;

constexpr int kAlignment = 16;  // of x, in bytes

static_assert(kTileColumns > 0, "a tile has positions");
static_assert(kWarpPositions * P::warps >= kPositions, "warps have all positions");
static_assert(P::block_k % kInstructionK == 0, "stages have whole products");
static_assert(!P::channels_last, "rows are vectors of positions");
static_assert(P::staged_columns % kVector == 0, "rows are whole vectors");
static_assert(kStagedPixels % 32 == 8 || kStagedPixels % 32 == 24, "lanes read channels from different banks");
