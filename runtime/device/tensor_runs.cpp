#include "runtime/device/tensor_runs.h"

#include <algorithm>
#include <cstring>

namespace convtgen {

TensorRuns runs_of(const Tensor& tensor, const Quantities& quantities, std::int64_t element_bytes) {
  const std::int64_t bytes = tensor.elements.in(quantities).value_or(0) * element_bytes;
  const std::int64_t count = value_of(tensor.runs, quantities);
  if (bytes == 0 || count <= 1) {
    return {.count = 1, .run = bytes, .pitch = bytes};
  }
  const std::int64_t run = bytes / count;
  return {.count = count, .run = run, .pitch = run + tensor.gap.in(quantities).value_or(0) * element_bytes};
}

void copy_runs(const TensorRuns& runs, const std::byte* from, std::int64_t from_pitch, std::byte* to,
               std::int64_t to_pitch) {
  for (std::int64_t i = 0; i < runs.count && runs.run > 0; ++i) {
    std::memcpy(to + i * to_pitch, from + i * from_pitch, static_cast<std::size_t>(runs.run));
  }
}

bool gaps_hold(const TensorRuns& runs, std::span<const std::byte> bytes, std::byte value) {
  for (std::int64_t i = 0; i + 1 < runs.count; ++i) {
    const auto gap = bytes.subspan(static_cast<std::size_t>(i * runs.pitch + runs.run),
                                   static_cast<std::size_t>(runs.pitch - runs.run));
    if (std::ranges::any_of(gap, [&](std::byte each) { return each != value; })) {
      return false;
    }
  }
  return true;
}

}  // namespace convtgen
