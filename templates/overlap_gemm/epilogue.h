// Part of the template `overlap_gemm`: the products go to shared memory, where each output adds up those of its taps.
#pragma once

#include "device/epilogue.h"
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

// Writes a thread's products of a pixel, `half` of its two, as vectors of four channels of a tap.
__device__ __forceinline__ void put_turned(float* to, const float (&acc)[kInstructionN / 2], int half) {
  constexpr int kGroups = kTaps / 8;  // of a channel
#pragma unroll
  for (int tap = 0; tap < kGroups * 2; ++tap) {
#pragma unroll
    for (int channel = 0; channel < P::block_c; channel += 4) {
      const int first = (channel * kGroups + tap / 2) * 4 + half * 2 + tap % 2;
      *reinterpret_cast<float4*>(to + (tap / 2 * 8 + tap % 2) * kTapPitch + channel) =
          make_float4(acc[first], acc[first + kGroups * 4], acc[first + kGroups * 8], acc[first + kGroups * 12]);
    }
  }
}

// Writes a thread's products.
__device__ __forceinline__ void put_products(float* products, const float (&acc)[kMTiles][kInstructionN / 2],
                                             int warpgroup, int thread) {
  const int row = warpgroup * 64 + thread / 32 % 4 * 16 + thread % 32 / 4;
  float* to = products + (kTurns     ? row * kPixelPitch + thread % 4 * (2 * kTapPitch)
                          : kOfPixel ? row * kPixelPitch + thread % 4 * 2
                                     : thread % 4 * (2 * kColumnPitch) + row);
#pragma unroll
  for (int tile = 0; tile < kMTiles; ++tile) {
    if (kTurns) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        put_turned(to + (tile * (64 * P::warpgroups) + half * 8) * kPixelPitch, acc[tile], half);
      }
    }
#pragma unroll
    for (int i = 0; i < (kTurns ? 0 : kInstructionN / 2); i += 2) {
      const int pixel = tile * (64 * P::warpgroups) + i / 2 % 2 * 8;
      if (kOfPixel) {
        const int column =
            i / 4 * 8 + i / 4 / kTaps * kGroupPad;  // groups of eight channels are whole eights of columns
        *reinterpret_cast<float2*>(to + pixel * kPixelPitch + column) = make_float2(acc[tile][i], acc[tile][i + 1]);
      } else {
        to[i / 4 * (8 * kColumnPitch) + pixel] = acc[tile][i];
        to[(i / 4 * 8 + 1) * kColumnPitch + pixel] = acc[tile][i + 1];
      }
    }
  }
}

// The column of a tap of a channel of the tile, and from a channel's to the next one's.
__device__ inline unsigned int column_of(unsigned int channel, unsigned int tap) {
  return kOfTap ? tap * kTapPitch + channel : channel * kTaps + tap + channel / 8 * kGroupPad;
}
constexpr int kChannelStep = (kOfTap ? 1 : kTaps) * (kOfPixel ? 1 : kColumnPitch);

// Where a pixel's product of a column lies.
__device__ inline unsigned int place_of(unsigned int pixel, unsigned int column) {
  return kOfPixel ? pixel * kPixelPitch + column : column * kColumnPitch + pixel;
}

// The places of an output's taps along an axis: their numbers are stride * t + phase.
struct Place {
  unsigned int at;  // the tile's input for t = 0; before it for others
  unsigned int phase;
};

// Of an output of the tile.
__device__ inline Place row_place(unsigned int row) {
  const unsigned int padded = row + (kWholeH ? P::padding_h : (kReachH - 1) * P::stride_h);
  return {padded / P::stride_h, padded % P::stride_h};
}
__device__ inline Place column_place(unsigned int column) {
  const unsigned int padded = column + (kWholeW ? P::padding_w : (kReachW - 1) * P::stride_w);
  return {padded / P::stride_w, padded % P::stride_w};
}

// Whether there is an input and a weight for a tap. A tile with a halo has all inputs.
__device__ inline bool has_row(const Place& place, const unsigned int tap) {
  return (P::kernel_h % P::stride_h == 0 || tap * P::stride_h + place.phase < P::kernel_h) &&
         (!kWholeH || place.at - tap < P::tile_h);
}
__device__ inline bool has_column(const Place& place, const unsigned int tap) {
  return (P::kernel_w % P::stride_w == 0 || tap * P::stride_w + place.phase < P::kernel_w) &&
         (!kWholeW || place.at - tap < P::tile_w);
}

