// Part of the template `mma_pixels`: values of fp32 that are split into two parts of f16. The scale of x belongs to an
// image and a k-block; what is smaller than others of its image is brought to their scale when it goes to the totals.
#pragma once

#include "device/call_sizes.h"
#include "device/depth.h"
#include "device/input_activation.h"
#include "device/memory.h"
#include "device/split.h"
#include "layout.h"

// ---- Weights ----

constexpr int kPhaseGroups = 1;  // each N tile has the taps of all phases

// Where the weights of a k-step and a tap begin in those of an N tile.
__device__ inline long long packed_offset(int k_step, int tap) {
  return (static_cast<long long>(tap) * kKBlocks + k_step / kKSteps) * kKBlockWeightBytes +
         k_step % kKSteps * kStepBytes;
}
constexpr int kFragmentBytes = 512;  // of eight columns

#include "split/pack.h"

constexpr int kPackedRows = kSplit ? kSplitRows : 4;  // of 16 bytes, that a thread packs

// ---- Scales ----

// Slices of an image and k-block whose largest magnitudes are found, each by a block.
constexpr int kScanThreads = 256;
constexpr int kScanReads = 8;  // of a thread, that are in flight together
constexpr int kScanPixels = P::depth < 0 || P::height < 0 || P::width < 0 ? 1 << 16 : P::depth * P::height * P::width;
constexpr int kScanSlices = kScanPixels >= 4096 ? 8 : kScanPixels >= 1024 ? 2 : 1;
constexpr int kScanBlocks = kScales * kScanSlices;  // of an image
constexpr int kScanSharedBytes = kScanThreads / 32 * 4;
// The exponents of an image: for each group the least of its k-blocks, then how far that is below each of theirs.
constexpr int kGroupExponents = 1 + kKBlocks;
constexpr int kExponents = P::groups * kGroupExponents;
constexpr int kExponentBytes = kExponents * 4;
constexpr int kMaximaBytes = kScanBlocks * 4;
constexpr int kMostRaise = 126;  // so that a float is the factor between two scales

// The largest finite magnitude of a slice of an image's k-block: (image, k-block of all groups, slice).
extern "C" __global__ void __launch_bounds__(kScanThreads)
    scan_input(const Element* __restrict__ x, float* __restrict__ maxima, int depth, int height, int width) {
  const long long plane =
      static_cast<long long>(input_depth(depth)) * input_rows(height) * input_columns(width);  // of a channel
  const int thread = threadIdx.x;
  const long long image = blockIdx.x / kScanBlocks;
  const int of_image = blockIdx.x % kScanBlocks;
  const int slice = of_image % kScanSlices;
  const int group = of_image / kScanSlices / kKBlocks;
  const int first = of_image / kScanSlices % kKBlocks * P::block_k;  // channel of the group
  const int channels = kGroupIn % P::block_k == 0 ? P::block_k : min(P::block_k, kGroupIn - first);
  const Element* from = x + image * P::x_channels * plane + (group * kGroupIn + first) * (P::channels_last ? 1 : plane);
  // With channels last a warp reads the channels of a pixel; else all are adjacent.
  const bool is_read = !P::channels_last || thread % 32 < channels;
  const long long all = P::channels_last ? plane : plane * channels;
  constexpr int kTogether = P::channels_last ? kScanThreads / 32 : kScanThreads;
  const long long end = all * (slice + 1) / kScanSlices;
  float most = 0;
  for (long long i = all * slice / kScanSlices + (P::channels_last ? thread / 32 : thread); is_read && i < end;
       i += kScanReads * kTogether) {
    float read[kScanReads];
#pragma unroll
    for (int k = 0; k < kScanReads; ++k) {
      read[k] = 0;
      if (i + k * kTogether < end) {
        read[k] = P::channels_last ? from[(i + k * kTogether) * P::x_channels + thread % 32] : from[i + k * kTogether];
      }
    }
#pragma unroll
    for (int k = 0; k < kScanReads; ++k) {
      if (kActivatesInput && i + k * kTogether < end) {
        read[k] = activate_input(read[k]);
      }
      most = larger_finite(most, read[k]);
    }
  }
#pragma unroll
  for (int mask = 16; mask >= 1; mask /= 2) {
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, mask));
  }
  float* found = static_cast<float*>(shared_memory());
  if (thread % 32 == 0) {
    found[thread / 32] = most;
  }
  __syncthreads();
  if (thread == 0) {
    for (int warp = 1; warp < kScanThreads / 32; ++warp) {
      most = fmaxf(most, found[warp]);
    }
    maxima[blockIdx.x] = most;
  }
}

