// What the kernels' 32-bit numbers can hold of a layer and of a call.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "generator/planner/plan/plan.h"

namespace convtgen {

inline constexpr std::int64_t kIntMax = std::numeric_limits<int>::max();

/// The numbers of a layer that the kernels' 32-bit coordinates, their sources and their grids must be able to hold.
/// Errors: one of them can't, with the most that is supported.
[[nodiscard]] Result<void> check_numbers(const Layer& layer);

/// Up to which sizes of the input the coordinates of a kernel fit an int that stages tiles of so many input positions
/// with what their taps reach of the output.
[[nodiscard]] std::vector<Grid::Bound> staged_bounds(const Layer& layer, std::int64_t tile_rows,
                                                     std::int64_t tile_columns);

/// Makes the tiles of a grid, if it has any, tiles of one plane of x (kInDepth) or of y (kOutDepth). With fewer than
/// three axes there is one plane, and the grid stays as it is. Or of so many planes that follow one another.
[[nodiscard]] Grid by_planes(Grid grid, const Layer& layer, Quantity depth, std::int64_t tile_planes = 1);

/// The grid of a kernel whose blocks make so many positions, of all phases, and one of so many tiles of channels.
[[nodiscard]] TileGrid staged_grid(const Layer& layer, std::int64_t tile_rows, std::int64_t tile_columns,
                                   std::int64_t channel_tiles);
/// Errors: a launch can't have that grid, or coordinates don't fit to the end of a block's last tile.
[[nodiscard]] Result<void> check_staged_grid(const Layer& layer, std::int64_t tile_rows, std::int64_t tile_columns,
                                             std::int64_t channel_tiles);

}  // namespace convtgen
