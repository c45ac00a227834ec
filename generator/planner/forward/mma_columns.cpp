#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/search/block_choices.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/planner.h"
#include "generator/planner/search/roofline.h"

namespace convtgen {
namespace planners::mma_columns {

constexpr std::int64_t kMostColumns = 64;  // taps by output channels
constexpr std::int64_t kLeastStages = 3, kMostStages = 5;
constexpr std::int64_t kMostBlocksOfSm = 4;   // that are asked for
constexpr std::int64_t kOtherRegisters = 56;  // of a thread, besides accumulators and fragments
constexpr std::int64_t kMostRegisters = 248;  // by this estimate
constexpr double kSplitInstructions = 3;      // of a value
constexpr double kProducts = 3;               // of tf32, for each of fp32
constexpr double kCopyInstructions = 4;       // of a unit

constexpr double kAddInstructions = 12;     // to add a product to an output
constexpr double kOutputInstructions = 24;  // and for the output

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK_AND_FACTS(FactsOf, (warps, 4), (block_n, 32), (blocks_per_sm, 1), (block_k, 32), (stages, kLeastStages),
                         (copy_bytes, 16));
/// The template's constants that are asked for.
CONVTGEN_CONSTANTS(kThreads, kColumns, kNTiles, kPixels, kKSteps, kKBlocks, kWarpTiles, kAccumulators, kCopies,
                   kWeightCopies, kInputBytes, kKBlockWeightBytes, kStageBytes, kSharedBytes, kPackedBytes, kPackedRows,
                   kProductBytes, kAdders, kAlignment);

/// Blocks of a call.
std::int64_t tiles(const Facts& f, const Block& b) {
  const std::int64_t plane = f.shape.in[kHeight] * f.shape.in[kWidth];
  return f.sizes.batch * ceil_div(plane, f.of(b)[kPixels]) * f.of(b)[kNTiles];
}

/// Bytes of the copies of pixels: vectors, where those of each channel begin with one.
std::int64_t copy_bytes_of(const Facts& f) {
  const Size &height = f.layer.axes[kHeight].extent, &width = f.layer.axes[kWidth].extent;
  const std::int64_t known = height.value_or(1) * width.value_or(1);  // a factor of a channel's pixels
  return known % 4 == 0 ? 16 : 4;
}

/// Chooses stages, and how many blocks an SM has room for; false where not even one fits.
bool choose_stages(const Facts& f, Block& b) {
  if (!fit_stages(f, b, kLeastStages, b.stages, kSharedBytes, f.target.max_shared_bytes)) {
    return false;
  }
  // Totals, high and low products; fragments of both operands.
  const std::int64_t registers =
      round_up(3 * f.of(b)[kAccumulators] + 8 * f.of(b)[kWarpTiles] + 8 + kOtherRegisters, 8);
  const BlockNeeds needs = {f.of(b)[kThreads], registers, f.of(b)[kSharedBytes]};
  b.blocks_per_sm = std::min(kMostBlocksOfSm, blocks_of_sm(f.target, needs, f.target.max_threads_per_sm));
  return registers <= kMostRegisters;
}

struct MmaColumns : Planner<Facts, kConstants> {
  static constexpr Features kNeeds = {Feature::kMmaTf32, Feature::kCpAsync};
  static constexpr std::array kComputes = {Compute::kF32x3};

