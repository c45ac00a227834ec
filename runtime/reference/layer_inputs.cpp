#include "runtime/reference/layer_inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace convtgen {
namespace {

Result<void> check_array(std::string_view name, const HostArray& array, Dtype dtype,
                         const std::vector<std::int64_t>& wanted) {
  if (array.dtype != dtype) {
    return fail(fmt::format("{}: the array holds {}, the layer takes {}", name, name_of(array.dtype), name_of(dtype)));
  }
  if (array.shape != wanted) {
    return fail(
        fmt::format("{}: the array is {}, the layer takes {}", name, shape_text(array.shape), shape_text(wanted)));
  }
  if (static_cast<std::int64_t>(array.bytes.size()) != array.size() * bytes_of(dtype)) {
    return fail(
        fmt::format("{}: {} bytes for {} elements of {}", name, array.bytes.size(), array.size(), name_of(dtype)));
  }
  return {};
}

/// How many products are added up in an element of what the direction writes, about.
double products_of_sum(const Layer& layer, const Shape& shape, Direction direction) {
  const auto taps = static_cast<double>(tap_count(layer));
  switch (direction) {
    case Direction::kForward:
      return static_cast<double>(layer.in_channels / layer.groups) *
             (taps /
              static_cast<double>(layer.axes[kDepth].stride * layer.axes[kHeight].stride * layer.axes[kWidth].stride));
    case Direction::kGradInput:
      return static_cast<double>(layer.out_channels / layer.groups) * taps;
    case Direction::kGradWeight:
      return static_cast<double>(shape.batch) * static_cast<double>(images_of(shape, Role::kX).places());
    case Direction::kGradBias:
      return static_cast<double>(shape.batch) * static_cast<double>(images_of(shape, Role::kY).places());
  }
  return 1;
}

/// Uniform numbers in [-a, a) have the variance a^2 / 3; a product of two, the product of both.
double amplitude_of(const Layer& layer, const Shape& shape, Direction direction, Role role) {
  const double terms = std::max(1.0, products_of_sum(layer, shape, direction));
  if (role == Role::kWeight || (role == Role::kGradY && direction == Direction::kGradWeight)) {
    return std::sqrt(9.0 / terms);
  }
  return role == Role::kGradY && direction == Direction::kGradBias ? std::sqrt(3.0 / terms) : 1.0;
}

/// Of the random numbers of one seed.
std::uint64_t stream_of(Role role) {
  switch (role) {
    case Role::kX:
      return 0;
    case Role::kWeight:
      return 1;
    case Role::kBias:
      return 2;
    default:
      return 3;
  }
}

}  // namespace

const HostArray* LayerInputs::of(Role role) const {
  const auto there = [](const HostArray& array) { return array.shape.empty() ? nullptr : &array; };
  switch (role) {
    case Role::kX:
      return there(x);
    case Role::kWeight:
      return there(weight);
    case Role::kBias:
      return bias ? &*bias : nullptr;
    case Role::kGradY:
      return there(grad_y);
    default:
      return nullptr;
  }
}

void LayerInputs::set(Role role, HostArray array) {
  switch (role) {
    case Role::kX:
      x = std::move(array);
      break;
    case Role::kWeight:
      weight = std::move(array);
      break;
    case Role::kBias:
      bias = std::move(array);
      break;
    default:
      grad_y = std::move(array);
  }
}

LayerInputs random_inputs(const Layer& layer, const Shape& shape, std::uint64_t seed, Direction direction) {
  LayerInputs inputs;
  for (const Role role : roles_of(layer, direction).read) {
    inputs.set(role, random_array(layer.dtype, array_shape(layer, shape, role), seed * 4 + stream_of(role),
                                  amplitude_of(layer, shape, direction, role)));
  }
  return inputs;
}

Result<void> check_inputs(const Layer& layer, const Shape& shape, const LayerInputs& inputs, Direction direction) {
  if (direction == Direction::kForward && layer.bias != inputs.bias.has_value()) {
    return fail(layer.bias ? "bias: the layer has a bias, and no array was given for it"
                           : "bias: an array was given, and the layer has no bias");
  }
  for (const Role role : roles_of(layer, direction).read) {
    const HostArray* const array = inputs.of(role);
    if (array == nullptr) {
      return fail(fmt::format("{}: {} reads it, and no array was given for it", name_of(role), name_of(direction)));
    }
    if (auto checked = check_array(name_of(role), *array, layer.dtype, array_shape(layer, shape, role)); !checked) {
      return checked;
    }
  }
  return {};
}

}  // namespace convtgen
