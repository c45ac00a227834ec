// Forward transposed convolution on tensor cores (wgmma): for each tap, a matrix product of shifted input with the
// tap's weights. For tf32, f16 and bf16; f32x3 has a template of its own, f32x3_gemm.
//
// A block makes tiles of positions m = output / stride, in all phases of its phase rows, for some output channels. Each
// tap serves one phase and reads the input at a constant offset from m. A producer warpgroup brings k-blocks of input
// channels with their halo to shared memory as they lie in global memory. The consumers load them into registers, as A
// fragments of products with the weights. A thread's positions are adjacent in memory, so the taps of a kernel row read
// the same registers, shifted by one. The weights are B operands in shared memory. pack_weights() has put them into
// that order, so that a k-block's weights are one bulk copy.
#include "device/barrier.h"
#include "device/call_sizes.h"
#include "device/grid.h"
#include "device/printed.h"
#include "device/tensor_copy.h"
#include "device/warp.h"
#include "device/warpgroup.h"

// ---- Elements ----
#include "device/element.h"
#include "layout.h"

// ---- Packing ----
#include "weights.h"  // its kernel comes first in emitted sources

// ---- Tiles and stages ----
#include "device/ring.h"
#include "forward_gemm/tile.h"

// ---- Producer ----
#include "bulk_pixels.h"
#include "forward_gemm/async_staging.h"
#include "forward_gemm/bulk_rows.h"
#include "skewed_rows.h"

// ---- Products ----
#include "fragments.h"
#include "multiply.h"

// ---- Epilogue ----
#include "cluster.h"
#include "forward_gemm/epilogue.h"
#include "staged_epilogue.h"

// ---- Kernel ----

constexpr int kFullArrivals = kByRows ? kRowArrivals : P::bulk ? kProducers / 32 : kProducers;

