// The layout of `f32x3_grad_weight_pixels`: shared memory.
#pragma once

#include "device/split.h"

constexpr int kParts = 2;  // of a value: high and low
#include "grad_weight/boxes.h"

constexpr int kPipelineBytes = P::stages * kStageBytes;
constexpr int kStoredColumns = smaller(kColumns, kPipelineBytes / (4 * kColumnPitch) / 8 * 8);

#include "grad_weight/split_layout.h"

constexpr int kBarrierOffset = kTotalsEnd;  // mbarriers
constexpr int kSharedBytes = 1024 + kBarrierOffset + 2 * P::stages * 8;

constexpr int kAlignment = P::channels_last ? 16 : 4;  // of x and grad_y, in bytes

static_assert(P::height >= 0 && P::width >= 0, "the split copies have a known size");
static_assert(kStoredColumns >= 8, "the results of eight input channels fit the stages");
