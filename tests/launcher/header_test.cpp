// The public header as a program includes it that was given nothing else: for C and C++, and with CUDA's 16-bit floats.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "generator/language/language.h"
#include "tests/launcher/built_set.h"

namespace convtgen::test {
namespace {

class Header : public testing::Test {
 protected:
  void SetUp() override {
    const LayerSet set{"net", "net.h", LaunchFormat::kCubin, false, {code_target_named("sm_80").value()}};
    const auto kernel = [](const std::string& name, const std::string& text) {
      return SetKernel{name, parse_layer(text).value(), Direction::kForward};
    };
    const auto files = shared_files(set, {kernel("half", "conv_transpose2d 4 -> 2; kernel 3; dtype f16; bias"),
                                          kernel("brain", "conv_transpose1d 4 -> 2; kernel 3; dtype bf16; input 1x8"),
                                          kernel("full", "conv_transpose2d 4 -> 2; kernel 3; input 1x8x8")});
    ASSERT_TRUE(files) << files.error().message;
    write(folder_ / "net.h", files->front().text);
  }

  /// A program of this text, and what it prints.
  Outcome run(const Compiler& compiler, const std::string& text) const {
    write(folder_ / "main.c", text);
    std::vector<std::string> command = compiler.command;
    command.insert(command.end(), {"-I.", "-o", "main", "main.c"});
    const Outcome built = run_program(command, {.folder = folder_.path()});
    return built.exit == 0 ? run_program({folder_ / "main"}) : built;
  }

  Folder folder_;
};

TEST_F(Header, StandsAloneInCAndCpp) {
  for (const Compiler& compiler : strict_compilers()) {
    const Outcome outcome = run(compiler,
                                "#include \"net.h\"\n#include \"net.h\"\n"
                                "int main(void) { net_sizes sizes; return (int)sizeof sizes.batch - 8; }\n");
    EXPECT_EQ(outcome.exit, 0) << compiler.name << ": " << outcome.err;
  }
}

// CUDA's types as its headers declare them.
constexpr const char* kCudaFloats =
    "#define __CUDA_FP16_TYPES_EXIST__\nstruct __half { unsigned short bits; };\n"
    "#define __CUDA_BF16_TYPES_EXIST__\nstruct __nv_bfloat16 { unsigned short bits; };\n";
// The functions of the set, and calls with arrays of those types.
constexpr const char* kCalls = R"(
static const void* seen;
int net_half_forward(const uint16_t* x, const uint16_t*, const uint16_t* bias, uint16_t* y, void*, size_t, int64_t, int64_t,
                     int64_t width, void*) {
  seen = bias;
  return y == nullptr && x != nullptr ? static_cast<int>(width) : -1;
}
int net_brain_forward(const uint16_t*, const uint16_t* weight, uint16_t*, void*, size_t, void*) {
  seen = weight;
  return 4;
}
int main() {
  const __half half[1] = {};
  __half* const no_half = nullptr;
  const __nv_bfloat16 brain[1] = {};
  __nv_bfloat16 y[1] = {};
  const uint16_t bits[1] = {};
  if (net::half_forward(half, nullptr, half, no_half, nullptr, 0, 1, 2, 3, nullptr) != 3 || seen != half) return 1;
  if (net::brain_forward(brain, brain, y, nullptr, 0, nullptr) != 4 || seen != brain) return 2;
  if (net::half_forward(bits, bits, bits, nullptr, nullptr, 0, 1, 2, 5, nullptr) != 5 || seen != bits) return 3;
  return 0;
}
)";

TEST_F(Header, TakesCudasFloatsWhereTheyAreDeclared) {
  const Compiler cpp = strict_compilers().back();
  const std::string header = "#include \"net.h\"\n";
  for (const std::string& includes : {kCudaFloats + header, header + kCudaFloats + header + header}) {
    const Outcome outcome = run(cpp, includes + kCalls);
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
  }
}

TEST_F(Header, NamesNoTypeOfCudaWhereThereIsNone) {
  for (const Compiler& compiler : strict_compilers()) {
    std::vector<std::string> command = compiler.command;
    command.insert(command.end(), {"-E", "-P", "-x", compiler.name == "C99" ? "c" : "c++", "net.h"});
    const Outcome outcome = run_program(command, {.folder = folder_.path()});
    ASSERT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_THAT(outcome.out, testing::HasSubstr("net_brain_forward("));
    EXPECT_THAT(outcome.out, testing::Not(testing::ContainsRegex("__half|__nv_bfloat16")));
  }
}

}  // namespace
}  // namespace convtgen::test
