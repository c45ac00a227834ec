// Forward transposed convolution on tensor cores by products of warps (mma.sync): input with its halo and packed
// weights in shared memory, and for each kernel tap a product of the input, moved by the tap, with its weights.
//
// Along each axis an output has position m = (output + padding) / stride and phase (output + padding) % stride. Kernel
// tap k makes phase dilation * k % stride and reads the input at m - dilation * k / stride. A warp has the accumulators
// of all phases of its positions: what it loads of the input serves all taps that read there. A tap moves an address by
// whole pixels, and eight adjacent pixels lie in different banks, whatever the tap. Another kernel has packed the
// weights in the order in which lanes hold them.
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
#include "layout.h"

// ---- Elements ----
#include "device/element.h"

using WeightIndex = long long;

#include "device/exchanged_weights.h"
#include "device/thread_channels.h"

// ---- Packing ----

// Packs the weights as blocks take them: for each N tile and k-block of input channels, by steps, taps and columns.
extern "C" __global__ void __launch_bounds__(kPackers)
    pack_weights(const Element* __restrict__ weight, unsigned char* __restrict__ packed) {
  constexpr int kKernel = P::kernel_d * P::kernel_h * P::kernel_w;
  constexpr int kHalves = kFragmentColumns / 8;
  constexpr int kColumns = kChannelTiles * P::block_n / kHalves;
  // A thread packs what four lanes hold of a step and tap, so that it writes whole sectors: the step's channels of one
  // column or of two, eight apart. Neighbours read neighbours.
  const long long i = static_cast<long long>(blockIdx.x) * kPackers + threadIdx.x;
  if (i < static_cast<long long>(P::groups) * kKBlocks * kKSteps * kColumns * kKernel) {
    const int tap = static_cast<int>(P::weight_channels_last ? i / kColumns % kKernel : i % kKernel);
    const int column = static_cast<int>(P::weight_channels_last ? i % kColumns : i / kKernel % kColumns);
    const int step = static_cast<int>(i / (kKernel * kColumns) % (kKBlocks * kKSteps));
    const int group = static_cast<int>(i / (static_cast<long long>(kKernel) * kColumns * kKBlocks * kKSteps));
    const int first = column / 8 * kFragmentColumns + column % 8;  // of the thread's columns
    unsigned int words[4][kFragmentWords];
    CONVTGEN_UNROLL
    for (int half = 0; half < kHalves; ++half) {
      const int of_warp = (first + half * 8) % kWarpChannels;
      const int co = first + half * 8 - of_warp + channel_of_column(of_warp);
      CONVTGEN_UNROLL
      for (int unit = 0; unit < 2; ++unit) {
        CONVTGEN_UNROLL
        for (int lane = 0; lane < 4; ++lane) {
          unsigned int halves[2];
          CONVTGEN_UNROLL
          for (int e = 0; e < kVector / 4; ++e) {
            const int ci = (2 * step + unit) * kVector + kVector / 4 * lane + e;
            Element value = 0;
            if ((kGroupOut % P::block_n == 0 || co < kGroupOut) && (kGroupIn % P::block_k == 0 || ci < kGroupIn)) {
              value = weight[product_weight_offset(
                  static_cast<WeightIndex>(P::weights_exchanged ? ci : group * kGroupIn + ci),
                  P::weights_exchanged ? group * kGroupOut + co : co, tap, kGroupIn, kGroupOut, kKernel)];
            }
            if constexpr (P::type == kWgmmaTf32) {
              halves[e] = operand(__float_as_uint(value));
            } else {
              halves[e] = value;
            }
          }
          words[lane][half * 2 + unit] = kVector == 4 ? halves[0] : halves[0] | halves[1] << 16;
        }
      }
    }
    const int kd = P::kernel_d == 1 ? 0 : tap / (P::kernel_h * P::kernel_w);
    const int kh = P::kernel_d == 1 ? tap / P::kernel_w : tap / P::kernel_w % P::kernel_h;
    const int kw = tap % P::kernel_w;
    const int n_tile = (group * kPhaseGroups + phase_group_of(kh)) * kChannelTiles + first / P::block_n;
    unsigned char* k_block =
        packed + ((static_cast<long long>(n_tile) * P::kernel_d + kd) * kKBlocks + step / kKSteps) * kKBlockWeightBytes;
    unsigned char* of_tap = k_block + (step % kKSteps * kTaps + row_of_kernel_row(kh) * P::kernel_w + kw) * kTapBytes;
    // Lane 4 * g + t has word t of column g.
    unsigned char* to =
        of_tap + first % P::block_n / kFragmentColumns * (kFragmentColumns * 32) + first % 8 * (4 * kFragmentWords * 4);
    CONVTGEN_UNROLL
    for (int lane = 0; lane < 4; ++lane) {
      if constexpr (kFragmentWords == 4) {
        *reinterpret_cast<uint4*>(to + lane * 16) =
            make_uint4(words[lane][0], words[lane][1], words[lane][2], words[lane][3]);
      } else {
        *reinterpret_cast<uint2*>(to + lane * 8) = make_uint2(words[lane][0], words[lane][1]);
      }
    }
  }
}

