#include "generator/onnx/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "generator/layer/shape.h"
#include "generator/onnx/attributes.h"
#include "generator/onnx/fuse_chain.h"
#include "generator/onnx/geometry.h"
#include "generator/onnx/graph_index.h"
#include "generator/onnx/layer_names.h"
#include "generator/onnx/shapes.h"
#include "generator/onnx/shown.h"
#include "generator/onnx/tensor.h"

namespace convtgen::onnx {
namespace {

/// ConvTranspose has had no other meaning up to this operator set, the newest one that was looked at.
constexpr std::int64_t kNewestOpset = 28;
/// The first one in which it takes bf16.
constexpr std::int64_t kFirstWithBf16 = 22;

std::string_view input_of(const Node& node, std::size_t index) {
  return index < node.inputs.size() ? node.inputs[index] : std::string_view();
}

/// Weights and bias: a constant of the model, or an input of it.
struct Parameter {
  std::vector<std::int64_t> shape;
  std::int32_t element_type = 0;
  std::optional<Elements> elements;
};

class Importer {
 public:
  Importer(const Model& model, std::int64_t opset, const ImportOptions& options)
      : graph_(model.graph),
        opset_(opset),
        options_(options),
        index_(model.graph),
        types_(model.graph, index_, opset, options) {}

  Imported import() {
    for (const Node& node : graph_.nodes) {
      if (node.op_type == "ConvTranspose") {
        auto layer = take(node);
        if (layer) {
          imported_.layers.push_back(*std::move(layer));
        } else {
          imported_.not_taken.push_back({shown(node), std::move(layer.error())});
        }
      }
      types_.add_outputs(node);
      for (const Attribute& attribute : node.attributes) {
        for (const Graph& inner : attribute.graphs) {
          refuse_inner(inner.nodes,
                       fmt::format("{} of {} '{}'", shown(attribute.name), shown(node.op_type), shown(node)));
        }
      }
    }
    return std::move(imported_);
  }

  /// Adds a row for each ConvTranspose among the nodes, which are not the main graph's.
  void refuse_inner(const std::vector<Node>& nodes, const std::string& place) {
    for (const Node& node : nodes) {
      if (node.op_type == "ConvTranspose") {
        imported_.not_taken.push_back(
            {shown(node), {"graph", place, "only nodes of the model's main graph are taken"}});
      }
      for (const Attribute& attribute : node.attributes) {
        for (const Graph& inner : attribute.graphs) {
          refuse_inner(inner.nodes, place);
        }
      }
    }
  }

 private:
  Judged<ImportedLayer> take(const Node& node) {
    if (!is_operator(node, "ConvTranspose")) {
      return refuse("domain", shown(node.domain), "is another operator with this name; ONNX's own has no domain");
    }
    if (opset_ < 1 || opset_ > kNewestOpset) {
      return refuse("opset_import", fmt::format("{}", opset_),
                    fmt::format("known are operator sets 1 to {}", kNewestOpset));
    }
    if (node.inputs.size() < 2 || node.inputs.size() > 3 || node.outputs.size() != 1) {
      return refuse("inputs", fmt::format("{}", node.inputs.size()), "legal are X, W and B, and one output");
    }
    const auto w = parameter(node, 1, "W");
    if (!w) {
      return std::unexpected(w.error());
    }
    const ValueType& x = types_.type(node.inputs[0]);
    auto layer = geometry_of(node, opset_, x.dims, w->shape, options_);
    if (!layer) {
      return std::unexpected(layer.error());
    }
    ImportedLayer result;
    result.weight = w->elements;
    if (!result.weight) {
      result.notes.push_back(
          fmt::format("the weights are the model's input '{}': no file is written", shown(node.inputs[1])));
    }
    auto typed = set_dtype(*w, x, *layer);
    auto done = typed ? set_bias(node, *w, *layer, result) : typed;
    if (!done) {
      return std::unexpected(done.error());
    }
    result.node = shown(node);
    set_fuse_input(node, *layer, result);
    set_fuse(node, *layer, result);
    const std::string_view own = node.name.empty() ? node.outputs.front() : node.name;
    result.layer = {names_.name_for(own), *std::move(layer)};
    return result;
  }

