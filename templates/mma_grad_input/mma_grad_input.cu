// Gradient of the input on tensor cores (mma.sync), for layers whose groups have few output channels.
//
// The gradient at (iy, ix) adds up, over output channels and taps (kh, kw), grad_y at iy * stride - padding +
// kh * dilation (and as much along the row) times the tap's weight. M is positions of grad_x, N input channels, K all
// that a position reads of grad_y: taps and output channels together, so that few channels fill a product.
//
// A block stages the window of grad_y that a tile of positions reaches, as it lies in memory. A fragments are read from
// it word by word: a table has where the words of K lie from a position's first element. Weights lie in shared memory
// as B fragments for as long as a block goes on to other tiles; the next tile's window comes meanwhile.
//
// fp32 values may be split (f32x3), for results as accurate as fp32: a value is a high and a low part of tf32, and the
// product of two low parts is left out.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/async_copy.h"
#include "device/call_sizes.h"
#include "device/element.h"
#include "device/memory.h"
#include "device/mma.h"
#include "device/parts.h"
#include "device/template.h"
#include "device/tiles.h"
#include "layout.h"

using WeightIndex = int;  // of one input channel

#include "device/weight_order.h"

// ---- Staging ----

// Copies a tile's window to shared memory: zeros where the image ends. `y` is the image's first element of the group;
// row and column are the first of the window.
__device__ __forceinline__ void stage_window(Element* __restrict__ window, const Element* __restrict__ y, int first_row,
                                             int first_column, const CallSizes& sizes) {
#pragma unroll 4
  for (int i = threadIdx.x; i < kWindowRows * kRowUnits; i += kThreads) {
    const int row = i / kRowUnits;
    const int element = i % kRowUnits * kUnit;
    const int oy = first_row + (P::channels_last ? row : row % kRows);
    bool is_inside = oy >= 0 && oy < sizes.out_h;
    Offset at;
    if (kRowsAdjacent) {
      const Offset in_row = static_cast<Offset>(first_column) * kPixel + (element - kShift);
      const int plane = P::channels_last ? 0 : row / kRows;
      is_inside = is_inside && in_row >= 0 && in_row < static_cast<Offset>(sizes.out_w) * kPixel;
      at = (static_cast<Offset>(plane) * sizes.out_h + oy) * (sizes.out_w * kPixel) + in_row;
    } else {
      const int column = first_column + element / kPixel;
      is_inside = is_inside && column >= 0 && column < sizes.out_w;
      at = (static_cast<Offset>(oy) * sizes.out_w + column) * P::y_channels + element % kPixel;
    }
    const Element* from = y + (is_inside ? at : 0);
    Element* to = window + (row * kPitch + element);
    if (P::copy_bytes == 16) {
      async_copy_16(to, from, is_inside ? 16 : 0);
    } else if (P::copy_bytes == 8) {
      async_copy_8(to, from, is_inside ? 8 : 0);
    } else if (P::copy_bytes == 4) {
      async_copy_4(to, from, is_inside ? 4 : 0);
    } else {
      *to = is_inside ? *from : static_cast<Element>(0);
    }
  }
}

// Copies the window, shifted by an element, so that odd ones begin words.
__device__ __forceinline__ void shift_window(unsigned char* window) {
  unsigned char* shifted = window + kWindowBytes;
#pragma unroll 2
  for (int i = threadIdx.x; i < kWindowBytes / 16; i += kThreads) {
    const uint4 words = *reinterpret_cast<const uint4*>(window + 16 * i);
    const int next = i + 1 < kWindowBytes / 16 ? i + 1 : i;
    const unsigned int last = *reinterpret_cast<const unsigned int*>(window + 16 * next);
    *reinterpret_cast<uint4*>(shifted + 16 * i) =
        make_uint4(words.x >> 16 | words.y << 16, words.y >> 16 | words.z << 16, words.z >> 16 | words.w << 16,
                   words.w >> 16 | last << 16);
  }
}

// ---- Words of K ----

