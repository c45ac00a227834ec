// Tensor copies bring rows of NCHW to shared memory as they lie there, and producers turn them into units of channels
// at each position of a stage. Copies of the next rows are on their way meanwhile.
//
// The template has Scales, which load_scales() finds for a lane's channels; store_input_block() and
// store_window_block() of a lane's words, elements as they lie, at its Positions; Word; and kWindowOffset, kStageBytes,
// kRowsOffset, kSpareOffset and kRowsBarrierOffset, where grad_y begins in a stage, where the next stage does, and
// where the slots of rows, kSpareBytes and mbarriers of the slots lie after all stages. Needs: kPipelineBytes,
// kRowsBarrierOffset, kRowsOffset, kSpareOffset, kStageBytes, kWindowOffset, load_scales(),
//   Position, Positions, Scales, store_input_block(), store_window_block(), Word
// Needs: kPipelineBytes, kRowsBarrierOffset, kRowsOffset, kSpareOffset, kStageBytes, kWindowOffset, load_scales(),
//   Position, Positions, Scales, store_input_block(), store_window_block(), Word
#pragma once

#include "device/barrier.h"
#include "device/memory.h"
#include "device/tensor_copy.h"
#include "device/warp.h"
#include "grad_weight/pipeline.h"
#include "grad_weight/rows.h"
#include "grad_weight/tile_walk.h"

// What a block reads: its first channels of x and grad_y, and the origin of its taps.
struct Origin {
  int in;
  int out;
  int h;
  int w;
};

constexpr int kOutside = -1;  // in place of where a row begins

// ---- Copies ----

// Asks for the rows of a tile, a row by each producer that has one.{with first_column:  `first_column` is that of the
// window's first word.}
__device__ __forceinline__ void copy_rows(unsigned char* slot, const TensorMap& x_map, const TensorMap& grad_y_map,
                                          unsigned long long* barrier, const Origin& origin, const Tile& tile,
                                          int first_column, int thread, const int batch) {
  if constexpr (kByImages) {
    if (thread < kImages) {
      const int image = tile.image + thread;  // after the last one copies bring zeros
      tensor_load_2d(slot + thread * kInputCopyPitch, x_map, barrier, 0, image * P::x_channels + origin.in);
      tensor_load_2d(slot + (kWindowRowsOffset + thread * kWindowCopyPitch), grad_y_map, barrier, -kCopyElements,
                     image * P::y_channels + origin.out);
    }
    return;
  }
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
                     (exists ? image : 0) * (P::x_channels / kInputPeriod) + origin.in / kInputPeriod);
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
                     (exists ? image : 0) * (P::y_channels / kWindowPeriod) + origin.out / kWindowPeriod);
    }
  }
}

// ---- Turns ----

// A lane's words of a strip: of each block and octet those of one channel of eight, which every four lanes share. In 32
// bits they are four elements apart.
constexpr int kStripBlocks = kInputStripBlocks < kWindowStripBlocks ? kWindowStripBlocks : kInputStripBlocks;
using Strip = Word[kStripBlocks][4][kLaneWords];

// The element of a block that a lane writes: its own, or that whose row of a matrix it points at.
__device__ __forceinline__ int element_of_lane(int lane, const int position) {
  return !kByMatrices ? lane % 4 + position * 4 : kWordElements == 2 ? lane % 8 : lane % 8 / 2 + lane % 2 * 4;
}

// Where a row lies: its copy, and its first word, counted from the copy's, of the first channel; and how many columns
// it has.
struct Row {
  const unsigned char* copy;
  int begin;
  int columns;
};

__device__ __forceinline__ Row input_row(const unsigned char* slot, int row) {
  if (kByImages) {
    const int iy = row % kImageRows;
    return {slot + row / kImageRows * kInputCopyPitch, iy * P::width / kWordElements,
            kHaloH == 0 || iy < P::height ? P::width : 0};
  }
  const int skew = reinterpret_cast<const int*>(slot + kSkewsOffset)[row];
  return {slot + row * (kInputPeriod * kInputCopyPitch), kInputAligned ? 0 : max(skew, 0),
          skew == kOutside ? 0 : P::width};
}

// The same of a row of the window, whose first word is at this column.
__device__ __forceinline__ Row window_row(const unsigned char* slot, int row, int first_row, int first_column) {
  if (kByImages) {
    const int at = row % kPlaneRows;
    const int image = at / kImageRows;
    const int oy = at % kImageRows * P::stride_h + row / kPlaneRows * P::dilation_h + first_row;
    const bool exists = image < kImages && oy >= 0 && oy < kOutHeight;
    return {slot + kWindowRowsOffset + (exists ? image : 0) * kWindowCopyPitch,
            kCopyWords + floor_div((exists ? oy : 0) * kOutWidth + first_column, kWordElements),
            exists ? kOutWidth : 0};
  }
  const int skew = reinterpret_cast<const int*>(slot + kSkewsOffset)[kInputRows + row];
  return {slot + kWindowRowsOffset + row * (kWindowPeriod * kWindowCopyPitch), max(skew, 0),
          skew == kOutside ? 0 : kOutWidth};
}

