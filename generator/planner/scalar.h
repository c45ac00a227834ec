// What the planners share of templates that multiply one number at a time (templates/device/scalar.h).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "generator/planner/plan.h"
#include "generator/planner/planner.h"

namespace convtgen {

inline constexpr std::int64_t kIntMax = std::numeric_limits<int>::max();

/// The static parameters of such a template for a problem of this direction, without its block's.
[[nodiscard]] Parameters scalar_parameters(const Layer& layer, Direction direction);

/// Bytes of what products are added in.
[[nodiscard]] std::int64_t sum_bytes(const Layer& layer);

/// The numbers of a layer that the kernels' 32-bit coordinates, their sources and their grids must be able to hold.
/// Errors: one of them can't, with the most that is supported.
[[nodiscard]] Result<void> check_numbers(const Layer& layer);

/// Up to which sizes of the input the coordinates of a kernel fit an int that stages tiles of so many input positions
/// with what their taps reach of the output.
[[nodiscard]] std::vector<Grid::Bound> staged_bounds(const Layer& layer, std::int64_t tile_rows,
                                                     std::int64_t tile_columns);

/// The grid of a kernel whose blocks make so many positions, of all phases, and one of so many tiles of channels.
[[nodiscard]] TileGrid staged_grid(const Layer& layer, std::int64_t tile_rows, std::int64_t tile_columns,
                                   std::int64_t channel_tiles);
/// Errors: a launch can't have that grid, or coordinates don't fit to the end of a block's last tile.
[[nodiscard]] Result<void> check_staged_grid(const Layer& layer, std::int64_t tile_rows, std::int64_t tile_columns,
                                             std::int64_t channel_tiles);

/// Phases of an axis that have taps, and positions that taps read beside an output's own.
[[nodiscard]] std::int64_t phases_with_taps(const Axis& axis);
[[nodiscard]] std::int64_t offsets_of_taps(const Axis& axis);

/// About the time of a call with this grid, of whose products tensor cores make none; 0 where it has no blocks.
[[nodiscard]] double scalar_seconds(const LayerFacts& facts, const Grid& grid);

/// Planner::check where the template asks for nothing else.
[[nodiscard]] Result<void> check_numbers_alone(const Problem& problem);

/// A planner of such a template.
template <typename F, const auto& kWanted, Result<void> (*kCheck)(const Problem&) = check_numbers_alone>
struct ScalarPlanner : Planner<F, kWanted, kCheck> {
  static Parameters parameters(const Problem& problem) { return scalar_parameters(problem.layer, problem.direction); }
};

/// The size of each part when `total` is cut into as few even parts of at most `most` as possible.
[[nodiscard]] std::int64_t even_part(std::int64_t total, std::int64_t most);
[[nodiscard]] std::int64_t power_of_two_at_least(std::int64_t n);
[[nodiscard]] std::int64_t power_of_two_at_most(std::int64_t n);

}  // namespace convtgen