// A word's run, and its place among the words of the run.
__device__ inline int run_of(int word) {
  return kFullOfRun > 0 && word < kFullWords ? word / kFullOfRun : (word - kFullWords) % kRuns;
}
__device__ inline int place_in_run(int word) {
  return kFullOfRun > 0 && word < kFullWords ? kFront + word % kFullOfRun
         : word < kFullWords + kFrontWords   ? 0
                                             : kRunWords - 1;
}

// Finds of each word where it lies in the window and where its weights lie, from those of an input channel; -1 for an
// element that the layer does not have.
__device__ __forceinline__ void find_words(int* __restrict__ places, int* __restrict__ weight_places) {
#pragma unroll 1
  for (int word = threadIdx.x; word < kSteps * kStepWords; word += kThreads) {
    const bool has_taps = word < kWords;
    const int run = has_taps ? run_of(word) : 0;
    const int first = has_taps ? place_in_run(word) * kPack : 0;
    const int row = run / kRunsOfRow;
    const int kh = P::channels_last ? row : row % P::kernel_h;
    const int plane = P::channels_last ? 0 : row / P::kernel_h;
    const int kw = run % kRunsOfRow;
    const int element = (plane * kRows + kh * P::dilation_h) * kPitch + kw * (P::dilation_w * kPixel) + first;
    // A lane reads two words for a step: the words of its products' halves of K lie together.
    const int to = word / kStepWords * kStepWords + word % 4 * 2 + word / 4 % 2;
#pragma unroll
    for (int odd = 0; odd < kCopies; ++odd) {
      places[odd * (kSteps * kStepWords) + to] = (element + odd) / kPack + (element + odd) % kPack * kCopyWords;
    }
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      const int in_run = first - kFront + i;
      const int tap = kh * P::kernel_w + kw + (kIsDense ? in_run / kPixel : 0);
      const int out = P::channels_last ? in_run % kPixel : plane;
      weight_places[word * kPack + i] =
          has_taps && in_run >= 0 && in_run < kRun ? weight_offset(0, out, tap, kGroupOut, kTaps) : -1;
    }
  }
}

// ---- Weights ----

// The tile's channel of a product's column.
__device__ inline int channel_of(int tile, int column) {
  return (tile / kStoreTiles * 8 + column / 2 * 2) * kStoreTiles + tile % kStoreTiles * 2 + column % 2;
}

// Puts the tile's weights to shared memory as B fragments: by steps, products, lanes{if P::splits: , parts} and halves
// of K. `weight` is the first of the tile's first channel{with channels: , and the group has `channels` from there on}.
__device__ __forceinline__ void stage_weights(unsigned int* __restrict__ to, const Element* __restrict__ weight,
                                              const int* __restrict__ weight_places, const int channels) {
#pragma unroll 8
  for (int i = threadIdx.x; i < kSteps * kTileN * 64; i += kThreads) {
    const int lane = i / 2 % 32;
    const int word = i / (64 * kTileN) * kStepWords + i % 2 * 4 + lane % 4;
    const int channel = channel_of(i / 64 % kTileN, lane / 4);
    const Element* from = weight + static_cast<Offset>(channel) * (kGroupOut * kTaps);
    unsigned int value = 0;
    if (kWholeChannels || channel < channels) {
#pragma unroll
      for (int k = 0; k < kPack; ++k) {
        const int place = weight_places[word * kPack + k];
        if (place >= 0) {
          value |= (P::splits ? bits_of(from[place]) : operand(bits_of(from[place]))) << k * 16;
        }
      }
    }
    if constexpr (P::splits) {
      unsigned int* parts = to + (i / 2 * 4 + i % 2);
      parts[0] = nearest_part(value);
      parts[2] = rest_of(value, parts[0]);
    } else {
      to[i] = value;
    }
  }
}

// ---- Products ----

// One thread's accumulators.
using Accumulators = float[P::m_tiles][P::n_tiles][4];

__device__ __forceinline__ void multiply_add(float (&acc)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  if (P::type == kWgmmaTf32) {
    mma_k8_tf32(acc, a, b);
  } else if (P::type == kWgmmaF16) {
    mma_k16_f16(acc, a, b);
  } else {
    mma_k16_bf16(acc, a, b);
  }
}

