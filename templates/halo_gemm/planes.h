// Part of the template `halo_gemm`: volumes. Along the depth, too, an output has a position, (plane + padding) /
// stride. A tile goes along some of these. Each plane of the input makes products once, with the weights of all depth
// taps: their columns are the planes of the output that it reaches. Then the first of these planes, as many as the
// stride, are finished: they are stored, and the others move up.
#pragma once

#include "device/barrier.h"
#include "device/ring.h"
#include "window/staging.h"

constexpr int kFirstD = P::padding_d / P::stride_d;
constexpr int kPlaneTaps = kOnePhase ? 1 : P::stride_d;  // depth taps that make planes of a position
constexpr int kHaloD = (P::kernel_d - 1) / kPlaneTaps;   // positions that a tap reads before an output's
constexpr int kBeyondD = floor_div(P::dilation_d * (P::kernel_d - 1) + P::output_padding_d - P::padding_d, P::stride_d);
constexpr int kMovedColumns = kPlaneTaps * kPlaneColumns / 2;  // of a thread's accumulators

// A tile's first position whose outputs it stores; the first plane of the input that it stages; the position to before
// which it goes.
__device__ __forceinline__ int first_position(int index, int tiles_y, int tiles_x, int tiles_d) {
  return kFirstD + index / (tiles_y * tiles_x) % tiles_d * P::tile_d;
}
__device__ __forceinline__ int first_staged(int first_m) {
  return max(0, first_m - kHaloD);
}
__device__ __forceinline__ int end_position(int first_m, const int in_d) {
  return min(first_m + P::tile_d, in_d + kBeyondD);
}

// No accumulator has a product yet.
__device__ __forceinline__ void clear(Accumulators (&acc)[kParts][kAccArrays]) {
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
#pragma unroll
    for (int array = 0; array < kAccArrays; ++array) {
#pragma unroll
      for (int i = 0; i < kInstructionN / 2; ++i) {
        acc[part][array][i] = 0;
      }
    }
  }
}

// Planes that are stored make room for later ones.
__device__ __forceinline__ void move_on(Accumulators (&acc)[kParts][kAccArrays]) {
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
#pragma unroll
    for (int array = 0; array < kAccArrays; ++array) {
#pragma unroll
      for (int i = 0; i < kInstructionN / 2; ++i) {
        const int from = i + kMovedColumns;
        acc[part][array][i] = from < kInstructionN / 2 ? acc[part][array][smaller(from, kInstructionN / 2 - 1)] : 0;
      }
    }
  }
}

// What the producers stage next: a k-block of a tile's plane of the input, of those to before `end`.
struct Next {
  int index;  // of the tile
  int plane;
  int end;
  int k_block;
};

// Goes to a tile, or to the first one after it that reads any plane.
__device__ __forceinline__ void go_to_tile(Next& next, int index, int tiles, int next_tile, int tiles_y, int tiles_x,
                                           int tiles_d, const int in_d) {
  next.index = index;
  next.k_block = 0;
  next.plane = 0;
  next.end = 0;
  while (next.plane == next.end && next.index < tiles) {
    const int first_m = first_position(next.index, tiles_y, tiles_x, tiles_d);
    next.plane = first_staged(first_m);
    next.end = max(next.plane, min(end_position(first_m, in_d), in_d));
    if (next.plane == next.end) {
      next.index += next_tile;
    }
  }
}

// x, or a channel of it, from a plane on.
__device__ __forceinline__ const Element* from_plane(const Element* x, int plane, const int in_h, const int in_w) {
  return x + static_cast<long long>(plane) * (P::channels_last ? P::x_channels : 1) * in_h * in_w;
}

// Goes on to what is staged after a k-block.
__device__ __forceinline__ void next_k_block(Next& next, Places& places, int thread, int tiles, int next_tile,
                                             int tiles_y, int tiles_x, int tiles_d, const int batch, const int in_d,
                                             const int in_h, const int in_w) {
  if (++next.k_block == kKBlocks) {
    next.k_block = 0;
    if (++next.plane == next.end) {
      go_to_tile(next, next.index + next_tile, tiles, next_tile, tiles_y, tiles_x, tiles_d, in_d);
      find_places(places, staged_tile(next.index, tiles_y, tiles_x, in_h, in_w, tiles_d), thread, batch, in_d, in_h,
                  in_w);
    }
  }
}

