// How random layers are drawn, so that a template takes many of them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <random>
#include <utility>

#include "generator/layer/layer.h"

namespace convtgen::testing {

/// The same seed gives the same numbers on every machine.
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t operator()() { return engine_(); }
  /// At least 0, and less than 1.
  double fraction() { return std::generate_canonical<double, 53>(engine_); }
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least >= most ? least
                         : least + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(most - least + 1));
  }
  /// An index of the weights: the larger its weight, the more often.
  std::size_t weighted(std::initializer_list<int> weights) {
    std::int64_t at = 0;
    for (const int weight : weights) {
      at += weight;
    }
    at = between(0, at - 1);
    std::size_t index = 0;
    for (const int weight : weights) {
      if ((at -= weight) < 0) {
        break;
      }
      ++index;
    }
    return index;
  }
  /// A number of the range that `which` counts to: its least and its largest.
  std::int64_t one_of(std::size_t which, std::initializer_list<std::pair<std::int64_t, std::int64_t>> ranges) {
    const auto& [least, most] = ranges.begin()[which];
    return between(least, most);
  }

 private:
  std::mt19937_64 engine_;
};

/// An axis while it is drawn.
struct DrawnAxis {
  Axis axis;
  bool is_rows = false;          // of the height
  std::optional<Layout> layout;  // the one that is wanted
  std::int64_t rows = 0;         // the height, where this is the width
  std::int64_t size = 0;
  bool is_known = true;  // whether the layer says the size
};

/// What a template changes in layers that are drawn at random. All of it is optional.
struct LayerDrawer {
  /// The place among the forward templates that layers of the net are drawn for; -1: none are. Templates that take
  /// fp32 come first. Two templates share a place if each takes compute modes that the other does not.
  int place = -1;
  /// Whether a compute mode of the template is drawn, in place of one of all that tensor cores have.
  bool own_compute = false;
  /// Changes the kernel, the stride and the dilation that were drawn.
  void (*shape)(DrawnAxis& drawn, RandomNumbers& random) = nullptr;
  bool padded = true;  // else without padding and output_padding
  /// Changes the size that was drawn, and whether it is known.
  void (*size)(DrawnAxis& drawn) = nullptr;

  bool depth = false;  // layers of three axes too
  bool one_group = false;
  bool no_depthwise = false;              // no groups of one channel each
  bool whole_in = false;                  // multiples of 8 input channels of a group, where no class is wanted
  bool whole_out = false;                 // the same of output channels
  bool few_out = false;                   // at most 16 output channels of a group, most often below 8
  std::optional<std::int64_t> most_in{};  // input channels of a group
  /// Whether the gradient of the input of layers with strides is drawn, too.
  bool strided_grad_input = false;
  /// Changes the layer at last.
  void (*finish)(Layer& layer) = nullptr;
};

}  // namespace convtgen::testing
