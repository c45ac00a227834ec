// Producers bring positions of x and of the planes of grad_y through registers to shared memory.
//
// The template has, of a unit of channels at one position: Words (those of a batch: kMostUnits units of kWords),
// load_unit(), input_place() and window_place() (bytes in the stage), store_input_unit() and store_window_unit(); and
// kWindowOffset and kStageBytes, where grad_y begins in a stage and where the next stage does.
// Needs: input_place(), kMostUnits, kStageBytes, kWindowOffset, load_unit(), store_input_unit(), store_window_unit(),
//   window_place(), Words
#pragma once

#include "device/barrier.h"
#include "device/memory.h"
#include "device/tensor_copy.h"
#include "grad_weight/pipeline.h"
#include "grad_weight/positions.h"
#include "grad_weight/tile_walk.h"

// A batch is what a thread has in flight: some units of channels at one position. Threads share the positions and, in
// so many lanes, the units of a position: with channels last eight positions by as many units as are adjacent, else as
// makes the fewest batches.
__host__ __device__ constexpr int turns(int pixels, int units, int lanes) {
  return ceil_div(pixels, P::producers / lanes) * ceil_div(units, lanes);
}
__host__ __device__ constexpr int lanes_from(int pixels, int units, int lanes) {
  return lanes >= 8 || turns(pixels, units, lanes) <= turns(pixels, units, lanes_from(pixels, units, 2 * lanes))
             ? lanes
             : lanes_from(pixels, units, 2 * lanes);
}
__host__ __device__ constexpr int unit_lanes(int pixels, int units) {
  return !P::channels_last ? lanes_from(pixels, units, 1) : units % 4 == 0 ? 4 : units % 2 == 0 ? 2 : 1;
}
constexpr int kInputLanes = unit_lanes(kInputPixels, kInputUnits);
constexpr int kWindowLanes = unit_lanes(kWindowPixels, kWindowUnits);
constexpr int kInputChunks = ceil_div(kInputUnits, kInputLanes* kMostUnits);  // batches of a position
constexpr int kWindowChunks = ceil_div(kWindowUnits, kWindowLanes* kMostUnits);
constexpr int kInputBatch = ceil_div(kInputUnits, kInputLanes* kInputChunks);  // units
constexpr int kWindowBatch = ceil_div(kWindowUnits, kWindowLanes* kWindowChunks);
constexpr int kInputBatches = ceil_div(kInputPixels, P::producers / kInputLanes) * kInputChunks;  // of a stage
constexpr int kWindowBatches = ceil_div(kWindowPixels, P::producers / kWindowLanes) * kWindowChunks;
constexpr int kBatches = kInputBatches + kWindowBatches;

// The thread's position and first unit of a batch.
__device__ inline int pixel_of(int batch_index, int thread, const int lanes, const int chunks) {
  const int own = P::channels_last ? thread / (8 * lanes) * 8 + thread % 8 : thread % (P::producers / lanes);
  return batch_index / chunks * (P::producers / lanes) + own;
}
__device__ inline int unit_of(int batch_index, int thread, const int lanes, const int chunks, const int units) {
  const int own = P::channels_last ? thread / 8 % lanes : thread / (P::producers / lanes);
  return batch_index % chunks * (units * lanes) + own;
}

// Loads a batch of x.
__device__ __forceinline__ void load_input(Words& words, const Source& source, const Tile& tile, int batch_index,
                                           int thread, const int batch, const int in_h, const int in_w) {
  const int pixel = pixel_of(batch_index, thread, kInputLanes, kInputChunks);
  const int unit = unit_of(batch_index, thread, kInputLanes, kInputChunks, kInputBatch);
  const int row = tile.row + pixel / kInputPitch;
  const int image = tile.image + row / (in_h + kHaloH);
  const int iy = row % (in_h + kHaloH);
  const int ix = tile.column + pixel % kInputPitch;
  const bool is_inside = pixel < (P::flat ? P::tile_rows * kInputPitch : kInputPixels) && image < batch &&
                         (kHaloH == 0 || iy < in_h) && ix < in_w;
  const long long plane = static_cast<long long>(in_h) * in_w;
  const Element* from = source.x + static_cast<long long>(image) * P::x_channels * plane;
  from += P::channels_last ? (static_cast<long long>(iy) * in_w + ix) * P::x_channels + unit * kVector
                           : unit * kVector * plane + static_cast<long long>(iy) * in_w + ix;
#pragma unroll
  for (int i = 0; i < kInputBatch; ++i) {
    const int next = i * kInputLanes;  // unit
    load_unit(words[i], from + (P::channels_last ? next * kVector : next * kVector * plane),
              is_inside && (kInputUnits % (kInputLanes * kInputBatch) == 0 || unit + next < kInputUnits),
              source.ins - (unit + next) * kVector, kGroupIn % P::block_in == 0, plane);
  }
}

