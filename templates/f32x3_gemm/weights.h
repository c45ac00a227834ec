// The packing of weights: B operands of high and of low parts, with a scale for each output channel.
#pragma once

#include "device/grid.h"
#include "device/split.h"
#include "forward_gemm/weights.h"
#include "layout.h"

// The output channel of the block at column n of a product; pairs of adjacent channels stand in their order.
__device__ inline int out_channel_at(int n) {
  return kAdjacentChannels == 2 ? n : channel_of_column(n);
}

// A weight of the output channel whose weights begin at `from`, zero outside of the layer.
__device__ inline float weight_in_channel(const float* from, int ci, int co, int place) {
  return (P::in_channels % P::block_k == 0 || ci < P::in_channels) &&
                 (P::out_channels % P::block_n == 0 || co < P::out_channels)
             ? from[static_cast<long long>(ci) * multiplied_channel_step(P::out_channels, kTaps) +
                    place * product_tap_step(P::in_channels, P::out_channels)]
             : 0;
}

// The input channel of a k-step's place in the K of a product.
__device__ inline int channel_of_k(int k_step, int k) {
  return kPairsHalves ? k_step / kKSteps * P::block_k + k_step % kKSteps * 8 + k / 2 + k % 2 * (P::block_k / 2)
                      : k_step * kInstructionK + k;
}

// Where a tap of a block stands among all taps of the kernel. A phase row's kernel rows are stride_h apart.
__device__ inline int place_of_tap(int tap, int phase_row) {
  return kPhaseGroups == 1
             ? tap
             : tap + (tap / P::kernel_w * (kPhaseGroups - 1) + (phase_row + P::padding_h) % P::stride_h) * P::kernel_w;
}

// How many adjacent channels a block of 256 threads packs together. The more, the longer are the vectors that it reads
// and writes. But a thread is to have no more than four k-steps, and the chip 128 blocks.
constexpr int kPackedTaps = kBlockTaps * kRowBlocks;  // of an N tile, in all its k-blocks
constexpr int kTapKSteps = kAllKSteps * kPackedTaps;
constexpr int pack_channels() {
  int channels = 2;
  while (channels < 8 && (channels * kTapKSteps < 64 || (kAllKSteps <= 4 * (128 / (channels * kPackedTaps)) &&
                                                         kNTiles * P::block_n / channels >= 256))) {
    channels *= 2;
  }
  return channels;
}
constexpr int kPackChannels = pack_channels();
// Rows of 16 bytes that a thread packs, if the grid has a block for each such group of channels.
constexpr int kThreadRows =
    static_cast<int>(kPackedBytes / (kNTiles * P::block_n) * kPackChannels / (16 * 256));
constexpr int kPackedRows = kThreadRows > 1 ? kThreadRows : 1;

// How many k-steps of a channel, in all taps, the threads have at a time; whether registers hold all that a thread
// reads, and how many k-steps these are, or else the number of turns.
constexpr int kPackLanes = 256 / kPackChannels;
constexpr int kKStepLanes = kPackLanes / kPackedTaps;
constexpr bool kHeld = kAllKSteps <= 8 * kKStepLanes;
constexpr int kHeldKSteps = kHeld ? ceil_div(kAllKSteps, kKStepLanes) : 1;
constexpr int kPackTurns = kHeld ? 1 : ceil_div(kTapKSteps, kPackLanes);
constexpr bool kAllLanes = kHeld && kPackLanes % kPackedTaps == 0 && kAllKSteps % kKStepLanes == 0;

// The k-step of a lane's i-th value.
__device__ inline int k_step_of(int lane, int i) {
  return lane / kPackedTaps + (kHeldKSteps == 1 ? 0 : i / 16 * kKStepLanes);
}

