#include "runtime/reference/layer_arrays.h"

#include <fmt/core.h>

namespace convtgen {
namespace {

/// Of x or y: a layer with one axis has a height of 1.
std::vector<std::int64_t> image_shape(const Layer& layer, std::int64_t batch, const Images& images) {
  std::vector<std::int64_t> shape(images.extents.begin() + (layer.dimensions == 3 ? kDepth : kHeight),
                                  images.extents.end());
  shape.insert(layer.layout == Layout::kNhwc ? shape.end() : shape.begin(), images.channels);
  shape.insert(shape.begin(), batch);
  return shape;
}

}  // namespace

Role without_gradient(Role role) {
  switch (role) {
    case Role::kGradX:
      return Role::kX;
    case Role::kGradY:
      return Role::kY;
    case Role::kGradWeight:
      return Role::kWeight;
    case Role::kGradBias:
      return Role::kBias;
    default:
      return role;
  }
}

std::vector<std::int64_t> input_shape(const Layer& layer, const Shape& shape) {
  return image_shape(layer, shape.batch, images_of(shape, Role::kX));
}

std::vector<std::int64_t> output_shape(const Layer& layer, const Shape& shape) {
  return image_shape(layer, shape.batch, images_of(shape, Role::kY));
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

std::vector<std::int64_t> array_shape(const Layer& layer, const Shape& shape, Role role) {
  switch (without_gradient(role)) {
    case Role::kX:
      return input_shape(layer, shape);
    case Role::kY:
      return output_shape(layer, shape);
    case Role::kWeight:
      return weight_shape(layer);
    default:
      return {layer.out_channels};
  }
}

std::int64_t element_count(const Shape& shape, Role role) {
  switch (without_gradient(role)) {
    case Role::kX:
      return shape.input_elements;
    case Role::kY:
      return shape.output_elements;
    case Role::kWeight:
      return shape.weight_elements;
    default:
      return shape.out_channels;
  }
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

Images images_of(const Shape& shape, Role role) {
  return without_gradient(role) == Role::kX ? Images{shape.in_channels, shape.in}
                                            : Images{shape.out_channels, shape.out};
}

PlaneOffsets plane_offsets(const Layer& layer, const Images& images, std::int64_t n, std::int64_t c) {
  return layer.layout == Layout::kNhwc ? PlaneOffsets{n * images.places() * images.channels + c, images.channels}
                                       : PlaneOffsets{(n * images.channels + c) * images.places(), 1};
}

Extents place_of(std::int64_t number, const Extents& extents) {
  Extents place;
  for (std::size_t axis = kAxes; axis-- > 0; number /= extents[axis]) {
    place[axis] = number % extents[axis];
  }
  return place;
}

std::int64_t number_of(const Extents& place, const Extents& extents) {
  std::int64_t number = 0;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    number = number * extents[axis] + place[axis];
  }
  return number;
}

Extents kernel_of(const Layer& layer) {
  return {layer.axes[kDepth].kernel, layer.axes[kHeight].kernel, layer.axes[kWidth].kernel};
}

ElementPosition position_of(const Layer& layer, const Shape& shape, Role role, std::int64_t offset) {
  switch (without_gradient(role)) {
    case Role::kBias:
      return {.c = offset};
    case Role::kWeight: {
      const WeightPosition weight = weight_position(layer, offset);
      return {weight.in, weight.out, place_of(weight.tap, kernel_of(layer))};
    }
    default:
      break;
  }
  const Images images = images_of(shape, role);
  const std::int64_t places = images.places();
  if (layer.layout == Layout::kNhwc) {
    return {offset / images.channels / places, offset % images.channels,
            place_of(offset / images.channels % places, images.extents)};
  }
  return {offset / places / images.channels, offset / places % images.channels,
          place_of(offset % places, images.extents)};
}

std::int64_t offset_of(const Layer& layer, const Shape& shape, Role role, const ElementPosition& position) {
  switch (without_gradient(role)) {
    case Role::kBias:
      return position.c;
    case Role::kWeight:
      return weight_offset(layer, {position.n, position.c, number_of(position.at, kernel_of(layer))});
    default:
      break;
  }
  const Images images = images_of(shape, role);
  return plane_offsets(layer, images, position.n, position.c).at(number_of(position.at, images.extents));
}

std::string position_text(const Layer& layer, Role role, const ElementPosition& position) {
  const auto& [n, c, at] = position;
  const bool has_depth = layer.dimensions == 3;
  switch (without_gradient(role)) {
    case Role::kBias:
      return fmt::format("{}[co={}]", name_of(role), c);
    case Role::kWeight:
      return fmt::format("{}[ci={}, co={}, {}kh={}, kw={}]", name_of(role), n, c,
                         has_depth ? fmt::format("kd={}, ", at[kDepth]) : "", at[kHeight], at[kWidth]);
    default:
      return fmt::format("{}[n={}, c={}, {}y={}, x={}]", name_of(role), n, c,
                         has_depth ? fmt::format("z={}, ", at[kDepth]) : "", at[kHeight], at[kWidth]);
  }
}

}  // namespace convtgen
