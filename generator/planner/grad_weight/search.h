// The search for plans of gradients of weights on tensor cores, by products over positions. Its templates differ in how
// positions come to shared memory, and in what that costs: a template's planner T is a Search<T, ...> that supplies it.
// What they share stands here: the block, its stages and slices, the predicted time, the launch.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generator/planner/grad_weight/launch.h"
#include "generator/planner/grad_weight/split_scales.h"
#include "generator/planner/search/planner.h"
#include "generator/planner/search/roofline.h"

namespace convtgen::grad_weight {

/// The block, as the templates' parameters of the same names. Each template has those that its members list.
CONVTGEN_BLOCK(Block, (taps_h, 1), (taps_w, 1), (block_out, 16), (block_in, 8), (rows_in_columns, false),
               (consumer_groups, 2), (producers, 128), (flat, false), (tile_images, 1), (tile_rows, 1),
               (tile_columns, 16), (swizzle, 128), (input_copies, true), (window_copies, true), (shared_totals, false),
               (row_stages, 0), (stages, 2), (slices, 1), (promote_stages, 0), (chunks, 1), (chunk_images, 0),
               (scan_slices, 1), (bias_slices, 1), (type, 0), (splits, false));

/// The members that each template has.
inline constexpr auto kCommonMembers = CONVTGEN_MEMBERS(taps_h, taps_w, block_out, block_in, consumer_groups, tile_rows,
                                                        tile_columns, stages, slices, bias_slices);

/// The constants that are wanted of each template, by their names there. A template's own follow.
CONVTGEN_CONSTANTS(kThreads, kInstructionK, kGroupIn, kGroupOut, kWeights, kSliceBlocks, kHaloH, kHaloW, kRows,
                   kColumns, kMTiles, kOwnTiles, kKSteps, kStoredColumns, kSharedBytes, kAccumulators, kTotals,
                   kAlignment, kWeightAlignment);

/// What predictions and choices depend on.
using Facts = FactsOf<Block>;

/// What one template adds to the search: the functions of its Search, and the facts that stand there.
struct Traits {
  Block smallest = {};
  std::string_view smallest_stages;  // of the smallest block, in words
  std::int64_t in_multiple, most_in;
  std::int64_t least_stages, most_stages;
  bool splits, scans;
  std::int64_t (*copied_bytes)(const Layer& layer);
  std::vector<Block> (*warpgroups)(const Facts& f, Block b);
  std::vector<Block> (*positions)(const Facts& f, Block b);
  bool (*fits_registers)(const Facts& f, const Block& b, Constants& c);
  bool (*fits_stage)(const Facts& f, const Block& b, Constants& c);
  std::string (*why_none)(const Facts& f, const Block& smallest);
  std::int64_t (*tiles)(const Facts& f, const Block& b);
  double (*stage_cycles)(const Facts& f, const Block& b, Constants& c);
  double (*more_seconds)(const Facts& f, const Block& b, Constants& c);
  double CostFactors::* measured;
  std::string (*positions_text)(const Block& b);
};

/// Parts of a value; products of parts that make one; and the most k-steps of a stage of them: those of one promotion.
inline constexpr std::int64_t kSplitParts = 2, kSplitProducts = 3, kMostSplitSteps = 16;
/// Of parts of tf32: instructions for four values of a thread, with their loads, stores and places; k-steps of a
/// promotion.
inline constexpr double kSplitInstructions = 24, kPromotedSteps = 4;
/// The consumers' instructions in a stage for parts of tf32 besides those of whole values.
[[nodiscard]] double split_instructions(const Block& b, Constants& c);

/// What it takes to read grad_y once more for the bias, if there is one.
[[nodiscard]] double bias_seconds(const Facts& f);

/// Up to which sizes the kernels of a block count its stages.
[[nodiscard]] std::vector<Grid::Bound> stage_bounds(const Layer& layer, const Block& b);

/// Of a warpgroup in a stage, which the compiler unrolls.
inline constexpr std::int64_t kMostProducts = 96;

/// Steps of a stage, and products of them.
[[nodiscard]] inline double steps(Constants& c) {
  return c.number(kKSteps);
}
[[nodiscard]] inline double products(Constants& c) {
  return steps(c) * c.number(kMTiles);
}

/// Warps of a scheduler that multiply.
[[nodiscard]] inline double consumer_warps(const Block& b) {
  return static_cast<double>(b.consumer_groups);
}

/// The consumers' share of a stage's work. Accumulators of split values are promoted after so many stages.
[[nodiscard]] StageWork multiplied(const Facts& f, const Block& b, Constants& c, double promote_stages);

/// The functions of a planner.
[[nodiscard]] Parameters parameters_of(const Problem& problem);
/// The same and `Word`: what threads bring values as.
[[nodiscard]] Parameters word_parameters_of(const Problem& problem);
[[nodiscard]] Result<std::vector<Block>> blocks_of(const Traits& of, const Facts& f);
[[nodiscard]] double seconds_of(const Traits& of, const Facts& f, const Block& b);
[[nodiscard]] Chosen chosen_of(const Traits& of, const Facts& f, const Block& b, Constants& c);

/// What a planner of such a template is unless it says otherwise. It supplies, as static functions:
///   std::vector<Block> warpgroups(const Facts&, Block)       that may make this block of channels and taps, and what
///                                                            else does not depend on its positions
///   std::vector<Block> positions(const Facts&, Block)        of a stage that may suit a block
///   bool fits_registers(const Facts&, const Block&, Constants&)
///   bool fits_stage(const Facts&, const Block&, Constants&)  within the limits, except for the number of stages
///   std::int64_t tiles(const Facts&, const Block&)           stages of all positions, or of a chunk's
///   double stage_cycles(const Facts&, const Block&, Constants&)
///   std::string positions_text(const Block&)                 of a stage, in words
template <typename T, const auto& kMembersOf, const auto& kWanted>
struct Search : WarpgroupPlanner<Facts, kWanted> {
  using typename Planner<Facts, kWanted>::Blocks;

