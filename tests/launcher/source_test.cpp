// Sources with their launch code through nvcc, with nothing of this project: where there is an nvcc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

using testing::HasSubstr;

constexpr const char* kLayers =
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
  printf("%d %lld\n", known, (long long)sizes.out_height);
  printf("%d %s\n", one::up_forward(NULL, array, array, (float*)4096, 1, 8, 8, NULL), one_last_error());
  const int status = two_int_forward((const uint16_t*)64, (const uint16_t*)64, NULL, NULL);
  printf("%d %s\n", status, two_last_error());
  return 0;
}
)";

std::string nvcc() {
  if (const char* named = getenv("CUDACXX"); named != nullptr && *named != '\0') {
    return named;
  }
  for (const std::string path : {"nvcc", "/usr/local/cuda/bin/nvcc"}) {
    if (run_program({"sh", "-c", "command -v " + path}).exit == 0) {
      return path;
    }
  }
  return "";
}

std::vector<std::string> nvcc_command(const std::string& options) {
  return {"sh", "-c", nvcc() + " -std=c++17 -Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror " + options};
}

TEST(LaunchedByNvcc, TwoSetsOfTheSameLayersInOneProgram) {
  if (nvcc().empty()) {
    GTEST_SKIP() << "there is no nvcc: cmake/install_nvcc.sh gets one";
  }
  const Folder folder;
  const Setting here{.folder = folder.path()};
  write(folder / "layers.convt", kLayers);
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

TEST(LaunchedByNvcc, AnArchitectureThatTheSetHasNotIsAnError) {
  if (nvcc().empty()) {
    GTEST_SKIP() << "there is no nvcc: cmake/install_nvcc.sh gets one";
  }
  const Folder folder;
  const Setting here{.folder = folder.path()};
  write(folder / "layers.convt", kLayers);
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
