#include "generator/layer/directions.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "generator/layer/shape.h"

namespace convtgen {

std::string directions_text(std::span<const Direction> directions) {
  std::string names;
  for (const Direction direction : directions) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(direction));
  }
  return names;
}

Layer in_direction(Layer layer, Direction direction) {
  layer.directions = {direction};
  return layer;
}

Result<void> check_direction(const Layer& layer, Direction wanted) {
  if (std::ranges::find(layer.directions, wanted) != layer.directions.end()) {
    return {};
  }
  Layer with = layer;
  with.directions.insert(std::ranges::upper_bound(with.directions, wanted), wanted);
  if (const std::vector<Violation> violations = check_limits(with); !violations.empty()) {
    return fail(violations.front().message);
  }
  return fail(fmt::format("directions: the layer has {}, and a kernel for {} is wanted; legal is 'directions {}'",
                          directions_text(layer.directions), name_of(wanted), directions_text(with.directions)));
}

}  // namespace convtgen
