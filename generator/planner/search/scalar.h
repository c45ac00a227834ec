// What the planners share of templates that multiply one number at a time (templates/device/scalar.h).
#pragma once

#include <cstdint>

#include "generator/planner/search/planner.h"

namespace convtgen {

/// The static parameters of such a template for a problem of this direction, without its block's.
[[nodiscard]] Parameters scalar_parameters(const Layer& layer, Direction direction);

/// Bytes of what products are added in.
[[nodiscard]] std::int64_t sum_bytes(const Layer& layer);

/// Phases of an axis that have taps, and positions that taps read besides an output's own.
[[nodiscard]] std::int64_t phases_with_taps(const Axis& axis);
[[nodiscard]] std::int64_t offsets_of_taps(const Axis& axis);

/// About the time of a call with this grid, of whose products tensor cores make none; 0 where it has no blocks. `flops`
/// are those of its blocks, tiles that are in part outside of the image counted as whole.
[[nodiscard]] double scalar_seconds(const LayerFacts& facts, const Grid& grid, double flops);

/// A planner of such a template.
template <typename F, const auto& kWanted>
struct ScalarPlanner : Planner<F, kWanted> {
  static Parameters parameters(const Problem& problem) { return scalar_parameters(problem.layer, problem.direction); }
};

/// The planner T of a template that takes all layers of its direction. It has its blocks in their order.
template <typename T, typename F, const auto& kWanted>
struct GeneralPlanner : ScalarPlanner<F, kWanted> {
  static constexpr bool kIsRanked = false;
  static constexpr bool kTakesDepth = true;

  static double seconds(const F& f, const typename F::Block& b, Constants& c) {
    return scalar_seconds(f, T::chosen(f, b, c).grid, f.cost.flops);
  }
};

}  // namespace convtgen
