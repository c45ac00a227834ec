// The places of tiles of positions, and of the pixels that they stage.
// Needs: kFlat, kHaloH, kHaloW, kInputStrideH, kInputStrideW, kPixelStepH, kPixelStepW, kPositions, kVolume, P
#pragma once

#include "window/geometry.h"

// A tile's place: its image and first position. In the sequence m_x counts positions of the image and m_y is 0.
struct Tile {
  int image;
  int plane;  // of a volume's output
  int m_y;
  int m_x;
};

// Of the sequence, the place so many positions before the tile's.
__device__ __forceinline__ Tile flat_tile(int index, int before, const int in_h, const int in_w) {
  const int of_image = (in_h + kGapH) * (in_w + kGapW);
  const long long at = static_cast<long long>(index) * kPositions - before;
  const long long image = at < 0 ? -((of_image - 1 - at) / of_image) : at / of_image;
  Tile tile;
  tile.image = static_cast<int>(image);
  tile.m_y = 0;
  tile.m_x = static_cast<int>(at - image * of_image);
  return tile;
}

// Of a plane's sequence, the place so many positions before the tile's: none are of the planes before and after it.
__device__ __forceinline__ Tile plane_tile(int index, int before, const int tiles_x, const int tiles_d) {
  Tile tile;
  tile.image = index / tiles_x / tiles_d;
  tile.plane = index / tiles_x % tiles_d;
  tile.m_y = 0;
  tile.m_x = index % tiles_x * kPositions - before;
  return tile;
}

__device__ __forceinline__ Tile square_tile(int index, const int tiles_y, const int tiles_x, const int out_d) {
  Tile tile;
  tile.image = index / (tiles_y * tiles_x) / out_d;
  if (kVolume) {
    tile.plane = index / (tiles_y * tiles_x) % out_d;
  }
  tile.m_y = kFirstH + index / tiles_x % tiles_y * P::tile_h;
  tile.m_x = kFirstW + index % tiles_x * P::tile_w;
  return tile;
}

// The tile's first staged pixel, as a place of its own.
__device__ __forceinline__ Tile staged_tile(int index, const int tiles_y, const int tiles_x, const int in_h,
                                            const int in_w, const int out_d) {
  Tile tile;
  if (kFlat && kVolume) {
    tile = plane_tile(index, (kHaloH > 0 ? kHaloH * kRowPitch : 0) + kHaloW, tiles_x, out_d);
  } else if (kFlat) {
    tile = flat_tile(index, (kHaloH > 0 ? kHaloH * kRowPitch : 0) + kHaloW, in_h, in_w);
  } else {
    tile = square_tile(index, tiles_y, tiles_x, out_d);
    tile.m_y = kPixelStepH * (kInputStrideH * (tile.m_y - kFirstH) - kHaloH) + kFirstH;
    tile.m_x = kPixelStepW * (kInputStrideW * (tile.m_x - kFirstW) - (kHaloW + kSkew)) + kFirstW;
  }
  return tile;
}
