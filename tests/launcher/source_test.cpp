// Sources with their launch code through nvcc, with nothing of this project: where there is an nvcc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "generator/language/language.h"
#include "generator/launcher/names.h"
#include "generator/planner/candidates.h"
#include "tests/end_to_end/nvcc.h"
#include "tests/launcher/built_set.h"
#include "tests/launcher/with_packing.h"

namespace convtgen::test {
namespace {

using convtgen::testing::kNoNvcc;
using convtgen::testing::nvcc;
using ::testing::HasSubstr;

constexpr const char* kSourceLayers =
    "layer up { conv_transpose2d 8 -> 6; kernel 4; stride 2; padding 1; bias }\n"
    "layer int { conv_transpose2d 4 -> 2; kernel 3; dtype f16; input 1x8x8 }\n";

// Lists the kernels of both sets and makes a wrong call; says what a right one says.
constexpr const char* kProgram = R"(
#include <stdio.h>
#include "one.h"
#include "two.h"
int main(void) {
  one_sizes sizes;
  const float* array = (const float*)64;
  for (const one_kernel* const* kernel = one_kernels(); *kernel != NULL; ++kernel) {
    printf("%s for %s\n", (*kernel)->name, (*kernel)->architectures);
  }
  const int known = one::up_forward_sizes(1, 8, 8, &sizes);
  printf("%d %lld\n", known, (long long)sizes.out[1]);
  printf("%d %s\n", one::up_forward(NULL, array, array, (float*)4096, NULL, 0, 1, 8, 8, NULL), one_last_error());
  const int status = two_int_forward((const uint16_t*)64, (const uint16_t*)64, NULL, NULL, 0, NULL);
  printf("%d %s\n", status, two_last_error());
  return 0;
}
)";

std::vector<std::string> nvcc_command(const std::string& options) {
  return {"sh", "-c", nvcc() + " -std=c++17 -Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror " + options};
}

TEST(LaunchedByNvcc, TwoSetsOfTheSameLayersInOneProgram) {
  if (nvcc().empty()) {
    GTEST_SKIP() << kNoNvcc;
  }
  const Folder folder;
  const Setting here{.folder = folder.path()};
  write(folder / "layers.convt", kSourceLayers);
  ASSERT_EQ(convtgen({"emit", "layers.convt", "--arch", "sm_80,sm_90a", "-o", "out"}, here).exit, 0);
  for (const char* name : {"one", "two"}) {
    ASSERT_EQ(convtgen({"launcher", "layers.convt", "--namespace", name, "--format", "source", "--arch",
                        "sm_80,sm_90a,compute_80", "-o", "out"},
                       here)
                  .exit,
              0);
  }
  write(folder / "out/main.cpp", kProgram);
  const Outcome built =
      run_program(nvcc_command("-gencode arch=compute_80,code=[sm_80,compute_80] -gencode arch=compute_90a,code=sm_90a "
                               "--threads 2 -o program out/main.cpp out/one_*.cu out/two_*.cu"),
                  here);
  ASSERT_EQ(built.exit, 0) << built.out << built.err;
  const Outcome ran = run_program({folder / "program"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("up_forward for sm_80 sm_90a compute_80\nint_forward for sm_80 sm_90a compute_80\n"
                                 "0 16\n1 up_forward: x is null\n1 int_forward: y is null\n"));
}

// With CUDA's own headers.
TEST(LaunchedByNvcc, ArraysOfCudasHalfFloats) {
  if (nvcc().empty()) {
    GTEST_SKIP() << kNoNvcc;
  }
  const Folder folder;
  write(folder / "layers.convt",
        "layer a { conv_transpose1d 4 -> 2; kernel 3; dtype f16; input 1x8 }\n"
        "layer b { conv_transpose1d 4 -> 2; kernel 3; dtype bf16; input 1x8 }\n");
  const Setting here{.folder = folder.path()};
  ASSERT_EQ(convtgen({"launcher", "layers.convt", "--namespace", "net", "--arch", "sm_80", "--shared-only"}, here).exit,
            0);
  write(folder / "main.cpp",
        "#include \"net.h\"\n#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include \"net.h\"\n"
        "int call(const __half* x, __half* y) { return net::a_forward(x, x, y, nullptr, 0, nullptr); }\n"
        "int call(const __nv_bfloat16* x, __nv_bfloat16* y) { return net::b_forward(x, x, y, nullptr, 0, nullptr); }\n"
        "int call(const uint16_t* x, uint16_t* y) { return net::a_forward(x, x, y, nullptr, 0, nullptr); }\n");
  const Outcome built = run_program(nvcc_command("-c -o main.o main.cpp"), here);
  EXPECT_EQ(built.exit, 0) << built.out << built.err;
}

TEST(LaunchedByNvcc, TheKernelThatPacksIsInEveryPass) {
  if (nvcc().empty()) {
    GTEST_SKIP() << kNoNvcc;
  }
  const CodeTarget targets[] = {code_target_named("sm_80").value(), code_target_named("sm_90a").value()};
  const LayerSet set{"net", "net.h", LaunchFormat::kSource, false, {targets[0], targets[1]}};
  const SetKernel kernel{"up", parse_layer("conv_transpose2d 4 -> 2; kernel 2").value(), Direction::kForward};
  BuiltSet built;
  std::filesystem::create_directory(built.folder() / "out");
  std::vector<TargetKernel> made;
  for (const CodeTarget& code : targets) {
    const Problem problem{kernel.layer, kernel.direction, code.target};
    const Plan best = plan(problem).value().front();
    made.push_back(with_packing(kernel.layer, {code, best, specialize(problem, best).value()}));
    write(built.folder() / ("out/" + source_file("up_forward", code.target)), made.back().source.text);
  }
  built.write_launch_code(set, kernel, made);
  write(built.folder() / "out/main.cpp",
        "#include \"net.h\"\n"
        "int main() {\n"
        "  const float* a = (const float*)64;\n"
        "  const int status = net::up_forward(a, nullptr, (float*)4096, nullptr, 0, 1, 8, 8, nullptr);\n"
        "  return status == NET_INVALID_ARGUMENT && net::up_forward_workspace(1, 8, 8) == 128 ? 0 : 1;\n"
        "}\n");
  const Outcome outcome =
      run_program(nvcc_command("-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90a,code=sm_90a "
                               "--threads 2 -o program out/main.cpp out/net_*.cu && ./program && "
                               "nm program | grep -c 'T net_up_forward_sm_[0-9a]*_[01]'"),
                  {.folder = built.folder().path()});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "4\n");
}

TEST(LaunchedByNvcc, AnArchitectureThatTheSetHasNotIsAnError) {
  if (nvcc().empty()) {
    GTEST_SKIP() << kNoNvcc;
  }
  const Folder folder;
  const Setting here{.folder = folder.path()};
  write(folder / "layers.convt", kSourceLayers);
  ASSERT_EQ(convtgen({"emit", "layers.convt", "--arch", "sm_80,sm_90a", "-o", "out"}, here).exit, 0);
  ASSERT_EQ(convtgen({"launcher", "layers.convt", "--namespace", "net", "--format", "source", "--arch", "sm_80,sm_90a",
                      "-o", "out"},
                     here)
                .exit,
            0);
  const Outcome built = run_program(nvcc_command("-arch=sm_86 -c -o x.o out/net_up_forward.cu"), here);
  EXPECT_NE(built.exit, 0);
  EXPECT_THAT(built.out + built.err, HasSubstr("up_forward has sources for sm_80, sm_90a: -gencode "
                                               "arch=compute_80,code=sm_80"));
}

}  // namespace
}  // namespace convtgen::test
