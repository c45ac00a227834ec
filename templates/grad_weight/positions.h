// The positions of a stage, for gradients of weights whose producers bring units of channels at each position.
#pragma once

#include "grad_weight/problem.h"

// The positions of a stage, of x and of a plane of grad_y. Rows of all images follow one another, each image with
// kHaloH rows of zeros at its end.
constexpr int kInputPitch = P::flat ? P::width + kHaloW : P::tile_columns;
constexpr int kWindowPitch = P::tile_columns + kHaloW;
constexpr int kRowPitch = P::flat ? kInputPitch : kWindowPitch;  // of a plane
constexpr int kRunPixels =
    P::flat ? ceil_div(P::tile_rows * kInputPitch, kInstructionK) * kInstructionK : P::tile_columns;
constexpr int kInputPixels = P::flat ? kRunPixels : P::tile_rows * kRunPixels;
constexpr int kPlanePixels =
    P::flat ? kRunPixels + kHaloH * kRowPitch + kHaloW : (P::tile_rows + kHaloH) * kWindowPitch;
constexpr int kWindowPixels = kPlanes * kPlanePixels;
constexpr int kRunSteps = kRunPixels / kInstructionK;
constexpr int kKSteps = kInputPixels / kInstructionK;

// Units of channels that a block has of x and of grad_y.
constexpr int kInputUnits = P::block_in / kVector;
constexpr int kWindowUnits = P::block_out / kVector;

// From a unit of eight channels to the next one in shared memory, in bytes: odd multiples of 16 keep stores and loads
// free of bank conflicts.
__host__ __device__ constexpr int unit_pitch(int pixels) {
  return 16 * (pixels / 2 * 2 + 1);
}

// Where the taps of a block read the window: the plane's first position, moved.
__device__ __forceinline__ int pixel_of_tap(int tap) {
  const int kh = tap / P::taps_w;
  const int kw = tap % P::taps_w;
  return (kh % kPeriodH * kPlanesW + kw % kPeriodW) * kPlanePixels + kh / kPeriodH * kStepH * kRowPitch +
         kw / kPeriodW * kStepW;
}

static_assert(P::flat || P::tile_columns % kInstructionK == 0, "a row of a stage is whole products");
static_assert(!P::flat || P::width >= 0, "the pitch of whole rows is known");
static_assert(!P::channels_last || (kGroupIn % kVector == 0 && kGroupOut % kVector == 0),
              "units are loaded as they lie");
