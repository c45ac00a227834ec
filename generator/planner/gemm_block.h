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
#include "generator/planner/block_constants.h"
#include "generator/planner/integers.h"
#include "generator/planner/plan.h"

namespace convtgen::gemm {

/// Accumulators of a thread, in fp32: phases * tiles of 64 positions * block_n, of each part.
inline constexpr std::int64_t kMostAccumulators = 256;
inline constexpr std::int64_t kMostProducts = 1024;  // in the unrolled body of a k-block
inline constexpr std::size_t kMostPlans = 16;

/// The block, as the templates' parameters of the same names.
struct Block {
  bool operator==(const Block&) const = default;

  std::int64_t tile_n = 1, tile_h = 0, tile_w = 0, thread_positions = 2;
  std::int64_t block_n = 8, adjacent_channels = 2, store = 1, phase_rows = 1;
  std::int64_t block_k = 16, stages = 2, copy_bytes = 16;
  bool bulk = false, resident = false;
};

/// A block's members and, behind them, those that a template adds.
template <typename AnyBlock, std::size_t N>
[[nodiscard]] constexpr auto members_with(const std::array<BlockMember<AnyBlock>, N>& own) {
  using Member = BlockMember<AnyBlock>;
  const std::array common = {
      Member{"tile_n", static_cast<std::int64_t AnyBlock::*>(&Block::tile_n)},
      Member{"tile_h", static_cast<std::int64_t AnyBlock::*>(&Block::tile_h)},
      Member{"tile_w", static_cast<std::int64_t AnyBlock::*>(&Block::tile_w)},
      Member{"thread_positions", static_cast<std::int64_t AnyBlock::*>(&Block::thread_positions)},
      Member{"block_n", static_cast<std::int64_t AnyBlock::*>(&Block::block_n)},
      Member{"adjacent_channels", static_cast<std::int64_t AnyBlock::*>(&Block::adjacent_channels)},
      Member{"store", static_cast<std::int64_t AnyBlock::*>(&Block::store)},
      Member{"phase_rows", static_cast<std::int64_t AnyBlock::*>(&Block::phase_rows)},
      Member{"block_k", static_cast<std::int64_t AnyBlock::*>(&Block::block_k)},
      Member{"stages", static_cast<std::int64_t AnyBlock::*>(&Block::stages)},
      Member{"copy_bytes", static_cast<std::int64_t AnyBlock::*>(&Block::copy_bytes)},
      Member{"bulk", static_cast<bool AnyBlock::*>(&Block::bulk)},
      Member{"resident", static_cast<bool AnyBlock::*>(&Block::resident)},
  };
  return [&]<std::size_t... I, std::size_t... J>(std::index_sequence<I...>, std::index_sequence<J...>) {
    return std::array{common[I]..., own[J]...};
  }(std::make_index_sequence<common.size()>(), std::make_index_sequence<N>());
}

/// The constants of both templates that are asked for, by their names there (templates/forward_gemm/problem.h and the
/// template's layout.h say what they are). A template has more behind them.
enum Constant : std::size_t {
  kConsumers,
  kInstructionK,
  kKBlocks,
  kKSteps,
  kNTiles,
  kPhases,
  kFusedPhases,
  kPhaseGroups,
  kMTiles,
  kInstructionN,
  kProducts,
  kLeastOffsetW,
  kMostOffsetW,
  kOffsetsH,
  kStagedRows,
  kStagedColumns,
  kLoadVector,
  kLoadedColumns,
  kFlat,
  kSkewed,
  kByWarps,
  kInputBytes,
  kKBlockWeightBytes,
  kProducers,
  kThreads,
  kSharedBytes,
  kPackedBytes,
  kPackedRows,
  kAlignment,
  kCommonConstants,
};
inline constexpr std::array<std::string_view, kCommonConstants> kConstants = {
    "kConsumers",     "kInstructionK", "kKBlocks",           "kKSteps",    "kNTiles",
    "kPhases",        "kFusedPhases",  "kPhaseGroups",       "kMTiles",    "kInstructionN",
    "kProducts",      "kLeastOffsetW", "kMostOffsetW",       "kOffsetsH",  "kStagedRows",
    "kStagedColumns", "kLoadVector",   "kLoadedColumns",     "kFlat",      "kSkewed",
    "kByWarps",       "kInputBytes",   "kKBlockWeightBytes", "kProducers", "kThreads",
    "kSharedBytes",   "kPackedBytes",  "kPackedRows",        "kAlignment"};
/// With those that a template adds.
template <std::size_t N>
[[nodiscard]] constexpr auto constants_with(const std::array<std::string_view, N>& own) {
  std::array<std::string_view, kCommonConstants + N> all;
  std::ranges::copy(own, std::ranges::copy(kConstants, all.begin()).out);
  return all;
}

/// What the choice depends on.
struct Facts {
  Layer layer;          // one group of it, as if it were all
  Shape shape;          // of that group, at the sizes that times are predicted for
  std::int64_t groups;  // that there are
  const PlannedTarget& target;
  Axis rows, columns;
  std::int64_t bytes;   // of an element
  std::int64_t vector;  // elements of 16 bytes
  bool channels_last;
  std::int64_t instruction_k = 0;  // channels of a product
};
/// The layer's parameters of both templates: their channels are those of a group.
[[nodiscard]] Parameters group_parameters(const Layer& layer);
/// Refers to the problem's target. The channels of a product are left to the template's constants.
[[nodiscard]] Facts facts_of(const Problem& problem, const InputSizes& sizes);

/// What the choice depends on, with the template's constants for blocks that change.
template <typename AnyBlock>
struct FactsOf : Facts {
  mutable BlockConstants<AnyBlock> constants;  // a cache: holds the block at hand

