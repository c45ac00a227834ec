// The layout of `grad_weight_pixels`: shared memory.
#pragma once

#include "grad_weight/boxes.h"

constexpr int kPipelineBytes = P::stages * kStageBytes;
constexpr int kStoredColumns = smaller(kColumns, kPipelineBytes / (4 * kColumnPitch) / 8 * 8);

#include "grad_weight/split_layout.h"

constexpr int kBarrierOffset = kTotalsEnd;  // mbarriers
constexpr int kSharedBytes = 1024 + kBarrierOffset + 2 * P::stages * 8;

constexpr int kAlignment = P::channels_last ? 16 : kElementBytes;  // of x and grad_y, in bytes

static_assert(kBytes == 2, "channels of 16 bits lie together");
static_assert((P::channels_last && !kSplit) || (P::height >= 0 && P::width >= 0), "copies have a known size");
static_assert(kStoredColumns >= 8, "the results of eight input channels fit the stages");