// Brings the stages of all of the block's tiles; those whose copies are in flight are not published. Returns how many
// there are.
__device__ __forceinline__ int produce_planes(const Element* __restrict__ x, const unsigned char* block_weights,
                                              unsigned char* stages, unsigned long long* full,
                                              unsigned long long* empty, int thread, int first_tile, int next_tile,
                                              int tiles, int tiles_y, int tiles_x, const int batch, const int in_d,
                                              const int in_h, const int in_w, int tiles_d) {
  int issued = 0;
  Words words;
  Places places;
  Next next;
  go_to_tile(next, first_tile, tiles, next_tile, tiles_y, tiles_x, tiles_d, in_d);
  find_places(places, staged_tile(next.index, tiles_y, tiles_x, in_h, in_w, tiles_d), thread, batch, in_d, in_h, in_w);
  if (P::copy_bytes == 0 && next.index < tiles) {
    load_batch(words, from_plane(x, next.plane, in_h, in_w), places, next.k_block * P::block_k, 0, thread, in_d, in_h,
               in_w);  // a batch is loaded before the one before it is written
  }
  while (next.index < tiles) {
    const int stage = stage_of(issued);
    mbarrier_wait(&empty[stage], empty_parity(issued));
    unsigned char* to = stages + stage * kStageBytes;
    if (!P::resident && thread == 0) {
      mbarrier_expect(&full[stage], kKBlockWeightBytes);
      bulk_load(to + kInputBytes, block_weights + next.k_block * kKBlockWeightBytes, kKBlockWeightBytes, &full[stage]);
    }
    ++issued;
    const Element* from = from_plane(x, next.plane, in_h, in_w);
    const int channel = next.k_block * P::block_k;
    if (P::copy_bytes > 0) {
      stage_input(to, from, places, channel, thread);
      async_copy_commit();
      if (issued > P::prefetch_stages) {
        async_copy_wait(P::prefetch_stages);
        publish_stage(stages, full, stage_of(issued - 1 - P::prefetch_stages), thread);
      }
      next_k_block(next, places, thread, tiles, next_tile, tiles_y, tiles_x, tiles_d, batch, in_d, in_h, in_w);
    } else {
#pragma unroll
      for (int part = 0; part < kBatches; ++part) {
        store_batch(to, words, part, thread);
        if (part + 1 < kBatches) {
          load_batch(words, from, places, channel, part + 1, thread, in_d, in_h, in_w);
        }
      }
      next_k_block(next, places, thread, tiles, next_tile, tiles_y, tiles_x, tiles_d, batch, in_d, in_h, in_w);
      if (next.index < tiles) {
        load_batch(words, from_plane(x, next.plane, in_h, in_w), places, next.k_block * P::block_k, 0, thread, in_d,
                   in_h, in_w);
      }
      fence_proxy_async();
      mbarrier_arrive(&full[stage]);
    }
  }
  return issued;
}

// Makes the products of all of the warpgroup's tiles, and stores each plane of the output as soon as it has them all.
__device__ __forceinline__ void consume_planes(Accumulators (&acc)[kParts][kAccArrays], Element* __restrict__ y,
                                               const float* bias, const unsigned char* weights,
                                               const unsigned char* stages, unsigned long long* full,
                                               unsigned long long* empty, int first_tile, int next_tile, int tiles,
                                               int tiles_y, int tiles_x, int first_part, int row, int channel, int left,
                                               int first_out, const int phase_row, const int batch, const int in_d,
                                               const int in_h, const int in_w, const int out_d, const int out_h,
                                               const int out_w, int tiles_d) {
  int consumed = 0;  // stages
  for (int index = first_tile; index < tiles; index += next_tile) {
    const Tile tile = kFlat ? plane_tile(index, 0, tiles_x, tiles_d) : square_tile(index, tiles_y, tiles_x, tiles_d);
    const int first_m = first_position(index, tiles_y, tiles_x, tiles_d);
    const int end_m = end_position(first_m, in_d);
    clear(acc);
    pin(acc);
#pragma unroll 1
    for (int m = first_staged(first_m); m < end_m; ++m) {
      if (m < in_d) {
#pragma unroll 1
        for (int k_block = 0; k_block < kKBlocks; ++k_block) {
          const int stage = stage_of(consumed);
          mbarrier_wait(&full[stage], full_parity(consumed));
          const unsigned char* from = stages + stage * kStageBytes;
          wgmma_fence();
          multiply_k_block(acc, from,
                           wgmma_descriptor(P::resident ? weights + k_block * kKBlockWeightBytes : from + kInputBytes,
                                            kInstructionN * 16, 128, 0),
                           first_part, 1);
          wgmma_commit();
          if (k_block > 0) {
            wgmma_wait(1);  // the k-block before
            if (threadIdx.x % 32 == 0) {
              mbarrier_arrive(&empty[stage_of(consumed - 1)]);
            }
          }
          ++consumed;
        }
        wgmma_wait(0);
        pin(acc);
        if (threadIdx.x % 32 == 0) {
          mbarrier_arrive(&empty[stage_of(consumed - 1)]);
        }
      }
#pragma unroll
      for (int depth_tap = 0; depth_tap < P::stride_d; ++depth_tap) {
        const int plane = m * P::stride_d + depth_tap - P::padding_d;
        if (m >= first_m && plane >= 0 && plane < out_d) {
          store_parts(acc, y, bias, tile, plane, depth_tap, first_part, row, channel, left, first_out, phase_row, batch,
                      in_h, in_w, out_d, out_h, out_w);
        }
      }
      move_on(acc);
      pin(acc);
    }
  }
}
