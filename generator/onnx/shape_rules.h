// Which shape a node's first output has, for the operators that are common before an up-sampling layer.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "generator/onnx/model.h"
#include "generator/onnx/options.h"

namespace convtgen::onnx {

/// A node with what is known of its inputs.
struct RuleInput {
  const Node& node;
  std::int64_t opset;
  const ImportOptions& options;
  std::vector<std::optional<Dims>> dims;  // of each input
  std::vector<const Tensor*> constants;   // of each input; null where it is computed
};

/// Missing where the operator has no rule, or its rule needs what is unknown.
[[nodiscard]] std::optional<Dims> output_dims(const RuleInput& input);

/// Whether the node's output has the element type of its first input.
[[nodiscard]] bool keeps_element_type(const Node& node);

}  // namespace convtgen::onnx