// From a position to another one of its tile, that many after it, in elements of the window. Where `positions` is not
// constant, of the tile's first one.
__host__ __device__ constexpr int window_place(int positions) {
  return positions / P::tile_w * (P::stride_h * kPitch) + positions % P::tile_w * kPositionStep;
}

// The position of a lane's row of products: `half` is 0 or 1, of rows below and above 8.
__device__ inline int lane_position(int lane, int half) {
  return P::channels_last ? lane / 4 + 8 * half : lane / 4 * (2 * P::m_tiles) + half;
}
// From a lane's position to that of the product `tile`.
__host__ __device__ constexpr int tile_distance(int tile) {
  return P::channels_last ? 16 * tile : 2 * tile;
}

// The elements of a word that the layer has, as a mask.
__device__ inline unsigned int elements_of(int word) {
  return word >= kWords                    ? 0u
         : kPack == 1 || word < kFullWords ? 0xffffffffu
         : word < kFullWords + kFrontWords ? 0xffff0000u
                                           : 0xffffu;
}

// Where a lane reads.
struct LanePlaces {
  const unsigned int* window[2];  // of the words of its positions of either half
  const int* places[2];           // where words of K lie from there
  const uint2* weights;
};

// A step of K. Words that lack elements are masked: there may be an infinity in their place.
__device__ __forceinline__ void multiply_step(Accumulators& acc, const LanePlaces& from, int step, int lane,
                                              const bool is_full) {
  unsigned int a[P::m_tiles][4];
  unsigned int low[P::m_tiles][4];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int2 places = *reinterpret_cast<const int2*>(from.places[half] + step * kStepWords);
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const unsigned int* words = from.window[half] + (k == 0 ? places.x : places.y);
      const unsigned int mask = is_full ? 0xffffffffu : elements_of(step * kStepWords + k * 4 + lane % 4);
#pragma unroll
      for (int tile = 0; tile < P::m_tiles; ++tile) {
        const unsigned int word = words[window_place(tile_distance(tile)) / kPack];
        const unsigned int kept = is_full ? word : word & mask;
        if constexpr (P::splits) {
          a[tile][half + 2 * k] = nearest_part(kept);
          low[tile][half + 2 * k] = rest_of(kept, a[tile][half + 2 * k]);
        } else {
          a[tile][half + 2 * k] = operand(kept);
        }
      }
    }
  }
#pragma unroll
  for (int n = 0; n < P::n_tiles; ++n) {
    const uint2* weights = from.weights + (step * kTileN + n) * (32 * kWeightParts);
    if constexpr (P::splits) {
      const uint4 words = *reinterpret_cast<const uint4*>(weights);
      const unsigned int b[2] = {words.x, words.y};
      const unsigned int low_b[2] = {words.z, words.w};
#pragma unroll
      for (int tile = 0; tile < P::m_tiles; ++tile) {
        multiply_add(acc[tile][n], low[tile], b);
        multiply_add(acc[tile][n], a[tile], low_b);
        multiply_add(acc[tile][n], a[tile], b);
      }
    } else {
      const uint2 words = *weights;
      const unsigned int b[2] = {words.x, words.y};
#pragma unroll
      for (int tile = 0; tile < P::m_tiles; ++tile) {
        multiply_add(acc[tile][n], a[tile], b);
      }
    }
  }
}

// Adds the accumulators of values that are split to their totals.
__device__ __forceinline__ void add_to_totals(Accumulators& acc, Accumulators& totals) {
#pragma unroll
  for (int tile = 0; tile < P::m_tiles; ++tile) {
#pragma unroll
    for (int n = 0; n < P::n_tiles; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        totals[tile][n][i] += acc[tile][n][i];
        acc[tile][n][i] = 0;
      }
    }
  }
}

// ---- Epilogue ----

