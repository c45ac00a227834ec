// The staged epilogue: outputs go through shared memory, so that adjacent lanes store adjacent vectors.
#pragma once

#include "device/element.h"
#include "forward_gemm/epilogue.h"
#include "layout.h"

// Puts a thread's outputs of one row, of a phase row and of two channels from its i-th on, into shared memory.
//
// `to` is its first output of the first channel.
__device__ __forceinline__ void stage_outputs(const Accumulators& acc, Element* to, const BiasRegisters& bias, int row,
                                              int i) {
  constexpr int kThreadOutputs = P::thread_positions * P::stride_w;
#pragma unroll
  for (int channel = 0; channel < 2; ++channel) {
    float values[kThreadOutputs];
#pragma unroll
    for (int v = 0; v < kThreadOutputs; ++v) {
      const int position = v / P::stride_w;
      const int phase = row * P::stride_w + v % P::stride_w;
      values[v] = epilogue(kAllHaveTaps || has_taps(phase)
                               ? acc[phase / kFusedPhases][position / 2]
                                    [phase % kFusedPhases * (P::block_n / 2) + i / 2 * 4 + position % 2 * 2 + channel]
                               : 0,
                           kAddsBias ? bias[i + channel] : 0);
    }
    Element* place = to + channel * kOutPitch;
#pragma unroll
    for (int v = 0; v < kThreadOutputs; v += 2) {
      if (kBytes == 4) {
        *reinterpret_cast<float2*>(place + v) = make_float2(values[v], values[v + 1]);
      } else {
        *reinterpret_cast<unsigned int*>(place + v) = pair(values[v], values[v + 1]);
      }
    }
  }
}

// Stores a warp's outputs through `staged`, eight channels at a time.
//
// A warp's positions are adjacent in one row. (m_y, m_x) is its first, `co` the block's first channel.
__device__ __forceinline__ void store_staged(const Accumulators& acc, Element* staged, Element* __restrict__ y,
                                             const BiasRegisters& bias, int co, int m_y, int m_x, int phase_row,
                                             int lane, const int out_h, const int out_w) {
  constexpr int kVectors = kWarpOutputs / P::store;             // of a channel
  constexpr int kChannels = kVectors < 32 ? 32 / kVectors : 1;  // that the lanes store at a time
  const int own = lane / kVectors;                              // a lane's channel among them
  const int place = lane % kVectors * P::store;                 // of its first vector
  const int ox = m_x * P::stride_w + place;
#pragma unroll
  for (int row = 0; row < P::phase_rows; ++row) {
    const int oy = m_y * P::stride_h + phase_row + row;
    if (oy < out_h) {
#pragma unroll
      for (int first = 0; first < P::block_n; first += 8) {
        __syncwarp();  // the outputs before are read
        stage_outputs(acc, staged + lane % 4 * 2 * kOutPitch + lane / 4 * (P::thread_positions * P::stride_w), bias,
                      row, first / 4);
        __syncwarp();
#pragma unroll
        for (int channel = 0; channel < 8; channel += kChannels) {
#pragma unroll
          for (int further = 0; further < kWarpOutputs; further += 32 * P::store) {
            if ((kChannels * kVectors >= 32 || own < kChannels) &&
                (P::out_channels % P::block_n == 0 || co + first + channel + own < P::out_channels) &&
                (kWarpOutputs % (32 * P::store) == 0 || kChannels > 1 || place + further < kWarpOutputs) &&
                ox + further < out_w) {
              store_staged_vector(
                  y + (static_cast<long long>(co + first + channel + own) * out_h + oy) * out_w + ox + further,
                  staged + (channel + own) * kOutPitch + place + further);
            }
          }
        }
      }
    }
  }
}
