// The layout of `grad_weight_patches`: stages of boxes that tensor copies bring, in shared memory.
#pragma once

#include "grad_weight/box_channels.h"
#include "grad_weight/problem.h"

// After the warpgroups that multiply, one brings the stages; two of its warps sum up grad_y for the bias.
constexpr int kThreads = kConsumers + 128;
constexpr int kSumWarps = 2;
constexpr int kFirstSumWarp = kConsumers / 32 + 2;

// A pixel's patch of grad_y has rows of taps by channels that are adjacent in memory. A block has whole rows of them,
// or some channels of each tap.
constexpr bool kWholeRows = P::taps_w == P::kernel_w && P::block_out == kGroupOut;
constexpr int kAdjacentRows = (kWholeRows ? P::taps_w : 1) * P::block_out;  // of products

// The channels of a box, whose bytes are its swizzle.
constexpr int kInBox = box_channels(P::block_in);
constexpr int kRowBox = box_channels(kAdjacentRows);
constexpr int kInBoxes = P::block_in / kInBox;
constexpr int kRowBoxes = kRows / kRowBox;
constexpr int kInSwizzle = kInBox * kBytes;
constexpr int kRowSwizzle = kRowBox * kBytes;

// The positions of a stage are the K of its products. After what copies bring are zeros, so that products are whole.
constexpr int kPositions = P::tile_rows * P::tile_columns;
constexpr int kKSteps = ceil_div(kPositions, kInstructionK);
constexpr int kBoxPositions = kKSteps * kInstructionK;

// Shared memory of a stage: the boxes of x, then those of grad_y, with room for whole products of 64 rows.
constexpr int kInputBoxBytes = kBoxPositions * kInSwizzle;
constexpr int kRowBoxBytes = kBoxPositions * kRowSwizzle;
constexpr int kProductBytes = 64 / kRowBox * kRowBoxBytes;  // of 64 rows
constexpr int kInputBytes = ceil_div(kInBoxes * kInputBoxBytes, 1024) * 1024;
constexpr int kWindowBytes = ceil_div(kMTiles * kProductBytes, 1024) * 1024;
constexpr int kCopiedBytes = kPositions * (kInBoxes * kInSwizzle + kRowBoxes * kRowSwizzle);
constexpr int kStageBytes = kInputBytes + kWindowBytes;
constexpr int kPipelineBytes = P::stages * kStageBytes;

// For the bias rows are summed up: each thread has a vector of them, at every so many-th position.
constexpr int kRowVectors = kRows / kVector;
constexpr int kSumLanes = kSumWarps * 32 / kRowVectors;
constexpr int kSumBytes = P::has_bias ? kSumLanes * kRows * 4 : 0;
constexpr int kBiasParts = kInTiles * kTapGroups * P::kernel_d;  // of a slice

constexpr int kStoredColumns = smaller(kColumns, kPipelineBytes / (4 * kColumnPitch) / 8 * 8);
constexpr int kSumOffset = kPipelineBytes;
constexpr int kBarrierOffset = kSumOffset + kSumBytes;
constexpr int kSharedBytes = 1024 + kBarrierOffset + 2 * P::stages * 8;

constexpr int kAlignment = 16;  // of x and grad_y, in bytes

static_assert(P::channels_last && P::groups == 1 && kBytes == 2, "channels of 16 bits lie together");
static_assert(P::kernel_d == P::stride_d && P::kernel_h == P::stride_h && P::kernel_w == P::stride_w,
              "an output has one tap");
static_assert(P::in_channels % 8 == 0 && P::out_channels % 8 == 0, "pixels are whole 16-byte vectors");
static_assert(P::block_in % 16 == 0, "a box has a swizzle");
static_assert(!P::has_bias || kSumLanes > 0, "a thread sums up one vector");
static_assert(kStoredColumns >= 8, "the results of eight input channels fit the stages");
static_assert(P::kernel_d == 1 || (!P::flat && P::kernel_h % P::taps_h == 0), "a plane's taps are a block's");
