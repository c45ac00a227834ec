// One spatial axis of a layer, and the places that axes have in every array of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace convtgen {

/// A size that is known now, or only at run time ("?").
using Size = std::optional<std::int64_t>;

/// Arrays of axes have three places. A layer with fewer axes uses the last ones: conv_transpose1d has a width
/// alone.
inline constexpr std::size_t kDepth = 0;
inline constexpr std::size_t kHeight = 1;
inline constexpr std::size_t kWidth = 2;
inline constexpr std::size_t kAxes = 3;

/// What is cut off an axis of the output. PyTorch's one number is both.
struct Padding {
  std::int64_t before = 0;
  std::int64_t after = 0;
  constexpr Padding() = default;
  constexpr Padding(std::int64_t both) : before(both), after(both) {}
  constexpr Padding(std::int64_t at_beginning, std::int64_t at_end) : before(at_beginning), after(at_end) {}
  bool operator==(const Padding&) const = default;
};

/// The default values are PyTorch's.
struct Axis {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  Padding padding = 0;
  std::int64_t output_padding = 0;
  std::int64_t dilation = 1;
  Size extent = {};  // of the input
  /// 1 in every layer. The products of a gradient of the input have the layer's stride here, and stride 1: an output is
  /// made from the input at input_stride times its own place (generator/planner/plan/exchange.h).
  std::int64_t input_stride = 1;
  bool operator==(const Axis&) const = default;
};

/// The axis with the same outputs whose padding is the same at both ends. Its output_padding may be negative, and
/// larger than PyTorch's limit: padding at the end, like output_padding, only moves the output's end. Kernels see this
/// one.
[[nodiscard]] constexpr Axis symmetric(Axis axis) {
  axis.output_padding += axis.padding.before - axis.padding.after;
  axis.padding.after = axis.padding.before;
  return axis;
}

/// In the places of axes that a layer does not have: they change nothing.
inline constexpr Axis kNoAxis{.extent = 1};

/// An extent of each axis, in elements; 1 for axes that a layer does not have. No aggregate, so that {2, 3} is never
/// read as depth and height.
struct Extents : std::array<std::int64_t, kAxes> {
  constexpr Extents() : array{1, 1, 1} {}
  constexpr Extents(std::int64_t height, std::int64_t width) : array{1, height, width} {}
  constexpr Extents(std::int64_t depth, std::int64_t height, std::int64_t width) : array{depth, height, width} {}
};

}  // namespace convtgen
