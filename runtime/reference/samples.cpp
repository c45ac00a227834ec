#include "runtime/reference/samples.h"

#include <algorithm>
#include <random>

#include "runtime/reference/definition.h"

namespace convtgen {
namespace {

/// The k-th output on the border of one plane, with its n, c and depth 0: the first row, the last row, then the columns
/// between them.
OutputPosition border_position(const Shape& shape, std::int64_t k) {
  const std::int64_t full_rows = std::min<std::int64_t>(shape.out[kHeight], 2);
  if (k < full_rows * shape.out[kWidth]) {
    return {.at = {0, k / shape.out[kWidth] == 0 ? 0 : shape.out[kHeight] - 1, k % shape.out[kWidth]}};
  }
  k -= full_rows * shape.out[kWidth];
  const std::int64_t columns = std::min<std::int64_t>(shape.out[kWidth], 2);
  return {.at = {0, 1 + k / columns, k % columns == 0 ? 0 : shape.out[kWidth] - 1}};
}

std::int64_t border_count(const Shape& shape) {
  const std::int64_t full_rows = std::min<std::int64_t>(shape.out[kHeight], 2);
  const std::int64_t columns = std::min<std::int64_t>(shape.out[kWidth], 2);
  return full_rows * shape.out[kWidth] + std::max<std::int64_t>(shape.out[kHeight] - 2, 0) * columns;
}

}  // namespace

Samples choose_samples(const Layer& layer, const Shape& shape, const SampleOptions& options) {
  Samples samples;
  if (shape.output_elements == 0) {
    return samples;
  }
  std::mt19937_64 random(options.seed);
  const auto draw = [&](std::int64_t below) {
    return std::uniform_int_distribution<std::int64_t>(0, below - 1)(random);
  };
  for (std::int64_t i = 0; i < options.random; ++i) {
    samples.outputs.push_back(draw(shape.output_elements));
  }
  const std::int64_t planes = shape.batch * shape.out_channels * shape.out[kDepth];  // rows by columns
  const std::int64_t on_border = border_count(shape);
  const auto add_border = [&](std::int64_t plane, std::int64_t k) {
    OutputPosition at = border_position(shape, k);
    at.n = plane / shape.out[kDepth] / shape.out_channels;
    at.c = plane / shape.out[kDepth] % shape.out_channels;
    at.at[kDepth] = plane % shape.out[kDepth];
    samples.outputs.push_back(output_offset(layer, shape, at));
  };
  samples.border_outputs = planes * on_border;
  samples.all_borders = samples.border_outputs <= options.most_borders;
  if (samples.all_borders) {
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      for (std::int64_t k = 0; k < on_border; ++k) {
        add_border(plane, k);
      }
    }
  } else {
    // The corners of as many planes as fit, spread evenly, and random border outputs of all planes.
    const std::int64_t corner_planes = std::min(planes, options.most_borders / 8);
    for (std::int64_t i = 0; i < corner_planes; ++i) {
      const std::int64_t plane = i * (planes / corner_planes);
      for (const std::int64_t k : {std::int64_t{0}, shape.out[kWidth] - 1,
                                   (std::min<std::int64_t>(shape.out[kHeight], 2) - 1) * shape.out[kWidth],
                                   std::min<std::int64_t>(shape.out[kHeight], 2) * shape.out[kWidth] - 1}) {
        add_border(plane, k);
      }
    }
    for (std::int64_t i = 0; i < options.most_borders / 2; ++i) {
      add_border(draw(planes), draw(on_border));
    }
  }
  std::sort(samples.outputs.begin(), samples.outputs.end());
  samples.outputs.erase(std::unique(samples.outputs.begin(), samples.outputs.end()), samples.outputs.end());
  return samples;
}

}  // namespace convtgen
