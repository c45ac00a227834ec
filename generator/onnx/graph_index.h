// Who gives and who reads the values of a graph.
#pragma once

#include <deque>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "generator/onnx/model.h"

namespace convtgen::onnx {

/// Whether the node is one of ONNX's own operators, with this name.
[[nodiscard]] bool is_operator(const Node& node, std::string_view op_type);

/// Points into the graph, which must outlive it.
class GraphIndex {
 public:
  explicit GraphIndex(const Graph& graph);

  /// The tensor of an initializer or of a Constant node, also through Identity nodes; else null.
  [[nodiscard]] const Tensor* constant(std::string_view value) const;
  /// The node that gives a value, or null.
  [[nodiscard]] const Node* producer(std::string_view value) const;
  /// The graph's nodes that read a value, one entry for each input.
  [[nodiscard]] const std::vector<const Node*>& users(std::string_view value) const;
  /// Whether a value is an output of the graph, or is read inside a node's graph.
  [[nodiscard]] bool is_read_elsewhere(std::string_view value) const { return elsewhere_.contains(value); }
  /// Whether a value is an input of the graph.
  [[nodiscard]] bool is_input(std::string_view value) const { return inputs_.contains(value); }

 private:
  void add_constant(const Node& node);
  void add_inner_uses(const Graph& graph);

  std::unordered_map<std::string_view, const Tensor*> constants_;
  std::deque<Tensor> made_;  // of Constant nodes that hold a number
  std::unordered_map<std::string_view, const Node*> producers_;
  std::unordered_map<std::string_view, std::vector<const Node*>> users_;
  std::unordered_set<std::string_view> elsewhere_, inputs_;
};

}  // namespace convtgen::onnx
