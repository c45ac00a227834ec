// What lies after the stages in shared memory, for gradients of weights. Where values are split: the scales of the
// block's channels of x, then of grad_y; the fp32 totals, four of a thread together. Else nothing.
// Needs: kPipelineBytes
#pragma once

#include "grad_weight/problem.h"

constexpr int kScalesOffset = kPipelineBytes;
constexpr int kTotalsOffset = kScalesOffset + (kSplit ? 4 * (P::block_in + P::block_out) : 0);
constexpr int kTotalsEnd = kTotalsOffset + (P::shared_totals ? 4 * kAccumulators * kConsumers : 0);
