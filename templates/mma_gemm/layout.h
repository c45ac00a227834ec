// Part of the template `mma_gemm`: what lies in shared memory and in the packed weights.
#pragma once

#include "device/instruction.h"
#include "device/printed.h"
#include "device/static_parameters.h"
#include "device/template.h"

using P = Parameters;
using Element = P::Element;

constexpr bool kFlat = P::flat;
constexpr int kPixelVectors = P::block_k / kVector;  // of 16 bytes
#include "mma_window/layout.h"

// Packed weights: for each depth tap, k-step and tap, for 8 or 16 columns what each lane holds of them.
constexpr int kFragmentColumns = kWarpChannels % 16 == 0 ? 16 : 8;
constexpr int kFragmentWords = kFragmentColumns / 4;
constexpr int kTapBytes = P::block_n * 32;                       // of a step
constexpr int kKBlockWeightBytes = kKSteps * kTaps * kTapBytes;  // of a k-block
constexpr int kResidentBytes =
    P::resident ? P::kernel_d * kKBlocks * kKBlockWeightBytes : 0;                 // of weights, at 0; stages follow
constexpr int kStageBytes = kInputBytes + (P::resident ? 0 : kKBlockWeightBytes);  // input; weights if not resident
constexpr int kBiasOffset = kResidentBytes + P::stages * kStageBytes;              // one a channel
constexpr int kOutputOffset = ceil_div(kBiasOffset + (P::has_bias ? P::block_n * 4 : 0), 16) * 16;
constexpr int kSharedBytes = kOutputOffset + kThreads / 32 * kWarpOutputBytes;
constexpr long long kPackedBytes =
    static_cast<long long>(kNTiles) * P::kernel_d * kKBlocks * kKBlockWeightBytes;  // of the layer
constexpr int kPackedRows = kFragmentWords;                                         // of 16 bytes, that a thread packs

constexpr int kAlignment = larger(P::copy_bytes, larger(P::vector, P::store) * kBytes);  // of x and y, in bytes

// Where a warp's products of a step are few, those of all steps of a k-block are written out.
constexpr bool kUnrolls = kStepProducts * kKSteps <= 256;

constexpr int kMostAccumulators = 128;  // of a thread
static_assert(P::warp_tiles * kPhases * kWarpChannels / 2 <= kMostAccumulators, "the accumulators fit the registers");
static_assert(P::copy_bytes > 0 || P::channels_last || P::vector == 1 ||
                  (kPixels % P::vector == 0 && (!kFlat || kPixels == kPositions)),
              "pixels that are loaded together are of one row");
static_assert(P::channels_last || P::vector == 1 || kPixelStepW == 1, "what is loaded together is read");
static_assert(!P::channels_last || P::vector == 1 || P::vector == kVector, "a unit is loaded as it lies");
static_assert(P::stages >= 2 && (P::copy_bytes > 0 || P::stages == 2),
              "what goes through registers is written while the stage before is read");
