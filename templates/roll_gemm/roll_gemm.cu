// Forward transposed convolution of stride 1 on tensor cores (wgmma): blocks walk down the image, and each input row is
// multiplied once with the weights of all kernel rows.
//
// A block computes a strip of positions, `rows` rows of it, for some output channels. The columns of a product are
// those channels, once for each kernel row: a thread has the accumulators of as many output rows in flight. After an
// input row the first of these is complete and stored, and the others move up by one. The weights of a kernel column
// are the B operand, in shared memory for the block's life; pack_weights() has put them into that order. A stage is one
// input row of the strip with its halo, for some channels (all of them with channels last), as it lies in memory: bulk
// copies bring it. The consumers take it into registers, as A operands. A thread's positions are adjacent, so all
// kernel columns take the same words.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/barrier.h"
#include "device/call_sizes.h"
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

constexpr int kConsumers = 256;
constexpr int kProducers = 128;
constexpr int kProducerWarps = kProducers / 32;
// Registers of a thread. Copies of pixels need fewer than copies of channels.
constexpr int kProducerRegisters = P::channels_last ? 56 : 88;
constexpr int kConsumerRegisters = P::channels_last ? 224 : 208;
#include "device/roles.h"

constexpr int kKSteps = P::block_k / kInstructionK;
constexpr int kKBlocks = ceil_div(P::in_channels, P::block_k);
constexpr int kMTiles = P::thread_positions / 2;  // of 64 positions, that a warpgroup makes
constexpr int kStrip = 64 * P::thread_positions;
constexpr int kInstructionN = P::kernel_h * P::block_n;  // of a product
constexpr int kNTiles = ceil_div(P::out_channels, P::block_n);
constexpr int kTaps = P::kernel_h * P::kernel_w;
constexpr int kThreadChannels = P::block_n / 4;                     // that a thread makes
constexpr int kAdjacentChannels = P::channels_last ? P::store : 2;  // of these, adjacent ones
constexpr bool kAddsBias = P::has_bias;

// The halo. Staged columns begin and end with whole 16 bytes; with channels last, which any pixel has, with pairs.
constexpr int kReach = P::dilation_w * (P::kernel_w - 1);  // from a row's last tap to its first
constexpr int kLeastOffsetW = P::padding_w - kReach;
constexpr int kFirstColumn = P::channels_last ? kLeastOffsetW : floor_div(kLeastOffsetW, kVector) * kVector;
constexpr int kColumnUnit = P::channels_last ? 2 : kVector;
constexpr int kStagedColumns = ceil_div(kStrip + P::padding_w - kFirstColumn, kColumnUnit) * kColumnUnit;

// In the sequence: the distance from an image's first position to the next image's. After an image's pixels there are
// kImageGap zeros, so that no output reads pixels of another image: the last output reads at most the last zero,
// padding_w after itself. The next image's first output reads kReach - padding_w positions before its image, at most
// kImageGap (output_padding_w is negative where padding is larger at the end). All outputs fit, as padding_w is not
// negative. The pitch is rounded up, so that a thread's positions are of one image. A strip has up to kImages of them.
constexpr int kPitchUnit = P::channels_last ? P::thread_positions : kVector;
constexpr int kImageGap = kReach - P::padding_w + (P::output_padding_w > 0 ? P::output_padding_w : 0);
constexpr int kImagePitch = ceil_div(P::width + (kImageGap > 0 ? kImageGap : 0), kPitchUnit) * kPitchUnit;
constexpr int kImages = P::flat ? ceil_div(kImagePitch - kPitchUnit + kFirstColumn + kStagedColumns, kImagePitch) : 1;

