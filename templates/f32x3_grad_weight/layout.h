// The layout of `f32x3_grad_weight`: shared memory.
#pragma once

#include "device/split.h"
#include "grad_weight/positions.h"

constexpr int kElementBytes = 4;
#include "grad_weight/rows.h"

constexpr int kThreads = kConsumers + P::producers;

// Shared memory of a stage: high parts of x, low parts, then those of grad_y. A position has 16 bytes in each unit of
// channels; products take x as an MN-major operand. Odd pitches keep stores and loads free of bank conflicts.
constexpr int kInputUnitPitch = unit_pitch(kInputPixels);
constexpr int kWindowUnitPitch = unit_pitch(kWindowPixels);
constexpr int kInputBytes = kInputUnits * kInputUnitPitch;  // of high parts, and of low ones
constexpr int kWindowBytes = kWindowUnits * kWindowUnitPitch;
constexpr int kWindowOffset = 2 * kInputBytes;  // of grad_y in a stage
constexpr int kStageBytes = 2 * (kInputBytes + kWindowBytes);
constexpr int kPipelineBytes = P::stages * kStageBytes;

// Columns whose results fit the stages.
constexpr int kStoredColumns = smaller(kColumns, kPipelineBytes / (4 * kColumnPitch) / 8 * 8);

#include "grad_weight/split_layout.h"

// Behind these: rows on their way, and mbarriers.
constexpr int kSharedAlignment = kByRows ? 128 : 16;
constexpr int kRowsOffset = ceil_div(kTotalsEnd, kSharedAlignment) * kSharedAlignment;  // rows as they lie in memory
constexpr int kSpareOffset = kRowsOffset + P::row_stages * kRowsBytes;
constexpr int kBarrierOffset = kSpareOffset + kSpareBytes;
constexpr int kRowsBarrierOffset = kBarrierOffset + 2 * P::stages * 8;
constexpr int kSharedBytes = (kByRows ? kSharedAlignment : 0) + kRowsBarrierOffset + P::row_stages * 8;

constexpr int kAlignment = P::channels_last || kByRows ? 16 : 4;  // of x and grad_y, in bytes

static_assert(kStoredColumns >= 8, "the results of eight input channels fit the stages");
