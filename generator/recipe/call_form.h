// From arrays and sizes to what launches take: the one evaluator of recipes in C++. All names were looked up when the
// recipe was made, none are at a call.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "generator/recipe/recipe.h"

namespace convtgen {

/// The arrays of one call, on the kernels' device: by their roles, null for those that it lacks.
struct Arrays {
  std::array<void*, kRoles> tensors{};
  void* workspace = nullptr;  // not looked at where the recipe needs none
  /// That there are. By default all that the call needs, for callers who have asked for that.
  std::int64_t workspace_bytes = std::numeric_limits<std::int64_t>::max();
  [[nodiscard]] void* of(Role role) const { return tensors[static_cast<std::size_t>(role)]; }
  void set(Role role, void* array) { tensors[static_cast<std::size_t>(role)] = array; }
};

/// The arrays of a forward call. `weight` is null where the workspace holds what an earlier call has packed, `bias`
/// where the layer has none. What is const here is only read.
[[nodiscard]] Arrays forward_arrays(const void* x, const void* weight, const void* bias, void* y,
                                    void* workspace = nullptr);

/// The launch of one of the recipe's kernels in a call.
struct KernelCall {
  std::int64_t blocks = 0;  // 0: it is not launched
  bool waits = false;       // it may overlap with the launch before, for which it waits itself
  /// For each argument, in order: an address, or an integer whose low bytes are the parameter's. Not filled where the
  /// argument is a tensor map.
  std::array<std::uint64_t, kMostArguments> slots;  // NOLINT: as many as there are arguments are filled
};

/// One call, checked.
struct Call {
  Shape shape;
  Quantities quantities;                         // NOLINT: filled unless the call is empty
  std::array<KernelCall, kMostKernels> kernels;  // in the recipe's order
  bool is_empty = false;                         // nothing is written, so nothing is launched
};

/// How a layer is called by a recipe.
class CallForm {
 public:
  CallForm() = default;
  /// Errors: those of check_recipe().
  [[nodiscard]] static Result<CallForm> make(const Layer& layer, const Recipe& recipe);

  /// No allocation and no text unless something is wrong. Where the call is empty nothing is launched, and no array is
  /// looked at.
  /// Errors: a size that the layer or the kernels can't have; an array that is null, misaligned, unknown to the recipe,
  /// beyond the last address, or written over another; a workspace that is too small or over an array.
  [[nodiscard]] Result<Call> call(const Arrays& arrays, const InputSizes& sizes) const;
  /// The same into a `call` of the caller's: it is large, and most of it stays as it is.
  [[nodiscard]] Result<void> make_call(const Arrays& arrays, const InputSizes& sizes, Call& call) const;

  /// As shape_of(), without an allocation where all is well.
  [[nodiscard]] Result<Shape> shape(const InputSizes& sizes) const;

  /// Bytes of the workspace of a call of this shape; 0 where the recipe needs none.
  /// Errors: more than 63 bits count.
  [[nodiscard]] Result<std::int64_t> workspace_bytes(const Shape& shape) const;
  /// How many of these bytes, the first ones, later calls with the same weights read.
  [[nodiscard]] std::int64_t kept_bytes() const { return kept_bytes_; }

  /// Tensor map `index` of the recipe in a call with these arrays. Errors: a size that is not legal for it.
  [[nodiscard]] Result<TensorMap> map(std::size_t index, const Arrays& arrays, const Call& call) const;

  [[nodiscard]] const Layer& layer() const { return layer_; }
  [[nodiscard]] const Recipe& recipe() const { return recipe_; }

 private:
  struct Array {
    Role role;
    const void* pointer;
    std::int64_t bytes;       // from the first to the last
    std::int64_t run, pitch;  // bytes of a run, and from one to the next; 0: there is one
  };

  /// out = (in - 1) * stride + reach.
  struct Reach {
    std::int64_t stride = 1;
    std::int64_t reach = 1;
  };

  /// Bytes of each of the recipe's tensors in a call, in their order; 0 of one that has none.
  using TensorBytes = std::array<std::int64_t, kRoles>;

  [[nodiscard]] bool quick_shape(const InputSizes& sizes, Shape& shape) const;
  [[nodiscard]] Result<std::int64_t> workspace_bytes(const Quantities& quantities) const;
  [[nodiscard]] Result<void> check_arrays(const Arrays& arrays, const Call& call, TensorBytes& bytes) const;
  [[nodiscard]] Result<void> check_workspace(const Arrays& arrays, const Call& call, const TensorBytes& bytes) const;
  [[nodiscard]] Result<void> fill(const RecipeKernel& kernel, KernelCall& launch, const Arrays& arrays,
                                  const Quantities& quantities) const;

  Layer layer_;
  Recipe recipe_;
  std::array<Reach, kAxes> reaches_{};
  std::array<std::int64_t, kMostKernels> fixed_blocks_{};  // of kernels whose grid is the same in each call; else 0
  std::int64_t weight_elements_ = 0;
  std::int64_t element_bytes_ = 4;
  std::int64_t kept_bytes_ = 0;
  std::array<bool, kRoles> takes_{};  // whether calls have an array of this role
  bool may_omit_weight_ = false;
  bool writes_always_ = false;  // also where the batch is empty: gradients of the weights are zero there
};

}  // namespace convtgen
