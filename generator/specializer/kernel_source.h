// The product: CUDA source for one layer, and what a launcher must know of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generator/planner/plan/plan.h"
#include "generator/recipe/recipe.h"
#include "generator/support/error.h"

namespace convtgen {

/// The text's namespace is the kernel's symbol and this. Its kernels are made global names.
inline constexpr std::string_view kNamespaceSuffix = "_source";

struct KernelSource {
  std::string text;                 // the whole .cu, the same bytes in every use
  std::string symbol;               // extern "C" name of the main kernel; the others' begin with it
  std::vector<int> template_lines;  // for each line of text, the template's line it came from, or 0
  Recipe recipe;                    // the kernels in the text, and how a call launches them
  /// The one that does the layer's work; it is the one whose symbol is the source's.
  [[nodiscard]] const RecipeKernel& main() const;
};

/// Errors: a template's static assertion does not hold for the plan, or the plan names no such template or parameter,
/// or the template needs a primitive that the problem's architecture lacks.
[[nodiscard]] Result<KernelSource> specialize(const Problem& problem, const Plan& plan);

}  // namespace convtgen
