#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/grad_weight/choices.h"
#include "generator/planner/grad_weight/grad_bias.h"
#include "generator/planner/grad_weight/launch.h"
#include "generator/planner/search/block_choices.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/planner.h"
#include "generator/planner/search/roofline.h"
#include "generator/planner/search/scalar.h"
#include "generator/planner/search/tensor_cores.h"

namespace convtgen {
namespace planners::mma_taps_grad_weight {

constexpr std::int64_t kMostOuts = 16;  // output channels of a group; of more, products by tap waste little
constexpr std::int64_t kLeastIn = 2, kMostIn = 128;                           // input channels of a group, of a block
constexpr std::int64_t kMostAccumulators = 104, kMostSplitAccumulators = 56;  // of a thread
constexpr std::int64_t kMostRowTiles = 6, kMostSplitRowTiles = 4;             // of a warp
constexpr std::int64_t kOtherRegisters = 56;                                  // of a thread, besides what products take
constexpr std::int64_t kMostPositions = 512;                                  // of a stage
constexpr std::int64_t kLeastStages = 2, kMostStages = 4;
constexpr std::int64_t kMostBlocks = 4;  // of an SM, that are asked for

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK_AND_FACTS(FactsOf, (taps_h, 1), (taps_w, 1), (block_in, 16), (block_out, 1), (warps_in, 1),
                         (warps_columns, 1), (warps_k, 1), (blocks_per_sm, 1), (tile_rows, 1), (tile_columns, 16),
                         (stages, 2), (slices, 1), (promote_stages, 0), (bias_slices, 1), (sums_bias, false));
/// The template's constants that are wanted, by their names there.
CONVTGEN_CONSTANTS(kThreads, kInstructionK, kWeights, kSliceBlocks, kRowTiles, kTilesAcross, kTilesTogether,
                   kAccumulators, kTotals, kColumns, kPositions, kSteps, kOwnSteps, kInputCopies, kWindowCopies,
                   kInputCopy, kWindowCopy, kStageBytes, kSharedBytes, kAlignment, kAddParts, kAddSharedBytes,
                   kTapGroups);

std::int64_t tiles_of(const Facts& f, const Block& b) {
  return f.sizes.batch * ceil_div(f.sizes.extents[kHeight], b.tile_rows) *
         ceil_div(f.sizes.extents[kWidth], b.tile_columns);
}

/// What the copies of a stage take, of x or of grad_y.
StageWork copies_of(const Facts& f, double copies, std::int64_t elements) {
  constexpr double kInstructions = 14, kByRegisters = 50;  // of a warp, for a copy of each lane
  constexpr double kShortCopy = 3;                         // wavefronts of those of less than 16 bytes
  const double bytes = static_cast<double>(elements * f.bytes);
  const double warps = copies / 32;
  return {.shared_wavefronts = warps * (bytes < 16 ? kShortCopy : 32 * bytes / f.factors.mma_grad_weight_copied),
          .instructions = warps * (kInstructions + (bytes < 4 ? kByRegisters : 0)) / 4,
          .l2_bytes = copies * std::max(bytes, 4.0)};
}

double seconds_of(const Facts& f, const Block& b, Constants& c) {
  constexpr double kLatency = 1000;         // cycles until a copy has come
  constexpr double kPut = 3, kStored = 20;  // instructions for a result: to shared memory, from there to memory
  const double warps = c.number(kThreads) / 32, steps = c.number(kOwnSteps) * warps;
  const double products = (splits(f.layer) ? 3 : 1) * steps * c.number(kRowTiles) * c.number(kTilesAcross);
  const bool tf32 = f.bytes == 4;
  const double words = 4 * c.number(kTilesAcross) / (tf32 ? 2 : c.number(kTilesTogether));  // of a lane, for columns
  const double rows = 4 * c.number(kRowTiles);
  const double loads = steps * (words + rows);
  // Values are rounded, or split and their products promoted each four steps; halves of words change places.
  constexpr double kSplitWord = 8;
  const double others = steps * (splits(f.layer) ? kSplitWord * (words + rows) + c.number(kAccumulators) / 2
                                 : tf32          ? words + rows
                                                 : words);
  const StageWork input = copies_of(f, c.number(kInputCopies), c[kInputCopy]);
  const StageWork window = copies_of(f, c.number(kWindowCopies), c[kWindowCopy]);
  const double blocks = c.number(kSliceBlocks) * static_cast<double>(b.slices) / f.target.multiprocessors;
  const double at_once = std::min(std::ceil(blocks), static_cast<double>(b.blocks_per_sm));
  const double uneven = std::ceil(warps * at_once / 4) * 4 / (warps * at_once);
  // Another kernel reads grad_y once more, or threads add up what stages have.
  constexpr double kSummed = 6;
  const double summed = b.sums_bias ? kSummed * c.number(kPositions) *
                                          static_cast<double>(f.rows.stride * f.columns.stride * b.block_out) / 32
                                    : 0;
  const StageWork stage = {
      .tensor_cycles = uneven * products * f.target.sm.mma_cycles,
      .shared_wavefronts = loads + summed / kSummed + input.shared_wavefronts + window.shared_wavefronts,
      .instructions = uneven * (products + (tf32 ? loads : steps * (words + rows / 4)) + others + summed) / 4 +
                      input.instructions + window.instructions,
      .l2_bytes = input.l2_bytes + window.l2_bytes};
  // A stage comes while those before it are read.
  const double work = cycles_of(f.target, stage) * (1 + f.factors.mma_grad_weight_wait / (warps * at_once)) +
                      f.factors.mma_grad_weight_stage / at_once;
  const double cycles = std::max(work, (kLatency + work) / (static_cast<double>(b.stages - 1) * at_once));
  const double stages = std::ceil(static_cast<double>(tiles_of(f, b)) / static_cast<double>(b.slices));
  const double results =
      static_cast<double>(b.block_in) * c.number(kColumns) / 128 * (kPut * static_cast<double>(b.warps_k) + kStored);
  const double sum_bytes = b.slices > 1 ? 8 * static_cast<double>(b.slices) * c.number(kWeights) : 0;
  const double bias_seconds =
      f.layer.bias && !b.sums_bias
          ? static_cast<double>(f.shape.output_elements * f.bytes) / f.target.bytes_per_second + f.target.launch_seconds
          : 0;
  return bias_seconds + call_seconds(f, {.launches = b.slices > 1 || f.layer.bias ? 2.0 : 1.0,
                                         .first_cycles = f.factors.mma_grad_weight_begin * std::ceil(blocks / at_once),
                                         .waves = std::ceil(blocks),
                                         .wave_cycles = stages * cycles + results,
                                         .memory_bytes = f.cost.bytes + sum_bytes / 2,
                                         .measured = f.factors.mma_taps_measured});
}

/// Whether a block fits an SM; chooses how many do.
bool choose_blocks(const Facts& f, Block& b) {
  Constants& c = f.of(b);
  const std::int64_t registers = round_up((splits(f.layer) ? 2 : 1) * (c[kAccumulators] + 4 * c[kRowTiles]) +
                                              c[kTilesAcross] / c[kTilesTogether] + kOtherRegisters,
                                          std::int64_t{8});
  if (c[kSharedBytes] > f.target.max_shared_bytes || registers > 255) {
    return false;
  }
  b.blocks_per_sm =
      std::min(kMostBlocks,
               blocks_of_sm(f.target, {.threads = c[kThreads], .registers = registers, .shared_bytes = c[kSharedBytes]},
                            f.target.max_threads_per_sm));
  return true;
}

/// The number of slices that is predicted to be the fastest.
double choose_slices(const Facts& f, Block& b) {
  Constants& c = f.of(b);
  const SliceFacts facts = {.multiprocessors = f.target.multiprocessors * b.blocks_per_sm,
                            .blocks = c[kSliceBlocks],
                            .stages = tiles_of(f, b),
                            .stage_positions = c[kPositions] / b.warps_k,
                            .weights = c[kWeights],
                            .totals = c[kTotals],
                            .is_open = !f.layer.batch || !f.rows.extent || !f.columns.extent};
  Block best;
  double least = 0;
  for (const Slices& choice : slice_choices(facts)) {
    b.slices = choice.slices;
    b.promote_stages = choice.promote_stages;
    b.bias_slices = b.sums_bias ? b.slices : b.bias_slices;
    const double seconds = seconds_of(f, b, f.of(b));
    if (least == 0 || seconds < least) {
      best = b;
      least = seconds;
    }
  }
  b = best;
  return least;
}

/// The fastest tile of positions, with its stages and slices.
bool choose_positions(const Facts& f, Block& b) {
  const std::int64_t k = f.of(b)[kInstructionK], width = f.sizes.extents[kWidth], height = f.sizes.extents[kHeight];
  Block best;
  double least = 0;
  for (const std::int64_t columns : {std::int64_t{4}, std::int64_t{8}, k, 2 * k, 3 * k, 4 * k, 6 * k, 8 * k, 16 * k}) {
    if ((columns < k && columns < width && columns < 8) || (columns > k && columns >= 2 * width)) {
      continue;
    }
    for (std::int64_t rows = 1; rows * columns <= kMostPositions && rows < 2 * height; rows *= 2) {
      const std::int64_t positions = rows * columns;
      if (positions % (k * b.warps_k) != 0) {
        continue;
      }
      Block tile(b);
      tile.tile_columns = columns;
      tile.tile_rows = rows;
      for (tile.stages = kMostStages; tile.stages >= kLeastStages; --tile.stages) {
        Block next(tile);
        if (choose_blocks(f, next)) {
          const double seconds = choose_slices(f, next);
          if (least == 0 || seconds < least) {
            best = next;
            least = seconds;
          }
        }
      }
    }
  }
  b = best;
  return least > 0;
}

/// Input channels of a block: even parts of a group's; of many, those whose last block has the fewest beyond it.
std::vector<std::int64_t> in_choices(const Facts& f) {
  std::vector<std::int64_t> out = even_parts(f.group_in, 16, kMostIn);
  if (f.group_in > kMostIn) {
    std::vector<std::int64_t> sizes = {64, 80, 96, 112, 128};
    std::ranges::stable_sort(sizes, {}, [&](std::int64_t size) { return round_up(f.group_in, size); });
    sizes.resize(2);
    std::erase_if(sizes, [&](std::int64_t size) { return std::ranges::find(out, size) != out.end(); });
    out.insert(out.end(), sizes.begin(), sizes.end());
  }
  return out;
}

/// How warps share a block: few of them its rows and columns, as registers allow, the others its positions.
std::vector<Block> with_warps(const Facts& f, const Block& of) {
  std::vector<Block> out;
  for (const std::int64_t warps : {4, 8}) {
    for (std::int64_t in = ceil_div(of.block_in, 16 * (splits(f.layer) ? kMostSplitRowTiles : kMostRowTiles));
         in <= warps; in *= 2) {
      for (std::int64_t columns = 1; columns * in <= warps; columns *= 2) {
        Block b(of);
        b.warps_in = in;
        b.warps_columns = columns;
        b.warps_k = warps / (in * columns);
        if (of.block_in % (16 * in) == 0 && warps % (in * columns) == 0 &&
            f.of(b)[kAccumulators] <= (splits(f.layer) ? kMostSplitAccumulators : kMostAccumulators) &&
            choose_positions(f, b)) {
          out.push_back(b);
          break;  // more warps along columns load more
        }
      }
    }
  }
  return out;
}

struct MmaTapsGradWeight : WarpgroupPlanner<Facts, kConstants> {
  static constexpr Direction kDirection = Direction::kGradWeight;
  static constexpr Features kNeeds = {Feature::kCpAsync, Feature::kLdmatrix, Feature::kMmaBf16};
  static constexpr auto& kComputes = kSplitModes;
  static constexpr std::size_t kMostPlans = 10;

