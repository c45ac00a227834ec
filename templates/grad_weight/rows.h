// Rows of NCHW as they lie in memory, on their way to a stage, for gradients of weights: which elements copies bring,
// and where they lie in shared memory.
//
// A tensor copy begins at a multiple of 16 bytes, whatever the width. So a tensor is copied as if it were flat: each
// kPeriod channels, whose elements are a multiple of 16 bytes, are one axis, and all of these another. A copy brings a
// row of every kPeriod-th channel; where the row begins in it is the same for these channels.
#pragma once

#include "grad_weight/positions.h"

constexpr bool kByRows = P::row_stages > 0;
constexpr int kRowSlots = kByRows ? P::row_stages : 1;
constexpr int kCopyElements = 16 / kElementBytes;
constexpr int kWordElements = 4 / kElementBytes;
constexpr int kCopyWords = 4;

constexpr int kOutHeight =
    (P::height - 1) * P::stride_h + P::dilation_h * (P::kernel_h - 1) + P::output_padding_h + 1 - 2 * P::padding_h;
constexpr int kOutWidth =
    (P::width - 1) * P::stride_w + P::dilation_w * (P::kernel_w - 1) + P::output_padding_w + 1 - 2 * P::padding_w;
__host__ __device__ constexpr int copy_period(int height, int width) {
  return kCopyElements / greatest_common_divisor(kCopyElements, height % kCopyElements * (width % kCopyElements));
}
constexpr int kInputPeriod = kByRows ? copy_period(P::height, P::width) : 1;
constexpr int kWindowPeriod = kByRows ? copy_period(kOutHeight, kOutWidth) : 1;

// Producers turn rows by blocks of eight positions by eight channels, of up to four times eight channels together. Of
// each channel of a block a lane has the words of two positions. In 16 bits a block is written as an 8x8 matrix;
// the lane points at one of its positions; in tf32 the lane writes its words.
constexpr int kBlockColumns = 8;
constexpr int kBlockChannels = 8;
constexpr int kBlockWords = kBlockColumns / kWordElements;  // of a channel
constexpr int kLaneWords = kBlockWords / 4;                 // of these, of a lane
constexpr bool kByMatrices = P::type != kWgmmaTf32;
constexpr int kLanePositions = kByMatrices ? 1 : kLaneWords;  // to which a lane writes
__host__ __device__ constexpr int octets_together(int octets) {
  return octets % 4 == 0 ? 4 : octets % 2 == 0 ? 2 : 1;
}
constexpr int kInputOctets = P::block_in / kBlockChannels;
constexpr int kWindowOctets = P::block_out / kBlockChannels;
constexpr int kInputTogether = octets_together(kInputOctets);
constexpr int kWindowTogether = octets_together(kWindowOctets);

// Strips are what a warp turns at once: some blocks of a row, of octets of channels together. Each warp gets as many
// blocks as the others, as far as they go; at most so many that their words fit a thread's registers. A row is whole
// strips; nobody reads what is past its end.
constexpr int kTurningWarps = P::producers / 32;
constexpr int kMostStripWords = 32;  // of a thread
__host__ __device__ constexpr int blocks_of_strip(int blocks, int bands, int together) {
  const int most = smaller(8, kMostStripWords / (together * kLaneWords));
  const int even = ceil_div(blocks * bands, kTurningWarps);
  return ceil_div(blocks, ceil_div(blocks, smaller(blocks, smaller(most, even))));
}

// Rows of x.
constexpr int kInputRows = P::tile_rows;
constexpr int kInputColumns = P::flat ? P::width : P::tile_columns;
constexpr int kInputSpanBlocks = ceil_div(kInputColumns, kBlockColumns);
constexpr int kInputBands = kInputRows * (kInputOctets / kInputTogether);  // rows by octets that are written together
constexpr int kInputStripBlocks = blocks_of_strip(kInputSpanBlocks, kInputBands, kInputTogether);
constexpr int kInputRowStrips = ceil_div(kInputSpanBlocks, kInputStripBlocks);
constexpr int kInputStrips = kInputBands * kInputRowStrips;
constexpr int kInputRowWords = kInputRowStrips * kInputStripBlocks * kBlockWords;  // that are read

// Rows of all planes of grad_y, whose words begin up to kWindowSkew elements before the taps' first.
constexpr int kPlaneRows = P::tile_rows + kHaloH;
constexpr int kPlaneColumns = P::flat ? kInputPitch : kWindowPitch;
constexpr int kWindowRows = kPlanesH * kPlaneRows;
constexpr int kWindowSkew =
    P::taps_w == P::kernel_w ? floor_mod(-P::padding_w, kWordElements) : kWordElements - 1;  // at most
constexpr int kWindowSpan = kWindowSkew + (kPlaneColumns - 1) * P::stride_w + (kPlanesW - 1) * P::dilation_w + 1;
constexpr int kWindowSpanBlocks = ceil_div(kWindowSpan, kBlockColumns);
constexpr int kWindowBands = kWindowRows * (kWindowOctets / kWindowTogether);
constexpr int kWindowStripBlocks = blocks_of_strip(kWindowSpanBlocks, kWindowBands, kWindowTogether);
constexpr int kWindowRowStrips = ceil_div(kWindowSpanBlocks, kWindowStripBlocks);
constexpr int kWindowStrips = kWindowBands * kWindowRowStrips;
constexpr int kWindowRowWords = kWindowRowStrips * kWindowStripBlocks * kBlockWords;

