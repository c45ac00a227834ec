#include "generator/planner/plan/tensor_maps.h"

#include <algorithm>
#include <utility>

#include "generator/layer/shape.h"

namespace convtgen {

TensorMap map_form(Dtype dtype, std::initializer_list<std::int64_t> box, std::int64_t swizzle) {
  TensorMap form;
  form.element = dtype == Dtype::kF16    ? TensorMap::Element::kF16
                 : dtype == Dtype::kBf16 ? TensorMap::Element::kBf16
                                         : TensorMap::Element::kTf32;
  form.rank = static_cast<int>(box.size());
  std::ranges::transform(box, form.box.begin(), [](std::int64_t size) { return static_cast<std::uint32_t>(size); });
  form.swizzle = swizzle == 128  ? TensorMap::Swizzle::k128
                 : swizzle == 64 ? TensorMap::Swizzle::k64
                 : swizzle == 32 ? TensorMap::Swizzle::k32
                                 : TensorMap::Swizzle::kNone;
  return form;
}

MapRecipe input_map(TensorMap form, const decltype(MapRecipe::sizes)& sizes,
                    const decltype(MapRecipe::pitches)& pitches) {
  return {.name = "x_map", .role = Role::kX, .form = std::move(form), .sizes = sizes, .pitches = pitches};
}

MapRecipe pixel_map(const Layer& layer, Role role, std::array<std::int64_t, 4> box, std::array<std::int64_t, 2> steps) {
  const bool is_input = role == Role::kX;
  const std::int64_t bytes = bytes_of(layer.dtype);
  const std::int64_t pixel = (is_input ? x_tensor_channels(layer) : y_tensor_channels(layer)) * bytes;
  const Quantity width = is_input ? Quantity::kInWidth : Quantity::kOutWidth;
  const Quantity height = is_input ? Quantity::kInHeight : Quantity::kOutHeight;
  const auto span = [](std::int64_t size, std::int64_t step) { return (size - 1) * step + 1; };
  MapRecipe recipe{.name = is_input ? "x_map" : "grad_y_map", .role = role};
  recipe.form = map_form(layer.dtype, {box[0], span(box[1], steps[0]), span(box[2], steps[1]), box[3]}, box[0] * bytes);
  recipe.form.steps = {1, static_cast<std::uint32_t>(steps[0]), static_cast<std::uint32_t>(steps[1]), 1, 1};
  recipe.sizes = {Amount{.constant = is_input ? layer.in_channels : layer.out_channels},
                  Amount{.factor = 1, .per = width}, Amount{.factor = 1, .per = height},
                  Amount{.factor = 1, .per = Quantity::kBatch}};
  recipe.pitches = {Amount{}, Amount{.constant = pixel}, Amount{.factor = pixel, .per = width},
                    Amount{.factor = pixel, .per = is_input ? Quantity::kInImage : Quantity::kOutImage}};
  return recipe;
}

MapRecipe volume_map(const MapRecipe& map, const Layer& layer, std::int64_t planes, std::int64_t step) {
  constexpr std::size_t kPlanes = 3;
  const bool is_input = map.role == Role::kX;
  const std::int64_t pixel = (is_input ? x_tensor_channels(layer) : y_tensor_channels(layer)) * bytes_of(layer.dtype);
  MapRecipe recipe = map;
  recipe.form.rank = kPlanes + 2;
  recipe.form.box[kPlanes + 1] = map.form.box[kPlanes];
  recipe.form.box[kPlanes] = static_cast<std::uint32_t>((planes - 1) * step + 1);
  recipe.form.steps[kPlanes] = static_cast<std::uint32_t>(step);
  recipe.sizes[kPlanes + 1] = map.sizes[kPlanes];
  recipe.sizes[kPlanes] = Amount{.factor = 1, .per = is_input ? Quantity::kInDepth : Quantity::kOutDepth};
  recipe.pitches[kPlanes + 1] = map.pitches[kPlanes];
  recipe.pitches[kPlanes] = Amount{.factor = pixel, .per = is_input ? Quantity::kInPlane : Quantity::kOutPlane};
  return recipe;
}

MapRecipe weight_map(const Layer& layer, bool by_taps, std::int64_t columns, std::int64_t in_channels) {
  const std::int64_t bytes = bytes_of(layer.dtype);
  const std::int64_t taps = tap_count(layer);
  const std::int64_t all = layer.out_channels * taps;
  const std::int64_t swizzle = columns > 8 ? columns * bytes : 0;
  MapRecipe recipe{.name = "weight_map", .role = Role::kWeight};
  if (by_taps) {
    recipe.form = map_form(layer.dtype, {columns, in_channels, taps}, swizzle);
    recipe.sizes = {Amount{.constant = layer.out_channels}, Amount{.constant = layer.in_channels},
                    Amount{.constant = taps}};
    recipe.pitches = {Amount{}, Amount{.constant = all * bytes}, Amount{.constant = layer.out_channels * bytes}};
  } else {
    recipe.form = map_form(layer.dtype, {columns, in_channels}, swizzle);
    recipe.sizes = {Amount{.constant = all}, Amount{.constant = layer.in_channels}};
    recipe.pitches = {Amount{}, Amount{.constant = all * bytes}};
  }
  return recipe;
}

}  // namespace convtgen
