// Part of the template `grad_weight_patches`: the gradient of the bias, of the stages that are multiplied. A slice's
// blocks that read the same channels of grad_y take stages in turn, or have taps of their own.
#pragma once

#include "device/barrier.h"
#include "device/element.h"
#include "device/memory.h"
#include "grad_weight/pipeline.h"
#include "layout.h"

// Where the warps that multiply wait for these, before their results take the place of the stages; and these for each
// other.
constexpr int kSummedBarrier = 2;
constexpr int kSumBarrier = 3;

// Adds a stage's rows to the thread's: `vector` is its own of a position, `first` its first position.
__device__ __forceinline__ void sum_stage(float (&totals)[kVector], const unsigned char* window, int vector,
                                          int first) {
  const int row = vector * kVector;
  const int place = row % kRowBox * kBytes;
  float sums[kVector] = {};
#pragma unroll 4
  for (int position = first; position < kPositions; position += kSumLanes) {
    const int at = position * kRowSwizzle + place;
    const uint4 loaded =
        *reinterpret_cast<const uint4*>(window + row / kRowBox * kRowBoxBytes + (at ^ (at >> 3 & (kRowSwizzle - 16))));
    const unsigned int words[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      sums[i] += widen(static_cast<unsigned short>(words[i / 2] >> i % 2 * 16 & 0xffffu));
    }
  }
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    totals[i] += sums[i];
  }
}

// All stages of a block, by the warps for that. {with turn: It takes those of `count` whose number has the
// remainder `turn`.}
__device__ __forceinline__ void sum_rows(unsigned char* shared, unsigned long long* full, unsigned long long* empty,
                                         float* __restrict__ partial_bias, const Target& target, int count, int turn,
                                         int part, int thread) {
  const int vector = thread % kRowVectors;
  const int first = thread / kRowVectors;
  float totals[kVector] = {};
  for (int consumed = 0; consumed < count; ++consumed) {
    const int stage = stage_of(consumed);
    mbarrier_wait(&full[stage], full_parity(consumed));
    if (kInTiles == 1 || consumed % kInTiles == turn) {
      sum_stage(totals, shared + (stage * kStageBytes + kInputBytes), vector, first);
    }
    release_stage(&empty[stage], thread % 32);
  }
  named_barrier_sync(kSummedBarrier, kConsumers + kSumWarps * 32);
  float* sums = reinterpret_cast<float*>(shared + kSumOffset);
  if (first < kSumLanes) {
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      sums[first * kRows + vector * kVector + i] = totals[i];
    }
  }
  named_barrier_sync(kSumBarrier, kSumWarps * 32);
  for (int channel = thread; channel < P::block_out; channel += kSumWarps * 32) {
    float sum = 0;
    for (int tap = 0; tap < kTaps; ++tap) {
      for (int lane = 0; lane < kSumLanes; ++lane) {
        sum += sums[lane * kRows + tap * P::block_out + channel];
      }
    }
    if (kGroupOut % P::block_out == 0 || target.first_out + channel < kGroupOut) {
      partial_bias[part * P::out_channels + target.first_out + channel] = sum;
    }
  }
}
