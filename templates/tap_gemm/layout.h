// The layout of `tap_gemm`: tiles, stages, packed weights.
#pragma once

#include "device/instruction.h"
#include "device/static_parameters.h"
#include "device/template.h"

using P = Parameters;
using Element = P::Element;

// Volumes: layers with more than one plane, or more of an axis of depth than a kernel of one tap.
constexpr bool kVolume =
    P::depth != 1 || P::kernel_d != 1 || P::stride_d != 1 || P::padding_d != 0 || P::output_padding_d != 0;
constexpr int kMapRank = kVolume ? 5 : 4;  // of the map of grad_y

constexpr int kKSteps = P::block_k / kInstructionK;
constexpr int kConsumers = P::block_m % 128 == 0 ? 256 : 384;  // threads: two warpgroups, or three
constexpr int kGroupRows = kConsumers / 2;                     // of a tile of each warpgroup
constexpr int kThreads = kConsumers + 32;

// K is taps by k-blocks of output channels.
constexpr int kTaps = P::kernel_d * P::kernel_h * P::kernel_w;
constexpr int kKBlocks = ceil_div(P::out_channels, P::block_k);
constexpr int kInstructionN = P::block_n;  // of a product
constexpr int kNTiles = ceil_div(P::in_channels, P::block_n);
constexpr int kMTiles = P::block_m / kGroupRows;  // of 64 positions, of a warpgroup

// Positions of a box: of each of its images or planes, and of all.
constexpr int kImagePositions = P::box_h * P::box_w;
constexpr int kBoxPositions = P::box_n * kImagePositions;
constexpr int kBoxes = P::block_m / kBoxPositions;

// Depth taps that are kTapsApart apart read the same planes of grad_y, from planes of the input that are kPlanesApart
// apart. Where a box has whole products they share it: it has kReach planes more, and each of them begins at another
// one.
__host__ __device__ constexpr int taps_apart() {
  int taps = 1;
  while (taps * P::dilation_d % P::stride_d != 0) {
    ++taps;
  }
  return taps;
}
constexpr int kTapsApart = taps_apart();
constexpr int kPlanesApart = kTapsApart * P::dilation_d / P::stride_d;
constexpr int kMostSharers = 4;
constexpr int kSharers = ceil_div(P::kernel_d, kTapsApart);
constexpr bool kShares = kVolume && kConsumers == 256 && kSharers > 1 && kBoxPositions % 64 == 0 &&
                         kImagePositions % 8 == 0 && kSharers <= kMostSharers;
constexpr int kStageTaps = kShares ? kSharers : 1;  // of the depth, the most of a stage: others have one less
constexpr int kReach = (kStageTaps - 1) * kPlanesApart;
constexpr int kBoxRows = kBoxPositions + kReach * kImagePositions;

// A stage is a k-block of each tap; of taps of the depth that share it, of the first one.
constexpr int kFirstTaps = (kShares ? kTapsApart : P::kernel_d) * P::kernel_h * P::kernel_w;
constexpr int kFullTaps = ((P::kernel_d - 1) % kTapsApart + 1) * P::kernel_h * P::kernel_w;  // that have all sharers
constexpr int kTileStages = kFirstTaps * kKBlocks;

// Blocks that share the copies of weights, and those that share a tile. Of a tile each stores some channels.
constexpr int kCopiers = P::sliced ? 1 : P::cluster;
constexpr int kSlices = P::sliced ? P::cluster : 1;
constexpr int kStoredChannels = P::block_n / kSlices;

// Shared memory of a stage: positions and weights, as rows of output channels with a swizzle of their bytes.
constexpr int kSwizzle = P::block_k * kBytes;
constexpr int kBoxBytes = kBoxRows * kSwizzle;
constexpr int kInputBytes = kBoxes * kBoxBytes;
constexpr int kWeightBytes = P::block_n * kSwizzle;
constexpr int kSharedWeightBytes = kWeightBytes / kCopiers;  // that each block of a cluster copies
constexpr int kStageBytes = kInputBytes + kStageTaps * kWeightBytes;
// What the blocks of a cluster send to one of them takes the stages' place.
constexpr int kReceivedBytes = P::sliced ? kMTiles * P::block_n / 2 * 4 * kConsumers : 0;
constexpr int kBarrierOffset = P::stages * kStageBytes > kReceivedBytes ? P::stages* kStageBytes : kReceivedBytes;
constexpr int kSharedBytes = 1024 + kBarrierOffset + 2 * P::stages * 8;

// Packed weights: of each N tile, the taps' B operands as they lie in shared memory.
constexpr int kVectors = kSwizzle / 16;  // of a row
constexpr long long kPackedTileBytes = static_cast<long long>(kTaps) * kKBlocks * kWeightBytes;
constexpr long long kPackedBytes = kNTiles * kPackedTileBytes;

constexpr int kAlignment = 16;  // of grad_x and grad_y, in bytes

static_assert(P::groups == 1 && P::channels_last, "a pixel's channels lie together");
static_assert(P::in_channels % 8 == 0 && P::out_channels % 8 == 0, "pixels are whole 16-byte vectors");
static_assert(kMTiles * kGroupRows == P::block_m && kBoxes * kBoxPositions == P::block_m && kBoxes <= 32,
              "boxes make a tile");
static_assert(kBoxBytes % (8 * kSwizzle) == 0, "a box begins where its swizzle's pattern does");
static_assert(P::block_n % (8 * kCopiers) == 0 && kStoredChannels % 32 == 0, "what a block copies is whole patterns");
static_assert(!P::sliced || !kVolume, "volumes' tiles are not shared");
static_assert(P::block_k == 64 || P::block_k == 32, "a row has a swizzle");
constexpr int kMostAccumulators = 128;  // of a thread
