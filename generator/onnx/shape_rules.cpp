#include "generator/onnx/shape_rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "generator/layer/shape.h"
#include "generator/onnx/attributes.h"
#include "generator/onnx/geometry.h"
#include "generator/onnx/graph_index.h"
#include "generator/onnx/tensor.h"

namespace convtgen::onnx {
namespace {

using Numbers = std::vector<std::int64_t>;
using Extent = std::optional<std::int64_t>;

/// Longer shapes are no tensors of a model; work on each node stays small.
constexpr std::size_t kMaxRank = 16;

/// Their output has the shape of their first input.
constexpr auto kSameShape = std::to_array<std::string_view>({"Abs",
                                                             "BatchNormalization",
                                                             "Cast",
                                                             "Ceil",
                                                             "Celu",
                                                             "Clip",
                                                             "Cos",
                                                             "CumSum",
                                                             "DequantizeLinear",
                                                             "Dropout",
                                                             "Elu",
                                                             "Erf",
                                                             "Exp",
                                                             "Floor",
                                                             "Gelu",
                                                             "GroupNormalization",
                                                             "HardSigmoid",
                                                             "HardSwish",
                                                             "Identity",
                                                             "InstanceNormalization",
                                                             "LRN",
                                                             "LayerNormalization",
                                                             "LeakyRelu",
                                                             "Log",
                                                             "LogSoftmax",
                                                             "LpNormalization",
                                                             "Mish",
                                                             "Neg",
                                                             "PRelu",
                                                             "QuantizeLinear",
                                                             "RMSNormalization",
                                                             "Reciprocal",
                                                             "Relu",
                                                             "Round",
                                                             "Selu",
                                                             "Sigmoid",
                                                             "Sign",
                                                             "Sin",
                                                             "Softmax",
                                                             "Softplus",
                                                             "Softsign",
                                                             "Sqrt",
                                                             "Swish",
                                                             "Tanh",
                                                             "ThresholdedRelu"});
/// Their output has the shape that their inputs are broadcast to.
constexpr auto kBroadcast =
    std::to_array<std::string_view>({"Add", "Div", "Max", "Mean", "Min", "Mul", "Pow", "Sub", "Sum", "Where"});

/// An extent of at least 1 and within a layer's limits, else unknown.
Extent sane(std::int64_t extent) {
  return extent >= 1 && extent <= kMaxExtent ? Extent(extent) : std::nullopt;
}

Extent product(const Extent& a, const Extent& b) {
  std::int64_t result = 0;
  return a && b && !__builtin_mul_overflow(*a, *b, &result) ? Extent(result) : std::nullopt;
}

const std::optional<Dims>& first(const RuleInput& input) {
  static const std::optional<Dims> kNone;
  return input.dims.empty() ? kNone : input.dims.front();
}

/// The whole numbers of a constant input.
std::optional<Numbers> numbers_of(const RuleInput& input, std::size_t index) {
  const Tensor* tensor = index < input.constants.size() ? input.constants[index] : nullptr;
  return tensor != nullptr ? whole_numbers(*tensor) : std::nullopt;
}

std::optional<Numbers> attribute_numbers(const Node& node, std::string_view name) {
  const auto numbers = ints_of(node, name);
  return numbers ? *numbers : std::nullopt;
}

/// The attribute in old versions of an operator, the input in new ones.
std::optional<Numbers> axes_of(const RuleInput& input, std::string_view name, std::size_t index) {
  const auto numbers = attribute_numbers(input.node, name);
  return numbers ? numbers : numbers_of(input, index);
}

std::int64_t whole_attribute(const Node& node, std::string_view name, std::int64_t otherwise) {
  return int_of(node, name, otherwise).value_or(otherwise);
}

/// The place of an axis that may be counted from the end.
std::optional<std::size_t> place_of(std::int64_t axis, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  if (axis < -size || axis >= size) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(axis < 0 ? axis + size : axis);
}

std::optional<Dims> broadcast(const RuleInput& input) {
  Dims result;
  for (const std::optional<Dims>& dims : input.dims) {
    if (!dims || dims->size() > kMaxRank) {
      return std::nullopt;
    }
    if (dims->size() > result.size()) {
      result.insert(result.begin(), dims->size() - result.size(), 1);
    }
    const std::size_t start = result.size() - dims->size();
    for (std::size_t i = 0; i < dims->size(); ++i) {
      Extent& own = result[start + i];
      const Extent& other = (*dims)[i];
      if (own == 1 || (!own && other && *other != 1)) {
        own = other;
      } else if (own && other && other != own && *other != 1) {
        own = std::nullopt;
      }
    }
  }
  return result;
}

/// The extent after a window has moved over an axis.
Extent window_extent(const Extent& in, std::int64_t reach, std::int64_t stride, std::int64_t pads, bool is_ceil) {
  if (!in || *in > kMaxExtent) {
    return std::nullopt;
  }
  const std::int64_t room = *in + pads - reach;
  return room < 0 ? std::nullopt : sane((room + (is_ceil ? stride - 1 : 0)) / stride + 1);
}

/// Conv and pooling, whose kernel is given.
std::optional<Dims> windows(const RuleInput& input, const Numbers& kernel, const Extent& channels) {
  const auto& x = first(input);
  const std::size_t axes = kernel.size();
  if (!x || x->size() != axes + 2 || axes > kMaxRank) {
    return std::nullopt;
  }
  const Numbers strides = attribute_numbers(input.node, "strides").value_or(Numbers(axes, 1));
  const Numbers dilations = attribute_numbers(input.node, "dilations").value_or(Numbers(axes, 1));
  const Numbers pads = attribute_numbers(input.node, "pads").value_or(Numbers(2 * axes, 0));
  const auto auto_pad = string_of(input.node, "auto_pad", "NOTSET").value_or("NOTSET");
  Dims result{(*x)[0], channels};
  const auto is_large = [](std::int64_t n) { return n < 0 || n > kMaxExtent; };
  if (strides.size() != axes || dilations.size() != axes || pads.size() != 2 * axes ||
      std::ranges::any_of(strides, is_large) || std::ranges::any_of(dilations, is_large) ||
      std::ranges::any_of(pads, is_large) || std::ranges::any_of(kernel, is_large) ||
      std::ranges::find(strides, 0) != strides.end()) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < axes; ++i) {
    const Extent& in = (*x)[i + 2];
    if (auto_pad.starts_with("SAME")) {
      result.push_back(in && *in <= kMaxExtent ? sane((*in + strides[i] - 1) / strides[i]) : std::nullopt);
    } else {
      result.push_back(window_extent(in, dilations[i] * (kernel[i] - 1) + 1, strides[i],
                                     auto_pad == "VALID" ? 0 : pads[i] + pads[i + axes],
                                     whole_attribute(input.node, "ceil_mode", 0) != 0));
    }
  }
  return result;
}

std::optional<Dims> conv(const RuleInput& input) {
  if (input.dims.size() < 2 || !input.dims[1] || input.dims[1]->size() < 3) {
    return std::nullopt;
  }
  const Dims& w = *input.dims[1];
  Numbers kernel;
  for (std::size_t i = 2; i < w.size(); ++i) {
    if (!w[i]) {
      return std::nullopt;
    }
    kernel.push_back(*w[i]);
  }
  return windows(input, kernel, w[0]);
}

std::optional<Dims> pool(const RuleInput& input) {
  const auto& x = first(input);
  const auto kernel = attribute_numbers(input.node, "kernel_shape");
  return kernel && x && x->size() > 2 ? windows(input, *kernel, (*x)[1]) : std::nullopt;
}

std::optional<Dims> global_pool(const RuleInput& input) {
  std::optional<Dims> dims = first(input);
  if (dims && dims->size() > 2) {
    std::fill(dims->begin() + 2, dims->end(), 1);
  }
  return dims;
}

std::optional<Dims> conv_transpose(const RuleInput& input) {
  if (input.dims.size() < 2 || !input.dims[1]) {
    return std::nullopt;
  }
  Numbers w;
  for (const Extent& extent : *input.dims[1]) {
    if (!extent) {
      return std::nullopt;
    }
    w.push_back(*extent);
  }
  const auto layer = geometry_of(input.node, input.opset, first(input), w, input.options);
  if (!layer) {
    return std::nullopt;
  }
  Dims dims{layer->batch, layer->out_channels};
  for (const std::size_t axis : convtgen::axes_of(*layer)) {
    const Size extent = layer->axes[axis].extent;
    dims.push_back(extent ? sane(output_extent(layer->axes[axis], *extent)) : std::nullopt);
  }
  return dims;
}

std::optional<Dims> concat(const RuleInput& input) {
  std::optional<Dims> dims = first(input);
  const auto axis = dims ? place_of(whole_attribute(input.node, "axis", 1), dims->size()) : std::nullopt;
  if (!axis) {
    return std::nullopt;
  }
  for (std::size_t i = 1; i < input.dims.size(); ++i) {
    const auto& other = input.dims[i];
    if (!other || other->size() != dims->size()) {
      return std::nullopt;
    }
    for (std::size_t k = 0; k < dims->size(); ++k) {
      Extent& own = (*dims)[k];
      const Extent& more = (*other)[k];
      if (k == *axis) {
        own = own && more && *own <= kMaxExtent && *more <= kMaxExtent ? Extent(*own + *more) : std::nullopt;
      } else if (!own) {
        own = more;
      }
    }
  }
  return dims;
}

std::optional<Dims> reshape(const RuleInput& input) {
  const auto& x = first(input);
  const auto shape = numbers_of(input, 1);
  if (!shape || shape->size() > kMaxRank) {
    return std::nullopt;
  }
  Dims dims;
  std::optional<std::size_t> open;
  Extent all = x ? Extent(1) : std::nullopt, known = 1;
  for (std::size_t i = 0; x && i < x->size(); ++i) {
    all = product(all, (*x)[i]);
  }
  for (std::size_t i = 0; i < shape->size(); ++i) {
    const std::int64_t extent = (*shape)[i];
    if (extent == -1) {
      open = i;
      dims.emplace_back();
    } else if (extent == 0) {
      dims.push_back(x && i < x->size() ? (*x)[i] : std::nullopt);
    } else {
      dims.push_back(sane(extent));
    }
    known = extent == -1 ? known : product(known, dims.back());
  }
  if (open && all && known && *known > 0 && *all % *known == 0) {
    dims[*open] = *all / *known;
  }
  return dims;
}

std::optional<Dims> flatten(const RuleInput& input) {
  const auto& x = first(input);
  const std::int64_t axis = whole_attribute(input.node, "axis", 1);
  const auto rank = x ? static_cast<std::int64_t>(x->size()) : 0;
  if (!x || axis < -rank || axis > rank) {
    return std::nullopt;
  }
  Dims dims{1, 1};
  for (std::int64_t i = 0; i < rank; ++i) {
    Extent& own = dims[i < (axis < 0 ? axis + rank : axis) ? 0 : 1];
    own = product(own, (*x)[static_cast<std::size_t>(i)]);
  }
  return dims;
}

std::optional<Dims> transpose(const RuleInput& input) {
  const auto& x = first(input);
  const auto order = attribute_numbers(input.node, "perm");
  if (!x || (order && order->size() != x->size())) {
    return std::nullopt;
  }
  if (!order) {
    return Dims(x->rbegin(), x->rend());
  }
  Dims dims;
  for (const std::int64_t from : *order) {
    const auto place = place_of(from, x->size());
    if (!place) {
      return std::nullopt;
    }
    dims.push_back((*x)[*place]);
  }
  return dims;
}

std::optional<Dims> unsqueeze(const RuleInput& input) {
  const auto& x = first(input);
  const auto axes = axes_of(input, "axes", 1);
  if (!x || !axes || x->size() + axes->size() > kMaxRank) {
    return std::nullopt;
  }
  const std::size_t rank = x->size() + axes->size();
  std::vector<bool> is_new(rank);
  for (const std::int64_t axis : *axes) {
    const auto place = place_of(axis, rank);
    if (!place || is_new[*place]) {
      return std::nullopt;
    }
    is_new[*place] = true;
  }
  Dims dims;
  for (std::size_t i = 0, from = 0; i < rank; ++i) {
    dims.push_back(is_new[i] ? Extent(1) : (*x)[from++]);
  }
  return dims;
}

std::optional<Dims> squeeze(const RuleInput& input) {
  const auto& x = first(input);
  const auto axes = axes_of(input, "axes", 1);
  if (!x || !axes || axes->size() > kMaxRank) {
    return std::nullopt;
  }
  Dims dims;
  for (std::size_t i = 0; i < x->size(); ++i) {
    if (std::ranges::none_of(*axes, [&](std::int64_t axis) { return place_of(axis, x->size()) == i; })) {
      dims.push_back((*x)[i]);
    }
  }
  return dims;
}

std::optional<Dims> pad(const RuleInput& input) {
  std::optional<Dims> dims = first(input);
  const auto pads = axes_of(input, "pads", 1);
  const bool has_axes = input.node.inputs.size() > 3 && !input.node.inputs[3].empty();
  if (!dims || !pads || has_axes || pads->size() != 2 * dims->size()) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < dims->size(); ++i) {
    std::int64_t sum = 0;
    const bool is_known = (*dims)[i] && !__builtin_add_overflow((*pads)[i], (*pads)[i + dims->size()], &sum) &&
                          !__builtin_add_overflow(sum, *(*dims)[i], &sum);
    (*dims)[i] = is_known ? sane(sum) : std::nullopt;
  }
  return dims;
}

