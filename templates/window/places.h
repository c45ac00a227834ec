// The places of a tile's pixels, which the threads that load them share: where each lies in the input.
// Needs: kFlat, kPixelStepH, kPixelStepW, kSharers, kStagers, kUnitSharers, kVolume, P
#pragma once

#include "window/tile.h"

// A thread brings the same pixels in all k-blocks of a tile: it finds them once. A place is `vector` adjacent pixels,
// or with channels last one.
constexpr int kPlacePixels = P::channels_last ? 1 : P::vector;
constexpr int kAllPlaces = kPixels / kPlacePixels;
constexpr int kPlaceStep = kStagers / kSharers;            // from a place of a thread to its next
constexpr int kPlaces = ceil_div(kAllPlaces, kPlaceStep);  // of a thread
using Places = long long[kPlaces];

static_assert(kStagers % kSharers == 0, "a thread has the same channels of all its places");

__device__ __forceinline__ int place_of(int thread, int i) {
  return (P::channels_last ? thread / kSharers : kUnitSharers > 1 ? thread % kPlaceStep : thread) + i * kPlaceStep;
}
// Whether the thread's place is one of the tile's.
__device__ __forceinline__ bool is_place(int thread, int i) {
  return (i + 1) * kPlaceStep <= kAllPlaces || place_of(thread, i) < kAllPlaces;
}

// Finds a thread's places of a tile with its halo: where their first channel lies in x, or -1 outside of the images.
// `tile` is the place of the first pixel.
__device__ __forceinline__ void find_places(Places& places, const Tile& tile, int thread, const int batch,
                                            const int in_d, const int in_h, const int in_w) {
#pragma unroll
  for (int i = 0; i < kPlaces; ++i) {
    const int pixel = place_of(thread, i) * kPlacePixels;
    const int at = kFlat ? tile.m_x + pixel : 0;  // in the sequence
    const int image = kFlat && !kVolume ? tile.image + at / ((in_h + kGapH) * (in_w + kGapW)) : tile.image;
    const int iy = kFlat ? at / (in_w + kGapW) % (in_h + kGapH) : tile.m_y + pixel / kStagedColumns * kPixelStepH;
    const int ix = kFlat ? at % (in_w + kGapW) : tile.m_x + pixel % kStagedColumns * kPixelStepW;
    const bool inside = is_place(thread, i) &&
                        (kFlat && kVolume ? at >= 0 && at < (in_h + kGapH) * (in_w + kGapW) && iy < in_h && ix < in_w
                         : kFlat          ? image >= 0 && image < batch && iy < in_h && ix < in_w
                                          : iy >= 0 && iy < in_h && ix >= 0 && ix < in_w);
    const long long first = static_cast<long long>(image) * P::x_channels * in_d * in_h * in_w;
    const long long of_pixel = static_cast<long long>(iy) * in_w + ix;
    places[i] = inside ? first + of_pixel * (P::channels_last ? P::x_channels : 1) : -1;
  }
}
