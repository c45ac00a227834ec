// Forward transposed convolution on tensor cores (wgmma): input with its halo and packed weights in shared memory, and
// for each tap of a window a product of the input, moved by the tap, with the weights of all phases that it serves.
//
// Along each axis an output has position m = (output + padding) / stride and phase (output + padding) % stride. Window
// tap t of phase r is kernel tap stride * t + r and reads the input at m - t, whatever the phase is: so all phases of a
// position are columns of the same products. A producer warpgroup brings input channels to shared memory, where each
// pixel has 16 bytes in each unit of channels, so that a tap moves the address of the products' A operand by whole
// pixels. Another kernel has packed the weights in the layout of B operands; bulk copies load them.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/async_copy.h"
#include "device/barrier.h"
#include "device/call_sizes.h"
#include "device/depth.h"
#include "device/grid.h"
#include "device/instruction.h"
#include "device/memory.h"
#include "device/printed.h"
#include "device/ring.h"
#include "device/template.h"
#include "device/tensor_copy.h"
#include "device/warp.h"
#include "device/warpgroup.h"

// ---- Elements ----
#include "device/element.h"

using P = Parameters;
using Element = P::Element;
using WeightIndex = long long;

#include "device/exchanged_weights.h"

constexpr int kAdjacentChannels = P::adjacent_channels;  // of a thread
#include "device/thread_channels.h"

constexpr int kConsumers = 256;
constexpr int kProducers = P::producers;
// Volumes: layers with more than one plane, or more of an axis of depth than a kernel of one tap.
constexpr bool kVolume =
    P::depth != 1 || P::kernel_d != 1 || P::stride_d != 1 || P::padding_d != 0 || P::output_padding_d != 0;
constexpr int kProducerRegisters = kProducers != 128 ? 72 : kVolume ? 120 : 88;  // of a thread
constexpr int kConsumerRegisters = kProducers != 128 ? 184 : kVolume ? 192 : 208;
#include "device/roles.h"

constexpr bool kFlat = P::flat;
constexpr int kStagers = P::producers;
constexpr int kUnitSharers = 1;
constexpr int kPackers = 256;  // threads of a block that packs weights

constexpr int kGroupIn = P::in_channels;  // channels that are multiplied

constexpr int kKSteps = P::block_k / kInstructionK;
constexpr int kUnits = P::block_k / kVector;  // of channels: 16 bytes
constexpr int kKBlocks = ceil_div(P::in_channels, P::block_k);

// The largest divisor of n that is `most` at the most.
__host__ __device__ constexpr int largest_divisor(int n, int most) {
  return n <= most ? n : n % most == 0 ? most : largest_divisor(n, most - 1);
}

// Phases of a block, and the window of taps that serves them. Where a row has more phases than a product of 8 channels
// has columns for, products make kPhaseColumns adjacent ones: then each output channel counts as kPhaseBlocks channels.
// Volumes may have dilations that are their strides, on all axes: one phase has all taps, and the others are bias
// alone.
constexpr bool kOnePhase = kVolume && P::dilation_d == P::stride_d && P::dilation_h == P::stride_h &&
                           P::dilation_w == P::stride_w && P::stride_d * P::stride_h * P::stride_w > 1;
constexpr int kPhaseColumns = largest_divisor(P::stride_w, 32);
constexpr int kPhaseBlocks = P::stride_w / kPhaseColumns;
constexpr int kMadeChannels = P::out_channels * kPhaseBlocks;
constexpr int kPhases = P::phase_rows * kPhaseColumns;
constexpr int kPhaseGroups = P::stride_h / P::phase_rows;
constexpr int kWindowH = kOnePhase ? P::kernel_h : ceil_div(P::kernel_h, P::stride_h);
constexpr int kWindowW = kOnePhase ? P::kernel_w : ceil_div(P::kernel_w, P::stride_w);
constexpr int kStepH = P::stride_h == 1 ? P::dilation_h : 1;  // of input, from a tap of the window to the next
constexpr int kStepW = P::stride_w == 1 ? P::dilation_w : 1;
constexpr int kHaloH = (kWindowH - 1) * kStepH;
constexpr int kHaloW = (kWindowW - 1) * kStepW;

