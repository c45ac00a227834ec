// The positions of a stage, for gradients of weights whose channels tensor copies bring as they lie with channels last.
//
// Of values that are split a position's channels have their high parts first, then their low ones.
#pragma once

#include "grad_weight/box_channels.h"
#include "grad_weight/problem.h"

// One of the threads that multiply also issues the copies: a warp of its own would take registers from all, since the
// assembler shares them among whole warpgroups.
constexpr int kThreads = kConsumers;
constexpr int kIssueLag = 2;  // stages from a stage's last read to its next copies

// The channels of a box, whose bytes are its swizzle.
constexpr int kInBox = box_channels(P::block_in);
constexpr int kOutBox = box_channels(P::block_out);
constexpr int kInBoxes = P::block_in / kInBox;
constexpr int kOutBoxes = P::block_out / kOutBox;
constexpr int kInSwizzle = kInBox * kBytes;  // bytes of a position
constexpr int kOutSwizzle = kOutBox * kBytes;

// The positions that copies bring: of x, and of each plane of grad_y. Flat rows have kHaloW zeros at their ends, and
// images that share a stage have kHaloH rows of zeros.
constexpr int kWindowPitch = (P::flat ? P::width : P::tile_columns) + kHaloW;
constexpr int kWindowRows = P::tile_rows + kHaloH;
constexpr int kInputPitch = P::flat ? kWindowPitch : P::tile_columns;
constexpr int kInputRows = P::tile_images > 1 ? kWindowRows : P::tile_rows;
constexpr int kInputPixels = P::tile_images * kInputRows * kInputPitch;
constexpr int kPlanePixels = P::tile_images * kWindowRows * kWindowPitch;

// A run of positions is contiguous in x and in the planes: a row, or all flat rows. Products take whole instructions of
// it, so that flat rows have a tail after what copies bring.
constexpr int kRunPixels = P::flat ? ceil_div(kInputPixels, kInstructionK) * kInstructionK : P::tile_columns;
constexpr int kRunSteps = kRunPixels / kInstructionK;
constexpr int kKSteps = P::flat ? kRunSteps : P::tile_rows * kRunSteps;
constexpr int kPlaneEnd = P::flat ? kRunPixels + kHaloH * kWindowPitch + kHaloW : kPlanePixels;  // that taps read

// Shared memory of a stage: the boxes of x and then those of each plane, by parts. Swizzles follow addresses in
// multiples of 1024 bytes, from where stages and the parts of windows begin. Boxes of x, of whole instructions, begin
// at multiples of their swizzle's pattern.
constexpr int kInputBoxBytes = kKSteps * kInstructionK * kInSwizzle;
constexpr int kPlaneBoxBytes = ceil_div(kPlaneEnd * kOutSwizzle, 128) * 128;
constexpr int kInputPartBytes = kInBoxes * kInputBoxBytes;
constexpr int kInputBytes = ceil_div(kParts * kInputPartBytes, 1024) * 1024;
constexpr int kWindowPartBytes = ceil_div(kPlanes * kOutBoxes * kPlaneBoxBytes, 1024) * 1024;
constexpr int kCopiedBytes =
    kParts * (kInBoxes * kInputPixels * kInSwizzle + kPlanes * kOutBoxes * kPlanePixels * kOutSwizzle);
constexpr int kStageBytes = kInputBytes + kParts * kWindowPartBytes;

static_assert(kGroupIn % kVector == 0 && kGroupOut % kVector == 0, "a group's channels begin at multiples of 16 bytes");
static_assert(P::block_in % 16 == 0, "a box has a swizzle");
static_assert(P::flat || P::tile_columns % kInstructionK == 0, "a row of a stage is whole products");
static_assert(!P::flat || P::width >= 0, "the pitch of whole rows is known");
static_assert(P::flat || P::tile_images == 1, "images share flat stages alone");
static_assert(P::stages > kIssueLag, "a stage is copied before it is wanted");
