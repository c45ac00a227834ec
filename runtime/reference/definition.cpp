#include "runtime/reference/definition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <thread>

#include "runtime/reference/fuse.h"
#include "runtime/reference/parallel.h"
#include "runtime/reference/tap_pairs.h"

namespace convtgen {
namespace {

/// So many terms are added one after the other; then such sums are, of a row, an image and all images. A sum of
/// millions of terms has few roundings in this way.
constexpr std::int64_t kSlice = 1024;

struct Total {
  double sum = 0, magnitude = 0;
  std::int64_t terms = 0;
  double carried = 0;

  void add(double term) {
    sum += term;
    magnitude += std::abs(term);
    ++terms;
  }
  void add(const Total& part) {
    sum += part.sum;
    magnitude += part.magnitude;
    terms += part.terms;
    carried += part.carried;
  }
};

/// Adds term(0) to term(count - 1).
template <typename Term>
void add_slices(std::int64_t count, const Term& term, Total& total) {
  for (std::int64_t begin = 0; begin < count; begin += kSlice) {
    Total slice;
    for (std::int64_t i = begin; i < std::min(count, begin + kSlice); ++i) {
      slice.add(term(i));
    }
    total.add(slice);
  }
}

Definition empty_definition(std::size_t elements, bool is_activated = false) {
  return {std::vector<double>(elements), std::vector<double>(elements), std::vector<std::int64_t>(elements),
          std::vector<double>(is_activated ? elements : 0)};
}

void set(Definition& definition, std::int64_t element, const Total& total) {
  const auto at = static_cast<std::size_t>(element);
  definition.sum[at] = total.sum;
  definition.magnitude[at] = total.magnitude;
  definition.terms[at] = total.terms;
  if (!definition.carried.empty()) {
    definition.carried[at] = total.carried;
  }
}

/// y and grad_x: images that are made of others.
struct ImageRoles {
  explicit ImageRoles(const Layer& layer, const Shape& shape, const LayerInputs& inputs, Role role)
      : is_forward(role == Role::kY),
        is_activated(is_forward && !layer.fuse_input.empty()),
        to(images_of(shape, role)),
        from(images_of(shape, is_forward ? Role::kX : Role::kGradY)),
        source(is_forward ? inputs.x : inputs.grad_y),
        to_group(to.channels / layer.groups),
        from_group(from.channels / layer.groups),
        out_group(layer.out_channels / layer.groups) {}

  /// The weight between a channel of what is made and one of what it is made of.
  [[nodiscard]] WeightPosition weight(std::int64_t to_channel, std::int64_t from_channel, std::int64_t tap) const {
    return is_forward ? WeightPosition{from_channel, to_channel % out_group, tap}
                      : WeightPosition{to_channel, from_channel % out_group, tap};
  }

  bool is_forward;
  bool is_activated;  // what it is made of
  Images to, from;
  const HostArray& source;
  std::int64_t to_group, from_group;  // channels of a group
  std::int64_t out_group;
};

/// What `value` makes of each element.
template <typename Value>
std::vector<double> decode_all(const HostArray& array, const Value& value) {
  std::vector<double> values(static_cast<std::size_t>(array.size()));
  parallel_for(array.size(), 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      values[static_cast<std::size_t>(i)] = value(array.at(i));
    }
  });
  return values;
}

/// One image and channel of the result.
struct PlaneSums {
  std::vector<double> sum, magnitude;
};

/// Adds w times the source's plane to the other plane, shifted by the tap.
template <bool kForward>
void scatter_tap(const TapPairs& pairs, const Extents& tap, double w, const double* source, std::int64_t pitch,
                 PlaneSums& plane) {
  const std::int64_t from_step = pitch * (kForward ? 1 : pairs.out_step());
  const std::int64_t to_step = kForward ? pairs.out_step() : 1;
  pairs.for_each_row(tap, [&](std::int64_t in, std::int64_t out, std::int64_t count) {
    const double* const from = source + (kForward ? in : out) * pitch;
    double* const sum = plane.sum.data() + (kForward ? out : in);
    double* const magnitude = plane.magnitude.data() + (kForward ? out : in);
    for (std::int64_t i = 0; i < count; ++i) {
      const double term = from[i * from_step] * w;
      sum[i * to_step] += term;
      magnitude[i * to_step] += std::abs(term);
    }
  });
}

