// From pointers and sizes to what a launch takes: all names are looked up when a kernel is prepared, none at a launch.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "generator/planner/plan.h"
#include "generator/specializer/kernel_source.h"
#include "runtime/support/failure.h"

namespace convtgen::jit {

/// The arrays of one forward call, on the kernel's device.
struct Pointers {
  const void* x = nullptr;
  const void* weight = nullptr;  // null: the workspace holds what an earlier call has packed
  const void* bias = nullptr;    // null where the layer has none
  void* y = nullptr;
  void* workspace = nullptr;  // not looked at where the kernel needs none
};

inline constexpr std::size_t kMostParameters = 8;
inline constexpr std::size_t kMostPackingParameters = 2;

/// One call, checked.
struct Call {
  Shape shape;
  std::int64_t blocks = 0;  // 0: nothing to compute
  std::array<std::uint64_t, kMostParameters> slots{};
  std::int64_t packing_blocks = 0;  // of the kernel that runs before; 0: none does
  std::array<std::uint64_t, kMostPackingParameters> packing_slots{};
};

/// How a kernel is called.
class CallForm {
 public:
  /// Errors: a parameter that no caller knows.
  [[nodiscard]] static Outcome<CallForm> make(const Problem& problem, const Plan& plan, const KernelSource& source);

  /// No allocation and no text unless something is wrong.
  /// Errors: a size that the layer or the kernel can't have, a null or misaligned pointer, an array that would end
  /// beyond the last address, y over an input, a workspace over another array.
  [[nodiscard]] Outcome<Call> call(const Pointers& pointers, const InputSizes& sizes) const;

  /// As shape_of(), without an allocation where all is well.
  [[nodiscard]] Outcome<Shape> shape(const InputSizes& sizes) const;

  [[nodiscard]] std::size_t parameter_count() const { return parameters_.count; }
  [[nodiscard]] std::size_t packing_parameter_count() const { return packing_parameters_.count; }
  /// Bytes of the workspace of every call; 0 where the kernel needs none.
  [[nodiscard]] std::int64_t workspace_bytes() const { return workspace_bytes_; }
  [[nodiscard]] const Layer& layer() const { return problem_.layer; }

 private:
  enum class Source : std::uint8_t { kX, kWeight, kPacked, kBias, kY, kBatch, kHeight, kWidth };
  /// A kernel's parameters, in order.
  template <std::size_t kMost>
  struct Parameters {
    std::array<Source, kMost> sources{};
    std::array<bool, kMost> is_int{};
    std::size_t count = 0;

    [[nodiscard]] Outcome<void> bind(std::span<const KernelParameter> parameters);
    /// Errors: a size that does not fit the kernel's int.
    [[nodiscard]] Outcome<void> fill(std::array<std::uint64_t, kMost>& slots, const Pointers& pointers,
                                     const InputSizes& sizes) const;
    [[nodiscard]] bool has(Source source) const;
  };

  [[nodiscard]] Outcome<void> check(const Pointers& pointers, const Shape& shape) const;
  [[nodiscard]] Outcome<void> check_workspace(const Pointers& pointers, const Shape& shape) const;
  [[nodiscard]] bool quick_shape(const InputSizes& sizes, Shape& shape) const;

  Problem problem_;
  Plan plan_;
  Grid grid_;
  std::int64_t weight_elements_ = 0;
  std::int64_t element_bytes_ = 4;
  std::int64_t alignment_ = 4;  // of x and y
  std::int64_t workspace_bytes_ = 0;
  std::int64_t packing_blocks_ = 0;
  bool may_omit_weight_ = false;  // once they are packed
  Parameters<kMostParameters> parameters_;
  Parameters<kMostPackingParameters> packing_parameters_;
};

}  // namespace convtgen::jit
