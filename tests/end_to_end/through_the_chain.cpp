#include "tests/end_to_end/through_the_chain.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

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

Outcome through_the_chain(Device& device, const Layer& layer, const InputSizes& sizes, std::uint64_t seed,
                          std::string_view template_name, bool unstaged,
                          const std::function<bool(const Plan&)>& wanted) {
  Outcome outcome;
  const Problem problem{layer, Direction::kForward, target_named("sm_90a").value()};
  Result<std::vector<Plan>> plans = plan(problem);
  if (!plans) {
    outcome.message = "plan: " + plans.error().message;
    return outcome;
  }
  std::erase_if(*plans,
                [&](const Plan& plan) { return plan.template_name != template_name || (wanted && !wanted(plan)); });
  if (plans->empty()) {
    outcome.message = fmt::format("no plan of {}", template_name);
    return outcome;
  }
  // Every layer's first plan with `direct`, whose others are tuned variants; all of the others in turn.
  outcome.plan = template_name == "direct" ? plans->front() : (*plans)[seed % plans->size()];
  if (unstaged) {
    outcome.plan->parameters["staged"] = false;
    outcome.plan->parameters["chunk"] = std::int64_t{1};
    outcome.plan->shared_bytes = 0;
  }
  const Result<Shape> shape = shape_of(layer, sizes);
  if (!shape) {
    outcome.message = "shape: " + shape.error().message;
    return outcome;
  }
  const LayerInputs inputs = random_inputs(layer, *shape, seed);
  const Result<LayerRun> run = run_layer(device, problem, *outcome.plan, sizes, inputs);
  if (!run) {
    outcome.message = run.error().message;
    return outcome;
  }
  const Comparison& comparison = run->verification.comparison;
  outcome.passed = comparison.passed() && (comparison.checked > 0) == (shape->output_elements > 0);
  outcome.message = describe(comparison, layer);
  return outcome;
}

}  // namespace convtgen::testing