// A vector of a row of outputs has adjacent channels of a pixel, or where pixels are no whole vectors adjacent elements
// of the row; a thread makes one at a time.
constexpr int kTogether = kOfPixel ? P::store : 1;

// Adds up the products of adjacent channels' taps{with channel: , `channel` and those after it,} in the order of the
// taps. What a tap lacks is read from the first product, and not added: so all loads are issued before the first is in.
__device__ __forceinline__ void add_taps(float (&sums)[kTogether], const float* products, unsigned int image,
                                         const Place& row, const Place& column, unsigned int channel) {
#pragma unroll
  for (int i = 0; i < kTogether; ++i) {
    sums[i] = 0;
  }
#pragma unroll
  for (unsigned int tap_h = 0; tap_h < kReachH; ++tap_h) {
#pragma unroll
    for (unsigned int tap_w = 0; tap_w < kReachW; ++tap_w) {
      const bool exists = has_row(row, tap_h) && has_column(column, tap_w);
      const unsigned int pixel = (image * P::tile_h + (row.at - tap_h)) * P::tile_w + (column.at - tap_w);
      const unsigned int tap = (tap_h * P::stride_h + row.phase) * P::kernel_w + tap_w * P::stride_w + column.phase;
      const float* from = products + (exists ? place_of(pixel, column_of(channel, tap)) : 0);
      if (kReadsVectors) {
#pragma unroll
        for (int i = 0; i < kTogether; i += 4) {
          const float4 v = *reinterpret_cast<const float4*>(from + i);
          sums[i] += exists ? v.x : 0;
          sums[i + 1] += exists ? v.y : 0;
          sums[i + 2] += exists ? v.z : 0;
          sums[i + 3] += exists ? v.w : 0;
        }
      } else {
#pragma unroll
        for (int i = 0; i < kTogether; ++i) {
          const float v = from[i * kChannelStep];
          sums[i] += exists ? v : 0;
        }
      }
    }
  }
}

// Whether an output that the tile counts exists. The first tile may begin before the first output.
__device__ inline bool has_output_row(int row, const int out_h) {
  return kWholeH || (row < out_h && (P::padding_h % P::stride_h == 0 || row >= 0));
}
__device__ inline bool has_output_column(int column, const int out_w) {
  return kWholeW || (column < out_w && (P::padding_w % P::stride_w == 0 || column >= 0));
}

// Stores the tile's outputs: a thread some channels of one pixel after the other.
__device__ __forceinline__ void store_pixels(Element* __restrict__ y, const float* products,
                                             const Element* __restrict__ bias, const Tile& tile, int batch,
                                             const int out_h, const int out_w) {
  constexpr unsigned int kVectors = P::block_c / kTogether;  // of a pixel
  constexpr unsigned int kStep = kThreads / kVectors;
  constexpr unsigned int kImageOutputs = kOutRows * kOutColumns;
  const unsigned int thread = threadIdx.x;
  const unsigned int channel = thread % kVectors * kTogether;
  const int out_channel = tile.channel + static_cast<int>(channel);
  if ((kThreads % kVectors == 0 || thread < kStep * kVectors) &&
      (P::out_channels % P::block_c == 0 || out_channel < P::out_channels)) {
    float biases[P::has_bias ? kTogether : 1];
    if (P::has_bias) {
#pragma unroll
      for (int v = 0; v < kTogether; ++v) {
        biases[v] = widen(bias[out_channel + v]);
      }
    }
#pragma unroll 2
    for (unsigned int i = thread / kVectors; i < P::tile_n * kImageOutputs; i += kStep) {
      const unsigned int image = i / kImageOutputs;
      const unsigned int row = i / kOutColumns % kOutRows;
      const unsigned int column = i % kOutColumns;
      const int out_image = tile.image + static_cast<int>(image);
      const int out_row = tile.out_row + static_cast<int>(row);
      const int out_column = tile.out_column + static_cast<int>(column);
      if ((kWholeImages || out_image < batch) && has_output_row(out_row, out_h) &&
          has_output_column(out_column, out_w)) {
        float values[kTogether];
        add_taps(values, products, image, row_place(row), column_place(column), channel);
        if (P::has_bias || P::fuse_count > 0) {
#pragma unroll
          for (int v = 0; v < kTogether; ++v) {
            values[v] = epilogue(values[v], P::has_bias ? biases[v] : 0);
          }
        }
        store_together(
            y + ((static_cast<long long>(out_image) * out_h + out_row) * out_w + out_column) * P::y_channels +
                out_channel,
            values);
      }
    }
  }
}

