// Tiles of the templates that make rows of outputs: the output channels and the halo of a block's tile of positions
// m = output / stride, all of whose input channels are staged. The template's layout.h has kTileColumns (positions) and
// kTileChannels (outputs).
// Needs: ceil_div(), greatest_common_divisor(), kTileChannels, kTileColumns, offset_of_tap(), P, phase_of_tap()
#pragma once

#include "layout.h"

constexpr int kTaps = P::kernel_h * P::kernel_w;
constexpr int kLastRow = P::kernel_h - 1;
constexpr int kGroupIn = P::in_channels / P::groups;
constexpr int kGroupOut = P::out_channels / P::groups;

// The channels of a tile are some of one group, or those of several whole groups.
constexpr bool kWholeGroups = P::groups > 1 && kTileChannels >= kGroupOut;
constexpr int kTileGroups = kWholeGroups ? kTileChannels / kGroupOut : 1;
constexpr int kTilesOfGroup = ceil_div(kGroupOut, kTileChannels);  // where a tile is of one group
constexpr int kChannelTiles = kWholeGroups ? ceil_div(P::out_channels, kTileChannels) : P::groups * kTilesOfGroup;
constexpr bool kWholeTiles = kWholeGroups ? P::out_channels % kTileChannels == 0 : kGroupOut % kTileChannels == 0;
constexpr bool kWholeInputs = !kWholeGroups || kWholeTiles;  // all groups of a tile are there
constexpr int kInputs = kTileGroups * kGroupIn;              // channels that are staged
static_assert(!kWholeGroups || kTileChannels % kGroupOut == 0, "a tile has whole groups");
static_assert(P::in_channels % P::groups == 0 && P::out_channels % P::groups == 0, "groups divide the channels");

// The halo: offsets fall as taps grow.
constexpr int kLeastOffsetH = offset_of_tap(P::kernel_h - 1, P::stride_h, P::padding_h, P::dilation_h);
constexpr int kLeastOffsetW = offset_of_tap(P::kernel_w - 1, P::stride_w, P::padding_w, P::dilation_w);
constexpr int kStagedRows = P::tile_rows + offset_of_tap(0, P::stride_h, P::padding_h, P::dilation_h) - kLeastOffsetH;
constexpr int kStagedColumns =
    kTileColumns + offset_of_tap(0, P::stride_w, P::padding_w, P::dilation_w) - kLeastOffsetW;

// Kernel rows whose taps make the same row phase are so many apart; that many row phases, or fewer, have taps.
constexpr int kTapStep = P::stride_h / greatest_common_divisor(P::stride_h, P::dilation_h);
constexpr int kTapRows = kTapStep < P::kernel_h ? kTapStep : P::kernel_h;

// The row phases by their taps: i = 0, 1, ... are those of kernel rows 0, 1, ..., which later ones repeat; after the
// first kTapRows come those without taps.
__device__ inline int row_phase(int i) {
  return (phase_of_tap(i % kTapStep, P::stride_h, P::padding_h, P::dilation_h) + i / kTapStep) % P::stride_h;
}
// Tiles of an image, down and across.
__device__ inline int tiles_down(int out_h) {
  return (out_h + (P::stride_h * P::tile_rows - 1)) / (P::stride_h * P::tile_rows);
}
__device__ inline int tiles_across(int out_w) {
  return (out_w + (P::stride_w * kTileColumns - 1)) / (P::stride_w * kTileColumns);
}