  static Checks checks(const Layer& layer) {
    const std::int64_t outs = layer.out_channels / layer.groups, ins = layer.in_channels / layer.groups;
    return {require(outs <= kMostOuts, "groups of {} output channels; at most {}, whose taps are columns of products",
                    outs, kMostOuts),
            require(ins >= kLeastIn, "groups of {} input channel; of 16 rows of a product there would be one", ins)};
  }
  static Parameters parameters(const Problem& problem) {
    Parameters p = with_depth(scalar_parameters(problem.layer, problem.direction), problem.layer);
    p.erase(p.find("element_kind"));
    p.insert({{"type", product_type(problem.layer.dtype)},
              {"store", std::int64_t{1}},
              {"splits", splits(problem.layer)},
              {"add_waits", problem.target.features.has(Feature::kPdl)}});
    return p;
  }
  static Blocks blocks(const Facts& f) {
    std::vector<Block> out;
    const Block first = {.block_out = f.group_out, .bias_slices = bias_slices(f.problem)};
    for (const auto& [taps_h, taps_w] : tap_rectangles(f.rows, f.columns)) {
      for (const std::int64_t block_in : in_choices(f)) {
        Block b(first);
        b.taps_h = taps_h;
        b.taps_w = taps_w;
        b.block_in = block_in;
        b.sums_bias = f.layer.bias && f.of(b)[kTapGroups] == 1 && are_read_once(f.rows) && are_read_once(f.columns);
        std::ranges::copy(with_warps(f, b), std::back_inserter(out));
      }
    }
    std::erase_if(out, [&](const Block& b) { return f.of(b)[kSliceBlocks] > kIntMax / b.slices; });
    if (out.empty()) {
      return fail_shared_memory(f.target, "two stages of positions", f.of(first)[kSharedBytes]);
    }
    return out;
  }
  static double seconds(const Facts& f, const Block& b, Constants& c) { return seconds_of(f, b, c); }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    return {fmt::format("a block makes {}x{} taps of {} by {} channels; {} slice{}", b.taps_h, b.taps_w,
                        std::min(b.block_in, f.group_in), b.block_out, b.slices, b.slices == 1 ? "" : "s"),
            fmt::format("tensor cores: {} warps make {}products over positions of {} channels x {} columns of taps; {} "
                        "stages of {}x{} positions{}{}",
                        c[kThreads] / 32, splits(f.layer) ? "three tf32 " : "", 16 * c[kRowTiles], 8 * c[kTilesAcross],
                        b.stages, b.tile_rows, b.tile_columns,
                        b.promote_stages > 0 ? fmt::format(", promoted every {}", b.promote_stages) : "",
                        b.sums_bias ? ", with sums of grad_y" : ""),
            sliced_grid(f.layer, b.slices * c[kSliceBlocks], b.tile_rows, b.tile_columns)};
  }
  static void add(LaunchPlan& launch, const Facts& f, const Block& b, Constants& c) {
    add_slices(launch, f.layer,
               {.slices = b.slices,
                .weights = c[kWeights],
                .bias_slices = b.bias_slices,
                .totals_bytes = b.promote_stages > 0 ? b.slices * c[kSliceBlocks] * c[kTotals] * 4 : 0,
                .sums_channels = !b.sums_bias,
                .add_parts = c[kAddParts],
                .add_shared_bytes = c[kAddSharedBytes]});
  }
};

}  // namespace planners::mma_taps_grad_weight

CONVTGEN_TEMPLATE(MmaTapsGradWeight, mma_taps_grad_weight);

}  // namespace convtgen
