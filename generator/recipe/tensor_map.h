// A tensor map: how TMA sees an array in global memory and which box of it one copy moves. Devices make their own form
// of it when a launch has one among its arguments.
#pragma once

#include <array>
#include <cstdint>

#include "generator/support/error.h"

namespace convtgen {

inline constexpr int kMaxTensorRank = 5;

/// Dimensions are counted from the innermost, whose elements are contiguous.
struct TensorMap {
  enum class Element {
    kU8,
    kU16,
    kU32,
    kF16,
    kBf16,
    kF32,
    kTf32,  // f32 in global memory; rounded to tf32 on its way to shared memory
    kF64,
  };
  enum class Swizzle { kNone, k32, k64, k128 };  // bytes that the innermost dimension of a box may have
  enum class Fill { kZero, kNan };               // what a load puts where the box is outside of the array

  Element element = Element::kF32;
  int rank = 1;
  std::uint64_t address = 0;                                       // device address of element 0
  std::array<std::uint64_t, kMaxTensorRank> sizes{};               // elements of each dimension
  std::array<std::uint64_t, kMaxTensorRank> pitches{};             // bytes from one index to the next; [0] is not used
  std::array<std::uint32_t, kMaxTensorRank> box{};                 // elements of each dimension that a copy spans
  std::array<std::uint32_t, kMaxTensorRank> steps{1, 1, 1, 1, 1};  // of the box, every steps[i]-th element is loaded
  Swizzle swizzle = Swizzle::kNone;
  Fill fill = Fill::kZero;
  bool operator==(const TensorMap&) const = default;
};

[[nodiscard]] int element_bytes(TensorMap::Element element);
/// 0, 32, 64, 128
[[nodiscard]] int swizzle_bytes(TensorMap::Swizzle swizzle);
/// What one load writes to shared memory and reports to its mbarrier: ceil(box / step) elements a dimension.
[[nodiscard]] std::uint64_t box_bytes(const TensorMap& map);

/// The limits of the driver's cuTensorMapEncodeTiled, https://docs.nvidia.com/cuda/cuda-driver-api/, without
/// interleaving. (That manual also requires each pitch to be a multiple of the one before; the driver does not ask for
/// it.) Errors: a member beyond its limits; the message names it, its value and what is legal.
[[nodiscard]] Result<void> check_tensor_map(const TensorMap& map);

}  // namespace convtgen