Definition define_images(const Layer& layer, const Shape& shape, const LayerInputs& inputs, Role role) {
  const ImageRoles roles(layer, shape, inputs, role);
  const std::vector<double> source =
      decode_all(roles.source, [&](double x) { return roles.is_activated ? input_value(layer, x) : x; });
  std::vector<double> errors;
  if (roles.is_activated) {
    errors = decode_all(roles.source, [&](double x) { return input_error(layer, x); });
  }
  const TapPairs pairs(layer, shape);
  std::array<std::vector<std::int64_t>, kAxes> pairs_of;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    pairs_of[axis] = pairs.pairs_of_places(axis, roles.is_forward);
  }
  const bool has_bias = roles.is_forward && inputs.bias.has_value();
  const std::int64_t taps = tap_count(layer);
  const auto places = static_cast<std::size_t>(roles.to.places());
  Definition result = empty_definition(static_cast<std::size_t>(element_count(shape, role)), roles.is_activated);

  // Each task owns one plane, so that threads never add to the same element.
  parallel_for(shape.batch * roles.to.channels, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t n = task / roles.to.channels;
      const std::int64_t c = task % roles.to.channels;
      const double bias = has_bias ? inputs.bias->at(c) : 0.0;
      PlaneSums plane{std::vector<double>(places, bias), std::vector<double>(places, std::abs(bias))};
      const std::size_t carried_places = roles.is_activated ? places : 0;
      PlaneSums carried{std::vector<double>(carried_places), std::vector<double>(carried_places)};
      const std::int64_t first = c / roles.to_group * roles.from_group;
      for (std::int64_t from = first; from < first + roles.from_group; ++from) {
        const PlaneOffsets offsets = plane_offsets(layer, roles.from, n, from);
        for (std::int64_t tap = 0; tap < taps; ++tap) {
          const double w = inputs.weight.at(weight_offset(layer, roles.weight(c, from, tap)));
          const auto scatter = roles.is_forward ? scatter_tap<true> : scatter_tap<false>;
          scatter(pairs, place_of(tap, kernel_of(layer)), w, source.data() + offsets.base, offsets.pitch, plane);
          if (roles.is_activated) {
            scatter(pairs, place_of(tap, kernel_of(layer)), w, errors.data() + offsets.base, offsets.pitch, carried);
          }
        }
      }
      const PlaneOffsets offsets = plane_offsets(layer, roles.to, n, c);
      for (std::int64_t place = 0; place < roles.to.places(); ++place) {
        const Extents at = place_of(place, roles.to.extents);
        std::int64_t terms = roles.from_group;
        for (std::size_t axis = 0; axis < kAxes; ++axis) {
          terms *= pairs_of[axis][static_cast<std::size_t>(at[axis])];
        }
        const auto number = static_cast<std::size_t>(place);
        set(result, offsets.at(place),
            {plane.sum[number], plane.magnitude[number], terms + (has_bias ? 1 : 0),
             roles.is_activated ? carried.magnitude[number] : 0});
      }
    }
  });
  return result;
}

Total gather_image_element(const Layer& layer, const Shape& shape, const LayerInputs& inputs, const ImageRoles& roles,
                           const ElementPosition& element) {
  Total total;
  if (roles.is_forward && inputs.bias) {
    total.add(inputs.bias->at(element.c));
  }
  const std::int64_t first = element.c / roles.to_group * roles.from_group;
  for (std::int64_t tap = 0; tap < tap_count(layer); ++tap) {
    const Extents tap_place = place_of(tap, kernel_of(layer));
    const std::optional<Extents> place = roles.is_forward ? input_of(layer, shape, element.at, tap_place)
                                                          : output_of(layer, shape, element.at, tap_place);
    for (std::int64_t from = first; place && from < first + roles.from_group; ++from) {
      const std::int64_t number = number_of(*place, roles.from.extents);
      const double value = roles.source.at(plane_offsets(layer, roles.from, element.n, from).at(number));
      const double w = inputs.weight.at(weight_offset(layer, roles.weight(element.c, from, tap)));
      total.add((roles.is_activated ? input_value(layer, value) : value) * w);
      total.carried += roles.is_activated ? std::abs(input_error(layer, value) * w) : 0;
    }
  }
  return total;
}

/// The products of one image that a tap forms of two planes: x(place) and grad_y(place) read them.
template <typename X, typename GradY>
Total sum_of_tap(const TapPairs& pairs, const Extents& tap, const X& x, const GradY& grad_y) {
  Total total;
  const std::int64_t step = pairs.out_step();
  pairs.for_each_row(tap, [&](std::int64_t in, std::int64_t out, std::int64_t count) {
    add_slices(count, [&](std::int64_t i) { return x(in + i) * grad_y(out + i * step); }, total);
  });
  return total;
}

Total gather_weight(const Layer& layer, const Shape& shape, const LayerInputs& inputs, const TapPairs& pairs,
                    const WeightPosition& weight) {
  const std::int64_t out_group = layer.out_channels / layer.groups;
  const std::int64_t co = weight.in / (layer.in_channels / layer.groups) * out_group + weight.out;
  Total total;
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    const PlaneOffsets x = plane_offsets(layer, images_of(shape, Role::kX), n, weight.in);
    const PlaneOffsets grad_y = plane_offsets(layer, images_of(shape, Role::kGradY), n, co);
    total.add(sum_of_tap(
        pairs, place_of(weight.tap, kernel_of(layer)), [&](std::int64_t place) { return inputs.x.at(x.at(place)); },
        [&](std::int64_t place) { return inputs.grad_y.at(grad_y.at(place)); }));
  }
  return total;
}

void decode_plane(const HostArray& array, const PlaneOffsets& offsets, std::vector<double>& plane) {
  for (std::size_t place = 0; place < plane.size(); ++place) {
    plane[place] = array.at(offsets.at(static_cast<std::int64_t>(place)));
  }
}