  Judged<Parameter> parameter(const Node& node, std::size_t index, const std::string& role) {
    const std::string_view value = input_of(node, index);
    if (const Tensor* tensor = index_.constant(value); tensor != nullptr) {
      return stored(*tensor, role);
    }
    if (const Node* producer = index_.producer(value); producer != nullptr) {
      const std::string by = fmt::format("'{}' ({}) gives it", shown(*producer), shown(producer->op_type));
      return refuse(role, shown(value),
                    is_operator(*producer, "DequantizeLinear")
                        ? fmt::format("is quantised: {}", by)
                        : fmt::format("is computed: {}; store it as an initializer (constant folding)", by));
    }
    const ValueType& type = types_.type(value);
    if (!index_.is_input(value)) {
      return refuse(role, shown(value), "no node, initializer or input of the model gives it");
    }
    Parameter parameter{{}, type.element_type, std::nullopt};
    for (const auto& extent : type.dims.value_or(Dims{})) {
      if (!extent) {
        return refuse(role, shown(*type.dims),
                      fmt::format("is the model's input '{}', whose extents are open", shown(value)));
      }
      parameter.shape.push_back(*extent);
    }
    return parameter;
  }

  /// A constant of the model, with its bytes if the model itself has them.
  Judged<Parameter> stored(const Tensor& tensor, const std::string& role) {
    constexpr std::size_t kMostAxes = 5;
    if (tensor.dims.size() > kMostAxes) {
      return refuse(role, shown(tensor.dims), "has more axes than layers have: at most 5");
    }
    if (!dtype_of(tensor.element_type)) {
      return refuse(role, element_type_name(tensor.element_type), "legal are FLOAT, FLOAT16, DOUBLE and BFLOAT16");
    }
    Parameter parameter{tensor.dims, tensor.element_type, Elements{tensor.dims, nullptr, tensor.external}};
    if (tensor.external) {
      return parameter;
    }
    std::shared_ptr<const std::string>& kept = bytes_[&tensor];
    if (!kept) {
      auto bytes = bytes_of_elements(tensor);
      if (!bytes) {
        return refuse(role, shown(tensor.name), bytes.error().message);
      }
      kept = std::make_shared<const std::string>(*std::move(bytes));
    }
    parameter.elements->bytes = kept;
    return parameter;
  }

  Judged<void> set_dtype(const Parameter& w, const ValueType& x, Layer& layer) const {
    const std::optional<Dtype> dtype = dtype_of(w.element_type);
    if (!dtype) {
      return refuse("W", element_type_name(w.element_type), "legal are FLOAT, FLOAT16, DOUBLE and BFLOAT16");
    }
    if (dtype == Dtype::kBf16 && opset_ < kFirstWithBf16) {
      return refuse("W", "BFLOAT16",
                    fmt::format("is legal from opset {} on; the model has {}", kFirstWithBf16, opset_));
    }
    if (x.element_type != 0 && x.element_type != w.element_type) {
      return refuse("X", element_type_name(x.element_type),
                    fmt::format("W has another element type, {}", element_type_name(w.element_type)));
    }
    layer.dtype = *dtype;
    layer.compute = default_compute(*dtype);
    return {};
  }

  Judged<void> set_bias(const Node& node, const Parameter& w, Layer& layer, ImportedLayer& result) {
    const std::string_view value = input_of(node, 2);
    if (value.empty()) {
      return {};
    }
    auto bias = parameter(node, 2, "B");
    if (!bias) {
      return std::unexpected(bias.error());
    }
    if (bias->shape != std::vector{layer.out_channels} || bias->element_type != w.element_type) {
      return refuse("B", fmt::format("{} of {}", shown(bias->shape), element_type_name(bias->element_type)),
                    fmt::format("legal is [{}] of {}", layer.out_channels, element_type_name(w.element_type)));
    }
    layer.bias = true;
    result.bias = std::move(bias->elements);
    if (!result.bias) {
      result.notes.push_back(fmt::format("the bias is the model's input '{}': no file is written", shown(value)));
    }
    return {};
  }

