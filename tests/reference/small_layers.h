// Random layers that are small enough for all of their results to be looked at.
#pragma once

#include <random>

#include "generator/layer/shape.h"

namespace convtgen::testing {

/// Legal, with all sizes known; the batch may be 0.
inline Layer small_layer(std::mt19937& random) {
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (;;) {
    Layer layer;
    layer.groups = draw(1, 3);
    layer.in_channels = layer.groups * draw(1, 3);
    layer.out_channels = layer.groups * draw(1, 3);
    layer.dimensions = static_cast<int>(draw(1, 3));
    layer.axes = {kNoAxis, kNoAxis, kNoAxis};
    for (const std::size_t axis : axes_of(layer)) {
      layer.axes[axis] = {.kernel = draw(1, axis == kDepth ? 2 : 5),
                          .stride = draw(1, 4),
                          .padding = {draw(0, 3), draw(0, 3)},
                          .output_padding = draw(0, 2),
                          .dilation = draw(1, 3),
                          .extent = draw(1, axis == kDepth ? 3 : 6)};
    }
    layer.bias = draw(0, 1) == 1;
    layer.layout = draw(0, 1) == 1 ? Layout::kNhwc : Layout::kNchw;
    layer.weight_layout = draw(0, 1) == 1 ? WeightLayout::kChannelsLast : WeightLayout::kContiguous;
    layer.dtype = static_cast<Dtype>(draw(0, 3));
    layer.compute = default_compute(layer.dtype);
    layer.batch = draw(0, 3);
    if (check_limits(layer).empty()) {
      return layer;
    }
  }
}

}  // namespace convtgen::testing
