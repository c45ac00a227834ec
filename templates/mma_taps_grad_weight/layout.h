// Part of the template `mma_taps_grad_weight`: the products of a block, and what lies in shared memory.
#pragma once

#include "device/instruction.h"
#include "device/template.h"
#include "grad_weight/planes.h"

constexpr int kThreads = 32 * P::warps_in * P::warps_columns * P::warps_k;

// ---- Window of grad_y ----

// The output channels of a pixel that lie together, and elements of memory from a pixel to the next one of its row.
// Rows are one sequence where a pixel has no other channels.
constexpr int kTogether = P::channels_last ? P::block_out : 1;
constexpr int kPixelStep = P::channels_last ? P::y_channels : 1;
constexpr bool kFlat = kPixelStep == kTogether;

// Pixels that the taps of a block reach from a position. Where they are fewer than the stride, a stage has these alone.
constexpr int kSpanH = P::dilation_h * (P::taps_h - 1) + 1;
constexpr int kSpanW = P::dilation_w * (P::taps_w - 1) + 1;
constexpr bool kRowsApart = kSpanH < P::stride_h;
constexpr bool kColumnsApart = kFlat && kSpanW < P::stride_w;

// Elements of one copy: as many as divide all that copies and rows begin at.
constexpr int kKnownOutputColumns =
    (P::width - 1) * P::stride_w + P::dilation_w * (P::kernel_w - 1) + P::output_padding_w + 1 - 2 * P::padding_w;
constexpr int kTapTileStep = P::taps_w < P::kernel_w ? P::taps_w * P::dilation_w * kTogether : 0;
constexpr int kFlatCopy =
    P::width >= 0
        ? greatest_common_divisor(greatest_common_divisor(kVector, kKnownOutputColumns* kTogether),
                                  greatest_common_divisor(P::tile_columns* P::stride_w* kTogether, kTapTileStep))
        : greatest_common_divisor(kVector, kTogether);
constexpr int kWindowCopy = !kFlat          ? greatest_common_divisor(greatest_common_divisor(kVector, kPixelStep),
                                                                      greatest_common_divisor(P::block_out, kGroupOut))
                            : kColumnsApart ? greatest_common_divisor(kFlatCopy, P::stride_w* kTogether)
                                            : kFlatCopy;
constexpr int kWindowShift = kFlat ? floor_mod(-P::padding_w * kTogether, kWindowCopy) : 0;  // before the first tap

// 16 bits: whether lanes read two columns of a position as a word, which begins at an even element for each position
// and each row of taps. Then such a row may have a column before the first tap, and one after the last.
constexpr bool kTapsTogether = kFlat && P::dilation_w == 1;
constexpr bool kPairs = kElementBytes == 2 && (kFlat ? P::stride_w * kTogether % 2 == 0 : true) &&
                        (kTapsTogether || (kTogether % 2 == 0 && kWindowShift % 2 == 0));
constexpr int kLead = kPairs ? kWindowShift % 2 : 0;

// The columns of the products: rows of taps, of each kernel row and of NCHW each output channel.
constexpr int kTapColumns = P::taps_w * kTogether;
constexpr int kRowColumns = kPairs ? (kLead + kTapColumns + 1) / 2 * 2 : kTapColumns;
constexpr int kPlanesOut = P::channels_last ? 1 : P::block_out;
constexpr int kColumns = P::taps_h * kPlanesOut * kRowColumns;
constexpr int kTilesTogether = kPairs ? 2 : 1;  // of 8 columns, whose operands are read at once
constexpr int kTilesAcross = ceil_div(kColumns, 8 * kTilesTogether * P::warps_columns) * kTilesTogether;  // of a warp
constexpr int kRowTiles = P::block_in / (16 * P::warps_in);
constexpr int kAccumulators = kRowTiles * kTilesAcross * 4;  // of a thread
constexpr long long kTotals = static_cast<long long>(kAccumulators) * kThreads;

// The window: rows of runs of elements that are adjacent in memory. A run is a whole row, what the taps reach from a
// position, or a pixel.
constexpr int kTileSpanW = (P::tile_columns - 1) * P::stride_w + kSpanW;
constexpr int kRuns = !kFlat ? kTileSpanW : kColumnsApart ? P::tile_columns : 1;
constexpr int kRunStep = kFlat ? P::stride_w * kPixelStep : kPixelStep;
constexpr int kRunEnd = !kFlat ? P::block_out
                               : kWindowShift - kLead +
                                     (kColumnsApart ? 0 : (P::tile_columns - 1) * P::stride_w * kTogether) +
                                     larger(kSpanW * kTogether + kLead, kTapsTogether ? kRowColumns : 0);