  void set_fuse_input(const Node& node, Layer& layer, ImportedLayer& result) {
    const std::string_view x = node.inputs[0];
    FuseChain chain =
        chain_before(x, node, index_, opset_, layer.dtype, [&](const Node& each) { return !fused_.contains(&each); });
    layer.fuse_input = chain.steps;
    if (!check_limits(layer).empty()) {  // a number that layers don't take
      layer.fuse_input.clear();
      chain = {{}, {}, x};
    }
    result.input = shown(chain.end);
    take_nodes(chain, "fused into the input", result);
    const Node* before = index_.producer(chain.end);
    if (before != nullptr && is_activation(*before) && !fused_.contains(before)) {
      result.notes.push_back(fmt::format("{} before it, {}, stays outside: {}", shown(before->op_type), shown(*before),
                                         index_.users(chain.end).size() > 1 || index_.is_read_elsewhere(chain.end)
                                             ? "its result has other readers"
                                             : "layers don't have it, or not with these arguments"));
    }
  }

  void set_fuse(const Node& node, Layer& layer, ImportedLayer& result) {
    FuseChain chain = chain_after(node.outputs.front(), index_, opset_, layer.dtype);
    layer.fuse = chain.steps;
    if (!check_limits(layer).empty()) {  // a number that layers don't take
      layer.fuse.clear();
      chain = {{}, {}, node.outputs.front()};
    }
    result.output = shown(chain.end);
    take_nodes(chain, "fused", result);
    constexpr std::size_t kMostLooks = 16;  // of a value that a hostile model reads a million times
    const auto& users = index_.users(chain.end);
    for (const Node* user : std::span(users).first(std::min(users.size(), kMostLooks))) {
      if (is_activation(*user)) {
        result.notes.push_back(fmt::format("{} after it, {}, stays outside: {}", shown(user->op_type), shown(*user),
                                           users.size() > 1 || index_.is_read_elsewhere(chain.end)
                                               ? "its input has other readers"
                                               : "layers don't have it, or not with these arguments"));
        break;
      }
    }
  }

  /// Notes that a layer has the chain's nodes, which no other layer takes then.
  void take_nodes(const FuseChain& chain, std::string_view how, ImportedLayer& result) {
    fused_.insert(chain.nodes.begin(), chain.nodes.end());
    std::string names;
    for (const Node* each : chain.nodes) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", shown(*each));
    }
    if (!names.empty()) {
      result.notes.push_back(fmt::format("{}: {}", how, names));
    }
  }

  const Graph& graph_;
  std::int64_t opset_;
  ImportOptions options_;
  GraphIndex index_;
  ValueTypes types_;
  LayerNames names_;
  std::unordered_set<const Node*> fused_;
  std::unordered_map<const Tensor*, std::shared_ptr<const std::string>> bytes_;
  Imported imported_;
};

}  // namespace

Result<Imported> import_model(std::string_view bytes, const ImportOptions& options) {
  const Result<Model> model = read_model(bytes);
  if (!model) {
    return std::unexpected(model.error());
  }
  const auto opset = model->opsets.find("");
  Importer importer(*model, opset != model->opsets.end() ? opset->second : 0, options);
  for (const Function& function : model->functions) {
    importer.refuse_inner(function.nodes, fmt::format("function {}", shown(function.name)));
  }
  return importer.import();
}

std::optional<AutoPadAs> auto_pad_as_named(std::string_view name) {
  return name == "standard"      ? std::optional(AutoPadAs::kStandard)
         : name == "onnxruntime" ? std::optional(AutoPadAs::kOnnxRuntime)
                                 : std::nullopt;
}

}  // namespace convtgen::onnx
