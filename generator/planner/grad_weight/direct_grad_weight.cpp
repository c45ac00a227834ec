#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/grad_weight/grad_bias.h"
#include "generator/planner/grad_weight/launch.h"
#include "generator/planner/search/block_choices.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/planner.h"
#include "generator/planner/search/scalar.h"
#include "generator/planner/search/thin.h"

namespace convtgen {
namespace planners::direct_grad_weight {

constexpr std::int64_t kMostPerThread = 8;    // channels of either side
constexpr std::int64_t kMostThreadsOut = 16;  // so that half a warp shares an element of x
constexpr std::int64_t kMostTileColumns = 32;
constexpr std::int64_t kMostTilePixels = 256;
constexpr std::int64_t kMostSlices = 1024;
// Times as long as a call's arithmetic or traffic: 4 to 10 were measured on an H200; of groups with few output channels
// 2.5 to 4, and of depthwise layers 25.
constexpr double kUsual = 4, kFewOuts = 3, kDepthwise = 12;

/// What a block is made for. These values are the planner's first choice.
struct Aim {
  std::int64_t sums = 64;      // of a thread; half as many in fp64
  std::int64_t threads = 128;  // of a block
  std::int64_t threads_per_sm = 384;
  std::int64_t stage_bytes = 24 * 1024;
  std::int64_t waves = 2;  // blocks, in multiples of those that run at a time
};

constexpr std::array kAims = {
    Aim{},
    Aim{.sums = 32, .threads_per_sm = 512},
    Aim{.threads = 256},
    Aim{.waves = 6},
};

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK(Block, (threads_in, 1), (threads_out, 1), (threads_pixels, 1), (in_per_thread, 1), (out_per_thread, 1),
               (taps_h, 1), (taps_w, 1), (tile_rows, 1), (tile_columns, 1), (blocks_per_sm, 1), (slices, 1),
               (bias_slices, 1));

/// The template's constants that are wanted, by their names there.
CONVTGEN_CONSTANTS(kThreads, kWeights, kSliceBlocks, kStageBytes, kSharedBytes);

struct Facts : FactsOf<Block> {
  std::int64_t sum_bytes = convtgen::sum_bytes(layer);
};

/// Taps first, since they share x; then pairs of channels.
void choose_sums(const Facts& f, const Aim& aim, Block& b) {
  const std::int64_t sums = f.sum_bytes == 8 ? aim.sums / 2 : aim.sums;
  // Each operand is used for two channels at the least where there are so many.
  const std::int64_t pairs = std::min<std::int64_t>(2, f.group_in) * std::min<std::int64_t>(2, f.group_out);
  b.taps_w = even_part(f.columns.kernel, std::max<std::int64_t>(1, sums / pairs));
  b.taps_h = even_part(f.rows.kernel, std::max<std::int64_t>(1, sums / pairs / b.taps_w));
  const std::int64_t channels = std::max<std::int64_t>(1, sums / (b.taps_h * b.taps_w));
  const std::int64_t square = channels >= 64 ? 8 : channels >= 16 ? 4 : channels >= 4 ? 2 : 1;
  b.out_per_thread = even_part(f.group_out, std::min({kMostPerThread, square, f.group_out}));
  const std::int64_t most_in = std::min(kMostPerThread, channels / b.out_per_thread);
  b.in_per_thread = f.group_in <= most_in ? f.group_in : power_of_two_at_most(most_in);
}

void choose_threads(const Facts& f, const Aim& aim, Block& b) {
  b.threads_out = std::min(kMostThreadsOut, power_of_two_at_least(ceil_div(f.group_out, b.out_per_thread)));
  b.threads_in = std::min(aim.threads / b.threads_out, power_of_two_at_least(ceil_div(f.group_in, b.in_per_thread)));
  b.threads_pixels = aim.threads / (b.threads_out * b.threads_in);
}

/// As many positions as fit; where not even one does, fewer channels.
void choose_tile(const Facts& f, const Aim& aim, Block& b) {
  const auto positions = [](const Axis& axis, std::int64_t most) {
    return std::min(most, power_of_two_at_least(axis.extent.value_or(most)));
  };
  b.tile_columns = positions(f.columns, kMostTileColumns);
  b.tile_rows = positions(f.rows, kMostTilePixels / b.tile_columns);
  const auto fits = [&](std::int64_t stage) {
    return f.of(b)[kStageBytes] <= stage && f.of(b)[kSharedBytes] <= f.target.max_shared_bytes;
  };
  while (!fits(aim.stage_bytes) && b.tile_rows * b.tile_columns > std::max<std::int64_t>(16, b.threads_pixels)) {
    (b.tile_rows * 4 >= b.tile_columns && b.tile_rows > 1 ? b.tile_rows : b.tile_columns) /= 2;
  }
  while (!fits(f.target.max_shared_bytes)) {
    if (b.tile_rows > 1 || b.tile_columns > 1) {
      (b.tile_rows >= b.tile_columns ? b.tile_rows : b.tile_columns) /= 2;
    } else if (b.taps_h > 1 || b.taps_w > 1) {
      std::int64_t& taps = b.taps_h >= b.taps_w ? b.taps_h : b.taps_w;
      taps = ceil_div(taps, 2);
    } else if (b.threads_in > 1 || b.threads_out > 1) {
      (b.threads_in >= b.threads_out ? b.threads_in : b.threads_out) /= 2;
      b.threads_pixels *= 2;
    } else {
      return;  // one element of each operand always fits
    }
  }
}

/// So many that all SMs have work, and that the sums of slices don't take too much memory.
void choose_slices(const Facts& f, const Aim& aim, std::int64_t tiles, Block& b) {
  b.blocks_per_sm = std::min(std::max<std::int64_t>(1, aim.threads_per_sm / f.of(b)[kThreads]),
                             blocks_by_shared(f.target, f.of(b)[kSharedBytes]));
  const std::int64_t wanted = ceil_div(aim.waves * b.blocks_per_sm * f.target.multiprocessors, f.of(b)[kSliceBlocks]);
  const std::int64_t bytes = f.of(b)[kWeights] * f.sum_bytes;
  const std::int64_t most = std::min({kMostSlices, tiles, std::max<std::int64_t>(1, kMostPartialBytes / bytes)});
  b.slices = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, most));
}

