// The layout of `grad_weight_gemm`: shared memory.
#pragma once

#include "grad_weight/positions.h"
#include "grad_weight/rows.h"

constexpr int kThreads = kConsumers + P::producers;

// Shared memory of a stage: x, then grad_y; of values that are split the high parts of each before its low ones. In 16
// bits a position has 16 bytes in each unit of channels, of x as of grad_y: products take x as an MN-major operand. In
// tf32 four positions of a channel are 16 bytes of x, a K-major operand, and grad_y lies in rows of positions. Pitches
// keep copies and loads free of bank conflicts.
constexpr int kInputUnitPitch = unit_pitch(kInputPixels);
constexpr int kQuadPitch = 16 * (P::block_in + 1);  // tf32: from four positions of x to the next four
constexpr int kWindowUnitPitch = unit_pitch(kWindowPixels);
constexpr int kChannelPitch = 4 * (kWindowPixels + floor_mod(4 - kWindowPixels, 32));  // tf32: of grad_y
constexpr int kInputPartBytes = P::type == kWgmmaTf32 ? kInputPixels / 4 * kQuadPitch : kInputUnits * kInputUnitPitch;
constexpr int kWindowPartBytes = P::type == kWgmmaTf32 ? P::block_out * kChannelPitch : kWindowUnits * kWindowUnitPitch;
constexpr int kWindowOffset = (P::splits ? 2 : kParts) * kInputPartBytes;  // of grad_y in a stage
constexpr int kStageBytes = kWindowOffset + kParts * kWindowPartBytes;
constexpr int kPipelineBytes = P::stages * kStageBytes;

// Columns whose results fit the stages.
constexpr int kStoredColumns = smaller(kColumns, kPipelineBytes / (4 * kColumnPitch) / 8 * 8);

#include "grad_weight/split_layout.h"

constexpr int kSharedAlignment = kByRows ? 128 : 16;
constexpr int kRowsOffset = ceil_div(kTotalsEnd, kSharedAlignment) * kSharedAlignment;  // rows as they lie
constexpr int kSpareOffset = kRowsOffset + P::row_stages * kRowsBytes;
constexpr int kBarrierOffset = kSpareOffset + kSpareBytes;  // mbarriers
constexpr int kRowsBarrierOffset = kBarrierOffset + 2 * P::stages * 8;
constexpr int kSharedBytes = (kByRows ? kSharedAlignment : 0) + kRowsBarrierOffset + P::row_stages * 8;

constexpr int kAlignment = P::channels_last || kByRows ? 16 : kElementBytes;  // of x and grad_y, in bytes

static_assert(kStoredColumns >= 8, "the results of eight input channels fit the stages");
static_assert(!P::splits || (P::type == kWgmmaTf32 && !P::channels_last), "units of NCHW are split in parts of tf32");
