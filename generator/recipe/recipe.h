// A recipe: how one call of a layer becomes launches, as plain data. The generator makes it together with the source;
// whoever launches evaluates it (call_form.h; generator/launcher/support in C).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/layer/shape.h"
#include "generator/recipe/tensor_map.h"
#include "generator/support/error.h"

namespace convtgen {

/// What a tensor is to its layer.
enum class Role : std::uint8_t { kX, kWeight, kBias, kY, kGradX, kGradY, kGradWeight, kGradBias };
inline constexpr std::size_t kRoles = 8;
/// "x", "grad_weight": kernels' parameters are called so.
[[nodiscard]] std::string_view name_of(Role role);

/// The tensors of a call, what a direction is named after first.
struct Roles {
  std::vector<Role> read, written;
};
/// In a direction in which the layer is called.
[[nodiscard]] Roles roles_of(const Layer& layer, Direction direction);

/// A number that depends on the sizes of a call. "Image": all positions of one image; "pixels": all positions of the
/// batch; "plane": all positions at one place along the depth of an image.
enum class Quantity : std::uint8_t {
  kOne,
  kBatch,
  kInDepth,
  kInHeight,
  kInWidth,
  kOutDepth,
  kOutHeight,
  kOutWidth,
  kInImage,
  kOutImage,
  kInPixels,
  kOutPixels,
  kInPlane,
  kOutPlane,
};
inline constexpr std::size_t kQuantities = 14;
/// "in_height": what manifests call it.
[[nodiscard]] std::string_view name_of(Quantity quantity);
/// What people read: "output height".
[[nodiscard]] std::string_view words_of(Quantity quantity);

using Quantities = std::array<std::int64_t, kQuantities>;
/// Of a shape whose elements 64 bits count.
[[nodiscard]] Quantities quantities_of(const Shape& shape);
/// The same in place: a call waits for copies of them.
void find_quantities(const Shape& shape, Quantities& quantities);
[[nodiscard]] inline std::int64_t value_of(Quantity quantity, const Quantities& quantities) {
  return quantities[static_cast<std::size_t>(quantity)];
}

/// constant + factor * per.
struct Amount {
  std::int64_t constant = 0;
  std::int64_t factor = 0;
  Quantity per = Quantity::kOne;
  /// Nothing where the result has more than 63 bits.
  [[nodiscard]] std::optional<std::int64_t> in(const Quantities& quantities) const {
    std::int64_t result = 0;
    if (__builtin_mul_overflow(factor, value_of(per, quantities), &result) ||
        __builtin_add_overflow(result, constant, &result)) {
      return std::nullopt;
    }
    return result;
  }
  bool operator==(const Amount&) const = default;
};

struct Tensor {
  Role role = Role::kX;
  Amount elements = {};
  std::int64_t alignment = 0;  // bytes that its address is a multiple of
  bool written = false;        // by the call; else it is only read
  // Where it is channels of a larger tensor: so many runs, with so many elements between two of them that belong to
  // other channels, and that no call touches.
  Quantity runs = Quantity::kOne;
  Amount gap = {};
  /// Elements from the first to the last, gaps among them. Nothing where they have more than 63 bits.
  [[nodiscard]] std::optional<std::int64_t> span(const Quantities& quantities) const;
  bool operator==(const Tensor&) const = default;
};

/// A part of the workspace. Each begins at a multiple of kWorkspaceAlignment, in the recipe's order.
struct Region {
  std::string name;  // kernels' parameters are called so: "packed"
  std::string what;  // for people: "a packed copy of the weights"
  Amount bytes = {};
  bool kept = false;  // what a call writes there serves later calls with the same weights
  bool operator==(const Region&) const = default;
};

/// Bytes that a workspace's address is a multiple of.
inline constexpr std::int64_t kWorkspaceAlignment = 128;

/// A tensor map that is made for each call, of a tensor or of a region of the workspace.
struct MapRecipe {
  std::string name;  // kernels' parameters are called so
  bool of_region = false;
  Role role = Role::kX;    // unless it is of a region
  std::size_t region = 0;  // else its place among the recipe's
  TensorMap form = {};     // element, rank, box, steps, swizzle and fill; the rest is filled in for a call
  std::array<Amount, kMaxTensorRank> sizes{};    // elements of each dimension
  std::array<Amount, kMaxTensorRank> pitches{};  // bytes from one index to the next; [0] is not used
  bool operator==(const MapRecipe&) const = default;
};

/// One parameter of a kernel. Unused ones are gone from the source, so arguments are bound by name.
struct KernelParameter {
  std::string name;  // of a role, a region, a map, a constant, "batch", "height" (of the input), "out_height", ...
  std::string type;  // as in the source: "const float*", "int", "TensorMap"
  [[nodiscard]] bool is_tensor_map() const { return type == "TensorMap"; }
  bool operator==(const KernelParameter&) const = default;
};

/// What a launch gives for a parameter.
struct KernelArgument {
  enum class Kind : std::uint8_t {
    kTensor,    // the address of the tensor whose Role is `index`
    kRegion,    // the address of region `index`
    kQuantity,  // the Quantity `index`
    kConstant,  // `value`
    kMap,       // tensor map `index`
  };
  Kind kind = Kind::kConstant;
  std::uint8_t index = 0;
  bool is_int = false;  // the parameter has 32 bits
  std::int64_t value = 0;
  bool operator==(const KernelArgument&) const = default;
};

/// Blocks of a launch: blocks_per_tile * the product of ceil(extent / tile), or of most_tiles where that is less.
struct Grid {
  struct Axis {
    Amount extent = {};
    std::int64_t tile = 1;
    bool operator==(const Axis&) const = default;
  };
  struct Bound {
    Quantity extent = Quantity::kOne;
    std::int64_t most = 0;
    bool operator==(const Bound&) const = default;
  };
  std::vector<Axis> axes = {};
  std::int64_t blocks_per_tile = 1;
  std::int64_t most_tiles = 0;     // that have blocks at a time, which go on to others; 0: all have
  std::vector<Bound> bounds = {};  // beyond which the kernel's 32-bit coordinates don't reach

