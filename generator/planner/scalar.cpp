#include "generator/planner/scalar.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "generator/layer/phases.h"
#include "generator/planner/integers.h"
#include "generator/planner/layer_parameters.h"

namespace convtgen {
namespace {

constexpr std::int64_t kMostNumber = kIntMax - 65536;  // of a layer: a tile or a k-block may end after it
constexpr std::int64_t kMaxPhases = 16384;  // of a layer; an int holds the product of two numbers of an axis's phases

/// Whether every offset inside one image, and inside the weights of one group, fits an int.
bool offsets_fit_int(const Layer& layer) {
  const Size& height = layer.axes[kHeight].extent;
  const Size& width = layer.axes[kWidth].extent;
  const std::int64_t group_in = layer.in_channels / layer.groups, group_out = layer.out_channels / layer.groups;
  if (group_in > kIntMax / group_out || group_in * group_out > kIntMax / tap_count(layer) || !height || !width) {
    return false;
  }
  Layer one_image = layer;
  one_image.batch = 1;
  const Result<Shape> shape = shape_of(one_image, {1, {*height, *width}});
  return shape && shape->input_elements <= kIntMax && shape->output_elements <= kIntMax;
}

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

Parameters scalar_parameters(const Layer& l, Direction direction) {
  const bool half = l.dtype == Dtype::kF16 || l.dtype == Dtype::kBf16;
  const std::string sum = l.dtype == Dtype::kF64 ? "double" : "float";
  Parameters p = layer_parameters(l);
  p.insert({
      {"groups", l.groups},
      {"Element", TypeName{half ? "unsigned short" : sum}},
      {"Sum", TypeName{sum}},
      {"Offset", TypeName{offsets_fit_int(l) ? "int" : "long long"}},
      {"element_kind", std::int64_t{l.dtype == Dtype::kF16    ? 1
                                    : l.dtype == Dtype::kBf16 ? 2
                                                              : 0}},
  });
  std::vector<std::string_view> others;  // of other directions
  if (direction != Direction::kForward) {
    others.insert(others.end(), {"fuse_count", "fuse_kind", "fuse_a", "fuse_b"});
  }
  if (direction == Direction::kGradInput || direction == Direction::kGradBias) {
    others.emplace_back("has_bias");
  }
  if (direction == Direction::kGradBias) {
    others.insert(others.end(), {"in_channels", "groups", "weight_channels_last", "Offset"});
  }
  for (const std::string_view name : others) {
    p.erase(p.find(name));
  }
  return p;
}

std::int64_t sum_bytes(const Layer& layer) {
  return layer.dtype == Dtype::kF64 ? 8 : 4;
}

Result<void> check_numbers(const Layer& layer) {
  const Axis& rows = layer.axes[kHeight];
  const Axis& columns = layer.axes[kWidth];
  if (auto checked = check_axis("height", rows); !checked) {
    return checked;
  }
  if (auto checked = check_axis("width", columns); !checked) {
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

Result<void> check_numbers_alone(const Problem& problem) {
  return check_numbers(problem.layer);
}

std::int64_t phases_with_taps(const Axis& axis) {
  std::set<std::int64_t> phases;
  for (std::int64_t k = 0; k < axis.kernel; ++k) {
    phases.insert(phase_of_tap(axis, k));
  }
  return std::ssize(phases);
}

std::int64_t offsets_of_taps(const Axis& axis) {
  std::set<std::int64_t> offsets;
  for (std::int64_t k = 0; k < axis.kernel; ++k) {
    offsets.insert(offset_of_tap(axis, k));
  }
  return std::ssize(offsets);
}

double scalar_seconds(const LayerFacts& f, const Grid& grid) {
  const auto blocks = grid.checked_blocks(quantities_of(f.shape));
  return !f.misfit && blocks && *blocks > 0
             ? f.target.launch_seconds + std::max(f.cost.flops / (f.factors.direct_reaches * f.target.f32_flops),
                                                  f.cost.bytes / f.target.bytes_per_second)
             : 0;
}

std::int64_t even_part(std::int64_t total, std::int64_t most) {
  return ceil_div(total, ceil_div(total, most));
}

std::int64_t power_of_two_at_least(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
}
std::int64_t power_of_two_at_most(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
}

}  // namespace convtgen