// The pitch in elements keeps the consumers' reads free of bank conflicts: (thread in four) * pitch + 8 words each.
constexpr int kChannelPitch = kStagedColumns + floor_mod(8 - kStagedColumns, 32);
// With channels last pixels follow one another. Where two of them take an odd number of 64 bytes, every second thread
// of a row takes the second of a pair first, so that their reads meet no bank twice.
constexpr bool kCrossed = P::channels_last && P::in_channels * kBytes % 128 == 64;
constexpr int kStageElements = P::channels_last ? kStagedColumns * P::in_channels : P::block_k * kChannelPitch;
constexpr int kStageBytes = kStageElements * kBytes;  // a row of input

// Weights: for each kernel column and k-step a K-major B operand without swizzle, two columns of 16-byte rows.
constexpr int kProductBytes = kInstructionN * 32;                          // a B operand
constexpr int kKBlockWeightBytes = P::kernel_w * kKSteps * kProductBytes;  // a k-block's B operands
constexpr int kWeightBytes = kKBlocks * kKBlockWeightBytes;                // of a block, at 0; the stages follow
constexpr int kEpilogueOffset = kWeightBytes + P::stages * kStageBytes;    // each warpgroup stages its outputs there

// The staged epilogue: a warpgroup's outputs of a row by channel, with a pitch that keeps its writes free of bank
// conflicts.
constexpr int kOutPitch = kStrip / 2 + kVector;
constexpr int kWarpgroupEpilogueBytes = P::staged_epilogue ? P::block_n * kOutPitch * kBytes : 0;  // a warpgroup's part
constexpr int kBarrierOffset = kEpilogueOffset + 2 * kWarpgroupEpilogueBytes;                      // mbarriers
constexpr int kSharedBytes = kBarrierOffset + (2 * P::stages + 1) * 8;
constexpr long long kPackedBytes = static_cast<long long>(kNTiles) * kWeightBytes;  // of the layer

constexpr int kAlignment = 16;                     // of x and y, in bytes
constexpr int kRowStores = kStrip / 2 / P::store;  // of a channel, stored by a warpgroup

// A thread's positions, with the halo of their row: whole vectors (pairs of pixels with channels last). It
// uses their words from the first one on.
constexpr int kLoadVector = P::channels_last ? 2 : P::thread_positions;
constexpr int kLoadStart = (kLeastOffsetW - kFirstColumn) / kLoadVector * kLoadVector;
constexpr int kFirstWord = kLeastOffsetW - kFirstColumn - kLoadStart;
constexpr int kLoadedColumns =
    ceil_div(P::thread_positions + P::padding_w - kFirstColumn - kLoadStart, kLoadVector) * kLoadVector;

static_assert(P::thread_positions == 2 || P::thread_positions == 4, "loads and stores are written for these");
static_assert(P::stride_h == 1 && P::stride_w == 1 && P::dilation_h == 1, "rows follow one another");
static_assert(P::channels_last ? P::in_channels % kVector == 0 && kKBlocks == 1
                               : P::width > 0 && P::width % kVector == 0,
              "rows are whole bulk copies");
static_assert(P::width > 0 || !P::flat, "the sequence has images of a known width");
static_assert(!P::channels_last || (!P::staged_epilogue && P::block_n % (4 * P::store) == 0),
              "a quad stores what it has");
constexpr int kMostAccumulators = 128;  // of a thread
static_assert(kInstructionN <= 256 && kMTiles * kInstructionN / 2 <= kMostAccumulators,
              "the accumulators fit the registers");
static_assert(kKBlocks == 1 || kKSteps % 2 == 0, "each k-block begins with the same fragments");
static_assert(P::in_channels % P::block_k == 0 || P::stages % kKBlocks == 0, "a stage always lacks the same channels");

// ---- Packing ----
#include "channels.h"