  static constexpr auto& kMembers = kMembersOf;
  static constexpr Direction kDirection = Direction::kGradWeight;
  static constexpr Block kSmallest = {};
  static constexpr std::string_view kSmallestStages = "two stages of one row of products";
  static constexpr std::int64_t kInMultiple = 8;  // channels of block_in
  static constexpr std::int64_t kMostIn = 256, kMostSplitIn = 0;
  static constexpr bool kScans = false;  // finds the largest magnitudes before, if it splits
  static constexpr std::int64_t kLeastStages = 2, kMostStages = 6;

  /// The bytes of what another kernel copies to the workspace before, chunk by chunk.
  static std::int64_t copied_bytes(const Layer&) { return 0; }
  /// More than its stages and its outputs take: another kernel reads grad_y once more for the bias.
  static double more_seconds(const Facts& f, const Block&, Constants&) { return bias_seconds(f); }
  static constexpr double CostFactors::* kMeasured = &CostFactors::grad_weight_measured;
  /// Why even the smallest block's stage is beyond the limits, in words.
  static std::string why_none(const Facts&, const Block&) { return {}; }

  /// The warpgroups of a block. Where values are split, totals are in shared memory if registers don't hold them.
  static std::vector<Block> scanning_warpgroups(const Facts& f, Block b) {
    std::vector<Block> out = T::warpgroups(f, b);
    if constexpr (T::kScans) {
      for (Block& each : out) {
        const bool scans = splits(f.layer) && !each.splits;
        each.shared_totals = scans && !T::fits_registers(f, each, f.of(each));
        each.scan_slices =
            scans ? scan_slices(f.target, f.of(each)[index_of(kWanted, "kScanTiles")]) : each.scan_slices;
      }
    }
    return out;
  }
  static Traits traits(const Layer& layer) {
    Block smallest = T::kSmallest;
    smallest.type = product_type(splits(layer) ? Dtype::kF16 : layer.dtype);
    return {.smallest = smallest,
            .smallest_stages = T::kSmallestStages,
            .in_multiple = T::kInMultiple,
            .most_in = splits(layer) ? T::kMostSplitIn : T::kMostIn,
            .least_stages = T::kLeastStages,
            .most_stages = T::kMostStages,
            .splits = splits(layer),
            .scans = T::kScans && splits(layer),
            .copied_bytes = T::copied_bytes,
            .warpgroups = scanning_warpgroups,
            .positions = T::positions,
            .fits_registers = T::fits_registers,
            .fits_stage = T::fits_stage,
            .why_none = T::why_none,
            .tiles = T::tiles,
            .stage_cycles = T::stage_cycles,
            .more_seconds = T::more_seconds,
            .measured = T::kMeasured,
            .positions_text = T::positions_text};
  }
  static Parameters parameters(const Problem& problem) { return parameters_of(problem); }
  static Blocks blocks(const Facts& f) { return blocks_of(traits(f.layer), f); }
  static double seconds(const Facts& f, const Block& b, Constants&) { return seconds_of(traits(f.layer), f, b); }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) { return chosen_of(traits(f.layer), f, b, c); }
  static void add(LaunchPlan& launch, const Facts& f, const Block& b, Constants& c) {
    AddedSlices added = {.slices = b.slices,
                         .weights = c[kWeights],
                         .weight_alignment = c[kWeightAlignment],
                         .bias_slices = b.bias_slices,
                         .totals_bytes = b.promote_stages > 0 ? b.slices * c[kSliceBlocks] * c[kTotals] * 4 : 0};
    T::change(added, c);
    add_slices(launch, f.layer, added);
    T::bring(launch, f, b, c);
    if constexpr (T::kScans) {
      if (splits(f.layer) && !b.splits) {
        add_scan(launch, b.scan_slices, c[index_of(kWanted, "kScanTiles")], c[index_of(kWanted, "kScanSharedBytes")],
                 c[index_of(kWanted, "kScannedChannels")]);
      }
    }
  }
  /// What a template does otherwise after its products.
  static void change(AddedSlices&, Constants&) {}
  /// Adds to the launch how positions come to shared memory.
  static void bring(LaunchPlan&, const Facts&, const Block&, Constants&) {}
};

}  // namespace convtgen::grad_weight
