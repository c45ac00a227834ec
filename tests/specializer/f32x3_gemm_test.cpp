// The source of `f32x3_gemm`, besides what tests of all templates show of it.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "generator/planner/table/templates.h"
#include "generator/specializer/kernel_source.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

// A block has all weights of some output channels, the fewer the more these have.
TEST(PackingOfF32x3, HasABlockForEachShareOfTheOutputChannels) {
  for (const auto& [layer, shares] : {std::pair("64 -> 32; kernel 3x3", 32 / 2),
                                      {"64 -> 32; kernel 2x2", 32 / 4},
                                      {"32 -> 32; kernel 2x2", 32 / 8},
                                      {"128 -> 64; kernel 4x4; stride 2; padding 1", 64},
                                      {"256 -> 512; kernel 2x2; stride 2", 512 / 4},
                                      {"256 -> 1024; kernel 1x3", 1024 / 8}}) {
    const std::string text = std::string("conv_transpose2d ") + layer + "; compute f32x3; input 8x64x64";
    const Problem problem = problem_of(text);
    const Plan plan = template_named("f32x3_gemm").value()->plans(problem).value().front();
    const KernelSource source = specialize(problem, plan).value();
    EXPECT_NE(source.text.find("index < " + std::to_string(shares) + "; index += gridDim.x"), std::string::npos)
        << text;
    const std::int64_t blocks = source.recipe.kernels.at(0).grid.blocks({}).value();
    EXPECT_GE(blocks, shares) << text;
    EXPECT_LT(blocks, 2 * shares) << text;
  }
}

}  // namespace
}  // namespace convtgen
