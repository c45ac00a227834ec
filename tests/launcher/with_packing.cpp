#include "tests/launcher/with_packing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace convtgen::test {

TargetKernel with_packing(const Layer& layer, TargetKernel made) {
  KernelSource& source = made.source;
  Recipe& recipe = source.recipe;
  const std::int64_t elements = weight_elements(layer);
  recipe.regions = {{.name = "packed",
                     .what = "a packed copy of the weights",
                     .bytes = {.constant = elements * bytes_of(layer.dtype)},
                     .kept = true}};
  made.plan.launch.regions = recipe.regions;
  RecipeKernel packing{.symbol = source.symbol + "_pack", .threads = 32, .once = true};
  packing.grid.axes = {{{.constant = elements}, packing.threads}};
  std::string type;
  for (KernelParameter& parameter : recipe.kernels[0].parameters) {
    if (parameter.name == "weight") {
      type = parameter.type.substr(std::string_view("const ").size());
      packing.parameters = {parameter, {"packed", type}};
      parameter.name = "packed";  // to the launch code: its name in the source matters to nobody
    }
  }
  recipe.kernels.insert(recipe.kernels.begin(), packing);
  EXPECT_TRUE(bind_arguments(recipe));
  const std::string name_space = source.symbol + std::string(kNamespaceSuffix);
  source.text += fmt::format(
      "\nnamespace {} {{\n"
      "extern \"C\" __global__ void {}(const {} weight, {} packed) {{\n"
      "  const int i = blockIdx.x * 32 + threadIdx.x;\n"
      "  if (i < {}) {{\n"
      "    packed[i] = weight[i];\n"
      "  }}\n"
      "}}\n"
      "}}\n"
      "using {}::{};\n",
      name_space, packing.symbol, type, type, elements, name_space, packing.symbol);
  return made;
}

}  // namespace convtgen::test