/// The extent after a slice. Places outside of the axis are moved to its ends.
Extent slice_extent(const Extent& in, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (!in || *in > kMaxExtent || step < 1) {
    return std::nullopt;
  }
  const auto place = [&](std::int64_t given) {
    return std::clamp<std::int64_t>(given < 0 ? (given < -*in ? 0 : given + *in) : given, 0, *in);
  };
  const std::int64_t length = place(end) - place(start);
  return length < 1 ? std::nullopt : Extent((length - 1) / step + 1);
}

/// Slice from opset 10 on, whose numbers are inputs.
std::optional<Dims> slice(const RuleInput& input) {
  std::optional<Dims> dims = first(input);
  const auto starts = numbers_of(input, 1), ends = numbers_of(input, 2);
  const auto is_given = [&](std::size_t index) {
    return index < input.node.inputs.size() && !input.node.inputs[index].empty();
  };
  const auto axes = numbers_of(input, 3), steps = numbers_of(input, 4);
  if (!dims || !starts || !ends || starts->size() != ends->size() || (is_given(3) && !axes) ||
      (is_given(4) && !steps) || (axes && axes->size() != starts->size()) ||
      (steps && steps->size() != starts->size())) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const auto place = place_of(axes ? (*axes)[i] : static_cast<std::int64_t>(i), dims->size());
    if (!place) {
      return std::nullopt;
    }
    (*dims)[*place] = slice_extent((*dims)[*place], (*starts)[i], (*ends)[i], steps ? (*steps)[i] : 1);
  }
  return dims;
}

