#include "runtime/reference/definition.h"

#include <cmath>

#include "runtime/reference/parallel.h"

namespace convtgen {
namespace {

std::int64_t offset_in(Layout layout, std::int64_t channels, const Extents& image, const OutputPosition& at) {
  return layout == Layout::kNhwc ? ((at.n * image[kHeight] + at.y) * image[kWidth] + at.x) * channels + at.c
                                 : ((at.n * channels + at.c) * image[kHeight] + at.y) * image[kWidth] + at.x;
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

/// One image and output channel of the result, rows by columns.
struct Plane {
  std::vector<double> sum, magnitude;
};

/// Adds w times one input plane to the output plane, shifted by the tap (kh, kw).
void scatter_tap(const Layer& layer, const Shape& shape, const OutputPosition& source, const std::vector<double>& x,
                 double w, std::int64_t kh, std::int64_t kw, Plane& plane) {
  const Axis& rows = layer.axes[kHeight];
  const Axis& columns = layer.axes[kWidth];
  for (std::int64_t iy = 0; iy < shape.in[kHeight]; ++iy) {
    const std::int64_t oy = iy * rows.stride - rows.padding.before + kh * rows.dilation;
    if (oy < 0 || oy >= shape.out[kHeight]) {
      continue;
    }
    for (std::int64_t ix = 0; ix < shape.in[kWidth]; ++ix) {
      const std::int64_t ox = ix * columns.stride - columns.padding.before + kw * columns.dilation;
      if (ox < 0 || ox >= shape.out[kWidth]) {
        continue;
      }
      const std::int64_t from = offset_in(layer.layout, shape.in_channels, shape.in, {source.n, source.c, iy, ix});
      const double term = x[static_cast<std::size_t>(from)] * w;
      const auto to = static_cast<std::size_t>(oy * shape.out[kWidth] + ox);
      plane.sum[to] += term;
      plane.magnitude[to] += std::abs(term);
    }
  }
}

}  // namespace

OutputPosition output_position(const Layer& layer, const Shape& shape, std::int64_t offset) {
  OutputPosition at;
  if (layer.layout == Layout::kNhwc) {
    at.c = offset % shape.out_channels;
    at.x = offset / shape.out_channels % shape.out[kWidth];
    at.y = offset / shape.out_channels / shape.out[kWidth] % shape.out[kHeight];
  } else {
    at.x = offset % shape.out[kWidth];
    at.y = offset / shape.out[kWidth] % shape.out[kHeight];
    at.c = offset / shape.out[kWidth] / shape.out[kHeight] % shape.out_channels;
  }
  at.n = offset / shape.out[kWidth] / shape.out[kHeight] / shape.out_channels;
  return at;
}

std::int64_t output_offset(const Layer& layer, const Shape& shape, const OutputPosition& position) {
  return offset_in(layer.layout, shape.out_channels, shape.out, position);
}

Definition define_all(const Layer& layer, const Shape& shape, const LayerInputs& inputs) {
  const std::vector<double> x = decode_all(inputs.x);
  const std::int64_t group_in = layer.in_channels / layer.groups;
  const std::int64_t group_out = layer.out_channels / layer.groups;
  const Axis& rows = layer.axes[kHeight];
  const Axis& columns = layer.axes[kWidth];
  const std::vector<std::int64_t> pairs_h = count_pairs(rows, shape.in[kHeight], shape.out[kHeight]);
  const std::vector<std::int64_t> pairs_w = count_pairs(columns, shape.in[kWidth], shape.out[kWidth]);
  const auto outputs = static_cast<std::size_t>(shape.output_elements);
  Definition result{std::vector<double>(outputs), std::vector<double>(outputs), std::vector<std::int64_t>(outputs)};

  // Each task owns one output plane, so that threads never add to the same element.
  parallel_for(shape.batch * shape.out_channels, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t n = task / shape.out_channels;
      const std::int64_t co = task % shape.out_channels;
      const double bias = inputs.bias ? inputs.bias->at(co) : 0.0;
      const auto pixels = static_cast<std::size_t>(shape.out[kHeight] * shape.out[kWidth]);
      Plane plane{std::vector<double>(pixels, bias), std::vector<double>(pixels, std::abs(bias))};
      for (std::int64_t ci = co / group_out * group_in; ci < (co / group_out + 1) * group_in; ++ci) {
        for (std::int64_t kh = 0; kh < rows.kernel; ++kh) {
          for (std::int64_t kw = 0; kw < columns.kernel; ++kw) {
            const double w =
                inputs.weight.at(((ci * group_out + co % group_out) * rows.kernel + kh) * columns.kernel + kw);
            scatter_tap(layer, shape, {n, ci, 0, 0}, x, w, kh, kw, plane);
          }
        }
      }
      for (std::int64_t oy = 0; oy < shape.out[kHeight]; ++oy) {
        for (std::int64_t ox = 0; ox < shape.out[kWidth]; ++ox) {
          const auto from = static_cast<std::size_t>(oy * shape.out[kWidth] + ox);
          const auto to = static_cast<std::size_t>(output_offset(layer, shape, {n, co, oy, ox}));
          result.sum[to] = plane.sum[from];
          result.magnitude[to] = plane.magnitude[from];
          result.terms[to] = group_in * pairs_h[static_cast<std::size_t>(oy)] * pairs_w[static_cast<std::size_t>(ox)] +
                             (inputs.bias ? 1 : 0);
        }
      }
    }
  });
  return result;
}

Definition define_at(const Layer& layer, const Shape& shape, const LayerInputs& inputs,
                     std::span<const std::int64_t> outputs) {
  const std::int64_t group_in = layer.in_channels / layer.groups;
  const std::int64_t group_out = layer.out_channels / layer.groups;
  const Axis& rows = layer.axes[kHeight];
  const Axis& columns = layer.axes[kWidth];
  Definition result{std::vector<double>(outputs.size()), std::vector<double>(outputs.size()),
                    std::vector<std::int64_t>(outputs.size())};
  parallel_for(static_cast<std::int64_t>(outputs.size()), 64, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const OutputPosition at = output_position(layer, shape, outputs[i]);
      double sum = inputs.bias ? inputs.bias->at(at.c) : 0.0;
      double magnitude = std::abs(sum);
      std::int64_t terms = inputs.bias ? 1 : 0;
      for (std::int64_t kh = 0; kh < rows.kernel; ++kh) {
        const std::int64_t from_y = at.y + rows.padding.before - kh * rows.dilation;
        if (from_y < 0 || from_y % rows.stride != 0 || from_y / rows.stride >= shape.in[kHeight]) {
          continue;
        }
        for (std::int64_t kw = 0; kw < columns.kernel; ++kw) {
          const std::int64_t from_x = at.x + columns.padding.before - kw * columns.dilation;
          if (from_x < 0 || from_x % columns.stride != 0 || from_x / columns.stride >= shape.in[kWidth]) {
            continue;
          }
          for (std::int64_t c = 0; c < group_in; ++c) {
            const std::int64_t ci = at.c / group_out * group_in + c;
            const double x = inputs.x.at(offset_in(layer.layout, shape.in_channels, shape.in,
                                                   {at.n, ci, from_y / rows.stride, from_x / columns.stride}));
            const double w =
                inputs.weight.at(((ci * group_out + at.c % group_out) * rows.kernel + kh) * columns.kernel + kw);
            sum += x * w;
            magnitude += std::abs(x * w);
            ++terms;
          }
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
