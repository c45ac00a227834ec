// Part of the template `mma_grad_weight`: what a warp makes, and what lies in shared memory.
#pragma once

#include "device/instruction.h"
#include "device/template.h"
#include "grad_weight/planes.h"
#include "grad_weight/terms.h"

constexpr int kThreads = 32 * P::warps_in * P::warps_out * P::warps_taps * P::warps_k;

// A warp's share: all kernel rows of some columns of taps, by tiles of 16 input channels and 8 output channels.
constexpr int kWarpTapsW = P::taps_w / P::warps_taps;
constexpr int kWarpTaps = P::taps_h * kWarpTapsW;
constexpr int kWarpIn = P::block_in / P::warps_in;
constexpr int kWarpOut = P::block_out / P::warps_out;
constexpr int kWarpInTiles = kWarpIn / 16;
constexpr int kWarpOutTiles = kWarpOut / 8;
constexpr int kWarpOutLoads = ceil_div(kWarpOutTiles, 2);
constexpr int kAccumulators = kWarpTaps * kWarpInTiles * kWarpOutTiles * 4;  // of a thread
constexpr long long kTotals = static_cast<long long>(kAccumulators) * kThreads;

// The positions of a product: kPartCount rows of kPart adjacent ones, kPartRows rows apart. The next product of a strip
// has the next rows, so that what a kernel row reads for one the kernel row before it reads for the next. Along a row
// they are kApart positions apart, and the next product has the next ones: then kernel columns share what they read.
constexpr int kHalf = kInstructionK / 2;
constexpr int kApart = P::along_row ? P::strip : 1;
constexpr int kPart = P::along_row || P::tile_columns % kInstructionK == 0 ? kInstructionK
                      : P::tile_columns % kHalf == 0                       ? kHalf
                                                                           : kHalf / 2;
constexpr int kPartCount = kInstructionK / kPart;
constexpr int kPartRows = P::tile_rows / kPartCount;
constexpr int kKSteps = P::tile_rows * P::tile_columns / kInstructionK;
constexpr int kStrips = kKSteps / P::strip;  // of all warps that share the positions
constexpr int kOwnStrips = kStrips / P::warps_k;
constexpr int kStripRows = P::along_row ? 1 : P::strip;  // from a strip to the next one below
constexpr int kStripColumns = kPart * kApart;            // and next to it
constexpr int kColumnStrips = P::tile_columns / kStripColumns;
constexpr int kStripProducts = P::strip * kWarpTaps * kWarpInTiles * kWarpOutTiles;  // of a warp, which are written out

// The taps of a warp that share loads, the inner ones, and the others. A strip reads, for an outer tap, so many rows of
// the planes (or columns) at most, or each inner tap's own.
constexpr int kInnerTaps = P::along_row ? kWarpTapsW : P::taps_h;
constexpr int kOuterTaps = P::along_row ? P::taps_h : kWarpTapsW;
constexpr int kInnerPeriod = P::along_row ? kPeriodW : kPeriodH;
constexpr int kInnerStep = P::along_row ? kStepW : kStepH;
constexpr int kInnerPlanes = smaller(kInnerTaps, kInnerPeriod);
constexpr int kPlaneLoads = P::strip + (ceil_div(kInnerTaps, kInnerPeriod) - 1) * kInnerStep;
constexpr int kStripLoads = smaller(kInnerPlanes * kPlaneLoads, P::strip* kInnerTaps);

// Whether copies bring rows of NCHW as they lie: then a stage has the positions of one channel after the other. A copy
// has so many elements of a row: as many as all rows, tiles and blocks of taps are multiples of. Words go to their
// column's plane of grad_y; elements of 16 bits stay in whole rows, which begin where memory has a copy's first one.
constexpr bool kPlanar = !P::channels_last && P::copy_bytes > 0;
constexpr bool kWholeRows = kPlanar && kElementBytes == 2;
constexpr int kKnownOutputColumns =
    (P::width - 1) * P::stride_w + P::dilation_w * (P::kernel_w - 1) + P::output_padding_w + 1 - 2 * P::padding_w;
