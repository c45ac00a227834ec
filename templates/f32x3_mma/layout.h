// Part of the template `f32x3_mma`: what lies in shared memory and in the packed weights.
#pragma once

#include "device/float_element.h"
#include "device/static_parameters.h"
#include "device/template.h"

using P = Parameters;

constexpr bool kFlat = false;                                 // images of a sequence would share a tile's scale
constexpr int kBytes = 4;                                     // of an element
constexpr int kInstructionK = 16;                             // channels of one product, which is of f16
constexpr int kVector = 8;                                    // f16 parts of 16 bytes
constexpr int kParts = 2;                                     // high and low
constexpr int kPixelVectors = kParts * P::block_k / kVector;  // of 16 bytes
#include "mma_window/layout.h"

constexpr int kLowOffset = kUnits * kUnitPitch;  // from a pixel's high parts to its low ones

// Packed weights: for each depth tap, k-step, tap and 8 columns, 16 bytes of each lane: its high parts, then its low
// ones. After all k-blocks of an N tile come the exponents of its columns' scales, and the maxima of parts of each
// column.
constexpr int kFragmentBytes = 512;                                        // of 8 columns
constexpr int kTapBytes = P::block_n / 8 * kFragmentBytes;                 // of a step
constexpr int kKBlockWeightBytes = kKSteps * kTaps * kTapBytes;            // of a k-block
constexpr int kWeightBytes = P::kernel_d * kKBlocks * kKBlockWeightBytes;  // of all k-blocks
constexpr int kColumnPhases = 1;                                           // a column of products is an output channel
#include "split/pack_blocks.h"
constexpr int kPackedMaximaOffset = kWeightBytes + P::block_n * 4;  // written while weights are packed
constexpr int kPackedTileBytes = kPackedMaximaOffset + P::block_n * kColumnMaxima * 4;
constexpr long long kPackedBytes = static_cast<long long>(kNTiles) * kPackedTileBytes;  // of the layer

// Shared memory: resident weights, two stages, two factors of each column's scale, biases, maxima of the warps' input.
constexpr int kWarps = kThreads / 32;
constexpr int kResidentBytes = P::resident ? kWeightBytes : 0;
constexpr int kStageBytes = kInputBytes + (P::resident ? 0 : kKBlockWeightBytes);  // input; weights if not resident
constexpr int kScalesOffset = kResidentBytes + 2 * kStageBytes;
constexpr int kBiasOffset = kScalesOffset + P::block_n * 8;  // one a channel
constexpr int kMaximaOffset = kBiasOffset + (P::has_bias ? P::block_n * 4 : 0);
constexpr int kOutputOffset = ceil_div(kMaximaOffset + 2 * kWarps * 4, 16) * 16;  // of the staged k-block and the next
constexpr int kSharedBytes = kOutputOffset + kWarps * kWarpOutputBytes;

constexpr int kAlignment = larger(P::vector, P::store) * kBytes;  // of x and y, in bytes

// Shifts along the inner axis, up to one of them, at which some tap of an outer shift reads: each phase has one there
// at the most. And those of all outer shifts, and the most of one.
__host__ __device__ constexpr int taps_through(int outer, int inner) {
  int taps = 0;
  for (int i = 0; i <= inner; ++i) {
    taps += has_taps_at(outer, i) ? 1 : 0;
  }
  return taps;
}
__host__ __device__ constexpr int taps_of_step() {
  int taps = 0;
  for (int outer = 0; outer <= kOuterHalo; ++outer) {
    taps += taps_through(outer, kInnerHalo);
  }
  return taps;
}
__host__ __device__ constexpr int most_inner_taps() {
  int most = 0;
  for (int outer = 0; outer <= kOuterHalo; ++outer) {
    most = larger(most, taps_through(outer, kInnerHalo));
  }
  return most;
}
constexpr int kTileKBlocks = P::kernel_d * kKBlocks;  // of a tile at the most, one after the other
constexpr int kStepTaps = taps_of_step();
constexpr int kInnerTaps = most_inner_taps();

// Tensor cores truncate what they add, so products of high parts go to fp32 totals after P::most_terms of them: before
// an outer shift, or where one has more, within it too, after groups of as many taps.
constexpr int kGroupTaps = ceil_div(kInnerTaps, ceil_div(kInnerTaps, P::most_terms));
// Products with low parts matter 2^-11 as much.
constexpr int kMostLowTerms = 256;

constexpr int kMostAccumulators = 40;  // of a thread, of high parts; there are as many of low parts, and totals
static_assert(P::warp_tiles * kPhases * kWarpChannels / 2 <= kMostAccumulators, "the accumulators fit the registers");
static_assert(P::vector == 1 || (P::vector == 4 && P::channels_last), "four channels are loaded together, or one");
