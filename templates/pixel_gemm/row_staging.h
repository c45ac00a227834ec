// Tensor copies bring rows of NCHW to shared memory as they lie there, and producers turn them into units of channels
// at each position of a stage. Copies of the next rows are on their way meanwhile.
//
// Needs, above its line, Word (of the rows as they lie; kWords make a unit), input_place() and window_place() (bytes in
// the stage) of a unit at a position, store_input_unit() and store_window_unit(), and keep_elements() of a word; and
// kWindowOffset, kStageBytes, kRowsOffset and kRowsBarrierOffset, where grad_y begins in a stage, where the next stage
// does, and where the slots of rows and their mbarriers lie behind all stages.
#pragma once

#include "device/barrier.h"
#include "device/memory.h"
#include "device/tensor_copy.h"
#include "pixel_gemm/pipeline.h"
#include "pixel_gemm/rows.h"
#include "pixel_gemm/tiles.h"

// What a block reads: its first channels of x and grad_y, and the origin of its taps.
struct Origin {
  int in;
  int out;
  int h;
  int w;
};

constexpr int kOutside = -1;  // in place of where a row begins

// ---- Copies ----

// Asks for the rows of a tile, a row by each producer that has one. `first_column` is that of the window's first word.
__device__ __forceinline__ void copy_rows(unsigned char* slot, const TensorMap& x_map, const TensorMap& grad_y_map,
                                          unsigned long long* barrier, const Origin& origin, const Tile& tile,
                                          int first_column, int thread, const int batch) {
  int* skews = reinterpret_cast<int*>(slot + kSkewsOffset);
  const int row = thread % 32 * (P::producers / 32) + thread / 32;  // rows are spread over warps
  if (row < kInputRows) {
    const int image = tile.image + (tile.row + row) / (P::height + kHaloH);
    const int iy = (tile.row + row) % (P::height + kHaloH);
    const bool exists = image < batch && (kHaloH == 0 || iy < P::height);
    const int element = exists ? iy * P::width + tile.column : 0;
    skews[row] = exists ? element / kWordElements % kCopyWords : kOutside;
#pragma unroll
    for (int channel = 0; channel < kInputPeriod; ++channel) {
      const int first = element + channel * (P::height * P::width);
      tensor_load_2d(slot + (row * kInputPeriod + channel) * kInputCopyPitch, x_map, barrier,
                     first - first % kCopyElements,
                     (exists ? image : 0) * (P::in_channels / kInputPeriod) + origin.in / kInputPeriod);
    }
  } else if (row < kRowsOfSlot) {
    const int own = row - kInputRows;
    const int at = tile.row + own % kPlaneRows;
    const int image = tile.image + at / (P::height + kHaloH);
    const int oy = at % (P::height + kHaloH) * P::stride_h + own / kPlaneRows * P::dilation_h + origin.h;
    const bool exists = image < batch && oy >= 0 && oy < kOutHeight;
    const int element = exists ? oy * kOutWidth + first_column : 0;
    skews[row] = exists ? floor_mod(floor_div(element, kWordElements), kCopyWords) : kOutside;
#pragma unroll
    for (int channel = 0; channel < kWindowPeriod; ++channel) {
      const int first = element + channel * (kOutHeight * kOutWidth);
      tensor_load_2d(slot + (kWindowRowsOffset + (own * kWindowPeriod + channel) * kWindowCopyPitch), grad_y_map,
                     barrier, first - floor_mod(first, kCopyElements),
                     (exists ? image : 0) * (P::out_channels / kWindowPeriod) + origin.out / kWindowPeriod);
    }
  }
}

// ---- Turns ----

// Items whose words a thread has at once: all are loaded before the first is stored, since the compiler moves no load
// above a store. Who has no item loads the last one in vain.
constexpr int kBatchItems = 2;

// A word of each channel of a unit, whose row of the first channel begins `skew` words behind its copy's first, and
// that of each next one `step` words later, modulo those of a copy.
__device__ __forceinline__ void load_words(Word (&words)[kWords], const unsigned char* row, const int row_bytes,
                                           const int copy_pitch, const int period, unsigned int unit, unsigned int word,
                                           int skew, const int step) {
  const unsigned char* from = row + (unit * (kPack / period) * row_bytes + word * 4);
#pragma unroll
  for (int c = 0; c < kWords; ++c) {
    const int begin = (skew + c % period * step) & (kCopyWords - 1);
    words[c] = *reinterpret_cast<const Word*>(from + (c % period * copy_pitch + c / period * row_bytes + begin * 4));
  }
}