// The same where a vector has elements of several pixels; a tile has all channels.
__device__ __forceinline__ void store_rows(Element* __restrict__ y, const float* products,
                                           const Element* __restrict__ bias, const Tile& tile, int batch,
                                           const int out_h, const int out_w) {
  constexpr unsigned int kRowVectors = kOutColumns * P::block_c / P::store;
  for (unsigned int i = threadIdx.x; i < P::tile_n * kOutRows * kRowVectors; i += kThreads) {
    const unsigned int image = i / (kOutRows * kRowVectors);
    const unsigned int row = i / kRowVectors % kOutRows;
    const unsigned int first = i % kRowVectors * P::store;  // element of the tile's row
    const int out_image = tile.image + static_cast<int>(image);
    const int out_row = tile.out_row + static_cast<int>(row);
    const int out_column = tile.out_column + static_cast<int>(first / P::block_c);
    if ((kWholeImages || out_image < batch) && has_output_row(out_row, out_h) && has_output_column(out_column, out_w)) {
      const Place row_at = row_place(row);
      float values[P::store];
#pragma unroll
      for (unsigned int v = 0; v < P::store; ++v) {
        const unsigned int channel = (first + v) % P::block_c;
        float sum[kTogether];
        add_taps(sum, products, image, row_at, column_place((first + v) / P::block_c), channel);
        values[v] = epilogue(sum[0], P::has_bias ? widen(bias[channel]) : 0);
      }
      store_together(
          y + ((static_cast<long long>(out_image) * out_h + out_row) * out_w + tile.out_column) * P::out_channels +
              static_cast<int>(first),
          values);
    }
  }
}

// NCHW: stores the tile's outputs, of each channel a run of whole rows: a thread a vector of each channel.
__device__ __forceinline__ void store_planes(Element* __restrict__ y, const float* products,
                                             const Element* __restrict__ bias, const Tile& tile, int batch,
                                             const int out_h, const int out_w) {
  constexpr unsigned int kVectors = kOutRows * kOutColumns / P::store;  // of a channel
  for (unsigned int i = threadIdx.x; i < P::tile_n * kVectors; i += kThreads) {
    const unsigned int image = i / kVectors;
    const unsigned int first = i % kVectors * P::store;  // element of the run
    const int out_image = tile.image + static_cast<int>(image);
    if ((kWholeImages || out_image < batch) &&
        has_output_row(tile.out_row + static_cast<int>(first / kOutColumns), out_h)) {
      // Where the first channel's products lie, which other channels' follow at one distance. What a tap lacks is read
      // from the first product, and not added.
      unsigned int places[P::store][kReachH * kReachW];
      bool exists[P::store][kReachH * kReachW];
#pragma unroll
      for (unsigned int v = 0; v < P::store; ++v) {
        const Place row = row_place((first + v) / kOutColumns);
        const Place column = column_place((first + v) % kOutColumns);
#pragma unroll
        for (unsigned int t = 0; t < kReachH * kReachW; ++t) {
          const unsigned int tap_h = t / kReachW;
          const unsigned int tap_w = t % kReachW;
          const unsigned int pixel = (image * P::tile_h + (row.at - tap_h)) * P::tile_w + (column.at - tap_w);
          const unsigned int tap = (tap_h * P::stride_h + row.phase) * P::kernel_w + tap_w * P::stride_w + column.phase;
          exists[v][t] = has_row(row, tap_h) && has_column(column, tap_w);
          places[v][t] = exists[v][t] ? place_of(pixel, column_of(0, tap)) : 0;
        }
      }
      const int plane = out_h * out_w;
      Element* to = y + ((static_cast<long long>(out_image) * P::y_channels + tile.channel) * plane +
                         (tile.out_row * out_w + static_cast<int>(first)));
#pragma unroll 2
      for (int channel = 0; channel < P::block_c; ++channel) {
        if (P::out_channels % P::block_c == 0 || tile.channel + channel < P::out_channels) {
          const float* of_channel = products + channel * kChannelStep;
          const float bias_value = P::has_bias ? widen(bias[tile.channel + channel]) : 0;
          float values[P::store];
#pragma unroll
          for (unsigned int v = 0; v < P::store; ++v) {
            float sum = 0;
#pragma unroll
            for (unsigned int t = 0; t < kReachH * kReachW; ++t) {
              const float product = of_channel[places[v][t]];
              sum += exists[v][t] ? product : 0;
            }
            values[v] = epilogue(sum, bias_value);
          }
          store_together(to, values);
        }
        to += plane;
      }
    }
  }
}
