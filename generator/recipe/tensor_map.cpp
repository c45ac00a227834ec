#include "generator/recipe/tensor_map.h"

#include <fmt/format.h>

namespace convtgen {
namespace {

constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 32;
constexpr std::uint64_t kPitchEnd = std::uint64_t{1} << 40;
constexpr std::uint32_t kMaxBox = 256;
constexpr std::uint32_t kMaxStep = 8;
constexpr std::uint64_t kUnit = 16;  // bytes

Result<void> check_dimension(const TensorMap& map, std::size_t d) {
  if (map.sizes[d] < 1 || map.sizes[d] > kMaxSize) {
    return fail(fmt::format("tensor map: sizes[{}] is {}; legal are 1 to {}", d, map.sizes[d], kMaxSize));
  }
  if (map.box[d] < 1 || map.box[d] > kMaxBox) {
    return fail(fmt::format("tensor map: box[{}] is {}; legal are 1 to {}", d, map.box[d], kMaxBox));
  }
  if (map.steps[d] < 1 || map.steps[d] > kMaxStep) {
    return fail(fmt::format("tensor map: steps[{}] is {}; legal are 1 to {}", d, map.steps[d], kMaxStep));
  }
  if (d == 0 && map.steps[d] != 1) {
    return fail(fmt::format("tensor map: steps[0] is {}; the innermost dimension has 1 alone", map.steps[0]));
  }
  if (d > 0 && (map.pitches[d] % kUnit != 0 || map.pitches[d] == 0 || map.pitches[d] >= kPitchEnd)) {
    return fail(fmt::format("tensor map: pitches[{}] is {} bytes; legal are multiples of {} below {}", d,
                            map.pitches[d], kUnit, kPitchEnd));
  }
  return {};
}

}  // namespace

int element_bytes(TensorMap::Element element) {
  switch (element) {
    case TensorMap::Element::kU8:
      return 1;
    case TensorMap::Element::kU16:
    case TensorMap::Element::kF16:
    case TensorMap::Element::kBf16:
      return 2;
    case TensorMap::Element::kU32:
    case TensorMap::Element::kF32:
    case TensorMap::Element::kTf32:
      return 4;
    case TensorMap::Element::kF64:
      return 8;
  }
  return 0;
}

int swizzle_bytes(TensorMap::Swizzle swizzle) {
  return swizzle == TensorMap::Swizzle::kNone ? 0 : 16 << static_cast<int>(swizzle);
}

std::uint64_t box_bytes(const TensorMap& map) {
  auto bytes = static_cast<std::uint64_t>(element_bytes(map.element));
  for (std::size_t d = 0; d < static_cast<std::size_t>(map.rank); ++d) {
    bytes *= (map.box[d] + map.steps[d] - 1) / map.steps[d];
  }
  return bytes;
}

Result<void> check_tensor_map(const TensorMap& map) {
  if (map.rank < 1 || map.rank > kMaxTensorRank) {
    return fail(fmt::format("tensor map: rank is {}; legal are 1 to {}", map.rank, kMaxTensorRank));
  }
  if (map.address == 0 || map.address % kUnit != 0) {
    return fail(fmt::format("tensor map: address is {:#x}; legal are multiples of {}, not null", map.address, kUnit));
  }
  for (std::size_t d = 0; d < static_cast<std::size_t>(map.rank); ++d) {
    if (Result<void> legal = check_dimension(map, d); !legal) {
      return legal;
    }
  }
  const std::uint64_t row = map.box[0] * static_cast<std::uint64_t>(element_bytes(map.element));
  if (row % kUnit != 0) {
    return fail(fmt::format("tensor map: box[0] is {} elements, {} bytes; legal are multiples of {} bytes", map.box[0],
                            row, kUnit));
  }
  const int swizzle = swizzle_bytes(map.swizzle);
  if (swizzle != 0 && row > static_cast<std::uint64_t>(swizzle)) {
    return fail(
        fmt::format("tensor map: box[0] is {} bytes; with swizzle {} legal are at most {}", row, swizzle, swizzle));
  }
  const bool floating = map.element != TensorMap::Element::kU8 && map.element != TensorMap::Element::kU16 &&
                        map.element != TensorMap::Element::kU32;
  if (map.fill == TensorMap::Fill::kNan && !floating) {
    return fail("tensor map: fill is NaN for elements that are integers; legal is zero");
  }
  return {};
}

}  // namespace convtgen
