// Part of the template `mma_pixels`: what lies in shared memory and in the packed weights.
#pragma once

#include "device/instruction.h"
#include "device/printed.h"
#include "device/static_parameters.h"
#include "device/template.h"

using P = Parameters;
using Element = P::Element;

constexpr int kThreads = 32 * P::warps_m * P::warps_n;
constexpr int kStagers = kThreads;
constexpr int kPackers = 256;  // threads of a block that packs weights

// Whether values of fp32 are split into two parts of f16, whose products are added.
constexpr bool kSplit = P::type == kWgmmaF16 && sizeof(Element) == 4;
constexpr int kParts = kSplit ? 2 : 1;
constexpr int kElementBytes = kSplit ? 4 : kBytes;  // in x and y

constexpr int kGroupIn = P::in_channels / P::groups;
constexpr int kGroupOut = P::out_channels / P::groups;
// The axis of columns as products have it. Where adjacent phases of a row are columns of one product, each has as many
// taps: then this axis has a phase for each column_phases of them, and tap t of a channel's phase r of these is the
// kernel's column t * column_phases + r.
constexpr bool kFusedPhases = P::column_phases > 1;
constexpr int kKernelW = P::kernel_w / P::column_phases;
constexpr int kStrideW = P::stride_w / P::column_phases;
constexpr int kPaddingW = kFusedPhases ? P::padding_w / P::stride_w * kStrideW : P::padding_w;
constexpr int kGroupColumns = kGroupOut * P::column_phases;

constexpr int kTaps = P::kernel_d * P::kernel_h * kKernelW;  // of a column
// Whether images have planes; else there is one, which one depth tap reads.
constexpr bool kHasDepth = P::depth != 1 || P::kernel_d != 1 || P::stride_d != 1 || P::input_stride_d != 1 ||
                           P::padding_d != 0 || P::output_padding_d != 0;
constexpr int kPhases = P::stride_d * P::stride_h * kStrideW;
// Whether the phases of some positions follow one another: in nchw sectors have elements of several phases, which meet
// in L2 then.
constexpr bool kPhasesTogether = !P::channels_last && kPhases > 1;

// Whether a stage has planes of x as they lie; then it has several taps of a row. K is its channels by these taps.
constexpr bool kPlanes = P::plane_words > 0;
constexpr int kRowTaps = kPlanes ? P::plane_words * (4 / kBytes) : 1;
constexpr int kStageChannels = P::block_k / kRowTaps;
constexpr int kStageTaps = kTaps / kRowTaps;  // of a kernel, as stages have them
// Whether the taps of a k-block follow one another, else the k-blocks of a tap.
constexpr bool kTapsInside = kSplit || kPlanes;

constexpr int kKSteps = P::block_k / kInstructionK;
constexpr int kKBlocks = ceil_div(kGroupIn, kStageChannels);

// Pixels as products read them: with channels last, as x is or is arranged before; then a group is whole vectors. Split
// values are arranged by k-blocks, and in these by k-steps: the high parts of a k-step's channels, then the low ones.
constexpr int kGroupChannels = kSplit             ? kParts * kKBlocks * P::block_k
                               : P::channels_last ? kGroupIn
                                                  : ceil_div(kGroupIn, kVector) * kVector;
constexpr int kInputPixelBytes = (P::channels_last && !kSplit ? P::x_channels : P::groups * kGroupChannels) * kBytes;

// What arranges x: a warp takes pixels whose elements of a channel are a sector, and some vectors of these; a block
// takes the same vectors of eight times as many pixels.
constexpr int kArrangers = 256;
constexpr int kSectorPixels = 32 / kElementBytes;
constexpr int kSharedVectors = 32 / kSectorPixels;  // that the lanes of a warp arrange at once
constexpr int kPartVectors = 4 * kSharedVectors;
constexpr int kAllVectors = P::groups * kGroupChannels / kVector;
constexpr int kScales = P::groups * kKBlocks;  // of an image, where values are split: a block arranges those of one
constexpr int kArrangeParts = kSplit ? kScales : ceil_div(kAllVectors, kPartVectors);
constexpr int kArrangedPixels = kArrangers / 32 * kSectorPixels;  // of a block

constexpr int kChannelTiles = ceil_div(kGroupColumns, P::block_n);
constexpr int kNTiles = P::groups * kChannelTiles;

// A warp's part of the products: tiles of 16 positions, and channels.
constexpr int kWarpRows = P::block_m / P::warps_m;
constexpr int kWarpTiles = kWarpRows / 16;
constexpr int kWarpChannels = P::block_n / P::warps_n;
constexpr int kAdjacentChannels = P::adjacent_channels;  // of a thread

