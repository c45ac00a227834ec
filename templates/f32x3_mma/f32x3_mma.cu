// Forward transposed convolution of fp32 on tensor cores by products of warps (mma.sync), three of f16 for each of
// fp32: input with its halo and packed weights in shared memory, and for each kernel tap a product of the input, moved
// by the tap, with its weights, as in mma_gemm.
//
// Values are split into two f16 (device/split.h): high * high is accumulated in one set of accumulators, high * low and
// low * high in another. Weights have a scale for each output channel. The scale of the input follows the largest
// magnitude that the block stages for a k-block. Tensor cores truncate what they add: after some products the
// accumulators go to fp32 totals.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/async_copy.h"
#include "device/call_sizes.h"
#include "device/matrix_load.h"
#include "device/memory.h"
#include "device/mma.h"
#include "device/printed.h"
#include "device/template.h"

// ---- Elements ----
#include "device/split.h"
#include "layout.h"

using WeightIndex = long long;

// ---- Packing ----
#include "weights.h"  // its kernel comes first in emitted sources

// ---- Tiles ----
#include "window/tile.h"

// ---- Staging ----
#include "mma_window/stage_weights.h"
#include "staging.h"

// ---- Products ----
#include "totals.h"

// Adds the products of one step of input channels. `input` is the lane's first pixel, in its half of the step's units;
// `weights` are the lane's of its warp's first columns.
__device__ __forceinline__ void multiply_step(Accumulators& totals, Accumulators& high, Accumulators& low, Held& held,
                                              const unsigned char* input, const unsigned char* weights) {
  constexpr int kLastRow = P::kernel_h - 1;
  constexpr int kLastColumn = P::kernel_w - 1;
  // taps (0 to {kLastRow}, 0 to {kLastColumn})
#pragma unroll
  for (int outer = 0; outer <= kOuterHalo; ++outer) {
    if (held.terms + kGroupTaps > P::most_terms) {
      add_high(totals, high, held.factor);
      held.terms = 0;
    }
    held.terms += kGroupTaps;
    unsigned int a[kLoads][kParts][4];
#pragma unroll
    for (int inner = 0; inner <= kInnerHalo; ++inner) {
      // The first tap's loads are those of all tiles; next taps add those that no tap before them needed.
#pragma unroll
      for (int load = 0; load < kLoads; ++load) {
        if (first_use(load) == inner && is_needed(outer, load)) {
          matrix_load_x4(a[load][0], input + offset_of_load(outer, load));
          matrix_load_x4(a[load][1], input + offset_of_load(outer, load) + kLowOffset);
        }
      }
#pragma unroll
      for (int phase = 0; phase < kPhases; ++phase) {
        const int row = kernel_row(kAlongRow ? outer : inner, phase / P::stride_w);
        const int column = kernel_column(kAlongRow ? inner : outer, phase % P::stride_w);
        if (row >= 0 && column >= 0) {
          const unsigned char* of_tap = weights + (row * P::kernel_w + column) * kTapBytes;
#pragma unroll
          for (int eight = 0; eight < kWarpChannels / 8; ++eight) {
            const uint4 words = *reinterpret_cast<const uint4*>(of_tap + eight * kFragmentBytes);
            const unsigned int b_high[2] = {words.x, words.y};
            const unsigned int b_low[2] = {words.z, words.w};
#pragma unroll
            for (int tile = 0; tile < P::warp_tiles; ++tile) {
              mma_k16_f16(high[tile][phase][eight], a[load_of(tile, inner)][0], b_high);
            }
#pragma unroll
            for (int tile = 0; tile < P::warp_tiles; ++tile) {
              mma_k16_f16(low[tile][phase][eight], a[load_of(tile, inner)][0], b_low);
            }
#pragma unroll
            for (int tile = 0; tile < P::warp_tiles; ++tile) {
              mma_k16_f16(low[tile][phase][eight], a[load_of(tile, inner)][1], b_high);
            }
          }
        }
      }
      if (kGroupTaps < kInnerTaps && has_taps_at(outer, inner) && taps_through(outer, inner) % kGroupTaps == 0 &&
          taps_through(outer, inner) < taps_through(outer, kInnerHalo)) {
        add_high(totals, high, held.factor);
      }
    }
  }
}

// The same of a k-block.
__device__ __forceinline__ void multiply_k_block(Accumulators& totals, Accumulators& high, Accumulators& low,
                                                 Held& held, const unsigned char* input, const unsigned char* weights) {
#pragma unroll 1
  for (int k_step = 0; k_step < kKSteps; ++k_step) {
    multiply_step(totals, high, low, held, input + k_step * (2 * kUnitPitch), weights + k_step * (kTaps * kTapBytes));
  }
  held.low_terms += kKSteps * kStepTaps;
}

// ---- Epilogue ----
#include "mma_window/epilogue.h"

// ---- Kernel ----