__host__ __device__ constexpr int copied_together(int columns, int tile, int distance) {
  return kPlanar && P::width >= 0
             ? greatest_common_divisor(greatest_common_divisor(P::copy_bytes / kElementBytes, columns),
                                       greatest_common_divisor(tile, distance))
             : 1;
}
constexpr int kInputCopy = copied_together(P::width, P::tile_columns, 0);
constexpr int kWindowCopy =
    kWholeRows || P::stride_w == 1
        ? copied_together(kKnownOutputColumns, P::tile_columns* P::stride_w,
                          greatest_common_divisor(kWholeRows ? 0 : floor_mod(P::padding_w, 4),
                                                  P::taps_w < P::kernel_w ? P::taps_w * P::dilation_w : 0))
        : 1;
constexpr int kRowShift = kWholeRows ? floor_mod(-P::padding_w, kWindowCopy) : 0;  // elements before the window
constexpr int kPositionStep = kWholeRows ? P::stride_w : 1;  // elements from a position of a plane to the next one
constexpr int kColumnPlanes = kWholeRows ? 1 : kPlanesW;     // that a row is parted into
constexpr int kRowElements = kWholeRows
                                 ? (P::tile_columns - 1) * P::stride_w + P::dilation_w * (P::taps_w - 1) + 1 + kRowShift
                                 : P::tile_columns + kHaloW;  // of the window, or of one plane of its columns

// The positions of a stage, of x and of each plane of grad_y. Rows of all images follow one another, each image with
// kHaloH rows of zeros at its end. 16 bits: where eight positions are of two parts, these are in different banks.
__host__ __device__ constexpr int row_pitch(int columns) {
  return kPart == 4 && kVector == 8 && kPartRows <= 4 ? columns + floor_mod(4 / kPartRows - columns, 8 / kPartRows)
                                                      : columns;
}
constexpr int kInputPitch = row_pitch(P::tile_columns);
constexpr int kInputPixels = P::tile_rows * kInputPitch;
constexpr int kWindowPitch = row_pitch(ceil_div(kRowElements, kWindowCopy) * kWindowCopy / kPositionStep);
constexpr int kPlanePixels = (P::tile_rows + kHaloH) * kWindowPitch;
constexpr int kWindowPixels = kPlanesH * kColumnPlanes * kPlanePixels;

// Where they lie, by units of channels of 16 bytes: NCHW pixels of a unit are adjacent, else units of a pixel; of
// planar stages pixels of a channel. 16 bits: eight adjacent pixels of a unit are in different banks. tf32: so are four
// pixels of two adjacent units, and of eight adjacent channels.
constexpr int kInputUnits = P::block_in / kVector;
constexpr int kWindowUnits = P::block_out / kVector;
__host__ __device__ constexpr int pixel_pitch(int units) {
  return !P::channels_last       ? 16
         : P::type == kWgmmaTf32 ? 16 * (units + floor_mod(2 - units, 4))
                                 : 16 * (units / 2 * 2 + 1);
}
__host__ __device__ constexpr int unit_pitch(int pixels) {
  return P::channels_last ? 16 : P::type == kWgmmaTf32 ? 16 * (pixels + floor_mod(4 - pixels, 8)) : 16 * pixels;
}
// From a channel of a planar stage to the next one: an odd number of 16 bytes, or of 32 where positions are 4 bytes
// apart.
__host__ __device__ constexpr int channel_pitch(int pixels, int pixel_bytes) {
  return pixel_bytes == 4 && kWholeRows ? 32 * (ceil_div(pixels * pixel_bytes, 32) / 2 * 2 + 1)
                                        : 16 * (ceil_div(pixels * pixel_bytes, 16) / 2 * 2 + 1);
}
constexpr int kInputPixelPitch = kPlanar ? kElementBytes : pixel_pitch(kInputUnits);
constexpr int kInputChannelPitch =
    kPlanar ? channel_pitch(kInputPixels, kInputPixelPitch) : kElementBytes;  // of a unit