// Taps of a phase along an axis are kTapStep apart, and read the input kOffsetStep before one another. The first
// kTapStep taps, if there are so many, are each of another phase.
__host__ __device__ constexpr int tap_step(int stride, int dilation) {
  return stride / greatest_common_divisor(stride, dilation);
}
constexpr int kTapStepD = tap_step(P::stride_d, P::dilation_d);
constexpr int kTapStepH = tap_step(P::stride_h, P::dilation_h);
constexpr int kTapStepW = tap_step(kStrideW, P::dilation_w);
constexpr int kOffsetStepD = P::dilation_d / greatest_common_divisor(P::stride_d, P::dilation_d);
constexpr int kOffsetStepH = P::dilation_h / greatest_common_divisor(P::stride_h, P::dilation_h);
constexpr int kOffsetStepW = P::dilation_w / greatest_common_divisor(kStrideW, P::dilation_w);
constexpr int kPhaseTapsD = ceil_div(P::kernel_d, kTapStepD);  // at the most
constexpr int kPhaseTapsH = ceil_div(P::kernel_h, kTapStepH);
constexpr int kPhaseTapsW = ceil_div(kKernelW, kTapStepW);

// Which of these taps read within the image. For each position a word has a bit for each row and column of taps; or,
// where a word has too few, two words have a field for each axis: the first tap that does, and the one after the last.
// A field has room for 0 to the number of taps, and a guard above that no subtraction clears in another field.
__host__ __device__ constexpr int field_bits(int taps) {
  return highest_bit(taps) + 2;
}
constexpr int kTapBits = kPhaseTapsW + kPhaseTapsH + (kHasDepth ? kPhaseTapsD : 0);
constexpr int kFieldBits =
    field_bits(kPhaseTapsW) + field_bits(kPhaseTapsH) + (kHasDepth ? field_bits(kPhaseTapsD) : 0);
constexpr bool kTapFields = kTapBits >= 32;  // one bit is for the tap after the last
constexpr int kFirstBitH = kTapFields ? field_bits(kPhaseTapsW) : kPhaseTapsW;
constexpr int kFirstBitD = kFirstBitH + (kTapFields ? field_bits(kPhaseTapsH) : kPhaseTapsH);
// The bit above each field of a word.
constexpr unsigned int kGuards =
    !kTapFields ? 0 : 1u << (kFirstBitH - 1) | 1u << (kFirstBitD - 1) | (kHasDepth ? 1u << (kFieldBits - 1) : 0u);
constexpr unsigned int kNoTap = kTapFields ? kGuards + kPhaseTapsW : 1u << 31;  // that no position reads
constexpr int kPhaseTaps = kPhaseTapsD * kPhaseTapsH * kPhaseTapsW;

// Input of a stage: for each position its channels, whose 16-byte vectors are swapped so that those of adjacent
// positions lie in different banks.
constexpr int kPixelVectors = kParts * P::block_k / kVector;
constexpr int kPixelBytes = 16 * kPixelVectors;
// Of planes there are rows of a channel each, whose positions have adjacent words. Four channels that a product loads
// together lie in different banks.
constexpr int kRowPitch = P::plane_words * P::block_m + (P::plane_words < 4 ? 8 : P::store > 1 ? 4 : 16);  // in words
constexpr int kInputBytes = kPlanes ? kStageChannels * kRowPitch * 4 : P::block_m * kPixelBytes;
__host__ __device__ constexpr int swap_of(int position) {
  return position / (8 / kPixelVectors) % kPixelVectors;
}
constexpr int kPositionStep = kThreads / kPixelVectors;  // from a position that a thread copies to its next one
// Of planes a thread copies the same units of a row, of some channels.
constexpr int kRowUnits = kPlanes ? P::plane_words * P::block_m * 4 / P::copy_bytes : 1;
constexpr int kUnitsOfRow = ceil_div(kRowUnits, kThreads);      // of a thread
constexpr int kChannelsAtOnce = ceil_div(kThreads, kRowUnits);  // whose units all threads copy
constexpr int kCopies = kPlanes ? kStageChannels * kRowUnits / kThreads : P::block_m / kPositionStep;  // and stage
constexpr int kPlaces = kPlanes ? kUnitsOfRow : kCopies;  // where a thread's copies read

// Packed weights: for each tap, k-block and k-step, for 16 columns what each lane holds of them; of split ones for
// eight columns its high parts, then its low ones. After those of an N tile come the exponents of its columns' scales,
// and the maxima of parts of each column.
constexpr int kStepBytes = kParts * P::block_n * 32;
constexpr int kKBlockWeightBytes = kKSteps * kStepBytes;
constexpr int kWeightCopies = kKBlockWeightBytes / (16 * kThreads);  // of a thread and stage
constexpr long long kWeightBytes = static_cast<long long>(kStageTaps) * kKBlocks * kKBlockWeightBytes;  // of an N tile
constexpr int kColumnPhases = kSplit ? P::column_phases : 1;  // of a channel, that are packed as its columns
#include "split/pack_blocks.h"
constexpr long long kPackedMaximaOffset = kWeightBytes + P::block_n * 4;
constexpr int kColumnBytes = kSplit ? P::block_n * (1 + kColumnMaxima) * 4 : 0;
constexpr long long kPackedTileBytes = kWeightBytes + kColumnBytes;
constexpr long long kPackedBytes = kNTiles * kPackedTileBytes;

