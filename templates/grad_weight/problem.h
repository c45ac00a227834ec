// Products over positions, for gradients of weights: what a block makes, and its threads.
//
// The template's columns.h has kColumnRows: how many kernel rows of a block's taps are in the columns of its products.
// The others are in their rows. With kPairedTaps a warp's 16 rows are two adjacent taps of eight channels.
// Needs: kColumnRows, kPairedTaps
#pragma once

#include "columns.h"
#include "device/instruction.h"
#include "device/printed.h"
#include "device/static_parameters.h"
#include "device/template.h"
#include "device/warpgroup.h"
#include "grad_weight/planes.h"

constexpr int kConsumers = 128 * P::consumer_groups;

// The columns of the products: kernel rows, the last one first, by input channels.
constexpr int kColumns = kColumnRows * P::block_in;

// The rows of the products: taps by output channels, in tiles of 64. A warp's 16 rows are of one tap, or of two.
constexpr int kTapsH = P::taps_h / kColumnRows;
constexpr int kTaps = kTapsH * P::taps_w;
constexpr int kRows = kTaps * P::block_out;
constexpr int kMTiles = ceil_div(kRows, 64);
constexpr int kOwnTiles = ceil_div(kMTiles, P::consumer_groups);  // of a warpgroup, at most
constexpr bool kEvenTiles = kMTiles % P::consumer_groups == 0;    // all warpgroups have as many

// Accumulators of a block, as its totals in memory.
constexpr int kAccumulators = kOwnTiles * kColumns / 2;  // of a thread
constexpr long long kTotals = static_cast<long long>(kAccumulators) * kConsumers;

// The results of a block are stored as vectors of weights that are adjacent in memory: whole channels' taps, rows of
// taps, or parts of a row; with channels last, and of a kernel of one tap, channels. A vector is never partly outside:
// it divides what is contiguous in a block as well as in the layer.
constexpr bool kChannelsTogether = P::weight_channels_last || kKernelTaps * P::kernel_d == 1;
constexpr int kSharedChannels = greatest_common_divisor(P::block_out, kGroupOut);
constexpr int kAdjacent = kChannelsTogether          ? kSharedChannels
                          : P::taps_w != P::kernel_w ? greatest_common_divisor(P::taps_w, P::kernel_w)
                          : kTapsH != P::kernel_h || P::kernel_d > 1
                              ? greatest_common_divisor(kTapsH, P::kernel_h) * P::kernel_w
                              : kSharedChannels* kKernelTaps;

// Channels lie together in shared memory too, which reads them by 16 bytes: four fp32 sums. An even number of taps has
// whole vectors of a channel: those of more channels would meet in few banks. Parts of sectors and sums of slices are
// stored element by element. Vectors of the first, each in another sector, took 1.3 to 1.4 times as long for whole
// kernels, those of the second up to 1.06 times.
constexpr int kMostVector = P::slices > 1 || kAdjacent* kElementBytes < 32 ? 1
                            : kChannelsTogether                            ? 4
                                                                           : 16 / kElementBytes;
constexpr int kStoreVector = greatest_common_divisor(
    kAdjacent, kChannelsTogether || kTaps % 2 != 0 ? kMostVector : greatest_common_divisor(kMostVector, kTaps));
constexpr int kWeightAlignment = kStoreVector * kElementBytes;

// On their way to memory they take the place of the stages: some columns at a time. Pitches keep stores to shared
// memory free of bank conflicts, and loads where the number of taps is a power of two or channels lie together; others
// take some two wavefronts. Single elements: a warp loads all taps of adjacent channels. Vectors: a thread's taps are
// of one channel.
constexpr int kTapPad = kChannelsTogether || kTaps == 1 ? 0
                        : kStoreVector > 1              ? (kTaps < 8         ? 0
                                                           : 32 % kTaps == 0 ? 32 / kTaps
                                                                             : 2)
                        : kTaps == 2                    ? floor_mod(16 - P::block_out, 32)
                                                        : ceil_div(32, kTaps);
constexpr int kTapPitch = P::block_out + kTapPad;
constexpr int kColumnPitch = kTaps * kTapPitch + floor_mod(4 - kTaps * kTapPitch, 32);

// Threads that store a column's vectors, and columns that the block stores at once. Where a warp stores two or four
// columns, the banks of these are apart: by 16 with a distance of four columns, by 8 with two.
constexpr int kVectors = kRows / kStoreVector;  // of a column
constexpr int kVectorThreads = smaller(kVectors, kConsumers);
constexpr int kColumnsAtOnce = kConsumers / kVectorThreads;
constexpr int kColumnDistance = kVectors == 16 || kVectors == 8 ? kVectors / 4 : 1;

static_assert(P::in_channels % P::groups == 0 && P::out_channels % P::groups == 0, "groups divide the channels");
static_assert(P::block_out % 16 == 0 && P::block_in % 8 == 0 && kColumns <= 256, "a block has whole products");
static_assert(kTaps % (kPairedTaps ? 2 : 1) == 0, "taps are whole pairs");
static_assert(kAccumulators <= 192, "the accumulators fit the registers");

// One thread's accumulators of one tile of 64 rows.
using Accumulators = float[kColumns / 2];

// The first of 16 rows' tap, of the block's, and output channel; the other eight rows are of the next channels, or of
// the next tap. Rows beyond the last repeat its tap; nobody stores them.
constexpr int kBlocksOfRows = P::block_out / 16;  // of a tap
constexpr int kRowTaps = kPairedTaps ? 2 : 1;     // of 16 rows
constexpr int kTapBlocks = kRowTaps * kBlocksOfRows;
// A warp's 16 rows of its warpgroup's tile of this number.
__device__ inline int rows_of_tile(int tile, int warpgroup, int thread) {
  return (tile * P::consumer_groups + warpgroup) * 4 + thread / 32 % 4;
}
__device__ __forceinline__ int tap_of_rows(int rows) {
  return min(rows / kTapBlocks, kTaps / kRowTaps - 1) * kRowTaps;
}
__device__ __forceinline__ int channel_of_rows(int rows) {
  return rows % kTapBlocks * (16 / kRowTaps);
}

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before them.
__device__ __forceinline__ void pin(Accumulators (&acc)[kOwnTiles]) {
#pragma unroll
  for (int tile = 0; tile < kOwnTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i) {
      wgmma_pin(acc[tile][i]);
    }
  }
}
