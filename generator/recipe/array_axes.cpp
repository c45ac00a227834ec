#include "generator/recipe/array_axes.h"

#include <array>
#include <cstddef>
#include <string_view>

#include "generator/layer/shape.h"

namespace convtgen {
namespace {

constexpr std::array<std::string_view, kAxes> kAxisLetters = {"D", "H", "W"};

Amount known_or(const Size& known, Quantity open) {
  return known ? Amount{.constant = *known} : Amount{.constant = 0, .factor = 1, .per = open};
}

/// The axes of x (`first` is kInDepth) or y (`first` is kOutDepth).
std::vector<ArrayAxis> image_axes(const Layer& layer, const ArrayAxis& channels, Quantity first) {
  std::vector<ArrayAxis> axes = {{"N", known_or(layer.batch, Quantity::kBatch)}};
  if (layer.layout == Layout::kNchw) {
    axes.push_back(channels);
  }
  for (const std::size_t index : axes_of(layer)) {
    const Axis& axis = layer.axes[index];
    const Size extent =
        axis.extent && first == Quantity::kOutDepth ? Size(output_extent(axis, *axis.extent)) : axis.extent;
    const auto open = static_cast<Quantity>(static_cast<std::size_t>(first) + index);
    axes.push_back({std::string(kAxisLetters[index]), known_or(extent, open)});
  }
  if (layer.layout == Layout::kNhwc) {
    axes.push_back(channels);
  }
  return axes;
}

std::vector<ArrayAxis> weight_axes(const Layer& layer) {
  const ArrayAxis out{layer.groups == 1 ? "Cout" : "Cout / groups", {.constant = layer.out_channels / layer.groups}};
  std::vector<ArrayAxis> axes = {{"Cin", {.constant = layer.in_channels}}};
  if (layer.weight_layout == WeightLayout::kContiguous) {
    axes.push_back(out);
  }
  for (const std::size_t index : axes_of(layer)) {
    axes.push_back({"K" + std::string(kAxisLetters[index]), {.constant = layer.axes[index].kernel}});
  }
  if (layer.weight_layout == WeightLayout::kChannelsLast) {
    axes.push_back(out);
  }
  return axes;
}

}  // namespace

std::vector<ArrayAxis> axes_of_array(const Layer& layer, Role role) {
  switch (role) {
    case Role::kX:
    case Role::kGradX:
      return image_axes(layer, {"Cin", {.constant = layer.in_channels}}, Quantity::kInDepth);
    case Role::kY:
    case Role::kGradY:
      return image_axes(layer, {"Cout", {.constant = layer.out_channels}}, Quantity::kOutDepth);
    case Role::kWeight:
    case Role::kGradWeight:
      return weight_axes(layer);
    case Role::kBias:
    case Role::kGradBias:
      break;
  }
  return {{"Cout", {.constant = layer.out_channels}}};
}

Size tensor_channels(const Layer& layer, Role role) {
  return role == Role::kX || role == Role::kGradX   ? layer.x_channels
         : role == Role::kY || role == Role::kGradY ? layer.y_channels
                                                    : Size();
}

}  // namespace convtgen
