// What a plan launches: a recipe whose kernels are not specialised yet, so that their symbols and parameters are open.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "generator/planner/plan.h"
#include "generator/recipe/recipe.h"

namespace convtgen {

/// A kernel of the plan's template.
struct KernelPlan {
  std::string function;  // in the template
  std::string suffix;    // its symbol is the source's, followed by this; the main kernel has none
  int threads = 0;       // of a block; 0: those of its launch bounds
  int cluster = 1;
  std::int64_t shared_bytes = 0;  // dynamic, of a block
  Grid grid = {};
  bool per_thread = false;                    // the tile of the grid's first axis is a thread's, not a block's
  bool once = false;                          // RecipeKernel::once
  std::vector<NamedConstant> constants = {};  // of this launch; others may be of the same function
};

struct LaunchPlan {
  std::vector<KernelPlan> kernels;  // in the order in which they run
  std::vector<Region> regions;
  std::vector<Tensor> tensors;
  std::vector<MapRecipe> maps;
  std::vector<NamedConstant> constants;
  /// Parameters of the template's kernels that callers know by another name: {"x", "grad_y"}.
  std::vector<std::pair<std::string, std::string>> renamed;
  std::string note;  // a line for readers of the source; may be empty
};

/// Adds the packing of the weights to a launch, as its first kernel, and the region that has them.
void add_packing(LaunchPlan& launch, const Plan& plan);

[[nodiscard]] LaunchPlan launch_plan_of(const Problem& problem, const Plan& plan);

/// The tensors of a direction in which the layer is called, what it writes first; those that kernels read or write by
/// several elements at a time (x and y, and their gradients) have this alignment in bytes, or an element's where that
/// is more.
[[nodiscard]] std::vector<Tensor> tensors_of(const Layer& layer, Direction direction, std::int64_t alignment);

}  // namespace convtgen