constexpr int kInputUnitPitch = kPlanar ? kVector * kInputChannelPitch : unit_pitch(kInputPixels);
constexpr int kWindowPixelPitch = kPlanar ? kPositionStep * kElementBytes : pixel_pitch(kWindowUnits);
constexpr int kWindowChannelPitch = kPlanar ? channel_pitch(kWindowPixels, kWindowPixelPitch) : kElementBytes;
constexpr int kWindowUnitPitch = kPlanar ? kVector * kWindowChannelPitch : unit_pitch(kWindowPixels);
// Of values that are split the high parts come first, then the low ones.
constexpr int kInputPartBytes = P::channels_last ? kInputPixels * kInputPixelPitch : kInputUnits * kInputUnitPitch;
constexpr int kWindowPartBytes = P::channels_last ? kWindowPixels * kWindowPixelPitch : kWindowUnits * kWindowUnitPitch;
constexpr int kInputBytes = kParts * kInputPartBytes;
constexpr int kWindowBytes = kParts * kWindowPartBytes;
constexpr int kStageBytes = kInputBytes + kWindowBytes;

// Of NCHW through registers a turn may bring two adjacent positions of a row, as they lie in memory: of grad_y then all
// planes of a row are read at once. Rows are cut into such spans where memory has an even column, so the first one of
// grad_y may begin a column before the window. Rows that are not known to be even are read by single elements, and
// their last span may have one. Of planar stages a span is what one copy brings.
constexpr int kInputSpan = kPlanar ? kInputCopy : P::span;
constexpr bool kWindowIsSpanned = (P::taps_w >= P::kernel_w || P::taps_w * P::dilation_w % 2 == 0) &&
                                  (P::stride_w == 1 || (P::dilation_w == 1 && kPlanesW == P::stride_w));
constexpr int kWindowSpan = kPlanar ? kWindowCopy : kWindowIsSpanned ? P::span : 1;
// Whether spans of a row are of all its planes.
constexpr bool kRowsAreWhole =
    kPlanar ? kWholeRows || P::stride_w == 1 || (P::dilation_w == 1 && kPlanesW == P::stride_w) : kWindowSpan > 1;
constexpr int kSpanShift = kPlanar ? kRowShift : kWindowSpan == 1 ? 0 : P::padding_w % 2;
constexpr int kSpannedColumns = kWholeRows
                                    ? kWindowPitch * kPositionStep
                                    : kPlanesW * (kPlanar ? kWindowPitch : P::tile_columns + kHaloW);  // of all planes
constexpr int kInputRowSpans = kInputSpan == 1 ? kInputPitch : P::tile_columns / kInputSpan;
constexpr int kWindowRowSpans =
    kRowsAreWhole ? ceil_div(kSpannedColumns + (kPlanar ? 0 : kSpanShift), kWindowSpan) : kWindowPitch;
constexpr int kPlaneSpans = (P::tile_rows + kHaloH) * kWindowRowSpans;
constexpr int kInputSpans = P::tile_rows * kInputRowSpans;
constexpr int kWindowSpans = (kRowsAreWhole ? kPlanesH : kPlanes) * kPlaneSpans;
constexpr bool kInputIsEven = P::width >= 0 && P::width % 2 == 0;
constexpr bool kWindowIsEven = P::width >= 0 && kKnownOutputColumns % 2 == 0;

