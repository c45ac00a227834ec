// The layout of `overlap_gemm`: tiles, stages, and the products in shared memory.
#pragma once

#include "device/instruction.h"
#include "device/positions.h"
#include "device/static_parameters.h"
#include "device/template.h"

using P = Parameters;
using Element = P::Element;

constexpr int kKSteps = P::block_k / kInstructionK;
constexpr int kKBlocks = ceil_div(P::in_channels, P::block_k);
constexpr int kThreads = 128 * P::warpgroups;
constexpr bool kUsesAgain = kKBlocks > P::stages;  // stages are copied to again
constexpr int kIssueLag = 2;                       // stages from a stage's last read to its next copies

// Columns of the products: the taps of each output channel of the tile, in the order of the weights.
constexpr int kColumns = P::block_c * kTaps;
constexpr int kInstructionN = ceil_div(kColumns, 8) * 8;
constexpr int kNTiles = ceil_div(P::out_channels, P::block_c);

// Rows of the products: pixels of the tile.
constexpr int kPixels = P::tile_n * P::tile_h * P::tile_w;
constexpr int kMTiles = P::thread_tiles;  // of 64 pixels, of a warpgroup
constexpr int kBlockM = 64 * P::warpgroups * kMTiles;

// A tile that has all of an axis makes all of its outputs; else it makes those of the positions whose inputs it has
// all, zeros outside of the image included.
constexpr bool kWholeH = P::tile_h == P::height;
constexpr bool kWholeW = P::tile_w == P::width;
constexpr int kStepH = kWholeH ? 1 : P::tile_h - (kReachH - 1);  // positions of a tile that has not all
constexpr int kStepW = kWholeW ? 1 : P::tile_w - (kReachW - 1);

// Outputs of a tile, along the axes.
constexpr int kOutRows = kWholeH
                             ? (P::height - 1) * P::stride_h + (P::kernel_h + P::output_padding_h - 2 * P::padding_h)
                             : kStepH * P::stride_h;
constexpr int kOutColumns = kWholeW
                                ? (P::width - 1) * P::stride_w + (P::kernel_w + P::output_padding_w - 2 * P::padding_w)
                                : kStepW * P::stride_w;

constexpr bool kWholeImages = P::tile_n == 1;  // no tile has images after the last

// Weights of a k-block as B operands: rows of columns, for each input channel one. They are copied as they lie, 64
// columns wide; where a tile has some of the channels that follow one another, the columns of a tap are a box.
constexpr bool kTapBoxes = P::weight_channels_last && kNTiles > 1;
constexpr int kBoxColumns = kTapBoxes ? P::block_c : 64;
constexpr int kWeightSwizzle = kBoxColumns > 8 ? kBoxColumns* kBytes : 0;
constexpr int kRowBytes = kBoxColumns * kBytes;
constexpr int kWeightBoxes = ceil_div(kColumns, kBoxColumns);
constexpr int kWeightBoxBytes = P::block_k * kRowBytes;
constexpr int kWeightBytes = kWeightBoxes * kWeightBoxBytes;

// Pixels of a k-block as A operands. Channels last: rows of input channels, for each pixel one. NCHW: rows of adjacent
// pixels, for each input channel one; tiles have whole rows of images, so that their pixels are adjacent.
__host__ __device__ constexpr int row_pixels(int pixels) {
  return pixels % 64 == 0 ? 64 : pixels % 32 == 0 ? 32 : pixels % 16 == 0 ? 16 : 8;
}
// Image rows that images and tiles have a multiple of, and where tiles begin.
constexpr int kCommonRows =
    kWholeH ? P::height
            : greatest_common_divisor(
                  greatest_common_divisor(P::height, P::tile_h),
                  greatest_common_divisor(kStepH, larger(kFirstH, kReachH - 1) - smaller(kFirstH, kReachH - 1)));
constexpr int kRowPixels = P::channels_last ? 1 : row_pixels(kCommonRows * P::width);
constexpr int kInputRowBytes = (P::channels_last ? P::block_k : kRowPixels) * kBytes;
constexpr int kInputSwizzle = kInputRowBytes > 16 ? kInputRowBytes : 0;
constexpr int kInputBoxBytes = P::block_k * kInputRowBytes;  // NCHW: of adjacent pixels' input channels
constexpr int kInputMajor = P::channels_last ? kWgmmaMajorK : kWgmmaMajorMn;
constexpr int kInputStep = P::channels_last ? kInstructionK * kBytes : kInstructionK * kInputRowBytes;  // of a k-step

// Shared memory of a stage: pixels, and weights, unless these are resident.
constexpr int kPixelBytes = P::block_k * kBytes;
constexpr int kInputBytes = kBlockM * kPixelBytes;
constexpr int kCopiedInputBytes = kPixels * kPixelBytes;
constexpr int kStageBytes = kInputBytes + (P::copied_weights ? kWeightBytes : 0);
constexpr int kCopiedBytes = kCopiedInputBytes + (P::copied_weights ? kWeightBytes : 0);
constexpr int kPipelineBytes = P::stages * kStageBytes;

