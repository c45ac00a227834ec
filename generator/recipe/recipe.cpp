#include "generator/recipe/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace convtgen {
namespace {

struct QuantityNames {
  std::string_view name, words;
};
constexpr std::array<QuantityNames, kQuantities> kQuantityNames = {{
    {"one", "one"},
    {"batch", "batch"},
    {"in_depth", "input depth"},
    {"in_height", "input height"},
    {"in_width", "input width"},
    {"out_depth", "output depth"},
    {"out_height", "output height"},
    {"out_width", "output width"},
    {"in_image", "positions of an input image"},
    {"out_image", "positions of an output image"},
    {"in_pixels", "positions of all input images"},
    {"out_pixels", "positions of all output images"},
    {"in_plane", "positions of a plane of the input"},
    {"out_plane", "positions of a plane of the output"},
}};

constexpr std::array<std::string_view, kRoles> kRoleNames = {"x",      "weight", "bias",        "y",
                                                             "grad_x", "grad_y", "grad_weight", "grad_bias"};

/// The sizes of a call that kernels take, as their parameters are called.
constexpr std::pair<std::string_view, Quantity> kSizeParameters[] = {
    {"batch", Quantity::kBatch},       {"depth", Quantity::kInDepth},      {"height", Quantity::kInHeight},
    {"width", Quantity::kInWidth},     {"out_depth", Quantity::kOutDepth}, {"out_height", Quantity::kOutHeight},
    {"out_width", Quantity::kOutWidth}};

std::int64_t round_to_alignment(std::int64_t bytes) {
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

// ceil(extent / tile), of an extent that is not negative. Divisions of 64 bits take several times as long as of 32.
std::int64_t tiles_of(std::int64_t extent, std::int64_t tile) {
  if (tile == 1) {
    return extent;
  }
  if (((extent | tile) >> 32) == 0) {
    const auto narrow = static_cast<std::uint32_t>(extent), by = static_cast<std::uint32_t>(tile);
    return narrow / by + (narrow % by != 0 ? 1 : 0);
  }
  return extent / tile + (extent % tile != 0 ? 1 : 0);
}

template <typename Named>
std::optional<std::uint8_t> place_of(const std::vector<Named>& list, std::string_view name) {
  const auto found = std::ranges::find(list, name, &Named::name);
  return found == list.end() ? std::nullopt : std::optional(static_cast<std::uint8_t>(found - list.begin()));
}

std::optional<KernelArgument> argument_named(const Recipe& recipe, std::span<const NamedConstant> own,
                                             std::span<const NamedConstant> constants, std::string_view name) {
  using enum KernelArgument::Kind;
  for (const Tensor& tensor : recipe.tensors) {
    if (name_of(tensor.role) == name) {
      return KernelArgument{.kind = kTensor, .index = static_cast<std::uint8_t>(tensor.role)};
    }
  }
  if (const auto region = place_of(recipe.regions, name)) {
    return KernelArgument{.kind = kRegion, .index = *region};
  }
  if (const auto map = place_of(recipe.maps, name)) {
    return KernelArgument{.kind = kMap, .index = *map};
  }
  for (const auto& [size, quantity] : kSizeParameters) {
    if (size == name) {
      return KernelArgument{.kind = kQuantity, .index = static_cast<std::uint8_t>(quantity)};
    }
  }
  for (const std::span<const NamedConstant> known : {own, constants}) {
    if (const auto constant = std::ranges::find(known, name, &NamedConstant::name); constant != known.end()) {
      return KernelArgument{.kind = kConstant, .value = constant->value};
    }
  }
  return std::nullopt;
}

bool takes(const RecipeKernel& kernel, KernelArgument::Kind kind, std::size_t index) {
  return std::ranges::any_of(kernel.arguments, [&](const KernelArgument& argument) {
    return argument.kind == kind && argument.index == index;
  });
}

/// Whether a kernel takes the region itself or a map of it.
bool is_used(const Recipe& recipe, std::size_t region) {
  return std::ranges::any_of(recipe.kernels, [&](const RecipeKernel& kernel) {
    if (takes(kernel, KernelArgument::Kind::kRegion, region)) {
      return true;
    }
    for (std::size_t map = 0; map < recipe.maps.size(); ++map) {
      if (recipe.maps[map].of_region && recipe.maps[map].region == region &&
          takes(kernel, KernelArgument::Kind::kMap, map)) {
        return true;
      }
    }
    return false;
  });
}

Result<void> check_count(std::string_view what, std::size_t count, std::size_t most) {
  return count <= most ? Result<void>()
                       : fail(fmt::format("a recipe with {} {}; there is room for {}", count, what, most));
}

}  // namespace

std::string_view name_of(Role role) {
  return kRoleNames[static_cast<std::size_t>(role)];
}

Roles roles_of(const Layer& layer, Direction direction) {
  switch (direction) {
    case Direction::kForward:
      return layer.bias ? Roles{.read = {Role::kX, Role::kWeight, Role::kBias}, .written = {Role::kY}}
                        : Roles{.read = {Role::kX, Role::kWeight}, .written = {Role::kY}};
    case Direction::kGradInput:
      return {.read = {Role::kGradY, Role::kWeight}, .written = {Role::kGradX}};
    case Direction::kGradWeight:
      return {.read = {Role::kX, Role::kGradY},
              .written = layer.bias ? std::vector{Role::kGradWeight, Role::kGradBias} : std::vector{Role::kGradWeight}};
    case Direction::kGradBias:
      return {.read = {Role::kGradY}, .written = {Role::kGradBias}};
  }
  return {};
}

std::string_view name_of(Quantity quantity) {
  return kQuantityNames[static_cast<std::size_t>(quantity)].name;
}

std::string_view words_of(Quantity quantity) {
  return kQuantityNames[static_cast<std::size_t>(quantity)].words;
}

void find_quantities(const Shape& shape, Quantities& quantities) {
  const auto at = [&](Quantity quantity) -> std::int64_t& { return quantities[static_cast<std::size_t>(quantity)]; };
  at(Quantity::kOne) = 1;
  at(Quantity::kBatch) = shape.batch;
  std::int64_t in_image = 1, out_image = 1;
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    quantities[static_cast<std::size_t>(Quantity::kInDepth) + axis] = shape.in[axis];
    quantities[static_cast<std::size_t>(Quantity::kOutDepth) + axis] = shape.out[axis];
    in_image *= shape.in[axis];
    out_image *= shape.out[axis];
  }
  at(Quantity::kInImage) = in_image;
  at(Quantity::kOutImage) = out_image;
  at(Quantity::kInPixels) = shape.batch * in_image;
  at(Quantity::kOutPixels) = shape.batch * out_image;
  at(Quantity::kInPlane) = shape.in[kHeight] * shape.in[kWidth];
  at(Quantity::kOutPlane) = shape.out[kHeight] * shape.out[kWidth];
}

