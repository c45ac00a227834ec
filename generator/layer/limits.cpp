// check_limits: what PyTorch checks, and the few limits of our own.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <limits>
#include <utility>

#include "generator/layer/directions.h"
#include "generator/layer/shape.h"

namespace convtgen {

namespace {

class Checker {
 public:
  explicit Checker(const Layer& layer) : layer_(layer) {}

  std::vector<Violation> check() {
    check_dimensions();
    check_channels();
    check_slices();
    check_axes();
    check_taps();
    check_sizes();
    check_chain("fuse", layer_.fuse);
    check_chain("fuse_input", layer_.fuse_input);
    check_types();
    check_directions();
    check_streaming();
    return std::move(violations_);
  }

 private:
  using Found = std::vector<Violation>;  // of one axis

  void add(std::string_view property, std::string message, std::vector<std::string> involved = {}) {
    violations_.push_back({std::string(property), std::move(message), std::move(involved)});
  }

  // Judges the layer's axes. What holds for all in the same words is said once; else the axis is named.
  void check_axes() {
    std::array<Found, kAxes> found;
    for (const std::size_t axis : axes_of(layer_)) {
      found[axis] = judge_axis(layer_.axes[axis]);
    }
    for (const std::size_t axis : axes_of(layer_)) {
      while (!found[axis].empty()) {
        Violation violation = std::move(found[axis].front());
        found[axis].erase(found[axis].begin());
        const auto same = [&violation](const Violation& other) { return other.message == violation.message; };
        const auto said = [&](std::size_t other) { return other == axis || std::ranges::any_of(found[other], same); };
        if (std::ranges::all_of(axes_of(layer_), said)) {
          for (Found& others : found) {
            std::erase_if(others, same);
          }
        } else {
          violation.message += fmt::format(" ({})", axis_name(layer_, axis));
        }
        violations_.push_back(std::move(violation));
      }
    }
  }

  static bool in_range(Found& found, std::string_view property, std::int64_t value, std::int64_t least) {
    if (value < least) {
      found.push_back({std::string(property), fmt::format("{} {} must be at least {}", property, value, least), {}});
    } else if (value > kMaxExtent) {
      found.push_back({std::string(property),
                       fmt::format("{} {} is too large: at most {} is supported", property, value, kMaxExtent),
                       {}});
    } else {
      return true;
    }
    return false;
  }

  static Found judge_axis(const Axis& axis) {
    Found found;
    in_range(found, "kernel", axis.kernel, 1);
    const bool stride = in_range(found, "stride", axis.stride, 1);
    in_range(found, "padding", axis.padding.before, 0);
    if (axis.padding.after != axis.padding.before) {
      in_range(found, "padding", axis.padding.after, 0);
    }
    const bool dilation = in_range(found, "dilation", axis.dilation, 1);
    if (in_range(found, "output_padding", axis.output_padding, 0) && stride && dilation &&
        axis.output_padding >= std::max(axis.stride, axis.dilation)) {
      found.push_back({"output_padding",
                       fmt::format("output_padding {} must be smaller than stride {} or dilation {}",
                                   axis.output_padding, axis.stride, axis.dilation),
                       {"stride", "dilation"}});
    }
    return found;
  }

  void check_dimensions() {
    if (layer_.dimensions < 1 || layer_.dimensions > static_cast<int>(kAxes)) {
      add(operator_name(layer_), fmt::format("dimensions {} must be 1, 2 or 3", layer_.dimensions));
    }
    for (std::size_t axis = 0; axis < *axes_of(layer_).begin(); ++axis) {
      if (layer_.axes[axis] != kNoAxis) {
        add(operator_name(layer_),
            fmt::format("{} must have {} 1, with kernel 1, stride 1, dilation 1 and no padding on that axis",
                        operator_name(layer_), axis_name(layer_, axis)));
      }
    }
  }

  void check_channels() {
    const std::string_view op = operator_name(layer_);
    const auto channels = [&](std::string_view name, std::int64_t value) {
      if (value < 1) {
        add(op, fmt::format("{} {} must be at least 1", name, value));
      } else if (value > kMaxExtent) {
        add(op, fmt::format("{} {} is too large: at most {} is supported", name, value, kMaxExtent));
      } else {
        return true;
      }
      return false;
    };
    const bool in = channels("in_channels", layer_.in_channels);
    const bool out = channels("out_channels", layer_.out_channels);
    if (layer_.groups < 1) {
      add("groups", fmt::format("groups {} must be at least 1", layer_.groups));
      return;
    }
    if (in && layer_.in_channels % layer_.groups != 0) {
      add("groups", fmt::format("groups {} must divide in_channels {}", layer_.groups, layer_.in_channels),
          {std::string(op)});
    }
    if (out && layer_.out_channels % layer_.groups != 0) {
      add("groups", fmt::format("groups {} must divide out_channels {}", layer_.groups, layer_.out_channels),
          {std::string(op)});
    }
  }

