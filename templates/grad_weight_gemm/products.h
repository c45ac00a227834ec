// Part of the template `grad_weight_gemm`: the operands of a stage's products.
#pragma once

#include "device/matrix_load.h"
#include "device/memory.h"
#include "device/warpgroup.h"
#include "layout.h"

// ---- Products ----

constexpr int kOtherRegisters = 36;  // of a thread, besides accumulators and fragments

constexpr int kPixelBytes = P::type == kWgmmaTf32 ? 4 : 16;               // of a position in the window
constexpr int kStepBytes = P::type == kWgmmaTf32 ? 2 * kQuadPitch : 256;  // from the input of a step to the next

// A thread's own place in the window for 16 rows, in bytes.
using Place = int;

__device__ __forceinline__ Place place_of_rows(int rows, int lane) {
  if constexpr (kSplit) {  // as below; ptxas makes less of one form for both (docs/kernel-notes.md)
    return (channel_of_rows(rows) / kVector + lane / 8 % 2) * kWindowUnitPitch +
           (pixel_of_tap(tap_of_rows(rows)) + lane % 8 + lane / 16 * 8) * 16;
  }
  const int pixel = pixel_of_tap(tap_of_rows(rows));
  const int channel = channel_of_rows(rows);
  if (P::type == kWgmmaTf32) {
    return (channel + lane / 4) * kChannelPitch + (pixel + lane % 4) * 4;
  }
  return (channel / kVector + lane / 8 % 2) * kWindowUnitPitch + (pixel + lane % 8 + lane / 16 * 8) * 16;
}

// Loads an A fragment of a part: 16 rows of the warp by the positions of a step.
//
// {with offset: The stage is `offset` bytes into `shared`.}
__device__ __forceinline__ void load_fragment(unsigned int (&fragment)[4], const unsigned char* shared, int offset,
                                              const int part, const int step, const Place& place) {
  const int pixel = step / kRunSteps * kRowPitch + step % kRunSteps * kInstructionK;
  const unsigned char* from = shared + offset + (kWindowOffset + part * kWindowPartBytes) + place + pixel * kPixelBytes;
  if constexpr (P::type == kWgmmaTf32) {
    fragment[0] = *reinterpret_cast<const unsigned int*>(from);
    fragment[1] = *reinterpret_cast<const unsigned int*>(from + 8 * kChannelPitch);
    fragment[2] = *reinterpret_cast<const unsigned int*>(from + 16);
    fragment[3] = *reinterpret_cast<const unsigned int*>(from + 8 * kChannelPitch + 16);
  } else {
    matrix_load_x4_transposed(fragment, from);
  }
}

// The B operands: the input of the first step, and bytes from there to another step's.
constexpr int kInputMajor = P::type == kWgmmaTf32 ? kWgmmaMajorK : kWgmmaMajorMn;
__device__ __forceinline__ unsigned long long input_descriptor(const unsigned char* stage) {
  return P::type == kWgmmaTf32 ? wgmma_descriptor(stage, kQuadPitch, 128, 0)
                               : wgmma_descriptor(stage, 128, kInputUnitPitch, 0);
}
__device__ __forceinline__ int input_of_step(const int step) {
  return step * kStepBytes;
}
