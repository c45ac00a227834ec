// Tensor maps of launches: what tensor copies bring of x and grad_y.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

#include "generator/layer/layer.h"
#include "generator/recipe/recipe.h"

namespace convtgen {

inline constexpr std::int64_t kMostBox = 256;        // elements of an axis that a tensor copy spans
inline constexpr std::int64_t kChannelMultiple = 8;  // channels of 16 bits that are whole 16 bytes
inline constexpr std::int64_t kMostStep = 8;         // from an element to the next one that it brings

/// The form of a tensor's map: of the box's axes, whose rows have the swizzle of so many bytes (0: none).
[[nodiscard]] TensorMap map_form(Dtype dtype, std::initializer_list<std::int64_t> box, std::int64_t swizzle);

/// The map of x of this form: the elements of each dimension, and the bytes from one index to the next.
[[nodiscard]] MapRecipe input_map(TensorMap form, const decltype(MapRecipe::sizes)& sizes,
                                  const decltype(MapRecipe::pitches)& pitches);

/// The map of x or grad_y with channels last. A box has so many channels, positions of a row, rows and images; its
/// positions and rows are `steps` apart, and its channels are as wide as its swizzle.
[[nodiscard]] MapRecipe pixel_map(const Layer& layer, Role role, std::array<std::int64_t, 4> box,
                                  std::array<std::int64_t, 2> steps);

/// The same of volumes: `map` is pixel_map() of boxes of one image, which get so many planes that are a step apart.
[[nodiscard]] MapRecipe volume_map(const MapRecipe& map, const Layer& layer, std::int64_t planes, std::int64_t step);

/// The map of the weights as they lie, for blocks of output channels: of each input channel a row of columns, taps by
/// channels, or `by_taps` of each tap a row of its channels, where these follow one another. A box has so many columns
/// or channels, as wide as its swizzle, and so many input channels.
[[nodiscard]] MapRecipe weight_map(const Layer& layer, bool by_taps, std::int64_t columns, std::int64_t in_channels);

}  // namespace convtgen
