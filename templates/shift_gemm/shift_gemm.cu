// Forward transposed convolution on tensor cores (wgmma): for each tap, a matrix product of shifted input with the
// tap's weights.
//
// A block makes tiles of positions m = output / stride in all phases of its phase rows, for some output channels. Each
// tap serves one phase and reads the input at a constant offset from m. A producer warpgroup brings input channels with
// their halo to shared memory as they lie (cp.async); the consumers take them from there into registers, as the A
// operands of products with the weights. These lie in shared memory as B operands; pack_weights() has put them into
// that order, so that they come in one piece. A thread's positions are adjacent in memory, so taps along a row take the
// same registers, shifted by one.
//
// f32x3 makes fp32 products of pairs of f16 (device/split.h): high * high in one set of sums, high * low and low * high
// in another. Weights have a scale for each output channel. That of the input follows the largest magnitude of an image
// in a stage, which the producers look for before they split what they staged, in its place: where a stage needs
// another one than those before it, and where sums have terms enough, they are added to totals in fp32 and begun anew.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/activation.h"
#include "device/async_copy.h"
#include "device/barrier.h"
#include "device/cluster.h"
#include "device/element.h"
#include "device/grid.h"
#include "device/printed.h"
#include "device/split.h"
#include "device/template.h"
#include "device/tensor_copy.h"
#include "device/warp.h"
#include "device/warpgroup.h"

using P = Parameters;
using Element = P::Element;
using WeightIndex = long long;

#include "device/weight_order.h"

constexpr int kConsumers = 256;
constexpr int kTileWarps = P::in_turn ? 4 : 8;  // of consumers, that make a tile

constexpr int kBytes = P::type == kWgmmaTf32 ? 4 : 2;  // of an element
constexpr int kOperandBytes = P::split ? 2 : kBytes;   // of one in a product
constexpr int kProductType = P::split ? kWgmmaF16 : P::type;
constexpr int kParts = P::split ? 2 : 1;    // operands that an element makes, sets of sums
constexpr int kDepth = 32 / kOperandBytes;  // channels of one product
constexpr int kPack = 16 / kOperandBytes;   // operands of 16 bytes
constexpr int kSteps = P::chunk / kDepth;
constexpr int kChunks = ceil_div(P::in_channels, P::chunk);
constexpr int kTaps = P::kernel_h * P::kernel_w;
constexpr int kPhases = P::phase_rows * P::stride_w;
constexpr int kPhaseGroups = P::stride_h / P::phase_rows;
constexpr int kBlockTaps = kTaps / kPhaseGroups;
constexpr int kBlockTapRows = P::kernel_h / kPhaseGroups;
// Adjacent column phases whose taps read the same positions: one product makes them all.
constexpr int kMerged = P::kernel_w % P::stride_w == 0 && P::dilation_w == 1
                            ? greatest_common_divisor(P::stride_w, P::padding_w % P::stride_w)
                            : 1;
constexpr int kProductColumns = kMerged * P::columns;
constexpr int kOwnChunks = kChunks / P::cluster;         // that a block of a cluster sums
constexpr int kStoredColumns = P::columns / P::cluster;  // output channels that it finishes
constexpr int kTiles = P::run / 2;                       // of 64 positions, that a warpgroup makes
constexpr int kChannelTiles = ceil_div(P::out_channels, P::columns);
constexpr int kColumnTiles = P::groups * kPhaseGroups * kChannelTiles;
constexpr int kInChannels = P::groups * P::in_channels;  // of a pixel
constexpr int kOutChannels = P::groups * P::out_channels;