  static Checks checks(const Layer& layer) {
    const std::int64_t columns = layer.out_channels * tap_count(layer);
    const std::int64_t most = std::min(kMostColumns, layer.in_channels);
    return {
        check_dense(layer),
        require(layer.layout == Layout::kNchw, "layout nhwc; it takes nchw, whose pixels of a channel are adjacent"),
        require(columns <= most,
                "{} taps by output channels; at most {}, so that products are no more than what is read", columns,
                most)};
  }
  static Blocks blocks(const Facts& f) {
    return BlockChoices(Block{.copy_bytes = copy_bytes_of(f)})
        .each(&Block::warps, {4, 8})
        .each(&Block::block_n, {16, 32, 48})
        .keep([&](const Block& b) { return b.block_n == 16 || b.block_n < f.of(b)[kColumns] + 16; })
        .each(&Block::stages, {kLeastStages, kMostStages - 1, kMostStages})
        .keep([&](Block& b) { return choose_stages(f, b); })
        .distinct()
        .or_fail([&] { return fail_shared_memory(f.target, "stages of pixels and weights", f.of({})[kSharedBytes]); });
  }
  static double seconds(const Facts& f, const Block& b, Constants& c) {
    const SmRates& sm = f.target.sm;
    const auto warps = static_cast<double>(b.warps);
    const double eights = static_cast<double>(b.block_n) / 8;
    const double values = warps * c.number(kKSteps) * c.number(kWarpTiles) * 4;  // of a lane, that it loads and splits
    const double products = kProducts * warps * c.number(kKSteps) * c.number(kWarpTiles) * eights;
    const double weights = warps * c.number(kKSteps) * eights;
    const double copies = warps * (c.number(kCopies) + c.number(kWeightCopies));
    const double promoted = 2 * warps * c.number(kAccumulators);
    const StageWork stage = {
        .tensor_cycles = products * sm.mma_cycles,
        .shared_wavefronts = values + (weights * 512 + c.number(kStageBytes)) / sm.shared_bytes_per_cycle,
        .instructions =
            (values * (1 + kSplitInstructions) + products + weights + copies * kCopyInstructions + promoted) / 4,
        .l2_bytes = c.number(kStageBytes)};
    const auto at_once = static_cast<double>(f.target.multiprocessors * b.blocks_per_sm);
    const double waves = static_cast<double>(tiles(f, b)) / at_once;
    const double full = waves > 0 ? std::ceil(waves) / waves : 1;  // the last wave asks for less than memory gives
    const double moved = static_cast<double>(f.shape.input_elements) * 4;
    const double products_moved = 2 * c.number(kProductBytes) * static_cast<double>(f.shape.input_elements) /
                                  static_cast<double>(f.layer.in_channels);
    const auto outputs = static_cast<double>(f.shape.output_elements);
    const double added = (kAddInstructions * static_cast<double>(tap_count(f.layer)) /
                              static_cast<double>(f.rows.stride * f.columns.stride) +
                          kOutputInstructions) *
                         outputs / 128;  // cycles, of all SMs
    return call_seconds(
        f, {.launches = 2,
            .packed_bytes = c.number(kPackedBytes),
            .first_cycles = added / static_cast<double>(f.target.multiprocessors),
            .waves = std::ceil(waves),
            .wave_cycles = c.number(kKBlocks) * cycles_of(f.target, stage) * static_cast<double>(b.blocks_per_sm) +
                           f.factors.mma_pixels_begin,
            .memory_bytes = moved * full + products_moved + outputs * 4});
  }
  static bool alike(const Block& one, const Block& other) {
    return one.warps == other.warps && one.block_n == other.block_n;
  }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    return {fmt::format("a block makes {} pixels' products with {} of {} columns; {} taps", c[kPixels],
                        std::min(b.block_n, c[kColumns]), c[kColumns], tap_count(f.layer)),
            fmt::format("tensor cores: the columns of products are taps of {} output channels, which another kernel "
                        "adds; three products of tf32, {} stages of {} input channels",
                        f.layer.out_channels, b.stages, b.block_k),
            {.axes = {{per(Quantity::kBatch), 1}, {per(Quantity::kInPlane), c[kPixels]}},
             .blocks_per_tile = c[kNTiles],
             .bounds = staged_bounds(f.layer, 1, 1)}};
  }
  static void add(LaunchPlan& launch, const Facts& f, const Block&, Constants& c) {
    launch.kernels.push_back(
        {.function = "add_columns",
         .suffix = "_add",
         .grid = {.axes = {{{.factor = f.layer.out_channels, .per = Quantity::kOutPixels}, c[kAdders]}}}});
    launch.regions.push_back({.name = "products",
                              .what = "what each pixel gives each tap",
                              .bytes = {.factor = c[kProductBytes], .per = Quantity::kInPixels}});
  }
};

}  // namespace planners::mma_columns

CONVTGEN_TEMPLATE(MmaColumns, mma_columns);

}  // namespace convtgen
