// What the shared library shows and how its structs are laid out: programs that are built must go on working.
#include <gtest/gtest.h>

#include <convtgen/convtgen.h>
#include <convtgen/host.h>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

extern "C" int convtgen_test_header_in_c(void);

namespace {

std::set<std::string> lines_of(std::istream& text) {
  std::set<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    if (!line.empty() && line.front() != '#') {
      lines.insert(line);
    }
  }
  return lines;
}

TEST(AbiTest, ShowsTheListedFunctionsAndNothingElse) {
  std::stringstream shown;
  FILE* pipe = popen("nm -D --defined-only '" CONVTGEN_SHARED_LIBRARY "' | awk '$2 != \"A\" { print $3 }'", "r");
  ASSERT_NE(pipe, nullptr);
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) {
    shown << static_cast<char>(c);
  }
  pclose(pipe);
  std::ifstream golden(CONVTGEN_ABI_GOLDEN);
  EXPECT_EQ(lines_of(shown), lines_of(golden))
      << "a name that goes or changes breaks programs; one that comes is added "
         "to " CONVTGEN_ABI_GOLDEN;
}

// As convtgen.h says, "Versions".
TEST(AbiTest, TheSonameIsTheMinorVersions) {
  FILE* pipe = popen("readelf -d '" CONVTGEN_SHARED_LIBRARY "' | sed -n 's/.*SONAME.*\\[\\(.*\\)\\].*/\\1/p'", "r");
  ASSERT_NE(pipe, nullptr);
  char line[256] = {};
  EXPECT_NE(std::fgets(line, sizeof(line), pipe), nullptr);
  pclose(pipe);
  EXPECT_EQ(std::string(line), "libconvtgen.so." + std::to_string(CONVTGEN_VERSION_MAJOR) + "." +
                                   std::to_string(CONVTGEN_VERSION_MINOR) + "\n");
}

TEST(AbiTest, StructsKeepTheirLayout) {
  EXPECT_EQ(convtgen_test_header_in_c(), static_cast<int>(sizeof(convtgen_shape) + sizeof(convtgen_counters)));
  EXPECT_EQ(sizeof(convtgen_axis), 56u);
  EXPECT_EQ(sizeof(convtgen_layer_fields), 296u);
  EXPECT_EQ(offsetof(convtgen_layer_fields, in_channels), 16u);
  EXPECT_EQ(offsetof(convtgen_layer_fields, axes), 48u);
  EXPECT_EQ(offsetof(convtgen_layer_fields, fuse), 216u);
  EXPECT_EQ(offsetof(convtgen_layer_fields, directions), 256u);
  EXPECT_EQ(offsetof(convtgen_layer_fields, streaming), 264u);
  EXPECT_EQ(offsetof(convtgen_layer_fields, fuse_input), 272u);
  EXPECT_EQ(offsetof(convtgen_layer_fields, x_channels), 280u);
  EXPECT_EQ(sizeof(convtgen_stream), 40u);
  EXPECT_EQ(sizeof(convtgen_sizes), 32u);
  EXPECT_EQ(sizeof(convtgen_shape), 120u);
  EXPECT_EQ(offsetof(convtgen_shape, element_bytes), 112u);
  EXPECT_EQ(sizeof(convtgen_onnx_tensor), 48u);
  EXPECT_EQ(sizeof(convtgen_onnx_node), 176u);
  EXPECT_EQ(offsetof(convtgen_onnx_node, weight), 80u);
  EXPECT_EQ(sizeof(convtgen_tensors), 88u);
  EXPECT_EQ(offsetof(convtgen_tensors, workspace), 72u);
  EXPECT_EQ(sizeof(convtgen_tune_options), 48u);
  EXPECT_EQ(offsetof(convtgen_tune_options, tensors), 24u);
  EXPECT_EQ(sizeof(convtgen_counters), 72u);
  EXPECT_EQ(sizeof(convtgen_host_array), 24u);
  EXPECT_EQ(sizeof(convtgen_host_map), 144u);
  EXPECT_EQ(sizeof(convtgen_host_argument), 24u);
  EXPECT_EQ(sizeof(convtgen_host_kernel), 48u);
  EXPECT_EQ(sizeof(convtgen_host_call_fields), 56u);
  EXPECT_EQ(offsetof(convtgen_host_call_fields, kernels), 40u);
  EXPECT_EQ(CONVTGEN_GRAD_WEIGHT, 2);
  EXPECT_EQ(CONVTGEN_GRAD_BIAS, 3);
  EXPECT_EQ(CONVTGEN_INTERNAL, 13);
  EXPECT_EQ(CONVTGEN_LOG_DEBUG, 4);
}

}  // namespace
