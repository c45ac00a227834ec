// Part of the template `halo_gemm`: how a thread's outputs go from its accumulators to memory.
#pragma once

#include "device/epilogue.h"

// Whether any tap makes outputs of a phase of the block; the others are bias alone.
__host__ __device__ constexpr bool has_taps(int phase) {
  return kOnePhase ? phase == 0
                   : (kPhaseGroups > 1 || phase / P::stride_w < P::kernel_h) && phase % P::stride_w < P::kernel_w;
}

// A part's accumulator of a phase and the thread's i-th channel, for its row of that half.
__device__ __forceinline__ float acc_of(const Accumulators (&acc)[kAccArrays], int depth_tap, int phase, int i,
                                        int half) {
  const int column = i / 2 * 4 + half * 2 + i % 2;
  if (kVolume) {
    const int of_plane = smaller(depth_tap, P::kernel_d - 1) * (kPlaneColumns / 2);
    return depth_tap >= (kOnePhase ? 1 : P::kernel_d) ? 0
           : P::fused_phases                          ? acc[0][of_plane + phase * (P::block_n / 2) + column]
           : has_taps(phase)                          ? acc[kOnePhase ? 0 : phase][of_plane + column]
                                                      : 0;
  }
  return P::fused_phases ? acc[0][phase * (P::block_n / 2) + column] : has_taps(phase) ? acc[phase][column] : 0;
}

// A thread with few channels holds their biases in registers for a tile.
constexpr int kOwn = P::block_n / 4;
constexpr bool kHasBiasRegisters = P::has_bias && kOwn <= 16;

// Whether a thread's adjacent outputs are channels of a phase; else they are phases of a channel.
constexpr bool kStoresChannels = P::channels_last && kPhaseBlocks == 1;

// Whether one conversion rounds two channels of 16 bits, which are then stored one by one.
constexpr bool kRoundsTwo = kStoresChannels && P::store == 1 && kBytes == 2;

// Stores a thread's outputs of the warpgroup's parts. `row` is the thread's first of a part, `channel` its first of the
// block's, `y` the block's first channel of the first image{with left: , `left` how many channels there are from
// there on}.
__device__ __forceinline__ void store_parts(const Accumulators (&acc)[kParts][kAccArrays], Element* __restrict__ y,
                                            const float* bias, const Tile& tile, int plane, int depth_tap,
                                            int first_part, int row, int channel, int left, int first_out,
                                            const int phase_row, const int batch, const int in_h, const int in_w,
                                            const int out_d, const int out_h, const int out_w) {
  float bias_registers[kHasBiasRegisters ? kOwn : 1];
  if (kHasBiasRegisters) {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      bias_registers[i] = bias[own_channel(channel, i)];
    }
  }
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int of_tile = first_part + part;
      const int place = row + 8 * half;                            // in the part
      const int at = kFlat ? tile.m_x + of_tile * 64 + place : 0;  // in the sequence
      const int image = kFlat && !kVolume ? tile.image + at / ((in_h + kGapH) * (in_w + kGapW)) : tile.image;
      const int m_y = kFlat ? at / (in_w + kGapW) % (in_h + kGapH)
                            : tile.m_y + of_tile / kAcross * (64 / P::part_w) + place / P::part_w;
      const int m_x = kFlat ? at % (in_w + kGapW) : tile.m_x + of_tile % kAcross * P::part_w + place % P::part_w;
#pragma unroll
      for (int phase = 0; phase < kPhases; phase += kStoresChannels ? 1 : P::store) {
        const int oy = m_y * P::stride_h + phase_row + phase / kPhaseColumns - P::padding_h;
        const int ox = m_x * P::stride_w + phase % kPhaseColumns - P::padding_w;
        if (oy >= 0 && oy < out_h && (kPhaseBlocks > 1 || ox >= 0) && (kPhaseBlocks > 1 || ox < out_w) &&
            (!kFlat || (kVolume ? at < (in_h + kGapH) * (in_w + kGapW) : image < batch))) {
          if (kStoresChannels) {
            Element* to =
                y + (((static_cast<long long>(image) * out_d + plane) * out_h + oy) * out_w + ox) * P::y_channels;
            if (kRoundsTwo) {
#pragma unroll
              for (int first = 0; first < P::block_n / 4; first += 2) {
                float values[2];
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                  values[i] = epilogue(acc_of(acc[part], depth_tap, phase, first + i, half),
                                       kHasBiasRegisters ? bias_registers[first + i]
                                       : P::has_bias     ? bias[own_channel(channel, first + i)]
                                                         : 0);
                }
                unsigned short rounded[2];
                halves_of(pair(values[0], values[1]), rounded[0], rounded[1]);
                const int own = own_channel(channel, first);
                const int next = own_channel(channel, first + 1);
                if (P::out_channels % P::block_n == 0 || own < left) {
                  to[own] = rounded[0];
                }
                if (P::out_channels % P::block_n == 0 || next < left) {
                  to[next] = rounded[1];
                }
              }
            } else {
#pragma unroll
              for (int first = 0; first < P::block_n / 4; first += P::store) {
                const int own = own_channel(channel, first);
                if (P::out_channels % P::block_n == 0 || own < left) {
                  float values[P::store];
#pragma unroll
                  for (int i = 0; i < P::store; ++i) {
                    values[i] = epilogue(acc_of(acc[part], depth_tap, phase, first + i, half),
                                         kHasBiasRegisters ? bias_registers[first + i]
                                         : P::has_bias     ? bias[own + i]
                                                           : 0);
                  }
                  store_together(to + own, values);
                }
              }
            }
          } else {
            Element* to =
                y + ((static_cast<long long>(image) * P::y_channels * out_d + plane) * out_h + oy) * out_w + ox;
#pragma unroll
            for (int i = 0; i < P::block_n / 4; ++i) {
              const int own = own_channel(channel, i);
              // Of parted phases: the block's first column. `y` is the image's first channel then.
              const int shift = kPhaseBlocks == 1 ? 0 : (first_out + own) % kPhaseBlocks * kPhaseColumns;
              const int column = ox + shift;
              if ((kMadeChannels % P::block_n == 0 || own < left) &&
                  (kPhaseBlocks == 1 || (column >= 0 && column < out_w))) {
                float values[P::store];
#pragma unroll
                for (int v = 0; v < P::store; ++v) {
                  values[v] =
                      epilogue(acc_of(acc[part], depth_tap, phase + v, i, half), kHasBiasRegisters ? bias_registers[i]
                                                                                 : P::has_bias     ? bias[own]
                                                                                                   : 0);
                }
                if (kPhaseBlocks == 1) {
                  store_together(to + static_cast<long long>(own) * out_d * out_h * out_w, values);
                } else {
                  store_together(
                      to + static_cast<long long>((first_out + own) / kPhaseBlocks) * out_d * out_h * out_w + shift,
                      values);
                }
              }
            }
          }
        }
      }
    }
  }
}
