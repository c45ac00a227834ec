#include "generator/layer/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace convtgen {

namespace {

__extension__ using Wide = __int128;

std::int64_t saturated(Wide value) {
  constexpr Wide kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr Wide kGreatest = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::clamp(value, kLeast, kGreatest));
}

std::int64_t saturated_product(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (factor == 0) {
      return 0;  // also where an earlier factor has overflowed
    }
    product = saturated(static_cast<Wide>(product) * factor);
  }
  return product;
}

// False where the product has more than 63 bits.
bool multiply(std::initializer_list<std::int64_t> factors, std::int64_t& product) {
  product = 1;
  if (std::ranges::find(factors, 0) != factors.end()) {
    product = 0;
    return true;
  }
  for (const std::int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) {
      return false;
    }
  }
  return true;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

Result<void> check_size(std::string_view name, std::int64_t value, const Size& known, std::int64_t least) {
  if (known && *known != value) {
    return fail(fmt::format("{} {} contradicts the layer, whose {} is {}", name, value, name, *known));
  }
  if (value < least) {
    return fail(fmt::format("{} {} must be at least {}", name, value, least));
  }
  if (value > kMaxExtent) {
    return fail(fmt::format("{} {} is too large: at most {} is supported", name, value, kMaxExtent));
  }
  return {};
}

Result<void> check_output(std::string_view name, std::int64_t out, std::int64_t in) {
  if (out < 1) {
    return fail(fmt::format("output {} would be {} for input {} {}; it must be at least 1", name, out, name, in));
  }
  if (out > kMaxExtent) {
    return fail(fmt::format("output {} {} is too large: at most {} is supported", name, out, kMaxExtent));
  }
  return {};
}

template <typename Text>
std::string joined(const Layer& layer, const Text& text_of) {
  std::string text;
  for (const std::size_t axis : axes_of(layer)) {
    text += (text.empty() ? "" : "x") + text_of(layer.axes[axis]);
  }
  return text;
}

// Counts elements of x or y. Errors: more than 63 bits.
Result<std::int64_t> count_elements(const Layer& layer, std::string_view tensor, std::int64_t batch,
                                    std::int64_t channels, const Extents& extents) {
  std::int64_t elements = 0;
  if (multiply({batch, channels, extents[kDepth], extents[kHeight], extents[kWidth]}, elements)) {
    return elements;
  }
  std::string text = fmt::format("{} x {}", batch, channels);
  for (const std::size_t axis : axes_of(layer)) {
    text += fmt::format(" x {}", extents[axis]);
  }
  return fail(fmt::format("the {}, {}, has more elements than 64 bits can count", tensor, text));
}

}  // namespace

std::string_view operator_name(const Layer& layer) {
  constexpr std::array<std::string_view, kAxes> kNames{"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"};
  return kNames.at(axes_of(layer).size() - 1);
}

std::int64_t output_extent(const Axis& axis, std::int64_t in) {
  // Each product has at most 127 bits, and only where the factors are far beyond every limit: halve before adding.
  const Wide grown = (static_cast<Wide>(in) - 1) * axis.stride;
  const Wide reach = static_cast<Wide>(axis.dilation) * (static_cast<Wide>(axis.kernel) - 1);
  const Wide sum = static_cast<Wide>(saturated(grown)) + saturated(reach);
  return saturated((sum - axis.padding.before - axis.padding.after + axis.output_padding + axis.input_stride) /
                   axis.input_stride);
}

std::int64_t tap_count(const Layer& layer) {
  return layer.axes[kDepth].kernel * layer.axes[kHeight].kernel * layer.axes[kWidth].kernel;
}

std::int64_t weight_elements(const Layer& layer) {
  return layer.in_channels * (layer.out_channels / layer.groups) * tap_count(layer);
}

std::int64_t x_tensor_channels(const Layer& layer) {
  return layer.x_channels.value_or(layer.in_channels);
}

std::int64_t y_tensor_channels(const Layer& layer) {
  return layer.y_channels.value_or(layer.out_channels);
}

void drop_own_channels(Layer& layer) {
  if (layer.x_channels == layer.in_channels) {
    layer.x_channels.reset();
  }
  if (layer.y_channels == layer.out_channels) {
    layer.y_channels.reset();
  }
}