// The exponent of a k-block's scale, by its largest magnitude.
__device__ __forceinline__ int exponent_of_k_block(const float* __restrict__ maxima, long long first) {
  float most = 0;
#pragma unroll
  for (int slice = 0; slice < kScanSlices; ++slice) {
    most = fmaxf(most, maxima[first + slice]);
  }
  return scale_exponent(most);
}

// Makes exponents of maxima: of an image and a group. Those of magnitudes that are near are the same, since what goes
// on with another scale must be put away before.
extern "C" __global__ void __launch_bounds__(kScanThreads)
    find_exponents(const float* __restrict__ maxima, int* __restrict__ exponents, int batch) {
  const long long i = static_cast<long long>(blockIdx.x) * kScanThreads + threadIdx.x;
  if (i < static_cast<long long>(batch) * P::groups) {
    const float* of_group = maxima + i * (kKBlocks * kScanSlices);
    int least = 126;
#pragma unroll 4
    for (int k_block = 0; k_block < kKBlocks; ++k_block) {
      least = min(least, exponent_of_k_block(of_group, k_block * kScanSlices));
    }
    int* to = exponents + i * kGroupExponents;
    to[0] = least;
#pragma unroll 4
    for (int k_block = 0; k_block < kKBlocks; ++k_block) {
      to[1 + k_block] = min((exponent_of_k_block(of_group, k_block * kScanSlices) - least) / 2 * 2, kMostRaise);
    }
  }
}

// Writes a k-block of x as products read it.
__device__ __forceinline__ void arrange_split(const Element* __restrict__ x, const int* __restrict__ exponents,
                                              unsigned char* __restrict__ arranged, long long pixel, long long plane,
                                              int k_block, int lane) {
  constexpr int kUnits = P::block_k / kVector;  // of eight channels
  const int group = P::groups == 1 ? 0 : k_block / kKBlocks;
  const int of_group = P::groups == 1 ? k_block : k_block % kKBlocks;
  const int unit = lane / kSectorPixels;
  const int first = of_group * P::block_k + unit * kVector;
  const long long image = pixel / plane;
  const int* of_image = exponents + image * kExponents + group * kGroupExponents;
  const float scale = power_of_two(of_image[0] + of_image[1 + of_group]);
  const Element* from = P::channels_last
                            ? x + pixel * P::x_channels + (group * kGroupIn + first)
                            : x + image * P::x_channels * plane + pixel % plane + (group * kGroupIn + first) * plane;
  float values[kVector];
#pragma unroll
  for (int c = 0; c < kVector; ++c) {
    values[c] = 0;
    if (kGroupIn % P::block_k == 0 || first + c < kGroupIn) {
      values[c] = input_of(P::channels_last ? from[c] : from[c * plane]);
    }
  }
  SplitPair pairs[kVector / 2];
#pragma unroll
  for (int word = 0; word < kVector / 2; ++word) {
    pairs[word] = split_pair(values[word * 2], values[word * 2 + 1], scale, false);
  }
  static_assert(!kSplit || kSectorPixels * kUnits == 32, "the lanes of a warp arrange a k-block of some pixels");
  unsigned char* to = arranged + pixel * kInputPixelBytes + k_block * kPixelBytes + (unit / 2 * 4 + unit % 2) * 16;
  *reinterpret_cast<uint4*>(to) = make_uint4(pairs[0].high, pairs[1].high, pairs[2].high, pairs[3].high);
  *reinterpret_cast<uint4*>(to + 32) = make_uint4(pairs[0].low, pairs[1].low, pairs[2].low, pairs[3].low);
}

// ---- Totals ----

