// Tensors that are channels of larger ones: copies of their own bytes, and whether those between them were left alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "generator/recipe/recipe.h"

namespace convtgen {

/// Where a tensor's bytes lie: so many runs of so many bytes, a pitch apart. One run where it is a tensor of its own.
struct TensorRuns {
  std::int64_t count = 1;
  std::int64_t run = 0, pitch = 0;  // bytes

  [[nodiscard]] std::int64_t bytes() const { return count * run; }
  [[nodiscard]] std::int64_t span() const { return count == 0 ? 0 : (count - 1) * pitch + run; }
};
[[nodiscard]] TensorRuns runs_of(const Tensor& tensor, const Quantities& quantities, std::int64_t element_bytes);

/// Copies the runs, from one pitch to another.
void copy_runs(const TensorRuns& runs, const std::byte* from, std::int64_t from_pitch, std::byte* to,
               std::int64_t to_pitch);

/// Whether all bytes between the runs of this span have the value.
[[nodiscard]] bool gaps_hold(const TensorRuns& runs, std::span<const std::byte> bytes, std::byte value);

}  // namespace convtgen
