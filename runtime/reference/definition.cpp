#include "runtime/reference/definition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <thread>

#include "runtime/reference/parallel.h"

namespace convtgen {
namespace {

std::int64_t offset_in(Layout layout, std::int64_t channels, const Extents& image, const OutputPosition& of) {
  const auto along_axes = [&](std::int64_t offset) {
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      offset = offset * image[axis] + of.at[axis];
    }
    return offset;
  };
  return layout == Layout::kNhwc ? along_axes(of.n) * channels + of.c : along_axes(of.n * channels + of.c);
}

std::int64_t product(const Extents& extents) {
  return extents[kDepth] * extents[kHeight] * extents[kWidth];
}

/// The place of a number below product(extents), the last axis fastest.
Extents place_of(std::int64_t number, const Extents& extents) {
  Extents place;
  for (std::size_t axis = kAxes; axis-- > 0; number /= extents[axis]) {
    place[axis] = number % extents[axis];
  }
  return place;
}

Extents kernel_of(const Layer& layer) {
  return {layer.axes[kDepth].kernel, layer.axes[kHeight].kernel, layer.axes[kWidth].kernel};
}

std::vector<double> decode_all(const HostArray& array) {
  std::vector<double> values(static_cast<std::size_t>(array.size()));
  parallel_for(array.size(), 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      values[static_cast<std::size_t>(i)] = array.at(i);
    }
  });
  return values;
}

/// How many (input, tap) pairs of one axis reach each output of that axis.
std::vector<std::int64_t> count_pairs(const Axis& axis, std::int64_t in, std::int64_t out) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(out));
  for (std::int64_t i = 0; i < in; ++i) {
    for (std::int64_t k = 0; k < axis.kernel; ++k) {
      const std::int64_t o = i * axis.stride - axis.padding.before + k * axis.dilation;
      if (o >= 0 && o < out) {
        ++counts[static_cast<std::size_t>(o)];
      }
    }
  }
  return counts;
}

/// One image and output channel of the result.
struct Plane {
  std::vector<double> sum, magnitude;
};

/// Adds w times one input plane to the output plane, shifted by the tap.
void scatter_tap(const Layer& layer, const Shape& shape, const OutputPosition& source, const std::vector<double>& x,
                 double w, const Extents& tap, Plane& plane) {
  // Where the tap brings place `i` of an axis; negative where that is outside of the output.
  const auto reached = [&](std::size_t index, std::int64_t i) {
    const Axis& axis = layer.axes[index];
    const std::int64_t out = i * axis.stride - axis.padding.before + tap[index] * axis.dilation;
    return out < shape.out[index] ? out : -1;
  };
  for (std::int64_t iz = 0; iz < shape.in[kDepth]; ++iz) {
    const std::int64_t oz = reached(kDepth, iz);
    for (std::int64_t iy = 0; oz >= 0 && iy < shape.in[kHeight]; ++iy) {
      const std::int64_t oy = reached(kHeight, iy);
      for (std::int64_t ix = 0; oy >= 0 && ix < shape.in[kWidth]; ++ix) {
        const std::int64_t ox = reached(kWidth, ix);
        if (ox >= 0) {
          const std::int64_t from =
              offset_in(layer.layout, shape.in_channels, shape.in, {source.n, source.c, {iz, iy, ix}});
          const double term = x[static_cast<std::size_t>(from)] * w;
          const auto to = static_cast<std::size_t>((oz * shape.out[kHeight] + oy) * shape.out[kWidth] + ox);
          plane.sum[to] += term;
          plane.magnitude[to] += std::abs(term);
        }
      }
    }
  }
}

/// The input that a tap makes the output of; nothing where there is none.
std::optional<Extents> input_of(const Layer& layer, const Shape& shape, const Extents& out, const Extents& tap) {
  Extents in;
  for (std::size_t i = 0; i < kAxes; ++i) {
    const Axis& axis = layer.axes[i];
    const std::int64_t from = out[i] + axis.padding.before - tap[i] * axis.dilation;
    if (from < 0 || from % axis.stride != 0 || from / axis.stride >= shape.in[i]) {
      return std::nullopt;
    }
    in[i] = from / axis.stride;
  }
  return in;
}

}  // namespace

OutputPosition output_position(const Layer& layer, const Shape& shape, std::int64_t offset) {
  const std::int64_t channels = shape.out_channels;
  const std::int64_t pixels = product(shape.out);
  if (layer.layout == Layout::kNhwc) {
    return {offset / channels / pixels, offset % channels, place_of(offset / channels % pixels, shape.out)};
  }
  return {offset / pixels / channels, offset / pixels % channels, place_of(offset % pixels, shape.out)};
}