// Phases may be fused into one product: each tap of the window is one product for all of them, with weights of zero
// where the kernel has no tap (its size is padded to a multiple of the stride). Else each kernel tap is a product of
// its own, with its phase's accumulators.
constexpr int kPaddedH = P::fused_phases ? kWindowH * P::stride_h : P::kernel_h;
constexpr int kPaddedW = P::fused_phases ? kWindowW * P::stride_w : P::kernel_w;
constexpr int kPlaneColumns = (P::fused_phases ? kPhases : 1) * P::block_n;
constexpr int kInstructionN = P::kernel_d * kPlaneColumns;  // of a product
constexpr int kMadePhases = kOnePhase ? 1 : kPhases;        // by products
constexpr int kAccArrays = P::fused_phases ? 1 : kMadePhases;
constexpr int kTaps = P::fused_phases ? kWindowH * kWindowW : kPaddedH / kPhaseGroups * kPaddedW;  // of a block
constexpr int kChannelTiles = ceil_div(kMadeChannels, P::block_n);
constexpr int kNTiles = kPhaseGroups * kChannelTiles;

// The tile, in parts of 64 positions.
constexpr int kPositions = P::tile_h * P::tile_w;
constexpr int kTeams = P::ping_pong ? 2 : 1;            // of warpgroups, each with tiles of its own
constexpr int kParts = kPositions / 64 / (2 / kTeams);  // that a warpgroup makes
constexpr int kAcross = P::tile_w / P::part_w;

constexpr int kInputStrideH = 1;
constexpr int kInputStrideW = 1;
constexpr int kPixelStepH = 1;
constexpr int kPixelStepW = 1;
constexpr int kInterleave = 1;
#include "window/geometry.h"

// Where pixels and units lie. The bytes of a unit keep copies of adjacent units free of bank conflicts.
__host__ __device__ constexpr int pixel_offset(int pixel) {
  return pixel * 16;
}
constexpr int kUnitPitch = 16 * (kPixels + floor_mod((kUnits < 8 ? 8 / kUnits : 1) - kPixels, 8));
constexpr int kInputBytes = kUnits * kUnitPitch;  // the input of a stage

// Packed weights: for each tap and k-step a K-major B operand without swizzle, two columns of 16-byte rows.
constexpr int kProductBytes = kInstructionN * 32;                                // a B operand
constexpr int kKBlockWeightBytes = kTaps * kKSteps * kProductBytes;              // a k-block's B operands
constexpr int kResidentBytes = P::resident ? kKBlocks * kKBlockWeightBytes : 0;  // the weights, at 0; the stages follow
constexpr int kStageBytes = kInputBytes + (P::resident ? 0 : kKBlockWeightBytes);  // input; weights if not resident
constexpr int kBiasOffset = kResidentBytes + P::stages * kStageBytes;              // one a channel
constexpr int kBarrierOffset = kBiasOffset + (P::has_bias ? P::block_n * 4 : 0);   // mbarriers
constexpr int kSharedBytes = kBarrierOffset + (2 * P::stages + (P::resident ? 1 : 0)) * 8;
constexpr long long kPackedBytes = static_cast<long long>(kNTiles) * kKBlocks * kKBlockWeightBytes;  // of the layer

constexpr int kAlignment = larger(P::copy_bytes, larger(P::vector, P::store) * kBytes);  // of x and y, in bytes

static_assert(P::block_k % kInstructionK == 0, "a k-block is whole products");
static_assert(kPositions % (64 * (2 / kTeams)) == 0 && P::tile_w % P::part_w == 0 &&
                  P::tile_h % (64 / P::part_w) == 0 && (!kFlat || (P::tile_h == 1 && P::part_w == 64)),
              "warpgroups make whole parts");
constexpr int kMostAccumulators = kVolume && kPhases * P::stride_d > 1 ? 128 : 160;  // of a thread
static_assert(kInstructionN <= 256 && kAccArrays * kInstructionN * kParts / 2 <= kMostAccumulators,
              "the accumulators fit the registers");
static_assert(kPhaseGroups == 1 || kPaddedH % P::stride_h == 0,
              "phase rows are parted only where each has as many kernel rows");
static_assert(kPhaseBlocks == 1 || (P::fused_phases && (!P::channels_last || P::out_channels == 1)),
              "phases of a row are parted only where products serve all of them, and no channel is between them");
static_assert(kOnePhase || (P::stride_h == 1 || P::dilation_h == 1 || P::kernel_h == 1) &&
                               (P::stride_w == 1 || P::dilation_w == 1 || P::kernel_w == 1),
              "all phases read the same input");
