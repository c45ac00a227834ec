#include "generator/layer/shape.h"

#include <fmt/format.h>

#include <algorithm>
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

// Pairs (i, k) of an axis with 0 <= i * stride - padding + k * dilation < out.
std::int64_t pairs_of_axis(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                           std::int64_t padding, std::int64_t dilation) {
  std::int64_t pairs = 0;
  for (std::int64_t k = 0; k < kernel; ++k) {
    const std::int64_t shift = k * dilation - padding;
    const std::int64_t first = std::max<std::int64_t>(0, -floor_div(shift, stride));  // ceil(-shift / stride)
    const std::int64_t last = std::min(in - 1, floor_div(out - 1 - shift, stride));
    pairs = saturated(static_cast<Wide>(pairs) + std::max<std::int64_t>(0, last - first + 1));
  }
  return pairs;
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

}  // namespace

std::string_view operator_name(const Layer& layer) {
  return layer.dimensions == 1 ? "conv_transpose1d" : "conv_transpose2d";
}

std::int64_t output_extent(std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                           std::int64_t output_padding, std::int64_t dilation) {
  // Each product has at most 127 bits, and only where the factors are far beyond every limit: halve before adding.
  const Wide grown = (static_cast<Wide>(in) - 1) * stride;
  const Wide reach = static_cast<Wide>(dilation) * (static_cast<Wide>(kernel) - 1);
  const Wide sum = static_cast<Wide>(saturated(grown)) + saturated(reach);
  return saturated(sum - static_cast<Wide>(2) * padding + output_padding + 1);
}

Result<InputSizes> known_sizes(const Layer& layer) {
  std::string missing;
  const auto note = [&missing](const Size& size, std::string_view name) {
    if (!size) {
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", name);
    }
  };
  note(layer.batch, "batch");
  note(layer.height, "height");
  note(layer.width, layer.dimensions == 1 ? "length" : "width");
  if (!missing.empty()) {
    return fail(fmt::format("{} given as '?' in the layer: known only at run time", missing));
  }
  return InputSizes{*layer.batch, *layer.height, *layer.width};
}

Result<Shape> shape_of(const Layer& layer, const InputSizes& sizes) {
  if (const auto violations = check_limits(layer); !violations.empty()) {
    return fail(violations.front().message);
  }
  const std::string_view width_name = layer.dimensions == 1 ? "length" : "width";
  if (auto checked = check_size("batch", sizes.batch, layer.batch, 0); !checked) {
    return std::unexpected(checked.error());
  }
  if (auto checked = check_size("height", sizes.height, layer.height, 1); !checked) {
    return std::unexpected(checked.error());
  }
  if (auto checked = check_size(width_name, sizes.width, layer.width, 1); !checked) {
    return std::unexpected(checked.error());
  }

  Shape shape;
  shape.batch = sizes.batch;
  shape.in_channels = layer.in_channels;
  shape.in_height = sizes.height;
  shape.in_width = sizes.width;
  shape.out_channels = layer.out_channels;
  shape.out_height = output_extent(sizes.height, layer.kernel.h, layer.stride.h, layer.padding.h,
                                   layer.output_padding.h, layer.dilation.h);
  shape.out_width = output_extent(sizes.width, layer.kernel.w, layer.stride.w, layer.padding.w, layer.output_padding.w,
                                  layer.dilation.w);
  if (auto checked = check_output("height", shape.out_height, sizes.height); !checked) {
    return std::unexpected(checked.error());
  }
  if (auto checked = check_output(width_name, shape.out_width, sizes.width); !checked) {
    return std::unexpected(checked.error());
  }

  if (!multiply({shape.batch, shape.in_channels, shape.in_height, shape.in_width}, shape.input_elements)) {
    return fail(fmt::format("the input, {} x {} x {} x {}, has more elements than 64 bits can count", shape.batch,
                            shape.in_channels, shape.in_height, shape.in_width));
  }
  if (!multiply({shape.batch, shape.out_channels, shape.out_height, shape.out_width}, shape.output_elements)) {
    return fail(fmt::format("the output, {} x {} x {} x {}, has more elements than 64 bits can count", shape.batch,
                            shape.out_channels, shape.out_height, shape.out_width));
  }
  const bool counted = multiply({layer.in_channels, layer.out_channels / layer.groups, layer.kernel.h, layer.kernel.w},
                                shape.weight_elements);
  if (!counted) {
    return fail("the weights have more elements than 64 bits can count");
  }
  return shape;
}

std::int64_t multiply_adds(const Layer& layer, const Shape& shape) {
  const std::int64_t rows = pairs_of_axis(shape.in_height, shape.out_height, layer.kernel.h, layer.stride.h,
                                          layer.padding.h, layer.dilation.h);
  const std::int64_t columns =
      pairs_of_axis(shape.in_width, shape.out_width, layer.kernel.w, layer.stride.w, layer.padding.w, layer.dilation.w);
  return saturated_product({rows, columns, shape.batch, shape.in_channels, shape.out_channels / layer.groups});
}

}  // namespace convtgen
