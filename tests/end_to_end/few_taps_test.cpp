// Layers of few taps and large strides, most of whose phases have no taps: sources stay short, NVRTC takes seconds, and
// results match the definition. The seed draws the layers; CONVTGEN_TEST_ALL looks at all plans of more of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"
#include "generator/specializer/kernel_source.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/compile/slow_compile.h"
#include "tests/end_to_end/through_the_chain.h"
#include "tests/sample/sample.h"

namespace convtgen::testing {
namespace {

constexpr std::ptrdiff_t kMostLines = 2000;
constexpr double kMostSeconds = 10;
constexpr std::int64_t kMostTaps = 64;
constexpr std::int64_t kMostPhases = 16384;

struct FewTaps {
  std::string text;
  InputSizes sizes;
  std::string architecture;
  std::string mode;
  [[nodiscard]] Problem problem() const {
    const Layer layer = parse_layer(text).value();
    return {layer, layer.directions.front(), target_named(architecture).value()};
  }
};

/// What was reported: 213,099 lines.
const std::vector<FewTaps>& reported_layers() {
  static const std::vector<FewTaps> layers = {
      {"conv_transpose2d 1 -> 1; kernel 1; stride 4096x4; input 1x3x2", {1, {3, 2}}, "sm_90a", "dtype f32"},
      {"conv_transpose2d 1 -> 1; kernel 1; stride 4096x4; input 1x3x2; dtype f16", {1, {3, 2}}, "sm_75", "dtype f16"},
      {"conv_transpose1d 4 -> 4; kernel 1; stride 16384; input 1x2; bias", {1, {1, 2}}, "sm_80", "dtype f32"}};
  return layers;
}

class Source {
 public:
  Source(std::string_view name, std::int64_t most_phases) : random_(seeded_by(name)), phases_(most_phases) {}

  /// A legal layer of one direction.
  FewTaps next() {
    for (;;) {
      FewTaps drawn = draw();
      if (parse_layer(drawn.text)) {
        return drawn;
      }
    }
  }

 private:
  struct Axis {
    std::int64_t kernel = 1, stride = 1, dilation = 1, padding = 0, output_padding = 0, extent = 1;
  };

  std::int64_t pick(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }
  /// Each power of two is as probable as the next.
  std::int64_t pick_scale(std::int64_t least, std::int64_t most) {
    const auto above = static_cast<std::int64_t>(std::log2(static_cast<double>(most) / static_cast<double>(least)));
    const std::int64_t from = least << pick(0, above);
    return pick(from, std::min(most, 2 * from - 1));
  }

  Axis axis(std::int64_t taps, std::int64_t phases) {
    Axis a{.kernel = taps, .stride = phases};
    a.dilation = pick(0, 2) == 0 ? pick_scale(1, 64) : 1;
    a.padding = pick(0, 1) == 0 ? 0 : pick(0, a.dilation * (a.kernel - 1));
    a.output_padding = pick(0, 1) == 0 ? 0 : pick(0, a.stride - 1);
    a.extent = pick_scale(1, std::max<std::int64_t>(1, 2048 / a.stride));
    return a;
  }

  FewTaps draw() {
    constexpr std::array kModes = {"dtype f32",     "dtype f16",  "compute tf32",
                                   "compute f32x3", "dtype bf16", "dtype f64"};
    constexpr std::array kArchitectures = {"sm_75", "sm_80", "sm_90a"};
    constexpr std::array kDirections = {Direction::kForward, Direction::kForward, Direction::kGradInput,
                                        Direction::kGradWeight};
    const bool two = pick(0, 2) > 0;
    const std::int64_t phases = pick_scale(1, phases_), taps = pick_scale(1, kMostTaps);
    const std::int64_t phases_h = two ? pick_scale(1, phases) : 1, taps_h = two ? pick_scale(1, taps) : 1;
    const Axis rows = two ? axis(taps_h, phases_h) : Axis{};
    const Axis columns = axis(taps / taps_h, phases / phases_h);
    const auto both = [&](std::int64_t Axis::* member) {
      return two ? fmt::format("{}x{}", rows.*member, columns.*member) : fmt::format("{}", columns.*member);
    };
    FewTaps drawn;
    drawn.sizes = {pick(1, 2), {rows.extent, columns.extent}};
    drawn.mode = kModes[static_cast<std::size_t>(pick(0, std::ssize(kModes) - 1))];
    drawn.architecture = kArchitectures[static_cast<std::size_t>(pick(0, std::ssize(kArchitectures) - 1))];
    const Direction direction = kDirections[static_cast<std::size_t>(pick(0, std::ssize(kDirections) - 1))];
    const std::int64_t groups = pick(0, 3) == 0 ? pick(2, 3) : 1;
    const auto channels = [&] { return groups * (pick(0, 2) == 0 ? 16 * pick(1, 4) : pick(1, 12)); };
    const std::int64_t in = channels(), out = channels();
    const auto extent = [&](std::int64_t value) { return pick(0, 3) == 0 ? std::string("?") : std::to_string(value); };
    drawn.text = fmt::format(
        "conv_transpose{}d {} -> {}; kernel {}; stride {}; padding {}; output_padding {}; dilation {}; groups {}; {}; "
        "layout {}; directions {}; input {}x{}{}{}",
        two ? 2 : 1, in, out, both(&Axis::kernel), both(&Axis::stride), both(&Axis::padding),
        both(&Axis::output_padding), both(&Axis::dilation), groups, drawn.mode, pick(0, 1) == 0 ? "nchw" : "nhwc",
        name_of(direction), drawn.sizes.batch, two ? extent(rows.extent) + "x" : "", extent(columns.extent),
        pick(0, 1) == 0 ? "; bias" : "");
    if (direction == Direction::kForward && pick(0, 2) == 0) {
      drawn.text += "; fuse leaky_relu(0.5)";
    }
    return drawn;
  }

