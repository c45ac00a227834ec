#include "tests/end_to_end/through_the_chain.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <regex>
#include <string_view>
#include <vector>

#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"
#include "generator/program/constants.h"
#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/host/host_device.h"
#include "runtime/reference/run_layer.h"

namespace convtgen::testing {

bool test_on_gpu() {
  const char* device = std::getenv("CONVTGEN_TEST_DEVICE");
  return device != nullptr && std::string_view(device) == "cuda";
}

std::unique_ptr<Device> test_device(int workers) {
  Result<std::unique_ptr<Device>> device =
      test_on_gpu() ? open_cuda_device(0) : open_host_device(HostOptions{.workers = workers});
  if (!device) {
    ADD_FAILURE() << device.error().message;
    return nullptr;
  }
  return *std::move(device);
}

Plan with_block(const Problem& problem, Plan plan, std::string_view block) {
  static const std::regex parameter(R"((\w+) (\d+))");
  const std::string text(block);
  for (std::sregex_iterator found(text.begin(), text.end(), parameter), none; found != none; ++found) {
    ParameterValue& value = plan.parameters.at(found->str(1));
    const std::int64_t number = std::stoll(found->str(2));
    value = std::holds_alternative<bool>(value) ? ParameterValue(number != 0) : ParameterValue(number);
  }
  plan.launch = launch_plan_of(problem, plan);
  return plan;
}

std::optional<std::string> failure_of(Device& device, const Layer& layer, const InputSizes& sizes, const Plan& plan,
                                      std::uint64_t seed, Direction direction) {
  const Result<Shape> shape = shape_of(layer, sizes);
  if (!shape) {
    return "shape: " + shape.error().message;
  }
  const LayerInputs inputs = random_inputs(layer, *shape, seed, direction);
  const Problem problem{layer, direction, target_named("sm_90a").value()};
  const Result<LayerRun> run = run_layer(device, problem, plan, sizes, inputs);
  if (!run) {
    return run.error().message;
  }
  const Verification& verification = run->verification;
  const bool any_checked = verification.arrays.front().comparison.checked > 0;
  const bool any_written =
      shape->output_elements > 0 || direction == Direction::kGradWeight || direction == Direction::kGradBias;
  const bool passed = verification.passed() && any_checked == any_written;
  return passed ? std::nullopt : std::optional(describe(verification, layer));
}

bool is_quick(const Layer& layer, const InputSizes& sizes, const Plan& plan, Direction direction) {
  constexpr std::int64_t kMostWork = 300'000;  // threads, each times the taps
  const Problem problem{layer, direction, target_named("sm_90a").value()};
  const Result<std::int64_t> blocks = grid_blocks(problem, plan, shape_of(layer, sizes).value());
  return blocks && *blocks * plan.launch.main().threads * tap_count(layer) <= kMostWork;
}

}  // namespace convtgen::testing
