// From pointers and sizes to what a launch takes: all names are looked up when a kernel is prepared, none at a launch.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "generator/planner/plan.h"
#include "generator/specializer/kernel_source.h"
#include "runtime/jit/failure.h"

namespace convtgen::jit {

/// The arrays of one forward call, on the kernel's device.
struct Pointers {
  const void* x = nullptr;
  const void* weight = nullptr;
  const void* bias = nullptr;  // null where the layer has none
  void* y = nullptr;
};

inline constexpr std::size_t kMostParameters = 7;

/// One call, checked.
struct Call {
  Shape shape;
  std::int64_t blocks = 0;  // 0: nothing to compute
  std::array<std::uint64_t, kMostParameters> slots{};
};

/// How a kernel is called.
class CallForm {
 public:
  /// Errors: a parameter that no caller knows.
  [[nodiscard]] static Outcome<CallForm> make(const Problem& problem, const Plan& plan, const KernelSource& source);

  /// No allocation and no text unless something is wrong.
  /// Errors: a size that the layer or the kernel can't have, a null or misaligned pointer, y over an input.
  [[nodiscard]] Outcome<Call> call(const Pointers& pointers, const InputSizes& sizes) const;

  /// As shape_of(), without an allocation where all is well.
  [[nodiscard]] Outcome<Shape> shape(const InputSizes& sizes) const;

  [[nodiscard]] std::size_t parameter_count() const { return count_; }
  [[nodiscard]] const Layer& layer() const { return problem_.layer; }

 private:
  enum class Source : std::uint8_t { kX, kWeight, kBias, kY, kBatch, kHeight, kWidth };

  [[nodiscard]] Outcome<void> check(const Pointers& pointers, const Shape& shape) const;
  [[nodiscard]] bool quick_shape(const InputSizes& sizes, Shape& shape) const;

  Problem problem_;
  Plan plan_;
  Grid grid_;
  std::int64_t weight_elements_ = 0;
  std::int64_t element_bytes_ = 4;
  std::int64_t alignment_ = 4;  // of x and y
  std::array<Source, kMostParameters> sources_{};
  std::array<bool, kMostParameters> is_int_{};
  std::size_t count_ = 0;
};

}  // namespace convtgen::jit
