#include "tests/language/random_layer.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>
#include <memory>

#include "generator/layer/shape.h"

namespace convtgen::testing_support {

namespace {

class Maker {
 public:
  explicit Maker(const Pick& pick) : pick_(pick) {}

  Layer make() {
    Layer layer;
    layer.dimensions = one_in(4) ? 1 : one_in(4) ? 3 : 2;
    types(layer);
    axes(layer);
    layer.groups = one_in(3) ? pick_(1, 16) : 1;
    layer.in_channels = layer.groups * spread(1, 64, 1 << 20);
    layer.out_channels = layer.groups * spread(1, 64, 1 << 20);
    layer.batch = size(0, 256);
    layer.x_channels = slice(layer.in_channels);
    layer.y_channels = slice(layer.out_channels);
    layer.bias = one_in(2);
    fuse(layer.dtype, layer.fuse);
    if (one_in(3)) {
      fuse(layer.dtype, layer.fuse_input);
    }
    directions(layer);
    layer.weight_layout = all_weight_layouts()[index(all_weight_layouts().size())];
    make_legal(layer);
    layer.streaming = layer.dimensions == 1 && !layer.axes[kWidth].extent &&
                      layer.directions == std::vector{Direction::kForward} && !layer.x_channels && !layer.y_channels &&
                      one_in(2);
    return layer;
  }

 private:
  bool one_in(std::int64_t n) { return pick_(1, n) == 1; }

  Size slice(std::int64_t channels) { return one_in(5) ? Size(channels + spread(1, 64, 1 << 20)) : std::nullopt; }

  // Mostly small, at times up to the largest.
  std::int64_t spread(std::int64_t least, std::int64_t usual, std::int64_t most) {
    return one_in(12) ? pick_(least, most) : pick_(least, usual);
  }
  // Of two or three axes the values of a property are often the same.
  template <typename T>
  void axes(Layer& layer, T Axis::* property, std::int64_t least, std::int64_t most) {
    const std::int64_t first = pick_(least, most);
    const bool is_same = one_in(3);
    for (const std::size_t axis : axes_of(layer)) {
      layer.axes[axis].*property = is_same || axis == axes_of(layer).front() ? first : pick_(least, most);
    }
  }
  template <typename T>
  void spread_axes(Layer& layer, T Axis::* property, std::int64_t least, std::int64_t usual) {
    axes(layer, property, least, one_in(12) ? kMaxExtent : usual);
  }

  void axes(Layer& layer) {
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      layer.axes[axis] = axis < axes_of(layer).front() ? kNoAxis : Axis();
    }
    axes(layer, &Axis::kernel, 1, !one_in(20) ? 7 : layer.dimensions == 3 ? 16 : 64);
    spread_axes(layer, &Axis::stride, 1, 4);
    spread_axes(layer, &Axis::padding, 0, 4);
    const bool is_uneven = one_in(4);
    spread_axes(layer, &Axis::dilation, 1, 4);
    for (const std::size_t index : axes_of(layer)) {
      Axis& axis = layer.axes[index];
      axis.padding.after = is_uneven ? spread(0, 4, kMaxExtent) : axis.padding.after;
      axis.output_padding = pick_(0, std::min<std::int64_t>(5, std::max(axis.stride, axis.dilation) - 1));
      axis.extent = size(1, 600);
    }
  }

  Size size(std::int64_t least, std::int64_t usual) {
    return one_in(3) ? Size() : Size(spread(least, usual, kMaxExtent));
  }

  void types(Layer& layer) {
    layer.dtype = all_dtypes()[index(all_dtypes().size())];
    const auto computes = computes_of(layer.dtype);
    layer.compute = computes[index(computes.size())];
    layer.layout = all_layouts()[index(all_layouts().size())];
  }

  void fuse(Dtype dtype, std::vector<Activation>& chain) {
    const std::int64_t steps = one_in(2) ? 0 : pick_(1, 6);
    for (std::int64_t i = 0; i < steps; ++i) {
      Activation step;
      step.kind = all_activations()[index(all_activations().size())];
      const int count = argument_count(step.kind);
      step.a = count > 0 ? number(dtype) : 0;
      step.b = count > 1 ? number(dtype) : 0;
      if (step.kind == ActivationKind::kHardtanh && step.a > step.b) {
        std::swap(step.a, step.b);
      }
      chain.push_back(step);
    }
  }

  // Any finite double that the sums can hold: half of them by their bits.
  double number(Dtype dtype) {
    const std::int64_t bits = pick_(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
    const auto value = std::bit_cast<double>(bits);
    const double largest = dtype == Dtype::kF64 ? DBL_MAX : static_cast<double>(FLT_MAX);
    if (one_in(2) || !std::isfinite(value) || std::abs(value) > largest) {
      return static_cast<double>(bits % 2000) / 100;
    }
    return value;
  }

  // Gradients are of layers without activations, grad_bias of those with a bias.
  void directions(Layer& layer) {
    const std::int64_t subset =
        one_in(2) || !layer.fuse.empty() || !layer.fuse_input.empty() ? 1 : pick_(1, layer.bias ? 15 : 7);
    layer.directions.clear();
    for (std::size_t i = 0; i < all_directions().size(); ++i) {
      if ((subset >> i & 1) != 0) {
        layer.directions.push_back(all_directions()[i]);
      }
    }
  }

  // What is left to break is the size of the output and of the tensors: open sizes can't.
  static void make_legal(Layer& layer) {
    if (!check_limits(layer).empty()) {
      layer.batch.reset();
      for (const std::size_t axis : axes_of(layer)) {
        layer.axes[axis].extent.reset();
      }
    }
  }

  std::size_t index(std::size_t count) {
    return static_cast<std::size_t>(pick_(0, static_cast<std::int64_t>(count) - 1));
  }

  const Pick& pick_;
};

}  // namespace

Layer random_layer(const Pick& pick) {
  return Maker(pick).make();
}

Pick seeded(std::uint64_t seed) {
  auto engine = std::make_shared<std::mt19937_64>(seed);
  return [engine](std::int64_t least, std::int64_t most) {
    // Unsigned, since the span of all 64-bit numbers is 2^64: then every word is fine as it comes.
    const std::uint64_t span = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least) + 1;
    const std::uint64_t word = (*engine)();
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(least) + (span == 0 ? word : word % span));
  };
}

}  // namespace convtgen::testing_support