Quantities quantities_of(const Shape& shape) {
  Quantities quantities;
  find_quantities(shape, quantities);
  return quantities;
}

std::optional<std::int64_t> Grid::blocks(const Quantities& quantities) const {
  for (const Bound& bound : bounds) {
    if (value_of(bound.extent, quantities) > bound.most) {
      return std::nullopt;
    }
  }
  const std::int64_t most = kMostInt - 2 * most_tiles;  // a block steps beyond the last tile, by two
  std::int64_t all = blocks_per_tile;                   // where each tile has blocks of its own
  for (const Axis& axis : axes) {
    const std::optional<std::int64_t> extent = axis.extent.in(quantities);
    if (!extent || __builtin_mul_overflow(all, tiles_of(*extent, axis.tile), &all) || all > most) {
      return std::nullopt;
    }
  }
  return most_tiles == 0 ? all : std::min(all, blocks_per_tile * most_tiles);
}

Result<std::int64_t> Grid::checked_blocks(const Quantities& quantities) const {
  for (const Bound& bound : bounds) {
    if (const std::int64_t extent = value_of(bound.extent, quantities); extent > bound.most) {
      return fail(fmt::format("{} {} is too large for the kernel's 32-bit coordinates; at most {}",
                              words_of(bound.extent), extent, bound.most));
    }
  }
  const std::optional<std::int64_t> count = blocks(quantities);
  if (!count) {
    const std::int64_t planes = value_of(Quantity::kOutDepth, quantities);
    return fail(fmt::format("a batch of {} with outputs of {}{}x{} needs more blocks than a grid can have (2^31 - 1)",
                            value_of(Quantity::kBatch, quantities), planes == 1 ? "" : fmt::format("{}x", planes),
                            value_of(Quantity::kOutHeight, quantities), value_of(Quantity::kOutWidth, quantities)));
  }
  return *count;
}

std::optional<std::int64_t> Tensor::span(const Quantities& quantities) const {
  const std::optional<std::int64_t> own = elements.in(quantities), between = gap.in(quantities);
  std::int64_t all = 0;
  if (!own || *own == 0) {
    return own;
  }
  if (!between || __builtin_mul_overflow(*between, value_of(runs, quantities) - 1, &all) ||
      __builtin_add_overflow(all, *own, &all)) {
    return std::nullopt;
  }
  return all;
}