// Stores a lane's gradients with channels last. `grad_x` is the tile's first position and the first of the warp's
// channels{with channels: ; the group has `channels` from there on}.
__device__ __forceinline__ void store_pixels(const Accumulators& acc, Element* __restrict__ grad_x, int first,
                                             const int channels, int rows, int columns, int in_w, int lane) {
#pragma unroll
  for (int i = 0; i < 2 * P::m_tiles; ++i) {
    const int position = first + tile_distance(i / 2) + lane_position(lane, i % 2);
    const int row = position / P::tile_w;
    const int column = position % P::tile_w;
    if (row < rows && column < columns) {
      Element* to = grad_x + (static_cast<Offset>(row) * in_w + column) * P::x_channels;
#pragma unroll
      for (int tile = 0; tile < P::n_tiles; tile += kStoreTiles) {
        const int channel = channel_of(tile, lane % 4 * 2);
#pragma unroll
        for (int k = 0; k < 2 * kStoreTiles; k += P::store) {
          if (kWholeChannels || channel + k < channels) {
            float values[P::store];
#pragma unroll
            for (int v = 0; v < P::store; ++v) {
              values[v] = acc[i / 2][tile + (k + v) / 2][i % 2 * 2 + (k + v) % 2];
            }
            store_together(to + (channel + k), values);
          }
        }
      }
    }
  }
}

// The same with planes of channels.
__device__ __forceinline__ void store_rows(const Accumulators& acc, Element* __restrict__ grad_x, int first,
                                           const int channels, int rows, int columns, int in_w, Offset in_pixels,
                                           int lane) {
  const int position = first + lane_position(lane, 0);
  const int row = position / P::tile_w;
  const int column = position % P::tile_w;
  if (row < rows) {
    Element* to = grad_x + (static_cast<Offset>(row) * in_w + column);
#pragma unroll
    for (int i = 0; i < 2 * P::n_tiles; ++i) {
      const int channel = channel_of(i / 2, lane % 4 * 2 + i % 2);
      if (kWholeChannels || channel < channels) {
#pragma unroll
        for (int k = 0; k < 2 * P::m_tiles; k += P::store) {
          if (column + k < columns) {
            float values[P::store];
#pragma unroll
            for (int v = 0; v < P::store; ++v) {
              values[v] = acc[(k + v) / 2][i / 2][(k + v) % 2 * 2 + i % 2];
            }
            store_together(to + (channel * in_pixels + k), values);
          }
        }
      }
    }
  }
}

// ---- Kernel ----

// A tile: its image, and its first position.
struct Tile {
  int image;
  int row;
  int column;
};
__device__ __forceinline__ Tile tile_at(int index, const CallSizes& sizes) {
  return {image_of_tile(index, sizes), row_of_tile(index, sizes) * P::tile_h, column_of_tile(index, sizes) * P::tile_w};
}

// Issues the copies of a tile's window, of the block's group.
__device__ __forceinline__ void stage_tile(Element* __restrict__ window, const Element* __restrict__ grad_y, int group,
                                           const Tile& tile, const CallSizes& sizes) {
  const int channel = group * kGroupOut;
  const long long plane = static_cast<long long>(tile.image) * P::y_channels + (P::channels_last ? 0 : channel);
  stage_window(window, grad_y + (plane * sizes.out_h * sizes.out_w + (P::channels_last ? channel : 0)),
               tile.row * P::stride_h - P::padding_h, tile.column * P::stride_w - P::padding_w, sizes);
}

