// Rows of NCHW as they lie in memory, on their way to a stage, for gradients of weights: which elements copies bring,
// and where they lie in shared memory.
//
// A tensor copy begins at a multiple of 16 bytes, whatever the width. So a tensor is copied as if it were flat: each
// kPeriod channels, whose elements are a multiple of 16 bytes, are one axis, and all of these another. A copy brings a
// row of every kPeriod-th channel; where the row begins in it is the same for these channels.
//
// Needs, above its line, kElementBytes, those of an element in memory.
#pragma once

#include "pixel_gemm/positions.h"

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

// Rows of x, and those of all planes of grad_y, whose words begin up to kWindowSkew elements before the taps' first.
constexpr bool kInputAligned = kByRows && P::width % kCopyElements == 0;
constexpr int kInputRows = P::tile_rows;
constexpr int kInputColumns = P::flat ? P::width : P::tile_columns;
constexpr int kInputWords = ceil_div(kInputColumns, kWordElements);
constexpr int kInputRowBytes = ceil_div(kInputWords + (kInputAligned ? 0 : kCopyWords - 1), kCopyWords) * 16;
constexpr int kPlaneRows = P::tile_rows + kHaloH;
constexpr int kPlaneColumns = P::flat ? kInputPitch : kWindowPitch;
constexpr int kWindowRows = kPlanesH * kPlaneRows;
constexpr int kWindowSkew =
    P::taps_w == P::kernel_w ? floor_mod(-P::padding_w, kWordElements) : kWordElements - 1;  // at most
constexpr int kWindowSpan = kWindowSkew + (kPlaneColumns - 1) * P::stride_w + (kPlanesW - 1) * P::dilation_w + 1;
constexpr int kWindowWords = ceil_div(kWindowSpan, kWordElements);
constexpr int kWindowRowBytes = ceil_div(kWindowWords + kCopyWords - 1, kCopyWords) * 16;
constexpr int kRowsOfSlot = kInputRows + kWindowRows;

// Shared memory of a slot: the copies of each row of x, then of grad_y; and where each row begins, in words behind its
// first copy's.
constexpr int kInputCopyBytes = P::block_in / kInputPeriod * kInputRowBytes;
constexpr int kInputCopyPitch = ceil_div(kInputCopyBytes, 128) * 128;
constexpr int kWindowCopyBytes = P::block_out / kWindowPeriod * kWindowRowBytes;
constexpr int kWindowCopyPitch = ceil_div(kWindowCopyBytes, 128) * 128;
constexpr int kWindowRowsOffset = kInputRows * kInputPeriod * kInputCopyPitch;
constexpr int kSkewsOffset = kWindowRowsOffset + kWindowRows * kWindowPeriod * kWindowCopyPitch;
constexpr int kCopiedBytes =
    kInputRows * kInputPeriod * kInputCopyBytes + kWindowRows * kWindowPeriod * kWindowCopyBytes;
constexpr int kRowsBytes = kByRows ? ceil_div(kSkewsOffset + 4 * kRowsOfSlot, 128) * 128 : 0;

// Elements of the copies' boxes.
constexpr int kInputBox = kInputRowBytes / kElementBytes;
constexpr int kWindowBox = kWindowRowBytes / kElementBytes;

// The words of all units, and the turns in which producers take those of a stage.
constexpr int kInputItems = kInputRows * kInputUnits * kInputWords;
constexpr int kWindowItems = kWindowRows * kWindowUnits * kWindowWords;
constexpr int kInputTurns = ceil_div(kInputItems, P::producers);
constexpr int kWindowTurns = ceil_div(kWindowItems, P::producers);
constexpr int kCopies = kInputRows * kInputPeriod + kWindowRows * kWindowPeriod;  // of a stage

static_assert(!kByRows || !P::channels_last, "rows lie in memory as they are copied");
static_assert(!kByRows || (P::height >= 0 && P::width >= 0), "the period of channels is known");
static_assert(!kByRows || (P::width % kWordElements == 0 && kOutWidth % kWordElements == 0), "rows are whole words");
static_assert(!kByRows || P::tile_columns % kCopyElements == 0, "tiles begin at whole copies");
static_assert(!kByRows || (kGroupIn % kInputPeriod == 0 && kGroupOut % kWindowPeriod == 0), "groups are whole periods");
static_assert(!kByRows || (kInputBox <= 256 && kWindowBox <= 256), "a copy brings a row");
static_assert(!kByRows || kRowsOfSlot <= P::producers, "a producer copies a row");
