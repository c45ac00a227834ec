// Layers of hundreds and thousands of taps get sources that people can read and NVRTC compiles in seconds, in every
// mode, layout and direction. A run looks at first plans, and compiles a sample; CONVTGEN_TEST_ALL does so with all.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/specializer/kernel_source.h"
#include "runtime/compile/nvrtc.h"
#include "tests/sample/sample.h"

namespace convtgen::testing {
namespace {

constexpr std::ptrdiff_t kMostLines = 2000;
constexpr double kMostSeconds = 5;

struct Case {
  std::string text, mode;
  Direction direction;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* layer : {"conv_transpose1d 2049 -> 1; kernel 4096; stride 1024; input 12x340",
                            "conv_transpose1d 64 -> 64; kernel 4096; stride 4; input 2x512",
                            "conv_transpose2d 21 -> 21; kernel 64; stride 32; input 8x16x16",
                            "conv_transpose2d 21 -> 21; kernel 64; stride 32; groups 21; input 8x16x16",
                            "conv_transpose2d 256 -> 1; kernel 64; stride 2; input 4x32x32",
                            "conv_transpose2d 64 -> 64; kernel 64; stride 8; input 4x32x32"}) {
    for (const char* mode : {"dtype f32", "dtype f64", "compute tf32", "compute f32x3", "dtype f16", "dtype bf16"}) {
      for (const char* layout : {"nchw", "nhwc"}) {
        for (const Direction direction : {Direction::kForward, Direction::kGradInput, Direction::kGradWeight}) {
          all.push_back({fmt::format("{}; {}; layout {}; directions {}", layer, mode, layout, name_of(direction)),
                         fmt::format("{} {}", mode, name_of(direction)), direction});
        }
      }
    }
  }
  return all;
}

/// The layer's plans: a run looks at the first one, at all with CONVTGEN_TEST_ALL.
std::vector<Plan> plans_of(const Problem& problem) {
  std::vector<Plan> plans = plan(problem).value();
  plans.resize(tests_all() ? plans.size() : 1);
  return plans;
}

Problem problem_of(const Case& one) {
  return {parse_layer(one.text).value(), one.direction, target_named("sm_90a").value()};
}

TEST(ManyTapsSource, HasFewLines) {
  for (const Case& one : cases()) {
    const Problem problem = problem_of(one);
    for (const Plan& plan : plans_of(problem)) {
      const KernelSource source = specialize(problem, plan).value();
      EXPECT_LE(std::ranges::count(source.text, '\n'), kMostLines)
          << one.text << ": " << plan.template_name << ": " << plan.summary;
    }
  }
}

TEST(ManyTapsSource, CompilesInSeconds) {
  const std::vector<Case> all = cases();
  std::vector<Candidate> candidates;
  for (const Case& one : all) {
    candidates.push_back({one.text, {one.mode}});
  }
  for (const std::size_t i : sample(candidates, 18)) {
    const Problem problem = problem_of(all[i]);
    const KernelSource source = specialize(problem, plan(problem).value().front()).value();
    double seconds = kMostSeconds + 1;
    for (int attempt = 0; attempt < 3 && seconds > kMostSeconds; ++attempt) {
      // The process's own time; what else runs on the same core makes it longer, never shorter.
      const std::clock_t begin = std::clock();
      const Result<Binary> binary = compile_with_nvrtc(source, "sm_90a", BinaryKind::kCubin);
      ASSERT_TRUE(binary) << all[i].text << ": " << binary.error().message;
      seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    }
    EXPECT_LE(seconds, kMostSeconds) << all[i].text;
  }
}

}  // namespace
}  // namespace convtgen::testing