static_assert(!kFlat || kHaloH == 0 || P::width >= 0, "the pitch of rows in the sequence is known");
static_assert(P::copy_bytes > 0 || P::channels_last || P::vector == 1 ||
                  (kPixels % P::vector == 0 && (!kFlat || kPixels == kPositions)),
              "pixels that are loaded together are of one row");
static_assert(!P::channels_last || P::vector == 1 || P::vector == kVector, "a unit is loaded as it lies");
static_assert(P::kernel_d == 1 || P::dilation_d == 1 || kOnePhase, "adjacent depth taps make adjacent planes");
static_assert(!kOnePhase || (!P::fused_phases && kPhaseGroups == 1 && kPhaseBlocks == 1),
              "the phase is one of the block's");
static_assert(kVolume || P::tile_d == 1, "a plane has no depth to go along");
static_assert(!P::ping_pong || (!kVolume && P::stages > kKBlocks),
              "a warpgroup that waits for its next tile has seen each stage's fill before: parities tell two apart");
static_assert(P::stages >= P::prefetch_stages + 2,
              "the stage that consumers wait for is not held back by copies of later ones");

// ---- Packing ----

// Packs the weights as blocks take them: for each N tile and k-block of input channels, product by product.
extern "C" __global__ void __launch_bounds__(kPackers)
    pack_weights(const Element* __restrict__ weight, unsigned char* __restrict__ packed) {
  grid_dependents_launch();
  constexpr int kKernelColumns = kPaddedW / kPhaseBlocks;  // that serve an output channel's phases
  constexpr int kKernel = P::kernel_d * kPaddedH * kKernelColumns;
  constexpr int kOut = kChannelTiles * P::block_n;
  // A thread packs a unit: 16 bytes of one output channel and kernel tap. Neighbours read neighbours.
  const long long i = static_cast<long long>(blockIdx.x) * kPackers + threadIdx.x;
  if (i < static_cast<long long>(kKBlocks) * kUnits * kOut * kKernel) {
    const int tap = static_cast<int>(P::weight_channels_last ? i / kOut % kKernel : i % kKernel);
    const int co = static_cast<int>(P::weight_channels_last ? i % kOut : i / kKernel % kOut);
    const int unit = static_cast<int>(i / (kKernel * kOut));
    const int kd = P::kernel_d == 1 ? 0 : tap / (kPaddedH * kKernelColumns);
    const int kh = P::kernel_d == 1 ? tap / kKernelColumns : tap / kKernelColumns % kPaddedH;
    const int kw = kPhaseBlocks == 1 ? tap % kKernelColumns
                                     : tap % kKernelColumns / kPhaseColumns * P::stride_w +
                                           co % kPhaseBlocks * kPhaseColumns + tap % kPhaseColumns;
    const bool exists = (kMadeChannels % P::block_n == 0 || co < kMadeChannels) &&
                        (kPaddedH == P::kernel_h || kh < P::kernel_h) && (kPaddedW == P::kernel_w || kw < P::kernel_w);
    unsigned int words[4];
    CONVTGEN_UNROLL
    for (int word = 0; word < 4; ++word) {
      unsigned int halves[2];
      CONVTGEN_UNROLL
      for (int half = 0; half < (P::type == kWgmmaTf32 ? 1 : 2); ++half) {
        const int ci = unit * kVector + (P::type == kWgmmaTf32 ? word : 2 * word + half);
        Element value = 0;
        if (exists && (P::in_channels % P::block_k == 0 || ci < P::in_channels)) {
          value =
              weight[product_weight_offset(static_cast<WeightIndex>(ci), co / kPhaseBlocks,
                                           (P::kernel_d == 1 ? kh : kd * P::kernel_h + kh) * P::kernel_w + kw,
                                           P::in_channels, P::out_channels, P::kernel_d * P::kernel_h * P::kernel_w)];
        }
        if constexpr (P::type == kWgmmaTf32) {
          halves[half] = operand(__float_as_uint(value));
        } else {
          halves[half] = value;
        }
      }
      words[word] = P::type == kWgmmaTf32 ? halves[0] : halves[0] | halves[1] << 16;
    }
    const int group = kh % P::stride_h / P::phase_rows;
    const int row = kh % P::stride_h % P::phase_rows;
    int place = 0;  // of the tap among the block's
    int column = column_of_channel(co % P::block_n);
    if (P::kernel_d > 1) {
      column += kd * kPlaneColumns;
    }
    if (P::fused_phases) {
      place = kh / P::stride_h * kWindowW + kw / P::stride_w;
      column += (row * kPhaseColumns + kw % kPhaseColumns) * P::block_n;
    } else {
      place = (kh / P::stride_h * P::phase_rows + row) * P::kernel_w + kw;
    }
    const int n_tile = group * kChannelTiles + co / P::block_n;
    unsigned char* k_block = packed + (static_cast<long long>(n_tile) * kKBlocks + unit / kUnits) * kKBlockWeightBytes;
    *reinterpret_cast<uint4*>(k_block + (place * kKSteps + unit % kUnits / 2) * kProductBytes +
                              (unit % 2 * kInstructionN + column) * 16) =
        make_uint4(words[0], words[1], words[2], words[3]);
  }
}