/// Tiles of positions in a call.
std::int64_t tiles_of(const Facts& f, const Block& b) {
  return f.sizes.batch * f.sizes.extents[kDepth] * ceil_div(f.sizes.extents[kHeight], b.tile_rows) *
         ceil_div(f.sizes.extents[kWidth], b.tile_columns);
}

Block choose_block(const Facts& facts, const Aim& aim) {
  Block block;
  choose_sums(facts, aim, block);
  choose_threads(facts, aim, block);
  choose_tile(facts, aim, block);
  choose_slices(facts, aim, tiles_of(facts, block), block);
  block.bias_slices = bias_slices(facts.problem);
  return block;
}

struct DirectGradWeight : GeneralPlanner<DirectGradWeight, Facts, kConstants> {
  static constexpr Direction kDirection = Direction::kGradWeight;

  static Blocks blocks(const Facts& f) {
    std::vector<Block> found;
    std::ranges::transform(kAims, std::back_inserter(found), [&](const Aim& aim) { return choose_block(f, aim); });
    return BlockChoices(std::move(found)).distinct();
  }
  static Result<void> check_block(const Facts& f, const Block& b, Constants& c) {
    return require(c[kSliceBlocks] <= kIntMax / b.slices,
                   "{} by {} channels need more blocks than a grid can have (2^31 - 1)", f.layer.in_channels,
                   f.layer.out_channels);
  }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    return {fmt::format("a block makes {}x{} taps of {} by {} channels from {}x{} positions at a time; {} slices",
                        b.taps_h, b.taps_w, std::min(b.threads_in * b.in_per_thread, f.group_in),
                        std::min(b.threads_out * b.out_per_thread, f.group_out), b.tile_rows, b.tile_columns, b.slices),
            fmt::format("direct_grad_weight takes every layer; each thread sums {} taps of {} x {} channels",
                        b.taps_h * b.taps_w, b.in_per_thread, b.out_per_thread),
            sliced_grid(f.layer, b.slices * c[kSliceBlocks], b.tile_rows, b.tile_columns)};
  }
  static double seconds(const Facts& f, const Block& b, Constants& c) {
    const bool is_volume = f.layer.dimensions == 3;
    const double times = !is_volume && f.group_in == 1 && f.group_out == 1 ? kDepthwise
                         : !is_volume && f.group_out <= thin::kMostOuts    ? kFewOuts
                                                                           : kUsual;
    return times * scalar_seconds(f, chosen(f, b, c).grid, f.cost.flops);
  }
  static void add(LaunchPlan& launch, const Facts& f, const Block& b, Constants& c) {
    add_slices(launch, f.layer, {.slices = b.slices, .weights = c[kWeights], .bias_slices = b.bias_slices});
  }
};

}  // namespace planners::direct_grad_weight

CONVTGEN_TEMPLATE(DirectGradWeight, direct_grad_weight);

}  // namespace convtgen
