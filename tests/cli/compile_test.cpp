#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

using testing::HasSubstr;

/// LeakSanitizer, in builds that have it, gives up now and then on the threads that NVRTC leaves.
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
    const std::string name = std::string("out/strided_forward.") + architecture + ".cubin";
    EXPECT_EQ(read(folder / name).substr(1, 3), "ELF");
    EXPECT_THAT(outcome.out, HasSubstr(name));
  }
  EXPECT_THAT(outcome.out, HasSubstr("registers"));
}

class CompileWithFake : public testing::Test {
 protected:
  [[nodiscard]] Outcome compile(std::vector<std::string> arguments, const std::string& milliseconds = "0") const {
    arguments.insert(arguments.begin(), "compile");
    return convtgen(std::move(arguments), {.environment = {{"CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC},
                                                           {"CONVTGEN_FAKE_NVRTC_MS", milliseconds},
                                                           {"CONVTGEN_CACHE_DIR", folder_ / "cache"}},
                                           .folder = folder_.path()});
  }
  Folder folder_;
};

TEST_F(CompileWithFake, SeveralKernelsAtATime) {
  const std::vector<std::string> arguments{"-e",     "conv_transpose2d 1 -> 1; kernel 1",
                                           "-e",     "conv_transpose2d 1 -> 2; kernel 1",
                                           "-e",     "conv_transpose2d 1 -> 3; kernel 1",
                                           "-e",     "conv_transpose2d 1 -> 4; kernel 1",
                                           "--jobs", "4"};
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = compile(arguments, "2500");
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10)) << "one after the other";
  std::size_t at = 0;
  for (const char* name : {"layer1_forward", "layer2_forward", "layer3_forward", "layer4_forward"}) {
    const std::size_t found = outcome.out.find(name);
    EXPECT_GE(found, at) << outcome.out;
    at = found;
  }
}

TEST_F(CompileWithFake, ALongCallTellsHowFarItIs) {
  const Outcome outcome = compile(
      {"-e", "conv_transpose2d 1 -> 1; kernel 1", "-e", "conv_transpose2d 1 -> 2; kernel 1", "--jobs", "1"}, "3000");
  EXPECT_EQ(outcome.exit, 0);
  EXPECT_THAT(outcome.err, HasSubstr("[2/2] compiled layer2 for sm_90a\n"));
  EXPECT_EQ(compile({"-e", "conv_transpose2d 1 -> 1; kernel 1", "-e", "conv_transpose2d 1 -> 2; kernel 1"}).err, "");
}

TEST_F(CompileWithFake, ASlowCompileIsToldBefore) {
  const std::string layer = "conv_transpose1d 512 -> 256; kernel 256; input 4x333";
  EXPECT_THAT(compile({"-e", layer}).err, HasSubstr("lines: NVRTC may take about "));
  EXPECT_EQ(compile({"-e", layer}).err, "") << "the cache has it";
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

TEST(Compile, VirtualArchitecturesArePtx) {
  if (!has_nvrtc()) {
    return;
  }
  const Folder folder;
  const std::map<std::string, std::string> environment{{"ASAN_OPTIONS", "detect_leaks=0"},
                                                       {"CONVTGEN_CACHE_DIR", folder / "cache"}};
  const Setting here{.environment = environment, .folder = folder.path()};
  const std::vector<std::string> command{"compile", seeds(), "--layer",   "strided", "--arch",     "sm_80,compute_80",
                                         "-o",      "out",   "--depfile", "out/x.d", "--manifest", "out/x.json"};
  const Outcome outcome = convtgen(command, here);
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  const std::string cubin = read(folder / "out/strided_forward.sm_80.cubin");
  const std::string ptx = read(folder / "out/strided_forward.compute_80.ptx");
  EXPECT_EQ(cubin.substr(1, 3), "ELF");
  EXPECT_THAT(ptx, HasSubstr(".target sm_80"));
  EXPECT_THAT(read(folder / "out/x.d"),
              testing::AllOf(HasSubstr("strided_forward.sm_80.cubin out/strided_forward.compute_80.ptx: "),
                             HasSubstr("seeds.convt"), HasSubstr("nvrtc")));
  EXPECT_THAT(read(folder / "out/x.json"), HasSubstr("\"kind\": \"ptx\""));
  // Out of the cache, and past it.
  for (const std::string how : {"", "--no-cache"}) {
    std::filesystem::remove_all(folder / "out");
    std::vector<std::string> again = command;
    if (!how.empty()) {
      again.push_back(how);
    }
    ASSERT_EQ(convtgen(again, here).exit, 0);
    EXPECT_EQ(read(folder / "out/strided_forward.sm_80.cubin"), cubin) << how;
    EXPECT_EQ(read(folder / "out/strided_forward.compute_80.ptx"), ptx) << how;
  }
}

TEST(Compile, OneFileIsForOneKernel) {
  const Folder folder;
  const Outcome outcome =
      convtgen({"compile", seeds(), "-o", "x.cubin"},
               {.environment = {{"CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC}, {"CONVTGEN_CACHE_DIR", folder / "cache"}},
                .folder = folder.path()});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_THAT(outcome.err, HasSubstr("-o x.cubin names one file, and there are 7 kernels"));
  EXPECT_THAT(outcome.err, HasSubstr("--layer"));
}

TEST(Compile, ForTheHostDevice) {
  const Folder one, two;
  const auto compile = [](const Folder& folder) {
    return convtgen({"compile", "-e", "conv_transpose2d 4 -> 2; kernel 3", "--format", "host", "-o", "out", "--depfile",
                     "x.d", "--no-cache"},
                    {.environment = {{"TMPDIR", folder.path().string()}}, .folder = folder.path()});
  };
  ASSERT_EQ(compile(one).exit, 0);
  ASSERT_EQ(compile(two).exit, 0);
  const std::string library = read(one / "out/layer_forward.host.so");
  EXPECT_EQ(library.substr(1, 3), "ELF");
  EXPECT_EQ(read(two / "out/layer_forward.host.so"), library);
  EXPECT_THAT(library, testing::Not(HasSubstr(one.path().string())));
  EXPECT_THAT(read(one / "x.d"), HasSubstr("++"));
  const Outcome many = convtgen({"compile", seeds(), "--format", "host", "--arch", "sm_80,sm_90a"});
  EXPECT_EQ(many.exit, 2);
  EXPECT_THAT(many.err, HasSubstr("give one with --arch"));
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
