#include "cli/shapes.h"

#include <fmt/core.h>

#include "runtime/reference/host_array.h"
#include "runtime/reference/layer_arrays.h"

namespace convtgen::cli {

std::size_t height_axis(const Layer& layer, Role role) {
  const bool channels_last = without_gradient(role) == Role::kWeight
                                 ? layer.weight_layout == WeightLayout::kChannelsLast
                                 : layer.layout == Layout::kNhwc;
  return channels_last ? 1 : 2;
}

std::vector<std::int64_t> user_shape(const Layer& layer, Role role, std::vector<std::int64_t> shape) {
  if (layer.dimensions == 1 && without_gradient(role) != Role::kBias) {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(height_axis(layer, role)));
  }
  return shape;
}

std::string shapes_text(const Layer& layer, const Shape& shape, Direction direction) {
  std::string text;
  const Roles roles = roles_of(layer, direction);
  for (const std::vector<Role>& some : {roles.read, roles.written}) {
    for (const Role role : some) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of(role),
                          shape_text(user_shape(layer, role, array_shape(layer, shape, role))));
    }
  }
  return text;
}

}  // namespace convtgen::cli