// Puts the weights where the products look for them: for each block of output channels, k-block of input channels,
// kernel column and k-step the two columns of a B operand, whose rows are the output channels of all kernel rows. A
// thread makes 16 bytes, adjacent threads read adjacent weights.
extern "C" __global__ void __launch_bounds__(256)
    pack_weights(const Element* __restrict__ weight, unsigned char* __restrict__ packed) {
  grid_dependents_launch();
  const int index = blockIdx.x * 256 + threadIdx.x;
  const int tap = P::weight_channels_last ? index / P::block_n % kTaps : index % kTaps;
  const int n = P::weight_channels_last ? index % P::block_n : index / kTaps % P::block_n;
  const int half = index / (kTaps * P::block_n) % 2;
  const int k_step = index / (kTaps * P::block_n * 2) % (kKSteps * kKBlocks);
  const int n_tile = index / (kTaps * P::block_n * 2 * kKSteps * kKBlocks);
  if (n_tile < kNTiles) {
    const int co = n_tile * P::block_n + (P::channels_last ? channel_of_column(n) : n);
    unsigned int words[4];
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      unsigned int parts[4 / kBytes];
#pragma unroll
      for (int part = 0; part < 4 / kBytes; ++part) {
        const int ci = P::channels_last ? in_channel_at(k_step, half, word, part)
                                        : k_step * kInstructionK + half * kVector + word * (4 / kBytes) + part;
        Element value = 0;
        if ((P::in_channels % P::block_k == 0 || ci < P::in_channels) &&
            (P::out_channels % P::block_n == 0 || co < P::out_channels)) {
          value = weight[product_weight_offset(static_cast<WeightIndex>(ci), co, tap, P::in_channels, P::out_channels,
                                               kTaps)];
        }
        parts[part] = bits_of(value);
      }
      if (P::type == kWgmmaTf32) {
        words[word] = operand(parts[0]);
      } else {
        words[word] = low_halves(parts[0], parts[1]);
      }
    }
    const int product = (k_step / kKSteps * P::kernel_w + tap % P::kernel_w) * kKSteps + k_step % kKSteps;
    unsigned char* to = packed + static_cast<long long>(n_tile) * kWeightBytes + product * kProductBytes;
    const int row = half * kInstructionN + tap / P::kernel_w * P::block_n + n;
    *reinterpret_cast<uint4*>(to + row * 16) = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

// ---- Tiles ----

// A tile's place: its first image, its first position in a row there, and its first row of outputs.
struct Tile {
  int image;
  int column;
  int row;
};
__device__ __forceinline__ Tile tile_at(int index, const int segments, const int image_strips) {
  const int strip = index / segments;
  Tile tile;
  if (P::flat) {
    const long long position = static_cast<long long>(strip) * kStrip;
    tile.image = static_cast<int>(position / kImagePitch);
    tile.column = static_cast<int>(position % kImagePitch);
  } else {
    tile.image = strip / image_strips;
    tile.column = strip % image_strips * kStrip;
  }
  tile.row = index % segments * P::rows;
  return tile;
}

// The input rows that a tile reads: from the first to before the last. Some may lie past the image's end.
__device__ __forceinline__ int first_input_row(const Tile& tile) {
  return max(0, tile.row + (P::padding_h - (P::kernel_h - 1)));
}
__device__ __forceinline__ int last_input_row(const Tile& tile, const int out_h) {
  return min(tile.row + P::rows, out_h) + P::padding_h;
}

// ---- Producer ----
#include "staging.h"

// ---- Products ----

// One thread's accumulators for one tile: those of each kernel row, which belong to one output row each.
constexpr int kRowAcc = P::block_n / 2;
using Accumulators = float[kInstructionN / 2];

// The A fragments of products whose first position is each of the thread's positions.
using Fragments = unsigned int[kLoadedColumns - 1][4];

// Fragments of a k-step, and sets of them: two where registers suffice, so that one is loaded while products read the
// other.
constexpr int kFragments =
    P::thread_positions - 1 + kReach < kMTiles * P::kernel_w ? P::thread_positions - 1 + kReach : kMTiles * P::kernel_w;
constexpr int kFragmentSets = P::channels_last && kMTiles * kInstructionN / 2 + 2 * 4 * kFragments > 160 ? 1 : 2;
constexpr bool kOneGroup = kKBlocks == 1 && kKSteps == 2 && kFragmentSets == 2;  // one commit for both k-steps

#include "words.h"

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before them.
__device__ __forceinline__ void pin(Accumulators (&acc)[kMTiles]) {
#pragma unroll
  for (int tile = 0; tile < kMTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < kInstructionN / 2; ++i) {
      wgmma_pin(acc[tile][i]);
    }
  }
}

