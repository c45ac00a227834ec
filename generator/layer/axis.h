// One spatial axis of a layer, and the places that axes have in every array of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace convtgen {

/// A size that is known now, or only at run time ("?").
using Size = std::optional<std::int64_t>;

/// Arrays of axes have three places, of which a layer with fewer axes uses the last: conv_transpose1d has a width
/// alone.
inline constexpr std::size_t kDepth = 0;
inline constexpr std::size_t kHeight = 1;
inline constexpr std::size_t kWidth = 2;
inline constexpr std::size_t kAxes = 3;

/// The default values are PyTorch's.
struct Axis {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t output_padding = 0;
  std::int64_t dilation = 1;
  Size extent = {};  // of the input
  bool operator==(const Axis&) const = default;
};

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
