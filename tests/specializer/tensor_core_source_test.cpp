// The templates for tensor cores made into source: the source of one layer each as a file, and what holds for all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <tuple>

#include "generator/language/language.h"
#include "generator/planner/templates.h"
#include "generator/specializer/kernel_source.h"
#include "tests/planner/problems.h"
#include "tests/sample/sample.h"

namespace convtgen {
namespace {

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// What counts is how a source reads; one of so many lines is no file that a person would own.
constexpr std::ptrdiff_t kMostLines = 2000;

// The template's own first: which plan is the layer's first depends on what was measured.
Plan plan_of(std::string_view template_name, std::string_view layer) {
  const Problem problem = problem_of(layer);
  auto plans =
      problem.direction == Direction::kForward ? template_named(template_name).value()->plans(problem) : plan(problem);
  EXPECT_TRUE(plans) << layer << ": " << plans.error().message;
  std::erase_if(*plans, [&](const Plan& each) { return each.template_name != template_name; });
  return plans->empty() ? Plan{} : plans->front();
}

KernelSource source_of(std::string_view template_name, std::string_view layer) {
  const Result<KernelSource> source = specialize(problem_of(layer), plan_of(template_name, layer));
  EXPECT_TRUE(source) << source.error().message;
  return source.value_or(KernelSource{});
}

struct Golden {
  const char* name;
  const char* template_name;
  const char* layer;
  std::vector<const char*> others;  // layers of 72 -> 40 channels
};
const std::vector<const char*> kOthers = {
    "kernel 3x3; input 8x512x512; dtype f16", "kernel 3x3; stride 2x2; input ?x?x?; compute tf32; bias",
    "kernel 5x5; dilation 3x1; input 1x9x8; compute tf32; fuse gelu", "kernel 2x2; stride 2x2; dtype f16; input 1x8x8"};
const std::vector<Golden> kGoldens = {
    {"halo_gemm", "halo_gemm",
     "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; dtype f16; layout nhwc; bias; "
     "fuse relu",
     kOthers},
    {"roll_gemm",
     "roll_gemm",
     "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; compute tf32; bias; fuse relu",
     {"kernel 3x3; input 8x512x512; dtype f16", "kernel 3x3; input ?x?x64; compute tf32; bias",
      "kernel 5x5; dilation 1x3; input 3x9x8; compute tf32; fuse gelu", "kernel 2x2; dtype bf16; input 1x8x8"}},
    {"roll_gemm_channels_last",
     "roll_gemm",
     "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; dtype f16; layout nhwc",
     {"kernel 3x3; input 8x511x511; dtype f16; layout nhwc", "kernel 3x3; input ?x?x?; compute tf32; layout nhwc; bias",
      "kernel 5x5; dilation 1x3; input 3x9x7; compute tf32; layout nhwc; fuse gelu",
      "kernel 2x2; dtype bf16; input 1x8x8; layout nhwc"}},
    {"shift_gemm", "shift_gemm",
     "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; compute tf32; bias; fuse relu",
     kOthers},
    {"shift_gemm_grad_input",
     "shift_gemm",
     "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; compute tf32; directions "
     "grad_input",
     {"kernel 2x2; stride 2x2; input 8x512x512; dtype f16; directions grad_input",
      "kernel 3x3; stride 5x2; dilation 2x1; input ?x?x?; compute tf32; directions grad_input",
      "kernel 5x9; stride 1x4; input 1x9x8; compute tf32; layout nhwc; directions grad_input",
      "kernel 4x4; stride 4x4; dtype bf16; layout nhwc; input 1x8x8; directions grad_input"}},
    {"overlap_gemm",
     "overlap_gemm",
     "conv_transpose2d 2048 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 32x8x6; dtype f16; layout nhwc; bias; "
     "fuse relu",
     {"kernel 2x2; stride 2x2; input 8x512x512; dtype f16; layout nhwc",
      "kernel 3x3; stride 2x2; input ?x?x?; dtype bf16; layout nhwc; bias",
      "kernel 5x5; stride 3x2; input 2x9x8; dtype f16; layout nhwc; weight_layout channels_last; fuse gelu",
      "kernel 4x4; stride 2x2; padding 1x1; input 2x32x16; bias; dtype f16"}},
    {"overlap_gemm_registers",
     "overlap_gemm",
     "conv_transpose2d 56 -> 1; kernel 9x9; stride 4x4; padding 4x4; output_padding 3x3; input 1x270x480; bias; dtype "
     "f16; layout nhwc",
     {"kernel 1x3; stride 1x1; input ?x?x7; dtype f16; layout nhwc"}},
    {"patch_gemm",
     "patch_gemm",
     "conv_transpose2d 256 -> 256; kernel 2x2; stride 2x2; input 100x14x14; dtype f16; layout nhwc; bias; fuse relu",
     {"kernel 2x2; stride 2x2; input 8x512x512; dtype f16; layout nhwc",
      "kernel 4x4; stride 4x4; input ?x?x?; dtype bf16; layout nhwc; bias",
      "kernel 3x1; stride 3x1; input 2x9x8; dtype f16; layout nhwc; weight_layout channels_last; fuse gelu"}},
    {"phase_gemm",
     "phase_gemm",
     "conv_transpose2d 56 -> 1; kernel 9x9; stride 4x4; padding 4x4; output_padding 3x3; input 1x540x480; bias; dtype "
     "f16; layout nhwc",
     {"kernel 2x4; stride 1x2; padding 0x1; input 7x16x17; dtype bf16; layout nhwc",
      "kernel 3x5; input ?x?x?; dtype f16; layout nhwc; bias; fuse gelu",
      "kernel 2x1; stride 2x1; input 2x9x8; dtype f16; layout nhwc; weight_layout channels_last"}},
    {"mma_phases",
     "mma_phases",
     "conv_transpose2d 56 -> 1; kernel 9x9; stride 4x4; padding 4x4; output_padding 3x3; input 1x540x480; bias; "
     "compute "
     "tf32",
     {"kernel 3x3; stride 1x1; input ?x?x64; dtype f16; bias; fuse relu",
      "kernel 5x3; input 2x9x8; dtype bf16; weight_layout channels_last; fuse gelu",
      "kernel 1x7; padding 0x3; input 2x32x16; compute tf32"}},
    {"tap_gemm",
     "tap_gemm",
     "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 132x16x16; dtype f16; layout nhwc; "
     "directions grad_input",
     {"kernel 2x2; stride 2x2; input 8x512x512; dtype f16; layout nhwc; directions grad_input",
      "kernel 3x3; stride 5x2; dilation 2x1; input ?x?x?; dtype bf16; layout nhwc; directions grad_input",
      "kernel 5x9; stride 1x4; input 1x9x8; dtype f16; layout nhwc; directions grad_input"}},
    {"grad_weight_gemm",
     "grad_weight_gemm",
     "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; dtype f16; layout nhwc; bias; "
     "directions grad_weight",
     {"kernel 3x3; input 8x512x512; dtype f16; directions grad_weight",
      "kernel 3x3; stride 2x2; input ?x?x?; compute tf32; bias; directions grad_weight",
      "kernel 5x5; dilation 3x1; input 1x9x8; dtype bf16; layout nhwc; directions grad_weight"}},
    {"grad_weight_rows",
     "grad_weight_rows",
     "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; compute tf32; directions grad_weight",
     {"kernel 3x3; padding 1x1; input 8x512x512; dtype f16; directions grad_weight",
      "kernel 4x4; stride 2x2; padding 1x1; input ?x?x64; compute tf32; bias; directions grad_weight"}},
    {"grad_weight_pixels",
     "grad_weight_pixels",
     "conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; dtype f16; layout nhwc; bias; "
     "directions grad_weight",
     {"kernel 3x3; input 8x512x512; dtype f16; layout nhwc; directions grad_weight",
      "kernel 3x3; stride 2x2; input ?x?x?; dtype bf16; layout nhwc; bias; directions grad_weight",
      "kernel 5x5; dilation 3x1; input 5x3x5; dtype bf16; layout nhwc; directions grad_weight"}},
    {"f32x3_grad_weight",
     "f32x3_grad_weight",
     "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; compute f32x3; directions grad_weight",
     {"kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; compute f32x3; bias; directions grad_weight",
      "kernel 3x3; stride 2x2; input ?x?x?; compute f32x3; layout nhwc; directions grad_weight",
      "kernel 5x5; dilation 3x1; input 1x9x8; compute f32x3; layout nhwc; bias; directions grad_weight"}},
    {"f32x3_grad_weight_pixels",
     "f32x3_grad_weight_pixels",
     "conv_transpose2d 512 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 128x4x4; compute f32x3; directions "
     "grad_weight",
     {"kernel 4x4; stride 2x2; padding 1x1; input 8x16x16; compute f32x3; bias; directions grad_weight",
      "kernel 3x3; stride 1x2; input 9x4x5; compute f32x3; layout nhwc; bias; directions grad_weight"}},
    {"f32x3_gemm",
     "f32x3_gemm",
     "conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; compute f32x3",
     {"kernel 4x4; stride 2x2; input 4x16x16; compute f32x3; fuse relu",
      "kernel 3x3; stride 2x2; input ?x?x?; compute f32x3; bias",
      "kernel 5x5; dilation 3x1; input 1x9x8; compute f32x3; layout nhwc; fuse gelu",
      "kernel 2x2; stride 2x2; compute f32x3; input 1x8x8"}},
    {"f32x3_gemm_pairs",
     "f32x3_gemm",
     "conv_transpose1d 512 -> 256; kernel 16; stride 8; padding 4; input 16x512; compute f32x3; directions grad_input",
     {"kernel 3x15; stride 2x8; input 4x9x64; compute f32x3; directions grad_input",
      "kernel 4x4; stride 4x4; input ?x?x?; compute f32x3; layout nhwc; directions grad_input",
      "kernel 2x9; stride 1x3; input 2x9x20; compute f32x3; directions grad_input"}}};

class TensorCoreSource : public ::testing::TestWithParam<Golden> {};

// CONVTGEN_UPDATE_GOLDENS=1 writes the file anew: read the difference before it is committed.
TEST_P(TensorCoreSource, IsTheCommittedOne) {
  const std::string path = std::string(CONVTGEN_GOLDENS) + "/" + GetParam().name + ".cu";
  const std::string text = source_of(GetParam().template_name, GetParam().layer).text;
  if (std::getenv("CONVTGEN_UPDATE_GOLDENS") != nullptr) {
    std::ofstream(path) << text;
  }
  EXPECT_EQ(text, text_of_file(path));
}

TEST_P(TensorCoreSource, StandsAloneAndIsNotEndless) {
  for (const char* rest : GetParam().others) {
    const std::string layer = std::string("conv_transpose2d 72 -> 40; ") + rest;
    const KernelSource source = source_of(GetParam().template_name, layer);
    EXPECT_LT(std::ranges::count(source.text, '\n'), kMostLines) << rest;
    for (const char* none : {"P::", "Parameters", "#include"}) {
      EXPECT_EQ(source.text.find(none), std::string::npos) << none << " in the source of " << rest;
    }
    static const std::regex constant(R"(\bk[A-Z]\w*)");
    for (std::sregex_iterator c(source.text.begin(), source.text.end(), constant), end; c != end; ++c) {
      EXPECT_TRUE(source.text.contains(" " + c->str() + " = ")) << c->str() << " in the source of " << rest;
    }
    EXPECT_NE(source.text.find(source.symbol + "("), std::string::npos);
  }
}

TEST_P(TensorCoreSource, PacksAllWeightsIntoWhatThePlanSays) {
  if (problem_of(GetParam().layer).direction == Direction::kGradWeight) {
    EXPECT_EQ(plan_of(GetParam().template_name, GetParam().layer).launch.packed_bytes(), 0) << "no weights are read";
    return;
  }
  const KernelSource source = source_of(GetParam().template_name, GetParam().layer);
  const std::string_view name = GetParam().template_name;
  if (name == "overlap_gemm" || name == "patch_gemm" || name == "phase_gemm" || name == "mma_phases") {
    EXPECT_EQ(source.recipe.kernels.size(), 1u);
    EXPECT_EQ(plan_of(GetParam().template_name, GetParam().layer).launch.packed_bytes(), 0)
        << "weights are read as they lie";
    return;
  }
  ASSERT_EQ(source.recipe.kernels.size(), 2u);
  const RecipeKernel& packing = source.recipe.kernels[0];
  const std::int64_t blocks = packing.grid.blocks({}).value();
  const Layer layer = parse_layer(GetParam().layer).value();
  // No channel and no tap is padded; f32x3 has a scale of each channel that is made besides, and what eight warps found
  // for it.
  const std::int64_t weights = layer.in_channels * layer.out_channels * tap_count(layer);
  const bool is_forward = layer.directions.front() == Direction::kForward;
  const std::int64_t made = is_forward ? layer.out_channels : layer.in_channels;
  const std::int64_t scales = layer.compute == Compute::kF32x3 ? made * 36 : 0;
  const std::int64_t bytes = source.recipe.regions.at(0).bytes.constant;
  EXPECT_EQ(bytes, weights * bytes_of(layer.dtype) + scales);
  const std::int64_t rows =
      plan_of(GetParam().template_name, GetParam().layer).launch.kernels.front().grid.axes[0].tile / 16;
  EXPECT_GE(blocks * packing.threads * rows, bytes / 16);
  EXPECT_LT((blocks - 1) * packing.threads * rows, bytes / 16);
  EXPECT_TRUE(std::ranges::any_of(source.main().parameters, [](const auto& each) { return each.name == "packed"; }));
  EXPECT_FALSE(std::ranges::any_of(source.main().parameters, [](const auto& each) { return each.name == "weight"; }));
}

// What is emitted for the layers that are measured: the first plan of each template. A run takes a layer in one layout.
class SourceLength : public ::testing::TestWithParam<std::tuple<Direction, std::pair<Dtype, Compute>>> {};

TEST_P(SourceLength, OfTheBenchmarksLayersHasItsBound) {
  for (const char* const path : {CONVTGEN_BENCHMARK_LAYERS, CONVTGEN_OUTSIDE_LAYERS}) {
    const std::vector<NamedLayer> layers = parse_file(text_of_file(path)).value();
    ASSERT_FALSE(layers.empty());
    for (const NamedLayer& named : layers) {
      for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
        const bool is_other = testing::hash_of(testing::test_seed() + named.name) % 2 == (layout == Layout::kNchw);
        if (is_other && !testing::tests_all()) {
          continue;
        }
        const auto& [direction, mode] = GetParam();
        Problem problem{named.layer, direction, *target_named("sm_90a")};
        std::tie(problem.layer.dtype, problem.layer.compute) = mode;
        problem.layer.directions = {direction};
        problem.layer.layout = layout;
        std::vector<std::string> seen;
        const std::vector<Plan> plans = plan(problem).value();
        for (const Plan& each : plans) {
          if (std::ranges::count(seen, each.template_name) > 0) {
            continue;
          }
          seen.push_back(each.template_name);
          const Result<KernelSource> source = specialize(problem, each);
          ASSERT_TRUE(source) << source.error().message;
          EXPECT_LT(std::ranges::count(source->text, '\n'), kMostLines)
              << named.name << ", " << name_of(layout) << ": " << each.template_name << ", " << each.summary;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, SourceLength,
                         ::testing::Combine(::testing::Values(Direction::kForward, Direction::kGradWeight),
                                            ::testing::Values(std::pair{Dtype::kF32, Compute::kTf32},
                                                              std::pair{Dtype::kF16, Compute::kF16},
                                                              std::pair{Dtype::kBf16, Compute::kBf16},
                                                              std::pair{Dtype::kF32, Compute::kF32x3})),
                         [](const auto& info) {
                           const Compute compute = std::get<1>(info.param).second;
                           return std::string(name_of(std::get<0>(info.param))) + "_" + std::string(name_of(compute));
                         });

// A block has all weights of some output channels, the fewer the more these have.
TEST(PackingOfF32x3, HasABlockForEachShareOfTheOutputChannels) {
  for (const auto& [layer, shares] : {std::pair("64 -> 32; kernel 3x3", 32 / 2),
                                      {"64 -> 32; kernel 2x2", 32 / 4},
                                      {"32 -> 32; kernel 2x2", 32 / 8},
                                      {"128 -> 64; kernel 4x4; stride 2; padding 1", 64},
                                      {"256 -> 512; kernel 2x2; stride 2", 512 / 4},
                                      {"256 -> 1024; kernel 1x3", 1024 / 8}}) {
    const std::string text = std::string("conv_transpose2d ") + layer + "; compute f32x3; input 8x64x64";
    const KernelSource source = source_of("f32x3_gemm", text);
    EXPECT_NE(source.text.find("index < " + std::to_string(shares) + "; index += gridDim.x"), std::string::npos)
        << text;
    const std::int64_t blocks = source.recipe.kernels.at(0).grid.blocks({}).value();
    EXPECT_GE(blocks, shares) << text;
    EXPECT_LT(blocks, 2 * shares) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Templates, TensorCoreSource, ::testing::ValuesIn(kGoldens),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace convtgen