// What threads bring: copies, or units that come through registers, of x and of grad_y. A thread brings them by
// batches, one with each strip of products: through registers all are loaded before the products. Copies come after
// them, so that tensor cores begin at once; of two stages before the first half of them, since the last ones must have
// come when the stage has been read. With copies, units through registers are one batch: loaded before the first
// strip, written after the last one.
constexpr bool kCopiesInput = P::copy_bytes > 0 && P::copies_in;
constexpr bool kCopiesWindow = P::copy_bytes > 0 && P::copies_out;
constexpr bool kLoads = !kCopiesInput || !kCopiesWindow;
constexpr bool kCopiesLast = P::copy_bytes > 0 && P::stages > 2;
constexpr int kCopyPieces = P::copy_bytes > 0 ? 16 / P::copy_bytes : 1;  // of a unit
constexpr int kUnitPiecesIn = kCopiesInput ? kCopyPieces : 1;
constexpr int kUnitPiecesOut = kCopiesWindow ? kCopyPieces : 1;
constexpr int kInputRun = 16;  // channels of a planar stage that a thread copies in a turn, of a span
constexpr int kWindowRun = P::block_out % 16 == 0 ? 16 : 8;
constexpr int kInputPieces = kPlanar ? P::block_in / kInputRun : kInputUnits * kUnitPiecesIn;  // of a pixel or a span
constexpr int kWindowPieces = kPlanar ? P::block_out / kWindowRun : kWindowUnits * kUnitPiecesOut;
constexpr int kCopyBatches = P::stages == 2 ? ceil_div(kOwnStrips, 2) : kOwnStrips;
constexpr int kLoadBatches = P::copy_bytes > 0 ? 1 : kOwnStrips;
constexpr int kInputBatches = kCopiesInput ? kCopyBatches : kLoadBatches;
constexpr int kWindowBatches = kCopiesWindow ? kCopyBatches : kLoadBatches;
constexpr int kInputTurns = ceil_div(kInputSpans * kInputPieces, kThreads);
constexpr int kWindowTurns = ceil_div(kWindowSpans * kWindowPieces, kThreads);
constexpr int kInputBatch = ceil_div(kInputTurns, kInputBatches);
constexpr int kWindowBatch = ceil_div(kWindowTurns, kWindowBatches);
constexpr int kBatch = kInputBatch + kWindowBatch;
using Word = P::Word;
constexpr int kWords = kVector;  // of a unit, in registers
// Words of a turn: two elements of 16 bits that are loaded together are one.
constexpr int kInputWords = kElementBytes == 2 && kInputIsEven ? kWords : kInputSpan * kWords;
constexpr int kWindowWords = kElementBytes == 2 && kWindowIsEven ? kWords : kWindowSpan * kWords;
// That a thread has in flight.
constexpr int kBatchWords =
    (kCopiesInput ? 0 : kInputBatch * kInputWords) + (kCopiesWindow ? 0 : kWindowBatch * kWindowWords);

// Whether images are planes of volumes: then the planes of grad_y are not one after the other as those of x are.
constexpr bool kDeep = P::depth != 1 || P::kernel_d > 1 || P::padding_d > 0 || P::output_padding_d > 0;

// Where the pixels of a stage (or the first ones of its spans) are in memory, for the stage that comes and the next
// one: bytes from the first images of their tiles, of 32 bits where the images are known and small; of planes from the
// first channel of all volumes.
constexpr bool kFewImages = P::height >= P::tile_rows;  // a tile reaches no more than the next image
constexpr bool kIsKnown = P::height >= 0 && P::width >= 0;
constexpr long long kKnownInputs = static_cast<long long>(P::x_channels) * P::height * P::width;  // of an image
constexpr long long kKnownOutputs =
    static_cast<long long>(P::y_channels) *
    ((P::height - 1) * P::stride_h + P::dilation_h * (P::kernel_h - 1) + P::output_padding_h + 1 - 2 * P::padding_h) *
    kKnownOutputColumns;
constexpr long long kMostInt = 0x7fffffff;
constexpr bool kShort = !kDeep && kIsKnown && kFewImages && kKnownInputs * kElementBytes <= kMostInt &&
                        kKnownOutputs * kElementBytes <= kMostInt;
constexpr int kOffsetBytes = kShort ? 4 : 8;
constexpr int kSpans = kInputSpans + kWindowSpans;
constexpr int kTableBytes = ceil_div(kSpans * kOffsetBytes, 16) * 16;
constexpr int kTableOffset = P::stages * kStageBytes;

// On their way to memory results take the place of the stages: eight input channels of each warp at a time. Pitches
// keep stores to shared memory free of bank conflicts, and loads nearly so.
constexpr bool kChannelsTogether = P::weight_channels_last || kKernelTaps == 1;
constexpr int kTaps = P::taps_h * P::taps_w;
constexpr int kTapPitch = P::block_out + (kChannelsTogether || kTaps == 1 ? 0 : ceil_div(ceil_div(32, kTaps), 2) * 2);
constexpr int kChannelPitch = kTaps * kTapPitch + floor_mod(8 - kTaps * kTapPitch, 32);
constexpr int kStoredChannels = 8 * P::warps_in;
constexpr int kResultBytes = kStoredChannels * kChannelPitch * 4;
constexpr int kScalesOffset = kTableOffset + 2 * kTableBytes;  // of the block's channels of x, then of grad_y
// The warps' sums of grad_y, at the end.
constexpr int kSummedBytes = P::sums_bias ? P::warps_k * P::warps_taps * P::block_out * 4 : 0;
constexpr int kSharedBytes =
    larger(kScalesOffset + (kSplit ? 4 * (P::block_in + P::block_out) : 0), larger(kResultBytes, kSummedBytes));

