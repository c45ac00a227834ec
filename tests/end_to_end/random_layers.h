// Random legal layers in which every value of each property occurs, and every pair of values that can stand together.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/layer/shape.h"

namespace convtgen::testing {

/// A layer with the sizes to run it at (sizes the layer leaves open are drawn too).
struct RandomLayer {
  Layer layer;
  InputSizes sizes;
};

/// Draws layers one after the other; each is the one of some candidates that shows most of the pairs not seen
/// yet, or seen least.
/// The same seed gives the same layers.
class LayerSource {
 public:
  explicit LayerSource(std::uint64_t seed);
  [[nodiscard]] RandomLayer next();

  /// Property values and pairs seen so far: one line a property, and "pairs: seen of possible".
  [[nodiscard]] std::string coverage() const;
  /// What is possible and was not seen yet, in words ("stride_h=5 & groups=3").
  [[nodiscard]] std::vector<std::string> missing() const;

 private:
  using Choice = std::vector<int>;  // index of the value of each property
  [[nodiscard]] Choice draw();
  void record(const Choice& choice);
  /// Pairs not seen yet count most, then rare ones.
  [[nodiscard]] double worth(const Choice& choice) const;
  [[nodiscard]] std::size_t pair_index(std::size_t p, int v, std::size_t q, int w) const;
  [[nodiscard]] RandomLayer build(const Choice& choice);

  std::mt19937_64 random_;
  std::vector<std::size_t> offset_;  // of each property's first value, in a list of all values
  std::size_t values_ = 0;
  std::vector<std::uint32_t> seen_values_;
  std::vector<std::uint32_t> seen_pairs_;            // values_ x values_
  std::vector<std::pair<std::size_t, int>> wanted_;  // the pair draw() tries to hold this time
};

}  // namespace convtgen::testing
