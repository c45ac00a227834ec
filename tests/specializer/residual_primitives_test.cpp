// Device primitives that small programs call, and the kernels of a source.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/specializer/small_program.h"

namespace convtgen {
namespace {

/// The lines that contain one of the words.
std::string lines_with(const std::string& text, std::initializer_list<std::string_view> words) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    const std::string_view line = std::string_view(text).substr(at, end - at);
    if (std::ranges::any_of(words, [&](std::string_view word) { return line.find(word) != line.npos; })) {
      out += std::string(line) + "\n";
    }
    at = end + 1;
  }
  return out;
}

TEST(Residual, PrimitivesArePrintedOnceForEachSetOfStaticArguments) {
  const Result<KernelSource> source = specialised(kPrimitives, R"sexp(
    (declare @1 (array float (* P::n 8)) d)
    (declare @2 (array (array float 4) 2) narrow)
    (declare @3 (array "unsigned int" 4) a)
    (for @4 unrolled (declare @4 int i 0) (< i 2) (++ i)
      (do @5 (call wgmma_rs i 0 d a 7ull size)))
    (do @6 (call wgmma_rs (- P::n 2) 0 d a 9ull (- P::n 3)))
    (do @7 (call wgmma_rs 2 0 (at narrow 1) a 7ull 1))
    (do @8 (call setmaxnreg_increase (* P::n 32))))sexp");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(lines_with(source->text, {"#", "wgmma_m64n", "setmaxnreg_"}),
            R"(#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "for sm_90a alone: nvcc -gencode arch=compute_90a,code=sm_90a, or NVRTC --gpu-architecture=sm_90a"
#elif !defined(CONVTGEN_HOST_DEVICE)
__device__ __forceinline__ void setmaxnreg_increase_96();
__device__ __forceinline__ void wgmma_m64n48k16_bf16_rs(float (&d)[24], const unsigned int (&a)[4],
__device__ __forceinline__ void wgmma_m64n48k16_f16_rs(float (&d)[24], const unsigned int (&a)[4],
__device__ __forceinline__ void wgmma_m64n8k8_tf32_rs(float (&d)[4], const unsigned int (&a)[4], unsigned long long b,
#endif
  wgmma_m64n48k16_f16_rs(d, a, 7ull, size);
  wgmma_m64n48k16_bf16_rs(d, a, 7ull, size);
  wgmma_m64n48k16_bf16_rs(d, a, 9ull, 0);
  wgmma_m64n8k8_tf32_rs(narrow[1], a, 7ull, 1);
  setmaxnreg_increase_96();
#ifndef CONVTGEN_HOST_DEVICE
__device__ __forceinline__ void setmaxnreg_increase_96() {
__device__ __forceinline__ void wgmma_m64n48k16_bf16_rs(float (&d)[24], const unsigned int (&a)[4],
__device__ __forceinline__ void wgmma_m64n48k16_f16_rs(float (&d)[24], const unsigned int (&a)[4],
__device__ __forceinline__ void wgmma_m64n8k8_tf32_rs(float (&d)[4], const unsigned int (&a)[4], unsigned long long b,
#endif
)");
}

TEST(Residual, OnlyReachedPrimitivesArePrinted) {
  EXPECT_EQ(body_of(R"sexp(
    (if @1 P::flag (then (do @2 (call setmaxnreg_increase 40))))
    (do @3 (= (at y 0) 0)))sexp",
                    kPrimitives),
            "  y[0] = 0;\n");
  const Result<KernelSource> source =
      specialised(kPrimitives, "(if @1 P::flag (then (do @2 (call setmaxnreg_increase 40))))");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(source->text.find("setmaxnreg"), std::string::npos) << source->text;
}

TEST(Residual, ArraysByReferenceStandInParentheses) {
  const Result<KernelSource> source = specialised(R"sexp(
  (function @20 device void clear
    (argument (reference (array (array float P::n) 2)) sums)
    (argument (pointer (array (const float) 4)) rows)
    (do @1 (= (at (at sums 1) 0) (at (* rows) 3))))
)sexp",
                                                  R"sexp(
    (declare @1 (array (array float P::n) 2) sums)
    (declare @2 (array (const float) 4) rows (init))
    (do @3 (call clear sums (& rows))))sexp");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_NE(source->text.find("void clear(float (&sums)[2][3], const float (*rows)[4]) {"), std::string::npos)
      << source->text;
}

TEST(Residual, OfAPrimitivesCasesThoseThatAreAskedForArePrinted) {
  constexpr std::string_view kItems = R"sexp(
  (primitive @9 acts void wait (uses) "// Waits.\n__device__ void wait(int n) {\n  switch (n) {\n    case 0:\n      asm volatile(\"w 0;\"\n                   ::: \"memory\");\n      break;\n    case 1:\n      asm volatile(\"w 1;\");\n      break;\n    default:\n      __trap();\n  }\n}")
)sexp";
  const auto text_with = [&](const std::string& call) {
    return specialised(kItems, call + "(do @9 (= (at y 0) 0))").value().text;
  };
  EXPECT_NE(text_with("(do @1 (call wait 1))")
                .find("  switch (n) {\n    case 1:\n      asm volatile(\"w 1;\");\n      break;\n"
                      "    default:\n      __trap();\n  }\n}\n"),
            std::string::npos)
      << text_with("(do @1 (call wait 1))");
  EXPECT_NE(text_with("(do @1 (call wait 0))")
                .find("    case 0:\n      asm volatile(\"w 0;\"\n                   ::: \"memory\");\n      break;\n"),
            std::string::npos);
  const std::string all = text_with("(do @1 (call wait 0)) (do @2 (call wait size))");
  EXPECT_NE(all.find("    case 0:\n"), std::string::npos) << all;
  EXPECT_NE(all.find("    case 1:\n"), std::string::npos) << all;
}

TEST(Residual, TensorMapsAreParametersOfTheKernel) {
  const std::string text = std::string(R"sexp((program t
  (file "device/tensor_copy.h")
  (verbatim @20 TensorMap "struct TensorMap {};")
  (primitive @70 acts void tensor_prefetch (uses TensorMap) "void tensor_prefetch(const TensorMap& map) {}")
  (file "t.cu")
  (function @80 device void fetch
    (argument (reference (const TensorMap)) map)
    (do @1 (call tensor_prefetch map)))
  (function @100 kernel void t
    (argument (const TensorMap) unused grid_constant)
    (argument (const TensorMap) map grid_constant)
    (do @1 (call fetch map)))))sexp");
  const Result<Program> program = read_program(text);
  ASSERT_TRUE(program) << program.error().message;
  const Result<KernelSource> source = specialize_program(*program, {}, "// head", "kernel", "sm_90a");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(source->text, R"(// head

namespace kernel_source {

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

struct TensorMap {};

void tensor_prefetch(const TensorMap& map);

#endif

extern "C" __global__ void kernel(__grid_constant__ const TensorMap map) {
  tensor_prefetch(map);
}

// ---- Device primitives ----

#ifndef CONVTGEN_HOST_DEVICE

void tensor_prefetch(const TensorMap& map) {}

#endif

}  // namespace kernel_source
using kernel_source::kernel;
)");
  EXPECT_EQ(source->main().parameters, (std::vector<KernelParameter>{{"map", "TensorMap"}}));
  EXPECT_TRUE(source->main().parameters[0].is_tensor_map());
  EXPECT_FALSE((KernelParameter{"x", "const float*"}).is_tensor_map());

  EXPECT_EQ(specialize_program(*program, {}, "// head", "kernel", "sm_80").error().message,
            "t.cu:81: sm_80 has no 'tensor_prefetch'; sm_90a, sm_100, sm_103, sm_110, sm_120, sm_121 have");
}

constexpr std::string_view kPacking = R"sexp(
  (function @90 kernel void pack_weights
    (launch_bounds (* P::n 64))
    (argument (restrict (pointer (const P::Element))) weight)
    (argument (pointer P::Element) packed)
    (do @91 (= (at packed 0) (at weight 1))))
)sexp";

/// A kernel that packs the weights, and the one that reads them so.
LaunchPlan packing_launch() {
  LaunchPlan launch;
  launch.tensors = tensors_of(Layer{}, Direction::kForward, 0);
  launch.regions = {{.name = "packed", .what = "packed weights", .bytes = {.constant = 4096}, .kept = true}};
  launch.kernels = {{.function = "pack_weights",
                     .suffix = "_pack",
                     .grid = {.axes = {{{.constant = 4096}, 16}}},
                     .per_thread = true,
                     .once = true},
                    {.function = "t", .suffix = "", .threads = 64, .shared_bytes = 1024}};
  return launch;
}

TEST(Residual, AllKernelsOfTheLaunchPlanAreInTheSource) {
  const LaunchPlan launch = packing_launch();
  const Result<KernelSource> with = specialised(kPacking, R"sexp(
    (argument (restrict (pointer (const P::Element))) packed)
    (do @101 (= (at y 0) (at packed 0)))
)sexp",
                                                "sm_90a", launch);
  ASSERT_TRUE(with) << with.error().message;
  EXPECT_EQ(with->recipe.regions, launch.regions);
  EXPECT_EQ(with->recipe.tensors, launch.tensors);
  ASSERT_EQ(with->recipe.kernels.size(), 2u);
  const RecipeKernel& packs = with->recipe.kernels[0];
  EXPECT_EQ(packs.symbol, "kernel_pack");
  EXPECT_EQ(packs.threads, 192) << "its launch bounds";
  EXPECT_EQ(packs.parameters, (std::vector<KernelParameter>{{"weight", "const float*"}, {"packed", "float*"}}));
  EXPECT_EQ(packs.grid.blocks({}), 2) << "16 bytes a thread";
  EXPECT_TRUE(packs.once);
  using enum KernelArgument::Kind;
  EXPECT_EQ(packs.arguments,
            (std::vector<KernelArgument>{{.kind = kTensor, .index = static_cast<std::uint8_t>(Role::kWeight)},
                                         {.kind = kRegion, .index = 0}}));
  EXPECT_EQ(&with->main(), &with->recipe.kernels[1]);
  EXPECT_EQ(with->main().threads, 64);
  EXPECT_EQ(with->main().shared_bytes, 1024);
  EXPECT_EQ(with->main().parameters, (std::vector<KernelParameter>{{"y", "float*"}, {"packed", "const float*"}}));
  const std::size_t packing = with->text.find("__launch_bounds__(192)");
  const std::size_t kernel = with->text.find("__launch_bounds__(96)");
  EXPECT_NE(with->text.find("kernel_pack(const float* __restrict__ weight, float* packed)", packing), std::string::npos)
      << with->text;
  EXPECT_LT(packing, kernel);
  EXPECT_TRUE(
      with->text.ends_with("\n}  // namespace kernel_source\nusing kernel_source::kernel_pack;\n"
                           "using kernel_source::kernel;\n"))
      << with->text;

  const Result<KernelSource> without = specialised(kPacking, "(do @101 (= (at y 0) (at x 0)))");
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_EQ(without->recipe.kernels.size(), 1u);
  EXPECT_EQ(without->text.find("kernel_pack"), std::string::npos) << without->text;
}

TEST(Residual, WrongLaunchPlansAreRefused) {
  LaunchPlan none = packing_launch();
  none.kernels[0].function = "fold_weights";
  EXPECT_EQ(specialised(kPacking, "(do @101 (= (at y 0) (at x 0)))", "sm_90a", none).error().message,
            "the template t has no kernel 'fold_weights'");
  LaunchPlan nowhere = packing_launch();
  nowhere.regions.clear();
  EXPECT_EQ(specialised(kPacking, "(do @101 (= (at y 0) (at x 0)))", "sm_90a", nowhere).error().message,
            "the kernel kernel_pack has a parameter 'float* packed' that no caller knows");
}

TEST(ResidualErrors, PrimitivesThatTheArchitectureLacks) {
  const auto message = [](std::string_view items, std::string_view body, std::string_view architecture) {
    const Result<KernelSource> source = specialised(items, body, architecture);
    return source ? std::string() : source.error().message;
  };
  constexpr std::string_view kCall = "(do @4 (call setmaxnreg_increase 40))";
  EXPECT_EQ(message(kPrimitives, kCall, "sm_90a"), "");
  EXPECT_EQ(message(kPrimitives, kCall, "sm_120"), "t.cu:104: sm_120 has no 'setmaxnreg_increase_40'; sm_90a has");
  EXPECT_EQ(message(kPrimitives, "(if @3 P::flag (then (do @4 (call setmaxnreg_increase 40))))", "sm_120"), "");
  // One that nobody calls but another primitive, and those that are not of the project's headers.
  constexpr std::string_view kOthers = R"sexp(
  (primitive @9 acts void own (uses elect_one) "void own() {\n  elect_one();\n}")
  (file "device/warp.h")
  (primitive @20 computes bool elect_one (uses) "bool elect_one() {}")
  (primitive @30 acts void nameless (uses) "void nameless() {}")
  (file "t.cu")
)sexp";
  EXPECT_EQ(message(kOthers, "(do @4 (call own))", "sm_90a"), "");
  EXPECT_EQ(message(kOthers, "(do @4 (call own))", "sm_80"),
            "the template t: sm_80 has no 'elect_one'; sm_90a, sm_100, sm_103, sm_110, sm_120, sm_121 have");
  EXPECT_EQ(message(kOthers, "(do @4 (call nameless))", "sm_80"), "t.cu:104: no primitive 'nameless'");
}

}  // namespace
}  // namespace convtgen
