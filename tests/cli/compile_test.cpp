#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

using testing::HasSubstr;

/// LeakSanitizer, in builds that have it, gives up now and then on the threads that NVRTC leaves behind.
const std::map<std::string, std::string> kNoLeakCheck{{"ASAN_OPTIONS", "detect_leaks=0"}};

/// What a machine with no NVRTC must say; with one, the rest of the test goes on.
bool has_nvrtc() {
  if (convtgen({"doctor", "--quiet", "nvrtc"}).exit == 0) {
    return true;
  }
  const Outcome outcome = convtgen({"compile", seeds(), "-o", "/nowhere"});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_THAT(outcome.err, HasSubstr("NVRTC"));
  return false;
}

TEST(Compile, WritesCubinsOfEveryArchitecture) {
  if (!has_nvrtc()) {
    return;
  }
  const Folder folder;
  const Outcome outcome =
      convtgen({"compile", seeds(), "--layer", "strided", "--arch", "sm_75,sm_80", "--arch", "sm_90a", "-o", "out"},
               {.environment = kNoLeakCheck, .folder = folder.path()});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  for (const char* architecture : {"sm_75", "sm_80", "sm_90a"}) {
    const std::string name = std::string("out/strided.") + architecture + ".cubin";
    EXPECT_EQ(read(folder / name).substr(1, 3), "ELF");
    EXPECT_THAT(outcome.out, HasSubstr(name));
  }
  EXPECT_THAT(outcome.out, HasSubstr("registers"));
}

TEST(Compile, PtxIntoOneFile) {
  if (!has_nvrtc()) {
    return;
  }
  const Folder folder;
  const Outcome outcome =
      convtgen({"compile", "-e", "conv_transpose2d 4 -> 2; kernel 3", "--format", "ptx", "-o", "up.ptx"},
               {.environment = kNoLeakCheck, .folder = folder.path()});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(read(folder / "up.ptx"), HasSubstr(".target sm_90a"));
}

TEST(Compile, WithoutNvrtcItSaysWhatToDo) {
  const Outcome outcome = convtgen({"compile", seeds()}, {.environment = {{"CONVTGEN_NVRTC", "/nowhere"}}});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_THAT(outcome.err, HasSubstr("/nowhere"));
  EXPECT_THAT(outcome.err, HasSubstr("nvidia-cuda-nvrtc"));
}

TEST(Compile, WrongUsage) {
  EXPECT_EQ(convtgen({"compile", seeds(), "--arch", "sm_90"}).exit, 2);
  EXPECT_EQ(convtgen({"compile", seeds(), "--format", "exe"}).exit, 2);
  EXPECT_EQ(convtgen({"compile"}).exit, 2);
}

}  // namespace
}  // namespace convtgen::test
