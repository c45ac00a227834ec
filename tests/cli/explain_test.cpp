#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const Setting kWithoutNvrtc{.environment = {{"CONVTGEN_NVRTC", "/nowhere"}}};

TEST(Explain, TellsThePlanAndTheFloor) {
  const Outcome outcome =
      convtgen({"explain", seeds(), "--layer", "asymmetric"}, {.environment = {{"ASAN_OPTIONS", "detect_leaks=0"}}});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  for (const char* word :
       {"template", "direct", "sm_90a", "tile", "why", "registers", "shared", "launch", "flops", "bytes", "floor"}) {
    EXPECT_THAT(outcome.out, HasSubstr(word));
  }
  EXPECT_THAT(outcome.out, HasSubstr("180 Gflop"));  // 8 * 32 * 32 * 512 * 1024 * 21 * 2, less the borders
  EXPECT_THAT(outcome.out, HasSubstr("1.00 GiB"));
  EXPECT_THAT(outcome.out, HasSubstr("y 8x32x512x1024"));
}

TEST(Explain, TellsTheCandidatesWithTheirTimes) {
  const std::string text = "layer up { conv_transpose2d 2 -> 2; kernel 2; stride 2; dtype f16; input 1x8x8 }";
  const Folder folder;
  write(folder / "up.convt", text);
  const Outcome outcome = convtgen({"explain", folder / "up.convt"}, kWithoutNvrtc);
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("candidates  direct: a block makes"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("shift_gemm: [0-9.]+ us predicted; a block makes"));
}

TEST(Explain, AllSeedsOnEveryArchitecture) {
  for (const char* architecture : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120"}) {
    const Outcome outcome = convtgen({"explain", seeds(), "--arch", architecture}, kWithoutNvrtc);
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(architecture));
    EXPECT_THAT(outcome.out, HasSubstr("strided_grouped"));
  }
}

TEST(Explain, WithoutNvrtcItSaysSo) {
  const Outcome outcome = convtgen({"explain", seeds(), "--layer", "strided"}, kWithoutNvrtc);
  EXPECT_EQ(outcome.exit, 0);
  EXPECT_THAT(outcome.out, HasSubstr("registers   not known: NVRTC"));
  EXPECT_THAT(outcome.out, HasSubstr("floor"));
}

TEST(Explain, OpenSizesAreAskedFor) {
  const Outcome open = convtgen({"explain", seeds(), "--layer", "asymmetric_dynamic"}, kWithoutNvrtc);
  EXPECT_EQ(open.exit, 0);
  EXPECT_THAT(open.out, HasSubstr("--input"));
  EXPECT_THAT(open.out, Not(HasSubstr("floor")));
  const Outcome given =
      convtgen({"explain", seeds(), "--layer", "asymmetric_dynamic", "--input", "8x512x1024"}, kWithoutNvrtc);
  EXPECT_EQ(given.exit, 0);
  EXPECT_THAT(given.out, HasSubstr("180 Gflop"));
  const Outcome wrong = convtgen({"explain", seeds(), "--input", "8x512"});
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_THAT(wrong.err, HasSubstr("batch x height x width, as in 8x32x64"));
}

TEST(Explain, PredictionsAreForTheSizesThatAreGiven) {
  const std::vector<std::string> open{"explain", "--no-compile", "-e",
                                      "conv_transpose2d 64 -> 64; kernel 3; dtype f16; input ?x64x?"};
  const auto with_input = [&](const char* input) {
    std::vector<std::string> arguments = open;
    arguments.insert(arguments.end(), {"--input", input});
    return convtgen(arguments).out;
  };
  const auto candidates = [](const std::string& text) {
    return text.substr(text.find("candidates"), text.find("\n  registers") - text.find("candidates"));
  };
  const std::string assumed = convtgen(open).out;
  EXPECT_THAT(assumed, HasSubstr("assumed     a batch of 16, a width of 256: predictions are for that"));
  EXPECT_THAT(with_input("16x64x256"), Not(HasSubstr("assumed")));
  EXPECT_EQ(candidates(with_input("16x64x256")), candidates(assumed));
  EXPECT_NE(candidates(with_input("256x64x256")), candidates(assumed));
}

TEST(Explain, DoesNotCompileWhereThatIsNotWanted) {
  const Folder folder;
  const Setting setting{
      .environment = {{"CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC},
                      {"CONVTGEN_FAKE_NVRTC_COUNT", folder / "compiles"},
                      {"CONVTGEN_CACHE_DIR", folder / "cache"}}};
  const std::string layer = "conv_transpose2d 16 -> 16; kernel 3; stride 64";
  const Outcome without = convtgen({"explain", "--no-compile", "-e", layer}, setting);
  EXPECT_EQ(without.exit, 0);
  EXPECT_EQ(without.err, "");
  EXPECT_THAT(without.out, HasSubstr("registers   not counted: --no-compile"));
  EXPECT_FALSE(std::filesystem::exists(folder / "compiles"));
  const Outcome with = convtgen({"explain", "-e", layer}, setting);
  EXPECT_THAT(with.err, HasSubstr("lines: NVRTC may take about "));
  EXPECT_EQ(read(folder / "compiles").size(), 1u);
  const Outcome again = convtgen({"explain", "-e", layer}, setting);
  EXPECT_EQ(again.err, "") << "the cache has it";
  EXPECT_EQ(again.out, with.out);
  EXPECT_EQ(read(folder / "compiles").size(), 1u);
}

TEST(Explain, Parameters) {
  EXPECT_THAT(convtgen({"explain", seeds(), "--layer", "strided", "--parameters"}, kWithoutNvrtc).out,
              HasSubstr("kernel_w = 7"));
  EXPECT_THAT(convtgen({"explain", seeds(), "--layer", "strided"}, kWithoutNvrtc).out, Not(HasSubstr("kernel_w = 7")));
}

}  // namespace
}  // namespace convtgen::test
