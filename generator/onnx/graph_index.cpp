#include "generator/onnx/graph_index.h"

#include "generator/onnx/attributes.h"
#include "generator/onnx/tensor.h"

namespace convtgen::onnx {

bool is_operator(const Node& node, std::string_view op_type) {
  return node.op_type == op_type && (node.domain.empty() || node.domain == "ai.onnx");
}

GraphIndex::GraphIndex(const Graph& graph) {
  for (const Tensor& tensor : graph.initializers) {
    constants_.emplace(tensor.name, &tensor);
  }
  for (const ValueInfo& input : graph.inputs) {
    inputs_.insert(input.name);
  }
  for (const ValueInfo& output : graph.outputs) {
    elsewhere_.insert(output.name);
  }
  for (const Node& node : graph.nodes) {
    for (const std::string_view output : node.outputs) {
      producers_.emplace(output, &node);
    }
    for (const std::string_view input : node.inputs) {
      users_[input].push_back(&node);
    }
    for (const Attribute& attribute : node.attributes) {
      for (const Graph& inner : attribute.graphs) {
        add_inner_uses(inner);
      }
    }
    if (is_operator(node, "Constant")) {
      add_constant(node);
    }
  }
}

void GraphIndex::add_constant(const Node& node) {
  if (node.outputs.size() != 1 || node.attributes.size() != 1) {
    return;
  }
  const Attribute& attribute = node.attributes.front();
  if (attribute.name == "value" && attribute.tensor) {
    constants_.emplace(node.outputs.front(), &*attribute.tensor);
    return;
  }
  Tensor tensor;
  const bool is_list = attribute.name == "value_floats" || attribute.name == "value_ints";
  if (attribute.name == "value_float" || attribute.name == "value_floats") {
    tensor.element_type = kFloat;
    tensor.floats = is_list ? attribute.floats : std::vector{attribute.f};
    tensor.dims.assign(is_list ? 1 : 0, static_cast<std::int64_t>(tensor.floats.size()));
  } else if (attribute.name == "value_int" || attribute.name == "value_ints") {
    tensor.element_type = kInt64;
    tensor.int64s = is_list ? attribute.ints : std::vector{attribute.i};
    tensor.dims.assign(is_list ? 1 : 0, static_cast<std::int64_t>(tensor.int64s.size()));
  } else {
    return;
  }
  made_.push_back(std::move(tensor));
  constants_.emplace(node.outputs.front(), &made_.back());
}

void GraphIndex::add_inner_uses(const Graph& graph) {
  for (const ValueInfo& output : graph.outputs) {
    elsewhere_.insert(output.name);
  }
  for (const Node& node : graph.nodes) {
    elsewhere_.insert(node.inputs.begin(), node.inputs.end());
    for (const Attribute& attribute : node.attributes) {
      for (const Graph& inner : attribute.graphs) {
        add_inner_uses(inner);
      }
    }
  }
}

const Tensor* GraphIndex::constant(std::string_view value) const {
  constexpr int kMostIdentities = 8;  // a circle of them ends too
  for (int i = 0; i <= kMostIdentities; ++i) {
    if (const auto found = constants_.find(value); found != constants_.end()) {
      return found->second;
    }
    const Node* node = producer(value);
    if (node == nullptr || !is_operator(*node, "Identity") || node->inputs.size() != 1) {
      return nullptr;
    }
    value = node->inputs.front();
  }
  return nullptr;
}

const Node* GraphIndex::producer(std::string_view value) const {
  const auto found = value.empty() ? producers_.end() : producers_.find(value);
  return found != producers_.end() ? found->second : nullptr;
}

const std::vector<const Node*>& GraphIndex::users(std::string_view value) const {
  static const std::vector<const Node*> kNobody;
  const auto found = users_.find(value);
  return found != users_.end() ? found->second : kNobody;
}

}  // namespace convtgen::onnx
