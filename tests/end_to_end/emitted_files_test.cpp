// Emitted files in the hands of a user: several in one translation unit, and compiled for what they are not made for.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"
#include "generator/specializer/kernel_source.h"
#include "runtime/compile/nvrtc.h"
#include "tests/end_to_end/nvcc.h"
#include "tests/template_facts/facts.h"

namespace convtgen::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kRightFlags = "nvcc -gencode arch=compute_90a,code=sm_90a, or NVRTC --gpu-architecture=sm_90a";

/// The facts of the templates whose sources are for sm_90a alone.
std::vector<TemplateFacts> only_on_sm_90a() {
  std::vector<TemplateFacts> all(template_facts().begin(), template_facts().end());
  std::erase_if(all, [](const TemplateFacts& facts) { return facts.emitted == nullptr; });
  return all;
}

KernelSource source_of(std::string_view template_name, std::string_view text) {
  const Layer layer = parse_layer(text).value();
  const Problem problem{layer, layer.directions.front(), target_named("sm_90a").value()};
  return specialize(problem, plans_of(*template_named(template_name).value(), problem).value().front()).value();
}

/// Of the template that takes every layer, on every architecture.
KernelSource direct_source() {
  return source_of(templates().front().name, "conv_transpose2d 4 -> 2; kernel 3");
}

/// All in one, as #include has it.
KernelSource all_sources() {
  KernelSource all = direct_source();
  for (const TemplateFacts& facts : only_on_sm_90a()) {
    const KernelSource source = source_of(facts.name, facts.emitted);
    all.text += source.text;
    all.template_lines.insert(all.template_lines.end(), source.template_lines.begin(), source.template_lines.end());
  }
  return all;
}

TEST(EmittedFiles, SeveralAreOneTranslationUnit) {
  const Result<Binary> ptx = compile_with_nvrtc(all_sources(), "sm_90a", BinaryKind::kPtx);
  ASSERT_TRUE(ptx) << ptx.error().message;
  for (const TemplateFacts& facts : only_on_sm_90a()) {
    const KernelSource source = source_of(facts.name, facts.emitted);
    const bool adds_slices = template_named(facts.name).value()->direction == Direction::kGradWeight;
    ASSERT_GE(source.recipe.kernels.size(), facts.packs_weights || adds_slices ? 2u : 1u) << facts.name;
    for (const RecipeKernel& kernel : source.recipe.kernels) {
      EXPECT_THAT(ptx->bytes, HasSubstr(fmt::format(".entry {}(", kernel.symbol))) << facts.name;
    }
  }
}

class EmittedForSm90a : public ::testing::TestWithParam<TemplateFacts> {};

TEST_P(EmittedForSm90a, NamesItsArchitectureWhereNvrtcCompilesForAnother) {
  const KernelSource source = source_of(GetParam().name, GetParam().emitted);
  for (const char* other : {"sm_90", "sm_80"}) {
    const Result<Binary> binary = compile_with_nvrtc(source, other, BinaryKind::kPtx);
    ASSERT_FALSE(binary) << other;
    EXPECT_THAT(binary.error().message, HasSubstr(kRightFlags)) << other;
  }
}

TEST(EmittedFiles, ThoseWithoutInstructionsOfSm90aCompileForOthers) {
  const Result<Binary> binary = compile_with_nvrtc(direct_source(), "sm_80", BinaryKind::kPtx);
  EXPECT_TRUE(binary) << binary.error().message;
}

// -arch=sm_90a also makes PTX of compute_90.
TEST_P(EmittedForSm90a, NamesTheFlagsWhereNvccHasOthers) {
  if (nvcc().empty()) {
    GTEST_SKIP() << kNoNvcc;
  }
  const std::string text = source_of(GetParam().name, GetParam().emitted).text;
  for (const char* flags : {"-c -arch=sm_90a", "-c -arch=sm_90"}) {
    const NvccResult result = compile_with_nvcc(text, flags);
    EXPECT_FALSE(result.compiles) << flags;
    EXPECT_THAT(result.log, HasSubstr(kRightFlags)) << flags;
  }
}

TEST(EmittedFiles, SeveralCompileWithNvccAndTheFlagsThatTheyName) {
  if (nvcc().empty()) {
    GTEST_SKIP() << kNoNvcc;
  }
  const NvccResult result = compile_with_nvcc(all_sources().text, "-cubin -gencode arch=compute_90a,code=sm_90a");
  EXPECT_TRUE(result.compiles) << result.log;
}

INSTANTIATE_TEST_SUITE_P(Each, EmittedForSm90a, ::testing::ValuesIn(only_on_sm_90a()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace convtgen::testing
