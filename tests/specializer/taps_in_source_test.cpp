// Sources of random layers name each of the layer's taps once, in every template.
#include "tests/specializer/taps_in_source.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "generator/language/language.h"
#include "generator/planner/templates.h"
#include "generator/specializer/kernel_source.h"
#include "tests/language/random_layer.h"

namespace convtgen {
namespace {

using testing_support::Phase;
using testing_support::Pick;
using testing_support::Tap;
using testing_support::taps_in_source;
using testing_support::taps_of;
using Taps = std::map<Phase, std::vector<Tap>>;

constexpr std::array<std::pair<Dtype, Compute>, 5> kModes = {{{Dtype::kF32, Compute::kF32},
                                                              {Dtype::kF32, Compute::kTf32},
                                                              {Dtype::kF32, Compute::kF32x3},
                                                              {Dtype::kF16, Compute::kF16},
                                                              {Dtype::kBf16, Compute::kBf16}}};

/// A layer of some ten taps that templates take often.
Layer some_layer(const Pick& pick) {
  for (;;) {
    Layer layer;
    const auto [dtype, compute] = kModes[static_cast<std::size_t>(pick(0, std::ssize(kModes) - 1))];
    layer.dtype = dtype;
    layer.compute = compute;
    layer.layout = pick(0, 1) == 0 ? Layout::kNhwc : Layout::kNchw;
    for (const std::size_t index : {kHeight, kWidth}) {
      Axis& axis = layer.axes[index];
      axis.kernel = pick(1, 9);
      axis.stride = pick(0, 1) == 0 ? 1 : pick(1, 4);
      axis.dilation = pick(0, 2) > 0 ? 1 : pick(1, 3);
      axis.padding = pick(0, std::max<std::int64_t>(1, axis.kernel / 2));
      axis.extent = Size(8 * pick(1, 12));
    }
    layer.in_channels = 16 * pick(1, 8);
    layer.out_channels = 8 * pick(1, 12);
    layer.batch = Size(pick(1, 32));
    if (check_limits(layer).empty()) {
      return layer;
    }
  }
}

std::string text_of(const Taps& taps) {
  std::string out;
  for (const auto& [phase, all] : taps) {
    out += fmt::format("phase {} {}:", phase.first, phase.second);
    for (const Tap& tap : all) {
      out += fmt::format(" ({}, {})", tap.first, tap.second);
    }
    out += "\n";
  }
  return out;
}

class TapsInSource : public testing::TestWithParam<const char*> {};

TEST_P(TapsInSource, AreThoseOfTheLayerEachOnce) {
  const Template& known = *template_named(GetParam()).value();
  const int wanted = std::getenv("CONVTGEN_TEST_ALL") != nullptr ? 100 : 5;
  int made = 0;
  for (std::uint64_t seed = 1; made < wanted; ++seed) {
    ASSERT_LT(seed, 100'000u) << "the template takes none of these layers";
    const Problem problem{some_layer(testing_support::seeded(seed)), Direction::kForward,
                          target_named("sm_90a").value()};
    const auto plans = known.plans(problem);
    if (!plans || plans->empty()) {
      continue;
    }
    ++made;
    const Result<KernelSource> source = specialize(problem, plans->front());
    ASSERT_TRUE(source) << source.error().message;
    Taps named = taps_in_source(problem.layer, source->text);
    for (auto& [phase, taps] : named) {
      std::ranges::sort(taps);
    }
    EXPECT_EQ(text_of(named), text_of(taps_of(problem.layer)))
        << canonical_form(problem.layer) << ": " << plans->front().summary;
  }
}

INSTANTIATE_TEST_SUITE_P(Templates, TapsInSource,
                         testing::Values("direct", "f32x3_gemm", "halo_gemm", "roll_gemm", "shift_gemm"),
                         [](const auto& info) { return std::string(info.param); });

TEST(TapsInSourceText, IsReadAsItIsWritten) {
  const Layer layer = parse_layer("conv_transpose2d 4 -> 4; kernel 4x3; stride 2x1; padding 0").value();
  EXPECT_EQ(taps_in_source(layer,
                           "a();  // tap (1, 2)\n  // One tap (of some), and\n  // taps (0, 1 to 2)\n  // (2, 0)\n"
                           "b();  // tap (2 + r, 1)\n"),
            (Taps{{{1, 0}, {{1, 2}, {3, 1}}}, {{0, 0}, {{0, 1}, {0, 2}, {2, 0}, {2, 1}}}}));
  EXPECT_EQ(taps_in_source(layer, "// taps (0 to 3, 0 to 2)"), taps_of(layer));
  EXPECT_EQ(taps_in_source(layer, "// tap (7, 0)\n"), (Taps{{{1, 0}, {{7, 0}}}}));
}

}  // namespace
}  // namespace convtgen
