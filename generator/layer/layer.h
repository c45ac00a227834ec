// A transposed convolution as the user describes it: plain values, no behaviour.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/layer/axis.h"

namespace convtgen {

enum class Dtype { kF64, kF32, kF16, kBf16 };

/// How products are formed. Accumulation is fp32, or fp64 for kF64.
enum class Compute { kF64, kF32, kTf32, kF32x3, kF16, kBf16 };

/// Memory order of x and y.
enum class Layout { kNchw, kNhwc };

/// Memory order of the weights, which is independent of that of x and y.
enum class WeightLayout {
  kContiguous,    // (Cin, Cout/groups, KH, KW)
  kChannelsLast,  // (Cin, KH, KW, Cout/groups): torch.channels_last of a ConvTranspose2d's weight
};

enum class Direction {
  kForward,     // x, weight, bias -> y
  kGradInput,   // grad_y, weight -> grad_x
  kGradWeight,  // x, grad_y -> grad_weight, and grad_bias where the layer has a bias
  kGradBias,    // grad_y -> grad_bias
};

enum class ActivationKind {
  kRelu,
  kLeakyRelu,  // a = negative slope
  kGelu,
  kGeluTanh,
  kSilu,
  kMish,
  kTanh,
  kSigmoid,
  kHardtanh,  // a = lowest, b = highest
  kClamp,     // a = lowest, b = highest
  kScale,     // a = factor
  kAdd,       // a = summand
  kElu,       // a = alpha
};

/// One step of a chain, with its arguments (unused ones are 0).
struct Activation {
  ActivationKind kind = ActivationKind::kRelu;
  double a = 0;
  double b = 0;
  bool operator==(const Activation&) const = default;
};

/// A layer. Equal layers give equal kernels: the name is not part of a layer.
/// The default values are PyTorch's.
struct Layer {
  int dimensions = 2;  // 1 to 3, as in conv_transpose1d, conv_transpose2d, conv_transpose3d
  std::int64_t in_channels = 1;
  std::int64_t out_channels = 1;
  std::array<Axis, kAxes> axes{kNoAxis, Axis{}, Axis{}};
  std::int64_t groups = 1;
  Size x_channels = {};  // of the tensor whose first or other channels x is; none: x is a tensor of its own (shape.h)
  Size y_channels = {};  // the same of y
  Size batch;
  bool bias = false;
  std::vector<Activation> fuse;        // of the accumulators
  std::vector<Activation> fuse_input;  // of x, as it is read
  Dtype dtype = Dtype::kF32;
  Compute compute = Compute::kF32;
  Layout layout = Layout::kNchw;
  WeightLayout weight_layout = WeightLayout::kContiguous;
  bool streaming = false;  // runs by chunks of its input too, with the same bits (stream.h)
  std::vector<Direction> directions{Direction::kForward};  // each once, in the enumeration's order
  bool operator==(const Layer&) const = default;
};

/// A layer and the name its user gave it.
struct NamedLayer {
  std::string name;
  Layer layer;
  bool operator==(const NamedLayer&) const = default;
};

/// The places in `axes` that the layer uses: the last of them.
[[nodiscard]] constexpr auto axes_of(const Layer& layer) {
  const auto used = static_cast<std::size_t>(std::clamp<int>(layer.dimensions, 1, kAxes));
  return std::views::iota(kAxes - used, kAxes);
}

/// "depth", "height", "width"; the one axis of conv_transpose1d is its "length".
[[nodiscard]] std::string_view axis_name(const Layer& layer, std::size_t axis);

/// The language's own words for the enumerations ("f32", "nchw", "leaky_relu", ...).
[[nodiscard]] std::string_view name_of(Dtype dtype);
[[nodiscard]] std::string_view name_of(Compute compute);
[[nodiscard]] std::string_view name_of(Layout layout);
[[nodiscard]] std::string_view name_of(WeightLayout layout);
[[nodiscard]] std::string_view name_of(Direction direction);
[[nodiscard]] std::string_view name_of(ActivationKind kind);

/// The inverse lookups: the value that the language calls by this word, if any.
[[nodiscard]] std::optional<Dtype> dtype_named(std::string_view name);
[[nodiscard]] std::optional<Compute> compute_named(std::string_view name);
[[nodiscard]] std::optional<Layout> layout_named(std::string_view name);
[[nodiscard]] std::optional<WeightLayout> weight_layout_named(std::string_view name);
[[nodiscard]] std::optional<Direction> direction_named(std::string_view name);
[[nodiscard]] std::optional<ActivationKind> activation_named(std::string_view name);

/// Every value of an enumeration, in its order.
[[nodiscard]] std::span<const Dtype> all_dtypes();
[[nodiscard]] std::span<const Compute> all_computes();
[[nodiscard]] std::span<const Layout> all_layouts();
[[nodiscard]] std::span<const WeightLayout> all_weight_layouts();
[[nodiscard]] std::span<const Direction> all_directions();
[[nodiscard]] std::span<const ActivationKind> all_activations();

/// How many arguments the activation takes: 0, 1 or 2.
[[nodiscard]] int argument_count(ActivationKind kind);
/// The argument of an activation that is written without it, where there is such a default: alpha of elu is 1.
[[nodiscard]] std::optional<double> default_argument(ActivationKind kind);
/// What the step makes of 0 is 0.
[[nodiscard]] bool keeps_zero(const Activation& step);
/// Bytes of one element.
[[nodiscard]] int bytes_of(Dtype dtype);
/// The compute mode that goes with a dtype when the layer names none.
[[nodiscard]] Compute default_compute(Dtype dtype);
/// The compute modes that a dtype can have, its default first.
[[nodiscard]] std::span<const Compute> computes_of(Dtype dtype);

}  // namespace convtgen
