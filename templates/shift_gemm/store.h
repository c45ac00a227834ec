// Part of the template `shift_gemm`, which uses what stands above its line there: what becomes of sums.
#pragma once

// Whether a bias is added as outputs are stored: f32x3 has done so before, but where outputs of some phases are bias
// alone.
constexpr bool kShifts = P::has_bias && !(P::split && kAllHaveTaps);

// A sum as memory holds it, after bias and fuse chain where the layer has them.
__device__ __forceinline__ float finish(float sum, float shift) {
  const float value = kShifts ? sum + shift : sum;
  return P::fuse_count > 0 ? activate(value) : value;
}

// The thread's i-th channel, whose first is `co`.
__device__ __forceinline__ int own_channel(int co, int i) {
  return co + i / P::channel_run * (4 * P::channel_run) + i % P::channel_run;
}
__host__ __device__ constexpr int channels_before(int i) {
  return i / P::channel_run * (4 * P::channel_run) + i % P::channel_run;
}

// The biases of a thread's channels, read before a tile's sums are done: behind the first stores they would wait.
using Shifts = float[kShifts ? kStoredColumns / 4 : 1];
__device__ __forceinline__ void load_shifts(Shifts& shifts, const Element* __restrict__ bias, int co) {
  if (kShifts) {
#pragma unroll
    for (int i = 0; i < kStoredColumns / 4; ++i) {
      const int channel = own_channel(co, i);
      shifts[i] = P::out_channels % P::columns == 0 || channel < P::out_channels ? widen(bias[channel]) : 0;
    }
  }
}

// The phase of an output in one of the phase rows.
__device__ inline int phase_at(int row, int output) {
  return row * P::stride_w + output % P::stride_w;
}

// Stores a thread's outputs: its run in all phases, for its channels, from position (m_y, m_x) and channel `co` on.
//
// Of f32x3 all places are found from the first one, at constant distances where sizes are known: 1 to 4 % faster there,
// not tried with others.
__device__ __forceinline__ void store_tile(const Sums (&sums)[kSums][kTiles], Element* __restrict__ y,
                                           const Shifts& shifts, int co, int m_y, int m_x, int phase_row,
                                           const int out_h, const int out_w) {
  Element* corner =
      y + (static_cast<long long>(co) * out_h + m_y * P::stride_h + phase_row) * out_w + m_x * P::stride_w;
#pragma unroll
  for (int row = 0; row < P::phase_rows; ++row) {
    const int oy = m_y * P::stride_h + phase_row + row;
    if (oy < out_h) {
      if (P::channels_last) {
#pragma unroll
        for (int first = 0; first < kStoredColumns / 4; first += P::store) {
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
                    values[i] = finish(kAllHaveTaps || has_taps(phase)
                                           ? sums[phase / kMerged][position / 2]
                                                 [phase % kMerged * (P::columns / 2) + (first + i) / 2 * 4 +
                                                  position % 2 * 2 + (first + i) % 2]
                                           : 0,
                                       kShifts ? shifts[first + i] : 0);
                  }
                  store_together(y + (static_cast<long long>(oy) * out_w + ox) * kOutChannels + channel, values);
                }
              }
            }
          }
        }
      } else {
#pragma unroll
        for (int i = 0; i < kStoredColumns / 4; ++i) {
          const int channel = own_channel(co, i);
          if (P::out_channels % P::columns == 0 || channel < P::out_channels) {
            Element* to = P::split ? corner + (static_cast<long long>(channels_before(i)) * out_h + row) * out_w
                                   : y + (static_cast<long long>(channel) * out_h + oy) * out_w;
#pragma unroll
            for (int first = 0; first < P::run * P::stride_w; first += P::store) {
              const int ox = m_x * P::stride_w + first;
              if (ox < out_w) {
                float values[P::store];
#pragma unroll
                for (int v = 0; v < P::store; ++v) {
                  values[v] = finish(kAllHaveTaps || has_taps(phase_at(row, first + v))
                                         ? sums[phase_at(row, first + v) / kMerged][(first + v) / P::stride_w / 2]
                                               [phase_at(row, first + v) % kMerged * (P::columns / 2) + i / 2 * 4 +
                                                (first + v) / P::stride_w % 2 * 2 + i % 2]
                                         : 0,
                                     kShifts ? shifts[i] : 0);
                }
                store_together(to + (P::split ? first : ox), values);
              }
            }
          }
        }
      }
    }
  }
}

