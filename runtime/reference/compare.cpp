#include "runtime/reference/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <vector>

#include "runtime/reference/fuse.h"
#include "runtime/reference/numbers.h"
#include "runtime/reference/parallel.h"

namespace convtgen {
namespace {

constexpr double kSafety = 6;
constexpr double kDeviations = 4;  // standard ones, that chance is given
constexpr double kLeastTf32 = 0x1p-136;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Largest relative errors: of one product, by what becomes of its operands, and of one addition.
struct Rounding {
  double product;
  double addition;
};

Rounding rounding_of(Compute compute) {
  switch (compute) {
    case Compute::kF64:
      return {0, 0x1p-53};
    case Compute::kTf32:
      return {2 * 0x1p-11, 0x1p-24};  // both operands rounded to nearest: truncated ones are off by up to twice that
    case Compute::kF32x3:
      return {3 * 0x1p-22, 0x1p-24};  // operands of 22 bits, and the product of low parts, which is left out
    case Compute::kF32:
    case Compute::kF16:  // exact inputs, fp32 sums
    case Compute::kBf16:
      return {0, 0x1p-24};
  }
  return {};
}

/// What a slice of the elements adds to the comparison.
struct Tally {
  std::int64_t wrong = 0, limited = 0;
  double error2 = 0, want2 = 0, typical2 = 0;  // sums of squares
  double typical4 = 0;                         // of fourth powers
  double worst_ratio = -1;
  std::int64_t worst_index = -1;
  ComparedElement worst;

  void add(const Tally& other) {
    wrong += other.wrong;
    limited += other.limited;
    error2 += other.error2;
    want2 += other.want2;
    typical2 += other.typical2;
    typical4 += other.typical4;
    const bool worse =
        other.worst_ratio > worst_ratio || (other.worst_ratio == worst_ratio && other.worst_index < worst_index);
    if (other.worst_index >= 0 && (worst_index < 0 || worse)) {
      worst_ratio = other.worst_ratio;
      worst_index = other.worst_index;
      worst = other.worst;
    }
  }
};

class Judge {
 public:
  Judge(const Layer& layer, Role role, double largest_operand)
      : fuse_(role == Role::kY ? std::span<const Activation>(layer.fuse) : std::span<const Activation>()),
        dtype_(layer.dtype),
        rounding_(rounding_of(layer.compute)),
        limit_(relative_l2_limit(layer.compute)),
        sum_(layer.dtype == Dtype::kF64 ? Dtype::kF64 : Dtype::kF32),
        underflow_(least_subnormal(sum_) + (layer.compute == Compute::kTf32 ? kLeastTf32 * largest_operand : 0)) {}

  /// Judges one element; position is left to the caller. `may_be_nan`: by README's limits.
  [[nodiscard]] Tally judge(double sum, double magnitude, std::int64_t terms, double carried, double got,
                            std::int64_t index, bool may_be_nan) const {
    const double root = std::sqrt(static_cast<double>(std::max<std::int64_t>(terms, 1)));
    const double underflow = static_cast<double>(terms) * underflow_;
    const double relative = rounding_.product + kSafety * root * rounding_.addition;
    const Ball ball = carry(sum, relative * magnitude + carried + underflow);
    const Ball typical = carry(sum, (limit_ * magnitude / 2 + carried) / root + underflow);

    Tally tally;
    tally.worst = {{}, got, ball.value, ball.radius};
    tally.worst_index = index;
    if (may_be_nan && std::isnan(got) && !std::isnan(ball.value)) {
      tally.limited = 1;
      tally.worst_ratio = 0;
      return tally;
    }
    if (!std::isfinite(ball.value)) {
      // Which NaN does not matter; an infinity has a sign.
      const bool same = std::isnan(ball.value) ? std::isnan(got) : got == ball.value;
      tally.wrong = same ? 0 : 1;
      tally.worst_ratio = same ? 0 : kInfinity;
      return tally;
    }
    // Rounding is monotone: what may come out of the ball lies between its rounded ends.
    const bool legal =
        got >= round_to(dtype_, ball.value - ball.radius) && got <= round_to(dtype_, ball.value + ball.radius);
    tally.wrong = legal ? 0 : 1;
    const double rounding = unit_roundoff(dtype_) * std::abs(ball.value) + least_subnormal(dtype_) / 2;
    const double error = std::isfinite(got) ? std::abs(got - ball.value) : kInfinity;
    tally.worst_ratio = error / (ball.radius + rounding);
    if (legal) {
      tally.worst_ratio = std::min(tally.worst_ratio, 1.0);
    } else {
      tally.worst_ratio = std::max(tally.worst_ratio, std::nextafter(1.0, 2.0));
    }
    if (legal && !std::isfinite(got)) {
      return tally;  // the finite sum rounds to infinity in the dtype: nothing to measure
    }
    tally.error2 = error * error;
    tally.want2 = ball.value * ball.value;
    const double floor = typical.radius + least_subnormal(dtype_) / 2;
    tally.typical2 = floor * floor;
    tally.typical4 = tally.typical2 * tally.typical2;
    return tally;
  }