// The same of the planes of grad_y.
__device__ __forceinline__ void load_window(Words& words, const Source& source, const Tile& tile, int batch_index,
                                            int thread, const int batch, const int in_h, const int out_h,
                                            const int out_w) {
  const int pixel = pixel_of(batch_index, thread, kWindowLanes, kWindowChunks);
  const int unit = unit_of(batch_index, thread, kWindowLanes, kWindowChunks, kWindowBatch);
  const int plane_index = pixel / kPlanePixels;
  const int row = tile.row + pixel % kPlanePixels / kRowPitch;
  const int column = tile.column + pixel % kPlanePixels % kRowPitch;
  const int image = tile.image + row / (in_h + kHaloH);
  const int oy = row % (in_h + kHaloH) * P::stride_h + plane_index / kPlanesW * P::dilation_h + source.origin_h;
  const int ox = column * P::stride_w + plane_index % kPlanesW * P::dilation_w + source.origin_w;
  const bool is_inside = pixel < kWindowPixels && image < batch && oy >= 0 && oy < out_h && ox >= 0 && ox < out_w;
  const long long plane = static_cast<long long>(out_h) * out_w;
  const Element* from = source.grad_y + static_cast<long long>(image) * P::y_channels * plane;
  from += P::channels_last ? (static_cast<long long>(oy) * out_w + ox) * P::y_channels + unit * kVector
                           : unit * kVector * plane + static_cast<long long>(oy) * out_w + ox;
#pragma unroll
  for (int i = 0; i < kWindowBatch; ++i) {
    const int next = i * kWindowLanes;  // unit
    load_unit(words[i], from + (P::channels_last ? next * kVector : next * kVector * plane),
              is_inside && (kWindowUnits % (kWindowLanes * kWindowBatch) == 0 || unit + next < kWindowUnits),
              source.outs - (unit + next) * kVector, kGroupOut % P::block_out == 0, plane);
  }
}

// Writes a batch of x to its stage.
__device__ __forceinline__ void store_input(unsigned char* input, const Words& words, int batch_index, int thread) {
  const int pixel = pixel_of(batch_index, thread, kInputLanes, kInputChunks);
  const int unit = unit_of(batch_index, thread, kInputLanes, kInputChunks, kInputBatch);
  unsigned char* to = input + input_place(pixel, unit);
  if (kInputPixels % (P::producers / kInputLanes) == 0 || pixel < kInputPixels) {
#pragma unroll
    for (int i = 0; i < kInputBatch; ++i) {
      const int next = i * kInputLanes;  // unit
      if (kInputUnits % (kInputLanes * kInputBatch) == 0 || unit + next < kInputUnits) {
        store_input_unit(to, words[i], unit, next, 0);
      }
    }
  }
}

// The same of grad_y.
__device__ __forceinline__ void store_window(unsigned char* window, const Words& words, int batch_index, int thread) {
  const int pixel = pixel_of(batch_index, thread, kWindowLanes, kWindowChunks);
  const int unit = unit_of(batch_index, thread, kWindowLanes, kWindowChunks, kWindowBatch);
  unsigned char* to = window + window_place(pixel, unit);
  if (kWindowPixels % (P::producers / kWindowLanes) == 0 || pixel < kWindowPixels) {
#pragma unroll
    for (int i = 0; i < kWindowBatch; ++i) {
      const int next = i * kWindowLanes;  // unit
      if (kWindowUnits % (kWindowLanes * kWindowBatch) == 0 || unit + next < kWindowUnits) {
        store_window_unit(to, words[i], unit, next, 0);
      }
    }
  }
}

// Loads a batch of a stage: those of x come first.
__device__ __forceinline__ void load_batch(Words& words, const Source& source, const Tile& tile, int batch_index,
                                           int thread, const int batch, const int in_h, const int in_w, const int out_h,
                                           const int out_w) {
  if (batch_index < kInputBatches) {
    load_input(words, source, tile, batch_index, thread, batch, in_h, in_w);
  } else {
    load_window(words, source, tile, batch_index - kInputBatches, thread, batch, in_h, out_h, out_w);
  }
}

// Writes a batch to its stage.
__device__ __forceinline__ void store_batch(unsigned char* stage, const Words& words, int batch_index, int thread) {
  if (batch_index < kInputBatches) {
    store_input(stage, words, batch_index, thread);
  } else {
    store_window(stage + kWindowOffset, words, batch_index - kInputBatches, thread);
  }
}

// All stages of a block's slice: `count` tiles{with first_tile:  from `first_tile` on}, by one of the producers.
__device__ __forceinline__ void bring_stages(unsigned char* shared, unsigned long long* full, unsigned long long* empty,
                                             const Element* __restrict__ x, const Element* __restrict__ grad_y,
                                             const Target& target, long long first_tile, int count,
                                             const long long row_tiles, int thread, const int batch, const int in_h,
                                             const int in_w, const int out_h, const int out_w) {
  const Source source = source_of(x, grad_y, target, in_h, in_w, out_h, out_w);
  Words words;
  if (count == 0) {
    return;
  }
  Tile next = tile_at(first_tile, row_tiles, in_h);
  load_batch(words, source, next, 0, thread, batch, in_h, in_w, out_h, out_w);
  for (int issued = 0; issued < count; ++issued) {
    const int stage = stage_of(issued);
    if (issued >= P::stages) {
      mbarrier_wait(&empty[stage], refill_parity(issued));
    }
    // The next batch comes while others are multiplied.
#pragma unroll 1
    for (int part = 0; part < kBatches; ++part) {
      store_batch(shared + stage * kStageBytes, words, part, thread);
      if (part + 1 == kBatches) {
        move_on(next, row_tiles, in_h);
      }
      if (part + 1 < kBatches || issued + 1 < count) {
        load_batch(words, source, next, part + 1 == kBatches ? 0 : part + 1, thread, batch, in_h, in_w, out_h, out_w);
      }
    }
    fence_proxy_async();
    mbarrier_arrive(&full[stage]);
  }
}