// ---- Tiles ----

#include "window/tile.h"

// ---- Producer ----
#include "window/staging.h"

// Arrives on the full barrier of a stage whose copies have completed.
__device__ __forceinline__ void publish_stage(unsigned char* stages, unsigned long long* full, int stage, int thread) {
  if (P::type == kWgmmaTf32 || kActivatesInput) {
    round_input(stages + stage * kStageBytes, thread);
  }
  fence_proxy_async();
  mbarrier_arrive(&full[stage]);
}

// ---- Products ----

// One thread's accumulators for one part, of all phases or of one.
using Accumulators = float[kInstructionN / 2];

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before them.
__device__ __forceinline__ void pin(Accumulators (&acc)[kParts][kAccArrays]) {
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
#pragma unroll
    for (int array = 0; array < kAccArrays; ++array) {
#pragma unroll
      for (int i = 0; i < kInstructionN / 2; ++i) {
        wgmma_pin(acc[part][array][i]);
      }
    }
  }
}

// Issues all products of one k-block. {with first_part: `first_part` is the warpgroup's first part of the tile.}
// {with later: `later` is 0 in a tile's first k-block, whose first products overwrite the accumulators.}
__device__ __forceinline__ void multiply_k_block(Accumulators (&acc)[kParts][kAccArrays], const unsigned char* input,
                                                 unsigned long long weights, int first_part, int later) {
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
    const int of_tile = first_part + part;
    const int first = of_tile / kAcross * (64 / P::part_w) * kStagedColumns + of_tile % kAcross * P::part_w + kSkew;
    const unsigned long long a =
        wgmma_descriptor(input + first * 16, kUnitPitch, P::part_w == 64 ? 128 : kStagedColumns * 16, 0);
    constexpr int kLastRow = P::kernel_h - 1;
    constexpr int kLastColumn = P::kernel_w - 1;
    // taps (0 to {kLastRow}, 0 to {kLastColumn})
#pragma unroll
    for (int t_y = 0; t_y < kWindowH; ++t_y) {
#pragma unroll
      for (int t_x = 0; t_x < kWindowW; ++t_x) {
        const int pixel = (kWindowH - 1 - t_y) * kStepH * kRowPitch + (kWindowW - 1 - t_x) * kStepW;
#pragma unroll
        for (int k_step = 0; k_step < kKSteps; ++k_step) {
          const unsigned long long moved = wgmma_descriptor_move(a, pixel * 16 + k_step * 2 * kUnitPitch);
          const int accumulate = t_y + t_x + k_step > 0 ? 1 : later;
          if (P::fused_phases) {
            const int tap = t_y * kWindowW + t_x;
            wgmma_ss(P::type, kWgmmaMajorK, kWgmmaMajorK, acc[part][0], moved,
                     wgmma_descriptor_move(weights, (tap * kKSteps + k_step) * kProductBytes), accumulate);
          } else {
#pragma unroll
            for (int phase = 0; phase < kMadePhases; ++phase) {
              const int row =
                  kOnePhase ? t_y : t_y * P::phase_rows + phase / P::stride_w;  // of the block's kernel rows
              const int column = kOnePhase ? t_x : t_x * P::stride_w + phase % P::stride_w;
              if (row < P::kernel_h / kPhaseGroups && column < P::kernel_w) {
                const int tap = row * P::kernel_w + column;
                wgmma_ss(P::type, kWgmmaMajorK, kWgmmaMajorK, acc[part][phase], moved,
                         wgmma_descriptor_move(weights, (tap * kKSteps + k_step) * kProductBytes), accumulate);
              }
            }
          }
        }
      }
    }
  }
}

// ---- Epilogue ----
#include "epilogue.h"

// ---- Volumes ----