// ---- Tiles ----
#include "window/tile.h"

// ---- Staging ----
#include "mma_window/stage_weights.h"
#include "window/staging.h"

// ---- Products ----
#include "mma_window/accumulators.h"

__device__ __forceinline__ void multiply_add(float (&acc)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  if (P::type == kWgmmaF16) {
    mma_k16_f16(acc, a, b);
  } else if (P::type == kWgmmaBf16) {
    mma_k16_bf16(acc, a, b);
  } else {
    mma_k8_tf32(acc, a, b);
  }
}

// Adds the products of one step of input channels. `input` is the lane's first pixel, in its half of the step's units;
// `weights` are the lane's of its warp's first columns.
__device__ __forceinline__ void multiply_step(Accumulators& acc, const unsigned char* input,
                                              const unsigned char* weights) {
  constexpr int kLastRow = P::kernel_h - 1;
  constexpr int kLastColumn = P::kernel_w - 1;
  // taps (0 to {kLastRow}, 0 to {kLastColumn})
#pragma unroll
  for (int outer = 0; outer <= kOuterHalo; ++outer) {
    unsigned int a[kLoads][4];
#pragma unroll
    for (int inner = 0; inner <= kInnerHalo; ++inner) {
      // The first tap's loads are those of all tiles; next taps add those that no tap before them needed.
#pragma unroll
      for (int load = 0; load < kLoads; ++load) {
        if (first_use(load) == inner && is_needed(outer, load)) {
          matrix_load_x4(a[load], input + offset_of_load(outer, load));
        }
      }
#pragma unroll
      for (int phase = 0; phase < kPhases; ++phase) {
        const int row = kernel_row(kAlongRow ? outer : inner, phase / P::stride_w);
        const int column = kernel_column(kAlongRow ? inner : outer, phase % P::stride_w);
        if (row >= 0 && column >= 0) {
          const unsigned char* of_tap = weights + (row * P::kernel_w + column) * kTapBytes;
          if (kFragmentWords == 4) {
#pragma unroll
            for (int two = 0; two < kWarpChannels / 16; ++two) {
              const uint4 words = *reinterpret_cast<const uint4*>(of_tap + two * 512);
              const unsigned int b[2] = {words.x, words.y};
              const unsigned int next[2] = {words.z, words.w};
#pragma unroll
              for (int tile = 0; tile < P::warp_tiles; ++tile) {
                multiply_add(acc[tile][phase][two * 2], a[load_of(tile, inner)], b);
                multiply_add(acc[tile][phase][two * 2 + 1], a[load_of(tile, inner)], next);
              }
            }
          } else {
#pragma unroll
            for (int one = 0; one < kWarpChannels / 8; ++one) {
              const uint2 words = *reinterpret_cast<const uint2*>(of_tap + one * 256);
              const unsigned int b[2] = {words.x, words.y};
#pragma unroll
              for (int tile = 0; tile < P::warp_tiles; ++tile) {
                multiply_add(acc[tile][phase][one], a[load_of(tile, inner)], b);
              }
            }
          }
        }
      }
    }
  }
}

// The same of a k-block. Weights of the next k-block, where there is one, are copied step by step: copies all at once
// would keep products waiting for what they load.
__device__ __forceinline__ void multiply_k_block(Accumulators& acc, const unsigned char* input,
                                                 const unsigned char* weights, unsigned char* next_to,
                                                 const unsigned char* next_from, bool more) {
  constexpr int kStepBytes = kTaps * kTapBytes;
  if (kUnrolls) {
#pragma unroll
    for (int k_step = 0; k_step < kKSteps; ++k_step) {
      if (!P::resident && more) {
        stage_weights(next_to + k_step * kStepBytes, next_from + k_step * kStepBytes, kStepBytes);
      }
      multiply_step(acc, input + k_step * (2 * kUnitPitch), weights + k_step * kStepBytes);
    }
  } else {
#pragma unroll 1
    for (int k_step = 0; k_step < kKSteps; ++k_step) {
      if (!P::resident && more) {
        stage_weights(next_to + k_step * kStepBytes, next_from + k_step * kStepBytes, kStepBytes);
      }
      multiply_step(acc, input + k_step * (2 * kUnitPitch), weights + k_step * kStepBytes);
    }
  }
}