// The halo. Staged columns begin where a copy may, and what a thread reads at once.
constexpr int kLeastOffsetH = offset_of_tap(P::kernel_h - 1, P::stride_h, P::padding_h, P::dilation_h);
constexpr int kLeastOffsetW = offset_of_tap(P::kernel_w - 1, P::stride_w, P::padding_w, P::dilation_w);
constexpr int kMostOffsetH = offset_of_tap(0, P::stride_h, P::padding_h, P::dilation_h);
constexpr int kMostOffsetW = offset_of_tap(0, P::stride_w, P::padding_w, P::dilation_w);
constexpr int kOffsetsH = kPhaseGroups == 1 ? kMostOffsetH - kLeastOffsetH + 1 : kBlockTapRows;
// Where outputs of a position are made from it alone, and are stride_h * stride_w, an image may be one row: f32x3 takes
// it so, others where its own rows are no whole pieces of 16 bytes.
constexpr bool kFlat = P::bulk && !P::channels_last && (P::split || P::width * kBytes % 16 != 0) && P::tile_h == 1 &&
                       !P::exchange && P::cluster == 1 && P::height > 1 && P::width > 0 && P::width % P::run == 0 &&
                       P::height <= 0x3fffffff / P::width&& P::height* P::width* kBytes % 16 == 0 &&
                       kLeastOffsetH == 0 && kMostOffsetH == 0 && kLeastOffsetW == 0 && kMostOffsetW == 0 &&
                       P::dilation_h*(P::kernel_h - 1) + P::output_padding_h + 1 ==
                           P::stride_h&& P::dilation_w*(P::kernel_w - 1) + P::output_padding_w + 1 == P::stride_w;
// Bulk copies are whole pieces of 16 bytes. Rows of other widths begin anywhere in one: rows.h.
constexpr bool kSkewed = P::bulk && !P::channels_last && !kFlat && (P::width < 0 || P::width * kBytes % 16 != 0);
constexpr int kVector = P::channels_last        ? 1
                        : kSkewed               ? (P::width >= 0 && P::width % 2 == 0 ? 2 : 1)
                        : P::type != kWgmmaTf32 ? 2
                        : P::run < 4            ? P::run
                                                : 4;
constexpr int kCopy = P::copy_bytes / kBytes;  // elements
constexpr int kAlign = P::channels_last ? 1 : !kSkewed && kCopy > kVector ? kCopy : kVector;
constexpr int kFirstColumn = floor_div(kLeastOffsetW, kAlign) * kAlign;
constexpr int kStagedRows = P::tile_h + kOffsetsH - 1;
constexpr int kColumnAlign = P::channels_last && P::bulk ? P::run : kAlign;
constexpr int kStagedColumns = ceil_div(P::tile_w + kMostOffsetW - kFirstColumn, kColumnAlign) * kColumnAlign;

// Pitches in elements that keep the consumers' reads free of bank conflicts: (thread in four) * pitch + 8 words each.
constexpr int kRowPitch =
    kSkewed ? ceil_div(kStagedColumns + 16 / kBytes - kVector, 16 / kBytes) * (16 / kBytes) : kStagedColumns;
constexpr int kImagePlane = kStagedRows * kRowPitch;
constexpr int kPlane = P::tile_n * kImagePlane;
constexpr int kChannelPitch = P::split      ? kPlane + floor_mod(4 - kPlane, 16)
                              : kBytes == 4 ? kPlane + floor_mod(8 - kPlane, 32)
                                            : 2 * (kPlane / 2 + floor_mod(4 - kPlane / 2, 16));
constexpr int kPixelWords = P::chunk * kBytes / 4;
constexpr int kPixelPitch =
    P::split ? kPixelWords + (P::run > 2 ? floor_mod(4 - kPixelWords, 8) : floor_mod(8 - kPixelWords, 16))
             : (kPixelWords + floor_mod(4 - kPixelWords, 16 / (P::run > 2 ? 2 : 1))) * 4 / kBytes;
// Pixels that come by bulk copies lie together in runs.
constexpr int kRunPitch = P::run * P::chunk + 32 / kBytes;
constexpr int kInputBytes = (!P::channels_last ? P::chunk * kChannelPitch
                             : P::bulk         ? kPlane / P::run * kRunPitch
                                               : kPlane * kPixelPitch) *
                            kBytes;

// A thread's run of positions, with the halo of its row: whole vectors.
constexpr int kRunStart = P::channels_last ? 0 : (kLeastOffsetW - kFirstColumn) / kVector * kVector;
constexpr int kRun = ceil_div(P::run + kMostOffsetW - kFirstColumn - kRunStart, kVector) * kVector;