  // Of a tensor with more channels x and y may be some.
  void check_slices() {
    const std::string op(operator_name(layer_));
    const auto judge = [&](std::string_view property, const Size& all, std::string_view own_name, std::int64_t own) {
      if (all && *all < own) {
        add(property, fmt::format("{} {} must be at least {} {}", property, *all, own_name, own), {op});
      } else if (all && *all > kMaxExtent) {
        add(property, fmt::format("{} {} is too large: at most {} is supported", property, *all, kMaxExtent));
      } else if (all && layer_.streaming) {
        add(property, fmt::format("{}: streaming takes tensors of the layer's own channels", property), {"streaming"});
      }
    };
    judge("x_channels", layer_.x_channels, "in_channels", layer_.in_channels);
    judge("y_channels", layer_.y_channels, "out_channels", layer_.out_channels);
  }

  [[nodiscard]] bool broken(std::string_view property) const {
    return std::ranges::any_of(violations_, [&](const Violation& v) { return v.property == property; });
  }

  void check_taps() {
    if (broken("kernel")) {
      return;
    }
    std::int64_t taps = 1;
    for (const std::size_t axis : axes_of(layer_)) {
      if (__builtin_mul_overflow(taps, layer_.axes[axis].kernel, &taps)) {
        taps = std::numeric_limits<std::int64_t>::max();
      }
    }
    if (taps > kMaxTaps) {
      add("kernel", fmt::format("kernel {} has {} taps; at most {} are supported", axes_text(layer_, &Axis::kernel),
                                taps, kMaxTaps));
      return;
    }
    if (broken(operator_name(layer_)) || broken("groups")) {
      return;
    }
    // At most 2^62 channels pairs times 2^12 taps.
    std::int64_t weights = layer_.in_channels * (layer_.out_channels / layer_.groups);
    if (__builtin_mul_overflow(weights, taps, &weights)) {
      add(operator_name(layer_), "the weights have more elements than 64 bits can count", {"kernel", "groups"});
    }
  }

  void check_sizes() {
    const auto size = [this](std::string_view name, const Size& value, std::int64_t least) {
      if (value && *value < least) {
        add("input", fmt::format("{} {} must be at least {}", name, *value, least));
      } else if (value && *value > kMaxExtent) {
        add("input", fmt::format("{} {} is too large: at most {} is supported", name, *value, kMaxExtent));
      }
    };
    size("batch", layer_.batch, 0);
    for (const std::size_t axis : axes_of(layer_)) {
      size(axis_name(layer_, axis), layer_.axes[axis].extent, 1);
    }
    constexpr std::string_view kUsed[] = {"input", "kernel", "stride", "padding", "output_padding", "dilation"};
    if (std::ranges::any_of(kUsed, [this](std::string_view property) { return broken(property); })) {
      return;
    }
    bool is_legal = true;
    for (const std::size_t axis : axes_of(layer_)) {
      is_legal = check_output(axis) && is_legal;
    }
    if (is_legal && !broken(operator_name(layer_)) && !broken("x_channels") && !broken("y_channels")) {
      check_elements();
    }
  }

  bool check_output(std::size_t index) {
    const Axis& axis = layer_.axes[index];
    const std::string_view name = axis_name(layer_, index);
    if (!axis.extent) {
      return true;
    }
    const std::int64_t out = output_extent(axis, *axis.extent);
    if (out < 1) {
      add("padding",
          fmt::format("padding {} makes the output {} {} for input {} {}; it must be at least 1",
                      padding_text(axis.padding), name, out, name, *axis.extent),
          {"input", "kernel", "stride", "output_padding", "dilation"});
      return false;
    }
    if (out > kMaxExtent) {
      add("input", fmt::format("output {} {} is too large: at most {} is supported", name, out, kMaxExtent),
          {"padding", "kernel", "stride", "output_padding", "dilation"});
      return false;
    }
    return true;
  }