#include "planes.h"

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    halo_gemm(const Element* __restrict__ x, const unsigned char* packed, const Element* __restrict__ bias,
              Element* __restrict__ y, int batch, int depth, int height, int width) {
  const int in_d = input_depth(depth);
  const int in_h = input_rows(height);
  const int in_w = input_columns(width);
  const int out_d = output_depth(in_d);
  const int out_h = output_rows(in_h);
  const int out_w = output_columns(in_w);
  const int tiles_d = kVolume ? (in_d + (kBeyondD - kFirstD + P::tile_d - 1)) / P::tile_d : 1;
  const int tiles_y = kFlat && kVolume ? 1 : (in_h + (kBeyondH - kFirstH + P::tile_h - 1)) / P::tile_h;
  const int tiles_x = kFlat && kVolume ? ((in_h + kGapH) * (in_w + kGapW) + (kPositions - 1)) / kPositions
                                       : (in_w + (kBeyondW - kFirstW + P::tile_w - 1)) / P::tile_w;
  const int tiles =
      kFlat && !kVolume
          ? static_cast<int>((static_cast<long long>(batch) * ((in_h + kGapH) * (in_w + kGapW)) + (kPositions - 1)) /
                             kPositions)
          : batch * tiles_d * tiles_y * tiles_x;

  // The block's output channels and phase rows. Blocks that read the same input have adjacent indices.
  const int n_tile = blockIdx.x % kNTiles;
  const int first_tile = blockIdx.x / kNTiles;
  const int next_tile = gridDim.x / kNTiles;
  const int first_out = n_tile % kChannelTiles * P::block_n;
  const int phase_row = kPhaseGroups == 1 ? 0 : n_tile / kChannelTiles * P::phase_rows;
  const unsigned char* block_weights = packed + static_cast<long long>(n_tile) * (kKBlocks * kKBlockWeightBytes);

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  unsigned char* stages = shared + kResidentBytes;
  float* biases = reinterpret_cast<float*>(shared + kBiasOffset);
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + P::stages;
  unsigned long long* resident = empty + P::stages;  // of resident weights
  if (threadIdx.x == 0) {
    init_stages(full, empty, P::producers, kConsumers / kTeams / 32);
    if (P::resident) {
      mbarrier_init(resident, 1);
    }
    fence_mbarrier_init();
  }
  if (P::has_bias) {
    for (int i = threadIdx.x; i < P::block_n; i += kThreads) {
      biases[i] = kMadeChannels % P::block_n == 0 || first_out + i < kMadeChannels
                      ? widen(bias[(first_out + i) / kPhaseBlocks])
                      : 0;
    }
  }
  __syncthreads();

  const int warp = warp_uniform(threadIdx.x / 32);
  if (is_producer(warp)) {
    setmaxnreg_decrease(kProducerRegisters);
    const int thread = threadIdx.x - kConsumers;
    if (thread == 0) {
      grid_dependency_wait();  // the weights are packed
      if (P::resident) {
        mbarrier_arrive_expect(resident, kResidentBytes);
        for (int k_block = 0; k_block < kKBlocks; ++k_block) {
          bulk_load(shared + k_block * kKBlockWeightBytes, block_weights + k_block * kKBlockWeightBytes,
                    kKBlockWeightBytes, resident);
        }
      }
    }
    int issued = 0;  // stages
    if constexpr (kVolume) {
      issued = produce_planes(x, block_weights, stages, full, empty, thread, first_tile, next_tile, tiles, tiles_y,
                              tiles_x, batch, in_d, in_h, in_w, tiles_d);
    } else {
      Words words;
      Places places;
      find_places(places, staged_tile(first_tile, tiles_y, tiles_x, in_h, in_w, tiles_d), thread, batch, in_d, in_h,
                  in_w);
      if (P::copy_bytes == 0 && first_tile < tiles) {
        load_batch(words, x, places, 0, 0, thread, in_d, in_h,
                   in_w);  // a batch is loaded before the one before it is written
      }
      for (int index = first_tile; index < tiles; index += next_tile) {
        for (int k_block = 0; k_block < kKBlocks; ++k_block) {
          const int stage = stage_of(issued);
          mbarrier_wait(&empty[stage], empty_parity(issued));
          unsigned char* to = stages + stage * kStageBytes;
          if (!P::resident && thread == 0) {
            mbarrier_expect(&full[stage], kKBlockWeightBytes);
            bulk_load(to + kInputBytes, block_weights + k_block * kKBlockWeightBytes, kKBlockWeightBytes, &full[stage]);
          }
          ++issued;
          if (P::copy_bytes > 0) {
            stage_input(to, x, places, k_block * P::block_k, thread);
            async_copy_commit();
            if (issued > P::prefetch_stages) {
              async_copy_wait(P::prefetch_stages);
              publish_stage(stages, full, stage_of(issued - 1 - P::prefetch_stages), thread);
            }
          } else {
#pragma unroll
            for (int part = 0; part < kBatches; ++part) {
              store_batch(to, words, part, thread);
              if (part + 1 < kBatches) {
                load_batch(words, x, places, k_block * P::block_k, part + 1, thread, in_d, in_h, in_w);
              }
            }
          }
          // The next k-block, of this tile or of the next one.
          const bool more = k_block + 1 < kKBlocks;
          if (!more) {
            find_places(places, staged_tile(index + next_tile, tiles_y, tiles_x, in_h, in_w, tiles_d), thread, batch,
                        in_d, in_h, in_w);
          }
          if (P::copy_bytes == 0) {
            if (more || index + next_tile < tiles) {
              load_batch(words, x, places, more ? (k_block + 1) * P::block_k : 0, 0, thread, in_d, in_h, in_w);
            }
            fence_proxy_async();
            mbarrier_arrive(&full[stage]);
          }
        }
      }
    }
    if (P::copy_bytes > 0) {
      async_copy_wait(0);
      for (int i = max(0, issued - P::prefetch_stages); i < issued; ++i) {
        publish_stage(stages, full, stage_of(i), thread);
      }
    }
  } else {
    setmaxnreg_increase(kConsumerRegisters);
    // The warpgroup's tiles and its parts of them; the thread's first row of a part, and its first channel.
    const int warpgroup = warp / 4;
    const int team = P::ping_pong ? warpgroup : 0;
    const int first_part = P::ping_pong ? 0 : warpgroup * kParts;
    const int lane = threadIdx.x % 32;
    const int row = warp % 4 * 16 + lane / 4;
    const int channel = lane % 4 * kAdjacentChannels;
    Accumulators acc[kParts][kAccArrays] = {};
    int consumed = team * kKBlocks;  // stages
    if (P::resident) {
      mbarrier_wait(resident, 0);
    }
    if constexpr (kVolume) {
      Element* of_channels = kPhaseBlocks > 1   ? y
                             : P::channels_last ? y + first_out
                                                : y + static_cast<long long>(first_out) * out_d * out_h * out_w;
      consume_planes(acc, of_channels, biases, shared, stages, full, empty, first_tile, next_tile, tiles, tiles_y,
                     tiles_x, first_part, row, channel, kMadeChannels - first_out, first_out, phase_row, batch, in_d,
                     in_h, in_w, out_d, out_h, out_w, tiles_d);
    } else {
      for (int index = first_tile + team * next_tile; index < tiles; index += kTeams * next_tile) {
        pin(acc);
        for (int k_block = 0; k_block < kKBlocks; ++k_block) {
          const int stage = stage_of(consumed);
          mbarrier_wait(&full[stage], full_parity(consumed));
          const unsigned char* from = stages + stage * kStageBytes;
          const unsigned char* weights = P::resident ? shared + k_block * kKBlockWeightBytes : from + kInputBytes;
          wgmma_fence();
          multiply_k_block(acc, from, wgmma_descriptor(weights, kInstructionN * 16, 128, 0), first_part,
                           k_block > 0 ? 1 : 0);
          wgmma_commit();
          if (k_block > 0) {
            wgmma_wait(1);  // the k-block before
            if (lane == 0) {
              mbarrier_arrive(&empty[stage_of(consumed - 1)]);
            }
          }
          ++consumed;
        }
        wgmma_wait(0);
        pin(acc);
        if (lane == 0) {
          mbarrier_arrive(&empty[stage_of(consumed - 1)]);
        }
        consumed += (kTeams - 1) * kKBlocks;
        const Tile tile = kFlat ? flat_tile(index, 0, in_h, in_w) : square_tile(index, tiles_y, tiles_x, tiles_d);
        store_parts(acc,
                    kPhaseBlocks > 1   ? y
                    : P::channels_last ? y + first_out
                                       : y + static_cast<long long>(first_out) * out_h * out_w,
                    biases, tile, 0, 0, first_part, row, channel, kMadeChannels - first_out, first_out, phase_row,
                    batch, in_h, in_w, out_d, out_h, out_w);
      }
    }
  }
}