// Who splits what is staged for f32x3: the producers, once for all taps that share it; or, where rows of taps share
// none and runs little of it, the consumers what they read.
constexpr bool kSplitsRead = P::split && kOffsetsH == 1 && kRun <= 2 * P::run;
constexpr bool kSplitsStaged = P::split && !kSplitsRead;
// Where stages with weights are few, each is given back as soon as it has been read: no products are under way then.
constexpr bool kGivesBack = kSplitsStaged && !P::resident && P::stages <= 3 && P::add_rows == 0;
// Where sums, operands and words leave registers for it, there are twice the producers; and where nothing is kept for
// products under way, if many small copies are to be asked for.
constexpr bool kSparesRegisters =
    kParts * kPhases * kTiles * P::columns / 2 + 8 * (P::run - 1 + kMostOffsetW - kLeastOffsetW) + 4 * kRun <= 136;
constexpr bool kWideProducers = kSplitsStaged && (kSparesRegisters || (kGivesBack && !P::bulk && !P::channels_last));
constexpr int kProducers = kWideProducers ? 256 : 128;
constexpr int kThreads = kConsumers + kProducers;

// Weights: for each product and step a K-major B operand without swizzle, two columns of 16-byte rows; f32x3 has one of
// high and one of low parts, and in memory, behind all chunks, the exponents of its columns' scales, and what was found
// to be largest in parts of a column.
constexpr int kProducts = kBlockTaps / kMerged;
constexpr int kOperandSize = kProductColumns * 32;
constexpr int kProductBytes = kParts * kOperandSize;
constexpr int kChunkWeightBytes = kProducts * kSteps * kProductBytes;
constexpr int kAllWeightBytes = kChunks * kChunkWeightBytes;  // of a block
constexpr int kFoundOffset = kAllWeightBytes + P::columns * 4;
constexpr int kPackedBytes = P::split ? kFoundOffset + P::columns * 32 : kAllWeightBytes;
constexpr int kResidentBytes = P::resident ? kAllWeightBytes : 0;
constexpr int kLargestOffset = kInputBytes + (P::resident ? 0 : kChunkWeightBytes);   // what each producer warp found
constexpr int kExponentsOffset = kLargestOffset + P::tile_n * (kProducers / 32) * 4;  // of the input's scales
constexpr int kStageBytes = P::split ? kExponentsOffset + ceil_div(P::tile_n, 4) * 16 : kLargestOffset;
constexpr int kTotalsOffset = kResidentBytes + P::stages * kStageBytes;
// In sums of a phase no more than 16 products of 16 channels follow one another, since each addition truncates. They
// are added to totals where there are more, or where another scale is asked for; consumers that split what they read
// take their sums to that scale.
constexpr int kRowTerms = ceil_div(P::kernel_w, P::stride_w / greatest_common_divisor(P::stride_w, P::dilation_w));
constexpr int kTerms =
    kSteps * kRowTerms * ceil_div(P::kernel_h, P::stride_h / greatest_common_divisor(P::stride_h, P::dilation_h));
constexpr int kMostTerms = 16;
constexpr bool kHasTotals =
    P::split && (P::add_rows > 0 || (kSplitsRead ? kChunks * kTerms > kMostTerms : kChunks > 1));
constexpr int kTotalsBytes =
    kHasTotals ? kPhases * kTiles * P::columns / 2 * 4 * kConsumers : 0;  // what the chunks add up to
constexpr int kExchangeOffset = kTotalsOffset + kTotalsBytes;

