// The tiles of a slice, and what a block reads, for gradients of weights whose stages are tiles of positions.
#pragma once

#include "grad_weight/target.h"

// A stage's place: the image and row of its first row, and its first column; and how many tiles follow in its column of
// tiles.
struct Tile {
  int image;
  int row;
  int column;
  long long left;
};

// Tiles of one column of tiles follow one another.
__device__ __forceinline__ Tile tile_at(long long index, const long long row_tiles, const int in_h) {
  const long long of_column = index % row_tiles;
  const long long row = of_column * P::tile_rows;
  Tile tile;
  tile.image = static_cast<int>(row / (in_h + kHaloH));
  tile.row = static_cast<int>(row % (in_h + kHaloH));
  tile.column = static_cast<int>(index / row_tiles) * P::tile_columns;
  tile.left = row_tiles - 1 - of_column;
  return tile;
}

// The next one, without the divisions of 64 bits that finding it anew takes.
__device__ __forceinline__ void move_on(Tile& tile, const long long row_tiles, const int in_h) {
  const int row = tile.row + P::tile_rows;
  tile.image += row / (in_h + kHaloH);
  tile.row = row % (in_h + kHaloH);
  --tile.left;
  if (tile.left < 0) {
    tile.image = 0;
    tile.row = 0;
    tile.column += P::tile_columns;
    tile.left = row_tiles - 1;
  }
}

// What a block reads.
struct Source {
  const Element* x;       // its first channel
  const Element* grad_y;  // the same
  int ins;                // channels of x from there on
  int outs;
  int origin_h;  // of its taps
  int origin_w;
};

__device__ __forceinline__ Source source_of(const Element* __restrict__ x, const Element* __restrict__ grad_y,
                                            const Target& target, const int in_h, const int in_w, const int out_h,
                                            const int out_w) {
  const int first_ci = target.group * kGroupIn + target.first_in;
  const int first_co = target.group * kGroupOut + target.first_out;
  return {x + (P::channels_last ? first_ci : first_ci * (static_cast<long long>(in_h) * in_w)),
          grad_y + (P::channels_last ? first_co : first_co * (static_cast<long long>(out_h) * out_w)),
          kGroupIn - target.first_in,
          kGroupOut - target.first_out,
          target.first_kh * P::dilation_h - P::padding_h,
          target.first_kw * P::dilation_w - P::padding_w};
}
