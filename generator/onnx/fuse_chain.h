// The pointwise nodes before and after a ConvTranspose, as activations of the layer.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/onnx/graph_index.h"

namespace convtgen::onnx {

/// Activations of layers that follow one another: each reads the result of the one before, which nothing else reads.
struct FuseChain {
  std::vector<Activation> steps;
  std::vector<const Node*> nodes;  // that the steps stand for
  std::string_view end;            // the value before the first of them, or after the last
};
/// Those that follow a value, which is read by the first of them alone.
[[nodiscard]] FuseChain chain_after(std::string_view value, const GraphIndex& index, std::int64_t opset, Dtype dtype);
/// Those that a value comes from, each a node of its own, as far as `is_free`; the value has no other reader than
/// `user`.
[[nodiscard]] FuseChain chain_before(std::string_view value, const Node& user, const GraphIndex& index,
                                     std::int64_t opset, Dtype dtype, const std::function<bool(const Node&)>& is_free);

/// Whether the operator is one that works element by element on one tensor.
[[nodiscard]] bool is_activation(const Node& node);

}  // namespace convtgen::onnx