// Parts of tiles, whose sums lie in the workspace: of each tile, N tile and part what threads have, 16 bytes of each
// one.
constexpr bool kParted = P::parts > 1;
constexpr long long kPartBytes = static_cast<long long>(P::block_m) * P::block_n * 4;
constexpr long long kPartedBytes = kParted ? P::parted_tiles * kNTiles * P::parts * kPartBytes : 0;
constexpr int kPartedBlocks = kParted ? P::parted_tiles * kNTiles : 1;  // of the kernel that adds parts

// Shared memory: stages; the phase's taps; for each position where it reads and is stored, and which taps read there.
constexpr int kStageBytes = kInputBytes + kKBlockWeightBytes;
constexpr int kTapsOffset = P::stages * kStageBytes;
constexpr int kReadOffset = kTapsOffset + (kPhaseTaps + 1) * 16;
constexpr int kStoredOffset = kReadOffset + P::block_m * 8;
constexpr int kPositionWordsOffset = kStoredOffset + P::block_m * 8;
constexpr int kPositionEndsOffset = kPositionWordsOffset + P::block_m * 4;  // of fields
// Of fused phases what is stored begins a row, and each position has the column of its first phase's output there,
// which may lie before the row.
constexpr int kColumnOffset = kPositionEndsOffset + (kTapFields ? P::block_m * 4 : 0);
constexpr int kBiasOffset = kColumnOffset + (kFusedPhases ? P::block_m * 4 : 0);
// Where values are split: two factors of each column's scale; for each position where its image's exponents begin.
constexpr int kColumnScalesOffset = kBiasOffset + (P::has_bias ? P::block_n * 4 : 0);
constexpr int kImageScalesOffset = kColumnScalesOffset + (kSplit ? P::block_n * 8 : 0);
constexpr int kSharedBytes = kImageScalesOffset + (kSplit ? P::block_m * 8 : 0);

constexpr int kAlignment =
    P::channels_last ? 16 : larger(kPlanes ? P::copy_bytes : 0, P::store* kElementBytes);  // of x and y, in bytes

// Of a thread. Where values are split there are as many of low parts, and fp32 totals.
constexpr int kMostAccumulators = kSplit ? 48 : 128;
constexpr int kAccumulators = kWarpTiles * kWarpChannels / 2;
static_assert(kAccumulators <= kMostAccumulators, "the accumulators fit the registers");
static_assert(kWarpRows % 16 == 0 && kWarpChannels % 16 == 0, "warps make whole products of 16 columns");
static_assert(kKSteps >= 2 && kPixelVectors <= 8, "a stage has several k-steps, and pixels of at most 128 bytes");
static_assert(!kSplit || P::block_k == 2 * kInstructionK, "a split pixel of a stage has 128 bytes");
static_assert(kPlanes || (kPositionStep % 8 == 0 && P::block_m % kPositionStep == 0),
              "a thread's vectors are swapped alike");
static_assert(kKBlockWeightBytes % (16 * kThreads) == 0, "threads copy equally many weights");
static_assert(kGroupChannels % kVector == 0, "channels are whole vectors");
static_assert(P::channels_last || kPlanes || kFusedPhases || P::store == 1,
              "arranged positions are stored element by element");
static_assert(!kFusedPhases || (P::stride_w % P::column_phases == 0 && P::kernel_w % P::column_phases == 0 &&
                                P::dilation_w == 1 && !P::channels_last),
              "a row's phases have as many taps");
static_assert(!kFusedPhases || (P::block_n % P::column_phases == 0 && P::column_phases % P::store == 0 &&
                                P::adjacent_channels % P::store == 0),
              "a block has all phases of its channels, and a thread adjacent ones");
static_assert(!kPlanes || (!P::channels_last && !kSplit && kCopies > 0 && kRowUnits % kUnitsOfRow == 0 &&
                           kThreads % kChannelsAtOnce == 0 && kStageChannels % kChannelsAtOnce == 0),
              "threads copy equally many units of whole rows");
static_assert(!kPlanes || kFusedPhases || P::store <= 2, "a thread's positions are adjacent in a product");
static_assert(kRowTaps == 1 || (kKernelW % kRowTaps == 0 && kStrideW == 1 && P::dilation_w == 1 && !kFusedPhases),
              "the taps of a stage are adjacent");
static_assert(!kTapFields || kFieldBits <= 32, "a word has a field for each axis");
static_assert(P::fuse_input_count == 0 || kSplit || (!P::channels_last && !kPlanes),
              "x is activated where it is arranged");
static_assert(P::input_stride_d * P::input_stride_h * P::input_stride_w == 1 || kPhases == 1,
              "a gradient of the input has one phase");
