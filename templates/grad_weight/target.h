// What a block makes, for gradients of weights by products over positions.
#pragma once

#include "grad_weight/planes.h"

// What a block makes.
struct Target {
  int slice;  // of the positions
  int group;
  int first_in;  // of its channels in the group
  int first_out;
  int first_kh;  // of its taps
  int first_kw;
};

// Weights vary fastest, so that blocks which read the same positions run together.
__device__ __forceinline__ Target target_of(int block) {
  const int tap_group = block % kTapGroups;
  const int in_tile = block / kTapGroups % kInTiles;
  const int out_tile = block / (kTapGroups * kInTiles) % kOutTiles;
  Target target;
  target.slice = P::slices == 1 ? 0 : block / kSliceBlocks;
  target.group = P::groups == 1 ? 0 : block / (kTapGroups * kInTiles * kOutTiles) % P::groups;
  target.first_in = in_tile * P::block_in;
  target.first_out = out_tile * P::block_out;
  target.first_kh = tap_group / kTapGroupsW * P::taps_h;
  target.first_kw = tap_group % kTapGroupsW * P::taps_w;
  return target;
}

// The first tile of a slice, of so many in all.
__device__ inline long long first_tile_of(int slice, long long tiles) {
  return tiles * slice / P::slices;
}
