// Layers whose padding differs at the two ends of an axis: random ones for each template, run through the whole chain
// and held to the definition in fp64.
//
// CONVTGEN_TEST_SEED    any text, which chooses the layers of a run (default "1"; tests/run.sh: the sources' digest)
// CONVTGEN_TEST_ALL     if set: all layers
// CONVTGEN_TEST_DEVICE  host (default) or cuda
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>

#include "generator/language/language.h"
#include "runtime/reference/parallel.h"
#include "tests/end_to_end/net.h"
#include "tests/end_to_end/through_the_chain.h"

namespace convtgen::testing {
namespace {

constexpr int kLayers = 500;     // of a template
constexpr std::size_t kRun = 4;  // of them, unless all are

std::mt19937_64 seeded_by(const std::string& text) {
  std::seed_seq seeds(text.begin(), text.end());
  return std::mt19937_64(seeds);
}

bool is_uneven(const Layer& layer) {
  return std::ranges::any_of(layer.axes, [](const Axis& axis) { return axis.padding.before != axis.padding.after; });
}

struct Drawn {
  RandomLayer layer;
  Plan plan;
};

/// The template's layer of this number, and one of the plans that it has of it.
Drawn draw(const std::string& name, int number) {
  std::mt19937_64 random = seeded_by(fmt::format("{} {}", name, number));
  LayerSource source(random());
  for (;;) {
    Wanted wanted = random_wish(random);
    wanted.template_name = name;
    const std::optional<RandomLayer> drawn = source.next(wanted);
    if (!drawn || !is_uneven(drawn->layer)) {
      continue;
    }
    std::vector<Plan> plans = net_plans(drawn->layer).value_or(std::vector<Plan>());
    std::erase_if(plans, [&](const Plan& plan) { return plan.template_name != name; });
    if (!plans.empty()) {
      return {*drawn, plans[random() % plans.size()]};
    }
  }
}

class UnevenPadding : public ::testing::TestWithParam<const char*> {};

TEST_P(UnevenPadding, MatchesTheDefinition) {
  const std::string name = GetParam();
  const char* seed = std::getenv("CONVTGEN_TEST_SEED");
  std::mt19937_64 random = seeded_by(seed == nullptr ? "1" : seed);
  const std::size_t count = std::getenv("CONVTGEN_TEST_ALL") != nullptr ? kLayers : kRun;
  std::set<int> numbers;
  while (numbers.size() < count) {
    numbers.insert(static_cast<int>(random() % kLayers));
  }
  const std::vector<int> chosen(numbers.begin(), numbers.end());
  parallel_for(static_cast<std::int64_t>(chosen.size()), 1, [&](std::int64_t begin, std::int64_t) {
    const int number = chosen[static_cast<std::size_t>(begin)];
    const Drawn drawn = draw(name, number);
    const std::unique_ptr<Device> device = test_device(1);
    ASSERT_NE(device, nullptr);
    const auto& [layer, sizes] = drawn.layer;
    const auto failure = failure_of(*device, layer, sizes, drawn.plan, static_cast<std::uint64_t>(number));
    EXPECT_FALSE(failure) << fmt::format("{} {}: {} at {}x{}x{}; {}: {}", name, number, canonical_form(layer),
                                         sizes.batch, sizes.extents[kHeight], sizes.extents[kWidth], drawn.plan.reason,
                                         *failure);
  });
}

INSTANTIATE_TEST_SUITE_P(Templates, UnevenPadding, ::testing::Values("direct", "shift_gemm", "halo_gemm", "roll_gemm"));

}  // namespace
}  // namespace convtgen::testing
