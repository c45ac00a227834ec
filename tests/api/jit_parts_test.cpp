// Small parts of the engine: what is stored of a kernel, the log.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>
#include <vector>

#include "runtime/make/stored_kernel.h"
#include "runtime/support/log.h"

namespace convtgen::jit {
namespace {

TEST(StoredKernelTest, GivesBackWhatWasStoredAndNothingElse) {
  StoredKernel kernel;
  kernel.binary = {.kind = BinaryKind::kPtx,
                   .architecture = "compute_89",
                   .symbol = "convtgen_direct",
                   .bytes = std::string("\0\1:2:\n", 6),
                   .log = "a log\n",
                   .kernels = {{"convtgen_pack", 128, 0}, {"convtgen_direct", 256, std::int64_t{1} << 40}}};
  kernel.compiled_by = "NVRTC 13.0";
  const std::string stored = encode_kernel(kernel);
  const auto back = decode_kernel(stored);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->binary.kind, BinaryKind::kPtx);
  EXPECT_EQ(back->binary.architecture, kernel.binary.architecture);
  EXPECT_EQ(back->binary.symbol, kernel.binary.symbol);
  EXPECT_EQ(back->binary.bytes, kernel.binary.bytes);
  EXPECT_EQ(back->binary.log, kernel.binary.log);
  EXPECT_EQ(back->binary.kernels, kernel.binary.kernels);
  EXPECT_EQ(back->compiled_by, "NVRTC 13.0");
  for (std::size_t length = 0; length < stored.size(); ++length) {
    EXPECT_FALSE(decode_kernel(std::string_view(stored).substr(0, length))) << length;
  }
  EXPECT_FALSE(decode_kernel(stored + "x"));
  EXPECT_FALSE(decode_kernel("convtgen kernel 3\n99999999999999999999:"));
  kernel.binary.kernels.clear();
  EXPECT_TRUE(decode_kernel(encode_kernel(kernel))->binary.kernels.empty());
}

TEST(LogTest, LevelsDecideWhatIsHeard) {
  std::vector<std::string> heard_here;
  set_log_sink([&](LogLevel, std::string_view message) { heard_here.emplace_back(message); }, LogLevel::kInfo);
  log(LogLevel::kDebug, "debug");
  log(LogLevel::kInfo, "info");
  log(LogLevel::kError, "error");
  EXPECT_FALSE(heard(LogLevel::kDebug));
  set_log_sink([&](LogLevel, std::string_view message) { heard_here.emplace_back(message); }, LogLevel::kOff);
  log(LogLevel::kError, "nobody hears it");
  EXPECT_EQ(heard_here, (std::vector<std::string>{"info", "error"}));

  setenv("CONVTGEN_LOG", "error", 1);
  ::testing::internal::CaptureStderr();
  set_log_sink({}, LogLevel::kOff);
  log(LogLevel::kWarning, "a warning");
  log(LogLevel::kError, "an error");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "convtgen: error: an error\n");
  setenv("CONVTGEN_LOG", "loud", 1);
  ::testing::internal::CaptureStderr();
  set_log_sink({}, LogLevel::kOff);
  log(LogLevel::kWarning, "a warning");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "convtgen: warning: $CONVTGEN_LOG is 'loud'; legal are off, error, warning, info, debug\n"
            "convtgen: warning: a warning\n");
  unsetenv("CONVTGEN_LOG");
  set_log_sink({}, LogLevel::kOff);
}

}  // namespace
}  // namespace convtgen::jit
