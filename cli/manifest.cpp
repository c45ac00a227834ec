#include "cli/manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "generator/language/language.h"
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

Json arguments_json(const std::vector<KernelParameter>& parameters) {
  Json arguments = Json::array();
  for (const KernelParameter& parameter : parameters) {
    arguments.push_back({{"name", parameter.name}, {"type", parameter.type}});
  }
  return arguments;
}

/// The kernel that fills the workspace; null where there is none.
Json packing_json(const std::optional<PackingKernel>& packing) {
  if (!packing) {
    return nullptr;
  }
  return {{"symbol", packing->symbol},
          {"threads", packing->threads},
          {"blocks", packing->blocks},
          {"overlaps", packing->overlaps},
          {"arguments", arguments_json(packing->parameters)}};
}

Json launch_json(const Product& product) {
  const Grid grid = grid_of(product.problem, product.plan);
  const std::optional<PackingKernel>& packing = product.source.packing;
  Json json = {{"threads", product.source.threads},
               {"shared_bytes", product.source.shared_bytes},
               {"grid",
                {{"tile_images", grid.tile_images},
                 {"tile_rows", grid.tile_rows},
                 {"tile_columns", grid.tile_columns},
                 {"blocks_per_tile", grid.blocks_per_tile},
                 {"most_tiles", grid.most_tiles}}},
               {"alignment", std::max<std::int64_t>(product.plan.alignment, bytes_of(product.problem.layer.dtype))},
               {"workspace_bytes", packing ? packing->bytes : 0},
               {"workspace_alignment", kWorkspaceAlignment},
               {"packing", packing_json(packing)},
               {"arguments", arguments_json(product.source.parameters)}};
  if (const auto sizes = known_sizes(product.problem.layer)) {
    if (const auto shape = shape_of(product.problem.layer, *sizes)) {
      if (const auto blocks = grid.blocks(*shape)) {
        json["blocks"] = *blocks;
      }
    }
  }
  return json;
}

std::string hex_digest(const std::string& bytes) {
  return hex_of(digest_of(bytes));
}

Json product_json(const Product& product) {
  Json json = {{"layer", product.layer},
               {"text", canonical_form(product.problem.layer)},
               {"direction", name_of(product.problem.direction)},
               {"architecture", product.architecture},
               {"symbol", product.source.symbol},
               {"source_sha256", hex_digest(product.source.text)},
               {"plan", plan_object(product.plan)},
               {"launch", launch_json(product)}};
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
  return Json{{"format", 1}, {"kernels", std::move(kernels)}}.dump(2) + "\n";
}

}  // namespace convtgen::cli
