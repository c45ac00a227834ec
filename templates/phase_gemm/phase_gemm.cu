// Forward transposed convolution on tensor cores (wgmma), 16 bits, channels last, for few output channels: the columns
// of a product are phases of outputs.
//
// M is positions m = (output + padding) / stride of a row, N the phases of all output channels, K input channels. The
// taps of all phases that read the same neighbour of a position are one product, whose weights are zeros for phases
// that have no such tap. A block walks down a strip of positions: N has the rows of positions that an input row adds
// to, so each input row is multiplied once. After that the first row of these is complete and stored, and the others
// move up by one. A neighbour along a row is the same operand, moved by a pixel. So nothing is added up outside of the
// accumulators, and no pixel is staged twice but those of a halo.
//
// A zero times an infinity is NaN, which a phase without that tap must not see. So outputs that are not finite are made
// again, by definition in fp32.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/barrier.h"
#include "device/memory.h"
#include "device/printed.h"
#include "device/tensor_copy.h"
#include "device/warp.h"
#include "device/warpgroup.h"

// ---- Elements ----
#include "device/element.h"
#include "layout.h"

// ---- Stages ----
#include "device/ring.h"
#include "forward_gemm/stage_tails.h"

// ---- Tiles ----
#include "device/tiles.h"

// A tile: its first image, its first position, the row of positions after its last, and its first input row.
struct Tile {
  int image;
  int row;
  int column;
  int end;
  int first_input;
};
__device__ __forceinline__ Tile tile_at(int index, const CallSizes& sizes) {
  Tile tile;
  tile.image = image_of_tile(index, sizes) * P::tile_n;
  tile.row = row_of_tile(index, sizes) * P::rows + kFirstH;
  tile.column = column_of_tile(index, sizes) * P::tile_w + kFirstW;
  tile.end = min(tile.row + P::rows, sizes.in_h + kBeyondH);
  tile.first_input = max(0, tile.row - (kReachH - 1));
  return tile;
}

// ---- Producer ----

// The last warp's first lane: issues the copies of all stages of the block's tiles.
__device__ __forceinline__ void copy_tiles(const Pipeline& pipeline, const TensorMap& x_map, int tiles,
                                           const CallSizes& sizes) {
  int stage = 0;
  unsigned int parity = 1;  // the first time waits end at once
#pragma unroll 1
  for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
    const Tile tile = tile_at(index, sizes);
#pragma unroll 1
    for (int row = tile.first_input; row < tile.end; ++row) {  // those past the image's are zeros
#pragma unroll 1
      for (int k_block = 0; k_block < kKBlocks; ++k_block) {
        mbarrier_wait(&pipeline.empty[stage], parity);
        mbarrier_arrive_expect(&pipeline.full[stage], kCopiedBytes);
        tensor_load_4d(pipeline.shared + stage * kStageBytes, x_map, &pipeline.full[stage], k_block * P::block_k,
                       tile.column - (kReachW - 1), row, tile.image);
        next_stage(stage, parity);
      }
    }
  }
}

// ---- Weights ----
#include "forward_gemm/resident_weights.h"

// ---- Products ----

#include "device/accumulators.h"

// Issues the products of a stage. `pixels` are those of the warpgroup's first position.
__device__ __forceinline__ void multiply_stage(Accumulators& acc, const unsigned char* pixels,
                                               const unsigned char* weights) {
  const unsigned long long a = wgmma_descriptor(pixels, 0, 8 * kPixelBytes, kPixelBytes);
  const unsigned long long b = wgmma_descriptor(weights, kInstructionN * 16, 128, 0);
  constexpr int kLastRow = P::kernel_h - 1;
  constexpr int kLastColumn = P::kernel_w - 1;
  wgmma_fence();
  // taps (0 to {kLastRow}, 0 to {kLastColumn})
#pragma unroll
  for (int shift = 0; shift < kReachW; ++shift) {
#pragma unroll
    for (int k_step = 0; k_step < kKSteps; ++k_step) {
#pragma unroll
      for (int tile = 0; tile < kMTiles; ++tile) {
        wgmma_ss(P::type, kWgmmaMajorK, kWgmmaMajorK, acc[tile],
                 wgmma_descriptor_move(a, (tile * (64 * P::warpgroups) + (kReachW - 1 - shift)) * kPixelBytes +
                                              k_step * (kInstructionK * kBytes)),
                 wgmma_descriptor_move(b, (shift * kKSteps + k_step) * kProductBytes), 1);
      }
    }
  }
  wgmma_commit();
}

// The sums of a row of positions, of a thread's two of each tile.
using RowSums = float[2 * kMTiles][kSlots];

