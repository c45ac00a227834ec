// The search for plans of gradients of weights on tensor cores, by products over positions. Its templates differ in how
// positions come to shared memory, and in what that costs; Traits are what differs. What they share stands
// here: the block, its stages and slices, the predicted time, the launch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/layer/shape.h"
#include "generator/planner/block_constants.h"
#include "generator/planner/launch_plan.h"
#include "generator/planner/plan.h"
#include "generator/program/constants.h"

namespace convtgen::grad_weight {

/// The block, as the templates' parameters of the same names. Each template has those that its members list.
struct Block {
  bool operator==(const Block&) const = default;

  std::int64_t taps_h = 1, taps_w = 1;
  std::int64_t block_out = 16, block_in = 8;
  bool rows_in_columns = false;
  std::int64_t consumer_groups = 2, producers = 128;
  bool flat = false;
  std::int64_t tile_images = 1, tile_rows = 1, tile_columns = 16, swizzle = 128;
  bool input_copies = true, window_copies = true;
  bool shared_totals = false;
  std::int64_t row_stages = 0;
  std::int64_t stages = 2;
  std::int64_t slices = 1, promote_stages = 0;
  std::int64_t chunks = 1, chunk_images = 0;  // of the batch, one after the other
};

using Member = BlockMember<Block>;

/// The members that each template has.
inline constexpr std::array kMembers = {
    Member{"taps_h", &Block::taps_h},
    Member{"taps_w", &Block::taps_w},
    Member{"block_out", &Block::block_out},
    Member{"block_in", &Block::block_in},
    Member{"consumer_groups", &Block::consumer_groups},
    Member{"tile_rows", &Block::tile_rows},
    Member{"tile_columns", &Block::tile_columns},
    Member{"stages", &Block::stages},
    Member{"slices", &Block::slices},
};

/// The constants that are wanted of each template, by their names there. A template's own follow.
enum Constant : std::size_t {
  kThreads,
  kInstructionK,
  kGroupIn,
  kGroupOut,
  kWeights,
  kSliceBlocks,
  kHaloH,
  kHaloW,
  kRows,
  kColumns,
  kMTiles,
  kOwnTiles,
  kKSteps,
  kStoredColumns,
  kSharedBytes,
  kAccumulators,
  kTotals,
  kAlignment,
  kOwnConstants,
};
inline constexpr std::array<std::string_view, kOwnConstants> kConstants = {
    "kThreads", "kInstructionK",  "kGroupIn",     "kGroupOut",     "kWeights", "kSliceBlocks",
    "kHaloH",   "kHaloW",         "kRows",        "kColumns",      "kMTiles",  "kOwnTiles",
    "kKSteps",  "kStoredColumns", "kSharedBytes", "kAccumulators", "kTotals",  "kAlignment"};

/// One list behind the other.
template <typename T, std::size_t m, std::size_t n>
[[nodiscard]] constexpr std::array<T, m + n> joined(const std::array<T, m>& first, const std::array<T, n>& second) {
  return [&]<std::size_t... i, std::size_t... k>(std::index_sequence<i...>, std::index_sequence<k...>) {
    return std::array<T, m + n>{first[i]..., second[k]...};
  }(std::make_index_sequence<m>(), std::make_index_sequence<n>());
}

/// What predictions and choices depend on, at some sizes of the input.
struct Facts {
  const Layer& layer;
  const PlannedTarget& target;
  mutable BlockConstants<Block> constants;  // a cache: holds the block at hand
  Axis rows = {}, columns = {};
  std::int64_t batch = 0, height = 0, width = 0;  // planned for
  double memory_bytes = 0;                        // that a call moves at the least

  [[nodiscard]] Constants& of(const Block& b) const { return constants.of(b); }
  [[nodiscard]] bool channels_last() const { return layer.layout == Layout::kNhwc; }
};

/// What one template adds to the search.
struct Traits {
  std::string_view name;
  const ConstantProgram& (*program)() = nullptr;  // its own, read once in a process
  std::span<const Member> members;
  std::span<const std::string_view> constants;
  Block smallest = {};
  std::string_view smallest_stages;             // of the smallest block, in words
  std::int64_t in_multiple = 8, most_in = 256;  // channels of block_in
  std::int64_t least_stages = 2, most_stages = 6;
  /// Values are split in two parts, each scaled by the largest magnitudes, which another kernel finds before.
  bool splits = false;
  /// The bytes of what another kernel copies to the workspace before, chunk by chunk; null: nothing.
  std::int64_t (*copied_bytes)(const Layer& layer) = nullptr;

  /// Errors: what the template asks of a problem, whatever its sizes.
  Result<void> (*check)(const Problem& problem) = nullptr;
  /// The warpgroups that may make this block of channels and taps, and what else does not depend on its positions.
  std::vector<Block> (*warpgroups)(const Facts& f, Block b) = nullptr;
  /// The positions of a stage that may suit a block.
  std::vector<Block> (*positions)(const Facts& f, Block b) = nullptr;
  /// Whether a thread has the registers for a block.
  bool (*fits_registers)(const Facts& f, const Block& b) = nullptr;
  /// Whether a block's stages are within the template's limits, except for their number.
  bool (*fits_stage)(const Facts& f, const Block& b) = nullptr;
  /// Why even the smallest block's stage is beyond them, in words; where limits depend on the layer.
  std::string (*why_none)(const Facts& f, const Block& smallest) = nullptr;
  /// The number of stages of all positions, or of a chunk's.
  std::int64_t (*tiles)(const Facts& f, const Block& b) = nullptr;
  /// The cycles of a stage.
  double (*stage_cycles)(const Facts& f, const Block& b) = nullptr;
  /// The positions of a stage, in words.
  std::string (*positions_text)(const Block& b) = nullptr;
};

/// Registers of each thread when the block starts: 65,536 shared evenly, by warpgroups.
[[nodiscard]] std::int64_t thread_registers(std::int64_t threads);

/// Plans for a problem of grad_weight with a template's own program or another one, best first, at most 16. Errors: why
/// there is none, naming the property of the layer and the limit.
[[nodiscard]] Result<std::vector<Plan>> plans(const Traits& of, const Problem& problem);
[[nodiscard]] Result<std::vector<Plan>> plans(const Traits& of, const Problem& problem, const ConstantProgram& program);

/// The products, the sums of grad_y where the layer has a bias, and the addition of slices.
[[nodiscard]] LaunchPlan launch(const Traits& of, const Problem& problem, const Plan& plan);

/// About the seconds of a call at these sizes.
[[nodiscard]] std::optional<double> call_seconds(const Traits& of, const Problem& problem, const Plan& plan,
                                                 const InputSizes& sizes);

}  // namespace convtgen::grad_weight