// Zeros in place of those of a word's elements that are not in a row of so many columns.
__device__ __forceinline__ void keep_inside(Word (&words)[kWords], bool exists, int column, const int columns) {
  if (!exists || column < 0 || column + kWordElements > columns) {
    const bool first = exists && column >= 0 && column < columns;
#pragma unroll
    for (int c = 0; c < kWords; ++c) {
      keep_elements(words[c], first, exists && column + 1 >= 0 && column + 1 < columns);
    }
  }
}

// Writes the units of x of a stage: zeros behind the end of the images and of a row. `first_column` is the tile's.
__device__ __forceinline__ void turn_input(unsigned char* input, const unsigned char* slot, int first_column,
                                           int thread) {
  constexpr int kStep = P::height % kCopyElements * P::width / kWordElements % kCopyWords;
  const int* skews = reinterpret_cast<const int*>(slot + kSkewsOffset);
#pragma unroll 1
  for (unsigned int first = thread; first < kInputItems; first += kBatchItems * P::producers) {
    Word words[kBatchItems][kWords];
#pragma unroll
    for (int item = 0; item < kBatchItems; ++item) {
      const unsigned int i = min(static_cast<unsigned int>(first + item * P::producers), kInputItems - 1u);
      const unsigned int word = i % kInputWords;
      const unsigned int row = i / (kInputWords * kInputUnits);
      const int skew = skews[row];
      load_words(words[item], slot + row * (kInputPeriod * kInputCopyPitch), kInputRowBytes, kInputCopyPitch,
                 kInputPeriod, i / kInputWords % kInputUnits, word, kInputAligned ? 0 : skew, kStep);
      keep_inside(words[item], skew != kOutside, first_column + static_cast<int>(word) * kWordElements, P::width);
    }
#pragma unroll
    for (int item = 0; item < kBatchItems; ++item) {
      const unsigned int i = first + item * P::producers;
      const int unit = i / kInputWords % kInputUnits;
      const int row = i / (kInputWords * kInputUnits);
#pragma unroll
      for (int half = 0; half < kWordElements; ++half) {
        const int element = i % kInputWords * kWordElements + half;
        if ((kInputItems % (kBatchItems * P::producers) == 0 || i < kInputItems) &&
            (kInputColumns % kWordElements == 0 || element < kInputColumns)) {
          store_input_unit(input + input_place(row * kInputPitch + element, unit), words[item], unit, 0, half);
        }
      }
    }
  }
}

// Writes the unit of grad_y of an element that is so far behind the window's first, in the planes that want it.
__device__ __forceinline__ void store_of_planes(unsigned char* window, const Word (&words)[kWords], int from_first,
                                                int plane_h, int row, int unit, const int half) {
  if constexpr (P::dilation_w == 1) {
    const int plane = static_cast<unsigned int>(from_first) % P::stride_w;
    const int column = static_cast<unsigned int>(from_first) / P::stride_w;
    if (from_first >= 0 && (kPlanesW == P::stride_w || plane < kPlanesW) && column < kPlaneColumns) {
      store_window_unit(window + window_place((plane_h + plane) * kPlanePixels + row + column, unit), words, unit, 0,
                        half);
    }
  } else {
#pragma unroll
    for (int plane = 0; plane < kPlanesW; ++plane) {
      const int of_plane = from_first - plane * P::dilation_w;
      const int column = of_plane / P::stride_w;
      if (of_plane >= 0 && of_plane % P::stride_w == 0 && column < kPlaneColumns) {
        store_window_unit(window + window_place((plane_h + plane) * kPlanePixels + row + column, unit), words, unit, 0,
                          half);
      }
    }
  }
}

