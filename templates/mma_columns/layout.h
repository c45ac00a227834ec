// The layout of `mma_columns`: columns of the products, stages, and packed weights.
#pragma once

#include "device/static_parameters.h"
#include "device/template.h"

using P = Parameters;
using Element = float;

constexpr int kThreads = 32 * P::warps;
constexpr int kPackers = 256;  // threads of a block that packs weights
constexpr int kAdders = 256;   // threads of a block that adds columns to outputs

// Columns of the products: the taps of all output channels. A block makes block_n of them.
constexpr int kTaps = P::kernel_h * P::kernel_w;
constexpr int kColumns = P::out_channels * kTaps;
constexpr int kNTiles = ceil_div(kColumns, P::block_n);

// Rows of the products: pixels of an image. A warp has two tiles of 16.
constexpr int kWarpTiles = 2;
constexpr int kPixels = 16 * kWarpTiles * P::warps;  // of a block

// K: input channels.
constexpr int kInstructionK = 8;
constexpr int kKSteps = P::block_k / kInstructionK;
constexpr int kKBlocks = ceil_div(P::in_channels, P::block_k);

// A stage: rows of a channel's pixels, whose pitch takes the four channels that a product loads together to different
// banks; then the weights of its channels, for each k-step and eight columns 16 bytes of each lane: two high parts, two
// low ones.
constexpr int kRowPitch = kPixels + 8;  // in words
constexpr int kInputBytes = P::block_k * kRowPitch * 4;
constexpr int kFragmentBytes = 512;
constexpr int kStepBytes = P::block_n / 8 * kFragmentBytes;
constexpr int kKBlockWeightBytes = kKSteps * kStepBytes;
constexpr int kStageBytes = kInputBytes + kKBlockWeightBytes;
constexpr int kSharedBytes = P::stages * kStageBytes;
constexpr long long kPackedBytes = static_cast<long long>(kNTiles) * kKBlocks * kKBlockWeightBytes;
constexpr int kPackedRows = 1;  // of 16 bytes, that a thread packs

// What a thread copies of a stage: units of a pixel's row, of channels at one distance, and weights.
constexpr int kRowUnits = kPixels * 4 / P::copy_bytes;
constexpr int kChannelStep = kThreads / kRowUnits;
constexpr int kCopies = P::block_k / kChannelStep;
constexpr int kWeightCopies = kKBlockWeightBytes / (16 * kThreads);

constexpr int kAlignment = P::copy_bytes;                   // of x and y, in bytes
constexpr long long kProductBytes = kColumns * 4LL;         // of a pixel
constexpr int kAccumulators = kWarpTiles * P::block_n / 2;  // of a thread, of one set

static_assert(kThreads % kRowUnits == 0 && P::block_k % kChannelStep == 0, "threads copy equally many units");
static_assert(kKBlockWeightBytes % (16 * kThreads) == 0, "threads copy equally many weights");
static_assert(kKBlockWeightBytes % (16 * kPackers) == 0, "blocks pack equally many weights");