 private:
  [[nodiscard]] Ball carry(double sum, double radius) const {
    return carry_fuse(fuse_, {sum, std::isfinite(sum) ? radius : 0}, sum_);
  }

  std::span<const Activation> fuse_;
  Dtype dtype_;
  Rounding rounding_;
  double limit_;
  Dtype sum_;
  double underflow_;  // of a term: its largest error below the normal numbers
};

}  // namespace

double relative_l2_limit(Compute compute) {
  switch (compute) {
    case Compute::kF64:
      return 1e-14;
    case Compute::kF32:
    case Compute::kF32x3:
      return 2e-6;
    case Compute::kTf32:
    case Compute::kF16:
      return 1e-3;
    case Compute::kBf16:
      return 8e-3;
  }
  return 0;
}

Comparison compare(const Layer& layer, const Shape& shape, const Definition& definition, const HostArray& got,
                   std::span<const std::int64_t> offsets, Role role, const Operands& operands) {
  const Judge judge(layer, role, operands.largest);
  const auto count = static_cast<std::int64_t>(definition.sum.size());
  constexpr std::int64_t kGrain = 1 << 14;
  // One tally a slice, added in order: the sums are the same whatever thread does what.
  std::vector<Tally> slices(static_cast<std::size_t>((count + kGrain - 1) / kGrain));
  parallel_for(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    Tally& slice = slices[static_cast<std::size_t>(begin / kGrain)];
    for (std::int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double value = got.at(i);
      const bool may_be_nan =
          !operands.nan.is_empty() && std::isnan(value) &&
          operands.nan.allows_nan(position_of(layer, shape, role, offsets.empty() ? i : offsets[at]));
      const double carried = definition.carried.empty() ? 0 : definition.carried[at];
      slice.add(judge.judge(definition.sum[at], definition.magnitude[at], definition.terms[at], carried, value, i,
                            may_be_nan));
    }
  });
  Tally total;
  for (const Tally& slice : slices) {
    total.add(slice);
  }

  Comparison result;
  result.role = role;
  result.checked = count;
  result.wrong = total.wrong;
  result.limited = total.limited;
  result.relative_l2_limit = relative_l2_limit(layer.compute);
  const bool has_millions_of_terms = without_gradient(role) == Role::kWeight || without_gradient(role) == Role::kBias;
  if (count > 0 && !has_millions_of_terms) {
    const auto terms = static_cast<double>(std::ranges::max(definition.terms));
    result.relative_l2_limit =
        std::max(result.relative_l2_limit, std::sqrt(terms / 3) * rounding_of(layer.compute).addition);
  }
  const double error = std::sqrt(total.error2);
  const double want = std::sqrt(total.want2);
  // The sum of squares of n errors of one size is off by sqrt(2 / n) of itself; of several sizes, n counts the large.
  const double count_of_errors = total.typical4 > 0 ? total.typical2 * total.typical2 / total.typical4 : 1;
  const double typical = std::sqrt(total.typical2 * (1 + kDeviations * std::sqrt(2 / count_of_errors)));
  if (error > 0) {
    result.relative_l2 = want > 0 ? error / want : kInfinity;
    if (want > 0) {
      result.relative_l2_limit = std::max(result.relative_l2_limit, typical / want);
    } else if (error <= typical) {
      result.relative_l2 = 0;  // all of the reference is zero, and the result as near to it as rounding lets it be
    }
  }
  if (total.worst_index >= 0) {
    result.worst = total.worst;
    const auto index = static_cast<std::size_t>(total.worst_index);
    result.worst->at = position_of(layer, shape, role, offsets.empty() ? total.worst_index : offsets[index]);
  }
  return result;
}

std::string describe(const Comparison& comparison, const Layer& layer) {
  std::string text = fmt::format("relative L2 error {:.3g} (at most {:.3g} for {}); {} of {} checked outputs are wrong",
                                 comparison.relative_l2, comparison.relative_l2_limit, name_of(layer.compute),
                                 comparison.wrong, comparison.checked);
  if (comparison.limited > 0) {
    text += fmt::format(
        "; {} are NaN, as the README's limits say: an infinite or NaN weight times a zero where the image ends, or "
        "input times a weight of zero",
        comparison.limited);
  }
  if (comparison.worst && (comparison.wrong > 0 || !comparison.passed())) {
    const ComparedElement& worst = *comparison.worst;
    text += fmt::format("\nworst: {} is {:.9g}, should be {:.9g} within {:.3g}",
                        position_text(layer, comparison.role, worst.at), worst.got, worst.want, worst.bound);
  }
  return text;
}

}  // namespace convtgen