// One thread's accumulators: of each tile of 16 positions and tile of 8 channels of its warp.
using Accumulators = float[kWarpTiles][kWarpChannels / 8][4];

// Products of k-steps that follow one another in an accumulator at the most. Tensor cores truncate what they add.
constexpr int kMostTerms = 8, kMostLowTerms = 256;
static_assert(!kSplit || kKSteps <= kMostTerms, "a stage has no more products than one addition to the totals");

// What the accumulators hold: k-steps since the last addition to the totals, of high parts and of low ones; the factors
// to the totals, of each row.
struct Held {
  int terms;
  int low_terms;
  int tap;  // of the stage that comes, and its k-block
  int k_block;
  float factors[kWarpTiles][2];
};

// Adds the products of high parts to the totals.
__device__ __forceinline__ void add_high(Accumulators& totals, Accumulators& high, Held& held) {
#pragma unroll
  for (int tile = 0; tile < kWarpTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < kWarpChannels / 2; ++i) {
      float& value = high[tile][i / 4][i % 4];
      totals[tile][i / 4][i % 4] = fmaf(value, held.factors[tile][i % 4 / 2], totals[tile][i / 4][i % 4]);
      value = 0;
    }
  }
  held.terms = 0;
}

// Adds all products to the totals. Infinities have no low parts: a total that isn't finite is the result.
__device__ __forceinline__ void add_all(Accumulators& totals, Accumulators& high, Accumulators& low, Held& held) {
  add_high(totals, high, held);
#pragma unroll
  for (int tile = 0; tile < kWarpTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < kWarpChannels / 2; ++i) {
      float& total = totals[tile][i / 4][i % 4];
      if (is_finite(total)) {
        total = fmaf(low[tile][i / 4][i % 4], held.factors[tile][i % 4 / 2] * (1 / kLowScale), total);
      }
      low[tile][i / 4][i % 4] = 0;
    }
  }
  held.low_terms = 0;
}

// Begins a stage, which has a tap of a k-block: `offsets` say where the exponents of each position's image begin, from
// the thread's first position on. Collective.
__device__ __forceinline__ void begin_stage(Accumulators& totals, Accumulators& high, Accumulators& low, Held& held,
                                            const int* __restrict__ exponents, const long long* offsets, int taps) {
  bool any = held.low_terms + kKSteps > kMostLowTerms;
  float factors[kWarpTiles][2];
  if (held.tap == 0) {
#pragma unroll
    for (int row = 0; row < kWarpTiles * 2; ++row) {
      const float factor = power_of_two(-exponents[offsets[row * 8] + 1 + held.k_block]);
      any = any || factor != held.factors[row / 2][row % 2];
      factors[row / 2][row % 2] = factor;
    }
    ++held.k_block;
  }
  if (__ballot_sync(0xffffffffu, any ? 1 : 0) != 0) {
    add_all(totals, high, low, held);
  } else if (held.terms + kKSteps > kMostTerms) {
    add_high(totals, high, held);
  }
  if (held.tap == 0) {
#pragma unroll
    for (int row = 0; row < kWarpTiles * 2; ++row) {
      held.factors[row / 2][row % 2] = factors[row / 2][row % 2];
    }
  }
  held.tap = held.tap + 1 == taps ? 0 : held.tap + 1;
  held.terms += kKSteps;
  held.low_terms += kKSteps;
}

// Makes a tile's results of its totals. `scales` undo those of the weights, in two factors for each of a warp's
// columns; they begin at the thread's first one.
__device__ __forceinline__ void unscale(Accumulators& totals, const float2* scales, const int* __restrict__ exponents,
                                        const long long* offsets) {
#pragma unroll
  for (int tile = 0; tile < kWarpTiles; ++tile) {
    const float2 rows[2] = {factors_of(-exponents[offsets[tile * 16]]), factors_of(-exponents[offsets[tile * 16 + 8]])};
#pragma unroll
    for (int i = 0; i < kWarpChannels / 2; ++i) {
      const float2 column = scales[i / 4 * 8 + i % 2];
      float& value = totals[tile][i / 4][i % 4];
      value = value * (column.x * rows[i % 4 / 2].x) * (column.y * rows[i % 4 / 2].y);
    }
  }
}
