// Forward transposed convolution of fp32 on tensor cores (wgmma), by three products of f16 for each of fp32: for each
// tap, matrix products of shifted input with the tap's weights, as in shift_gemm.
//
// Values are split into two f16 (device/split.h): high * high is accumulated in one set of accumulators, high * low and
// low * high in another. Weights have a scale for each output channel. The scale of the input follows the maximum of an
// image in a stage. The producers scan each stage for it before they split what they staged, in its place. Where a
// stage needs another scale than those before it, and where accumulators have terms enough, they are promoted to fp32
// totals and zeroed.
#include "device/barrier.h"
#include "device/call_sizes.h"
#include "device/grid.h"
#include "device/printed.h"
#include "device/tensor_copy.h"
#include "device/warp.h"
#include "device/warpgroup.h"

// ---- Elements ----
#include "device/split.h"
#include "layout.h"

// ---- Packing ----
#include "weights.h"  // its kernel comes first in emitted sources

// ---- Tiles and stages ----
#include "device/ring.h"
#include "forward_gemm/tile.h"

// ---- Producer ----
#include "forward_gemm/async_staging.h"
#include "forward_gemm/bulk_rows.h"
#include "split_by_producers.h"

// ---- Products ----
#include "fragments.h"
#include "multiply.h"
#include "pair_taps.h"
#include "split_by_consumers.h"
#include "totals.h"

