// Is a result right? By two measures at once: all of it, and every element by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "generator/layer/layer.h"
#include "generator/layer/shape.h"
#include "runtime/reference/definition.h"
#include "runtime/reference/host_array.h"
#include "runtime/reference/nan_limit.h"

namespace convtgen {

/// Largest relative L2 error of a compute mode: f32 and f32x3 2e-6, tf32 and f16 1e-3, bf16 8e-3, f64 1e-14.
[[nodiscard]] double relative_l2_limit(Compute compute);

/// An element that is off, or came nearest to it.
struct ComparedElement {
  ElementPosition at;
  double got = 0;
  double want = 0;
  double bound = 0;  // the largest |got - want| that passes, the rounding to the output's dtype not counted
};

struct Comparison {
  Role role = Role::kY;  // of the array
  std::int64_t checked = 0;
  std::int64_t wrong = 0;        // elements beyond their bound
  std::int64_t limited = 0;      // elements that are NaN as README's limits allow it (nan_limit.h); they are not wrong
  double relative_l2 = 0;        // |got - ref| / |ref| over the finite elements
  double relative_l2_limit = 0;  // of this data: the compute mode's, or more where sums cancel (see compare())
  std::optional<ComparedElement> worst;
  [[nodiscard]] bool passed() const { return wrong == 0 && relative_l2 <= relative_l2_limit; }
};

/// What the arrays that a call reads say of what may come out.
struct Operands {
  /// The sum of the largest finite sizes of the two that products are formed of; tf32 alone needs it.
  double largest = 0;
  /// Where elements may be NaN though the definition is not.
  NanLimit nan = {};
};

/// Compares `got` (of the layer's dtype), which a call has written, with the definition. `offsets` are those of the
/// array's memory that both hold, in order; empty means all of them.
///
/// Each element must lie within (p + c * sqrt(K) * eps) * magnitude of the sum, rounded to the dtype; of y, carried
/// through the fuse chain before. K is its number of terms, c = 6, eps the unit roundoff of the sum (f32, f64). p is
/// the largest relative error of a product: 2 * 2^-11 for tf32 (both operands rounded to nearest; truncation may double
/// it), 3 * 2^-22 for f32x3, 0 for others; for grad_bias too, which kernels may form as products with ones. NaN matches
/// only NaN, infinities only themselves.
///
/// With `fuse_input` an element of x may be another number of its dtype than the definition's: what that carries to y
/// comes to the bound (Definition::carried).
///
/// To this come the roundings below the normal numbers, which are absolute: the least number of the sum for each term,
/// half of the least number of the dtype, and in tf32 the operands' (2^-136, times the largest of the others).
///
/// The relative L2 error is judged against the compute mode's bound. Where sums cancel much more than sums of random
/// signs do (a single output near zero, or `fuse add(-c)`), |ref| is no measure of the errors: there it is half the
/// size that the sums would have with random signs, magnitude / sqrt(K), and the roundings below the normal numbers,
/// carried through the chain, and more where few elements have errors (`fuse hardtanh` leaves alone what is small): 4
/// standard deviations of their squares' sum.
/// In y and grad_x a sum of thousands of terms may have a relative error of sqrt(K / 3) * eps, as if its terms were
/// added one after the other: each of the K roundings is at most eps of the sum so far, and a third of that in the mean
/// square. Not so in grad_weight and grad_bias, whose sums have millions of terms: kernels must add them up in parts.
[[nodiscard]] Comparison compare(const Layer& layer, const Shape& shape, const Definition& definition,
                                 const HostArray& got, std::span<const std::int64_t> offsets = {}, Role role = Role::kY,
                                 const Operands& operands = {});

/// One or two lines for the user: the errors, the bounds, and the worst element.
[[nodiscard]] std::string describe(const Comparison& comparison, const Layer& layer);

}  // namespace convtgen
