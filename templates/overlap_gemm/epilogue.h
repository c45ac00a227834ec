// Part of the template `overlap_gemm`: the products go to shared memory, where each output adds up those of its taps.
#pragma once

#include "device/activation.h"
#include "layout.h"

// A tile: its first image, output channel, output row and column; and its first row and column of the input.
struct Tile {
  int image;
  int channel;
  int out_row;
  int out_column;
  int row;
  int column;
};

// Writes a thread's products.
__device__ __forceinline__ void put_products(float* products, const float (&acc)[P::thread_tiles][kInstructionN / 2],
                                             int warpgroup, int thread) {
  float* to = products + (warpgroup * 64 + thread / 32 % 4 * 16 + thread % 32 / 4) * kPitch + thread % 4 * 2;
#pragma unroll
  for (int tile = 0; tile < P::thread_tiles; ++tile) {
#pragma unroll
    for (int i = 0; i < kInstructionN / 2; i += 2) {
      const int column = i / 4 * 8 + i / 4 / kTaps * kGroupPad;  // groups of eight channels are whole eights of columns
      *reinterpret_cast<float2*>(to + (tile * (64 * P::warpgroups) + i / 2 % 2 * 8) * kPitch + column) =
          make_float2(acc[tile][i], acc[tile][i + 1]);
    }
  }
}

// The column of a tap of a channel of the tile, and from a channel's to the next one's.
__device__ inline int column_of(int channel, int tap) {
  return P::weight_channels_last ? tap * P::block_c + channel : channel * kTaps + tap + channel / 8 * kGroupPad;
}
constexpr int kChannelStep = P::weight_channels_last ? 1 : kTaps;

// The places of an output's taps along an axis: tap stride * t + phase and the tile's input `at` - t.
struct Place {
  int at;
  int phase;
};

// Of an output of the tile.
__device__ inline Place row_place(int row) {
  const int padded = row + (kWholeH ? P::padding_h : (kReachH - 1) * P::stride_h);
  return {padded / P::stride_h, padded % P::stride_h};
}
__device__ inline Place column_place(int column) {
  const int padded = column + (kWholeW ? P::padding_w : (kReachW - 1) * P::stride_w);
  return {padded / P::stride_w, padded % P::stride_w};
}

// Whether there is an input and a weight for a tap. A tile with a halo has all inputs.
__device__ inline bool has_row(const Place& place, int tap) {
  return (P::kernel_h % P::stride_h == 0 || tap * P::stride_h + place.phase < P::kernel_h) &&
         (!kWholeH || (place.at >= tap && place.at - tap < P::tile_h));
}
__device__ inline bool has_column(const Place& place, int tap) {
  return (P::kernel_w % P::stride_w == 0 || tap * P::stride_w + place.phase < P::kernel_w) &&
         (!kWholeW || (place.at >= tap && place.at - tap < P::tile_w));
}

// A vector of a row of outputs has adjacent channels of a pixel, or where pixels are no whole vectors adjacent elements
// of the row.
constexpr bool kOfPixel = P::block_c % P::store == 0;
constexpr int kRowVectors = ceil_div(kOutColumns * P::block_c, P::store);
constexpr int kTogether = kOfPixel ? P::store : 1;  // channels that a thread adds up at a time

// Adds up the products of adjacent channels' taps, `channel` and those behind it, in the order of the taps.
__device__ __forceinline__ void add_taps(float (&sums)[kTogether], const float* products, int image, const Place& row,
                                         const Place& column, int channel) {
#pragma unroll
  for (int i = 0; i < kTogether; ++i) {
    sums[i] = 0;
  }
#pragma unroll
  for (int tap_h = 0; tap_h < kReachH; ++tap_h) {
#pragma unroll
    for (int tap_w = 0; tap_w < kReachW; ++tap_w) {
      if (has_row(row, tap_h) && has_column(column, tap_w)) {
        const int pixel = (image * P::tile_h + (row.at - tap_h)) * P::tile_w + (column.at - tap_w);
        const int tap = (tap_h * P::stride_h + row.phase) * P::kernel_w + tap_w * P::stride_w + column.phase;
        const float* from = products + pixel * kPitch + column_of(channel, tap);
        if (kReadsVectors) {
#pragma unroll
          for (int i = 0; i < kTogether; i += 4) {
            const float4 v = *reinterpret_cast<const float4*>(from + i);
            sums[i] += v.x;
            sums[i + 1] += v.y;
            sums[i + 2] += v.z;
            sums[i + 3] += v.w;
          }
        } else {
#pragma unroll
          for (int i = 0; i < kTogether; ++i) {
            sums[i] += from[i * kChannelStep];
          }
        }
      }
    }
  }
}

// Adds the bias and applies the fuse chain, where the layer has them.
__device__ __forceinline__ float epilogue(float sum, const Element* __restrict__ bias, int channel) {
  const float value = P::has_bias ? sum + widen(bias[channel]) : sum;
  return P::fuse_count > 0 ? activate(value) : value;
}

// Whether an output that the tile counts exists. The first tile may begin before the first output.
__device__ inline bool has_output_row(int row, const int out_h) {
  return kWholeH || (row < out_h && (P::padding_h % P::stride_h == 0 || row >= 0));
}
__device__ inline bool has_output_column(int column, const int out_w) {
  return kWholeW || (column < out_w && (P::padding_w % P::stride_w == 0 || column >= 0));
}

// Stores the tile's outputs, a thread a vector at a time.
__device__ __forceinline__ void store_outputs(Element* __restrict__ y, const float* products,
                                              const Element* __restrict__ bias, const Tile& tile, int batch,
                                              const int out_h, const int out_w) {
  for (int i = threadIdx.x; i < P::tile_n * kOutRows * kRowVectors; i += kThreads) {
    const int image = i / (kOutRows * kRowVectors);
    const int row = i / kRowVectors % kOutRows;
    const int first = i % kRowVectors * P::store;  // element of the tile's row
    const int out_row = tile.out_row + row;
    const int out_column = tile.out_column + first / P::block_c;
    if ((kWholeImages || tile.image + image < batch) && has_output_row(out_row, out_h) &&
        has_output_column(out_column, out_w) &&
        (P::out_channels % P::block_c == 0 || tile.channel + first % P::block_c < P::out_channels)) {
      const Place row_at = row_place(row);
      float values[P::store];
      if constexpr (kOfPixel) {
        const int channel = first % P::block_c;
        add_taps(values, products, image, row_at, column_place(first / P::block_c), channel);
#pragma unroll
        for (int v = 0; v < P::store; ++v) {
          values[v] = epilogue(values[v], bias, tile.channel + channel + v);
        }
      } else {
#pragma unroll
        for (int v = 0; v < P::store; ++v) {
          const int channel = (first + v) % P::block_c;
          float sum[kTogether];
          add_taps(sum, products, image, row_at, column_place((first + v) / P::block_c), channel);
          values[v] = epilogue(sum[0], bias, channel);
        }
      }
      store_together(
          y + ((static_cast<long long>(tile.image + image) * out_h + out_row) * out_w + out_column) * P::out_channels +
              (tile.channel + first % P::block_c),
          values);
    }
  }
}
