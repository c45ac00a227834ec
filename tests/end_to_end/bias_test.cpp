// The biases of tensor cores' epilogues, channel by channel. A run takes a sample of the layers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "tests/end_to_end/through_the_chain.h"
#include "tests/sample/sample.h"

namespace convtgen::testing {
namespace {

// Channels whose biases a thread adds lie apart by what it stores together: 1, 2 or 4 with channels last.
TEST(TensorCores, EachBiasReachesItsChannel) {
  const std::unique_ptr<Device> device = test_device(1);
  ASSERT_NE(device, nullptr);
  std::vector<Candidate> candidates;
  for (const char* mode : {"compute tf32", "compute f32x3", "dtype f16"}) {
    for (const char* layout : {"nchw", "nhwc"}) {
      for (const auto& [channels, groups] : {std::pair(33, 1), {34, 1}, {36, 1}, {51, 3}}) {
        for (const char* kernel : {"kernel 3x3", "kernel 2x2; stride 2x2"}) {
          const std::string text =
              fmt::format("conv_transpose2d {} -> {}; groups {}; {}; input 2x3x4; bias; {}; layout {}", 16 * groups,
                          channels, groups, kernel, mode, layout);
          candidates.push_back({text,
                                {fmt::format("{} {}", mode, layout), fmt::format("{} {}", layout, channels),
                                 fmt::format("{} {}", layout, kernel)}});
        }
      }
    }
  }
  for (const std::size_t i : sample(candidates, 12)) {
    const std::string& text = candidates[i].name;
    const Layer layer = parse_layer(text).value();
    const auto plans = plan({layer, Direction::kForward, target_named("sm_90a").value()}).value();
    const auto found = std::ranges::find_if(plans, [](const Plan& plan) { return plan.parameters.contains("bulk"); });
    ASSERT_NE(found, plans.end()) << text;
    const auto failure = failure_of(*device, layer, {2, {3, 4}}, *found, 1);
    EXPECT_FALSE(failure) << text << ": " << *failure;
  }
}

}  // namespace
}  // namespace convtgen::testing
