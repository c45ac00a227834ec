// A kernel that leaves output_padding out of the pitch of its output rows is found at every batch, whatever template it
// is of: by an access that the host device refuses, by outputs that are never written, or by wrong ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "runtime/device/host/host_device.h"
#include "runtime/reference/run_layer.h"

namespace convtgen::testing {
namespace {

TEST(OutputPitch, OneThatLeavesOutputPaddingOutIsFoundAtEveryBatch) {
  const auto device = open_host_device(HostOptions{.workers = 1}).value();
  for (const int batch : {1, 2, 5}) {
    const auto problem_of = [&](int output_padding) {
      const std::string text = fmt::format(
          "conv_transpose2d 16 -> 8; kernel 3x3; padding 2x0; output_padding 0x{}; dilation 1x3; input {}x5x16; "
          "compute tf32",
          output_padding, batch);
      return Problem{parse_layer(text).value(), Direction::kForward, target_named("sm_90a").value()};
    };
    const Problem without = problem_of(0), with = problem_of(1);
    const InputSizes sizes = known_sizes(with.layer).value();
    const LayerInputs inputs = random_inputs(with.layer, shape_of(with.layer, sizes).value(), 1);
    const std::vector<Plan> plans = plan(without).value();
    std::set<std::string> seen;
    for (const Plan& plan : plans) {
      if (!seen.insert(plan.template_name).second) {
        continue;
      }
      // The right kernel of the one layer, run as the other's.
      const KernelSource source = specialize(without, plan).value();
      LoadedLayer loaded = load_source(*device, with, plan, source).value();
      const LayerCall call = make_call(*device, loaded, sizes, inputs).value();
      const bool is_refused = !run_call(*device, loaded, call);
      EXPECT_TRUE(is_refused || !verify_call(*device, with.layer, call, inputs).value().passed())
          << plan.template_name << " at batch " << batch;
    }
    EXPECT_GE(seen.size(), 5U) << "at batch " << batch;
  }
}

}  // namespace
}  // namespace convtgen::testing
