#include "generator/layer/layer.h"

#include <algorithm>
#include <array>
#include <utility>

namespace convtgen {

namespace {

constexpr std::array kDtypes{Dtype::kF64, Dtype::kF32, Dtype::kF16, Dtype::kBf16};
constexpr std::array kDtypeNames = std::to_array<std::string_view>({"f64", "f32", "f16", "bf16"});

constexpr std::array kComputes{Compute::kF64,   Compute::kF32, Compute::kTf32,
                               Compute::kF32x3, Compute::kF16, Compute::kBf16};
constexpr std::array kComputeNames = std::to_array<std::string_view>({"f64", "f32", "tf32", "f32x3", "f16", "bf16"});

constexpr std::array kLayouts{Layout::kNchw, Layout::kNhwc};
constexpr std::array kLayoutNames = std::to_array<std::string_view>({"nchw", "nhwc"});

constexpr std::array kWeightLayouts{WeightLayout::kContiguous, WeightLayout::kChannelsLast};
constexpr std::array kWeightLayoutNames = std::to_array<std::string_view>({"contiguous", "channels_last"});

constexpr std::array kDirections{Direction::kForward, Direction::kGradInput, Direction::kGradWeight,
                                 Direction::kGradBias};
constexpr std::array kDirectionNames =
    std::to_array<std::string_view>({"forward", "grad_input", "grad_weight", "grad_bias"});

constexpr std::array kActivations{ActivationKind::kRelu,     ActivationKind::kLeakyRelu, ActivationKind::kGelu,
                                  ActivationKind::kGeluTanh, ActivationKind::kSilu,      ActivationKind::kMish,
                                  ActivationKind::kTanh,     ActivationKind::kSigmoid,   ActivationKind::kHardtanh,
                                  ActivationKind::kClamp,    ActivationKind::kScale,     ActivationKind::kAdd,
                                  ActivationKind::kElu};
constexpr std::array kActivationNames =
    std::to_array<std::string_view>({"relu", "leaky_relu", "gelu", "gelu_tanh", "silu", "mish", "tanh", "sigmoid",
                                     "hardtanh", "clamp", "scale", "add", "elu"});

// The tables stand in the order of the enumerations, so that a value is its own index.
template <typename Enum, std::size_t kCount>
consteval bool in_order(const std::array<Enum, kCount>& values) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (std::to_underlying(values[i]) != static_cast<int>(i)) {
      return false;
    }
  }
  return true;
}
static_assert(in_order(kDtypes) && in_order(kComputes) && in_order(kLayouts) && in_order(kWeightLayouts) &&
              in_order(kDirections) && in_order(kActivations));
static_assert(kDtypes.size() == kDtypeNames.size() && kComputes.size() == kComputeNames.size() &&
              kLayouts.size() == kLayoutNames.size() && kWeightLayouts.size() == kWeightLayoutNames.size() &&
              kDirections.size() == kDirectionNames.size() && kActivations.size() == kActivationNames.size());

template <typename Enum, std::size_t kCount>
std::optional<Enum> value_named(std::string_view name, const std::array<std::string_view, kCount>& names) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    return std::nullopt;
  }
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::string_view axis_name(const Layer& layer, std::size_t axis) {
  constexpr std::array<std::string_view, kAxes> kNames{"depth", "height", "width"};
  return layer.dimensions == 1 && axis == kWidth ? "length" : kNames.at(axis);
}

std::string_view name_of(Dtype dtype) {
  return kDtypeNames[std::to_underlying(dtype)];
}
std::string_view name_of(Compute compute) {
  return kComputeNames[std::to_underlying(compute)];
}
std::string_view name_of(Layout layout) {
  return kLayoutNames[std::to_underlying(layout)];
}
std::string_view name_of(WeightLayout layout) {
  return kWeightLayoutNames[std::to_underlying(layout)];
}
std::string_view name_of(Direction direction) {
  return kDirectionNames[std::to_underlying(direction)];
}
std::string_view name_of(ActivationKind kind) {
  return kActivationNames[std::to_underlying(kind)];
}

std::optional<Dtype> dtype_named(std::string_view name) {
  return value_named<Dtype>(name, kDtypeNames);
}
std::optional<Compute> compute_named(std::string_view name) {
  return value_named<Compute>(name, kComputeNames);
}
std::optional<Layout> layout_named(std::string_view name) {
  return value_named<Layout>(name, kLayoutNames);
}
std::optional<WeightLayout> weight_layout_named(std::string_view name) {
  return value_named<WeightLayout>(name, kWeightLayoutNames);
}
std::optional<Direction> direction_named(std::string_view name) {
  return value_named<Direction>(name, kDirectionNames);
}
std::optional<ActivationKind> activation_named(std::string_view name) {
  return value_named<ActivationKind>(name, kActivationNames);
}

std::span<const Dtype> all_dtypes() {
  return kDtypes;
}
std::span<const Compute> all_computes() {
  return kComputes;
}
std::span<const Layout> all_layouts() {
  return kLayouts;
}
std::span<const WeightLayout> all_weight_layouts() {
  return kWeightLayouts;
}
std::span<const Direction> all_directions() {
  return kDirections;
}
std::span<const ActivationKind> all_activations() {
  return kActivations;
}

int argument_count(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::kLeakyRelu:
    case ActivationKind::kScale:
    case ActivationKind::kAdd:
    case ActivationKind::kElu:
      return 1;
    case ActivationKind::kHardtanh:
    case ActivationKind::kClamp:
      return 2;
    default:
      return 0;
  }
}

std::optional<double> default_argument(ActivationKind kind) {
  return kind == ActivationKind::kElu ? std::optional(1.0) : std::nullopt;
}

bool keeps_zero(const Activation& step) {
  switch (step.kind) {
    case ActivationKind::kSigmoid:
      return false;
    case ActivationKind::kHardtanh:
      return step.a <= 0 && step.b >= 0;
    case ActivationKind::kClamp:  // where the limits cross, b wins
      return step.b == 0 || (step.a <= 0 && step.b > 0);
    case ActivationKind::kAdd:
      return step.a == 0;
    default:
      return true;
  }
}

int bytes_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF64:
      return 8;
    case Dtype::kF32:
      return 4;
    case Dtype::kF16:
    case Dtype::kBf16:
      return 2;
  }
  return 0;
}

Compute default_compute(Dtype dtype) {
  return computes_of(dtype).front();
}

std::span<const Compute> computes_of(Dtype dtype) {
  static constexpr std::array kOfF64{Compute::kF64};
  static constexpr std::array kOfF32{Compute::kF32, Compute::kTf32, Compute::kF32x3};
  static constexpr std::array kOfF16{Compute::kF16};
  static constexpr std::array kOfBf16{Compute::kBf16};
  switch (dtype) {
    case Dtype::kF64:
      return kOfF64;
    case Dtype::kF32:
      return kOfF32;
    case Dtype::kF16:
      return kOfF16;
    case Dtype::kBf16:
      return kOfBf16;
  }
  return kOfF32;
}

}  // namespace convtgen
