// Part of the template `roll_gemm`: the epilogue.
#pragma once

#include "device/bias_registers.h"

// Stores a thread's outputs of the complete row. `to` is its first position of its first channel{with co: , `co`};
// `left` counts the positions from there to the row's end.
__device__ __forceinline__ void store_row(const Accumulators (&acc)[kMTiles], Element* __restrict__ to,
                                          const Element* __restrict__ bias, int co, int left, const int out_h,
                                          const int out_w) {
  BiasRegisters biases;
  load_bias(biases, bias, co);
#pragma unroll
  for (int i = 0; i < kThreadChannels; ++i) {
    const int channel = i / 2 * 8 + i % 2;
    if (P::out_channels % P::block_n == 0 || co + channel < P::out_channels) {
      Element* row = to + channel * static_cast<long long>(out_h) * out_w;
#pragma unroll
      for (int first = 0; first < P::thread_positions; first += P::store) {
        if (first < left) {
          float values[P::store];
#pragma unroll
          for (int v = 0; v < P::store; ++v) {
            const int position = first + v;
            values[v] = epilogue(acc[position / 2][i / 2 * 4 + position % 2 * 2 + i % 2], P::has_bias ? biases[i] : 0);
          }
          store_together(row + first, values);
        }
      }
    }
  }
}

// The same with channels last: at each position the thread's channels, a vector of adjacent ones at a time.
__device__ __forceinline__ void store_pixels(const Accumulators (&acc)[kMTiles], Element* __restrict__ to,
                                             const Element* __restrict__ bias, int co, int left) {
  BiasRegisters biases;
  load_bias(biases, bias, co);
#pragma unroll
  for (int first = 0; first < kThreadChannels; first += P::store) {
    const int channel = first * 4;
    if (P::out_channels % P::block_n == 0 || co + channel < P::out_channels) {
#pragma unroll
      for (int position = 0; position < P::thread_positions; ++position) {
        if (position < left) {
          float values[P::store];
#pragma unroll
          for (int v = 0; v < P::store; ++v) {
            const int i = first + v;
            values[v] = epilogue(acc[position / 2][i / 2 * 4 + position % 2 * 2 + i % 2], P::has_bias ? biases[i] : 0);
          }
          store_together(to + position * P::y_channels + channel, values);
        }
      }
    }
  }
}

// Staged epilogue: writes a thread's outputs of the complete row to shared memory. `to` is its first position of its
// first channel{with co: , `co`}.
__device__ __forceinline__ void put_row(const Accumulators (&acc)[kMTiles], Element* to,
                                        const Element* __restrict__ bias, int co) {
  BiasRegisters biases;
  load_bias(biases, bias, co);
#pragma unroll
  for (int i = 0; i < kThreadChannels; ++i) {
    float values[P::thread_positions];
#pragma unroll
    for (int position = 0; position < P::thread_positions; ++position) {
      values[position] = epilogue(acc[position / 2][i / 2 * 4 + position % 2 * 2 + i % 2], P::has_bias ? biases[i] : 0);
    }
    Element* row = to + (i / 2 * 8 + i % 2) * kOutPitch;
    if (P::type == kWgmmaTf32 && P::thread_positions == 4) {
      *reinterpret_cast<float4*>(row) = make_float4(values[0], values[1], values[2], values[3]);
    } else if (P::type == kWgmmaTf32) {
      *reinterpret_cast<float2*>(row) = make_float2(values[0], values[1]);
    } else if (P::thread_positions == 4) {
      *reinterpret_cast<uint2*>(row) = make_uint2(pair(values[0], values[1]), pair(values[2], values[3]));
    } else {
      *reinterpret_cast<unsigned int*>(row) = pair(values[0], values[1]);
    }
  }
}

// Staged epilogue: stores a thread's vector of the row, in every channel that is its own. Adjacent threads have
// adjacent vectors. `from` and `to` are the vector in the first of these channels; `left` counts the channels from
// there on.
__device__ __forceinline__ void take_row(const Element* from, Element* __restrict__ to, int left, const int out_h,
                                         const int out_w) {
  constexpr int kStep = 128 / kRowStores;
#pragma unroll
  for (int channel = 0; channel < P::block_n; channel += kStep) {
    if (channel < left) {
      store_staged_vector(to + channel * static_cast<long long>(out_h) * out_w, from + channel * kOutPitch);
    }
  }
}