// Puts a thread's outputs of one row, of a phase row and of two channels from its i-th on, to the exchange.
//
// `to` is its first output of the first.
__device__ __forceinline__ void put_outputs(const Sums (&sums)[kSums][kTiles], Element* to, const Shifts& shifts,
                                            int row, int i) {
  constexpr int kRunOutputs = P::run * P::stride_w;
#pragma unroll
  for (int channel = 0; channel < 2; ++channel) {
    float values[kRunOutputs];
#pragma unroll
    for (int v = 0; v < kRunOutputs; ++v) {
      const int position = v / P::stride_w;
      const int phase = row * P::stride_w + v % P::stride_w;
      values[v] = finish(kAllHaveTaps || has_taps(phase)
                             ? sums[phase / kMerged][position / 2]
                                   [phase % kMerged * (P::columns / 2) + i / 2 * 4 + position % 2 * 2 + channel]
                             : 0,
                         kShifts ? shifts[i + channel] : 0);
    }
    Element* place = to + channel * kOutPitch;
#pragma unroll
    for (int v = 0; v < kRunOutputs; v += 2) {
      if (kBytes == 4) {
        *reinterpret_cast<float2*>(place + v) = make_float2(values[v], values[v + 1]);
      } else {
        *reinterpret_cast<unsigned int*>(place + v) = pair(values[v], values[v + 1]);
      }
    }
  }
}

// Stores a warp's outputs through the exchange, eight channels at a time: adjacent lanes store adjacent pieces.
//
// A warp's positions are adjacent in one row. (m_y, m_x) is its first, `co` the block's first channel.
__device__ __forceinline__ void store_exchanged(const Sums (&sums)[kSums][kTiles], Element* exchange,
                                                Element* __restrict__ y, const Shifts& shifts, int co, int m_y, int m_x,
                                                int phase_row, int lane, const int out_h, const int out_w) {
  constexpr int kPieces = kWarpOutputs / P::store;            // of a channel
  constexpr int kChannels = kPieces < 32 ? 32 / kPieces : 1;  // that the lanes store at a time
  const int own = lane / kPieces;                             // a lane's among them
  const int place = lane % kPieces * P::store;                // of its first piece
  const int ox = m_x * P::stride_w + place;
#pragma unroll
  for (int row = 0; row < P::phase_rows; ++row) {
    const int oy = m_y * P::stride_h + phase_row + row;
    if (oy < out_h) {
#pragma unroll
      for (int first = 0; first < P::columns; first += 8) {
        __syncwarp();  // the outputs before are taken
        put_outputs(sums, exchange + lane % 4 * 2 * kOutPitch + lane / 4 * (P::run * P::stride_w), shifts, row,
                    first / 4);
        __syncwarp();
#pragma unroll
        for (int channel = 0; channel < 8; channel += kChannels) {
#pragma unroll
          for (int further = 0; further < kWarpOutputs; further += 32 * P::store) {
            if ((kChannels * kPieces >= 32 || own < kChannels) &&
                (P::out_channels % P::columns == 0 || co + first + channel + own < P::out_channels) &&
                (kWarpOutputs % (32 * P::store) == 0 || kChannels > 1 || place + further < kWarpOutputs) &&
                ox + further < out_w) {
              store_piece(y + (static_cast<long long>(co + first + channel + own) * out_h + oy) * out_w + ox + further,
                          exchange + (channel + own) * kOutPitch + place + further);
            }
          }
        }
      }
    }
  }
}