// A k-block of a tile.
struct Next {
  int index;    // of the tile
  int k_block;  // of its input channels
  int tap;      // of a volume's depth
  int plane;    // of a volume's input, which the depth tap reads
};
#include "mma_window/planes.h"

// Loads the next k-block if its tile is one of the call's; after a tile's last one, finds the places of the next tile.
__device__ __forceinline__ void load_next(Values& values, Places& places, Next& loaded, Next& next,
                                          const Element* __restrict__ x, int thread, int tiles, int next_tile,
                                          int tiles_y, int tiles_x, const int batch, const int in_d, const int in_h,
                                          const int in_w, const int out_d) {
  loaded.index = next.index;
  loaded.k_block = next.k_block;
  if (kVolume) {
    loaded.tap = next.tap;
  }
  if (next.index < tiles) {
    load_values(values, kVolume ? from_plane(x, next.plane, in_h, in_w) : x, places, next.k_block * P::block_k, thread,
                in_d, in_h, in_w);
    if (++next.k_block == kKBlocks) {
      next.k_block = 0;
      if constexpr (kVolume) {
        next_depth_tap(next, places, thread, tiles, next_tile, tiles_y, tiles_x, batch, in_d, in_h, in_w, out_d);
      } else {
        next.index += next_tile;
        find_places(places, staged_tile(next.index, tiles_y, tiles_x, in_h, in_w, out_d), thread, batch, in_d, in_h,
                    in_w);
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, P::blocks_per_sm)
    f32x3_mma(const Element* __restrict__ x, const unsigned char* __restrict__ packed, const Element* __restrict__ bias,
              Element* __restrict__ y, int batch, int depth, int height, int width) {
  const int in_d = input_depth(depth);
  const int in_h = input_rows(height);
  const int in_w = input_columns(width);
  const int out_d = (output_depth(in_d) + (P::input_stride_d - 1)) / P::input_stride_d;
  const int out_h = (output_rows(in_h) + (P::input_stride_h - 1)) / P::input_stride_h;
  const int out_w = (output_columns(in_w) + (P::input_stride_w - 1)) / P::input_stride_w;
  const int tiles_y = P::input_stride_h > 1 ? (out_h + (P::tile_h - 1)) / P::tile_h
                                            : (in_h + (kBeyondH - kFirstH + P::tile_h - 1)) / P::tile_h;
  const int tiles_x = P::input_stride_w > 1 ? (out_w + (P::tile_w - 1)) / P::tile_w
                                            : (in_w + (kBeyondW - kFirstW + P::tile_w - 1)) / P::tile_w;
  const int tiles = batch * out_d * tiles_y * tiles_x;

  // The block's group, phase rows and output channels. Blocks that read the same input have adjacent indices.
  const int n_tile = blockIdx.x % kNTiles;
  const int first_tile = blockIdx.x / kNTiles;
  const int next_tile = gridDim.x / kNTiles;
  const int group = P::groups == 1 ? 0 : n_tile / (kPhaseGroups * kChannelTiles);
  const int phase_row = kPhaseGroups == 1 ? 0 : n_tile / kChannelTiles % kPhaseGroups * P::phase_rows;
  const int first_out = n_tile % kChannelTiles * P::block_n;  // of the group's
  const unsigned char* own_weights = packed + static_cast<long long>(n_tile) * kPackedTileBytes;
  const Element* own_x = P::groups == 1 ? x
                                        : x + static_cast<long long>(group * kGroupIn) *
                                                  (P::channels_last ? 1 : in_h * in_w) * (P::channels_last ? 1 : in_d);

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  unsigned char* stages = shared + kResidentBytes;
  float2* scales = reinterpret_cast<float2*>(shared + kScalesOffset);
  float* biases = reinterpret_cast<float*>(shared + kBiasOffset);
  float* maxima = reinterpret_cast<float*>(shared + kMaximaOffset);
  const int thread = threadIdx.x;
  for (int i = thread; i < P::block_n; i += kThreads) {
    scales[i] = factors_of(-reinterpret_cast<const int*>(own_weights + kWeightBytes)[i]);
    if (P::has_bias) {
      biases[i] =
          kGroupOut % P::block_n == 0 || first_out + i < kGroupOut ? bias[group * kGroupOut + first_out + i] : 0;
    }
  }
  if (!kVolume || P::resident) {
    stage_weights(P::resident ? shared : stages + kInputBytes, own_weights,
                  P::resident ? kResidentBytes : kKBlockWeightBytes);
    async_copy_commit();
  }

  // The lane's pixel of its warp's first tile, and its weights. Unsigned divisions take fewer registers.
  const int lane = threadIdx.x % 32;
  const int warp_m = threadIdx.x / 32 % P::warps_m;
  const int warp_n = threadIdx.x / 32 / P::warps_m;
  const int place = warp_m * kWarpRows;
  const int pixel = kInputStrideH * (first_row(place) + rows_to(0, lane % 16)) * kStagedColumns +
                    kInputStrideW * (first_column(place) + columns_to(0, lane % 16));
  const int input_offset = pixel_offset(pixel) + lane / 16 * kUnitPitch;
  const int lane_weights = warp_n * (kWarpChannels / 8 * kFragmentBytes) + lane * 16;

  // What registers hold is written to a stage before the products of the stage before; then more is loaded, whose
  // largest magnitude is written after them.
  Next next;
  next.index = first_tile;
  next.k_block = 0;
  Next loaded;
  Places places;
  Values values = {};
  find_places(places, staged_tile(first_tile, tiles_y, tiles_x, in_h, in_w, out_d), thread, batch, in_d, in_h, in_w);
  if constexpr (kVolume) {
    next.tap = -1;
    next_depth_tap(next, places, thread, tiles, next_tile, tiles_y, tiles_x, batch, in_d, in_h, in_w, out_d);
  }
  load_next(values, places, loaded, next, own_x, thread, tiles, next_tile, tiles_y, tiles_x, batch, in_d, in_h, in_w,
            out_d);
  if (kVolume && !P::resident && loaded.index < tiles) {
    stage_weights(stages + kInputBytes, own_weights + loaded.tap * kKBlocks * kKBlockWeightBytes, kKBlockWeightBytes);
    async_copy_commit();
  }
  if (kActivatesInput) {
    activate_values(values);
  }
  write_maximum(maxima, values, thread);
  __syncthreads();
  int exponent = next_exponent(block_maximum(maxima), 0, true);  // of the scale of what is written last
  store_split(stages, values, power_of_two(exponent), thread);
  load_next(values, places, loaded, next, own_x, thread, tiles, next_tile, tiles_y, tiles_x, batch, in_d, in_h, in_w,
            out_d);
  if (kActivatesInput) {
    activate_values(values);
  }
  write_maximum(maxima + kWarps, values, thread);

  int stage = 0;
#pragma unroll 1
  for (int index = first_tile; index < tiles; index += next_tile) {
    Accumulators high = {};
    Accumulators low = {};
    Accumulators totals = {};
    Held held = {0, 0, exponent, exponent, 1};
    const int plane = kVolume ? index / (tiles_y * tiles_x) % out_d : 0;
#pragma unroll 1
    for (int kd = kVolume ? depth_tap_from(0, plane, in_d) : 0; kd < P::kernel_d;
         kd = kVolume ? depth_tap_from(kd + 1, plane, in_d) : kd + 1) {
#pragma unroll 1
      for (int k_block = 0; k_block < kKBlocks; ++k_block) {
        const unsigned char* from = stages + stage * kStageBytes;
        async_copy_wait(0);
        __syncthreads();  // the stage has come, and all have read the one that is written now
        if (kTileKBlocks > 1) {
          begin_k_block(totals, high, low, held, exponent);
        }
        if (loaded.index < tiles) {
          unsigned char* to = stages + (1 - stage) * kStageBytes;
          if (!P::resident) {
            stage_weights(
                to + kInputBytes,
                own_weights + (kVolume ? loaded.tap * kKBlocks + loaded.k_block : loaded.k_block) * kKBlockWeightBytes,
                kKBlockWeightBytes);
            async_copy_commit();
          }
          exponent = next_exponent(block_maximum(maxima + (1 - stage) * kWarps), exponent,
                                   kVolume ? loaded.index != index : loaded.k_block == 0);
          if (kTileKBlocks > 1 && (kVolume ? loaded.index == index : loaded.k_block > 0)) {
            exponent = min(exponent, held.total + kMostRaise);
          }
          store_split(to, values, power_of_two(exponent), thread);
          load_next(values, places, loaded, next, own_x, thread, tiles, next_tile, tiles_y, tiles_x, batch, in_d, in_h,
                    in_w, out_d);
        }
        multiply_k_block(totals, high, low, held, from + input_offset,
                         (P::resident ? shared + (kd * kKBlocks + k_block) * kKBlockWeightBytes : from + kInputBytes) +
                             lane_weights);
        if (loaded.index < tiles) {
          if (kActivatesInput) {
            activate_values(values);
          }
          write_maximum(maxima + stage * kWarps, values, thread);
        }
        stage = 1 - stage;
      }
    }
    add_all(totals, high, low, held);
    unscale(totals, scales + warp_n * kWarpChannels + lane % 4 * 2, held.total);
    const Tile tile = square_tile(index, tiles_y, tiles_x, out_d);
    store_tiles(totals, y, reinterpret_cast<Element*>(shared + kOutputOffset + thread / 32 * kWarpOutputBytes), biases,
                tile, place, lane, warp_n * kWarpChannels, group * kGroupOut + first_out, kGroupOut - first_out,
                phase_row, batch, in_h, in_w, out_d, out_h, out_w);
  }
}