std::string padding_text(const Padding& padding) {
  return padding.before == padding.after ? fmt::format("{}", padding.before)
                                         : fmt::format("{}:{}", padding.before, padding.after);
}

std::string axes_text(const Layer& layer, std::int64_t Axis::* property) {
  return joined(layer, [&](const Axis& axis) { return fmt::format("{}", axis.*property); });
}

std::string axes_text(const Layer& layer, Padding Axis::* property) {
  return joined(layer, [&](const Axis& axis) { return padding_text(axis.*property); });
}

Result<InputSizes> known_sizes(const Layer& layer) {
  std::string missing;
  const auto take = [&missing](const Size& size, std::string_view name) {
    if (!size) {
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", name);
    }
    return size.value_or(0);
  };
  InputSizes sizes{.batch = take(layer.batch, "batch")};
  for (const std::size_t axis : axes_of(layer)) {
    sizes.extents[axis] = take(layer.axes[axis].extent, axis_name(layer, axis));
  }
  if (!missing.empty()) {
    return fail(fmt::format("{} given as '?' in the layer: known only at run time", missing));
  }
  return sizes;
}

Result<Shape> shape_of(const Layer& layer, const InputSizes& sizes) {
  if (const auto violations = check_limits(layer); !violations.empty()) {
    return fail(violations.front().message);
  }
  if (auto checked = check_size("batch", sizes.batch, layer.batch, 0); !checked) {
    return std::unexpected(checked.error());
  }
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    if (auto checked = check_size(axis_name(layer, axis), sizes.extents[axis], layer.axes[axis].extent, 1); !checked) {
      return std::unexpected(checked.error());
    }
  }

  Shape shape;
  shape.batch = sizes.batch;
  shape.in_channels = layer.in_channels;
  shape.in = sizes.extents;
  shape.out_channels = layer.out_channels;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    shape.out[axis] = output_extent(layer.axes[axis], shape.in[axis]);
    if (auto checked = check_output(axis_name(layer, axis), shape.out[axis], shape.in[axis]); !checked) {
      return std::unexpected(checked.error());
    }
  }

  const auto input = count_elements(layer, "input", shape.batch, x_tensor_channels(layer), shape.in);
  if (!input) {
    return std::unexpected(input.error());
  }
  shape.input_elements = *input / x_tensor_channels(layer) * shape.in_channels;
  const auto output = count_elements(layer, "output", shape.batch, y_tensor_channels(layer), shape.out);
  if (!output) {
    return std::unexpected(output.error());
  }
  shape.output_elements = *output / y_tensor_channels(layer) * shape.out_channels;
  shape.weight_elements = weight_elements(layer);  // check_limits() has seen that 64 bits can count them
  return shape;
}

std::int64_t pairs_of_axis(const Axis& axis, std::int64_t in, std::int64_t out) {
  std::int64_t pairs = 0;  // (i, k) with 0 <= i * stride - padding + k * dilation < out
  for (std::int64_t k = 0; k < axis.kernel; ++k) {
    const std::int64_t shift = k * axis.dilation - axis.padding.before;
    if (axis.input_stride > 1) {  // pairs (o, k) with 0 <= o * input_stride - shift < in
      const std::int64_t least = std::max<std::int64_t>(0, -floor_div(-shift, axis.input_stride));
      const std::int64_t most = std::min(out - 1, floor_div(in - 1 + shift, axis.input_stride));
      pairs = saturated(static_cast<Wide>(pairs) + std::max<std::int64_t>(0, most - least + 1));
      continue;
    }
    const std::int64_t first = std::max<std::int64_t>(0, -floor_div(shift, axis.stride));  // ceil(-shift / stride)
    const std::int64_t last = std::min(in - 1, floor_div(out - 1 - shift, axis.stride));
    pairs = saturated(static_cast<Wide>(pairs) + std::max<std::int64_t>(0, last - first + 1));
  }
  return pairs;
}

std::int64_t multiply_adds(const Layer& layer, const Shape& shape) {
  const auto pairs = [&](std::size_t axis) { return pairs_of_axis(layer.axes[axis], shape.in[axis], shape.out[axis]); };
  return saturated_product({pairs(kDepth), pairs(kHeight), pairs(kWidth), shape.batch, shape.in_channels,
                            shape.out_channels / layer.groups});
}

}  // namespace convtgen
