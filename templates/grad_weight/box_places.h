// Where products find their operands among the boxes of a stage, for gradients of weights.
#pragma once

#include "device/matrix_load.h"
#include "device/warpgroup.h"
#include "grad_weight/boxes.h"

// A thread's own place in a stage's window for 16 rows of a tap, in bytes before the swizzle.
using Place = int;

__device__ __forceinline__ Place place_of_rows(int rows, int lane) {
  const int tap = tap_of_rows(rows);
  const int kh = tap / P::taps_w;
  const int kw = tap % P::taps_w;
  const int plane = kh % kPeriodH * kPlanesW + kw % kPeriodW;
  const int pixel = kh / kPeriodH * kStepH * kWindowPitch + kw / kPeriodW * kStepW + lane % 8 + lane / 16 * 8;
  const int channel = channel_of_rows(rows) + lane / 8 % 2 * 8;
  return (plane * kOutBoxes + channel / kOutBox) * kPlaneBoxBytes + pixel * kOutSwizzle + channel % kOutBox * kBytes;
}

// Where copies put what has this place without a swizzle: bits 4.. are exclusive-or'ed with bits 7...
__device__ __forceinline__ int swizzled(int place) {
  return place ^ (place >> 3 & (kOutSwizzle - 16));
}

// Loads an A fragment of a part: 16 rows of the warp by the positions of a step.
//
// {with offset: The stage is `offset` bytes into `shared`, whole patterns of swizzles. }A swizzle is found from a place
// in shared memory, not in the stage. The compiler would keep places in all rows of a stage in registers otherwise, since
// no stage would change them.
__device__ __forceinline__ void load_fragment(unsigned int (&fragment)[4], const unsigned char* shared, int offset,
                                              const int part, const int step, const Place& place) {
  // Steps of a run, and parts, are whole patterns of the swizzle apart; rows of a run need not be.
  const int run = step / kRunSteps * kWindowPitch * kOutSwizzle;
  const int in_run = step % kRunSteps * kInstructionK * kOutSwizzle + part * kWindowPartBytes;
  matrix_load_x4_transposed(fragment, shared + swizzled(offset + place + (kInputBytes + run)) + in_run);
}

// The B operands: the input of the first step, and bytes from there to another step's.
constexpr int kInputMajor = kWgmmaMajorMn;
__device__ __forceinline__ unsigned long long input_descriptor(const unsigned char* stage) {
  return wgmma_descriptor(stage, kInputBoxBytes, 8 * kInSwizzle, kInSwizzle);
}
__device__ __forceinline__ int input_of_step(const int step) {
  return step * kInstructionK * kInSwizzle;
}
