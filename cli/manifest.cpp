#include "cli/manifest.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "generator/language/language.h"
#include "generator/layer/directions.h"
#include "runtime/store/digest.h"

namespace convtgen::cli {
namespace {

using Json = nlohmann::ordered_json;

Json plan_object(const Plan& plan) {
  Json parameters = Json::object();
  for (const auto& [name, value] : plan.parameters) {
    parameters[name] = std::visit(
        [](const auto& is) -> Json {
          if constexpr (std::is_same_v<std::decay_t<decltype(is)>, TypeName>) {
            return is.spelling;
          } else {
            return is;
          }
        },
        value);
  }
  return {{"template", plan.template_name}, {"summary", plan.summary}, {"parameters", std::move(parameters)}};
}

/// A number, or what it grows with.
Json amount_json(const Amount& amount) {
  if (amount.factor == 0) {
    return amount.constant;
  }
  return {{"constant", amount.constant}, {"factor", amount.factor}, {"per", name_of(amount.per)}};
}

/// What a launch gives for a parameter: its kind, and which one.
Json value_json(const Recipe& recipe, const KernelArgument& argument) {
  switch (argument.kind) {
    case KernelArgument::Kind::kTensor:
      return {{"tensor", name_of(static_cast<Role>(argument.index))}};
    case KernelArgument::Kind::kRegion:
      return {{"region", recipe.regions[argument.index].name}};
    case KernelArgument::Kind::kQuantity:
      return {{"size", name_of(static_cast<Quantity>(argument.index))}};
    case KernelArgument::Kind::kConstant:
      return {{"constant", argument.value}};
    case KernelArgument::Kind::kMap:
      return {{"map", recipe.maps[argument.index].name}};
  }
  return nullptr;
}

Json grid_json(const Grid& grid) {
  Json axes = Json::array(), bounds = Json::array();
  for (const Grid::Axis& axis : grid.axes) {
    axes.push_back({{"extent", amount_json(axis.extent)}, {"tile", axis.tile}});
  }
  for (const Grid::Bound& bound : grid.bounds) {
    bounds.push_back({{"extent", name_of(bound.extent)}, {"most", bound.most}});
  }
  return {{"axes", std::move(axes)},
          {"blocks_per_tile", grid.blocks_per_tile},
          {"most_tiles", grid.most_tiles},
          {"bounds", std::move(bounds)}};
}

/// `quantities` are those of the layer's own sizes, where all are known.
Json kernel_json(const Recipe& recipe, const RecipeKernel& kernel, const std::optional<Quantities>& quantities) {
  Json arguments = Json::array();
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    arguments.push_back({{"name", kernel.parameters[i].name},
                         {"type", kernel.parameters[i].type},
                         {"value", value_json(recipe, kernel.arguments[i])}});
  }
  Json json = {{"symbol", kernel.symbol},        {"threads", kernel.threads},
               {"cluster", kernel.cluster},      {"shared_bytes", kernel.shared_bytes},
               {"waits", kernel.waits},          {"once", kernel.once},
               {"grid", grid_json(kernel.grid)}, {"arguments", std::move(arguments)}};
  if (const auto blocks = quantities ? kernel.grid.blocks(*quantities) : std::nullopt) {
    json["blocks"] = *blocks;
  }
  return json;
}

Json map_json(const Recipe& recipe, const MapRecipe& map) {
  Json dimensions = Json::array();
  for (std::size_t d = 0; d < static_cast<std::size_t>(map.form.rank); ++d) {
    dimensions.push_back({{"size", amount_json(map.sizes[d])},
                          {"pitch", amount_json(map.pitches[d])},
                          {"box", map.form.box[d]},
                          {"step", map.form.steps[d]}});
  }
  return {{"name", map.name},
          {map.of_region ? "region" : "tensor",
           map.of_region ? Json(recipe.regions[map.region].name) : Json(name_of(map.role))},
          {"element_bytes", element_bytes(map.form.element)},
          {"swizzle", swizzle_bytes(map.form.swizzle)},
          {"dimensions", std::move(dimensions)}};
}

Json launch_json(const Product& product) {
  const Recipe& recipe = product.source.recipe;
  std::optional<Quantities> quantities;
  if (const auto sizes = known_sizes(product.problem.layer)) {
    if (const auto shape = shape_of(product.problem.layer, *sizes)) {
      quantities = quantities_of(*shape);
    }
  }
  Json kernels = Json::array(), regions = Json::array(), tensors = Json::array(), maps = Json::array();
  for (const RecipeKernel& kernel : recipe.kernels) {
    kernels.push_back(kernel_json(recipe, kernel, quantities));
  }
  for (const Region& region : recipe.regions) {
    regions.push_back(
        {{"name", region.name}, {"what", region.what}, {"bytes", amount_json(region.bytes)}, {"kept", region.kept}});
  }
  for (const Tensor& tensor : recipe.tensors) {
    tensors.push_back({{"role", name_of(tensor.role)},
                       {"elements", amount_json(tensor.elements)},
                       {"alignment", tensor.alignment},
                       {"written", tensor.written}});
    if (tensor.runs != Quantity::kOne) {
      tensors.back()["runs"] = name_of(tensor.runs);
      tensors.back()["gap"] = amount_json(tensor.gap);
    }
  }
  for (const MapRecipe& map : recipe.maps) {
    maps.push_back(map_json(recipe, map));
  }
  return {{"kernels", std::move(kernels)},
          {"workspace", {{"alignment", kWorkspaceAlignment}, {"regions", std::move(regions)}}},
          {"tensors", std::move(tensors)},
          {"maps", std::move(maps)}};
}

std::string hex_digest(const std::string& bytes) {
  return hex_of(digest_of(bytes));
}

Json product_json(const Product& product) {
  Json json = {{"layer", product.layer},
               {"text", canonical_form(in_direction(product.problem.layer, product.problem.direction))},
               {"direction", name_of(product.problem.direction)},
               {"architecture", product.architecture},
               {"symbol", product.source.symbol},
               {"source_sha256", hex_digest(product.source.text)},
               {"plan", plan_object(product.plan)},
               {"launch", launch_json(product)}};
  if (product.plan.recorded && !product.plan.recorded->file_digest.empty()) {
    json["tuned"] = {{"chip", product.plan.recorded->chip}, {"file_sha256", product.plan.recorded->file_digest}};
  }
  if (!product.file.path.empty()) {
    json["file"] = {{"name", product.file.path.filename().string()},
                    {"kind", product.kind},
                    {"bytes", product.file.bytes.size()},
                    {"sha256", hex_digest(product.file.bytes)}};
  }
  return json;
}

}  // namespace

std::string manifest_text(const std::vector<Product>& products) {
  Json kernels = Json::array();
  for (const Product& product : products) {
    kernels.push_back(product_json(product));
  }
  return Json{{"format", 2}, {"kernels", std::move(kernels)}}.dump(2) + "\n";
}

}  // namespace convtgen::cli