// The products, in the place of the stages, or after them. Pitches, and what lies between groups of eight channels,
// keep threads that write or read together in different banks. Of each pixel its columns, where threads that read
// together have channels of few pixels; where the channels of a tap follow one another, they are read as vectors. Else
// of each column its pixels.
constexpr bool kOfPixel =
    P::channels_last && P::block_c % P::store == 0 && P::block_c > 1;  // a vector of outputs is a pixel's
constexpr bool kStoresVectors = kOfPixel && P::block_c % 8 == 0 && P::store == 8;
// Where eight columns are of one channel a thread has a tap of all channels. It writes them as vectors, so that the
// channels of a tap follow one another there too, if the stages have place for what lies between taps.
constexpr int kTurnedPitch = kTaps * (P::block_c + 4) + floor_mod(4 - kTaps * (P::block_c + 4), 32);
constexpr bool kTurns = kStoresVectors && !P::weight_channels_last && kTaps % 8 == 0 && P::copied_weights &&
                        kBlockM * kTurnedPitch * 4 <= kPipelineBytes;
constexpr int kTapPitch = P::block_c + (kTurns ? 4 : 0);
constexpr bool kOfTap = P::weight_channels_last || kTurns;
constexpr bool kReadsVectors = kStoresVectors && kOfTap;
constexpr bool kHasGroups = kOfPixel && !kOfTap && P::block_c % 8 == 0 && P::block_c > 8;
constexpr int kGroupPad = kHasGroups ? 2 : 0;
constexpr int kLeastPitch = kInstructionN + (P::block_c / 8 - 1) * kGroupPad;
constexpr int kPixelPitch =
    kTurns ? kTurnedPitch : kLeastPitch + floor_mod((kReadsVectors || kHasGroups ? 8 : 10) - kLeastPitch, 32);
constexpr int kColumnPitch = kBlockM + 4;
constexpr int kProductBytes = (kOfPixel ? kBlockM * kPixelPitch : kInstructionN * kColumnPitch) * 4;

// Resident weights, which all tiles of a block use: it goes on to other tiles, whose pixels are copied while it makes
// those before them. So the products have a place of their own.
constexpr bool kLoops = !P::copied_weights && !kUsesAgain;
constexpr int kTilesAhead = kLoops ? P::stages / kKBlocks : 1;  // that have stages
constexpr int kProductsOffset = kLoops ? kPipelineBytes : 0;
constexpr int kResidentOffset = ceil_div(larger(kPipelineBytes, kProductsOffset + kProductBytes), 1024) * 1024;
constexpr int kBarrierOffset = kResidentOffset + (P::copied_weights ? 0 : kKBlocks * kWeightBytes);
constexpr int kSharedBytes = 1024 + kBarrierOffset + 2 * P::stages * 8;

// How weights come through registers (forward_gemm/resident_weights.h): to where copies would lie.
constexpr int kWeightThreads = kThreads;
constexpr int kWeightColumns = kColumns;
constexpr int kResidentBytes = kKBlocks * kWeightBytes;
constexpr bool kHasGaps = P::in_channels % P::block_k != 0 || kColumns % 8 != 0;
__device__ inline unsigned int weight_place(unsigned int ci, unsigned int column) {
  const unsigned int place =
      column / kBoxColumns * kWeightBoxBytes + ci % P::block_k * kRowBytes + column % kBoxColumns * kBytes;
  return ci / P::block_k * kWeightBytes + (place ^ (place >> 3 & 112));
}

constexpr int kAlignment = 16;  // of x, y and the weights, in bytes

static_assert(!P::channels_last || P::in_channels % 8 == 0, "pixels are whole 16-byte vectors");
static_assert(P::channels_last || (P::height >= 0 && kWholeW), "a tile's pixels are adjacent");
static_assert(P::channels_last || kCommonRows * P::width % kRowPixels == 0, "rows are whole 16-byte vectors");
static_assert(kPixels <= kBlockM && kStepH > 0 && kStepW > 0, "a tile has positions");
constexpr int kMostAccumulators = 128;  // of a thread
static_assert(P::block_k == 64 || P::block_k == 32 || P::block_k == 16, "a row has a swizzle");
static_assert(P::stages > kIssueLag || !kUsesAgain, "a stage is copied before it is wanted");
static_assert(P::stages % kKBlocks == 0 || !kLoops, "tiles have whole stages");
static_assert(!kTapBoxes || P::block_c == 8 || P::block_c == 16 || P::block_c == 32 || P::block_c == 64,
              "a box has a swizzle");
static_assert(!P::copied_weights || (P::out_channels * kTaps % 8 == 0 && (kNTiles == 1 || kColumns % 8 == 0)),
              "copies of weights begin at whole vectors");
static_assert(P::copied_weights || kNTiles == 1, "weights that follow one another are a tile's");
static_assert(!P::channels_last || P::block_c % P::store == 0 || kNTiles == 1, "vectors are of one tile");
static_assert(P::channels_last || (kWholeH ? kOutRows * kOutColumns : kOutColumns) % P::store == 0,
              "vectors are of one channel and of rows that all exist");
