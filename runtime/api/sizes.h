// Sizes and tensors as callers give them.
#pragma once

#include <convtgen/convtgen.h>

#include <algorithm>
#include <limits>

#include "generator/layer/shape.h"
#include "generator/recipe/call_form.h"

namespace convtgen::api {

static_assert(CONVTGEN_AXES == kAxes);

/// Null means the layer's own sizes; CONVTGEN_DYNAMIC means the layer's own size of one axis, if it has one.
[[nodiscard]] inline InputSizes sizes_given(const Layer& layer, const convtgen_sizes* given) {
  const auto size = [](const std::int64_t* value, const Size& own) {
    return value == nullptr || *value == CONVTGEN_DYNAMIC ? own.value_or(CONVTGEN_DYNAMIC) : *value;
  };
  InputSizes sizes{size(given != nullptr ? &given->batch : nullptr, layer.batch), {1, 1}};
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    sizes.extents[axis] = size(given != nullptr ? &given->extents[axis] : nullptr, layer.axes[axis].extent);
  }
  return sizes;
}

/// The struct's pointers by their roles. What is const there is only read.
[[nodiscard]] inline Arrays arrays_given(const convtgen_tensors& tensors) {
  Arrays arrays;
  arrays.set(Role::kX, const_cast<void*>(tensors.x));
  arrays.set(Role::kWeight, const_cast<void*>(tensors.weight));
  arrays.set(Role::kBias, const_cast<void*>(tensors.bias));
  arrays.set(Role::kY, tensors.y);
  arrays.set(Role::kGradX, tensors.grad_x);
  arrays.set(Role::kGradY, const_cast<void*>(tensors.grad_y));
  arrays.set(Role::kGradWeight, tensors.grad_weight);
  arrays.set(Role::kGradBias, tensors.grad_bias);
  arrays.workspace = tensors.workspace;
  arrays.workspace_bytes = static_cast<std::int64_t>(
      std::min<std::uint64_t>(tensors.workspace_bytes, std::numeric_limits<std::int64_t>::max()));
  return arrays;
}

}  // namespace convtgen::api
