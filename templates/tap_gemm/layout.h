// The layout of `tap_gemm`: tiles, stages, packed weights.
#pragma once

#include "device/instruction.h"
#include "device/static_parameters.h"
#include "device/template.h"

using P = Parameters;
using Element = P::Element;

constexpr int kKSteps = P::block_k / kInstructionK;
constexpr int kConsumers = 256;  // threads: two warpgroups
constexpr int kThreads = kConsumers + 32;

// K is taps by k-blocks of output channels, of which each is a stage.
constexpr int kTaps = P::kernel_h * P::kernel_w;
constexpr int kKBlocks = ceil_div(P::out_channels, P::block_k);
constexpr int kTileStages = kTaps * kKBlocks;
constexpr int kInstructionN = P::block_n;  // of a product
constexpr int kNTiles = ceil_div(P::in_channels, P::block_n);
constexpr int kMTiles = P::block_m / (kConsumers / 2);  // of 64 positions, of a warpgroup

// Positions of a box.
constexpr int kImagePositions = P::box_h * P::box_w;
constexpr int kBoxPositions = P::box_n * kImagePositions;
constexpr int kBoxes = P::block_m / kBoxPositions;

// Shared memory of a stage: positions and weights, as rows of output channels with a swizzle of their bytes.
constexpr int kSwizzle = P::block_k * kBytes;
constexpr int kBoxBytes = kBoxPositions * kSwizzle;
constexpr int kInputBytes = P::block_m * kSwizzle;
constexpr int kWeightBytes = P::block_n * kSwizzle;
constexpr int kSharedWeightBytes = kWeightBytes / P::cluster;  // that each block of a cluster copies
constexpr int kStageBytes = kInputBytes + kWeightBytes;
constexpr int kBarrierOffset = P::stages * kStageBytes;
constexpr int kSharedBytes = 1024 + kBarrierOffset + 2 * P::stages * 8;

// Packed weights: of each N tile, the stages' B operands as they lie in shared memory.
constexpr int kVectors = kSwizzle / 16;  // of a row
constexpr long long kPackedTileBytes = static_cast<long long>(kTileStages) * kWeightBytes;
constexpr long long kPackedBytes = kNTiles * kPackedTileBytes;

constexpr int kAlignment = 16;  // of grad_x and grad_y, in bytes

static_assert(P::groups == 1 && P::channels_last, "a pixel's channels lie together");
static_assert(P::in_channels % 8 == 0 && P::out_channels % 8 == 0, "pixels are whole 16-byte vectors");
static_assert(P::block_m % 128 == 0 && kBoxes * kBoxPositions == P::block_m && kBoxes <= 32, "boxes make a tile");
static_assert(kBoxBytes % (8 * kSwizzle) == 0, "a box begins where its swizzle's pattern does");
static_assert(P::block_n % (8 * P::cluster) == 0 && P::block_n % 32 == 0, "what a block copies is whole patterns");
static_assert(P::block_k == 64 || P::block_k == 32, "a row has a swizzle");
constexpr int kMostAccumulators = 128;  // of a thread
