// The layout of `grad_weight_gemm`: the positions of a stage, and shared memory.
#pragma once

#include "pixel_gemm/problem.h"

constexpr int kThreads = kConsumers + P::producers;

// The positions of a stage, of x and of a plane of grad_y. Rows of all images follow one another, each image with kHaloH
// rows of zeros at its end.
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

// Shared memory of a stage. In 16 bits a position has 16 bytes in each unit of channels, of x as of grad_y: products take
// x as an MN-major operand. In tf32 four positions of a channel are 16 bytes of x, a K-major operand, and grad_y lies in
// rows of positions. Pitches keep copies and loads free of bank conflicts.
constexpr int kInputUnits = P::block_in / kPack;
constexpr int kWindowUnits = P::block_out / kPack;
constexpr int kInputUnitPitch = 16 * (kInputPixels / 2 * 2 + 1);
constexpr int kQuadPitch = 16 * (P::block_in + 1);  // tf32: from four positions of x to the next four
constexpr int kWindowUnitPitch = 16 * (kWindowPixels / 2 * 2 + 1);
constexpr int kChannelPitch = 4 * (kWindowPixels + floor_mod(4 - kWindowPixels, 32));  // tf32: of grad_y
constexpr int kInputBytes = P::type == kWgmmaTf32 ? kInputPixels / 4 * kQuadPitch : kInputUnits * kInputUnitPitch;
constexpr int kWindowBytes = P::type == kWgmmaTf32 ? P::block_out * kChannelPitch : kWindowUnits * kWindowUnitPitch;
constexpr int kStageBytes = kInputBytes + kWindowBytes;
constexpr int kPipelineBytes = P::stages * kStageBytes;

// Input channels whose results fit the stages.
constexpr int kStoredColumns = smaller(P::block_in, kPipelineBytes / (4 * kColumnPitch) / 8 * 8);

constexpr int kBarrierOffset = kPipelineBytes;  // mbarriers
constexpr int kSharedBytes = kBarrierOffset + 2 * P::stages * 8;

constexpr int kAlignment = P::channels_last ? 16 : kBytes;  // of x and grad_y, in bytes

static_assert(P::flat || P::tile_columns % kInstructionK == 0, "a row of a stage is whole products");
static_assert(!P::flat || P::width >= 0, "the pitch of whole rows is known");
static_assert(!P::channels_last || (kGroupIn % kPack == 0 && kGroupOut % kPack == 0), "units are loaded as they lie");
static_assert(kStoredColumns >= 8, "the results of eight input channels fit the stages");
