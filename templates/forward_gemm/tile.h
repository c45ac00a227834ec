// The tiles of a layer: rectangles of positions in one or more images.
// Needs: kFlat, kRowBlocks, P
#pragma once

#include "layout.h"

// Tiles of an image, down and across. An image that is one row of positions (kFlat) has tiles across only.
__host__ __device__ constexpr int tiles_down(int out_h) {
  return kFlat ? 1 : (out_h + (P::stride_h * P::tile_h - 1)) / (P::stride_h * P::tile_h);
}
__host__ __device__ constexpr int tiles_across(int in_h, int in_w, int out_w) {
  return kFlat ? (in_h * in_w + (P::tile_w - 1)) / P::tile_w
               : (out_w + (P::stride_w * P::tile_w - 1)) / (P::stride_w * P::tile_w);
}

// The first input channel of a k-block, and the first row that it stages, where the tile's first k-block has first_row.
__device__ inline int first_channel_of(int k_block) {
  return k_block / kRowBlocks * P::block_k;
}
__device__ inline int first_row_of(int k_block, int first_row) {
  return kRowBlocks == 1 ? first_row : first_row - k_block % kRowBlocks * P::dilation_h;
}

// A tile's first image, and its first position there.
struct Tile {
  int image;
  int m_y;
  int m_x;
};
__device__ __forceinline__ Tile tile_at(int index, const int tiles_y, const int tiles_x) {
  return {index / (tiles_y * tiles_x) * P::tile_n, index / tiles_x % tiles_y * P::tile_h, index % tiles_x * P::tile_w};
}