// The first word that a lane loads of a strip. {with step: A row of each next channel begins `step` words later than
// that of the one before, modulo those of a copy.}
__device__ __forceinline__ const unsigned char* first_word(const Row& row, const int row_bytes, const int copy_pitch,
                                                           const int period, const int step, int octet, int block,
                                                           int lane) {
  const int channel = lane / 4;
  const int begin = period == 1 ? row.begin : (row.begin + channel % period * step) & (kCopyWords - 1);
  return row.copy + ((octet * (kBlockChannels / period) + channel / period) * row_bytes +
                     channel % period * copy_pitch + (begin + block * kBlockWords + lane % 4) * 4);
}

// Loads a lane's words of a strip, of so many octets and blocks.
__device__ __forceinline__ void load_strip(Strip& words, const unsigned char* from, const int octet_pitch,
                                           const int octets, const int blocks) {
#pragma unroll
  for (int block = 0; block < blocks; ++block) {
#pragma unroll
    for (int octet = 0; octet < octets; ++octet) {
#pragma unroll
      for (int word = 0; word < kLaneWords; ++word) {
        words[block][octet][word] =
            *reinterpret_cast<const Word*>(from + (octet * octet_pitch + (block * kBlockWords + word * 4) * 4));
      }
    }
  }
}

// Zeros in place of words that are not in a row of so many columns. The strip's first column is `first`.
__device__ __forceinline__ void keep_inside(Strip& words, const int octets, const int blocks, int first, int columns,
                                            int lane) {
  if (first < 0 || first + blocks * kBlockColumns > columns) {
#pragma unroll
    for (int block = 0; block < blocks; ++block) {
#pragma unroll
      for (int word = 0; word < kLaneWords; ++word) {
        const int column = first + lane % 4 * kWordElements + (block * kBlockColumns + word * 4);
        if (column < 0 || column >= columns) {
#pragma unroll
          for (int octet = 0; octet < octets; ++octet) {
            words[block][octet][word] = 0;
          }
        }
      }
    }
  }
}

// Writes the positions of x of a stage: zeros past the end of the images and of a row. `first_column` is the tile's.
__device__ __forceinline__ void turn_input(unsigned char* input, unsigned char* spare, const unsigned char* slot,
                                           int first_column, int warp, int lane) {
  constexpr int kStep = P::height % kCopyElements * P::width / kWordElements % kCopyWords;
#pragma unroll 1
  for (int strip = warp; strip < kInputStrips; strip += kTurningWarps) {
    const int first_block = strip % kInputRowStrips * kInputStripBlocks;
    const int octet = strip / kInputRowStrips % (kInputOctets / kInputTogether) * kInputTogether;
    const int number = strip / (kInputRowStrips * (kInputOctets / kInputTogether));
    const Row row = input_row(slot, number);
    Strip words;
    load_strip(words, first_word(row, kInputRowBytes, kInputCopyPitch, kInputPeriod, kStep, octet, first_block, lane),
               kBlockChannels / kInputPeriod * kInputRowBytes, kInputTogether, kInputStripBlocks);
    keep_inside(words, kInputTogether, kInputStripBlocks, first_column + first_block * kBlockColumns, row.columns,
                lane);
    Scales scales;
    load_scales(scales, octet * kBlockChannels + lane / 4, kInputTogether);
#pragma unroll
    for (int block = 0; block < kInputStripBlocks; ++block) {
      Positions positions;
#pragma unroll
      for (int i = 0; i < kLanePositions; ++i) {
        const int element = (first_block + block) * kBlockColumns + element_of_lane(lane, i);
        positions[i] = {
            number * kInputPitch + element,
            kInputRowStrips * kInputStripBlocks * kBlockColumns == kInputColumns || element < kInputColumns};
      }
      store_input_block(input, spare, words[block], scales, positions, octet, lane);
    }
  }
}

// The position of the window of an element that is so far after its first one: where the plane needs it, which is the
// only one that may, or this one. {with row: `row` is the first position of its row.} {with plane_h: `plane_h` is the
// first plane.}
__device__ __forceinline__ Position window_position(int from_first, const int block, const bool is_only_plane,
                                                    const int every, int plane_h, int row) {
  constexpr int kBias = ceil_div(kWindowSkew + (kPlanesW - 1) * P::dilation_w, P::stride_w);  // for no negative ones
  const unsigned int first = from_first - every * P::dilation_w + kBias * P::stride_w;
  const unsigned int element = first + block * kBlockColumns;
  const int plane = is_only_plane ? static_cast<int>(element % P::stride_w) : every;
  // Blocks of whole strides are found from the first one.
  const int column = kBlockColumns % P::stride_w == 0
                         ? static_cast<int>(first / P::stride_w) + (block * (kBlockColumns / P::stride_w) - kBias)
                         : static_cast<int>(element / P::stride_w) - kBias;
  const bool is_wanted =
      column >= 0 && column < kPlaneColumns && plane < kPlanesW && (is_only_plane || element % P::stride_w == 0);
  return {(plane_h + plane) * kPlanePixels + row + column, is_wanted};
}

