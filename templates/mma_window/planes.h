// Volumes: a tile is of one plane of the output, and each depth tap that makes it reads one plane of the input. The
// depth taps of a plane, and what a block stages next.
// Needs: Element, Next, P
#pragma once

#include "device/depth.h"
#include "window/places.h"

// What the depth tap reads for a plane of the output, times the stride.
__device__ __forceinline__ int depth_reach(int tap, int plane) {
  return plane * P::input_stride_d + (P::padding_d - tap * P::dilation_d);
}

// The first depth tap from `tap` on that reads a plane of the input for a plane of the output; none: kernel_d.
__device__ __forceinline__ int depth_tap_from(int tap, int plane, const int in_d) {
  int found = tap;
  while (found < P::kernel_d) {
    const int reach = depth_reach(found, plane);
    if (reach >= 0 && reach % P::stride_d == 0 && reach / P::stride_d < in_d) {
      break;
    }
    ++found;
  }
  return found;
}

// After the k-blocks of a depth tap: goes on to the tile's next one or, after its last one, to the next tile that has
// any, and finds its places.
__device__ __forceinline__ void next_depth_tap(Next& next, Places& places, int thread, int tiles, int next_tile,
                                               int tiles_y, int tiles_x, const int batch, const int in_d,
                                               const int in_h, const int in_w, const int out_d) {
  const int index = next.index;
  int plane = index / (tiles_y * tiles_x) % out_d;
  next.tap = depth_tap_from(next.tap + 1, plane, in_d);
  while (next.tap == P::kernel_d && next.index < tiles) {
    next.index += next_tile;
    plane = next.index / (tiles_y * tiles_x) % out_d;
    next.tap = depth_tap_from(0, plane, in_d);
  }
  next.plane = depth_reach(next.tap, plane) / P::stride_d;
  if (next.index != index) {
    find_places(places, staged_tile(next.index, tiles_y, tiles_x, in_h, in_w, out_d), thread, batch, in_d, in_h, in_w);
  }
}

// x, or a channel of it, from a plane on.
__device__ __forceinline__ const Element* from_plane(const Element* x, int plane, const int in_h, const int in_w) {
  return x + static_cast<long long>(plane) * (P::channels_last ? P::x_channels : 1) * in_h * in_w;
}
