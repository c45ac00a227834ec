#include "generator/planner/search/scalar.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "generator/layer/phases.h"
#include "generator/planner/plan/layer_parameters.h"
#include "generator/planner/search/bounds.h"

namespace convtgen {
namespace {

/// Whether every offset inside one image, and inside the weights of one group, fits an int.
bool offsets_fit_int(const Layer& layer) {
  const Size& depth = layer.axes[kDepth].extent;
  const Size& height = layer.axes[kHeight].extent;
  const Size& width = layer.axes[kWidth].extent;
  const std::int64_t group_in = layer.in_channels / layer.groups, group_out = layer.out_channels / layer.groups;
  if (group_in > kIntMax / group_out || group_in * group_out > kIntMax / tap_count(layer) || !depth || !height ||
      !width) {
    return false;
  }
  Layer one_image = layer;
  one_image.batch = 1;
  const Result<Shape> shape = shape_of(one_image, {1, {*depth, *height, *width}});
  return shape && shape->input_elements / layer.in_channels * x_tensor_channels(layer) <= kIntMax &&
         shape->output_elements / layer.out_channels * y_tensor_channels(layer) <= kIntMax;
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

double scalar_seconds(const LayerFacts& f, const Grid& grid, double flops) {
  const auto blocks = grid.checked_blocks(quantities_of(f.shape));
  const double arithmetic = flops / (f.factors.direct_reaches * f.target.f32_flops);
  const double memory = f.cost.bytes / f.target.bytes_per_second;
  // The templates of wgmma were fitted to times without it.
  const double hidden_less = f.target.features.has(Feature::kWgmma) ? 0 : f.factors.hidden_less;
  return !f.misfit && blocks && *blocks > 0
             ? f.target.launch_seconds + std::max(arithmetic, memory) + hidden_less * std::min(arithmetic, memory)
             : 0;
}

}  // namespace convtgen