// ---- Epilogue ----
#include "forward_gemm/epilogue.h"

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    f32x3_gemm(const Element* __restrict__ x, const unsigned char* packed, const Element* __restrict__ bias,
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
  const int n_tile = blockIdx.x % kNTiles;
  const int first_tile = blockIdx.x / kNTiles;
  const int next_tile = gridDim.x / kNTiles;
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
  unsigned long long* landed = empty + P::stages;     // of copies, before the producers process them
  unsigned long long* resident = landed + P::stages;  // of resident weights
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < P::stages; ++stage) {
      mbarrier_init(&full[stage], kProducers / 32 + (P::resident ? 0 : 1));
      mbarrier_init(&empty[stage], kTileWarps);
      mbarrier_init(&landed[stage], P::bulk ? kRowArrivals : kProducers);
    }
    if (P::resident) {
      mbarrier_init(resident, 1);
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
        mbarrier_arrive_expect(resident, kWeightBytes);
        bulk_load(shared, block_weights, kWeightBytes, resident);
      }
    }
    int stage = 0;
    unsigned int parity = 1;
    Issued issued = {0, 0, 0, 0, 0};
    for (int index = first_tile; index < tiles || (kDrains && issued.stages > 0); index += next_tile) {
      const bool drains = kDrains && index >= tiles;  // processes the stages that are left
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
        copy = find_copy(x, tile.image, first_in, first_row, first_column, row_producer(warp, thread), batch, rows,
                         columns);
      }
      const bool is_padded =
          kRowBlocks == 1 && needs_zero_pad(first_row, first_column, batch - tile.image, rows, columns);
      for (int k_block = 0; k_block < kKBlocks; ++k_block) {
        while (P::bulk ? issued.stages > 0 && (drains || is_complete(&landed[issued.oldest], issued.parity) ||
                                               !is_complete(&empty[stage], parity))
                       : issued.stages > kInFlight) {
          process_stage(stages, full, landed, issued, thread);
        }
        if (drains) {
          break;
        }
        mbarrier_wait(&empty[stage], parity);
        unsigned char* to = stages + stage * kStageBytes;
        if (!P::resident && thread == 0) {
          mbarrier_arrive_expect(&full[stage], kKBlockWeightBytes);
          bulk_load(to + kInputBytes, block_weights + k_block * kKBlockWeightBytes, kKBlockWeightBytes, &full[stage]);
        }
        if (kByRows) {
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
                   : is_padded && k_block < P::stages) ||
              channels != P::block_k) {
            zero_pad(staged, channels, first_row_of(k_block, first_row), first_column, thread, batch - tile.image, rows,
                     columns);
          }
          if (!kByWarps || elect_one()) {
            copy_rows(staged, copy, channels, &landed[stage], plane, columns);
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
          async_copy_arrive(&landed[stage]);
        }
        next_stage(stage, parity);
        ++issued.stages;
      }
    }
    if constexpr (!kDrains) {
      while (issued.stages > 0) {
        process_stage(stages, full, landed, issued, thread);
      }
    }
  } else {
    setmaxnreg_increase(kConsumerRegisters);
    // The thread's place in the tile: its first position, the first of its channels.
    const int lane = threadIdx.x % 32;
    const int quarter = lane % 4;
    const int place_in_tile = warp * 8 + lane / 4;
    const int image = place_in_tile / (P::tile_h * P::tile_w / P::thread_positions);
    const int row = place_in_tile / (P::tile_w / P::thread_positions) % P::tile_h;
    const int column = place_in_tile % (P::tile_w / P::thread_positions) * P::thread_positions;
    const int position = (image * kStagedRows + row) * kRowPitch + column * P::input_stride_w;
    const int own = P::channels_last ? position * kPixelPitch + quarter * 4
                                     : quarter * (kPairsHalves ? 1 : 2) * kChannelPitch + position;
    const int co = first_out + quarter * kAdjacentChannels;
    const unsigned int zero = static_cast<unsigned int>(batch) >> 31;  // which the compiler doesn't know to be 0
    Accumulators acc = {};
    ScaleState state = {0, 0, false, 0, reinterpret_cast<float4*>(shared + kTotalsOffset) + threadIdx.x};
    float2* scales = reinterpret_cast<float2*>(shared + kScalesOffset);
    Element* biases = reinterpret_cast<Element*>(shared + kBiasOffset);
    grid_dependency_wait();
    for (int i = threadIdx.x; i < P::block_n; i += kConsumers) {
      scales[i] = factors_of(-reinterpret_cast<const int*>(block_weights + kWeightBytes)[i]);
      if (P::has_bias) {
        biases[i] = P::out_channels % P::block_n == 0 || first_out + i < P::out_channels ? bias[first_out + i] : 0;
      }
    }
    named_barrier_sync(2, kConsumers);
    if (P::resident) {
      mbarrier_wait(resident, 0);
    }
    int stage = 0;
    unsigned int parity = 0;
    for (int index = first_tile; index < tiles; index += next_tile) {
      pin(acc);
      Fragments fragments[kParts] = {};
      for (int k_block = 0; k_block < kKBlocks; ++k_block) {
        mbarrier_wait(&full[stage], parity);
        const unsigned char* from = stages + stage * kStageBytes;
        const unsigned char* weights = P::resident ? shared + k_block * kKBlockWeightBytes : from + kInputBytes;
        if constexpr (kConsumersSplit) {
          const float* read = reinterpret_cast<const float*>(from) + own + staged_row(0, 0);
          Values values;
          load_values(values, read);
          choose_scale(acc, state, from, image);
          split_and_multiply(acc, fragments, state, values, read, weights, image, k_block == 0, &empty[stage],
                             &empty[stage == 0 ? P::stages - 1 : stage - 1], zero);
        } else if constexpr (kHoldsPairs) {
          choose_scale(acc, state, from, image);
          multiply_pairs(acc, state, reinterpret_cast<const unsigned int*>(from) + own, weights, &empty[stage], zero);
        } else {
          choose_scale(acc, state, from, image);
          multiply_k_block(acc, fragments, state, reinterpret_cast<const unsigned int*>(from) + own, weights, image,
                           k_block == 0, &empty[stage], &empty[stage == 0 ? P::stages - 1 : stage - 1], zero);
        }
        next_stage(stage, parity);
      }
      BiasRegisters bias_registers;
      if (!kEndsIdle) {
        wgmma_wait(0);
      }
      pin(acc);
      if (!P::resident && !kEndsIdle) {
        warp_arrive(&empty[stage == 0 ? P::stages - 1 : stage - 1], true);
      }
      unscale(acc, state, scales + quarter * 2, biases + quarter * kAdjacentChannels, image);
      load_bias(bias_registers, biases, quarter * kAdjacentChannels);  // no registers are free before
      const Tile tile = tile_at(index, tiles_y, tiles_x);
      if (P::tile_n == 1 || tile.image + image < batch) {
        const int own_column = column + (static_cast<int>(zero) & index);  // opaque, so that no address is kept
        store_tile(acc, y + (tile.image + image) * out_image, bias_registers, co,
                   kFlat ? (tile.m_x + own_column) / in_w : tile.m_y + row,
                   kFlat ? (tile.m_x + own_column) % in_w : tile.m_x + own_column, phase_row, out_h, out_w);
      }
    }
  }
}
