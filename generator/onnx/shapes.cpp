#include "generator/onnx/shapes.h"

#include "generator/onnx/shape_rules.h"

namespace convtgen::onnx {
namespace {

/// The rank is unknown where it is more than that of any tensor of a model, so that work on each node stays small.
constexpr std::size_t kMostAxesOfValues = 16;

std::optional<Dims> dims_of(const Tensor& tensor) {
  return tensor.dims.size() <= kMostAxesOfValues ? std::optional(Dims(tensor.dims.begin(), tensor.dims.end()))
                                                 : std::nullopt;
}

/// What both agree on.
std::optional<Dims> merged(const std::optional<Dims>& a, const std::optional<Dims>& b) {
  if (!a || !b) {
    return a ? a : b;
  }
  if (a->size() != b->size()) {
    return std::nullopt;
  }
  Dims dims = *a;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto other = (*b)[i];
    dims[i] = !dims[i] ? other : !other || other == dims[i] ? dims[i] : std::nullopt;
  }
  return dims;
}

}  // namespace

ValueTypes::ValueTypes(const Graph& graph, const GraphIndex& index, std::int64_t opset, const ImportOptions& options)
    : index_(index), opset_(opset), options_(options) {
  for (const auto& infos : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (const ValueInfo& info : *infos) {
      add(info.name,
          {info.element_type, info.dims && info.dims->size() <= kMostAxesOfValues ? info.dims : std::nullopt});
    }
  }
  for (const Tensor& tensor : graph.initializers) {
    add(tensor.name, {tensor.element_type, dims_of(tensor)});
  }
}

void ValueTypes::add(std::string_view value, const ValueType& type) {
  if (value.empty()) {
    return;
  }
  const auto [place, is_new] = types_.emplace(value, type);
  if (!is_new) {
    place->second.dims = merged(place->second.dims, type.dims);
    if (place->second.element_type == 0) {
      place->second.element_type = type.element_type;
    }
  }
}

void ValueTypes::add_outputs(const Node& node) {
  if (node.outputs.empty()) {
    return;
  }
  if (const Tensor* tensor = index_.constant(node.outputs.front()); tensor != nullptr) {
    add(node.outputs.front(), {tensor->element_type, dims_of(*tensor)});
    return;
  }
  RuleInput input{node, opset_, options_, {}, {}};
  for (const std::string_view name : node.inputs) {
    input.dims.push_back(type(name).dims);
    input.constants.push_back(index_.constant(name));
  }
  const std::int32_t element_type =
      keeps_element_type(node) && !node.inputs.empty() ? type(node.inputs[0]).element_type : 0;
  add(node.outputs.front(), {element_type, output_dims(input)});
}

const ValueType& ValueTypes::type(std::string_view value) const {
  static const ValueType kUnknown;
  const auto found = types_.find(value);
  return found != types_.end() ? found->second : kUnknown;
}

}  // namespace convtgen::onnx
