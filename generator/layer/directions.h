// The directions of a layer: their names, one of them alone, and the error where a wanted one is not among them.
#pragma once

#include <span>
#include <string>

#include "generator/layer/layer.h"
#include "generator/support/error.h"

namespace convtgen {

/// "forward, grad_input"
[[nodiscard]] std::string directions_text(std::span<const Direction> directions);

/// The layer with this direction alone. A kernel is made of it: its source does not depend on the other directions.
[[nodiscard]] Layer in_direction(Layer layer, Direction direction);

/// Errors: the layer does not have the direction. The message names the list that would be legal. If the layer with
/// this direction would break a limit (a gradient of a layer with a `fuse` chain), it is the message of that limit.
[[nodiscard]] Result<void> check_direction(const Layer& layer, Direction wanted);

}  // namespace convtgen