// Of x and grad_y, in bytes.
constexpr int kSpanBytes = kPlanar ? larger(kInputCopy, kWindowCopy) * kElementBytes
                           : (kInputSpan > 1 && kInputIsEven) || (kWindowSpan > 1 && kWindowIsEven) ? 2 * kElementBytes
                                                                                                    : 1;
constexpr int kAlignment =
    larger(larger(kPlanar ? 0 : P::copy_bytes, kElementBytes), P::wide_in || P::wide_out ? 16 : kSpanBytes);

// Of a thread. Where values are split there are as many of low parts, and fp32 totals, to which those of high parts are
// promoted after so many stages.
constexpr int kMostAccumulators = kSplit ? 48 : 128;
constexpr int kPromoteStages = kSplit ? kMostTerms / (kKSteps / P::warps_k) : 1;
static_assert(P::in_channels % P::groups == 0 && P::out_channels % P::groups == 0, "groups divide the channels");
static_assert(kAccumulators <= kMostAccumulators, "the accumulators fit the registers");
static_assert(!kSplit || kKSteps / P::warps_k <= kMostTerms, "a stage has no more products than one promotion");
static_assert(P::copy_bytes == 0 || P::copies_in || P::copies_out, "copies are of x or of grad_y");
static_assert(!kPlanar || (!kSplit && P::copies_in && P::copies_out && P::block_out % kWindowRun == 0),
              "what products read of a planar stage are elements of it");
static_assert(!kWholeRows || (!P::along_row && P::tile_columns % 8 == 0 && kInputCopy > 1 && kWindowCopy > 1 &&
                              kWindowCopy % P::stride_w == 0),
              "copies have words, and rows of matrices are vectors of x");
static_assert((!P::wide_in || (P::channels_last && kGroupIn % kVector == 0)) &&
                  (!P::wide_out || (P::channels_last && kGroupOut % kVector == 0)),
              "units are loaded as they lie");
static_assert(P::span == 1 || (P::span == 2 && !P::channels_last && P::copy_bytes == 0 && P::tile_columns % 2 == 0),
              "spans are of rows, and come through registers");
static_assert(P::taps_w % P::warps_taps == 0 && P::block_in % (16 * P::warps_in) == 0 &&
                  P::block_out % (8 * P::warps_out) == 0 && (kWarpOutTiles == 1 || kWarpOutTiles % 2 == 0),
              "warps have whole products");
static_assert(P::tile_columns % kStripColumns == 0 && P::tile_rows % kPartCount == 0 && kPartRows % kStripRows == 0 &&
                  kStrips % P::warps_k == 0,
              "warps have whole strips of products");
static_assert(!P::along_row || (P::strip % 2 == 1 && (P::warps_taps == 1 || kWarpTapsW % kPeriodW == 0)),
              "lanes read different banks, and the taps of each warp the same planes");
static_assert(!P::sums_bias ||
                  (P::has_bias && kTapGroups == 1 && !P::along_row && kThreads >= P::block_out &&
                   (kPlanar || P::type != kWgmmaTf32) &&
                   are_read_once(P::kernel_h, P::stride_h, P::padding_h, P::output_padding_h, P::dilation_h) &&
                   are_read_once(P::kernel_w, P::stride_w, P::padding_w, P::output_padding_w, P::dilation_w) &&
                   are_read_once(P::kernel_d, P::stride_d, P::padding_d, P::output_padding_d, P::dilation_d)),
              "the taps of a block that are summed read each value of grad_y once");
static_assert(P::stages >= 2 && (P::copy_bytes > 0 || P::stages == 2),
              "what goes through registers is written while the stage before is read");
