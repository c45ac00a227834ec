// What tuning may choose from: every candidate is right, and all of `direct` make the same bits.
#include <gtest/gtest.h>

#include <cstdlib>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"
#include "runtime/device/host/host_device.h"
#include "runtime/reference/run_layer.h"
#include "tests/end_to_end/random_layers.h"
#include "tests/sample/sample.h"

namespace convtgen {
namespace {

TEST(Candidates, AreRightAndThoseOfDirectGiveTheSameBits) {
  const char* wanted = std::getenv("CONVTGEN_TEST_LAYERS");
  const int layers = wanted != nullptr ? std::atoi(wanted) : 2;
  // A layer has some hundred candidates: a run takes every fifth of one, which CONVTGEN_TEST_SEED chooses.
  const bool all = wanted != nullptr || testing::tests_all();
  const std::uint64_t number = testing::seeded_by(testing::test_seed())();
  const int chosen = static_cast<int>(number % 2);
  const auto device = open_host_device().value();
  testing::LayerSource source(11);
  for (int i = 0; i < layers; ++i) {
    const testing::RandomLayer random = source.next();
    if (!all && i != chosen) {
      continue;
    }
    const Problem problem{random.layer, Direction::kForward, target_named("sm_90a").value()};
    SCOPED_TRACE(canonical_form(random.layer));
    const LayerInputs inputs = random_inputs(random.layer, shape_of(random.layer, random.sizes).value(), 3);
    std::vector<std::byte> first;
    const std::vector<Plan> plans = plan(problem).value();
    const std::size_t parts = all ? 1 : 5;
    for (std::size_t p = number / 2 % parts; p < plans.size(); p += parts) {
      const Plan& each = plans[p];
      const auto run = run_layer(*device, problem, each, random.sizes, inputs);
      ASSERT_TRUE(run) << run.error().message;
      EXPECT_TRUE(run->verification.passed()) << describe(run->verification, random.layer);
      const auto y = read_output(*device, random.layer, run->call);
      ASSERT_TRUE(y) << y.error().message;
      // Tensor cores sum in other orders.
      if (each.template_name == templates().front().name) {
        first = first.empty() ? y->bytes : first;
        EXPECT_EQ(y->bytes, first) << each.summary;
      }
    }
  }
}

}  // namespace
}  // namespace convtgen
