#include "generator/launcher/recipe_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "generator/launcher/names.h"

namespace convtgen {
namespace {

std::string constant(const std::string& large, std::string_view name) {
  return large + "_" + capitals(name);
}

std::string amount_text(const std::string& large, const Amount& amount) {
  return fmt::format("{{{}, {}, {}}}", amount.constant, amount.factor, constant(large, name_of(amount.per)));
}

/// "{a, b}", or what C takes for an empty list.
std::string list(const std::vector<std::string>& entries, const char* none, const char* between = ", ") {
  return entries.empty() ? fmt::format("{{{}}}", none) : fmt::format("{{{}}}", fmt::join(entries, between));
}

std::string grid_text(const std::string& large, const Grid& grid) {
  std::vector<std::string> axes, bounds;
  for (const Grid::Axis& axis : grid.axes) {
    axes.push_back(fmt::format("{{{}, {}}}", amount_text(large, axis.extent), axis.tile));
  }
  for (const Grid::Bound& bound : grid.bounds) {
    bounds.push_back(fmt::format("{{{}, {}}}", constant(large, name_of(bound.extent)), bound.most));
  }
  return fmt::format(
      "{{/* extents and tiles */ {}, {},\n"
      "        /* blocks of a tile, most tiles */ {}, {},\n"
      "        /* bounds */ {}, {}}}",
      grid.axes.size(), list(axes, "{{0, 0, 0}, 0}", ",\n         "), grid.blocks_per_tile, grid.most_tiles,
      grid.bounds.size(), list(bounds, "{0, 0}", ",\n         "));
}

std::string argument_text(const std::string& large, const KernelArgument& argument) {
  const auto text = [&](std::string_view kind, const std::string& which, std::int64_t value) {
    return fmt::format("{{{}, {}, {}, {}}}", constant(large, kind), which, value, argument.is_int ? 1 : 0);
  };
  switch (argument.kind) {
    case KernelArgument::Kind::kTensor:
      return text("tensor", constant(large, name_of(static_cast<Role>(argument.index))), 0);
    case KernelArgument::Kind::kRegion:
      return text("region", fmt::format("{}", argument.index), 0);
    case KernelArgument::Kind::kQuantity:
      return text("quantity", constant(large, name_of(static_cast<Quantity>(argument.index))), 0);
    case KernelArgument::Kind::kConstant:
      return text("constant", "0", argument.value);
    case KernelArgument::Kind::kMap:
      return text("map", fmt::format("{}", argument.index), 0);
  }
  return {};
}

std::string part_text(const std::string& large, const RecipeKernel& kernel, const std::string& function) {
  std::vector<std::string> arguments;
  for (const KernelArgument& argument : kernel.arguments) {
    arguments.push_back(argument_text(large, argument));
  }
  return fmt::format(
      "{{{},\n"
      "       \"{}\",\n"
      "       /* threads, shared bytes */ {}, {}, /* waits, once */ {}, {},\n"
      "       {},\n"
      "       /* arguments */ {},\n"
      "       {}}}",
      function, kernel.symbol, kernel.threads, kernel.shared_bytes, kernel.waits ? 1 : 0, kernel.once ? 1 : 0,
      grid_text(large, kernel.grid), arguments.size(), list(arguments, "{0, 0, 0, 0}", ",\n        "));
}

}  // namespace

std::string tensors_text(const std::string& large, std::span<const Tensor> tensors) {
  std::vector<std::string> entries;
  for (const Tensor& tensor : tensors) {
    entries.push_back(fmt::format("{{{}, {}, {}, {}, {}, {}}}", constant(large, name_of(tensor.role)),
                                  amount_text(large, tensor.elements), tensor.alignment, tensor.written ? 1 : 0,
                                  constant(large, name_of(tensor.runs)), amount_text(large, tensor.gap)));
  }
  return fmt::format("/* tensors: elements, alignment, written, runs, gap */ {},\n    {}", entries.size(),
                     list(entries, "{0, {0, 0, 0}, 0, 0, 0, {0, 0, 0}}", ",\n     "));
}

std::string maps_text(const std::string& large, const std::string& type, const std::string& name,
                      const Recipe& recipe) {
  std::vector<std::string> entries;
  for (const MapRecipe& map : recipe.maps) {
    std::vector<std::string> sizes, pitches;
    for (std::size_t d = 0; d < static_cast<std::size_t>(map.form.rank); ++d) {
      sizes.push_back(amount_text(large, map.sizes[d]));
      pitches.push_back(amount_text(large, map.pitches[d]));
    }
    entries.push_back(fmt::format(
        "{{{}, {}, /* element, rank */ {}, {},\n"
        "     /* sizes, pitches */ {{{}}}, {{{}}},\n"
        "     /* box, steps */ {{{}}}, {{{}}}, /* swizzle, fill */ {}, {}}}",
        map.of_region ? 1 : 0, map.of_region ? fmt::format("{}", map.region) : constant(large, name_of(map.role)),
        static_cast<int>(map.form.element), map.form.rank, fmt::join(sizes, ", "), fmt::join(pitches, ", "),
        fmt::join(map.form.box, ", "), fmt::join(map.form.steps, ", "), static_cast<int>(map.form.swizzle),
        static_cast<int>(map.form.fill)));
  }
  return entries.empty()
             ? std::string()
             : fmt::format("static const {} {}[] = {{\n    {},\n}};\n\n", type, name, fmt::join(entries, ",\n    "));
}

std::string recipe_text(const std::string& large, const Recipe& recipe, const std::string& maps,
                        const std::function<std::string(std::size_t)>& function) {
  std::vector<std::string> regions, parts;
  for (const Region& region : recipe.regions) {
    regions.push_back(fmt::format("{{{}, {}}}", amount_text(large, region.bytes), region.kept ? 1 : 0));
  }
  for (std::size_t i = 0; i < recipe.kernels.size(); ++i) {
    parts.push_back(part_text(large, recipe.kernels[i], function(i)));
  }
  return fmt::format(
      "\"{}\",\n"
      "     /* regions of the workspace: bytes, kept */ {}, {},\n"
      "     /* tensor maps */ {},\n"
      "     /* kernels */ {},\n"
      "     {}",
      recipe.workspace_words(), recipe.regions.size(), list(regions, "{{0, 0, 0}, 0}"),
      recipe.maps.empty() ? "NULL" : maps, parts.size(), list(parts, "", ",\n      "));
}

}  // namespace convtgen