extern "C" __global__ void __launch_bounds__(kThreads, P::blocks_per_sm)
    mma_grad_input(const Element* __restrict__ grad_y, const Element* __restrict__ weight, Element* __restrict__ grad_x,
                   int batch, int height, int width) {
  CallSizes sizes;
  sizes.in_h = input_rows(height);
  sizes.in_w = input_columns(width);
  sizes.out_h = output_rows(sizes.in_h);
  sizes.out_w = output_columns(sizes.in_w);
  sizes.tiles_h = (sizes.in_h + (P::tile_h - 1)) / P::tile_h;
  sizes.tiles_w = (sizes.in_w + (P::tile_w - 1)) / P::tile_w;
  const int tiles = batch * sizes.tiles_h * sizes.tiles_w;
  const Offset in_pixels = static_cast<Offset>(sizes.in_h) * sizes.in_w;

  // The block's place: channels vary fastest, so that blocks which read the same window run together.
  const int channel_tile = blockIdx.x % kChannelTiles;
  const int group = channel_tile / kTilesOfGroup;
  const int first_in = channel_tile % kTilesOfGroup * P::block_n;
  const int first_tile = blockIdx.x / kChannelTiles;
  const int tile_step = gridDim.x / kChannelTiles;
  const int first_channel = group * kGroupIn + first_in;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  unsigned int* weights = reinterpret_cast<unsigned int*>(shared + kWeightOffset);
  int* places = reinterpret_cast<int*>(shared + kPlaceOffset);
  int* weight_places = reinterpret_cast<int*>(shared + kWeightPlaceOffset);
  stage_tile(reinterpret_cast<Element*>(shared), grad_y, group, tile_at(first_tile, sizes), sizes);
  if (kIsAsynchronous) {
    async_copy_commit();
  }
  find_words(places, weight_places);
  __syncthreads();  // the words of K are found
  stage_weights(weights, weight + static_cast<long long>(first_channel) * (kGroupOut * kTaps), weight_places,
                kGroupIn - first_in);

  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  int buffer = 0;
#pragma unroll 1
  for (int index = first_tile; index < tiles; index += tile_step) {
    if (index + tile_step < tiles) {
      stage_tile(reinterpret_cast<Element*>(shared + (1 - buffer) * kBufferBytes), grad_y, group,
                 tile_at(index + tile_step, sizes), sizes);
    }
    if (kIsAsynchronous) {
      async_copy_commit();
      async_copy_wait(1);
    }
    if (kIsAsynchronous || !kTwoCopies) {
      __syncthreads();  // the tile is staged, and so are the weights
    }
    unsigned char* window = shared + buffer * kBufferBytes;
    if (kTwoCopies) {
      shift_window(window);
      __syncthreads();  // the shifted copy is there
    }
    const Tile tile = tile_at(index, sizes);
    Element* x_tile = grad_x + (static_cast<long long>(tile.image) * P::x_channels * sizes.in_h * sizes.in_w +
                                (static_cast<Offset>(tile.row) * sizes.in_w + tile.column) *
                                    static_cast<Offset>(P::channels_last ? P::x_channels : 1));
#pragma unroll 1
    for (int item = warp; item < kItems; item += P::warps) {
      const int first = item / kParts * kWarpPositions;
      const int part = item % kParts;
      LanePlaces from;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int element = window_place(first + lane_position(lane, half)) + (kShift - kFront);
        from.window[half] = reinterpret_cast<const unsigned int*>(window) + element / kPack;
        from.places[half] = places + (lane % 4 * 2 + (kTwoCopies ? element % 2 * (kSteps * kStepWords) : 0));
      }
      from.weights = reinterpret_cast<const uint2*>(weights) + (part * P::n_tiles * 32 + lane) * kWeightParts;
      Accumulators acc = {};
      Accumulators totals = {};  // of values that are split
#pragma unroll 2
      for (int step = 0; step < kFullSteps; ++step) {
        multiply_step(acc, from, step, lane, true);
        if (P::splits && step % kStepsOfTotal == kStepsOfTotal - 1) {
          add_to_totals(acc, totals);
        }
      }
#pragma unroll 2
      for (int step = kFullSteps; step < kSteps; ++step) {
        multiply_step(acc, from, step, lane, false);
        if (P::splits && step % kStepsOfTotal == kStepsOfTotal - 1) {
          add_to_totals(acc, totals);
        }
      }
      if (P::splits && kSteps % kStepsOfTotal != 0) {
        add_to_totals(acc, totals);
      }
      const int channels = kGroupIn - first_in - part * (P::n_tiles * 8);
      const int first_of_part = first_channel + part * (P::n_tiles * 8);
      if (P::channels_last) {
        store_pixels(P::splits ? totals : acc, x_tile + first_of_part, first, channels, sizes.in_h - tile.row,
                     sizes.in_w - tile.column, sizes.in_w, lane);
      } else {
        store_rows(P::splits ? totals : acc, x_tile + first_of_part * in_pixels, first, channels, sizes.in_h - tile.row,
                   sizes.in_w - tile.column, sizes.in_w, in_pixels, lane);
      }
    }
    __syncthreads();  // all have read the window, whose place is that of the one after the next
    buffer = 1 - buffer;
  }
}