// Writes the positions of grad_y of a stage: zeros where no position is. {with first_column: `first_column` is that of
// the window's first word{with skew: , `skew` elements before the taps' first}.} {with first_row: `first_row` is that
// of the taps' first.}
__device__ __forceinline__ void turn_window(unsigned char* window, unsigned char* spare, const unsigned char* slot,
                                            int first_row, int first_column, const int skew, int warp, int lane) {
  constexpr int kStep = kOutHeight % kCopyElements * kOutWidth / kWordElements % kCopyWords;
  constexpr bool kOnlyPlane = P::dilation_w == 1 || kPlanesW == 1;  // at most one reads an element
#pragma unroll 1
  for (int strip = warp; strip < kWindowStrips; strip += kTurningWarps) {
    const int first_block = strip % kWindowRowStrips * kWindowStripBlocks;
    const int octet = strip / kWindowRowStrips % (kWindowOctets / kWindowTogether) * kWindowTogether;
    const int number = strip / (kWindowRowStrips * (kWindowOctets / kWindowTogether));
    const Row row = window_row(slot, number, first_row, first_column);
    Strip words;
    load_strip(words,
               first_word(row, kWindowRowBytes, kWindowCopyPitch, kWindowPeriod, kStep, octet, first_block, lane),
               kBlockChannels / kWindowPeriod * kWindowRowBytes, kWindowTogether, kWindowStripBlocks);
    keep_inside(words, kWindowTogether, kWindowStripBlocks, first_column + first_block * kBlockColumns, row.columns,
                lane);
    Scales scales;
    load_scales(scales, P::block_in + octet * kBlockChannels + lane / 4, kWindowTogether);
#pragma unroll
    for (int block = 0; block < kWindowStripBlocks; ++block) {
#pragma unroll
      for (int every = 0; every < (kOnlyPlane ? 1 : kPlanesW); ++every) {
        Positions positions;
#pragma unroll
        for (int i = 0; i < kLanePositions; ++i) {
          positions[i] =
              window_position(first_block * kBlockColumns + element_of_lane(lane, i) - skew, block, kOnlyPlane, every,
                              number / kPlaneRows * kPlanesW, number % kPlaneRows * kRowPitch);
        }
        store_window_block(window, spare, words[block], scales, positions, octet, lane);
      }
    }
  }
}

// ---- Stages ----

// All stages of a block's slice: `count` tiles{with first_tile:  from `first_tile` on}, by one of the producers.
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
  unsigned char* spare = shared + (kSpareOffset + thread * 16);
  const int warp = warp_uniform(thread / 32);
  const int lane = thread % 32;
  const int skew = P::taps_w == P::kernel_w ? kWindowSkew : origin.w & (kWordElements - 1);
  if (P::flat) {
    // Nothing comes to the ends of whole rows and after the last one, which products read.
    for (int i = thread * 16; i < kPipelineBytes; i += P::producers * 16) {
      *reinterpret_cast<uint4*>(shared + i) = make_uint4(0, 0, 0, 0);
    }
  }
  if (thread == 0) {
    for (int number = 0; number < min(count, P::row_stages); ++number) {
      mbarrier_arrive_expect(&brought[number], kCopiedBytes);
    }
  }
  Tile asked = tile_at(first_tile, row_tiles, P::height);  // whose rows are asked for next
  Tile turned = asked;
  for (int number = 0; number < min(count, P::row_stages); ++number) {
    copy_rows(shared + (kRowsOffset + number * kRowsBytes), x_map, grad_y_map, &brought[number], origin, asked,
              asked.column * P::stride_w + origin.w - skew, thread, batch);
    move_on(asked, row_tiles, P::height);
  }
  named_barrier_sync(2, P::producers);  // where rows begin is written
  for (int issued = 0; issued < count; ++issued) {
    const int stage = stage_of(issued);
    const int slot = issued % kRowSlots;
    const int next = issued + P::row_stages;
    unsigned char* rows = shared + (kRowsOffset + slot * kRowsBytes);
    mbarrier_wait(&brought[slot], issued / kRowSlots % 2);
    if (thread == 0 && next < count) {
      mbarrier_arrive_expect(&brought[slot], kCopiedBytes);
    }
    if (issued >= P::stages) {
      mbarrier_wait(&empty[stage], refill_parity(issued));
    }
    turn_input(shared + stage * kStageBytes, spare, rows, turned.column, warp, lane);
    turn_window(shared + (stage * kStageBytes + kWindowOffset), spare, rows, origin.h,
                turned.column * P::stride_w + origin.w - skew, skew, warp, lane);
    move_on(turned, row_tiles, P::height);
    fence_proxy_async();
    release_stage(&full[stage], lane);
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