  [[nodiscard]] Constants& of(const AnyBlock& b) const { return constants.of(b); }

  /// `layer` are the template's parameters that the block is no part of. Errors: as BlockConstants::make() has them.
  [[nodiscard]] static Result<FactsOf> make(Facts facts, const ConstantProgram& program, const Parameters& layer,
                                            std::span<const BlockMember<AnyBlock>> members,
                                            std::span<const std::string_view> names) {
    auto constants = BlockConstants<AnyBlock>::make(program, layer, members, names);
    if (!constants) {
      return std::unexpected(std::move(constants.error()));
    }
    FactsOf made{std::move(facts), *std::move(constants)};
    made.instruction_k = made.of(AnyBlock())[kInstructionK];
    return made;
  }
};

/// Errors: as check_tensor_cores() has them, or groups with too few channels.
[[nodiscard]] Result<void> check(const Problem& problem, std::span<const Compute> computes);

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
template <typename AnyBlock>
[[nodiscard]] bool choose_stages(const FactsOf<AnyBlock>& f, AnyBlock& b, bool may_be_resident) {
  const auto fits = [&](std::int64_t stages) {
    b.stages = stages;
    return f.of(b)[kSharedBytes] <= f.target.max_shared_bytes;
  };
  for (const bool resident : {true, false}) {
    b.resident = resident;
    if ((resident && !may_be_resident) || !fits(2)) {  // most tiles that are tried are too large
      continue;
    }
    for (const std::int64_t stages : {6, 5, 4, 3}) {
      if (fits(stages)) {
        return true;
      }
    }
    return fits(2);
  }
  return false;
}

/// Chooses the tile of so many positions that costs least, by a number and then by another one; false where none fits.
/// Its width is at least `least_w`. `cost` completes a block, and returns nothing where it does not fit.
template <typename AnyBlock, typename Cost>
[[nodiscard]] bool choose_tile(AnyBlock& b, std::int64_t positions, std::int64_t most_images, std::int64_t least_w,
                               Cost cost) {
  std::pair<double, std::int64_t> best = {std::numeric_limits<double>::infinity(), 0};
  AnyBlock chosen = b;
  for (std::int64_t n = 1; n <= most_images; n *= 2) {
    for (std::int64_t w = least_w; n * w <= positions; w *= 2) {
      AnyBlock tried = b;
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
template <typename AnyBlock>
[[nodiscard]] std::int64_t least_shared_bytes(const FactsOf<AnyBlock>& f, AnyBlock b, std::int64_t positions) {
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
  b.stages = 2;
  for (b.tile_w = f.channels_last ? b.thread_positions : std::max(b.thread_positions, b.copy_bytes / f.bytes);
       b.tile_w <= positions; b.tile_w *= 2) {
    b.tile_h = positions / b.tile_w;
    bytes = std::min(bytes, f.of(b)[kSharedBytes]);
  }
  return bytes;
}

/// The plans of these blocks that `predict` says are fastest, best first. `plan_of(block, seconds)` makes one.
template <typename AnyBlock, typename Predict, typename PlanOf>
[[nodiscard]] std::vector<Plan> fastest_plans(const std::vector<AnyBlock>& blocks, Predict predict, PlanOf plan_of) {
  std::vector<std::pair<double, AnyBlock>> ranked;
  for (const AnyBlock& block : blocks) {
    ranked.emplace_back(predict(block), block);
  }
  std::ranges::stable_sort(ranked, {}, [](const auto& entry) { return entry.first; });
  ranked.resize(std::min(ranked.size(), kMostPlans));
  std::vector<Plan> plans;
  for (const auto& [seconds, block] : ranked) {
    plans.push_back(plan_of(block, seconds));
  }
  return plans;
}

/// Why a layer has no plans: a limit that even the smallest block breaks.
[[nodiscard]] std::unexpected<Error> fail_phases(const Layer& layer, std::int64_t phases, std::int64_t most);
[[nodiscard]] std::unexpected<Error> fail_products(const Layer& layer, std::int64_t products, std::int64_t most);
[[nodiscard]] std::unexpected<Error> fail_registers(const Facts& facts, std::int64_t wanted, std::int64_t most);
[[nodiscard]] std::unexpected<Error> fail_stages(const Facts& facts, std::int64_t bytes);

/// What all plans have: threads, bytes, rows and the alignment that the constants say, and a summary.
void give_layout(Plan& plan, const Facts& facts, const Block& block, Constants& of_block);
/// The shape of its products and the number of a warpgroup, such as "64x64x16, 4 a warpgroup".
[[nodiscard]] std::string products_text(Constants& of_block);

/// The numbers of a launch, without clusters.
[[nodiscard]] TileGrid grid_of(const Problem& problem, const Plan& plan, const ConstantProgram& program);

}  // namespace convtgen::gemm