  std::mt19937_64 random_;
  std::int64_t phases_;
};

std::vector<FewTaps> layers_of(std::string_view name, int count) {
  std::vector<FewTaps> layers = reported_layers();
  Source source(name, kMostPhases);
  for (int i = 0; i < count; ++i) {
    layers.push_back(source.next());
  }
  return layers;
}

TEST(FewTaps, HaveFewLinesInEachTemplate) {
  for (const FewTaps& one : layers_of("few taps", tests_all() ? 1500 : 120)) {
    const Problem problem = one.problem();
    std::set<std::string> seen;
    const std::vector<Plan> plans = plan(problem).value();
    for (const Plan& plan : plans) {
      if (!seen.insert(plan.template_name).second && !tests_all()) {
        continue;
      }
      const KernelSource source = specialize(problem, plan).value();
      EXPECT_LE(std::ranges::count(source.text, '\n'), kMostLines)
          << one.text << " on " << one.architecture << ": " << plan.template_name << ": " << plan.summary;
    }
  }
}

TEST(FewTaps, CompileInSeconds) {
  const std::vector<FewTaps> all = layers_of("few taps, compiled", 60);
  std::vector<Candidate> candidates;
  for (const FewTaps& one : all) {
    candidates.push_back({one.text + " on " + one.architecture, {one.mode}});
  }
  for (const std::size_t i : sample(candidates, 8)) {
    const Problem problem = all[i].problem();
    const Plan first = plan(problem).value().front();
    const KernelSource source = specialize(problem, first).value();
    double seconds = kMostSeconds + 1;
    for (int attempt = 0; attempt < 2 && seconds > kMostSeconds; ++attempt) {
      // The process's own time; what else runs on the same core makes it longer, never shorter.
      const std::clock_t begin = std::clock();
      const Result<Binary> binary = compile_with_nvrtc(source, all[i].architecture, BinaryKind::kCubin);
      ASSERT_TRUE(binary) << all[i].text << ": " << binary.error().message;
      seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    }
    EXPECT_LE(seconds, kMostSeconds) << candidates[i].name;
    EXPECT_LE(expected_compile_seconds(first, source), kMostSeconds) << candidates[i].name;
  }
}

TEST(FewTaps, MatchTheDefinition) {
  constexpr std::int64_t kMostOutputs = 60'000;
  std::vector<FewTaps> all;
  std::vector<Plan> plans;
  std::vector<Candidate> candidates;
  Source source("few taps, run", 2048);
  const auto add = [&](const FewTaps& one) {
    const Layer layer = parse_layer(one.text).value();
    const Direction direction = layer.directions.front();
    const auto shape = shape_of(layer, one.sizes);
    if (!shape || shape->output_elements == 0 || shape->output_elements > kMostOutputs) {
      return;
    }
    const Plan first = plan({layer, direction, target_named("sm_90a").value()}).value().front();
    if (is_quick(layer, one.sizes, first, direction)) {
      const bool loops = layer.axes[kHeight].stride * layer.axes[kWidth].stride - tap_count(layer) > 64;
      all.push_back(one);
      plans.push_back(first);
      candidates.push_back({one.text, {fmt::format("{} {}", first.template_name, loops ? "loops" : "written out")}});
    }
  };
  add(reported_layers().front());
  for (int i = 0; i < 400; ++i) {
    add(source.next());
  }
  ASSERT_FALSE(candidates.empty());
  const std::unique_ptr<Device> device = test_device(1);
  ASSERT_NE(device, nullptr);
  for (const std::size_t i : sample(candidates, 16)) {
    const Layer layer = parse_layer(all[i].text).value();
    const auto failure = failure_of(*device, layer, all[i].sizes, plans[i], 1, layer.directions.front());
    EXPECT_FALSE(failure) << all[i].text << " (" << plans[i].template_name << ": " << plans[i].summary
                          << "): " << *failure;
  }
}

}  // namespace
}  // namespace convtgen::testing
