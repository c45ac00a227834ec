// The shapes of a call's tensors: their axes in memory order, with their extents where the layer knows them.
#pragma once

#include <string>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/recipe/recipe.h"

namespace convtgen {

struct ArrayAxis {
  std::string name;    // "N", "Cin", "Cout / groups", "KH", "W"
  Amount extent = {};  // one quantity of the call where the layer leaves it open
};

/// The outermost axis first. Tensors are contiguous: the last axis has neighbouring elements. x and y may be channels
/// of a larger tensor.
[[nodiscard]] std::vector<ArrayAxis> axes_of_array(const Layer& layer, Role role);

/// Channels of the tensor in which this one lies; nothing where it is a tensor of its own.
[[nodiscard]] Size tensor_channels(const Layer& layer, Role role);

}  // namespace convtgen
