#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Doctor, TellsOfEveryPart) {
  const Folder folder;
  const Outcome outcome = convtgen({"doctor"}, {.environment = {{"CONVTGEN_CACHE_DIR", folder.path().string()}}});
  EXPECT_EQ(outcome.exit, 0);
  for (const char* word : {"NVRTC", "CUDA driver", "host device", "cache folder"}) {
    EXPECT_THAT(outcome.out, HasSubstr(word));
  }
  EXPECT_THAT(outcome.out, HasSubstr(folder.path().string()));
}

TEST(Doctor, SaysWhyAPartIsMissing) {
  const Setting without{
      .environment = {{"CONVTGEN_NVRTC", "/nowhere/nvrtc"}, {"CONVTGEN_CUDA_DRIVER", "/nowhere/cuda"}}};
  const Outcome outcome = convtgen({"doctor"}, without);
  EXPECT_EQ(outcome.exit, 0);
  EXPECT_THAT(outcome.out, HasSubstr("[missing] NVRTC"));
  EXPECT_THAT(outcome.out, HasSubstr("/nowhere/nvrtc"));
  EXPECT_THAT(outcome.out, HasSubstr("[missing] CUDA driver"));
  EXPECT_THAT(outcome.out, HasSubstr("/nowhere/cuda"));
  EXPECT_THAT(outcome.out, HasSubstr("Without it does not work: run --device cuda."));
  EXPECT_EQ(convtgen({"doctor", "nvrtc"}, without).exit, 2);
  EXPECT_EQ(convtgen({"doctor", "cuda", "host"}, without).exit, 2);
}

TEST(Doctor, NoCompiler) {
  const Outcome outcome = convtgen({"doctor", "host"}, {.environment = {{"PATH", "/nowhere"}, {"CXX", ""}}});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_THAT(outcome.out, HasSubstr("[missing] host device"));
  EXPECT_THAT(outcome.out, HasSubstr("g++"));
}

// Never another one instead.
TEST(Doctor, TheCompilerThatCxxNamesIsTheOne) {
  const Outcome missing = convtgen({"doctor", "host"}, {.environment = {{"CXX", "/nowhere/g++ -O2"}}});
  EXPECT_EQ(missing.exit, 2);
  EXPECT_THAT(missing.out, HasSubstr("[missing] host device"));
  EXPECT_THAT(missing.out, HasSubstr("the environment variable CXX names: /nowhere/g++ can't be started"));
  const Outcome none = convtgen({"doctor", "host"}, {.environment = {{"CXX", "true"}}});
  EXPECT_EQ(none.exit, 2);
  EXPECT_THAT(none.out, HasSubstr("the environment variable CXX names: true is neither GCC nor Clang"));
}

TEST(Doctor, QuietForScripts) {
  const Outcome host = convtgen({"doctor", "--quiet", "host"});
  EXPECT_EQ(host.exit, 0);
  EXPECT_EQ(host.out + host.err, "");
  const Outcome nvrtc = convtgen({"doctor", "--quiet", "nvrtc"}, {.environment = {{"CONVTGEN_NVRTC", "/nowhere"}}});
  EXPECT_EQ(nvrtc.exit, 2);
  EXPECT_EQ(nvrtc.out + nvrtc.err, "");
  EXPECT_THAT(convtgen({"doctor", "host"}).out, Not(HasSubstr("NVRTC")));
  EXPECT_EQ(convtgen({"doctor", "gpu"}).exit, 2);
}

}  // namespace
}  // namespace convtgen::test