// Packs the weights by N tile, k-block, tap and k-step: two columns of a B operand each.
//
// An N tile is a block's output channels and phase rows. With channels last, a consumer loads adjacent channels of x
// together, so a product's K is another order of them. Threads read all k-steps at once; those that are left over
// repeat what others do. Blocks that read the same sectors follow one another.
extern "C" __global__ void __launch_bounds__(256)
    pack_weights(const Element* __restrict__ weight, unsigned char* __restrict__ packed) {
  grid_dependents_launch();
  // Some channels at a time, each with a scale of its own. A thread has a tap of a channel, and some k-steps.
  const int lane = threadIdx.x / kPackChannels;
  for (int index = blockIdx.x; index < kNTiles * (P::block_n / kPackChannels); index += gridDim.x) {
    const int n = index / kPhaseGroups * kPackChannels % P::block_n + threadIdx.x % kPackChannels;
    const int channel_tile = index / (kPhaseGroups * (P::block_n / kPackChannels));
    const int group = P::groups == 1 ? 0 : channel_tile / kChannelTiles;
    const int n_tile = (group * (kPhaseGroups - 1) + index % kPhaseGroups) * kChannelTiles + channel_tile;
    unsigned char* to = packed + static_cast<long long>(n_tile) * kPackedTileBytes;
    const int co = (channel_tile - group * kChannelTiles) * P::block_n + out_channel_at(n);
    const Element* from = weight + (group * kGroupWeights + first_tap_offset(P::in_channels, kTaps) +
                                    static_cast<long long>(co) * made_channel_step(P::in_channels, kTaps));
    float values[kHeldKSteps * 16];
    float most = 0;
    for (int turn = 0; turn < kPackTurns; ++turn) {
#pragma unroll
      for (int i = 0; i < kHeldKSteps * 16; ++i) {
        values[i] = weight_in_channel(from,
                                      channel_of_k(kAllLanes ? k_step_of(lane + turn * kPackLanes, i)
                                                             : k_step_of(lane + turn * kPackLanes, i) % kAllKSteps,
                                                   kHeldKSteps == 1 ? i : i % 16),
                                      co, place_of_tap((lane + turn * kPackLanes) % kPackedTaps, index));
        most = larger_finite(most, values[i]);
      }
    }
    for (int mask = 16; mask >= kPackChannels; mask /= 2) {
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, mask));
    }
    float* maxima = reinterpret_cast<float*>(to + kPackedMaximaOffset) + n * 8;  // of each warp
    if (threadIdx.x % 32 / kPackChannels == 0) {
      maxima[threadIdx.x / 32] = most;
    }
    __syncthreads();
    for (int warp = 0; warp < 8; ++warp) {
      most = fmaxf(most, maxima[warp]);
    }
    const int exponent = scale_exponent(most);
    if (lane == 0) {
      reinterpret_cast<int*>(to + kWeightBytes)[n] = exponent;
    }
    for (int turn = 0; turn < kPackTurns; ++turn) {
#pragma unroll
      for (int held = 0; held < kHeldKSteps; ++held) {
        if (kAllLanes || lane + turn * kPackLanes + held * (kPackedTaps * kKStepLanes) < kTapKSteps) {
          const int tap = (lane + turn * kPackLanes) % kPackedTaps;
          const int k_step = (lane + turn * kPackLanes) / kPackedTaps + held * kKStepLanes;
          const int place = kRowBlocks == 1 ? tap : tap % P::kernel_w;  // among the taps of its k-block
          uint4* row = reinterpret_cast<uint4*>(to + k_block_of(k_step, tap / P::kernel_w) * kKBlockWeightBytes) +
                       ((place / kFusedPhases * kKSteps + k_step % kKSteps) * (kParts * 2 * kInstructionN) +
                        place % kFusedPhases * P::block_n + n);
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            SplitPair pairs[4];
#pragma unroll
            for (int word = 0; word < 4; ++word) {
              const int i = held * 16 + (P::channels_last ? word * 4 + half * 2 : half * 8 + word * 2);
              if (!kHeld) {
                values[i] = weight_in_channel(from, channel_of_k(k_step, i), co, place_of_tap(tap, index));
                values[i + 1] = weight_in_channel(from, channel_of_k(k_step, i + 1), co, place_of_tap(tap, index));
              }
              pairs[word] = split_pair(values[i], values[i + 1], power_of_two(exponent), true);
            }
            row[half * kInstructionN] = make_uint4(pairs[0].high, pairs[1].high, pairs[2].high, pairs[3].high);
            row[(half + 2) * kInstructionN] = make_uint4(pairs[0].low, pairs[1].low, pairs[2].low, pairs[3].low);
          }
        }
      }
    }
  }
}
