// One layer from its description to verified numbers, as a test wants it: everything in one call, every failure a
// message.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "generator/layer/layer.h"
#include "generator/layer/shape.h"
#include "generator/planner/plan.h"
#include "runtime/device/device.h"

namespace convtgen::testing {

struct Outcome {
  bool passed = false;
  std::string message;  // what failed, at which stage
  std::optional<Plan> plan;
};

/// The device that CONVTGEN_TEST_DEVICE names (host, or cuda); null, with a test failure, where it can't be opened.
/// `workers` bounds the host device's threads.
[[nodiscard]] std::unique_ptr<Device> test_device(int workers);
[[nodiscard]] bool test_on_gpu();

/// Plans, specialises, compiles and runs the layer with random inputs of the seed on poisoned outputs, and compares
/// all outputs (samples of large ones) with the definition in fp64. The plan is one of the template's, which the seed
/// chooses (of `direct` the first), among those for which `wanted` holds. `unstaged`, of `direct`, takes the plan for a
/// halo that does not fit shared memory, whether it does or not.
[[nodiscard]] Outcome through_the_chain(Device& device, const Layer& layer, const InputSizes& sizes, std::uint64_t seed,
                                        std::string_view template_name = "direct", bool unstaged = false,
                                        const std::function<bool(const Plan&)>& wanted = {});

}  // namespace convtgen::testing
