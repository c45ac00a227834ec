// The layout of `patch_gemm`: weights and stages in shared memory, and the columns of products.
#pragma once

#include "device/instruction.h"
#include "device/static_parameters.h"
#include "device/template.h"

using P = Parameters;
using Element = P::Element;

// Volumes: layers with more than one plane.
constexpr bool kVolume = P::depth != 1 || P::kernel_d != 1;
constexpr int kTaps = P::kernel_d * P::kernel_h * P::kernel_w;

constexpr int kKSteps = P::block_k / kInstructionK;
constexpr int kKBlocks = ceil_div(P::in_channels, P::block_k);

// Two warpgroups multiply, each tiles of its own in turn with the other; a thread of a third one issues the copies.
constexpr int kWarpgroups = 2;
constexpr int kConsumers = 128 * kWarpgroups;
constexpr int kProducers = 128;
constexpr int kProducerRegisters = 40;  // of a thread
constexpr int kConsumerRegisters = 232;
#include "device/roles.h"

// A tile's products: rows are adjacent pixels of the input, of whatever rows and images; columns are the taps of the
// block's output channels.
constexpr int kTilePixels = 64;
constexpr int kColumns = P::block_c * kTaps;
constexpr int kNTiles = ceil_div(P::out_channels, P::block_c);

// The channels of a tap follow one another in memory.
constexpr bool kTurned = P::weight_channels_last || kTaps == 1;

// Weights of a k-block as B operands: rows of columns, for each input channel one, as they come and as they are
// arranged. Boxes are 64 columns wide, or where the channels of a tap follow one another as wide as the block's
// channels.
constexpr int kBoxColumns = kTurned ? P::block_c : 64;
constexpr int kRowBytes = kBoxColumns * kBytes;  // and the width of their swizzle
constexpr int kWeightBoxes = kColumns / kBoxColumns;
constexpr int kWeightBoxBytes = P::block_k * kRowBytes;
constexpr int kWeightBytes = kWeightBoxes * kWeightBoxBytes;

// Pixels of a k-block as A operands: rows of input channels, for each pixel one.
constexpr int kPixelBytes = P::block_k * kBytes;  // and the width of their swizzle
constexpr int kStageBytes = kTilePixels * kPixelBytes;

constexpr int kStagesOffset = kKBlocks * kWeightBytes;
constexpr int kBarrierOffset = kStagesOffset + P::stages * kStageBytes;
constexpr int kSharedBytes = 1024 + kBarrierOffset + (2 * P::stages + 2 * kKBlocks + kWarpgroups) * 8;

constexpr int kAlignment = 16;  // of x, y and the weights, in bytes

static_assert(P::channels_last, "pixels are rows of channels");
static_assert(P::kernel_d == P::stride_d && P::kernel_h == P::stride_h && P::kernel_w == P::stride_w,
              "an output has one tap");
static_assert(P::padding_d == 0 && P::padding_h == 0 && P::padding_w == 0 && P::output_padding_d == 0 &&
                  P::output_padding_h == 0 && P::output_padding_w == 0,
              "each tap of each pixel is an output");
static_assert(P::in_channels % 8 == 0 && P::out_channels % 8 == 0, "pixels are whole 16-byte vectors");
static_assert(P::store == (P::block_c == 16 ? 4 : 8), "a tap's channels are whole pieces, each thread's vectors");
static_assert(P::block_c == 16 || P::block_c == 32 || P::block_c == 64, "a row of a tap's channels has a swizzle");
static_assert(kTurned || kTaps == 4 || kTaps == 8 || kTaps == 16,
              "a vector of 16 bytes has taps of whole channels, or half of them");
static_assert(kColumns <= 256, "the accumulators fit the registers");
static_assert(P::block_k == 64 || P::block_k == 32 || P::block_k == 16, "a row has a swizzle");
