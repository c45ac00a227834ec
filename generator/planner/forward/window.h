// What planners share of templates that stage tiles of positions with a window of taps (templates/window). Their blocks
// have the members tile_h, tile_w and part_w, and flat where positions may be one sequence.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "generator/layer/shape.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/planner.h"

namespace convtgen::window {

inline constexpr std::int64_t kMostPositions = 1 << 30;  // of an image in a sequence, which 32 bits count

/// What the choice depends on.
template <typename Block>
struct WindowFacts : FactsOf<Block> {
  double written_bytes = static_cast<double>(this->shape.output_elements * this->bytes);  // of a call at the least
  double read_bytes = this->cost.bytes - written_bytes;
  /// Planes of an image's output, and of the depth's taps as many as read a plane of the input for one of them.
  std::int64_t planes = std::max<std::int64_t>(1, this->shape.out[kDepth]);
  double depth_taps = this->misfit ? 1
                                   : static_cast<double>(pairs_of_axis(this->layer.axes[kDepth], this->shape.in[kDepth],
                                                                       this->shape.out[kDepth])) /
                                         static_cast<double>(planes);
};

/// Constants of the templates: zeros after rows and images in a sequence, the first position, and how many there are
/// beyond the input.
struct Reach {
  std::int64_t gap_h = 0, gap_w = 0, first_h = 0, first_w = 0, beyond_h = 0, beyond_w = 0;
};

/// Whether all positions of an image and the gap after it are of a known number, and all outputs have the same taps.
[[nodiscard]] inline bool can_be_flat(const LayerFacts& f, const Reach& reach) {
  const Size &rows = f.rows.extent, &columns = f.columns.extent;
  const bool one_row = rows && *rows + reach.gap_h == 1;
  if (f.rows.input_stride * f.columns.input_stride > 1) {
    return false;
  }
  return one_row || (rows && columns && *rows + reach.gap_h <= kMostPositions / (*columns + reach.gap_w));
}

template <typename Block>
[[nodiscard]] bool is_flat(const Block& b) {
  if constexpr (requires { b.flat; }) {
    return b.flat;
  } else {
    return false;
  }
}

/// Positions of the depth that have outputs.
[[nodiscard]] inline std::int64_t depth_positions(const LayerFacts& f) {
  const Axis& axis = f.layer.axes[kDepth];
  const std::int64_t planes = std::max<std::int64_t>(1, f.shape.out[kDepth]);
  return (planes - 1 + axis.padding.before) / axis.stride - axis.padding.before / axis.stride + 1;
}

/// Tiles of an image along the depth: of one plane each, or of as many positions as the block goes along.
template <typename Block>
[[nodiscard]] std::int64_t depth_tiles(const WindowFacts<Block>& f, const Block& b) {
  if constexpr (requires { b.tile_d; }) {
    return ceil_div(depth_positions(f), b.tile_d);
  } else {
    return f.planes;
  }
}

/// Tiles of all images.
template <typename Block>
[[nodiscard]] std::int64_t tiles(const WindowFacts<Block>& f, const Block& b, const Reach& reach) {
  const std::int64_t rows = f.sizes.extents[kHeight], columns = f.sizes.extents[kWidth];
  if (f.rows.input_stride * f.columns.input_stride > 1) {  // each output is a position
    return f.sizes.batch * f.planes * ceil_div(f.shape.out[kHeight], b.tile_h) *
           ceil_div(f.shape.out[kWidth], b.tile_w);
  }
  if (is_flat(b) && f.layer.dimensions == 3) {  // each plane is a sequence of its own
    return f.sizes.batch * depth_tiles(f, b) *
           ceil_div((rows + reach.gap_h) * (columns + reach.gap_w), b.tile_h * b.tile_w);
  }
  return is_flat(b) ? ceil_div(f.sizes.batch * (rows + reach.gap_h) * (columns + reach.gap_w), b.tile_h * b.tile_w)
                    : f.sizes.batch * depth_tiles(f, b) * ceil_div(rows + reach.beyond_h - reach.first_h, b.tile_h) *
                          ceil_div(columns + reach.beyond_w - reach.first_w, b.tile_w);
}

/// Adds a block's tiles of this many parts of 64 positions: 8x8 each or, where rows are wanted, 1x64, and flat ones
/// where there may be. `finish` chooses what depends on them.
template <typename Block, typename F>
void add_tiles(const Block& b, std::int64_t parts, bool with_rows, bool with_flat, F finish, std::vector<Block>& out) {
  const auto add = [&](bool flat, std::int64_t part_w, std::int64_t across) {
    Block& tiled = out.emplace_back(b);
    if constexpr (requires { tiled.flat; }) {
      tiled.flat = flat;
    }
    tiled.part_w = part_w;
    tiled.tile_h = 64 / part_w * parts / across;
    tiled.tile_w = part_w * across;
    finish(tiled);
  };
  for (std::int64_t across = 1; across <= parts; across *= 2) {
    add(false, 8, across);
    if (with_rows) {
      add(false, 64, across);
    }
  }
  if (with_flat) {
    add(true, 64, parts);
  }
}

/// Errors: tiles can't begin at the axis' padding, which a gradient of the input may have less than none of.
[[nodiscard]] inline Result<void> check_padding(const Layer& layer, std::size_t number) {
  const std::int64_t padding = layer.axes[number].padding.before;
  return require(padding >= 0, "padding {} in {}; it takes 0 and more", padding, axis_name(layer, number));
}

/// Tiles begin up to stride - 1 outputs before the first one.
template <typename Block>
[[nodiscard]] Grid grid(const LayerFacts& f, const Block& b, std::int64_t blocks_per_tile, std::int64_t most_blocks) {
  std::int64_t tile_planes = 1;
  if constexpr (requires { b.tile_d; }) {
    tile_planes = f.layer.axes[kDepth].stride * (b.tile_d - 1) + 1;
  }
  return by_planes(TileGrid{.stride_h = f.rows.stride,
                            .stride_w = f.columns.stride,
                            .tile_rows = f.rows.stride * (b.tile_h - 1) + 1,
                            .tile_columns = f.columns.stride * (b.tile_w - 1) + 1,
                            .blocks_per_tile = blocks_per_tile,
                            .most_tiles = std::max<std::int64_t>(1, most_blocks / blocks_per_tile)}
                       .grid(),
                   f.layer, Quantity::kOutDepth, tile_planes);
}

}  // namespace convtgen::window
