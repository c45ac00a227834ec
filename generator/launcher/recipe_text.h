// A recipe as C data: initialisers of the types in support/support.h.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "generator/recipe/recipe.h"

namespace convtgen {

/// The count of the tensors and the initialisers of NS_tensor; `large` is the set's prefix in capitals.
[[nodiscard]] std::string tensors_text(const std::string& large, std::span<const Tensor> tensors);

/// The definition of the array of tensor maps of that name; empty where the recipe has none.
[[nodiscard]] std::string maps_text(const std::string& large, const std::string& type, const std::string& name,
                                    const Recipe& recipe);

/// The members of an NS_binary from `workspace` on. `function` gives the expression for the CUDA runtime of a kernel by
/// its place; `maps` names the array of maps_text().
[[nodiscard]] std::string recipe_text(const std::string& large, const Recipe& recipe, const std::string& maps,
                                      const std::function<std::string(std::size_t kernel)>& function);

}  // namespace convtgen
