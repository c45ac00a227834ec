// Forward transposed convolution on tensor cores (mma.sync), for few output channels in NCHW: the rows of a product are
// phases of outputs.
//
// M is the phases of all output channels, N positions m = (output + padding) / stride, K input channels. The taps of
// all phases that read the same neighbour of a position are one product, a shift, whose weights are zeros for phases
// that have no such tap. So outputs stay in registers until they are stored, and the input is read once for all phases.
// Weights lie in shared memory as fragments for as long as a block goes on to other tiles; tensor copies bring the
// input, whose stages run through tiles without a pause.
//
// A zero times an infinity is NaN, which a phase without that tap must not see. So outputs that are not finite are made
// again, by definition in fp32.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/barrier.h"
#include "device/memory.h"
#include "device/mma.h"
#include "device/ring.h"
#include "device/tensor_copy.h"
#include "device/warp.h"
#include "fragments.h"

#include "forward_gemm/stage_tails.h"

// ---- Tiles ----
#include "device/tiles.h"

// A tile: its image, and its first position.
struct Tile {
  int image;
  int row;
  int column;
};
__device__ __forceinline__ Tile tile_at(int index, const CallSizes& sizes) {
  return {image_of_tile(index, sizes), row_of_tile(index, sizes) * P::tile_h + kFirstH,
          column_of_tile(index, sizes) * kTileColumns + kOriginW};
}

// ---- Products ----

using Accumulators = float[P::warp_chunks][kRowTiles][kVector][4];

__device__ __forceinline__ void multiply_add(float (&acc)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  if (P::type == kWgmmaTf32) {
    mma_k8_tf32(acc, a, b);
  } else if (P::type == kWgmmaF16) {
    mma_k16_f16(acc, a, b);
  } else {
    mma_k16_bf16(acc, a, b);
  }
}

// Bits that exist when all products are done, so all that was loaded for them. An arrival alone does not wait for
// loads, and a copy would overtake them.
__device__ __forceinline__ unsigned int bits_of_all(const Accumulators& acc) {
  unsigned int bits = 0;
#pragma unroll
  for (int i = 0; i < P::warp_chunks * kRowTiles * kVector; ++i) {
    bits |= __float_as_uint(acc[i / (kRowTiles * kVector)][i / kVector % kRowTiles][i % kVector][0]);
  }
  return bits;
}

// The products of a stage. `stage` is the lane's own place in it, `weights` its own of the k-block.
__device__ __forceinline__ void multiply_stage(Accumulators& acc, const Element* stage, const unsigned int* weights) {
  constexpr int kLastRow = P::kernel_h - 1;
  constexpr int kLastColumn = P::kernel_w - 1;
  // taps (0 to {kLastRow}, 0 to {kLastColumn})
#pragma unroll
  for (int k_step = 0; k_step < kKSteps; ++k_step) {
#pragma unroll
    for (int shift_h = 0; shift_h < kReachH; ++shift_h) {
      Rows rows[P::warp_chunks];
#pragma unroll
      for (int chunk = 0; chunk < P::warp_chunks; ++chunk) {
        load_rows(rows[chunk],
                  stage + k_step * kInstructionK * kStagedPixels + shift_h * P::staged_columns + chunk * kChunk);
      }
#pragma unroll
      for (int shift_w = 0; shift_w < kReachW; ++shift_w) {
#pragma unroll
        for (int row_tile = 0; row_tile < kRowTiles; ++row_tile) {
          const int fragment = (k_step * kShifts + shift_h * kReachW + shift_w) * kRowTiles + row_tile;
          unsigned int a[4];
          load_weights(a, weights + fragment * kFragmentWords);
#pragma unroll
          for (int chunk = 0; chunk < P::warp_chunks; ++chunk) {
#pragma unroll
            for (int tile = 0; tile < kVector; ++tile) {
              unsigned int b[2];
              fragment_of(b, rows[chunk], tile + shift_w);
              multiply_add(acc[chunk][row_tile][tile], a, b);
            }
          }
        }
      }
    }
  }
}

// ---- Epilogue ----
#include "epilogue.h"

// ---- Kernel ----

