// Which elements of a result to check where checking all of them takes too long.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/layer/shape.h"
#include "generator/recipe/recipe.h"

namespace convtgen {

/// Offsets in the array's memory, ascending, each once.
struct Samples {
  std::vector<std::int64_t> offsets;
  std::int64_t border_elements = 0;  // how many elements of y or grad_x lie on a border at all
  bool all_borders = true;           // every one of them is among the samples
};

struct SampleOptions {
  std::int64_t random = 100'000;
  /// The most border elements that are taken; above it, corners of evenly spread planes and random border elements.
  std::int64_t most_borders = 1 << 22;
  /// The most terms that samples of grad_weight or grad_bias have together, as long as there are kLeastSamples.
  std::int64_t most_terms = std::int64_t{1} << 30;
  std::uint64_t seed = 1;
};

inline constexpr std::int64_t kLeastSamples = 64;

/// Of y or grad_x: random elements, and the first and last row and column of every image and channel. Of grad_weight or
/// grad_bias: random elements.
[[nodiscard]] Samples choose_samples(const Layer& layer, const Shape& shape, const SampleOptions& options = {},
                                     Role role = Role::kY);

/// At most so many, before those that were drawn twice are left out.
[[nodiscard]] std::int64_t most_samples(const Shape& shape, const SampleOptions& options, Role role);

}  // namespace convtgen
