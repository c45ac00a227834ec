#include "generator/planner/search/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "generator/planner/search/checks.h"

namespace convtgen {
namespace {

constexpr std::int64_t kMostNumber = kIntMax - 65536;  // of a layer: a tile or a k-block may end after it
constexpr std::int64_t kMaxPhases = 16384;  // of a layer; an int holds the product of two numbers of an axis's phases

/// What the kernel computes in an int on one axis, whatever the sizes.
Result<void> check_axis(std::string_view name, const Axis& axis) {
  const std::int64_t reach = axis.dilation * (axis.kernel - 1) + axis.output_padding + 1;
  const auto [before, after] = axis.padding;
  for (const auto& [words, value] :
       {std::pair{"dilation * (kernel - 1) + output_padding + 1", reach}, std::pair{"2 * padding", 2 * before},
        std::pair{"stride + padding", axis.stride + before},
        // Where the ends differ, the kernel takes the difference for output_padding.
        std::pair{"padding before + after", before + after},
        std::pair{"dilation * (kernel - 1) + output_padding + 1 + padding before - after", reach + before - after}}) {
    if (value > kMostNumber) {
      return fail(fmt::format("{}: {} is {}; at most {} is supported", name, words, value, kMostNumber));
    }
  }
  return {};
}

/// The most input positions of an axis, so that a tile's end and what its taps reach fit an int.
std::int64_t most_inputs(const Axis& axis, std::int64_t tile) {
  const std::int64_t reach = axis.dilation * (axis.kernel - 1) + axis.output_padding + 1;
  return std::max<std::int64_t>(0, (kIntMax - reach) / axis.stride - tile);
}

}  // namespace

Result<void> check_numbers(const Layer& layer) {
  const Axis& rows = layer.axes[kHeight];
  const Axis& columns = layer.axes[kWidth];
  if (auto checked = first_error(
          {check_axis("depth", layer.axes[kDepth]), check_axis("height", rows), check_axis("width", columns)});
      !checked) {
    return checked;
  }
  if (rows.stride > kMaxPhases / columns.stride) {
    return fail(fmt::format("stride {}x{} has {} phases; at most {} are supported", rows.stride, columns.stride,
                            rows.stride * columns.stride, kMaxPhases));
  }
  for (const auto& [name, channels] :
       {std::pair{"in_channels", layer.in_channels}, std::pair{"out_channels", layer.out_channels}}) {
    if (channels > kMostNumber) {
      return fail(fmt::format("{} {} is too large: at most {} is supported", name, channels, kMostNumber));
    }
  }
  return {};
}

std::vector<Grid::Bound> staged_bounds(const Layer& layer, std::int64_t tile_rows, std::int64_t tile_columns) {
  return {{Quantity::kInHeight, most_inputs(symmetric(layer.axes[kHeight]), tile_rows)},
          {Quantity::kInWidth, most_inputs(symmetric(layer.axes[kWidth]), tile_columns)}};
}

Grid by_planes(Grid grid, const Layer& layer, Quantity depth, std::int64_t tile_planes) {
  if (layer.dimensions < 3) {
    return grid;
  }
  if (!grid.axes.empty()) {
    grid.axes.insert(grid.axes.end() - 1, {per(depth), tile_planes});
  }
  // Padding at the end takes nothing away from what the taps reach.
  Axis axis = layer.axes[kDepth];
  axis.padding.after = axis.padding.before;
  grid.bounds.push_back({Quantity::kInDepth, most_inputs(axis, tile_planes - 1)});
  return grid;
}

TileGrid staged_grid(const Layer& layer, std::int64_t tile_rows, std::int64_t tile_columns,
                     std::int64_t channel_tiles) {
  const std::int64_t stride_h = layer.axes[kHeight].stride, stride_w = layer.axes[kWidth].stride;
  return {.stride_h = stride_h,
          .stride_w = stride_w,
          .tile_rows = stride_h * tile_rows,
          .tile_columns = stride_w * tile_columns,
          .blocks_per_tile = channel_tiles};
}

Result<void> check_staged_grid(const Layer& layer, std::int64_t tile_rows, std::int64_t tile_columns,
                               std::int64_t channel_tiles) {
  if (channel_tiles > kIntMax) {
    return fail("more channel tiles than a grid can have");
  }
  return check_bounds(layer, staged_bounds(layer, tile_rows, tile_columns));
}

}  // namespace convtgen