// ---- Epilogue ----
#include "mma_window/epilogue.h"

// ---- Kernel ----

// What a block stages next.
struct Next {
  int index;    // of the tile
  int k_block;  // of its input channels
  int tap;      // of a volume's depth
  int plane;    // of a volume's input, which the depth tap reads
};
#include "mma_window/planes.h"

// Registers that a thread holds while its block multiplies: accumulators, and input on its way with where it is from.
// Where 512 threads have more than this, indices of the epilogue would be spilled, so each tile finds them anew.
constexpr int kHeldRegisters =
    P::warp_tiles * kPhases * kWarpChannels / 2 + (P::copy_bytes > 0 ? 0 : kItems * kWords + 2 * kPlaces);
constexpr bool kFindsLane = !P::channels_last && kThreads * P::blocks_per_sm >= 512 && kHeldRegisters > 60;

extern "C" __global__ void __launch_bounds__(kThreads, P::blocks_per_sm)
    mma_gemm(const Element* __restrict__ x, const unsigned char* __restrict__ packed, const Element* __restrict__ bias,
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
  const int tiles =
      kFlat ? static_cast<int>((static_cast<long long>(batch) * ((in_h + kGapH) * (in_w + kGapW)) + (kPositions - 1)) /
                               kPositions)
            : batch * out_d * tiles_y * tiles_x;

  // The block's group, phase rows and output channels. Blocks that read the same input have adjacent indices.
  const int n_tile = blockIdx.x % kNTiles;
  const int first_tile = blockIdx.x / kNTiles;
  const int next_tile = gridDim.x / kNTiles;
  const int group = P::groups == 1 ? 0 : n_tile / (kPhaseGroups * kChannelTiles);
  const int phase_row = kPhaseGroups == 1 ? 0 : n_tile / kChannelTiles % kPhaseGroups * P::phase_rows;
  const int first_out = n_tile % kChannelTiles * P::block_n;  // of the group's
  const unsigned char* own_weights =
      packed + static_cast<long long>(n_tile) * (P::kernel_d * kKBlocks * kKBlockWeightBytes);
  const Element* own_x = P::groups == 1 ? x
                                        : x + static_cast<long long>(group * kGroupIn) *
                                                  (P::channels_last ? 1 : in_h * in_w) * (P::channels_last ? 1 : in_d);

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  unsigned char* stages = shared + kResidentBytes;
  float* biases = reinterpret_cast<float*>(shared + kBiasOffset);
  const int thread = threadIdx.x;
  if (P::has_bias) {
    for (int i = thread; i < P::block_n; i += kThreads) {
      biases[i] =
          kGroupOut % P::block_n == 0 || first_out + i < kGroupOut ? widen(bias[group * kGroupOut + first_out + i]) : 0;
    }
    if (kVolume) {
      __syncthreads();  // a tile without depth taps waits for nothing else
    }
  }
  if (P::resident) {
    stage_weights(shared, own_weights, kResidentBytes);
  }

  // The lane's pixel of its warp's first tile, and its weights.
  const int lane = thread % 32;
  const int warp_m = thread / 32 % P::warps_m;
  const int warp_n = thread / 32 / P::warps_m;
  const int place = warp_m * kWarpRows;
  const int pixel = kInputStrideH * (first_row(place) + rows_to(0, lane % 16)) * kStagedColumns +
                    kInputStrideW * (first_column(place) + columns_to(0, lane % 16));
  const int input_offset = pixel_offset(pixel) + lane / 16 * kUnitPitch;
  const int lane_weights = warp_n * (kWarpChannels * 32) + lane * (4 * kFragmentWords);

  Next next;
  next.index = first_tile;
  next.k_block = 0;
  Places places;
  find_places(places, staged_tile(first_tile, tiles_y, tiles_x, in_h, in_w, out_d), thread, batch, in_d, in_h, in_w);
  if constexpr (kVolume) {
    next.tap = -1;
    next_depth_tap(next, places, thread, tiles, next_tile, tiles_y, tiles_x, batch, in_d, in_h, in_w, out_d);
  }
  Words words;
  if (P::copy_bytes > 0) {
#pragma unroll 1
    for (int stage = 0; stage < P::stages - 1; ++stage) {
      if (next.index < tiles) {
        unsigned char* to = stages + stage * kStageBytes;
        stage_input(to, kVolume ? from_plane(own_x, next.plane, in_h, in_w) : own_x, places, next.k_block * P::block_k,
                    thread);
        if (!P::resident) {
          stage_weights(
              to + kInputBytes,
              own_weights + (kVolume ? next.tap * kKBlocks + next.k_block : next.k_block) * kKBlockWeightBytes,
              kKBlockWeightBytes);
        }
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
      async_copy_commit();
    }
  } else if ((kVolume ? next.index : first_tile) < tiles) {
    if (!P::resident) {
      stage_weights(stages + kInputBytes, own_weights + (kVolume ? next.tap * kKBlocks : 0) * kKBlockWeightBytes,
                    kKBlockWeightBytes);
    }
    async_copy_commit();
    load_batch(words, kVolume ? from_plane(own_x, next.plane, in_h, in_w) : own_x, places, 0, 0, thread, in_d, in_h,
               in_w);
    store_batch(stages, words, 0, thread);
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

  int stage = 0;
#pragma unroll 1
  for (int index = first_tile; index < tiles; index += next_tile) {
    Accumulators acc = {};
    const int plane = kVolume ? index / (tiles_y * tiles_x) % out_d : 0;
#pragma unroll 1
    for (int kd = kVolume ? depth_tap_from(0, plane, in_d) : 0; kd < P::kernel_d;
         kd = kVolume ? depth_tap_from(kd + 1, plane, in_d) : kd + 1) {
#pragma unroll 1
      for (int k_block = 0; k_block < kKBlocks; ++k_block) {
        const unsigned char* from = stages + stage * kStageBytes;
        async_copy_wait(P::copy_bytes > 0 ? P::stages - 2 : 0);
        if (P::copy_bytes > 0 && (P::type == kWgmmaTf32 || kActivatesInput)) {
          round_input(stages + stage * kStageBytes, thread);
        }
        __syncthreads();  // the stage has come, and all have read the one that is staged now
        const int staged = stage == 0 ? P::stages - 1 : stage - 1;
        unsigned char* to = stages + staged * kStageBytes;
        const bool more = next.index < tiles;
        const unsigned char* next_weights =
            own_weights + (kVolume ? next.tap * kKBlocks + next.k_block : next.k_block) * kKBlockWeightBytes;
        if (more) {
          if (P::copy_bytes > 0) {
            stage_input(to, kVolume ? from_plane(own_x, next.plane, in_h, in_w) : own_x, places,
                        next.k_block * P::block_k, thread);
          } else {
            load_batch(words, kVolume ? from_plane(own_x, next.plane, in_h, in_w) : own_x, places,
                       next.k_block * P::block_k, 0, thread, in_d, in_h, in_w);
          }
          if (++next.k_block == kKBlocks) {
            next.k_block = 0;
            if constexpr (kVolume) {
              next_depth_tap(next, places, thread, tiles, next_tile, tiles_y, tiles_x, batch, in_d, in_h, in_w, out_d);
            } else {
              next.index += next_tile;
              find_places(places, staged_tile(next.index, tiles_y, tiles_x, in_h, in_w, out_d), thread, batch, in_d,
                          in_h, in_w);
            }
          }
        }
        multiply_k_block(acc, from + input_offset,
                         (P::resident ? shared + (kd * kKBlocks + k_block) * kKBlockWeightBytes : from + kInputBytes) +
                             lane_weights,
                         to + kInputBytes, next_weights, more);
        async_copy_commit();
        if (P::copy_bytes == 0 && more) {
          store_batch(to, words, 0, thread);
        }
        stage = stage + 1 == P::stages ? 0 : stage + 1;
      }
    }
    const Tile tile = kFlat ? flat_tile(index, 0, in_h, in_w) : square_tile(index, tiles_y, tiles_x, out_d);
    const int none = kFindsLane ? batch >> 31 & index : 0;  // which the compiler doesn't know to be 0
    store_tiles(acc, y, reinterpret_cast<Element*>(shared + kOutputOffset + thread / 32 * kWarpOutputBytes), biases,
                tile, place, lane + none, warp_n * kWarpChannels, group * kGroupOut + first_out, kGroupOut - first_out,
                phase_row, batch, in_h, in_w, out_d, out_h, out_w);
  }
}