  void check_elements() {
    std::vector<Size> in{layer_.batch}, out{layer_.batch};
    for (const Axis& axis : layer_.axes) {
      in.push_back(axis.extent);
      out.push_back(axis.extent ? Size(output_extent(axis, *axis.extent)) : std::nullopt);
    }
    const auto count = [this](std::string_view tensor, std::int64_t channels, const std::vector<Size>& sizes,
                              std::vector<std::string> involved) {
      if (std::ranges::find(sizes, Size(0)) != sizes.end()) {
        return true;
      }
      std::int64_t elements = channels;
      for (const Size& size : sizes) {
        if (__builtin_mul_overflow(elements, size.value_or(1), &elements)) {
          add("input", fmt::format("the {} has more elements than 64 bits can count", tensor), std::move(involved));
          return false;
        }
      }
      return true;
    };
    const std::string op(operator_name(layer_));
    if (count("input", x_tensor_channels(layer_), in, {op, "x_channels"})) {
      count("output", y_tensor_channels(layer_), out,
            {op, "y_channels", "padding", "kernel", "stride", "output_padding", "dilation"});
    }
  }

  void check_chain(std::string_view property, const std::vector<Activation>& chain) {
    for (const Activation& step : chain) {
      const int count = argument_count(step.kind);
      const std::string_view name = name_of(step.kind);
      if ((count < 2 && step.b != 0) || (count < 1 && step.a != 0)) {
        add(property, fmt::format("{} takes {} argument{}", name, count, count == 1 ? "" : "s"));
      }
      for (const double argument : {step.a, step.b}) {
        if (!std::isfinite(argument)) {
          add(property, fmt::format("{}: the argument {} must be finite", name, argument));
        } else if (layer_.dtype != Dtype::kF64 && std::abs(argument) > static_cast<double>(FLT_MAX)) {
          add(property,
              fmt::format("{}: the argument {} is beyond fp32, in which dtype {} is summed", name, argument,
                          name_of(layer_.dtype)),
              {"dtype"});
        }
      }
      // As torch.nn.functional.hardtanh checks it; torch.clamp takes crossed limits, and the upper one wins.
      if (step.kind == ActivationKind::kHardtanh && step.a > step.b) {
        add(property, fmt::format("hardtanh: the lowest value {} must not be above the highest, {}", step.a, step.b));
      }
    }
  }

  void check_types() {
    const auto legal = computes_of(layer_.dtype);
    if (std::ranges::find(legal, layer_.compute) == legal.end()) {
      std::string names;
      for (const Compute compute : legal) {
        names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(compute));
      }
      add("compute",
          fmt::format("compute {} does not go with dtype {}, which takes {}", name_of(layer_.compute),
                      name_of(layer_.dtype), names),
          {"dtype"});
    }
  }

  void check_directions() {
    const std::string names = directions_text(all_directions());
    if (layer_.directions.empty()) {
      add("directions", fmt::format("directions must name at least one of {}", names));
    }
    for (std::size_t i = 1; i < layer_.directions.size(); ++i) {
      if (layer_.directions[i - 1] >= layer_.directions[i]) {
        add("directions", fmt::format("directions must stand once each, in the order {}", names));
        return;
      }
    }
    const auto is_gradient = [](Direction direction) { return direction != Direction::kForward; };
    if (!layer_.bias && std::ranges::find(layer_.directions, Direction::kGradBias) != layer_.directions.end()) {
      add("directions", "directions: grad_bias is of layers with 'bias'", {"bias"});
    }
    for (const auto& [property, chain] :
         {std::pair<std::string_view, const std::vector<Activation>&>{"fuse", layer_.fuse},
          {"fuse_input", layer_.fuse_input}}) {
      if (!chain.empty() && std::ranges::any_of(layer_.directions, is_gradient)) {
        add(property,
            fmt::format("{}: gradients are those of the convolution alone; leave the activations out of the layer and "
                        "apply them outside of it",
                        property),
            {"directions"});
      }
    }
  }

  void check_streaming() {
    if (!layer_.streaming) {
      return;
    }
    if (layer_.dimensions != 1) {
      add("streaming",
          fmt::format("streaming: {} has {} axes; legal is conv_transpose1d", operator_name(layer_), layer_.dimensions),
          {std::string(operator_name(layer_))});
    } else if (layer_.axes[kWidth].extent) {
      add("streaming",
          fmt::format("streaming: length {} is fixed; legal is '?', since chunks have any length",
                      *layer_.axes[kWidth].extent),
          {"input"});
    }
    if (layer_.directions != std::vector{Direction::kForward}) {
      add("streaming",
          fmt::format("streaming: directions {}; legal is forward alone", directions_text(layer_.directions)),
          {"directions"});
    }
  }

  const Layer& layer_;
  std::vector<Violation> violations_;
};

}  // namespace

std::vector<Violation> check_limits(const Layer& layer) {
  return Checker(layer).check();
}

}  // namespace convtgen
