#include "generator/onnx/fuse_chain.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <limits>
#include <optional>

#include "generator/onnx/attributes.h"
#include "generator/onnx/tensor.h"

namespace convtgen::onnx {
namespace {

/// What some nodes are as activations. Their last node gives `output`.
struct Match {
  std::vector<Activation> steps;
  std::vector<const Node*> nodes;
  std::string_view output;
};

/// More are no chain of a model.
constexpr std::size_t kMostSteps = 16;

/// A value with what reads it.
struct Place {
  std::string_view value;
  const GraphIndex& index;
  std::int64_t opset;
  Dtype dtype;

  /// The only reader of a value, or null.
  [[nodiscard]] const Node* only_user(std::string_view of) const {
    const auto& users = index.users(of);
    return users.size() == 1 && !index.is_read_elsewhere(of) ? users.front() : nullptr;
  }
  /// The number that an input is, where it has one element and not more axes than any x.
  [[nodiscard]] std::optional<double> number(std::string_view of) const {
    const Tensor* tensor = index.constant(of);
    return tensor != nullptr && tensor->dims.size() <= 3 ? only_number(*tensor) : std::nullopt;
  }
};

/// Attributes are 32-bit floats. Layers that add up in fp32 take 0.2 for the float next to it.
std::optional<double> argument(const Place& place, const Node& node, std::string_view name, float otherwise) {
  const auto value = float_of(node, name, otherwise);
  if (!value || !std::isfinite(*value)) {
    return std::nullopt;
  }
  return place.dtype == Dtype::kF64 ? static_cast<double>(*value) : shortest_of_float(*value);
}

/// The lowest number of a dtype is the negative of it.
double largest(Dtype dtype) {
  constexpr double kLargestF16 = 65504, kLargestBf16 = 0x1.fep127;
  return dtype == Dtype::kF64   ? DBL_MAX
         : dtype == Dtype::kF16 ? kLargestF16
         : dtype == Dtype::kF32 ? static_cast<double>(FLT_MAX)
                                : kLargestBf16;
}

std::optional<std::vector<Activation>> step_of_clip(const Place& place, const Node& node) {
  constexpr std::int64_t kLimitsAreInputs = 11;
  std::optional<double> limits[2] = {-largest(place.dtype), largest(place.dtype)};
  if (place.opset < kLimitsAreInputs) {
    limits[0] = argument(place, node, "min", -FLT_MAX);
    limits[1] = argument(place, node, "max", FLT_MAX);
  } else {
    for (std::size_t i = 0; i < 2; ++i) {
      if (i + 1 < node.inputs.size() && !node.inputs[i + 1].empty()) {
        limits[i] = place.number(node.inputs[i + 1]);
      }
    }
  }
  if (!limits[0] || !limits[1] || !std::isfinite(*limits[0]) || !std::isfinite(*limits[1])) {
    return std::nullopt;
  }
  if (*limits[0] == 0 && *limits[1] >= largest(place.dtype)) {
    return std::vector{Activation{ActivationKind::kRelu}};
  }
  return std::vector{Activation{ActivationKind::kClamp, *limits[0], *limits[1]}};
}

/// Add, Sub, Mul and Div with one number.
std::optional<std::vector<Activation>> step_of_arithmetic(const Place& place, const Node& node) {
  if (node.inputs.size() != 2) {
    return std::nullopt;
  }
  const bool is_first = node.inputs[0] == place.value;
  const auto number = place.number(node.inputs[is_first ? 1 : 0]);
  if (!number || !std::isfinite(*number)) {
    return std::nullopt;
  }
  const Activation add{ActivationKind::kAdd, *number}, scale{ActivationKind::kScale, *number};
  if (node.op_type == "Add") {
    return std::vector{add};
  }
  if (node.op_type == "Mul") {
    return std::vector{scale};
  }
  if (node.op_type == "Sub") {
    return is_first ? std::vector{Activation{ActivationKind::kAdd, -*number}}
                    : std::vector{Activation{ActivationKind::kScale, -1}, add};
  }
  // A quotient is a product with the same bits where the divisor is a power of two.
  int exponent = 0;
  if (is_first && std::abs(std::frexp(*number, &exponent)) == 0.5 && std::abs(exponent) < 100) {
    return std::vector{Activation{ActivationKind::kScale, 1 / *number}};
  }
  return std::nullopt;
}

std::optional<std::vector<Activation>> step_of_prelu(const Place& place, const Node& node) {
  const auto slope =
      node.inputs.size() == 2 && node.inputs[0] == place.value ? place.number(node.inputs[1]) : std::nullopt;
  return slope && std::isfinite(*slope) ? std::optional(std::vector{Activation{ActivationKind::kLeakyRelu, *slope}})
                                        : std::nullopt;
}

std::optional<std::vector<Activation>> steps_of_node(const Place& place, const Node& node) {
  using Kind = ActivationKind;
  const auto is = [&](std::string_view op) { return is_operator(node, op); };
  const auto one = [](Kind kind, double a = 0, double b = 0) { return std::vector{Activation{kind, a, b}}; };
  if (node.inputs.empty() || node.outputs.size() != 1) {
    return std::nullopt;
  }
  if (is("Add") || is("Sub") || is("Mul") || is("Div")) {
    return step_of_arithmetic(place, node);
  }
  if (node.inputs[0] != place.value) {
    return std::nullopt;
  }
  if (is("Identity") || is("Dropout")) {
    return is("Dropout") && node.inputs.size() > 1 ? std::nullopt : std::optional(std::vector<Activation>{});
  }
  if (is("Relu")) {
    return one(Kind::kRelu);
  }
  if (is("Tanh")) {
    return one(Kind::kTanh);
  }
  if (is("Sigmoid")) {
    return one(Kind::kSigmoid);
  }
  if (is("Mish")) {
    return one(Kind::kMish);
  }
  if (is("Gelu")) {
    const auto approximate = string_of(node, "approximate", "none");
    return !approximate || (*approximate != "none" && *approximate != "tanh")
               ? std::nullopt
               : std::optional(one(*approximate == "tanh" ? Kind::kGeluTanh : Kind::kGelu));
  }
  if (is("LeakyRelu")) {
    const auto slope = argument(place, node, "alpha", 0.01F);
    return slope ? std::optional(one(Kind::kLeakyRelu, *slope)) : std::nullopt;
  }
  if (is("Elu")) {
    const auto alpha = argument(place, node, "alpha", 1.0F);
    return alpha ? std::optional(one(Kind::kElu, *alpha)) : std::nullopt;
  }
  if (is("HardSigmoid")) {
    const auto alpha = argument(place, node, "alpha", 0.2F), beta = argument(place, node, "beta", 0.5F);
    return !alpha || !beta ? std::nullopt
                           : std::optional(std::vector{Activation{Kind::kScale, *alpha}, Activation{Kind::kAdd, *beta},
                                                       Activation{Kind::kClamp, 0, 1}});
  }
  if (is("Swish")) {
    const auto alpha = argument(place, node, "alpha", 1.0F);
    return alpha == 1.0 ? std::optional(one(Kind::kSilu)) : std::nullopt;
  }
  if (is("PRelu")) {
    return step_of_prelu(place, node);
  }
  return is("Clip") ? step_of_clip(place, node) : std::nullopt;
}

std::optional<Match> match_node(const Place& place) {
  const Node* node = place.only_user(place.value);
  auto steps = node != nullptr ? steps_of_node(place, *node) : std::nullopt;
  if (!steps) {
    return std::nullopt;
  }
  return Match{*std::move(steps), {node}, node->outputs.front()};
}

/// The product of a value and what `inner` gives, which is read nowhere else.
const Node* product_with(const Place& place, const Node& inner) {
  const Node* product = inner.outputs.size() == 1 ? place.only_user(inner.outputs.front()) : nullptr;
  const bool is_product = product != nullptr && is_operator(*product, "Mul") && product->inputs.size() == 2 &&
                          product->outputs.size() == 1 &&
                          std::ranges::find(product->inputs, place.value) != product->inputs.end();
  return is_product ? product : nullptr;
}

/// x * sigmoid(x), as silu is exported.
std::optional<Match> match_silu(const Place& place, const Node& gate) {
  const Node* product = is_operator(gate, "Sigmoid") ? product_with(place, gate) : nullptr;
  if (product == nullptr) {
    return std::nullopt;
  }
  return Match{{Activation{ActivationKind::kSilu}}, {&gate, product}, product->outputs.front()};
}

/// x * (1 + erf(x / sqrt(2))) * 0.5, as gelu is exported before opset 20. The factor 0.5 may be at x, too.
std::optional<Match> match_gelu(const Place& place, const Node& scaled) {
  const auto near = [](const std::optional<double>& number, double wanted) {
    constexpr double kTolerance = 1e-3;  // of f16
    return number && std::abs(*number - wanted) <= kTolerance * wanted;
  };
  const auto other = [&](const Node& node, std::string_view value) -> std::optional<double> {
    return node.inputs.size() == 2 ? place.number(node.inputs[node.inputs[0] == value ? 1 : 0]) : std::nullopt;
  };
  const bool is_divided = is_operator(scaled, "Div") && !scaled.inputs.empty() && scaled.inputs[0] == place.value &&
                          near(other(scaled, place.value), std::sqrt(2.0));
  const bool is_multiplied = is_operator(scaled, "Mul") && near(other(scaled, place.value), std::sqrt(0.5));
  if ((!is_divided && !is_multiplied) || scaled.outputs.size() != 1) {
    return std::nullopt;
  }
  const Node* erf = place.only_user(scaled.outputs.front());
  if (erf == nullptr || !is_operator(*erf, "Erf") || erf->outputs.size() != 1) {
    return std::nullopt;
  }
  const Node* add = place.only_user(erf->outputs.front());
  if (add == nullptr || !is_operator(*add, "Add") || add->outputs.size() != 1 ||
      other(*add, erf->outputs.front()) != 1.0) {
    return std::nullopt;
  }
  const auto half_of = [&](const Node* node, std::string_view value) {
    return node != nullptr && is_operator(*node, "Mul") && node->outputs.size() == 1 && other(*node, value) == 0.5;
  };
  const auto gelu = [&](std::vector<const Node*> nodes) {
    const std::string_view output = nodes.back()->outputs.front();
    return Match{{Activation{ActivationKind::kGelu}}, std::move(nodes), output};
  };
  if (const Node* product = product_with(place, *add)) {
    const Node* half = place.only_user(product->outputs.front());
    return half_of(half, product->outputs.front()) ? std::optional(gelu({&scaled, erf, add, product, half}))
                                                   : std::nullopt;
  }
  const Node* next = place.only_user(add->outputs.front());
  if (half_of(next, add->outputs.front())) {  // x * (0.5 * (1 + erf))
    const Node* product = product_with(place, *next);
    return product != nullptr ? std::optional(gelu({&scaled, erf, add, next, product})) : std::nullopt;
  }
  // (0.5 * x) * (1 + erf)
  for (const Node* half : place.index.users(place.value)) {
    if (half_of(half, place.value) && next != nullptr && is_operator(*next, "Mul") && next->outputs.size() == 1 &&
        place.only_user(half->outputs.front()) == next) {
      return gelu({&scaled, erf, add, half, next});
    }
  }
  return std::nullopt;
}

/// Activations that read a value twice.
std::optional<Match> match_pair(const Place& place) {
  const auto& users = place.index.users(place.value);
  if (users.size() != 2 || place.index.is_read_elsewhere(place.value)) {
    return std::nullopt;
  }
  for (const Node* user : users) {
    if (auto match = match_silu(place, *user)) {
      return match;
    }
    if (auto match = match_gelu(place, *user)) {
      return match;
    }
  }
  return std::nullopt;
}

}  // namespace

FuseChain chain_after(std::string_view value, const GraphIndex& index, std::int64_t opset, Dtype dtype) {
  FuseChain chain{{}, {}, value};
  while (chain.nodes.size() < kMostSteps) {
    const Place place{chain.end, index, opset, dtype};
    auto match = match_node(place);
    match = match ? match : match_pair(place);
    if (!match || match->output.empty() || match->output == chain.end) {
      break;
    }
    chain.steps.insert(chain.steps.end(), match->steps.begin(), match->steps.end());
    chain.nodes.insert(chain.nodes.end(), match->nodes.begin(), match->nodes.end());
    chain.end = match->output;
  }
  return chain;
}

FuseChain chain_before(std::string_view value, const Node& user, const GraphIndex& index, std::int64_t opset,
                       Dtype dtype, const std::function<bool(const Node&)>& is_free) {
  FuseChain chain{{}, {}, value};
  constexpr std::size_t kMostInputs = 3;  // of Clip
  const Node* reader = &user;
  while (chain.nodes.size() < kMostSteps) {
    const Node* node = index.producer(chain.end);
    const bool is_own = Place{chain.end, index, opset, dtype}.only_user(chain.end) == reader;
    if (node == nullptr || !is_own || node->inputs.size() > kMostInputs || !is_free(*node)) {
      break;
    }
    // What the node works on is its only input that is no constant.
    std::optional<std::vector<Activation>> steps;
    std::string_view from;
    for (const std::string_view input : node->inputs) {
      if (!steps && !input.empty() && index.constant(input) == nullptr) {
        from = input;
        steps = steps_of_node({from, index, opset, dtype}, *node);
      }
    }
    if (!steps) {
      break;
    }
    chain.steps.insert(chain.steps.begin(), steps->begin(), steps->end());
    chain.nodes.insert(chain.nodes.begin(), node);
    chain.end = from;
    reader = node;
  }
  return chain;
}

bool is_activation(const Node& node) {
  constexpr auto kActivations = std::to_array<std::string_view>(
      {"Celu", "Clip", "Elu", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Mish", "PRelu", "Relu", "Selu",
       "Sigmoid", "Softplus", "Softsign", "Swish", "Tanh", "ThresholdedRelu"});
  return is_operator(node, node.op_type) && std::ranges::find(kActivations, node.op_type) != kActivations.end();
}

}  // namespace convtgen::onnx
