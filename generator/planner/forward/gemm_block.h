// What the planners of `shift_gemm` and `f32x3_gemm` share: blocks of products whose A operands are shifted positions
// (templates/forward_gemm/), the search for tiles, and the words for plans.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/layer/phases.h"
#include "generator/layer/shape.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/planner.h"

namespace convtgen::gemm {

inline constexpr std::int64_t kMostProducts = 1024;  // in the unrolled body of a k-block

/// The block, as the templates' parameters of the same names. The first ones are of `f32x3_gemm` alone, the last ones
/// of `shift_gemm`.
CONVTGEN_BLOCK(Block, (prefetch, true), (promote_rows, 0), (tile_n, 1), (tile_h, 0), (tile_w, 0), (thread_positions, 2),
               (block_n, 8), (adjacent_channels, 2), (store, 1), (phase_rows, 1), (block_k, 16), (stages, 2),
               (copy_bytes, 16), (bulk, false), (resident, false), (staged_epilogue, false), (ping_pong, false),
               (cluster, 1));
inline constexpr auto kAllMembers = Block::members();
inline constexpr std::size_t kF32x3Members = 2, kShiftMembers = 3;

/// The constants of both templates that are asked for, by their names there (templates/forward_gemm/problem.h and the
/// template's layout.h say what they are). A template has its own after these.
CONVTGEN_CONSTANTS(kConsumers, kInstructionK, kKBlocks, kKSteps, kNTiles, kPhases, kFusedPhases, kPhaseGroups, kMTiles,
                   kInstructionN, kProducts, kLeastOffsetW, kMostOffsetW, kOffsetsH, kStagedRows, kStagedColumns,
                   kLoadVector, kLoadedColumns, kFlat, kSkewed, kByWarps, kInputBytes, kKBlockWeightBytes, kProducers,
                   kThreads, kSharedBytes, kPackedBytes, kPackedRows, kAlignment, kMostAccumulators);

/// What the choice depends on. Its layer is one group of the problem's, as if it were all, and its shape that group's.
struct Facts : FactsOf<Block> {
  explicit Facts(FactsOf facts);

  std::int64_t instruction_k;  // channels of a product
};
/// The layer's parameters of both templates: their channels are those of a group.
[[nodiscard]] Parameters group_parameters(const Layer& layer);

/// Whether it is a gradient of the input of a layer with strides.
[[nodiscard]] bool has_input_strides(const Facts& facts);
/// The numbers of phase rows that a block may have.
[[nodiscard]] std::set<std::int64_t> phase_row_counts(const Facts& facts);
/// Positions that a thread has fragments for.
[[nodiscard]] std::int64_t fragment_positions(const Block& block, Constants& of_block);
/// Accumulators of a thread, of one part.
[[nodiscard]] std::int64_t accumulators(const Block& block, Constants& of_block);
/// Products of a warpgroup in a k-block, each of an instruction's shape.
[[nodiscard]] std::int64_t products(Constants& of_block);
/// Bulk copies of rows that bring the input of a stage.
[[nodiscard]] std::int64_t row_copies(const Block& block, Constants& of_block);

/// Tiles of the layer at the sizes that are planned for.
[[nodiscard]] std::int64_t tiles(const Facts& facts, const Block& block, Constants& of_block);

/// Output channels of a block: as many as `most` accumulators of a thread hold, or a half or a quarter of them.
[[nodiscard]] std::set<std::int64_t> block_n_sizes(const Facts& facts, const Block& block, std::int64_t most);
/// The widest asynchronous copies that rows (or pixels, with channels last) of this many elements allow; nothing where
/// none fit.
[[nodiscard]] std::optional<std::int64_t> widest_copy(const Facts& facts);
/// Chooses how many elements are stored together: of `channels` that a block stores with channels last, else of
/// `outputs` that are adjacent.
void choose_store(const Facts& facts, Block& block, std::int64_t channels, std::int64_t outputs);

/// As many stages as fit, of at most six, with resident weights if they fit; false where not even two stages do.
[[nodiscard]] bool choose_stages(const Facts& facts, Block& block, bool may_be_resident);

/// Chooses the tile of so many positions that costs least, by a number and then by another one; false where none fits.
/// Its width is at least `least_w`. `cost` completes a block, and returns nothing where it does not fit.
template <typename Cost>
[[nodiscard]] bool choose_tile(Block& b, std::int64_t positions, std::int64_t most_images, std::int64_t least_w,
                               Cost cost) {
  std::pair<double, std::int64_t> best = {std::numeric_limits<double>::infinity(), 0};
  Block chosen = b;
  for (std::int64_t n = 1; n <= most_images; n *= 2) {
    for (std::int64_t w = least_w; n * w <= positions; w *= 2) {
      Block tried = b;
      tried.tile_n = n;
      tried.tile_w = w;
      tried.tile_h = positions / (n * w);
      const std::optional<std::pair<double, std::int64_t>> costs = cost(tried);
      if (costs && *costs < best) {
        best = *costs;
        chosen = tried;
      }
    }
  }
  b = chosen;
  return b.tile_h > 0;
}

/// The least shared memory of two stages, of tiles of so many positions.
[[nodiscard]] std::int64_t least_shared_bytes(const Facts& facts, Block block, std::int64_t positions);

/// Why a layer has no plans: a limit that even the smallest block breaks.
[[nodiscard]] std::unexpected<Error> fail_phases(const Layer& layer, std::int64_t phases, std::int64_t most);
[[nodiscard]] std::unexpected<Error> fail_products(const Layer& layer, std::int64_t products, std::int64_t most);
[[nodiscard]] std::unexpected<Error> fail_registers(const Facts& facts, std::int64_t wanted, std::int64_t most);
[[nodiscard]] std::unexpected<Error> fail_stages(const Facts& facts, std::int64_t bytes);

/// Words::summary.
[[nodiscard]] std::string summary_of(const Facts& facts, const Block& block);
/// The shape of its products and the number of a warpgroup, such as "64x64x16, 4 a warpgroup".
[[nodiscard]] std::string products_text(Constants& of_block);

/// The numbers of a launch, without clusters.
[[nodiscard]] TileGrid grid_of(const Facts& facts, const Block& block, Constants& of_block);

/// A planner of such a template.
template <const auto& kWanted>
struct GemmPlanner : ExchangingPlanner<Facts, kWanted> {
  static Checks checks(const Layer& layer) { return {check_group_channels(layer)}; }
  static Parameters parameters(const Problem& problem) {
    return with_product_types(group_parameters(problem.layer), problem.layer);
  }
};

}  // namespace convtgen::gemm
