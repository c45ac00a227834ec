// Which outputs to check where checking all of them takes too long.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/layer/shape.h"

namespace convtgen {

/// Offsets in y's memory, ascending, each once.
struct Samples {
  std::vector<std::int64_t> outputs;
  std::int64_t border_outputs = 0;  // how many outputs lie on a border at all
  bool all_borders = true;          // every one of them is among the samples
};

struct SampleOptions {
  std::int64_t random = 100'000;
  /// The most border outputs that are taken; above it, corners of evenly spread planes and random border outputs.
  std::int64_t most_borders = 1 << 22;
  std::uint64_t seed = 1;
};

/// Random outputs, and the first and last row and column of every image and channel.
[[nodiscard]] Samples choose_samples(const Layer& layer, const Shape& shape, const SampleOptions& options = {});

}  // namespace convtgen
