// The epilogue: bias, fuse chain and stores of a thread's accumulators.
// Needs: Element, has_taps(), kAddsBias, kAllHaveTaps, kFusedPhases, kOutChannels, kStoresFromCorner, kThreadChannels,
//   P, store_together()
#pragma once

#include "device/activation.h"
#include "device/bias_registers.h"
#include "forward_gemm/accumulators.h"
#include "forward_gemm/taps.h"
#include "layout.h"

// A value as memory holds it, after the bias and the fuse chain where the layer has them.
__device__ __forceinline__ float epilogue(float acc, float bias) {
  const float value = kAddsBias ? acc + bias : acc;
  return P::fuse_count > 0 ? activate(value, 0, P::fuse_count) : value;
}

// The phase of an output column in one of the phase rows.
__device__ inline int phase_at(int row, int output) {
  return row * P::stride_w + output % P::stride_w;
}

// Stores a thread's outputs: its positions in all phases, for its channels, from position (m_y, m_x), channel `co` on.
__device__ __forceinline__ void store_tile(const Accumulators& acc, Element* __restrict__ y, const BiasRegisters& bias,
                                           int co, int m_y, int m_x, int phase_row, const int out_h, const int out_w) {
  Element* corner =
      y + (static_cast<long long>(co) * out_h + m_y * P::stride_h + phase_row) * out_w + m_x * P::stride_w;
#pragma unroll
  for (int row = 0; row < P::phase_rows; ++row) {
    const int oy = m_y * P::stride_h + phase_row + row;
    if (oy < out_h) {
      if (P::channels_last) {
#pragma unroll
        for (int first = 0; first < kThreadChannels; first += P::store) {
          const int channel = own_channel(co, first);
          if (P::out_channels % P::block_n == 0 || channel < P::out_channels) {
#pragma unroll
            for (int position = 0; position < P::thread_positions; ++position) {
#pragma unroll
              for (int phase_w = 0; phase_w < P::stride_w; ++phase_w) {
                const int phase = row * P::stride_w + phase_w;
                const int ox = (m_x + position) * P::stride_w + phase_w;
                if (ox < out_w) {
                  float values[P::store];
#pragma unroll
                  for (int i = 0; i < P::store; ++i) {
                    values[i] = epilogue(kAllHaveTaps || has_taps(phase)
                                             ? acc[phase / kFusedPhases][position / 2]
                                                  [phase % kFusedPhases * (P::block_n / 2) + (first + i) / 2 * 4 +
                                                   position % 2 * 2 + (first + i) % 2]
                                             : 0,
                                         kAddsBias ? bias[first + i] : 0);
                  }
                  store_together(y + (static_cast<long long>(oy) * out_w + ox) * kOutChannels + channel, values);
                }
              }
            }
          }
        }
      } else {
#pragma unroll
        for (int i = 0; i < kThreadChannels; ++i) {
          const int channel = own_channel(co, i);
          if (P::out_channels % P::block_n == 0 || channel < P::out_channels) {
            Element* to = kStoresFromCorner
                              ? corner + (static_cast<long long>(channels_before(i)) * out_h + row) * out_w
                              : y + (static_cast<long long>(channel) * out_h + oy) * out_w;
#pragma unroll
            for (int first = 0; first < P::thread_positions * P::stride_w; first += P::store) {
              const int ox = m_x * P::stride_w + first;
              if (ox < out_w) {
                float values[P::store];
#pragma unroll
                for (int v = 0; v < P::store; ++v) {
                  values[v] = epilogue(kAllHaveTaps || has_taps(phase_at(row, first + v))
                                           ? acc[phase_at(row, first + v) / kFusedPhases][(first + v) / P::stride_w / 2]
                                                [phase_at(row, first + v) % kFusedPhases * (P::block_n / 2) +
                                                 i / 2 * 4 + (first + v) / P::stride_w % 2 * 2 + i % 2]
                                           : 0,
                                       kAddsBias ? bias[i] : 0);
                }
                store_together(to + (kStoresFromCorner ? first : ox), values);
              }
            }
          }
        }
      }
    }
  }
}
