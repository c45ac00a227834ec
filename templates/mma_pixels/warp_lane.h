// Part of the template `mma_pixels`: which part of a block's products a thread has.
#pragma once

#include "layout.h"

struct WarpLane {
  int lane;
  int warp_m;
  int warp_n;
};
__device__ __forceinline__ WarpLane warp_lane(int thread) {
  return {thread % 32, thread / 32 % P::warps_m, thread / 32 / P::warps_m};
}
