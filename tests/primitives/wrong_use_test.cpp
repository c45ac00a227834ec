// What breaks a rule of the primitives is refused on the host device, with the thread, the primitive and the line; what
// keeps to them is not.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/primitives/on_host.h"
#include "tests/primitives/wrong_use_cases.h"

namespace convtgen::testing {
namespace {

// "line 12 `", for every line that is marked.
std::vector<std::string> marked_lines(const std::string& body, int first_line) {
  std::vector<std::string> lines;
  for (std::size_t at = body.find("// here"); at != std::string::npos; at = body.find("// here", at + 1)) {
    const auto before = std::count(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    lines.push_back(fmt::format("line {} `", first_line + before));
  }
  return lines;
}

// What the message of a wrong use lacks; "" where it has all.
std::string lack(const WrongUse& wrong, const std::string& message, int first_line) {
  const auto has = [&](const std::string& word) { return message.contains(word); };
  for (const std::string& word : wrong.words) {
    if (!has(word)) {
      return fmt::format("does not say \"{}\"", word);
    }
  }
  const std::vector<std::string> lines = marked_lines(wrong.kernel.body, first_line);
  return !has("thread ")                    ? "names no thread"
         : std::ranges::none_of(lines, has) ? fmt::format("is not at {}", fmt::join(lines, " or "))
                                            : "";
}

class WrongUses : public ::testing::TestWithParam<WrongUse> {};

TEST_P(WrongUses, AreRefused) {
  const WrongUse& wrong = GetParam();
  Result<CaseOnHost> on_host = CaseOnHost::make(wrong.kernel);
  ASSERT_TRUE(on_host) << on_host.error().message;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const std::string message = on_host->run(seed);
    ASSERT_TRUE(message.starts_with("kernel 'kernel' on the host device: "))
        << "seed " << seed << ": " << (message.empty() ? "no error" : message);
    ASSERT_EQ(lack(wrong, message, on_host->first_line()), "") << "seed " << seed << ": " << message;
  }
}

INSTANTIATE_TEST_SUITE_P(Every, WrongUses, ::testing::ValuesIn(wrong_uses()),
                         [](const auto& info) { return info.param.kernel.name; });

class RightUses : public ::testing::TestWithParam<Case> {};

TEST_P(RightUses, AreNot) {
  Result<CaseOnHost> on_host = CaseOnHost::make(GetParam());
  ASSERT_TRUE(on_host) << on_host.error().message;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    ASSERT_EQ(on_host->run(seed), "") << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Every, RightUses, ::testing::ValuesIn(right_uses()),
                         [](const auto& info) { return info.param.name; });

// A fault ends a launch with copies in flight. The next launch must not find them.
TEST(Faults, LeaveNothingInFlight) {
  const std::shared_ptr<HostDevice> device = open_host_device({.workers = 1}).value();
  const std::string copy = std::string(kMakeBarrier) + R"(  if (t == 0) {
    mbarrier_arrive_expect(barrier, 128);
    bulk_load(staged, x, 128, barrier);
  }
)";
  Result<CaseOnHost> wrong =
      CaseOnHost::make(use_case({.name = "wrong"}, copy + "  __syncthreads();\n  out[t] = x[t + 1000000];\n"), device);
  Result<CaseOnHost> right = CaseOnHost::make(
      use_case({.name = "right"}, copy + "  mbarrier_wait(barrier, 0);\n  out[t] = staged[t];\n"), device);
  ASSERT_TRUE(wrong && right);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_TRUE(wrong->run(seed).contains("out-of-bounds"));
    EXPECT_EQ(right->run(seed), "") << "seed " << seed;
  }
}

// Global memory has no clocks: that a store's bytes arrive late shows as wrong numbers, by seed.
TEST(Timing, StoresWriteBeforeAndAfterTheyHaveRead) {
  const std::string begin = R"(  staged[t] = x[t];
  out[t] = x[t] ^ 1;
  fence_proxy_async();
  __syncwarp();
  if (t == 0) {
    bulk_store(out, staged, 128);
    bulk_commit();
)";
  const std::string end = R"(    const unsigned int seen = out[5];
    bulk_wait(0);
    out[5] = seen;
  }
)";
  Result<CaseOnHost> early = CaseOnHost::make(use_case({.name = "early"}, begin + "    bulk_wait_read(0);\n" + end));
  Result<CaseOnHost> right = CaseOnHost::make(use_case({.name = "right"}, begin + "    bulk_wait(0);\n" + end));
  ASSERT_TRUE(early && right);
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(right->run(seed), "") << seed;
    wrong += early->run(seed).empty() ? 0 : 1;
  }
  EXPECT_GT(wrong, 3);
  EXPECT_LT(wrong, 20);
}

}  // namespace

// How parameters are printed.
void PrintTo(const WrongUse& wrong, std::ostream* out) {
  *out << wrong.kernel.name;
}
void PrintTo(const Case& one, std::ostream* out) {
  *out << one.name;
}

}  // namespace convtgen::testing