// A copy brings a row, or a small image where a stage has whole images: grad_y's with some elements before, since rows
// of the window begin there. What it brings of a channel is an odd multiple of 16 bytes apart, so that the words of
// eight channels are in different banks.
__host__ __device__ constexpr int odd_copies(int words) {
  return (ceil_div(words, kCopyWords) / 2 * 2 + 1) * 16;
}
constexpr int kMostBox = 256;  // elements
constexpr int kImageRows = P::height + kHaloH;
// Words from an image's first to the last one that is read, in a row that begins so many columns late; many where it is
// not small.
__host__ __device__ constexpr int words_of_image(int height, int width, int late, int row_words) {
  return height > kMostBox || width > kMostBox ? kMostBox : ((height - 1) * width + late) / kWordElements + row_words;
}
constexpr int kLate = P::taps_w == P::kernel_w ? 0 : (P::kernel_w - 1) * P::dilation_w;  // at most
constexpr int kInputImageWords = words_of_image(P::height, P::width, 0, kInputRowWords);
constexpr int kWindowImageWords = kCopyWords + words_of_image(kOutHeight, kOutWidth, kLate, kWindowRowWords);
constexpr bool kByImages = kByRows && P::flat && P::tile_rows % kImageRows == 0 && kInputPeriod == 1 &&
                           kWindowPeriod == 1 && odd_copies(kInputImageWords) / kElementBytes <= kMostBox &&
                           odd_copies(kWindowImageWords) / kElementBytes <= kMostBox;
constexpr int kImages = kByImages ? P::tile_rows / kImageRows : 0;
constexpr bool kInputAligned = kByRows && P::width % kCopyElements == 0;
constexpr int kInputRowBytes =
    odd_copies(kByImages ? kInputImageWords : kInputRowWords + (kInputAligned ? 0 : kCopyWords - 1));
constexpr int kWindowRowBytes = odd_copies(kByImages ? kWindowImageWords : kWindowRowWords + kCopyWords - 1);
constexpr int kRowsOfSlot = kInputRows + kWindowRows;
constexpr int kInputCopies = kByImages ? kImages : kInputRows * kInputPeriod;
constexpr int kWindowCopies = kByImages ? kImages : kWindowRows * kWindowPeriod;

// Shared memory of a slot: the copies of x, then of grad_y; and where each row begins, in words after its first
// copy's.
constexpr int kInputCopyBytes = P::block_in / kInputPeriod * kInputRowBytes;
constexpr int kInputCopyPitch = ceil_div(kInputCopyBytes, 128) * 128;
constexpr int kWindowCopyBytes = P::block_out / kWindowPeriod * kWindowRowBytes;
constexpr int kWindowCopyPitch = ceil_div(kWindowCopyBytes, 128) * 128;
constexpr int kWindowRowsOffset = kInputCopies * kInputCopyPitch;
constexpr int kSkewsOffset = kWindowRowsOffset + kWindowCopies * kWindowCopyPitch;
constexpr int kCopiedBytes = kInputCopies * kInputCopyBytes + kWindowCopies * kWindowCopyBytes;
constexpr int kRowsBytes = kByRows ? ceil_div(kSkewsOffset + 4 * kRowsOfSlot, 128) * 128 : 0;

// Where each producer writes what is outside of a stage; nobody reads that.
constexpr int kSpareBytes = kByRows ? 16 * P::producers : 0;

// Elements of the copies' boxes, and copies of a stage.
constexpr int kInputBox = kInputRowBytes / kElementBytes;
constexpr int kWindowBox = kWindowRowBytes / kElementBytes;
constexpr int kCopies = kInputCopies + kWindowCopies;

// What a warp does in a stage, at most: blocks of units that are written together, and strips.
constexpr int kTurnedBlocks = ceil_div(kInputStrips, kTurningWarps) * kInputStripBlocks * kInputTogether +
                              ceil_div(kWindowStrips, kTurningWarps) * kWindowStripBlocks * kWindowTogether;
constexpr int kTurnedStrips = ceil_div(kInputStrips, kTurningWarps) + ceil_div(kWindowStrips, kTurningWarps);

static_assert(!kByRows || P::block_out % kBlockChannels == 0, "a block has octets of channels");
static_assert(!kByRows || !P::channels_last, "rows lie in memory as they are copied");
static_assert(!kByRows || (P::height >= 0 && P::width >= 0), "the period of channels is known");
static_assert(!kByRows || (P::width % kWordElements == 0 && kOutWidth % kWordElements == 0), "rows are whole words");
static_assert(!kByRows || P::tile_columns % kCopyElements == 0, "tiles begin at whole copies");
static_assert(!kByRows || (kGroupIn % kInputPeriod == 0 && kGroupOut % kWindowPeriod == 0), "groups are whole periods");
static_assert(!kByRows || (kInputBox <= kMostBox && kWindowBox <= kMostBox), "a copy brings a row");
static_assert(!kByRows || kRowsOfSlot <= P::producers, "a producer copies a row");