/// ReduceMean and the like.
std::optional<Dims> reduce(const RuleInput& input) {
  std::optional<Dims> dims = first(input);
  const auto axes = axes_of(input, "axes", 1);
  if (!dims || !axes || whole_attribute(input.node, "keepdims", 1) == 0) {
    return std::nullopt;
  }
  for (const std::int64_t axis : *axes) {
    const auto place = place_of(axis, dims->size());
    if (!place) {
      return std::nullopt;
    }
    (*dims)[*place] = 1;
  }
  return dims;
}

/// Resize and Upsample: sizes, else scales, the last of their inputs.
std::optional<Dims> resize(const RuleInput& input) {
  const auto& x = first(input);
  if (!x || find_attribute(input.node, "axes") != nullptr) {
    return std::nullopt;
  }
  if (const auto sizes = numbers_of(input, 3); sizes && sizes->size() == x->size()) {
    Dims dims;
    std::ranges::transform(*sizes, std::back_inserter(dims), sane);
    return dims;
  }
  const bool is_upsample = input.node.op_type == "Upsample" || input.opset == 10;
  const std::size_t place = is_upsample ? 1 : 2;
  const Tensor* tensor = place < input.constants.size() ? input.constants[place] : nullptr;
  const auto scales = tensor != nullptr ? real_numbers(*tensor) : std::nullopt;
  if (!scales || scales->size() != x->size()) {
    return std::nullopt;
  }
  Dims dims;
  for (std::size_t i = 0; i < x->size(); ++i) {
    const double extent = (*x)[i] ? std::floor(static_cast<double>(*(*x)[i]) * (*scales)[i]) : 0;
    dims.push_back(extent >= 1 && extent <= static_cast<double>(kMaxExtent) ? Extent(static_cast<std::int64_t>(extent))
                                                                            : std::nullopt);
  }
  return dims;
}