  /// Nothing where checked_blocks() is an error.
  [[nodiscard]] std::optional<std::int64_t> blocks(const Quantities& quantities) const;
  /// Errors: an extent beyond its bound; more blocks than a grid can have.
  [[nodiscard]] Result<std::int64_t> checked_blocks(const Quantities& quantities) const;
  bool operator==(const Grid&) const = default;
};

/// A constant that a kernel takes as an argument.
struct NamedConstant {
  std::string name;
  std::int64_t value = 0;
  bool operator==(const NamedConstant&) const = default;
};

/// A launch of a kernel. Several may be of the same one, with other constants.
struct RecipeKernel {
  std::string symbol;             // extern "C" name
  int threads = 0;                // of a block
  int cluster = 1;                // blocks of a cluster, as the source says it: launches need not
  std::int64_t shared_bytes = 0;  // dynamic, of a block
  std::vector<KernelParameter> parameters = {};
  std::vector<KernelArgument> arguments = {};  // for the parameters, in order
  std::vector<NamedConstant> constants = {};   // of this launch
  Grid grid = {};
  bool waits = false;  // it may begin before the kernel before it has ended, and waits for it itself
  bool once = false;   // may be left out while the weights are those of an earlier call with this workspace
  bool operator==(const RecipeKernel&) const = default;
};

/// Dynamic shared memory that a block may have without an attribute of its kernel (opt-in).
inline constexpr std::int64_t kSharedWithoutOptIn = 48 * 1024;

/// Of kernels' ints, and of blocks in a grid.
inline constexpr std::int64_t kMostInt = 2147483647;

// What those who launch have room for.
inline constexpr std::size_t kMostKernels = 9;
inline constexpr std::size_t kMostArguments = 16;
inline constexpr std::size_t kMostRegions = 6;
inline constexpr std::size_t kMostMaps = 4;

struct Recipe {
  std::vector<RecipeKernel> kernels = {};  // in the order in which they run
  std::vector<Region> regions = {};        // those that are kept come first, and have constant sizes
  std::vector<Tensor> tensors = {};        // those that are written come first
  std::vector<MapRecipe> maps = {};

  /// Null where the layer has none of that role.
  [[nodiscard]] const Tensor* tensor(Role role) const;
  /// Whether calls may leave the weights out once an earlier call has packed them: kernels that are not `once` don't
  /// read them.
  [[nodiscard]] bool may_omit_weight() const;
  /// From the workspace's beginning; regions.size() gives the end of the last one. Nothing where they have more bytes
  /// than 63 bits count.
  [[nodiscard]] std::optional<std::int64_t> offset_of(std::size_t region, const Quantities& quantities) const;
  /// "a packed copy of the weights and partial sums": what the workspace is for.
  [[nodiscard]] std::string workspace_words() const;
  bool operator==(const Recipe&) const = default;
};

/// The first of the recipe's launches that is of the same kernel as this one.
[[nodiscard]] std::size_t first_launch(const Recipe& recipe, std::size_t launch);

/// Fills in the arguments of all kernels from their parameters' names; `constants` are those of all launches.
/// Errors: a parameter that the recipe has nothing for.
[[nodiscard]] Result<void> bind_arguments(Recipe& recipe, std::span<const NamedConstant> constants = {});

/// Errors: more of anything than there is room for; tensors or regions in another order; a region that no kernel takes,
/// or one that is kept and grows with the call; a map of what the recipe lacks.
[[nodiscard]] Result<void> check_recipe(const Recipe& recipe);

}  // namespace convtgen