Definition define_weights(const Layer& layer, const Shape& shape, const LayerInputs& inputs) {
  const TapPairs pairs(layer, shape);
  const Images x_images = images_of(shape, Role::kX);
  const Images y_images = images_of(shape, Role::kGradY);
  const std::int64_t in_group = layer.in_channels / layer.groups;
  const std::int64_t out_group = layer.out_channels / layer.groups;
  const std::int64_t taps = tap_count(layer);
  Definition result = empty_definition(static_cast<std::size_t>(shape.weight_elements));

  // Each task owns the taps of a pair of channels. Planes are decoded once for all of them.
  parallel_for(layer.in_channels * out_group, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> x(static_cast<std::size_t>(x_images.places()));
    std::vector<double> grad_y(static_cast<std::size_t>(y_images.places()));
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t ci = task / out_group;
      const std::int64_t co = ci / in_group * out_group + task % out_group;
      std::vector<Total> totals(static_cast<std::size_t>(taps));
      for (std::int64_t n = 0; n < shape.batch; ++n) {
        decode_plane(inputs.x, plane_offsets(layer, x_images, n, ci), x);
        decode_plane(inputs.grad_y, plane_offsets(layer, y_images, n, co), grad_y);
        for (std::int64_t tap = 0; tap < taps; ++tap) {
          totals[static_cast<std::size_t>(tap)].add(sum_of_tap(
              pairs, place_of(tap, kernel_of(layer)), [&](std::int64_t i) { return x[static_cast<std::size_t>(i)]; },
              [&](std::int64_t o) { return grad_y[static_cast<std::size_t>(o)]; }));
        }
      }
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        set(result, weight_offset(layer, {ci, task % out_group, tap}), totals[static_cast<std::size_t>(tap)]);
      }
    }
  });
  return result;
}

Total sum_of_channel(const Layer& layer, const Shape& shape, const LayerInputs& inputs, std::int64_t co) {
  const Images images = images_of(shape, Role::kGradY);
  Total total;
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    const PlaneOffsets offsets = plane_offsets(layer, images, n, co);
    Total image;
    add_slices(images.places(), [&](std::int64_t place) { return inputs.grad_y.at(offsets.at(place)); }, image);
    total.add(image);
  }
  return total;
}

std::int64_t threads_for(std::int64_t tasks) {
  return std::min<std::int64_t>(tasks, std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace

std::int64_t definition_bytes(const Layer& layer, const Shape& shape, Role role) {
  std::int64_t numbers = 0;
  if (role == Role::kY || role == Role::kGradX) {
    const Images to = images_of(shape, role);
    const std::int64_t times = role == Role::kY && !layer.fuse_input.empty() ? 2 : 1;  // values, and their errors
    numbers = times * (element_count(shape, role == Role::kY ? Role::kX : Role::kGradY) +
                       2 * to.places() * threads_for(shape.batch * to.channels));
  } else if (role == Role::kGradWeight) {
    const std::int64_t planes = images_of(shape, Role::kX).places() + images_of(shape, Role::kGradY).places();
    const std::int64_t totals = tap_count(layer) * static_cast<std::int64_t>(sizeof(Total) / sizeof(double));
    numbers = (planes + totals) * threads_for(layer.in_channels * (layer.out_channels / layer.groups));
  }
  return static_cast<std::int64_t>(sizeof(double)) * numbers;
}

Definition define_all(const Layer& layer, const Shape& shape, const LayerInputs& inputs, Role role) {
  if (role == Role::kGradWeight) {
    return define_weights(layer, shape, inputs);
  }
  if (role != Role::kGradBias) {
    return define_images(layer, shape, inputs, role);
  }
  Definition result = empty_definition(static_cast<std::size_t>(layer.out_channels));
  parallel_for(layer.out_channels, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t co = begin; co < end; ++co) {
      set(result, co, sum_of_channel(layer, shape, inputs, co));
    }
  });
  return result;
}

HostArray activated_input(const Layer& layer, const HostArray& x) {
  HostArray result = make_array(x.dtype, x.shape);
  parallel_for(x.size(), 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      result.set(i, input_value(layer, x.at(i)));
    }
  });
  return result;
}

Definition define_at(const Layer& layer, const Shape& shape, const LayerInputs& inputs,
                     std::span<const std::int64_t> offsets, Role role) {
  const TapPairs pairs(layer, shape);
  const bool is_image = role == Role::kY || role == Role::kGradX;
  Definition result = empty_definition(offsets.size(), role == Role::kY && !layer.fuse_input.empty());
  parallel_for(static_cast<std::int64_t>(offsets.size()), is_image ? 64 : 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t offset = offsets[static_cast<std::size_t>(i)];
      if (is_image) {
        set(result, i,
            gather_image_element(layer, shape, inputs, ImageRoles(layer, shape, inputs, role),
                                 position_of(layer, shape, role, offset)));
      } else if (role == Role::kGradWeight) {
        set(result, i, gather_weight(layer, shape, inputs, pairs, weight_position(layer, offset)));
      } else {
        set(result, i, sum_of_channel(layer, shape, inputs, offset));
      }
    }
  });
  return result;
}

}  // namespace convtgen