// The exchange of outputs: a warp's adjacent ones in a row, for eight channels. The pitch keeps writes free of bank
// conflicts.
constexpr int kWarpOutputs = 8 * P::run * P::stride_w;
constexpr int kOutPitch = kWarpOutputs + floor_mod(16 / kBytes - kWarpOutputs, 64 / kBytes);
constexpr int kWarpExchangeBytes = P::exchange ? 8 * kOutPitch * kBytes : 0;
constexpr int kUsedBytes = kExchangeOffset + kConsumers / 32 * kWarpExchangeBytes;
// f32x3 has there what undoes its columns' scales, in two factors each, and the biases of its channels.
constexpr int kColumnsOffset = kUsedBytes;
constexpr int kColumnBytes = P::split ? P::columns * (P::has_bias ? 12 : 8) : 0;
constexpr int kReceivedBytes = P::cluster > 1 ? kPhases* kTiles* P::columns / 2 * 4 * kConsumers : 0;
constexpr int kBarrierOffset = kReceivedBytes > kUsedBytes ? kReceivedBytes : kColumnsOffset + kColumnBytes;

constexpr int kArrivals = P::split || (P::bulk && P::channels_last) ? kProducers / 32 : kProducers;  // at a full stage

static_assert(P::tile_n * P::tile_h * P::tile_w == 8 * kTileWarps * P::run && P::tile_w % P::run == 0,
              "the warps make the tile");
static_assert(kParts * kPhases * kTiles * P::columns <= 256, "the sums fit the registers");
static_assert(!P::split || kBytes == 4, "what is split is fp32");
static_assert(P::split ? !P::in_turn : P::ahead && P::add_rows == 0, "what only f32x3 has, or has not");
static_assert(kPhaseGroups == 1 || (P::phase_rows == 1 && P::kernel_h % P::stride_h == 0 && P::dilation_h == 1),
              "phase rows are parted one by one, and only where each has as many kernel rows");
static_assert(!P::bulk || kSkewed || P::channels_last || (P::copy_bytes == 16 && P::tile_w * kBytes % 16 == 0),
              "rows are whole pieces of 16 bytes");
static_assert(!kSkewed || (P::type == kWgmmaTf32 && !P::split), "what begins anywhere is read word by word");
static_assert(!P::exchange || (!P::channels_last && P::tile_w % (8 * P::run) == 0 && P::channel_run == 2),
              "a warp's positions are adjacent");
static_assert(!P::bulk || !P::channels_last || (!P::split && P::copy_bytes == 16 && P::in_channels * kBytes % 16 == 0),
              "pixels are whole pieces of 16 bytes");
static_assert(P::cluster == 1 || (!P::split && !P::resident && !P::exchange && !P::in_turn),
              "what blocks of a cluster have not");
static_assert(P::cluster == 1 || (kChunks % P::cluster == 0 && P::columns % (8 * P::cluster) == 0 &&
                                  kStoredColumns % (4 * P::channel_run) == 0),
              "blocks of a cluster have equal shares");
static_assert(!P::split || P::tile_n <= 32, "a lane for each image");
static_assert(!kSplitsRead || P::ahead, "what is read is split while products run");
static_assert(kInputBytes % 16 == 0 && kStagedColumns % kVector == 0, "stages are aligned");

// One thread's sums for one tile, in phases that one product makes.
//
// Behind those of all phases, f32x3 has the sums of products with low parts.
using Sums = float[kProductColumns / 2];
constexpr int kPhaseSums = kPhases / kMerged;
constexpr int kSums = kParts * kPhaseSums;
// The registers of a run: the A operands of products whose first position is each of the run's.
using Run = unsigned int[kRun - 1][4];
using Words = unsigned int[2][kRun];  // for the halves of a product's depth

#include "taps.h"
#include "weights.h"

#include "staging.h"

#include "pixels.h"
#include "rows.h"

#include "operands.h"

#include "products.h"

#include "store.h"

#include "scales.h"
#include "totals.h"

#include "read_split.h"
#include "split.h"

#include "cluster.h"

// A tile's place: its first image, and its first position there.
struct Tile {
  int image;
  int m_y;
  int m_x;
};
__device__ __forceinline__ Tile tile_at(int index, const int tiles_y, const int tiles_x) {
  return {index / (tiles_y * tiles_x) * P::tile_n, index / tiles_x % tiles_y * P::tile_h, index % tiles_x * P::tile_w};
}