std::int64_t output_offset(const Layer& layer, const Shape& shape, const OutputPosition& position) {
  return offset_in(layer.layout, shape.out_channels, shape.out, position);
}

std::int64_t definition_bytes(const Shape& shape) {
  const std::int64_t planes = shape.batch * shape.out_channels;
  const std::int64_t threads = std::min<std::int64_t>(planes, std::max(1U, std::thread::hardware_concurrency()));
  return static_cast<std::int64_t>(sizeof(double)) * (shape.input_elements + 2 * product(shape.out) * threads);
}

Definition define_all(const Layer& layer, const Shape& shape, const LayerInputs& inputs) {
  const std::vector<double> x = decode_all(inputs.x);
  const std::int64_t group_in = layer.in_channels / layer.groups;
  const std::int64_t group_out = layer.out_channels / layer.groups;
  std::array<std::vector<std::int64_t>, kAxes> pairs;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    pairs[axis] = count_pairs(layer.axes[axis], shape.in[axis], shape.out[axis]);
  }
  const std::int64_t taps = tap_count(layer);
  const std::int64_t pixels = product(shape.out);
  const auto outputs = static_cast<std::size_t>(shape.output_elements);
  Definition result{std::vector<double>(outputs), std::vector<double>(outputs), std::vector<std::int64_t>(outputs)};

  // Each task owns one output plane, so that threads never add to the same element.
  parallel_for(shape.batch * shape.out_channels, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t n = task / shape.out_channels;
      const std::int64_t co = task % shape.out_channels;
      const double bias = inputs.bias ? inputs.bias->at(co) : 0.0;
      const auto size = static_cast<std::size_t>(pixels);
      Plane plane{std::vector<double>(size, bias), std::vector<double>(size, std::abs(bias))};
      for (std::int64_t ci = co / group_out * group_in; ci < (co / group_out + 1) * group_in; ++ci) {
        for (std::int64_t tap = 0; tap < taps; ++tap) {
          const double w = inputs.weight.at(weight_offset(layer, {ci, co % group_out, tap}));
          scatter_tap(layer, shape, {.n = n, .c = ci}, x, w, place_of(tap, kernel_of(layer)), plane);
        }
      }
      for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
        const Extents out = place_of(pixel, shape.out);
        const auto from = static_cast<std::size_t>(pixel);
        const auto to = static_cast<std::size_t>(output_offset(layer, shape, {n, co, out}));
        result.sum[to] = plane.sum[from];
        result.magnitude[to] = plane.magnitude[from];
        result.terms[to] = group_in;
        for (std::size_t axis = 0; axis < kAxes; ++axis) {
          result.terms[to] *= pairs[axis][static_cast<std::size_t>(out[axis])];
        }
        result.terms[to] += inputs.bias ? 1 : 0;
      }
    }
  });
  return result;
}

Definition define_at(const Layer& layer, const Shape& shape, const LayerInputs& inputs,
                     std::span<const std::int64_t> outputs) {
  const std::int64_t group_in = layer.in_channels / layer.groups;
  const std::int64_t group_out = layer.out_channels / layer.groups;
  const std::int64_t taps = tap_count(layer);
  Definition result{std::vector<double>(outputs.size()), std::vector<double>(outputs.size()),
                    std::vector<std::int64_t>(outputs.size())};
  parallel_for(static_cast<std::int64_t>(outputs.size()), 64, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const OutputPosition output = output_position(layer, shape, outputs[i]);
      double sum = inputs.bias ? inputs.bias->at(output.c) : 0.0;
      double magnitude = std::abs(sum);
      std::int64_t terms = inputs.bias ? 1 : 0;
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        const std::optional<Extents> in = input_of(layer, shape, output.at, place_of(tap, kernel_of(layer)));
        if (!in) {
          continue;
        }
        for (std::int64_t c = 0; c < group_in; ++c) {
          const std::int64_t ci = output.c / group_out * group_in + c;
          const double x = inputs.x.at(offset_in(layer.layout, shape.in_channels, shape.in, {output.n, ci, *in}));
          const double term = x * inputs.weight.at(weight_offset(layer, {ci, output.c % group_out, tap}));
          sum += term;
          magnitude += std::abs(term);
          ++terms;
        }
      }
      result.sum[i] = sum;
      result.magnitude[i] = magnitude;
      result.terms[i] = terms;
    }
  });
  return result;
}

}  // namespace convtgen
