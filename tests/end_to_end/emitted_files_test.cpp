// Emitted files in the hands of a user: several in one translation unit, and compiled for what they are not made for.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "generator/language/language.h"
#include "generator/planner/templates.h"
#include "generator/specializer/kernel_source.h"
#include "runtime/compile/nvrtc.h"
#include "tests/end_to_end/nvcc.h"

namespace convtgen::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kRightFlags = "nvcc -gencode arch=compute_90a,code=sm_90a, or NVRTC --gpu-architecture=sm_90a";

struct Emitted {
  const char* name;
  const char* template_name;
  const char* layer;
};
const Emitted kOnlyOnSm90a[] = {
    {"halo_gemm", "halo_gemm", "conv_transpose2d 32 -> 32; kernel 2x2; stride 2; input 2x16x16; dtype f16"},
    {"overlap_gemm", "overlap_gemm",
     "conv_transpose2d 32 -> 32; kernel 2x2; stride 2; input 2x16x16; dtype f16; layout nhwc"},
    {"patch_gemm", "patch_gemm",
     "conv_transpose2d 32 -> 32; kernel 2x2; stride 2; input 2x16x16; dtype f16; layout nhwc"},
    {"phase_gemm", "phase_gemm",
     "conv_transpose2d 32 -> 3; kernel 4x4; stride 2; input 2x16x16; dtype f16; layout nhwc"},
    {"roll_gemm", "roll_gemm", "conv_transpose2d 16 -> 16; kernel 2x2; input 2x16x32; compute tf32"},
    {"shift_gemm", "shift_gemm", "conv_transpose2d 32 -> 32; kernel 2x2; input 2x16x16; dtype bf16"},
    {"f32x3", "f32x3_gemm", "conv_transpose2d 32 -> 32; kernel 2x2; input 2x16x16; compute f32x3"},
    {"tap_gemm", "tap_gemm",
     "conv_transpose2d 32 -> 32; kernel 2x2; stride 2; input 2x16x16; dtype f16; layout nhwc; directions grad_input"},
    {"grad_weight_gemm", "grad_weight_gemm",
     "conv_transpose2d 32 -> 32; kernel 2x2; input 2x16x16; dtype f16; layout nhwc; directions grad_weight"},
    {"grad_weight_rows", "grad_weight_rows",
     "conv_transpose2d 32 -> 32; kernel 3x3; padding 1; input 2x16x16; compute tf32; directions grad_weight"},
    {"grad_weight_pixels", "grad_weight_pixels",
     "conv_transpose2d 32 -> 32; kernel 2x2; stride 2; input 2x16x16; dtype bf16; layout nhwc; directions grad_weight"},
    {"f32x3_grad_weight", "f32x3_grad_weight",
     "conv_transpose2d 32 -> 32; kernel 2x2; input 2x16x16; compute f32x3; bias; directions grad_weight"},
    {"f32x3_grad_weight_pixels", "f32x3_grad_weight_pixels",
     "conv_transpose2d 32 -> 32; kernel 2x2; stride 2; input 2x16x16; compute f32x3; bias; directions grad_weight"}};

KernelSource source_of(const char* text, const char* template_name) {
  const Layer layer = parse_layer(text).value();
  const Problem problem{layer, layer.directions.front(), target_named("sm_90a").value()};
  return specialize(problem, template_named(template_name).value()->plans(problem).value().front()).value();
}

KernelSource direct_source() {
  const Problem problem{parse_layer("conv_transpose2d 4 -> 2; kernel 3").value(), Direction::kForward,
                        target_named("sm_90a").value()};
  return specialize(problem, kDirect.plans(problem).value().front()).value();
}

/// All in one, as #include has it.
KernelSource all_sources() {
  KernelSource all = direct_source();
  for (const Emitted& emitted : kOnlyOnSm90a) {
    const KernelSource source = source_of(emitted.layer, emitted.template_name);
    all.text += source.text;
    all.template_lines.insert(all.template_lines.end(), source.template_lines.begin(), source.template_lines.end());
  }
  return all;
}

TEST(EmittedFiles, SeveralAreOneTranslationUnit) {
  const Result<Binary> ptx = compile_with_nvrtc(all_sources(), "sm_90a", BinaryKind::kPtx);
  ASSERT_TRUE(ptx) << ptx.error().message;
  for (const Emitted& emitted : kOnlyOnSm90a) {
    const KernelSource source = source_of(emitted.layer, emitted.template_name);
    const std::string_view name = emitted.name;
    // These read weights as they lie.
    const bool packs = name != "overlap_gemm" && name != "patch_gemm" && name != "phase_gemm";
    ASSERT_GE(source.recipe.kernels.size(), packs ? 2u : 1u) << "packing or the addition of slices is one of them";
    for (const RecipeKernel& kernel : source.recipe.kernels) {
      EXPECT_THAT(ptx->bytes, HasSubstr(fmt::format(".entry {}(", kernel.symbol))) << emitted.name;
    }
  }
}

class EmittedForSm90a : public ::testing::TestWithParam<Emitted> {};

TEST_P(EmittedForSm90a, NamesItsArchitectureWhereNvrtcCompilesForAnother) {
  const KernelSource source = source_of(GetParam().layer, GetParam().plans);
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
  const std::string text = source_of(GetParam().layer, GetParam().plans).text;
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

INSTANTIATE_TEST_SUITE_P(Each, EmittedForSm90a, ::testing::ValuesIn(kOnlyOnSm90a),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace convtgen::testing
