// The templates for tensor cores made into source: the source of one layer each as a file, and what holds for all.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <tuple>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"
#include "generator/specializer/kernel_source.h"
#include "tests/planner/problems.h"
#include "tests/sample/sample.h"
#include "tests/template_facts/facts.h"

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
Plan plan_of(std::string_view template_name, std::string_view layer, std::string_view architecture = "sm_90a") {
  const Problem problem = problem_of(layer, architecture);
  auto plans =
      problem.direction == Direction::kForward ? template_named(template_name).value()->plans(problem) : plan(problem);
  EXPECT_TRUE(plans) << layer << ": " << plans.error().message;
  std::erase_if(*plans, [&](const Plan& each) { return each.template_name != template_name; });
  return plans->empty() ? Plan{} : plans->front();
}

KernelSource source_of(std::string_view template_name, std::string_view layer,
                       std::string_view architecture = "sm_90a") {
  const Result<KernelSource> source =
      specialize(problem_of(layer, architecture), plan_of(template_name, layer, architecture));
  EXPECT_TRUE(source) << source.error().message;
  return source.value_or(KernelSource{});
}

/// The goldens of templates whose sources name no tap each by itself (direct_test has the others).
std::vector<testing::OfTemplate<testing::Golden>> goldens() {
  auto all = testing::all_of(&testing::TemplateFacts::goldens);
  std::erase_if(all, [](const auto& each) {
    return testing::facts_of(each.template_name).golden_taps != testing::NamedTaps::kUnchecked;
  });
  return all;
}

class TensorCoreSource : public ::testing::TestWithParam<testing::OfTemplate<testing::Golden>> {};

// CONVTGEN_UPDATE_GOLDENS=1 writes the file anew: read the difference before it is committed.
TEST_P(TensorCoreSource, IsTheCommittedOne) {
  const std::string path = std::string(CONVTGEN_GOLDENS) + "/" + GetParam().fact.name + ".cu";
  const std::string text =
      source_of(GetParam().template_name, GetParam().fact.layer, GetParam().fact.architecture).text;
  if (std::getenv("CONVTGEN_UPDATE_GOLDENS") != nullptr) {
    std::ofstream(path) << text;
  }
  EXPECT_EQ(text, text_of_file(path));
}

TEST_P(TensorCoreSource, StandsAloneAndIsNotEndless) {
  for (const char* rest : GetParam().fact.others) {
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
  if (problem_of(GetParam().fact.layer).direction == Direction::kGradWeight) {
    EXPECT_EQ(plan_of(GetParam().template_name, GetParam().fact.layer).launch.packed_bytes(), 0)
        << "no weights are read";
    return;
  }
  const KernelSource source = source_of(GetParam().template_name, GetParam().fact.layer);
  if (!testing::facts_of(GetParam().template_name).packs_weights) {
    EXPECT_EQ(source.recipe.kernels.size(), 1u);
    EXPECT_EQ(plan_of(GetParam().template_name, GetParam().fact.layer).launch.packed_bytes(), 0)
        << "weights are read as they lie";
    return;
  }
  // Of packed weights, and of what else is written to the workspace, which one kernel each writes; and the main one.
  ASSERT_EQ(source.recipe.kernels.size(), 1 + source.recipe.regions.size());
  const RecipeKernel& packing = source.recipe.kernels[0];
  const std::int64_t blocks = packing.grid.blocks({}).value();
  const Layer layer = parse_layer(GetParam().fact.layer).value();
  const Plan plan = plan_of(GetParam().template_name, GetParam().fact.layer);
  // No channel and no tap is padded; f32x3 has a scale of each channel that is made in phase rows of a block besides,
  // or of each of its phases that are columns, and what eight warps found for it. Two of tf32 need none, but two words.
  const std::int64_t weights = layer.in_channels * layer.out_channels * tap_count(layer);
  const bool is_forward = layer.directions.front() == Direction::kForward;
  const std::int64_t made = is_forward ? layer.out_channels : layer.in_channels;
  const auto rows_of_block = plan.parameters.find("phase_rows");
  const std::int64_t blocks_of_phases =
      rows_of_block == plan.parameters.end() || !is_forward
          ? 1
          : layer.axes[kHeight].stride / std::get<std::int64_t>(rows_of_block->second);
  const auto columns = plan.parameters.find("column_phases");
  const std::int64_t columns_of_channel =
      columns == plan.parameters.end() ? 1 : std::get<std::int64_t>(columns->second);
  const bool is_split = layer.compute == Compute::kF32x3;
  const bool has_words = is_split && source.text.contains("mma_k8_tf32(");
  const std::int64_t scales = is_split && !has_words ? made * columns_of_channel * blocks_of_phases * 36 : 0;
  const std::int64_t bytes = source.recipe.regions.at(0).bytes.constant;
  EXPECT_EQ(bytes, weights * bytes_of(layer.dtype) * (has_words ? 2 : 1) + scales);
  const std::int64_t rows = plan.launch.kernels.front().grid.axes[0].tile / 16;
  EXPECT_GE(blocks * packing.threads * rows, bytes / 16);
  EXPECT_LT((blocks - 1) * packing.threads * rows, bytes / 16);
  EXPECT_TRUE(std::ranges::any_of(source.main().parameters, [](const auto& each) { return each.name == "packed"; }));
  EXPECT_FALSE(std::ranges::any_of(source.main().parameters, [](const auto& each) { return each.name == "weight"; }));
}

// What is emitted for the layers that are measured: the first plan of each template. A run takes a tenth of them.
class SourceLength : public ::testing::TestWithParam<std::tuple<Direction, std::pair<Dtype, Compute>>> {};

TEST_P(SourceLength, OfTheBenchmarksLayersHasItsBound) {
  for (const char* const path : {CONVTGEN_BENCHMARK_LAYERS, CONVTGEN_OUTSIDE_LAYERS}) {
    const std::vector<NamedLayer> layers = parse_file(text_of_file(path)).value();
    ASSERT_FALSE(layers.empty());
    for (const NamedLayer& named : layers) {
      for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
        const auto& [direction, mode] = GetParam();
        const std::string words = fmt::format("{} {} {} {} {}", testing::test_seed(), named.name, name_of(layout),
                                              name_of(direction), name_of(mode.second));
        if (testing::hash_of(words) % 10 != 0 && !testing::tests_all()) {
          continue;
        }
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

INSTANTIATE_TEST_SUITE_P(Templates, TensorCoreSource, ::testing::ValuesIn(goldens()),
                         [](const auto& info) { return testing::name_of_fact(info); });

}  // namespace
}  // namespace convtgen