constexpr int kRunVectors = ceil_div(kRunEnd, kWindowCopy);
constexpr int kRunElements = kRunVectors * kWindowCopy;
// Positions whose runs are apart lie in different banks, and begin at even elements.
constexpr int kRunPitch = kRunElements + (kColumnsApart ? floor_mod(8 - kRunElements, 16) : 0);
constexpr int kPixelPitch = kFlat ? kTogether : kRunPitch;
constexpr int kPositionPitch = kColumnsApart ? kRunPitch : P::stride_w * kPixelPitch;
constexpr int kRowPitch = ceil_div(kRuns * kRunPitch, kVector) * kVector;
constexpr int kPositionRows = kRowsApart ? kSpanH : P::stride_h;  // of the window, from a row of positions to the next
constexpr int kWindowRows = (P::tile_rows - 1) * kPositionRows + kSpanH;
constexpr int kPlanePitch = kWindowRows * kRowPitch;
constexpr int kWindowBytes = kPlanesOut * kPlanePitch * kElementBytes;
constexpr int kWindowCopies = kPlanesOut * kWindowRows * kRuns * kRunVectors;

// ---- Positions ----

constexpr int kPositions = P::tile_rows * P::tile_columns;
constexpr int kSteps = kPositions / kInstructionK;  // of all warps that share them
constexpr int kOwnSteps = kSteps / P::warps_k;
// Steps that are written out. Tensor cores truncate each sum: of values that are split accumulators are promoted to
// fp32 totals after these, three products each (grad_weight/terms.h has the error of 16).
constexpr int kStepsTogether = P::splits && kOwnSteps % 4 == 0 ? 4 : kOwnSteps % 2 == 0 ? 2 : 1;
constexpr int kPart = smaller(P::tile_columns, kInstructionK);  // of a product, in one row
constexpr int kRowSteps = ceil_div(P::tile_columns, kInstructionK);

// What is known of tiles: that they end where the image does, that an image has one row of them, and that all rows of
// their windows are inside.
constexpr bool kWholeRows = P::height >= 0 && P::height % P::tile_rows == 0;
constexpr bool kWholeColumns = P::width >= 0 && P::width % P::tile_columns == 0;
constexpr bool kOneRowTile = P::height >= 0 && P::height <= P::tile_rows;
constexpr bool kWindowRowsInside =
    kWholeRows && P::padding_h == 0 && P::output_padding_h >= 0 && P::kernel_h % P::taps_h == 0;

// x: pixels with their channels, of NCHW channels with their positions. Pitches keep what products read in different
// banks.
constexpr int kInputPitch = P::type == kWgmmaTf32
                                ? 4 * (P::channels_last ? P::block_in + floor_mod(8 - P::block_in, 32)
                                                        : kPositions + floor_mod(4 - kPositions, 8))
                                : 16 * (ceil_div(P::channels_last ? P::block_in : kPositions, kVector) / 2 * 2 + 1);
constexpr int kInputBytes = (P::channels_last ? kPositions : P::block_in) * kInputPitch;
constexpr int kCopiedIn = smaller(P::block_in, kGroupIn);  // channels that copies bring
constexpr int kInputCopy =
    P::channels_last
        ? greatest_common_divisor(greatest_common_divisor(kVector, P::x_channels),
                                  greatest_common_divisor(kGroupIn, kInTiles > 1 ? P::block_in : 0))
        : greatest_common_divisor(greatest_common_divisor(kVector, P::tile_columns), P::width >= 0 ? P::width : 1);
constexpr int kInputVectors = (P::channels_last ? kCopiedIn : P::tile_columns) / kInputCopy;  // of a pixel, or a row
constexpr int kInputCopies = (P::channels_last ? kPositions : kCopiedIn * P::tile_rows) * kInputVectors;

constexpr int kStageBytes = kInputBytes + ceil_div(kWindowBytes, 16) * 16;

// The results of a block take the place of the stages: rows of columns.
constexpr int kBlockColumns = 8 * kTilesAcross * P::warps_columns;
constexpr int kResultPitch = kBlockColumns + floor_mod((kPairs ? 16 : 8) - kBlockColumns, 32);
constexpr int kResultBytes = P::block_in * kResultPitch * 4;
// Threads that add up grad_y, a channel each, and those that add what these have.
constexpr int kSummingThreads = kThreads / P::block_out * P::block_out;
constexpr int kSummedParts = smaller(16, kThreads / P::block_out);
constexpr int kSharedBytes = larger(P::stages * kStageBytes, kResultBytes);

// Of x and grad_y, in bytes.
constexpr int kAlignment = larger(kInputCopy, kWindowCopy) * kElementBytes;

static_assert(P::in_channels % P::groups == 0 && P::out_channels % P::groups == 0, "groups divide the channels");
static_assert(P::block_in % (16 * P::warps_in) == 0, "warps have whole products");
static_assert(P::tile_columns % kInstructionK == 0 || (kInstructionK % P::tile_columns == 0 && P::tile_columns >= 4),
              "products have whole rows of a tile, or parts of one");
static_assert(kPositions % (kInstructionK * P::warps_k) == 0, "warps have whole products of positions");
static_assert(!P::sums_bias ||
                  (P::has_bias && kTapGroups == 1 && kThreads >= P::block_out &&
                   are_read_once(P::kernel_h, P::stride_h, P::padding_h, P::output_padding_h, P::dilation_h) &&
                   are_read_once(P::kernel_w, P::stride_w, P::padding_w, P::output_padding_w, P::dilation_w)),
              "the window has each value of grad_y once");
static_assert(P::stages >= 2, "a stage is read while the next one comes");
