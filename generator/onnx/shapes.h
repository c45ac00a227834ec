// The types of a graph's values: what the file declares, and what follows from it node by node.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "generator/onnx/graph_index.h"
#include "generator/onnx/model.h"
#include "generator/onnx/options.h"

namespace convtgen::onnx {

/// What is known of a value.
struct ValueType {
  std::int32_t element_type = 0;  // 0: unknown
  std::optional<Dims> dims;       // missing where the rank is unknown
};

/// The types of a graph's values. An extent for which the file has two numbers counts as unknown.
class ValueTypes {
 public:
  /// With the graph's declared types: inputs, outputs, values, initializers. Nodes are added in the graph's order.
  ValueTypes(const Graph& graph, const GraphIndex& index, std::int64_t opset, const ImportOptions& options);

  /// Adds what follows for a node's outputs. Unknown operators leave them as they are declared.
  void add_outputs(const Node& node);

  /// Nothing is known of a value that no node gives.
  [[nodiscard]] const ValueType& type(std::string_view value) const;

 private:
  void add(std::string_view value, const ValueType& type);

  const GraphIndex& index_;
  std::int64_t opset_;
  ImportOptions options_;
  std::unordered_map<std::string_view, ValueType> types_;
};

}  // namespace convtgen::onnx
