// Part of the template `f32x3_grad_weight`: the operands of a stage's products.
#pragma once

#include "device/matrix_load.h"
#include "device/warpgroup.h"
#include "layout.h"

// ---- Products ----

// The thread's own place in the window for 16 rows, in bytes.
using Place = int;

__device__ __forceinline__ Place place_of_rows(int rows, int lane) {
  return (channel_of_rows(rows) / kVector + lane / 8 % 2) * kWindowUnitPitch +
         (pixel_of_tap(tap_of_rows(rows)) + lane % 8 + lane / 16 * 8) * 16;
}

// Loads an A fragment of the high (0) or low (1) parts: 16 rows of the warp by the positions of a step.
__device__ __forceinline__ void load_part(unsigned int (&fragment)[4], const unsigned char* shared, int offset,
                                          const int part, const int step, const Place& place) {
  const int pixel = step / kRunSteps * kRowPitch + step % kRunSteps * kInstructionK;
  matrix_load_x4_transposed(fragment, shared + offset + place + (kWindowOffset + part * kWindowBytes + pixel * 16));
}

// The B operands: the input of the first step, and bytes from there to another step's.
constexpr int kInputPartBytes = kInputBytes;
__device__ __forceinline__ unsigned long long input_descriptor(const unsigned char* stage) {
  return wgmma_descriptor(stage, 128, kInputUnitPitch, 0);
}
__device__ __forceinline__ int input_of_step(const int step) {
  return step * 256;
}