// The place of a thread that reads from a `row` behind the tile's first on, and from its staged `column`.
__device__ __forceinline__ Place place_of(const Tile& tile, const Element* __restrict__ x, int image, int channel,
                                          int row, int column, const int in_h, const int in_w) {
  const int first_column = tile.m_x + kFirstColumn;
  const long long plane = static_cast<long long>(tile.image + image) * kInChannels + channel;
  return {place_in_piece(x, (plane * in_h + tile.m_y + row) * in_w + first_column), first_column + column + kRunStart,
          first_column < 0 || first_column + kStagedColumns > in_w};
}

// Goes on to the stage behind those of one tile.
__device__ __forceinline__ void skip_tile(int& stage, unsigned int& parity) {
  stage += kChunks % P::stages;
  parity ^= kChunks / P::stages % 2;
  if (stage >= P::stages) {
    stage -= P::stages;
    parity ^= 1;
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    shift_gemm(const Element* __restrict__ x, const unsigned char* packed, const Element* __restrict__ bias,
               Element* __restrict__ y, int batch, int height, int width) {
  const int in_h = P::height >= 0 ? P::height : height;
  const int in_w = P::width >= 0 ? P::width : width;
  const int out_h =
      (in_h - 1) * P::stride_h + (P::dilation_h * (P::kernel_h - 1) + P::output_padding_h + 1 - 2 * P::padding_h);
  const int out_w =
      (in_w - 1) * P::stride_w + (P::dilation_w * (P::kernel_w - 1) + P::output_padding_w + 1 - 2 * P::padding_w);
  const int tiles_y = kFlat ? 1 : (out_h + (P::stride_h * P::tile_h - 1)) / (P::stride_h * P::tile_h);
  const int tiles_x = kFlat ? (in_h * in_w + (P::tile_w - 1)) / P::tile_w
                            : (out_w + (P::stride_w * P::tile_w - 1)) / (P::stride_w * P::tile_w);
  const int tiles = ((batch - 1) / P::tile_n + 1) * tiles_y * tiles_x;
  const long long in_image = static_cast<long long>(in_h) * in_w * kInChannels;
  const long long out_image = static_cast<long long>(out_h) * out_w * kOutChannels;
  // The block's output channels and phase rows; blocks that read the same input run together.
  const int rank = P::cluster == 1 ? 0 : blockIdx.x % P::cluster;
  const int column_tile = blockIdx.x / P::cluster % kColumnTiles;
  const int first_tile = blockIdx.x / (P::cluster * kColumnTiles);
  const int next_tile = P::cluster == 1 ? gridDim.x / kColumnTiles : tiles;
  const int first_out = column_tile % kChannelTiles * P::columns;
  const int group = P::groups == 1 ? 0 : column_tile / (kChannelTiles * kPhaseGroups);
  const int first_in = group * P::in_channels;
  const int phase_row = kPhaseGroups == 1 ? 0 : column_tile / kChannelTiles - group * kPhaseGroups;
  const unsigned char* block_weights = packed + static_cast<long long>(column_tile) * kPackedBytes;
  if constexpr (P::groups > 1) {
    y += static_cast<long long>(group * P::out_channels) * (P::channels_last ? 1 : out_h) *
         (P::channels_last ? 1 : out_w);
    if (P::has_bias) {
      bias += group * P::out_channels;
    }
  }
  // The block's kernel rows are r, r + {P::stride_h} and so on, r = (its phase row + {P::padding_h}) % {P::stride_h}.
  const int above = kPhaseGroups == 1 ? kLeastOffsetH : (phase_row + P::padding_h) / P::stride_h - (kOffsetsH - 1);

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  unsigned char* stages = shared + kResidentBytes;
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + P::stages;
  unsigned long long* landed = empty + P::stages;  // of f32x3's copies, which are looked at first
  unsigned long long* resident = empty + (P::split ? 2 : 1) * P::stages;  // of the weights, where they are
  unsigned long long* turn = resident + 1;                                // of each warpgroup
  if (kSkewed) {
    // Puts something everywhere in all stages: what lies beside the image is read before it is made zero.
    for (int stage = 0; stage < P::stages; ++stage) {
      for (int i = threadIdx.x * 16; i < kInputBytes; i += kThreads * 16) {
        *reinterpret_cast<uint4*>(stages + stage * kStageBytes + i) = make_uint4(0, 0, 0, 0);
      }
    }
    fence_proxy_async();
  }
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < P::stages; ++stage) {
      mbarrier_init(&full[stage], (kByRows && !P::split ? kRowArrivals : kArrivals) + (P::resident ? 0 : 1));
      mbarrier_init(&empty[stage], kTileWarps);
      if (P::split) {
        mbarrier_init(&landed[stage], P::bulk ? kRowArrivals : kProducers);
      }
    }
    if (P::resident) {
      mbarrier_init(resident, 1);
    }
    if (P::in_turn) {
      mbarrier_init(&turn[0], kTileWarps);
      mbarrier_init(&turn[1], kTileWarps);
    }
    fence_mbarrier_init();
  }
  __syncthreads();

  const int warp = warp_uniform(threadIdx.x / 32);
  if (warp >= kConsumers / 32) {
    setmaxnreg_decrease(kWideProducers ? (kSparesRegisters ? 56 : 64) : P::split && !P::channels_last ? 72 : 88);
    const int thread = threadIdx.x - kConsumers;
    const long long plane = static_cast<long long>(in_h) * in_w;
    unsigned long long* landing = P::split ? landed : full;  // of rows
    const int rows = kFlat ? 1 : in_h;                       // of an image, as they are copied
    const int columns = kFlat ? in_h * in_w : in_w;
    if (thread == 0) {
      grid_dependency_wait();  // the weights are packed
      if (P::resident) {
        mbarrier_arrive_expect(resident, kAllWeightBytes);
        bulk_load(shared, block_weights, kAllWeightBytes, resident);
      }
    }
    int stage = 0;
    unsigned int parity = 1;
    Asked asked = {0, 0, 0, 0, 0};
    for (int index = first_tile; index < tiles || (kDrains && asked.stages > 0); index += next_tile) {
      const bool drains = kDrains && index >= tiles;  // finishes what is left, in one place, since warps meet there
      const Tile tile = tile_at(index, tiles_y, tiles_x);
      const Element* image =
          x + (tile.image * in_image + first_in * (P::channels_last ? 1 : static_cast<long long>(in_h) * in_w));
      const int first_row = tile.m_y + above;
      const int first_column = tile.m_x + kFirstColumn;
      Pixels pixels;
      if (kKept) {
#pragma unroll
        for (int j = 0; j < kOwnPixels; ++j) {
          const int pixel = thread / kCopies + j * kAtOnce;
          pixels[j] = static_cast<int>(find_pixel(pixel, first_row, first_column, batch - tile.image, in_h, in_w));
        }
      }
      Copy copy;
      if (kByRows) {
        copy = find_copy(x, tile.image, first_in + rank * kOwnChunks * P::chunk, first_row, first_column,
                         kByWarps ? warp - kConsumers / 32 : thread % 32 * (kProducers / 32) + thread / 32, batch, rows,
                         columns);
      }
      const bool has_gaps = kByRows && (first_row < 0 || first_row + kStagedRows > rows ||
                                        (P::tile_n > 1 && batch - tile.image < P::tile_n) ||
                                        (!kSkewed && (first_column < 0 || first_column + kStagedColumns > columns)));
      for (int chunk = rank * kOwnChunks; chunk < (rank + 1) * kOwnChunks; ++chunk) {
        if constexpr (P::split) {
          while (P::bulk ? asked.stages > 0 && (drains || has_come(&landed[asked.oldest], asked.parity) ||
                                                !has_come(&empty[stage], parity))
                         : asked.stages > kUnderWay) {
            finish_stage(stages, full, landed, asked, thread);
          }
          if (drains) {
            break;
          }
        }
        mbarrier_wait(&empty[stage], parity);
        unsigned char* to = stages + stage * kStageBytes;
        if (!P::resident && thread == 0) {
          mbarrier_arrive_expect(&full[stage], kChunkWeightBytes);
          bulk_load(to + kInputBytes, block_weights + chunk * kChunkWeightBytes, kChunkWeightBytes, &full[stage]);
        }
        if (P::bulk && P::channels_last) {
          stage_pieces(reinterpret_cast<Element*>(to), image, chunk * P::chunk, first_row, first_column, thread,
                       batch - tile.image, &full[stage], in_h, in_w);
        } else if (kByRows) {
          Element* staged = reinterpret_cast<Element*>(to);
          const int channels = P::in_channels % P::chunk == 0
                                   ? P::chunk
                                   : min(P::in_channels - chunk * P::chunk, static_cast<int>(P::chunk));
          if ((has_gaps && chunk < rank * kOwnChunks + P::stages) || channels != P::chunk) {
            clear_gaps(staged, channels, first_row, first_column, thread, batch - tile.image, rows, columns);
          }
          if (!kByWarps || elect_one()) {
            if (kSkewed && copy.at_end) {
              copy_end_rows(staged, copy, x, x + batch * in_image, channels, &landing[stage], plane);
            } else {
              copy_rows(staged, copy, channels, &landing[stage], plane, columns);
            }
          }
          copy.from += P::chunk * plane;
        } else {
          if (P::channels_last) {
            stage_pixels(reinterpret_cast<Element*>(to), image, pixels, chunk * P::chunk, first_row, first_column,
                         thread, batch - tile.image, in_h, in_w);
          } else {
            stage_channels(reinterpret_cast<Element*>(to), image, chunk * P::chunk, first_row, first_column, thread,
                           batch - tile.image, in_h, in_w);
          }
          async_copy_arrive(P::split ? &landed[stage] : &full[stage]);
        }
        next_stage(stage, parity);
        if (P::split) {
          ++asked.stages;
        }
      }
      if (P::cluster > 1) {  // with the consumers, in add_up_cluster()
        __syncwarp();
        meet();
        meet();
      }
    }
    if constexpr (P::split && !kDrains) {
      while (asked.stages > 0) {
        finish_stage(stages, full, landed, asked, thread);
      }
    }
  } else {
    setmaxnreg_increase(kWideProducers ? (kSparesRegisters ? 200 : 192) : P::split && !P::channels_last ? 216 : 208);
    // The thread's place in the tile: the first position of its run, the first of its channels.
    const int lane = threadIdx.x % 32;
    const int quarter = lane % 4;
    const int group = P::in_turn ? warp / 4 : 0;
    const int run = (P::in_turn ? warp % 4 : warp) * 8 + lane / 4;
    const int image = run / (P::tile_h * P::tile_w / P::run);
    const int row = run / (P::tile_w / P::run) % P::tile_h;
    const int column = run % (P::tile_w / P::run) * P::run;
    const int position = (image * kStagedRows + row) * kRowPitch + column;
    const int own = P::channels_last && P::bulk ? position / P::run * kRunPitch + quarter * (8 / kOperandBytes)
                    : P::channels_last          ? position * kPixelPitch + quarter * (8 / kOperandBytes)
                                                : quarter * (4 / kOperandBytes) * kChannelPitch + position;
    const int co = first_out + rank * kStoredColumns + quarter * P::channel_run;
    const unsigned int zero = static_cast<unsigned int>(batch) >> 31;  // for operands
    Sums sums[kSums][kTiles] = {};
    Held held = {0, 0, false, 0, reinterpret_cast<float4*>(shared + kTotalsOffset) + threadIdx.x};
    float2* scales = reinterpret_cast<float2*>(shared + kColumnsOffset);
    Element* biases = reinterpret_cast<Element*>(shared + kColumnsOffset + P::columns * 8);
    if constexpr (P::split) {
      grid_dependency_wait();
      for (int i = threadIdx.x; i < P::columns; i += kConsumers) {
        scales[i] = factors_of(-reinterpret_cast<const int*>(block_weights + kAllWeightBytes)[i]);
        if (P::has_bias) {
          biases[i] = P::out_channels % P::columns == 0 || first_out + i < P::out_channels ? bias[first_out + i] : 0;
        }
      }
      named_barrier_sync(2, kConsumers);
    }
    if (P::resident) {
      mbarrier_wait(resident, 0);
    }
    int stage = 0;
    unsigned int parity = 0;
    unsigned int turn_parity = 0;
    if (P::in_turn && group == 1) {
      release(&turn[0], true);
      skip_tile(stage, parity);
    }
    for (int index = first_tile + group * next_tile; index < tiles; index += (P::in_turn ? 2 : 1) * next_tile) {
      // Stages are waited for by the one whose turn it is: the other could not tell one filling of them from the next.
      if (P::in_turn) {
        mbarrier_wait(&turn[group], turn_parity);
        turn_parity ^= 1;
      }
      Place place;
      if (kSkewed) {
        place =
            place_of(tile_at(index, tiles_y, tiles_x), x, image, first_in + quarter, above + row, column, in_h, in_w);
      }
      pin(sums);
      Run runs[kRunSets] = {};
      for (int chunk = 0; chunk < kOwnChunks; ++chunk) {
        mbarrier_wait(&full[stage], parity);
        if (P::in_turn) {
          release(&turn[1 - group], chunk == kChunks - 1);
        }
        const unsigned char* from = stages + stage * kStageBytes;
        const unsigned char* weights = P::resident ? shared + chunk * kChunkWeightBytes : from + kInputBytes;
        if constexpr (kSplitsRead) {
          const float* read = reinterpret_cast<const float*>(from) + own + staged_row(0, 0);
          Values values;
          load_values(values, read);
          choose_scale(sums, held, from, image);
          multiply_read(sums, runs, held, values, read, weights, image, chunk == 0, &empty[stage],
                        &empty[stage == 0 ? P::stages - 1 : stage - 1], zero);
        } else if constexpr (kSplitsStaged) {
          choose_scale(sums, held, from, image);
          multiply_split(sums, runs, held, reinterpret_cast<const unsigned int*>(from) + own, weights, image,
                         chunk == 0, &empty[stage], &empty[stage == 0 ? P::stages - 1 : stage - 1], zero);
        } else {
          multiply_chunk(sums, runs, reinterpret_cast<const Element*>(from) + own,
                         wgmma_descriptor(weights, kProductColumns * 16, 128, 0), chunk > 0 ? 1 : 0,
                         &empty[stage == 0 ? P::stages - 1 : stage - 1], zero, place, in_w);
          if (P::resident) {
            release(&empty[stage], true);
          }
        }
        next_stage(stage, parity);
      }
      Shifts shifts;
      if (!P::split) {
        load_shifts(shifts, bias, co);
      }
      if (!kAllDone) {
        wgmma_wait(0);
      }
      pin(sums);
      if (!P::resident && !kAllDone) {
        release(&empty[stage == 0 ? P::stages - 1 : stage - 1], true);
      }
      if constexpr (P::split) {
        undo_scales(sums, held, scales + quarter * 2, biases + quarter * P::channel_run, image);
        load_shifts(shifts, biases, quarter * P::channel_run);  // there is no register for them before
      }
      if (P::in_turn) {
        skip_tile(stage, parity);
      }
      if (P::cluster > 1) {
        add_up_cluster(sums, stages, rank);
      }
      const Tile tile = tile_at(index, tiles_y, tiles_x);
      if (P::tile_n == 1 || tile.image + image < batch) {
        if (P::exchange) {
          store_exchanged(sums, reinterpret_cast<Element*>(shared + kExchangeOffset + warp * kWarpExchangeBytes),
                          y + (tile.image + image) * out_image, shifts, first_out, tile.m_y + row,
                          tile.m_x + column - lane / 4 * P::run, phase_row, lane, out_h, out_w);
        } else {
          const int own_column = P::split ? column + (static_cast<int>(zero) & index) : column;  // no address is kept
          store_tile(sums, y + (tile.image + image) * out_image, shifts, co,
                     kFlat ? (tile.m_x + own_column) / in_w : tile.m_y + row,
                     kFlat ? (tile.m_x + own_column) % in_w : tile.m_x + own_column, phase_row, out_h, out_w);
        }
      }
    }
  }
}