const Tensor* Recipe::tensor(Role role) const {
  const auto found = std::ranges::find(tensors, role, &Tensor::role);
  return found == tensors.end() ? nullptr : &*found;
}

bool Recipe::may_omit_weight() const {
  bool packs = false;
  for (const RecipeKernel& kernel : kernels) {
    const bool reads = takes(kernel, KernelArgument::Kind::kTensor, static_cast<std::size_t>(Role::kWeight));
    if (reads && !kernel.once) {
      return false;
    }
    packs = packs || (reads && kernel.once);
  }
  return packs;
}

std::optional<std::int64_t> Recipe::offset_of(std::size_t region, const Quantities& quantities) const {
  std::int64_t end = 0;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    const std::optional<std::int64_t> bytes = regions[i].bytes.in(quantities);
    const std::int64_t begin = round_to_alignment(end);
    if (i == region) {
      return begin;
    }
    if (!bytes || *bytes > std::numeric_limits<std::int64_t>::max() - begin - kWorkspaceAlignment) {
      return std::nullopt;
    }
    end = begin + *bytes;
  }
  return end;
}

std::string Recipe::workspace_words() const {
  std::string words;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    words += (i == 0 ? "" : i + 1 < regions.size() ? ", " : " and ") + regions[i].what;
  }
  return words;
}

std::size_t first_launch(const Recipe& recipe, std::size_t launch) {
  const auto first = std::ranges::find(recipe.kernels, recipe.kernels[launch].symbol, &RecipeKernel::symbol);
  return static_cast<std::size_t>(first - recipe.kernels.begin());
}

Result<void> bind_arguments(Recipe& recipe, std::span<const NamedConstant> constants) {
  for (RecipeKernel& kernel : recipe.kernels) {
    kernel.arguments.clear();
    for (const KernelParameter& parameter : kernel.parameters) {
      std::optional<KernelArgument> argument = argument_named(recipe, kernel.constants, constants, parameter.name);
      if (!argument || (argument->kind == KernelArgument::Kind::kMap) != parameter.is_tensor_map()) {
        return fail(fmt::format("the kernel {} has a parameter '{} {}' that no caller knows", kernel.symbol,
                                parameter.type, parameter.name));
      }
      argument->is_int = parameter.type == "int";
      kernel.arguments.push_back(*argument);
    }
  }
  return {};
}

Result<void> check_recipe(const Recipe& recipe) {
  if (recipe.kernels.empty()) {
    return fail("a recipe without a kernel");
  }
  for (const auto& [what, count, most] : {std::tuple("kernels", recipe.kernels.size(), kMostKernels),
                                          std::tuple("regions of the workspace", recipe.regions.size(), kMostRegions),
                                          std::tuple("tensor maps", recipe.maps.size(), kMostMaps)}) {
    if (auto checked = check_count(what, count, most); !checked) {
      return checked;
    }
  }
  for (const RecipeKernel& kernel : recipe.kernels) {
    if (auto checked = check_count("arguments of a kernel", kernel.arguments.size(), kMostArguments); !checked) {
      return checked;
    }
  }
  for (const Tensor& tensor : recipe.tensors) {
    if (tensor.alignment < 1 || !std::has_single_bit(static_cast<std::uint64_t>(tensor.alignment))) {
      return fail(fmt::format("the tensor {} is aligned to {} bytes; legal are powers of two", name_of(tensor.role),
                              tensor.alignment));
    }
  }
  if (!std::ranges::is_partitioned(recipe.tensors, &Tensor::written)) {
    return fail("a recipe's tensors: those that are written come first");
  }
  if (!std::ranges::is_partitioned(recipe.regions, &Region::kept)) {
    return fail("a recipe's regions: those that are kept come first");
  }
  for (std::size_t i = 0; i < recipe.regions.size(); ++i) {
    const Region& region = recipe.regions[i];
    if (region.kept && region.bytes.factor != 0) {
      return fail(fmt::format("the region {} is kept between calls and grows with them", region.name));
    }
    if (!is_used(recipe, i)) {
      return fail(fmt::format("no kernel takes the region {}", region.name));
    }
  }
  for (const MapRecipe& map : recipe.maps) {
    if (map.of_region ? map.region >= recipe.regions.size() : recipe.tensor(map.role) == nullptr) {
      return fail(fmt::format("the tensor map {} is of what the recipe has not", map.name));
    }
  }
  return {};
}

}  // namespace convtgen
