// Part of the template `mma_pixels`: the kernel that packs weights.
#pragma once

#include "device/exchanged_weights.h"
#include "device/thread_channels.h"
#include "planes.h"
#include "split.h"

// Packs the weights as blocks take them: for each N tile, tap and k-block of input channels, by k-steps and columns.
extern "C" __global__ void __launch_bounds__(kPackers)
    pack_weights(const Element* __restrict__ weight, unsigned char* __restrict__ packed) {
  if constexpr (kSplit) {
    pack_split(weight, packed);
  } else {
    constexpr int kColumns = kChannelTiles * P::block_n / 2;
    // A thread packs what four lanes hold of a k-step and tap, so that it writes whole sectors: the step's channels of
    // two columns, eight apart. Neighbours read neighbours.
    const long long i = static_cast<long long>(blockIdx.x) * kPackers + threadIdx.x;
    if (i < static_cast<long long>(P::groups) * kKBlocks * kKSteps * kColumns * kStageTaps) {
      const int tap = static_cast<int>(P::weight_channels_last ? i / kColumns % kStageTaps : i % kStageTaps);
      const int column = static_cast<int>(P::weight_channels_last ? i % kColumns : i / kStageTaps % kColumns);
      const int step = static_cast<int>(i / (kStageTaps * kColumns) % (kKBlocks * kKSteps));
      const int group = static_cast<int>(i / (static_cast<long long>(kStageTaps) * kColumns * kKBlocks * kKSteps));
      const int first = column / 8 * 16 + column % 8;  // of the thread's columns
      unsigned int words[4][4];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int of_warp = (first + half * 8) % kWarpChannels;
        const int co = first + half * 8 - of_warp + channel_of_column(of_warp);
        const int kernel_tap = kFusedPhases ? tap * P::column_phases + co % P::column_phases : tap;
#pragma unroll
        for (int unit = 0; unit < 2; ++unit) {
#pragma unroll
          for (int lane = 0; lane < 4; ++lane) {
            unsigned int parts[2];
#pragma unroll
            for (int e = 0; e < kVector / 4; ++e) {
              const int ci = kPlanes ? step * kStepChannels + channel_of_step(unit, lane)
                                     : (2 * step + unit) * kVector + kVector / 4 * lane + e;
              const int of_row = kPlanes ? tap_of_step(unit, lane, e) : 0;
              Element value = 0;
              if ((kGroupColumns % P::block_n == 0 || co < kGroupColumns) &&
                  (kGroupIn % kStageChannels == 0 || ci < kGroupIn)) {
                value = weight[product_weight_offset(
                    static_cast<WeightIndex>(P::weights_exchanged ? ci : group * kGroupIn + ci),
                    P::weights_exchanged ? group * kGroupOut + co : co / P::column_phases,
                    kRowTaps > 1 ? kernel_tap * kRowTaps + of_row : kernel_tap, kGroupIn, kGroupOut, kKernelTaps)];
              }
              if constexpr (P::type == kWgmmaTf32) {
                parts[e] = operand(__float_as_uint(value));
              } else {
                parts[e] = value;
              }
            }
            words[lane][half * 2 + unit] = kVector == 4 ? parts[0] : parts[0] | parts[1] << 16;
          }
        }
      }
      const int n_tile = group * kChannelTiles + first / P::block_n;
      // Lane 4 * g + t has word t of column g.
      unsigned char* to =
          packed +
          ((static_cast<long long>(n_tile) * kStageTaps + tap) * kKBlocks + step / kKSteps) * kKBlockWeightBytes +
          (step % kKSteps * kStepBytes + first % P::block_n / 16 * 512 + first % 8 * 64);
#pragma unroll
      for (int lane = 0; lane < 4; ++lane) {
        *reinterpret_cast<uint4*>(to + lane * 16) =
            make_uint4(words[lane][0], words[lane][1], words[lane][2], words[lane][3]);
      }
    }
  }
}
