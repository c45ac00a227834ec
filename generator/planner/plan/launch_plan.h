// What a plan launches: a recipe whose kernels are not specialised yet, so that their symbols and parameters are open.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/recipe/recipe.h"

namespace convtgen {

/// A kernel of the plan's template.
struct KernelPlan {
  std::string function;           // in the template
  std::string suffix;             // its symbol is the source's, followed by this; the main kernel has none
  int threads = 0;                // of a block; 0: those of its launch bounds
  int cluster = 1;                // blocks of a cluster; the grid is a multiple of it
  std::int64_t shared_bytes = 0;  // dynamic, of a block
  Grid grid = {};
  bool per_thread = false;                    // the tile of the grid's first axis is a thread's, not a block's
  bool once = false;                          // RecipeKernel::once
  std::vector<NamedConstant> constants = {};  // of this launch; others may be of the same function
  bool operator==(const KernelPlan&) const = default;
};

struct LaunchPlan {
  std::vector<KernelPlan> kernels = {};  // in the order in which they run
  std::vector<Region> regions = {};
  std::vector<Tensor> tensors = {};
  std::vector<MapRecipe> maps = {};
  std::vector<NamedConstant> constants = {};
  /// Parameters of the template's kernels that callers know by another name: {"x", "grad_y"}.
  std::vector<std::pair<std::string, std::string>> renamed = {};
  std::string note = {};  // a line for readers of the source; may be empty
  bool operator==(const LaunchPlan&) const = default;

  /// The kernel without a suffix, the first of them where a call launches it several times.
  [[nodiscard]] const KernelPlan& main() const;
  /// Bytes of the packed copy of the weights that the kernel reads in their place; 0: none.
  [[nodiscard]] std::int64_t packed_bytes() const;
};

/// Adds the packing of the weights to a launch, as its first kernel, and the region of so many bytes that has them. A
/// thread packs so many rows of 16 bytes.
void add_packing(LaunchPlan& launch, std::int64_t bytes, std::int64_t thread_rows);

/// The tensors of a direction in which the layer is called, what it writes first; those that kernels read or write by
/// several elements at a time (x and y, and their gradients) have this alignment in bytes, or an element's where that
/// is more.
[[nodiscard]] std::vector<Tensor> tensors_of(const Layer& layer, Direction direction, std::int64_t alignment);
/// Gives the tensor of this role, which the launch has, an alignment in bytes.
void align(LaunchPlan& launch, Role role, std::int64_t alignment);

/// Errors: a known size of the layer is beyond its bound.
[[nodiscard]] Result<void> check_bounds(const Layer& layer, const std::vector<Grid::Bound>& bounds);

/// The numbers of a grid whose blocks tile the outputs.
struct TileGrid {
  std::int64_t stride_h = 1, stride_w = 1;           // the layer's
  std::int64_t beyond_rows = 0, beyond_columns = 0;  // input rows and columns read past the tile (its halo)
  std::int64_t tile_rows = 1, tile_columns = 1;      // outputs that a block makes
  std::int64_t tile_images = 1;                      // whose outputs of that rectangle it makes
  std::int64_t blocks_per_tile = 1;                  // for all channels and phases of a tile of one image
  std::int64_t most_tiles = 0;                       // tiles in flight; blocks go on to the rest; 0: a block per tile

  [[nodiscard]] Grid grid() const;
};

/// An extent of so many elements for each of a quantity, and some more.
[[nodiscard]] inline Amount per(Quantity quantity, std::int64_t more = 0) {
  return {.constant = more, .factor = 1, .per = quantity};
}

}  // namespace convtgen
