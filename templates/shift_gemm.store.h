// Part of the template `shift_gemm`, which uses what stands above its line there: what becomes of sums.
#pragma once

// A sum as memory holds it, after bias and fuse chain where the layer has them.
__device__ __forceinline__ float finish(float sum, float shift) {
  const float value = P::has_bias ? sum + shift : sum;
  return P::fuse_count > 0 ? activate(value) : value;
}

// The thread's i-th channel, whose first is `co`.
__device__ __forceinline__ int own_channel(int co, int i) {
  return co + i / P::channel_run * (4 * P::channel_run) + i % P::channel_run;
}

// The biases of a thread's channels, read before a tile's sums are done: behind the first stores they would wait.
using Shifts = float[P::has_bias ? P::columns / 4 : 1];
__device__ __forceinline__ void load_shifts(Shifts& shifts, const Element* __restrict__ bias, int co) {
  if (P::has_bias) {
#pragma unroll
    for (int i = 0; i < P::columns / 4; ++i) {
      const int channel = own_channel(co, i);
      shifts[i] = P::out_channels % P::columns == 0 || channel < P::out_channels ? widen(bias[channel]) : 0;
    }
  }
}

// Stores a thread's outputs: its run in all phases, for its channels. (m_y, m_x) is its first position, `co` its first
// channel, `y` the image.
__device__ __forceinline__ void store_tile(const Sums (&sums)[kSums][kTiles], Element* __restrict__ y,
                                           const Shifts& shifts, int co, int m_y, int m_x, int phase_row,
                                           const int out_h, const int out_w) {
#pragma unroll
  for (int row = 0; row < P::phase_rows; ++row) {
    const int oy = m_y * P::stride_h + phase_row + row;
    if (oy < out_h) {
      if (P::channels_last) {
#pragma unroll
        for (int first = 0; first < P::columns / 4; first += P::store) {
          const int channel = own_channel(co, first);
          if (P::out_channels % P::columns == 0 || channel < P::out_channels) {
#pragma unroll
            for (int position = 0; position < P::run; ++position) {
#pragma unroll
              for (int phase_w = 0; phase_w < P::stride_w; ++phase_w) {
                const int phase = row * P::stride_w + phase_w;
                const int ox = (m_x + position) * P::stride_w + phase_w;
                if (ox < out_w) {
                  float values[P::store];
#pragma unroll
                  for (int i = 0; i < P::store; ++i) {
                    const int d = (first + i) / 2 * 4 + position % 2 * 2 + (first + i) % 2;
                    values[i] = finish(kAllHaveTaps || has_taps(phase)
                                           ? sums[phase / kMerged][position / 2][phase % kMerged * (P::columns / 2) + d]
                                           : 0,
                                       P::has_bias ? shifts[first + i] : 0);
                  }
                  store_together(y + (static_cast<long long>(oy) * out_w + ox) * P::out_channels + channel, values);
                }
              }
            }
          }
        }
      } else {
#pragma unroll
        for (int i = 0; i < P::columns / 4; ++i) {
          const int channel = own_channel(co, i);
          if (P::out_channels % P::columns == 0 || channel < P::out_channels) {
            Element* to = y + (static_cast<long long>(channel) * out_h + oy) * out_w;
#pragma unroll
            for (int first = 0; first < P::run * P::stride_w; first += P::store) {
              const int ox = m_x * P::stride_w + first;
              if (ox < out_w) {
                float values[P::store];
#pragma unroll
                for (int v = 0; v < P::store; ++v) {
                  const int position = (first + v) / P::stride_w;
                  const int phase = row * P::stride_w + (first + v) % P::stride_w;
                  const int d = i / 2 * 4 + position % 2 * 2 + i % 2;
                  values[v] = finish(kAllHaveTaps || has_taps(phase)
                                         ? sums[phase / kMerged][position / 2][phase % kMerged * (P::columns / 2) + d]
                                         : 0,
                                     P::has_bias ? shifts[i] : 0);
                }
                store_together(to + ox, values);
              }
            }
          }
        }
      }
    }
  }
}