std::optional<Dims> gemm(const RuleInput& input) {
  if (input.dims.size() < 2 || !input.dims[0] || !input.dims[1] || input.dims[0]->size() != 2 ||
      input.dims[1]->size() != 2) {
    return std::nullopt;
  }
  const Extent rows = (*input.dims[0])[whole_attribute(input.node, "transA", 0) != 0 ? 1 : 0];
  const Extent columns = (*input.dims[1])[whole_attribute(input.node, "transB", 0) != 0 ? 0 : 1];
  return Dims{rows, columns};
}

/// Of a tensor with a matrix.
std::optional<Dims> mat_mul(const RuleInput& input) {
  if (input.dims.size() != 2 || !input.dims[0] || !input.dims[1] || input.dims[0]->size() < 2 ||
      input.dims[1]->size() != 2) {
    return std::nullopt;
  }
  Dims dims = *input.dims[0];
  dims.back() = input.dims[1]->back();
  return dims;
}

using Rule = std::optional<Dims> (*)(const RuleInput&);
constexpr auto kRules = std::to_array<std::pair<std::string_view, Rule>>({{"Conv", conv},
                                                                          {"ConvTranspose", conv_transpose},
                                                                          {"MaxPool", pool},
                                                                          {"AveragePool", pool},
                                                                          {"GlobalAveragePool", global_pool},
                                                                          {"GlobalMaxPool", global_pool},
                                                                          {"Concat", concat},
                                                                          {"Reshape", reshape},
                                                                          {"Flatten", flatten},
                                                                          {"Transpose", transpose},
                                                                          {"Unsqueeze", unsqueeze},
                                                                          {"Squeeze", squeeze},
                                                                          {"Pad", pad},
                                                                          {"ReduceL2", reduce},
                                                                          {"ReduceMax", reduce},
                                                                          {"ReduceMean", reduce},
                                                                          {"ReduceSum", reduce},
                                                                          {"Slice", slice},
                                                                          {"Resize", resize},
                                                                          {"Upsample", resize},
                                                                          {"Gemm", gemm},
                                                                          {"MatMul", mat_mul}});

}  // namespace

std::optional<Dims> output_dims(const RuleInput& input) {
  const std::string_view op = input.node.op_type;
  if (!is_operator(input.node, op) || (first(input) && first(input)->size() > kMaxRank)) {
    return std::nullopt;
  }
  if (std::ranges::find(kSameShape, op) != kSameShape.end()) {
    return first(input);
  }
  if (std::ranges::find(kBroadcast, op) != kBroadcast.end()) {
    return broadcast(input);
  }
  const auto rule = std::ranges::find(kRules, op, &std::pair<std::string_view, Rule>::first);
  return rule != kRules.end() ? rule->second(input) : std::nullopt;
}

bool keeps_element_type(const Node& node) {
  return node.op_type != "Cast" && node.op_type != "QuantizeLinear" && node.op_type != "DequantizeLinear" &&
         node.op_type != "Where" && is_operator(node, node.op_type);
}

}  // namespace convtgen::onnx
