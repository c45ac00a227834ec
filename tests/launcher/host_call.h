// Calls of a set's kernels in any direction, held to the definition.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "generator/language/language.h"
#include "runtime/reference/compare.h"
#include "tests/launcher/built_set.h"

namespace convtgen::test {

/// A call of one of a set's kernels on the host device, with random inputs. What it writes is NaN at first.
class HostCall {
 public:
  HostCall(const BuiltSet& set, const SetKernelFacts* kernel, const InputSizes& sizes)
      : set_(set),
        kernel_(kernel),
        layer_(parse_layer(kernel->text).value()),
        direction_(direction_named(kernel->direction).value()),
        input_{sizes.batch, {sizes.extents[kDepth], sizes.extents[kHeight], sizes.extents[kWidth]}},
        shape_(shape_of(layer_, sizes).value()),
        inputs_(random_inputs(layer_, shape_, 1, direction_)) {
    for (const Role role : roles_of(layer_, direction_).written) {
      results_.emplace_back(role, make_array(layer_.dtype, array_shape(layer_, shape_, role)));
      std::ranges::fill(results_.back().second.bytes, std::byte{0xff});  // NaN
    }
  }

  int launch() {
    const auto read = [&](Role role) -> const void* {
      const HostArray* array = inputs_.of(role);
      return array != nullptr ? array->bytes.data() : nullptr;
    };
    const auto written = [&](Role role) -> void* {
      const auto found = std::ranges::find(results_, role, &Result::first);
      return found != results_.end() ? found->second.bytes.data() : nullptr;
    };
    SetTensors tensors{.x = read(Role::kX),
                       .weight = read(Role::kWeight),
                       .bias = read(Role::kBias),
                       .y = written(Role::kY),
                       .grad_y = read(Role::kGradY),
                       .grad_x = written(Role::kGradX),
                       .grad_weight = written(Role::kGradWeight),
                       .grad_bias = written(Role::kGradBias)};
    tensors.workspace_bytes = set_.function<KernelWorkspace>("kernel_workspace")(kernel_, &input_);
    std::vector<std::byte> workspace(tensors.workspace_bytes + 128);
    tensors.workspace = workspace.data() + (128 - reinterpret_cast<std::uintptr_t>(workspace.data()) % 128);
    return set_.function<KernelLaunch>("kernel_launch")(kernel_, &tensors, &input_, nullptr);
  }

  void expect_right() const {
    for (const auto& [role, array] : results_) {
      const Comparison comparison = compare(layer_, shape_, define_all(layer_, shape_, inputs_, role), array, {}, role);
      EXPECT_TRUE(comparison.passed()) << kernel_->name << ": " << describe(comparison, layer_);
    }
  }
  [[nodiscard]] bool all_zero() const {
    return std::ranges::all_of(results_, [](const Result& result) {
      return std::ranges::all_of(result.second.bytes, [](std::byte byte) { return byte == std::byte{0}; });
    });
  }
  [[nodiscard]] std::size_t results() const { return results_.size(); }

 private:
  using Result = std::pair<Role, HostArray>;

  const BuiltSet& set_;
  const SetKernelFacts* kernel_;
  Layer layer_;
  Direction direction_;
  SetInput input_;
  Shape shape_;
  LayerInputs inputs_;
  std::vector<Result> results_;
};

}  // namespace convtgen::test
