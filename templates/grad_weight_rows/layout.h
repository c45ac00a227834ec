// The layout of `grad_weight_rows`: the positions of a stage, and shared memory.
#pragma once

#include "grad_weight/problem.h"

constexpr int kThreads = kConsumers + P::producers;

// Whether an image of x is one row of positions, and a stage has whole rows of the image: where these are no whole
// copies, and grad_y is patches.
constexpr bool kFlat = kPatches && P::tile_columns == P::width && P::width * kBytes % 16 != 0;
constexpr int kRunPixels = kFlat ? P::tile_rows * P::tile_columns : P::tile_columns;  // that are adjacent in x

// Boxes of x: a part of each row, of all channels of the block, as K-major operands with that swizzle. An operand with
// kernel rows in its columns is the channels of as many rows, which lie one after the other.
constexpr int kBoxPixels = P::swizzle / kBytes;
constexpr int kBoxes = ceil_div(kRunPixels, kBoxPixels);
constexpr int kOperandBytes = P::block_in * P::swizzle;  // a row's part
constexpr int kBoxRows = kFlat ? 1 : P::tile_rows + kColumnRows - 1;
constexpr int kBoxBytes = kBoxRows * kOperandBytes;
constexpr int kBoxesBytes = kBoxes * kBoxBytes;
// Of values that are split the high parts of all boxes, then the low ones. Swizzles follow addresses.
constexpr int kInputPartBytes = P::splits ? ceil_div(kBoxesBytes, 1024) * 1024 : kBoxesBytes;
constexpr int kInputBytes = P::splits ? 2 * kInputPartBytes : kBoxesBytes;

// The window of grad_y that the taps reach: whole rows, of all channels of the block, as they lie in memory. A copy
// begins at a multiple of 16 bytes (or of a word), up to kSkews - 1 elements before the window. A row is an odd
// multiple of 16 bytes, so that eight channels are in different banks; of 32 where a load brings pairs of taps.
constexpr int kSkews = (P::window_copies ? 16 : 4) / kBytes;
constexpr int kWindowRows = (P::tile_rows - 1) * P::stride_h + P::dilation_h * (kTapsH - 1) + 1;
constexpr int kWindowColumns = (P::tile_columns - 1) * P::stride_w + P::dilation_w * (P::taps_w - 1) + 1 +
                               (P::taps_w == P::kernel_w ? floor_mod(-P::padding_w, kSkews) : kSkews - 1);
constexpr int kPitchUnit = kPairedTaps ? 2 * kVector : kVector;
constexpr int kWindowPitch = (ceil_div(kWindowColumns, kPitchUnit) / 2 * 2 + 1) * kPitchUnit;
constexpr int kPitchBytes = kWindowPitch * kBytes;     // of a channel's row
constexpr int kRowBytes = P::block_out * kPitchBytes;  // of all channels' row
constexpr int kWindowBytes = kWindowRows * kRowBytes;

constexpr int kRowSteps = kRunPixels / kInstructionK;  // products of a row
constexpr int kKSteps = kFlat ? kRowSteps : P::tile_rows * kRowSteps;

// Shared memory: swizzles follow addresses in multiples of 1024 bytes.
constexpr int kStageBytes = ceil_div(kInputBytes + kWindowBytes, 1024) * 1024;
constexpr int kPipelineBytes = P::stages * kStageBytes;
constexpr int kStoredColumns = smaller(kColumns, kPipelineBytes / (4 * kColumnPitch) / 8 * 8);
constexpr int kBarrierOffset = kPipelineBytes;                         // mbarriers
constexpr int kRawBarrierOffset = kBarrierOffset + 2 * P::stages * 8;  // of boxes that are to be split
constexpr bool kSplitsBoxes = P::splits && P::input_copies;
constexpr int kSharedBytes = 1024 + kRawBarrierOffset + (kSplitsBoxes ? P::stages * 8 : 0);

constexpr int kAlignment = 16;  // of x and grad_y, in bytes

static_assert(!P::rows_in_columns || (P::stride_h == 1 && P::dilation_h == 1), "kernel rows read successive rows of x");
static_assert(!P::channels_last && P::width >= 0, "rows lie in memory as they are copied");
static_assert((kFlat || P::tile_columns % kBoxPixels == 0) && kBoxPixels % kInstructionK == 0,
              "boxes are whole products");
static_assert(kRunPixels % kInstructionK == 0, "a stage is whole products");
static_assert(!kFlat || (P::height >= 0 && P::height * P::width * kBytes % 16 == 0), "an image is whole copies");
static_assert(!kFlat || (kPairedTaps && P::window_copies && P::width % 2 == 0 && 2 * P::width >= kInstructionK),
              "a step's pairs of positions are in two rows, or three");
static_assert((P::input_copies && P::window_copies) || P::producers == 128, "a warpgroup brings what copies do not");
static_assert(!P::splits || (P::type == kWgmmaTf32 && P::producers == 128), "a warpgroup splits x in parts of tf32");
static_assert(!kSplitsBoxes || P::window_copies, "who splits boxes has no time for grad_y");
static_assert(P::width * kBytes % (P::input_copies && !kFlat ? 16 : 4) == 0, "rows are whole copies, or whole words");
static_assert(kWindowPitch <= 256 && kWindowRows <= 256 && kBoxRows <= 256, "a copy brings the window");
static_assert(kStoredColumns >= 8, "the results of eight columns fit the stages");
