#include "runtime/reference/telling_inputs.h"

#include <cmath>

#include "runtime/reference/parallel.h"

namespace convtgen {
namespace {

/// Arrays of a layer as elements of their indices make them.
template <typename X, typename Weight>
LayerInputs make_inputs(const Layer& layer, const Shape& shape, const X& x, const Weight& weight) {
  LayerInputs inputs{make_array(layer.dtype, input_shape(layer, shape)), make_array(layer.dtype, weight_shape(layer)),
                     std::nullopt};
  const auto fill = [](HostArray& array, const auto& element) {
    parallel_for(array.size(), 1 << 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        array.set(i, element(i));
      }
    });
  };
  fill(inputs.x, x);
  fill(inputs.weight, weight);
  if (layer.bias) {
    inputs.bias = make_array(layer.dtype, {layer.out_channels});
  }
  return inputs;
}

/// Random numbers of a seed and a number.
class Hash {
 public:
  explicit Hash(std::uint64_t seed) : stream_(mix_bits(seed + 0x9e3779b97f4a7c15U)) {}
  [[nodiscard]] std::uint64_t bits(std::int64_t index) const {
    return mix_bits(stream_ + static_cast<std::uint64_t>(index) * 0x9e3779b97f4a7c15U);
  }
  [[nodiscard]] std::int64_t below(std::int64_t index, std::int64_t end) const {
    return static_cast<std::int64_t>(bits(index) % static_cast<std::uint64_t>(end));
  }
  /// In [-1, 1).
  [[nodiscard]] double uniform(std::int64_t index) const {
    return static_cast<double>(bits(index) >> 11) * 0x1p-52 - 1.0;
  }

 private:
  std::uint64_t stream_;
};

/// Where elements of x and weights lie.
class Places {
 public:
  Places(const Layer& layer, const Shape& shape, const ChannelMagnitudes& magnitudes)
      : layer_(layer),
        magnitudes_(magnitudes),
        plane_(shape.in[kDepth] * shape.in[kHeight] * shape.in[kWidth]),
        channels_(shape.in_channels),
        group_channels_(layer.in_channels / layer.groups),
        taps_(tap_count(layer)),
        group_outputs_(layer.out_channels / layer.groups),
        channels_last_(layer.layout == Layout::kNhwc) {}

  struct OfX {
    std::int64_t image, channel, pixel;
  };
  [[nodiscard]] OfX of_x(std::int64_t index) const {
    const std::int64_t rest = index % (channels_ * plane_);
    return {index / (channels_ * plane_), channels_last_ ? rest % channels_ : rest / plane_,
            channels_last_ ? rest / channels_ : rest % plane_};
  }
  [[nodiscard]] WeightPosition of_weight(std::int64_t index) const { return weight_position(layer_, index); }

  [[nodiscard]] std::int64_t block(std::int64_t channel) const {
    return channel % group_channels_ / magnitudes_.channels;
  }
  /// 0 in a block of zeros.
  [[nodiscard]] double magnitude(const OfX& at) const {
    const auto exponent = magnitudes_.exponents[static_cast<std::size_t>((block(at.channel) + at.image) % turns())];
    return exponent ? std::exp2(*exponent) : 0;
  }
  [[nodiscard]] std::int64_t turns() const { return static_cast<std::int64_t>(magnitudes_.exponents.size()); }
  /// Whether the weight's output channel is one of its input channel's block.
  [[nodiscard]] bool agree(const WeightPosition& at) const { return at.out % turns() == block(at.in) % turns(); }

  /// A number for the block of an image that the element lies in, and the place of the element there; how many it has.
  [[nodiscard]] std::int64_t image_block(const OfX& at) const {
    return (at.image * channels_ + at.channel - at.channel % group_channels_) * channels_ + block(at.channel);
  }
  [[nodiscard]] std::int64_t place(const OfX& at) const {
    return at.channel % group_channels_ % magnitudes_.channels * plane_ + at.pixel;
  }
  [[nodiscard]] std::int64_t places(const OfX& at) const {
    return std::min(magnitudes_.channels, group_channels_ - block(at.channel) * magnitudes_.channels) * plane_;
  }

  /// The one input channel and tap of an output channel, as the index in its group's weights without output channel.
  [[nodiscard]] std::int64_t column(const WeightPosition& at) const { return at.in % group_channels_ * taps_ + at.tap; }
  [[nodiscard]] std::int64_t columns() const { return group_channels_ * taps_; }
  /// A number for the output channel among all groups'.
  [[nodiscard]] std::int64_t output(const WeightPosition& at) const {
    return at.in / group_channels_ * group_outputs_ + at.out;
  }

 private:
  const Layer& layer_;
  const ChannelMagnitudes& magnitudes_;
  std::int64_t plane_, channels_, group_channels_, taps_, group_outputs_;
  bool channels_last_;
};

}  // namespace

LayerInputs staged_inputs(const Layer& layer, const Shape& shape, std::uint64_t seed,
                          const ChannelMagnitudes& magnitudes) {
  const Places places(layer, shape, magnitudes);
  const Hash x(seed * 4), weight(seed * 4 + 1), scale(seed * 4 + 2);
  return make_inputs(
      layer, shape,
      [&](std::int64_t i) {
        const double value = x.bits(i) % 16 == 0 ? std::copysign(1 - 0x1p-24, x.uniform(i)) : x.uniform(i);
        return value * places.magnitude(places.of_x(i));
      },
      [&](std::int64_t i) {
        const auto at = places.of_weight(i);
        const auto exponent = static_cast<double>(scale.below(places.output(at), 9) - 4);
        return places.agree(at) ? weight.uniform(i) * std::exp2(exponent) : 0;
      });
}

LayerInputs exact_inputs(const Layer& layer, const Shape& shape, std::uint64_t seed,
                         const ChannelMagnitudes& magnitudes) {
  const Places places(layer, shape, magnitudes);
  const Hash x(seed * 4), weight(seed * 4 + 1), largest(seed * 4 + 2);
  return make_inputs(
      layer, shape,
      [&](std::int64_t i) {
        const auto at = places.of_x(i);
        const double sign = x.uniform(i) < 0 ? -1 : 1;
        const bool is_largest = places.place(at) == largest.below(places.image_block(at), places.places(at));
        const double fraction = 1 + static_cast<double>(x.below(i, 1 << 21) | 1) * 0x1p-21;
        return sign * places.magnitude(at) * (is_largest ? 1 : 0x1p-27 * fraction);
      },
      [&](std::int64_t i) {
        const auto at = places.of_weight(i);
        const std::int64_t output = places.output(at);
        const bool is_there = places.column(at) == weight.below(output, places.columns());
        return is_there ? std::exp2(static_cast<double>(weight.below(~output, 9) - 4)) : 0;
      });
}

LayerInputs truncation_inputs(const Layer& layer, const Shape& shape, std::uint64_t seed, Truncated operand) {
  const Hash x(seed * 4), weight(seed * 4 + 1);
  constexpr std::int64_t kOnes = 0x1fff;
  const auto number = [](const Hash& random, std::int64_t i, std::int64_t low) {
    return 1 + static_cast<double>(random.below(i, 64) << 13 | low) * 0x1p-23;
  };
  const bool of_x = operand == Truncated::kX;
  return make_inputs(
      layer, shape, [&](std::int64_t i) { return number(x, i, of_x ? kOnes : kOnes >> 1); },
      [&](std::int64_t i) { return number(weight, i, of_x ? kOnes >> 1 : kOnes); });
}

}  // namespace convtgen