// Goes on to the stage after those of one tile.
__device__ __forceinline__ void skip_tile(int& stage, unsigned int& parity) {
  stage += kKBlocks % P::stages;
  parity ^= kKBlocks / P::stages % 2;
  if (stage >= P::stages) {
    stage -= P::stages;
    parity ^= 1;
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    shift_gemm(const Element* __restrict__ x, const unsigned char* packed, const Element* __restrict__ bias,
               Element* __restrict__ y, int batch, int height, int width) {
  const int in_h = input_rows(height);
  const int in_w = input_columns(width);
  const int out_h = strided_output_rows(in_h);
  const int out_w = strided_output_columns(in_w);
  const int tiles_y = tiles_down(out_h);
  const int tiles_x = tiles_across(in_h, in_w, out_w);
  const int tiles = ((batch - 1) / P::tile_n + 1) * tiles_y * tiles_x;
  const long long in_image = static_cast<long long>(in_h) * in_w * kInChannels;
  const long long out_image = static_cast<long long>(out_h) * out_w * kOutChannels;
  // The block's output channels and phase rows. Blocks that read the same input run together.
  const int rank = P::cluster == 1 ? 0 : blockIdx.x % P::cluster;
  const int n_tile = blockIdx.x / P::cluster % kNTiles;
  const int first_tile = blockIdx.x / (P::cluster * kNTiles);
  const int next_tile = P::cluster == 1 ? gridDim.x / kNTiles : tiles;
  const int first_out = n_tile % kChannelTiles * P::block_n;
  const int group = P::groups == 1 ? 0 : n_tile / (kChannelTiles * kPhaseGroups);
  const int first_in = group * P::in_channels;
  const int phase_row = kPhaseGroups == 1 ? 0 : n_tile / kChannelTiles - group * kPhaseGroups;
  const unsigned char* block_weights = packed + static_cast<long long>(n_tile) * kPackedTileBytes;
  if constexpr (P::groups > 1) {
    y += static_cast<long long>(group * P::out_channels) * (P::channels_last ? 1 : out_h) *
         (P::channels_last ? 1 : out_w);
    if (P::has_bias) {
      bias += group * P::out_channels;
    }
  }
  // The block's kernel rows are r, r + {P::stride_h} and so on, r = (its phase row + {P::padding_h}) % {P::stride_h}.
  const int above = kPhaseGroups > 1 ? (phase_row + P::padding_h) / P::stride_h - (kOffsetsH - 1)
                    : kRowBlocks > 1 ? kMostOffsetH
                                     : kLeastOffsetH;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  unsigned char* stages = shared + kResidentBytes;
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + P::stages;
  unsigned long long* resident = empty + P::stages;  // of resident weights
  unsigned long long* turn = resident + 1;           // of each warpgroup
  if (kSkewed) {
    // Initialises all stages: elements outside the image are loaded before they are made zero.
    for (int stage = 0; stage < P::stages; ++stage) {
      for (int i = threadIdx.x * 16; i < kInputBytes; i += kThreads * 16) {
        *reinterpret_cast<uint4*>(stages + stage * kStageBytes + i) = make_uint4(0, 0, 0, 0);
      }
    }
    fence_proxy_async();
  }
  if (threadIdx.x == 0) {
    init_stages(full, empty, kFullArrivals + (P::resident ? 0 : 1), kTileWarps);
    if (P::resident) {
      mbarrier_init(resident, 1);
    }
    if (P::ping_pong) {
      mbarrier_init(&turn[0], kTileWarps);
      mbarrier_init(&turn[1], kTileWarps);
    }
    fence_mbarrier_init();
  }
  __syncthreads();

  const int warp = warp_uniform(threadIdx.x / 32);
  if (is_producer(warp)) {
    setmaxnreg_decrease(kProducerRegisters);
    const int thread = threadIdx.x - kConsumers;
    const long long plane = static_cast<long long>(in_h) * in_w;
    const int rows = kFlat ? 1 : in_h;  // of an image, as they are copied
    const int columns = kFlat ? in_h * in_w : in_w;
    if (thread == 0) {
      grid_dependency_wait();  // the weights are packed
      if (P::resident) {
        mbarrier_arrive_expect(resident, kPackedTileBytes);
        bulk_load(shared, block_weights, kPackedTileBytes, resident);
      }
    }
    int stage = 0;
    unsigned int parity = 1;
    for (int index = first_tile; index < tiles; index += next_tile) {
      const Tile tile = tile_at(index, tiles_y, tiles_x);
      const Element* image =
          x + (tile.image * in_image + first_in * (P::channels_last ? 1 : static_cast<long long>(in_h) * in_w));
      const int first_row = tile.m_y * P::input_stride_h + above;
      const int first_column = tile.m_x * P::input_stride_w + kFirstColumn;
      Pixels pixels;
      if (kKeepsPixels) {
#pragma unroll
        for (int j = 0; j < kOwnPixels; ++j) {
          const int pixel = thread / kCopies + j * kAtOnce;
          pixels[j] = static_cast<int>(find_pixel(pixel, first_row, first_column, batch - tile.image, in_h, in_w));
        }
      }
      Copy copy;
      if (kByRows && kRowBlocks == 1) {
        copy = find_copy(x, tile.image, first_in + rank * kOwnKBlocks * P::block_k, first_row, first_column,
                         row_producer(warp, thread), batch, rows, columns);
      }
      const bool is_padded =
          kRowBlocks == 1 && needs_zero_pad(first_row, first_column, batch - tile.image, rows, columns);
      for (int k_block = rank * kOwnKBlocks; k_block < (rank + 1) * kOwnKBlocks; ++k_block) {
        mbarrier_wait(&empty[stage], parity);
        unsigned char* to = stages + stage * kStageBytes;
        if (!P::resident && thread == 0) {
          mbarrier_arrive_expect(&full[stage], kKBlockWeightBytes);
          bulk_load(to + kInputBytes, block_weights + k_block * kKBlockWeightBytes, kKBlockWeightBytes, &full[stage]);
        }
        if (P::bulk && P::channels_last) {
          stage_bulk_pixels(reinterpret_cast<Element*>(to), image, first_channel_of(k_block),
                            first_row_of(k_block, first_row), first_column, thread, batch - tile.image, &full[stage],
                            in_h, in_w);
        } else if (kByRows) {
          Element* staged = reinterpret_cast<Element*>(to);
          const int channels = P::in_channels % P::block_k == 0
                                   ? P::block_k
                                   : min(P::in_channels - first_channel_of(k_block), static_cast<int>(P::block_k));
          if (kRowBlocks > 1) {  // other rows than the k-block before
            copy = find_copy(x, tile.image, first_in + first_channel_of(k_block), first_row_of(k_block, first_row),
                             first_column, row_producer(warp, thread), batch, rows, columns);
          }
          if ((kRowBlocks > 1
                   ? needs_zero_pad(first_row_of(k_block, first_row), first_column, batch - tile.image, rows, columns)
                   : is_padded && k_block < rank * kOwnKBlocks + P::stages) ||
              channels != P::block_k) {
            zero_pad(staged, channels, first_row_of(k_block, first_row), first_column, thread, batch - tile.image, rows,
                     columns);
          }
          if (!kByWarps || elect_one()) {
            if (kSkewed && copy.at_end) {
              copy_end_rows(staged, copy, x,
                            P::x_channels == P::groups * P::in_channels
                                ? x + batch * in_image
                                : x + (batch * in_image - (P::x_channels - P::groups * P::in_channels) * plane),
                            channels, &full[stage], plane);
            } else {
              copy_rows(staged, copy, channels, &full[stage], plane, columns);
            }
          }
          if (kRowBlocks == 1) {
            copy.from += P::block_k * plane;
          }
        } else {
          if (P::channels_last) {
            stage_pixels(reinterpret_cast<Element*>(to), image, pixels, first_channel_of(k_block),
                         first_row_of(k_block, first_row), first_column, thread, batch - tile.image, in_h, in_w);
          } else {
            stage_channels(reinterpret_cast<Element*>(to), image, first_channel_of(k_block),
                           first_row_of(k_block, first_row), first_column, thread, batch - tile.image, in_h, in_w);
          }
          async_copy_arrive(&full[stage]);
        }
        next_stage(stage, parity);
      }
      if (P::cluster > 1) {  // with the consumers, in reduce_cluster()
        __syncwarp();
        cluster_sync();
        cluster_sync();
      }
    }
  } else {
    setmaxnreg_increase(kConsumerRegisters);
    // The thread's place in the tile: its first position, the first of its channels.
    const int lane = threadIdx.x % 32;
    const int quarter = lane % 4;
    const int warpgroup = P::ping_pong ? warp / 4 : 0;
    const int place_in_tile = (P::ping_pong ? warp % 4 : warp) * 8 + lane / 4;
    const int image = place_in_tile / (P::tile_h * P::tile_w / P::thread_positions);
    const int row = place_in_tile / (P::tile_w / P::thread_positions) % P::tile_h;
    const int column = place_in_tile % (P::tile_w / P::thread_positions) * P::thread_positions;
    const int position = (image * kStagedRows + row) * kRowPitch + column * P::input_stride_w;
    const int own = kPixelGroups       ? position / kThreadColumns * kPixelGroupPitch + quarter * (8 / kBytes)
                    : P::channels_last ? position * kPixelPitch + quarter * (8 / kBytes)
                                       : quarter * (4 / kBytes) * kChannelPitch + position;
    const int co = first_out + rank * kStoredChannels + quarter * kAdjacentChannels;
    const unsigned int zero = static_cast<unsigned int>(batch) >> 31;  // which the compiler doesn't know to be 0
    Accumulators acc = {};
    if (P::resident) {
      mbarrier_wait(resident, 0);
    }
    int stage = 0;
    unsigned int parity = 0;
    unsigned int turn_parity = 0;
    if (P::ping_pong && warpgroup == 1) {
      warp_arrive(&turn[0], true);
      skip_tile(stage, parity);
    }
    for (int index = first_tile + warpgroup * next_tile; index < tiles; index += (P::ping_pong ? 2 : 1) * next_tile) {
      // Only the warpgroup whose turn it is waits for stages: parity alone cannot tell two fills of a stage apart.
      if (P::ping_pong) {
        mbarrier_wait(&turn[warpgroup], turn_parity);
        turn_parity ^= 1;
      }
      Place place;
      if (kSkewed) {
        place =
            place_of(tile_at(index, tiles_y, tiles_x), x, image, first_in + quarter, above + row, column, in_h, in_w);
      }
      pin(acc);
      Fragments fragments[kFragmentSets] = {};
      for (int k_block = 0; k_block < kOwnKBlocks; ++k_block) {
        mbarrier_wait(&full[stage], parity);
        if (P::ping_pong) {
          warp_arrive(&turn[1 - warpgroup], k_block == kKBlocks - 1);
        }
        const unsigned char* from = stages + stage * kStageBytes;
        const unsigned char* weights = P::resident ? shared + k_block * kKBlockWeightBytes : from + kInputBytes;
        multiply_k_block(acc, fragments, reinterpret_cast<const Element*>(from) + own,
                         wgmma_descriptor(weights, kInstructionN * 16, 128, 0), k_block > 0 ? 1 : 0,
                         &empty[stage == 0 ? P::stages - 1 : stage - 1], zero, place, in_w);
        if (P::resident) {
          warp_arrive(&empty[stage], true);
        }
        next_stage(stage, parity);
      }
      BiasRegisters bias_registers;
      load_bias(bias_registers, bias, co);
      wgmma_wait(0);
      pin(acc);
      if (!P::resident) {
        warp_arrive(&empty[stage == 0 ? P::stages - 1 : stage - 1], true);
      }
      if (P::ping_pong) {
        skip_tile(stage, parity);
      }
      if (P::cluster > 1) {
        reduce_cluster(acc, stages, rank);
      }
      const Tile tile = tile_at(index, tiles_y, tiles_x);
      if (P::tile_n == 1 || tile.image + image < batch) {
        if (P::staged_epilogue) {
          store_staged(acc, reinterpret_cast<Element*>(shared + kEpilogueOffset + warp * kWarpEpilogueBytes),
                       y + (tile.image + image) * out_image, bias_registers, first_out, tile.m_y + row,
                       tile.m_x + column - lane / 4 * P::thread_positions, phase_row, lane, out_h, out_w);
        } else {
          store_tile(acc, y + (tile.image + image) * out_image, bias_registers, co,
                     kFlat ? (tile.m_x + column) / in_w : tile.m_y + row,
                     kFlat ? (tile.m_x + column) % in_w : tile.m_x + column, phase_row, out_h, out_w);
        }
      }
    }
  }
}
