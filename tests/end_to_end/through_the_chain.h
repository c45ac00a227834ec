// One layer from its description to verified numbers, as a test needs it: everything in one call, every failure a
// message.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "generator/layer/layer.h"
#include "generator/layer/shape.h"
#include "generator/planner/plan/plan.h"
#include "runtime/device/device.h"

namespace convtgen::testing {

/// The device that CONVTGEN_TEST_DEVICE names (host, or cuda); null, with a test failure, where it can't be opened.
/// `workers` bounds the host device's threads.
[[nodiscard]] std::unique_ptr<Device> test_device(int workers);
[[nodiscard]] bool test_on_gpu();

/// A plan with other values of some parameters, "stages 2, flat 1", and the threads, the shared memory and the packed
/// weights that they take. Throws where the template has none of that name.
[[nodiscard]] Plan with_block(const Problem& problem, Plan plan, std::string_view block);

/// Specialises, compiles and runs this plan of the layer with random inputs of the seed on poisoned outputs, and
/// compares all outputs (samples of large ones) with the definition in fp64. Returns what failed, at which stage, or
/// nothing.
[[nodiscard]] std::optional<std::string> failure_of(Device& device, const Layer& layer, const InputSizes& sizes,
                                                    const Plan& plan, std::uint64_t seed,
                                                    Direction direction = Direction::kForward);

/// Whether the host device runs this in a few seconds: blocks that emulate hundreds of threads are what takes it long,
/// of however few multiply-adds the layer is.
[[nodiscard]] bool is_quick(const Layer& layer, const InputSizes& sizes, const Plan& plan, Direction direction);

}  // namespace convtgen::testing
