#include "runtime/reference/host_array.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

#include "runtime/reference/numbers.h"
#include "runtime/reference/parallel.h"

namespace convtgen {
namespace {

template <typename T>
T load(const std::vector<std::byte>& bytes, std::int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void store(std::vector<std::byte>& bytes, std::int64_t index, T value) {
  std::memcpy(bytes.data() + static_cast<std::size_t>(index) * sizeof(T), &value, sizeof(T));
}

/// All 65,536 values: decoding them one by one is slow where arrays are large.
const std::vector<double>& f16_values() {
  static const std::vector<double> values = [] {
    std::vector<double> table(65536);
    for (std::size_t i = 0; i < table.size(); ++i) {
      table[i] = decode_f16(static_cast<std::uint16_t>(i));
    }
    return table;
  }();
  return values;
}

std::int64_t product(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>{});
}

Result<void> check_array(std::string_view name, const HostArray& array, Dtype dtype,
                         const std::vector<std::int64_t>& wanted) {
  if (array.dtype != dtype) {
    return fail(fmt::format("{}: the array holds {}, the layer takes {}", name, name_of(array.dtype), name_of(dtype)));
  }
  if (array.shape != wanted) {
    return fail(
        fmt::format("{}: the array is {}, the layer takes {}", name, shape_text(array.shape), shape_text(wanted)));
  }
  if (static_cast<std::int64_t>(array.bytes.size()) != product(wanted) * bytes_of(dtype)) {
    return fail(
        fmt::format("{}: {} bytes for {} elements of {}", name, array.bytes.size(), product(wanted), name_of(dtype)));
  }
  return {};
}

}  // namespace

std::uint64_t mix_bits(std::uint64_t value) {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9U;
  value = (value ^ value >> 27) * 0x94d049bb133111ebU;
  return value ^ value >> 31;
}

std::int64_t HostArray::size() const {
  return product(shape);
}

double HostArray::at(std::int64_t index) const {
  switch (dtype) {
    case Dtype::kF64:
      return load<double>(bytes, index);
    case Dtype::kF32:
      return load<float>(bytes, index);
    case Dtype::kF16:
      return f16_values()[load<std::uint16_t>(bytes, index)];
    case Dtype::kBf16:
      return decode_bf16(load<std::uint16_t>(bytes, index));
  }
  return 0;
}

void HostArray::set(std::int64_t index, double value) {
  switch (dtype) {
    case Dtype::kF64:
      return store(bytes, index, value);
    case Dtype::kF32:
      return store(bytes, index, static_cast<float>(value));
    case Dtype::kF16:
      return store(bytes, index, encode_f16(value));
    case Dtype::kBf16:
      return store(bytes, index, encode_bf16(value));
  }
}

HostArray make_array(Dtype dtype, std::vector<std::int64_t> shape) {
  HostArray array{dtype, std::move(shape), {}};
  array.bytes.resize(static_cast<std::size_t>(array.size() * bytes_of(dtype)));
  return array;
}

HostArray make_array(Dtype dtype, std::vector<std::int64_t> shape, const std::vector<double>& values) {
  HostArray array = make_array(dtype, std::move(shape));
  for (std::int64_t i = 0; i < array.size(); ++i) {
    array.set(i, values[static_cast<std::size_t>(i)]);
  }
  return array;
}

HostArray random_array(Dtype dtype, std::vector<std::int64_t> shape, std::uint64_t seed, double amplitude) {
  HostArray array = make_array(dtype, std::move(shape));
  const std::uint64_t stream = mix_bits(seed + 0x9e3779b97f4a7c15U);
  parallel_for(array.size(), 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint64_t bits = mix_bits(stream + static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U);
      const double unit = static_cast<double>(bits >> 11) * 0x1p-52 - 1.0;  // [-1, 1)
      array.set(i, unit * amplitude);
    }
  });
  return array;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return shape.empty() ? "a scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

namespace {

/// Of x or y: a layer with one axis has a height of 1.
std::vector<std::int64_t> image_shape(const Layer& layer, std::int64_t batch, std::int64_t channels,
                                      const Extents& image) {
  std::vector<std::int64_t> shape(image.begin() + (layer.dimensions == 3 ? kDepth : kHeight), image.end());
  shape.insert(layer.layout == Layout::kNhwc ? shape.end() : shape.begin(), channels);
  shape.insert(shape.begin(), batch);
  return shape;
}

}  // namespace

std::vector<std::int64_t> input_shape(const Layer& layer, const Shape& shape) {
  return image_shape(layer, shape.batch, shape.in_channels, shape.in);
}

std::vector<std::int64_t> output_shape(const Layer& layer, const Shape& shape) {
  return image_shape(layer, shape.batch, shape.out_channels, shape.out);
}

std::vector<std::int64_t> weight_shape(const Layer& layer) {
  std::vector<std::int64_t> shape{layer.in_channels};
  for (std::size_t axis = layer.dimensions == 3 ? kDepth : kHeight; axis < kAxes; ++axis) {
    shape.push_back(layer.axes[axis].kernel);
  }
  shape.insert(layer.weight_layout == WeightLayout::kChannelsLast ? shape.end() : shape.begin() + 1,
               layer.out_channels / layer.groups);
  return shape;
}

std::int64_t weight_offset(const Layer& layer, const WeightPosition& position) {
  const std::int64_t outs = layer.out_channels / layer.groups;
  const std::int64_t taps = tap_count(layer);
  return layer.weight_layout == WeightLayout::kChannelsLast ? (position.in * taps + position.tap) * outs + position.out
                                                            : (position.in * outs + position.out) * taps + position.tap;
}

WeightPosition weight_position(const Layer& layer, std::int64_t offset) {
  const std::int64_t outs = layer.out_channels / layer.groups;
  const std::int64_t taps = tap_count(layer);
  const std::int64_t in = offset / (outs * taps);
  return layer.weight_layout == WeightLayout::kChannelsLast ? WeightPosition{in, offset % outs, offset / outs % taps}
                                                            : WeightPosition{in, offset / taps % outs, offset % taps};
}

LayerInputs random_inputs(const Layer& layer, const Shape& shape, std::uint64_t seed) {
  const double taps =
      static_cast<double>(tap_count(layer)) /
      static_cast<double>(layer.axes[kDepth].stride * layer.axes[kHeight].stride * layer.axes[kWidth].stride);
  const double terms = std::max(1.0, static_cast<double>(layer.in_channels / layer.groups) * taps);
  LayerInputs inputs{
      random_array(layer.dtype, input_shape(layer, shape), seed * 4, 1.0),
      random_array(layer.dtype, weight_shape(layer), seed * 4 + 1, std::sqrt(9.0 / terms)),
      std::nullopt,
  };
  if (layer.bias) {
    inputs.bias = random_array(layer.dtype, {layer.out_channels}, seed * 4 + 2, 1.0);
  }
  return inputs;
}

Result<void> check_inputs(const Layer& layer, const Shape& shape, const LayerInputs& inputs) {
  if (layer.bias != inputs.bias.has_value()) {
    return fail(layer.bias ? "bias: the layer has a bias, and no array was given for it"
                           : "bias: an array was given, and the layer has no bias");
  }
  if (auto checked = check_array("x", inputs.x, layer.dtype, input_shape(layer, shape)); !checked) {
    return checked;
  }
  if (auto checked = check_array("weight", inputs.weight, layer.dtype, weight_shape(layer)); !checked) {
    return checked;
  }
  if (inputs.bias) {
    return check_array("bias", *inputs.bias, layer.dtype, {layer.out_channels});
  }
  return {};
}

}  // namespace convtgen
