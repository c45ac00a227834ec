#include "runtime/tune/tune_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "generator/planner/plan/plan.h"

namespace convtgen {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::int64_t add(std::int64_t a, std::int64_t b) {
  return a > kMost - b ? kMost : a + b;
}

}  // namespace

std::int64_t TuneMemory::device() const {
  return add(add(inputs, outputs), add(workspace, timing));
}

std::int64_t workspace_of(const Plan& plan, const Shape& shape) {
  Recipe recipe;
  recipe.regions = plan.launch.regions;
  return recipe.offset_of(recipe.regions.size(), quantities_of(shape)).value_or(kMost);
}

bool outgrows_given(std::int64_t workspace, const TuneOptions& options) {
  return options.buffers.workspace != nullptr && workspace > options.buffers.workspace_bytes;
}

Arrays used_arrays(const Device& device, const TuneOptions& options) {
  return device.kind() == DeviceKind::kHost ? Arrays() : options.buffers;
}

TuneMemory tune_memory(const Problem& problem, const Shape& shape, std::int64_t workspace, const Arrays& given,
                       const VerifyOptions& verify) {
  TuneMemory memory;
  std::int64_t host_inputs = 0;
  const Quantities quantities = quantities_of(shape);
  for (const Tensor& tensor : tensors_of(problem.layer, problem.direction, 0)) {
    const std::int64_t elements = tensor.span(quantities).value_or(kMost);
    const std::int64_t element = bytes_of(problem.layer.dtype);
    const std::int64_t bytes = elements > kMost / element ? kMost : elements * element;
    if (given.of(tensor.role) == nullptr || tensor.runs != Quantity::kOne) {
      std::int64_t& sum = tensor.written ? memory.outputs : memory.inputs;
      sum = add(sum, bytes);
    }
    host_inputs = add(host_inputs, tensor.written ? 0 : bytes);
  }
  memory.workspace = given.workspace == nullptr ? workspace : 0;
  const VerifyMemory verifying = verify_memory(problem.layer, shape, verify, problem.direction);
  memory.host = std::max(add(host_inputs, verifying.making), verifying.checking);
  return memory;
}

Outcome<TuneMemory> tune_memory(const Device& device, const TuneJob& job, const TuneOptions& options) {
  const auto plans = candidates_of(job.problem, options.candidates, options.of_each);
  if (!plans) {
    return fail_with(Status::kUnsupported, plans.error());
  }
  const auto shape = shape_of(job.problem.layer, job.sizes);
  if (!shape) {
    return fail_with(Status::kInvalidArgument, shape.error());
  }
  std::int64_t workspace = 0;
  for (const Plan& plan : *plans) {
    const std::int64_t own = workspace_of(plan, *shape);
    workspace = outgrows_given(own, options) ? workspace : std::max(workspace, own);
  }
  TuneMemory memory = tune_memory(job.problem, *shape, workspace, used_arrays(device, options), options.verify);
  memory.timing = static_cast<std::int64_t>(device.timing_bytes());
  return memory;
}

Outcome<void> check_memory(const Device& device, const TuneMemory& memory, const TuneOptions& options) {
  const std::int64_t needed = memory.device();
  const auto refuse = [&](std::int64_t there, const char* how) {
    return fail_with(
        Status::kOutOfMemory,
        fmt::format("tuning needs {} bytes on {} ({} for inputs, {} for outputs, {} for the workspace, {} "
                    "for timing); {} are {}",
                    needed, device.name(), memory.inputs, memory.outputs, memory.workspace, memory.timing, there, how));
  };
  if (options.memory_limit > 0 && needed > options.memory_limit) {
    return refuse(options.memory_limit, "allowed");
  }
  const auto free = device.free_memory();
  if (free && static_cast<std::uint64_t>(needed) > *free) {
    return refuse(static_cast<std::int64_t>(*free), "free");
  }
  return {};
}

}  // namespace convtgen