// The last warp's first lane: issues the copies of all stages of the block's tiles.
__device__ __forceinline__ void copy_tiles(const Pipeline& pipeline, const TensorMap& x_map, int tiles,
                                           const CallSizes& sizes) {
  tensor_prefetch(x_map);
  int issued = 0;
#pragma unroll 1
  for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
    const Tile tile = tile_at(index, sizes);
#pragma unroll 1
    for (int k_block = 0; k_block < kKBlocks; ++k_block) {
      const int stage = stage_of(issued);
      mbarrier_wait(&pipeline.empty[stage], (issued / P::stages + 1) % 2);  // the first time at once
      mbarrier_arrive_expect(&pipeline.full[stage], kCopiedBytes);
      const int row = tile.row - (kReachH - 1);
      const int column = tile.column - (kReachW - 1);
      tensor_load_4d(pipeline.shared + stage * kStageBytes, x_map, &pipeline.full[stage], column, row,
                     k_block * P::block_k, tile.image);
      ++issued;
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, P::blocks_per_sm)
    mma_phases(__grid_constant__ const TensorMap x_map, const Element* __restrict__ x,
               const Element* __restrict__ weight, const Element* __restrict__ bias, Element* __restrict__ y, int batch,
               int height, int width) {
  CallSizes sizes;
  sizes.in_h = input_rows(height);
  sizes.in_w = input_columns(width);
  sizes.out_h = output_rows(sizes.in_h);
  sizes.out_w = output_columns(sizes.in_w);
  sizes.tiles_h = (sizes.in_h + (kBeyondH - kFirstH + P::tile_h - 1)) / P::tile_h;
  sizes.tiles_w = (sizes.in_w + (kBeyondW - kOriginW + kTileColumns - 1)) / kTileColumns;
  const int tiles = batch * sizes.tiles_h * sizes.tiles_w;

  Pipeline pipeline;
  pipeline.shared = shared_align(shared_memory(), 128);
  pipeline.full = reinterpret_cast<unsigned long long*>(pipeline.shared + kBarrierOffset);
  pipeline.empty = pipeline.full + P::stages;
  unsigned int* weights = reinterpret_cast<unsigned int*>(pipeline.shared + kWeightOffset);
  if (threadIdx.x == 0) {
    init_stages(pipeline.full, pipeline.empty, 1, P::warps);
    fence_mbarrier_init();
  }
  if (kTailBytes > 0) {
    zero_tails(pipeline.shared, kCopiedBytes, kTailBytes, kThreads);
  }
  __syncthreads();

  const int warp = warp_uniform(threadIdx.x / 32);
  const int lane = threadIdx.x % 32;
  if (warp == P::warps) {
    if (lane == 0) {
      copy_tiles(pipeline, x_map, tiles, sizes);
    }
  } else {
    stage_weights(weights, weight, warp, lane);
    named_barrier_sync(1, 32 * P::warps);

    const int first = warp * kWarpPositions;
    const int lane_place = channel_of(lane, 0) * kStagedPixels + first + lane / 4 * kVector;
    float* exchange = reinterpret_cast<float*>(pipeline.shared + kExchangeOffset) + warp * kExchanged;
    const unsigned int zero = gridDim.x >> 31;  // which the compiler does not know
    int consumed = 0;
#pragma unroll 1
    for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
      Accumulators acc = {};
#pragma unroll 1
      for (int k_block = 0; k_block < kKBlocks; ++k_block) {
        const int stage = stage_of(consumed);
        mbarrier_wait(&pipeline.full[stage], full_parity(consumed));
        multiply_stage(acc, reinterpret_cast<const Element*>(pipeline.shared + stage * kStageBytes) + lane_place,
                       weights + k_block * (kWeightWords / kKBlocks) + lane * 4);
        __syncwarp();  // all lanes have read the stage
        if (lane == 0) {
          mbarrier_arrive(&pipeline.empty[stage] + (bits_of_all(acc) & zero));
        }
        ++consumed;
      }
      store_tile(acc, exchange, x, weight, bias, y, tile_at(index, sizes), sizes, first, lane);
    }
  }
}
