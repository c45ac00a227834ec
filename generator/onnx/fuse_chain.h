// The pointwise nodes after a ConvTranspose, as activations of the layer.
#pragma once

#include <string_view>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/onnx/graph_index.h"

namespace convtgen::onnx {

/// The activations that follow a value, as far as each result has no other reader and the activation is one of layers.
struct FuseChain {
  std::vector<Activation> steps;
  std::vector<const Node*> nodes;  // that the steps stand for
  std::string_view output;         // the value after the last of them
};
[[nodiscard]] FuseChain chain_after(std::string_view value, const GraphIndex& index, std::int64_t opset, Dtype dtype);

/// Whether the operator is one that works element by element on one tensor.
[[nodiscard]] bool is_activation(const Node& node);

}  // namespace convtgen::onnx