// All products of one k-block of an input row; `row` is the thread's first position there. The stage is released as
// soon as it lies in registers. Fake dependency: the arrival's address takes a word that waits for the loads, and
// `zero` leaves nothing of it.
__device__ __forceinline__ void multiply_k_block(Accumulators (&acc)[kMTiles], Fragments (&fragments)[kFragmentSets],
                                                 const Element* row, unsigned long long weights,
                                                 unsigned long long* empty, int zero, int quarter, const int turn) {
  Words words[2];  // with channels last: of two k-steps, which one read brings
#pragma unroll
  for (int k_step = 0; k_step < kKSteps; ++k_step) {
    const Element* k_step_row = row + k_step * (P::channels_last ? kInstructionK : kInstructionK * kChannelPitch);
    const int at = k_step % kFragmentSets;
    unsigned int read;
    if (!P::channels_last) {
      read = load_fragments(fragments[at], k_step_row + kLoadStart, k_step == 1, static_cast<unsigned int>(zero));
    } else if (k_step % 2 == 0 && (kKSteps % 2 == 0 || k_step < kKSteps - 1)) {
      load_pixels(words[0], words[1], k_step_row, turn,
                  kKSteps / 2 * 2 * kInstructionK <= P::in_channels ||
                      k_step * kInstructionK + quarter * kVector < P::in_channels);
    } else if (kKSteps % 2 == 1 && k_step == kKSteps - 1) {
      load_last_pixels(words[0], k_step_row - quarter * (kVector / 2), turn,
                       kKSteps * kInstructionK <= P::in_channels ||
                           (kKSteps - 1) * kInstructionK + quarter * (kVector / 2) < P::in_channels);
    }
    if (P::channels_last) {
      if (kFragmentSets == 1) {
        wgmma_wait(0);  // the fragments may be overwritten
      }
      read = arrange(fragments[at], words[k_step % 2]);
    }
    if (P::channels_last ? k_step == (kKSteps - 1) / 2 * 2 : k_step == kKSteps - 1) {
      __syncwarp();
      if (threadIdx.x % 32 == 0) {
        mbarrier_arrive(empty + (read & static_cast<unsigned int>(zero)));
      }
    }
    const unsigned long long k_step_weights = wgmma_descriptor_move(weights, k_step * kProductBytes);
    wgmma_fence();
    CONVTGEN_UNROLL
    for (int kw = 0; kw < P::kernel_w; ++kw) {
      const int shift = P::padding_w - P::dilation_w * kw - kFirstColumn - kLoadStart;
      // taps {for kh below P::kernel_h: ({kh}, {kw})}
      CONVTGEN_UNROLL
      for (int tile = 0; tile < kMTiles; ++tile) {
        wgmma_rs(P::type, kWgmmaMajorK, acc[tile], fragments[at][2 * tile + shift],
                 wgmma_descriptor_move(k_step_weights, kw * kKSteps * kProductBytes), 1);
      }
    }
    if (!kOneGroup || k_step == kKSteps - 1) {
      wgmma_commit();
    }
    if (kKBlocks > 1 || (kFragmentSets > 1 && kKSteps > 2)) {
      wgmma_wait(1);  // the fragments before may be overwritten
    }
  }
}

