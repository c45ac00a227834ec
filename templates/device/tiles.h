// Sizes of a call, and the walk over its tiles: blocks that stay go on to others.
#pragma once

#include "device/call_sizes.h"

// Images of a call, rows and columns of its inputs and outputs, and tiles of an image.
struct CallSizes {
  int batch;
  int in_h;
  int in_w;
  int out_h;
  int out_w;
  int tiles_h;
  int tiles_w;
};

// Tile number i: its image, where a tile has one, and its row and column among the tiles of an image.
__device__ inline int image_of_tile(int i, const CallSizes& sizes) {
  return i / sizes.tiles_w / sizes.tiles_h;
}
__device__ inline int row_of_tile(int i, const CallSizes& sizes) {
  return i / sizes.tiles_w % sizes.tiles_h;
}
__device__ inline int column_of_tile(int i, const CallSizes& sizes) {
  return i % sizes.tiles_w;
}