// Writes the units of grad_y of a stage: zeros where there is none. `first_column` is that of the window's first word,
// `skew` elements before the taps' first.
__device__ __forceinline__ void turn_window(unsigned char* window, const unsigned char* slot, int first_column,
                                            const int skew, int thread) {
  constexpr int kStep = kOutHeight % kCopyElements * kOutWidth / kWordElements % kCopyWords;
  const int* skews = reinterpret_cast<const int*>(slot + kSkewsOffset) + kInputRows;
#pragma unroll 1
  for (unsigned int first = thread; first < kWindowItems; first += kBatchItems * P::producers) {
    Word words[kBatchItems][kWords];
#pragma unroll
    for (int item = 0; item < kBatchItems; ++item) {
      const unsigned int i = min(static_cast<unsigned int>(first + item * P::producers), kWindowItems - 1u);
      const unsigned int word = i % kWindowWords;
      const unsigned int row = i / (kWindowWords * kWindowUnits);
      const int begin = skews[row];
      load_words(words[item], slot + (kWindowRowsOffset + row * (kWindowPeriod * kWindowCopyPitch)), kWindowRowBytes,
                 kWindowCopyPitch, kWindowPeriod, i / kWindowWords % kWindowUnits, word, begin, kStep);
      keep_inside(words[item], begin != kOutside, first_column + static_cast<int>(word) * kWordElements, kOutWidth);
    }
#pragma unroll
    for (int item = 0; item < kBatchItems; ++item) {
      const unsigned int i = first + item * P::producers;
      const int unit = i / kWindowWords % kWindowUnits;
      const unsigned int row = i / (kWindowWords * kWindowUnits);
      const int plane_h = row / kPlaneRows * kPlanesW;
#pragma unroll
      for (int half = 0; half < kWordElements; ++half) {
        const int element = i % kWindowWords * kWordElements + half;
        if (kWindowItems % (kBatchItems * P::producers) == 0 || i < kWindowItems) {
          store_of_planes(window, words[item], element - skew, plane_h, row % kPlaneRows * kRowPitch, unit, half);
        }
      }
    }
  }
}

// ---- Stages ----

// All stages of a block's slice: `count` tiles from `first_tile` on, by one of the producers.
__device__ __forceinline__ void turn_stages(unsigned char* shared, unsigned long long* full, unsigned long long* empty,
                                            const TensorMap& x_map, const TensorMap& grad_y_map, const Target& target,
                                            long long first_tile, int count, const long long row_tiles, int thread,
                                            const int batch) {
  if (count == 0) {
    return;
  }
  unsigned long long* brought = reinterpret_cast<unsigned long long*>(shared + kRowsBarrierOffset);
  const Origin origin = {target.group * kGroupIn + target.first_in, target.group * kGroupOut + target.first_out,
                         target.first_kh * P::dilation_h - P::padding_h,
                         target.first_kw * P::dilation_w - P::padding_w};
  const int skew = P::taps_w == P::kernel_w ? kWindowSkew : origin.w & (kWordElements - 1);
  if (P::flat) {
    // Nothing comes to the ends of whole rows and behind the last one, which products read.
    for (int i = thread * 16; i < kPipelineBytes; i += P::producers * 16) {
      *reinterpret_cast<uint4*>(shared + i) = make_uint4(0, 0, 0, 0);
    }
  }
  if (thread == 0) {
    for (int number = 0; number < min(count, P::row_stages); ++number) {
      mbarrier_arrive_expect(&brought[number], kCopiedBytes);
    }
  }
  named_barrier_sync(2, P::producers);                     // copies are expected
  Tile asked = tile_at(first_tile, row_tiles, P::height);  // whose rows are asked for next
  Tile turned = asked;
  for (int number = 0; number < min(count, P::row_stages); ++number) {
    copy_rows(shared + (kRowsOffset + number * kRowsBytes), x_map, grad_y_map, &brought[number], origin, asked,
              asked.column * P::stride_w + origin.w - skew, thread, batch);
    move_on(asked, row_tiles, P::height);
  }
  named_barrier_sync(2, P::producers);  // where rows begin is written
  for (int issued = 0; issued < count; ++issued) {
    const int stage = issued % P::stages;
    const int slot = issued % kRowSlots;
    const int next = issued + P::row_stages;
    unsigned char* rows = shared + (kRowsOffset + slot * kRowsBytes);
    mbarrier_wait(&brought[slot], issued / kRowSlots % 2);
    if (thread == 0 && next < count) {
      mbarrier_arrive_expect(&brought[slot], kCopiedBytes);
    }
    if (issued >= P::stages) {
      mbarrier_wait(&empty[stage], (issued / P::stages - 1) % 2);
    }
    turn_input(shared + stage * kStageBytes, rows, turned.column, thread);
    turn_window(shared + (stage * kStageBytes + kWindowOffset), rows, turned.column * P::stride_w + origin.w - skew,
                skew, thread);
    move_on(turned, row_tiles, P::height);
    fence_proxy_async();
    mbarrier_arrive(&full[stage]);
    named_barrier_sync(2, P::producers);  // all have read the rows
    if (next < count) {
      copy_rows(rows, x_map, grad_y_map, &brought[slot], origin, asked, asked.column * P::stride_w + origin.w - skew,
                thread, batch);
      move_on(asked, row_tiles, P::height);
    }
    if (P::row_stages == 1) {
      named_barrier_sync(2, P::producers);  // where rows begin is written
    }
  }
}