// Moves the accumulators of all output rows up by one; those of the last row become zero.
__device__ __forceinline__ void roll(Accumulators (&acc)[kMTiles]) {
#pragma unroll
  for (int tile = 0; tile < kMTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < kInstructionN / 2; ++i) {
      acc[tile][i] = i + kRowAcc < kInstructionN / 2 ? acc[tile][i + kRowAcc] : 0;
    }
  }
}

// ---- Epilogue ----
#include "device/epilogue.h"
#include "store.h"

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    roll_gemm(const Element* __restrict__ x, const unsigned char* packed, const Element* __restrict__ bias,
              Element* __restrict__ y, int batch, int height, int width) {
  const int in_h = input_rows(height);
  const int in_w = input_columns(width);
  const int out_h = output_rows(in_h);
  const int out_w = output_columns(in_w);
  const int segments = (out_h + (P::rows - 1)) / P::rows;
  const int image_strips = (out_w + (kStrip - 1)) / kStrip;  // of one image, unless images are a sequence
  const int strips = P::flat ? static_cast<int>((static_cast<long long>(batch) * kImagePitch + (kStrip - 1)) / kStrip)
                             : batch * image_strips;
  const int tiles = strips * segments;

  // The block's output channels. Blocks that read the same input have adjacent indices.
  const int n_tile = blockIdx.x % kNTiles;
  const int first_tile = blockIdx.x / kNTiles;
  const int next_tile = gridDim.x / kNTiles;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  unsigned char* stages = shared + kWeightBytes;
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + P::stages;
  unsigned long long* resident = empty + P::stages;  // of the weights
  if (threadIdx.x == 0) {
    init_stages(full, empty, kProducerWarps, kConsumers / 32);
    mbarrier_init(resident, 1);
    fence_mbarrier_init();
  }
  __syncthreads();

  const int warp = warp_uniform(threadIdx.x / 32);
  int stage = 0;
  unsigned int parity = warp >= kConsumers / 32 ? 1 : 0;
  if (is_producer(warp)) {
    setmaxnreg_decrease(kProducerRegisters);
    const int thread = threadIdx.x - kConsumers;
    if (thread == 0) {
      grid_dependency_wait();  // the weights are packed
      mbarrier_arrive_expect(resident, kWeightBytes);
      bulk_load(shared, packed + static_cast<long long>(n_tile) * kWeightBytes, kWeightBytes, resident);
    }
    for (int index = first_tile; index < tiles; index += next_tile) {
      const Tile tile = tile_at(index, segments, image_strips);
      const long long in_plane = static_cast<long long>(in_h) * in_w;
      const Element* image = x + tile.image * (P::x_channels * in_plane);
      const int last = min(in_h, last_input_row(tile, out_h));
      int unpadded = !P::channels_last || has_padding(tile, batch, in_w) ? P::stages : 0;
      for (int iy = first_input_row(tile); iy < last; ++iy) {
        for (int k_block = 0; k_block < kKBlocks; ++k_block) {
          const int channels = min(P::block_k, P::in_channels - k_block * P::block_k);
          Element* to = reinterpret_cast<Element*>(stages + stage * kStageBytes);
          mbarrier_wait(&empty[stage], parity);
          if (unpadded != 0) {
            zero_pad(to, tile, channels, thread, batch, in_w);
            fence_proxy_async();
            --unpadded;
          }
          __syncwarp();
          if (P::channels_last) {
            copy_pixels(to, image + static_cast<long long>(iy) * in_w * P::in_channels, tile, thread, batch, in_h, in_w,
                        &full[stage]);
          } else {
            copy_channels(to, image + (k_block * P::block_k * static_cast<long long>(in_h) + iy) * in_w, tile, channels,
                          thread, batch, in_h, in_w, &full[stage]);
          }
          ++stage;
          if (stage == P::stages) {
            stage = 0;
            parity ^= 1;
          }
        }
      }
    }
  } else {
    setmaxnreg_increase(kConsumerRegisters);
    // The thread's place in the strip, and the first of its channels.
    const int lane = threadIdx.x % 32;
    const int quarter = lane % 4;
    const int column = (warp * 8 + lane / 4) * P::thread_positions;
    const int first = kCrossed ? column + lane / 4 % 2 : column;  // that it reads
    const int own =
        P::channels_last ? first * P::in_channels + quarter * kVector : quarter * (4 / kBytes) * kChannelPitch + column;
    const int turn = kCrossed && lane / 4 % 2 == 1 ? -P::in_channels : P::in_channels;  // to its pair's other pixel
    const int co = n_tile * P::block_n + quarter * kAdjacentChannels;
    const int member = threadIdx.x % 128;  // the thread's number in its warpgroup
    const int stored = P::staged_epilogue ? warp / 4 * (kStrip / 2) + member % kRowStores * P::store : column;
    const int stored_channel = P::staged_epilogue ? n_tile * P::block_n + member / kRowStores : co;
    Element* staged = reinterpret_cast<Element*>(shared + kEpilogueOffset + warp / 4 * kWarpgroupEpilogueBytes);
    Element* put = staged + quarter * 2 * kOutPitch + (column - warp / 4 * (kStrip / 2));
    const Element* take = staged + member / kRowStores * kOutPitch + member % kRowStores * P::store;
    Accumulators acc[kMTiles] = {};
    mbarrier_wait(resident, 0);
    for (int index = first_tile; index < tiles; index += next_tile) {
      const Tile tile = tile_at(index, segments, image_strips);
      const int image = P::flat ? tile.image + (tile.column + stored) / kImagePitch : tile.image;
      const int ox = P::flat ? (tile.column + stored) % kImagePitch : tile.column + stored;
      const int left = image < batch ? out_w - ox : 0;
      const int channels_left =
          left > 0 ? min(P::block_n, P::out_channels - n_tile * P::block_n) - member / kRowStores : 0;
      Element* to = P::channels_last
                        ? y + (static_cast<long long>(image) * out_h * out_w + ox) * P::y_channels + stored_channel
                        : y + (static_cast<long long>(image) * P::y_channels + stored_channel) * out_h * out_w + ox;
      const int last = last_input_row(tile, out_h);
      for (int iy = first_input_row(tile); iy < last; ++iy) {
        if (iy < in_h) {
          pin(acc);
          Fragments fragments[kFragmentSets] = {};
          for (int k_block = 0; k_block < kKBlocks; ++k_block) {
            mbarrier_wait(&full[stage], parity);
            multiply_k_block(acc, fragments, reinterpret_cast<const Element*>(stages + stage * kStageBytes) + own,
                             wgmma_descriptor(shared + k_block * kKBlockWeightBytes, kInstructionN * 16, 128, 0),
                             &empty[stage], batch >> 31, quarter, turn);
            ++stage;
            if (stage == P::stages) {
              stage = 0;
              parity ^= 1;
            }
          }
          wgmma_wait(0);
          pin(acc);
        }
        const int oy = iy - P::padding_h;
        if (oy >= tile.row) {
          Element* row = to + static_cast<long long>(oy) * out_w * (P::channels_last ? P::y_channels : 1);
          if (P::channels_last) {
            store_pixels(acc, row, bias, co, left);
          } else if (P::staged_epilogue) {
            named_barrier_sync(1 + warp / 4, 128);  // the row before is taken
            put_row(acc, put, bias, co);
            named_barrier_sync(1 + warp / 4, 128);
            take_row(take, row, channels_left, out_h, out_w);
          } else {
            store_row(acc, row, bias, co, left, out_h, out_w);
          }
        }
        roll(acc);
      }
      // Drops what was accumulated for rows after the tile.
#pragma unroll
      for (int part = 0; part < kMTiles; ++part) {
#pragma unroll
        for (int i = 0; i < kInstructionN / 2; ++i) {
          acc[part][i] = 0;
        }
      }
    }
  }
}