// Takes the first row of positions, and moves the accumulators of the others up by one; those of the last row become
// zero. It adds zeros, since the compiler moves copies of accumulators up among the products, and then waits for these.
__device__ __forceinline__ void roll(RowSums& sums, Accumulators& acc) {
#pragma unroll
  for (int tile = 0; tile < kMTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < kRowColumns / 2; ++i) {
      sums[tile * 2 + i / 2 % 2][i / 4 * 2 + i % 2] = acc[tile][i] + 0.0f;
    }
  }
#pragma unroll
  for (int tile = 0; tile < kMTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < kInstructionN / 2; ++i) {
      acc[tile][i] = i + kRowColumns / 2 < kInstructionN / 2 ? acc[tile][i + kRowColumns / 2] + 0.0f : 0;
    }
  }
}

// Issues the products of an input row, and releases all stages but the last, whose barrier it returns.
__device__ __forceinline__ unsigned long long* multiply_row(Accumulators& acc, const Pipeline& pipeline, int& stage,
                                                            unsigned int& parity, int warpgroup) {
  unsigned long long* last = pipeline.empty;
  pin(acc);
#pragma unroll 1
  for (int k_block = 0; k_block < kKBlocks; ++k_block) {
    mbarrier_wait(&pipeline.full[stage], parity);
    multiply_stage(acc, pipeline.shared + stage * kStageBytes + warpgroup * (64 * kPixelBytes),
                   pipeline.shared + kWeightOffset + k_block * kBlockWeightBytes);
    if (k_block > 0) {
      wgmma_wait(1);
      warp_arrive(last, true);
    }
    last = &pipeline.empty[stage];
    next_stage(stage, parity);
  }
  return last;
}

// ---- Epilogue ----
#include "epilogue.h"

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, P::blocks_per_sm)
    phase_gemm(__grid_constant__ const TensorMap x_map, const Element* __restrict__ x,
               const Element* __restrict__ weight, const Element* __restrict__ bias, Element* __restrict__ y, int batch,
               int height, int width) {
  CallSizes sizes;
  sizes.batch = batch;
  sizes.in_h = input_rows(height);
  sizes.in_w = input_columns(width);
  sizes.out_h = output_rows(sizes.in_h);
  sizes.out_w = output_columns(sizes.in_w);
  sizes.tiles_w = (sizes.in_w + (kBeyondW - kFirstW + P::tile_w - 1)) / P::tile_w;
  sizes.tiles_h = (sizes.in_h + (kBeyondH - kFirstH + P::rows - 1)) / P::rows;
  const int tiles = ((batch - 1) / P::tile_n + 1) * sizes.tiles_h * sizes.tiles_w;

  Pipeline pipeline;
  pipeline.shared = shared_align(shared_memory(), 1024);
  pipeline.full = reinterpret_cast<unsigned long long*>(pipeline.shared + kBarrierOffset);
  pipeline.empty = pipeline.full + P::stages;
  if (threadIdx.x == 0) {
    tensor_prefetch(x_map);
    init_stages(pipeline.full, pipeline.empty, 1, kConsumers / 32);
    fence_mbarrier_init();
  }
  __syncthreads();

  const int warp = warp_uniform(threadIdx.x / 32);
  if (warp == kConsumers / 32) {
    if (elect_one()) {
      copy_tiles(pipeline, x_map, tiles, sizes);
    }
  } else {
    const int quarter = threadIdx.x % 4;
    const int own = warp / 4 * 64 + warp % 4 * 16 + threadIdx.x % 32 / 4;  // position of the tile
    Biases biases;
    load_biases(biases, bias, quarter);  // which come while weights do
    if (kTailBytes > 0) {
      zero_tails(pipeline.shared, kCopiedBytes, kTailBytes, kConsumers);
    }
    load_weights(pipeline.shared + kWeightOffset, weight);
    named_barrier_sync(1, kConsumers);

    int stage = 0;
    unsigned int parity = 0;
#pragma unroll 1
    for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
      const Tile tile = tile_at(index, sizes);
      Accumulators acc = {};
      RowSums sums = {};
      // Outputs of a row are stored during the products of the next one.
#pragma unroll 1
      for (int row = tile.first_input; row < tile.end; ++row) {
        unsigned long long* last = multiply_row(acc, pipeline, stage, parity, warp / 4);
        float finite = 0;
        if (row > tile.row) {
          finite = store_row(sums, biases, y, tile, row - 1, own, quarter, sizes);
        }
        wgmma_wait(0);
        pin(acc);
        warp_arrive(last, true);
        if (finite != 0) {
          make_again(sums, x, weight, bias, y, tile, row - 1, own, quarter, sizes);
        }
        roll(sums, acc);
      }
      if (store_row(sums, biases, y, tile, tile.end - 1, own, quarter, sizes) != 0) {
        make_again(sums, x, weight, bias, y, tile, tile.end - 1, own, quarter, sizes);
      }
    }
  }
}
