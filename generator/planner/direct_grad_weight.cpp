#include "generator/planner/direct_grad_weight.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/block_constants.h"
#include "generator/planner/cost.h"
#include "generator/planner/grad_bias.h"
#include "generator/planner/grad_weight_launch.h"
#include "generator/planner/integers.h"
#include "generator/planner/scalar.h"

namespace convtgen {
namespace {

constexpr std::int64_t kMostPerThread = 8;    // channels of either side
constexpr std::int64_t kMostThreadsOut = 16;  // so that half a warp shares an element of x
constexpr std::int64_t kMostTileColumns = 32;
constexpr std::int64_t kMostTilePixels = 256;
constexpr std::int64_t kMostSlices = 1024;

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
struct Block {
  bool operator==(const Block&) const = default;

  std::int64_t threads_in = 1, threads_out = 1, threads_pixels = 1;
  std::int64_t in_per_thread = 1, out_per_thread = 1;
  std::int64_t taps_h = 1, taps_w = 1;
  std::int64_t tile_rows = 1, tile_columns = 1;
  std::int64_t blocks_per_sm = 1;
  std::int64_t slices = 1;
};

constexpr std::array kMembers = {
    BlockMember{"threads_in", &Block::threads_in},
    BlockMember{"threads_out", &Block::threads_out},
    BlockMember{"threads_pixels", &Block::threads_pixels},
    BlockMember{"in_per_thread", &Block::in_per_thread},
    BlockMember{"out_per_thread", &Block::out_per_thread},
    BlockMember{"taps_h", &Block::taps_h},
    BlockMember{"taps_w", &Block::taps_w},
    BlockMember{"tile_rows", &Block::tile_rows},
    BlockMember{"tile_columns", &Block::tile_columns},
    BlockMember{"blocks_per_sm", &Block::blocks_per_sm},
    BlockMember{"slices", &Block::slices},
};

/// The template's constants that are wanted, by their names there.
enum Constant : std::size_t {
  kThreads,
  kWeights,
  kSliceBlocks,
  kTotalBytes,
  kStageBytes,
  kSharedBytes,
};
constexpr std::array<std::string_view, 6> kConstants = {"kThreads",    "kWeights",    "kSliceBlocks",
                                                        "kTotalBytes", "kStageBytes", "kSharedBytes"};

struct Facts {
  mutable BlockConstants<Block> constants;  // a cache: holds the block at hand
  Axis rows = {}, columns = {};
  std::int64_t group_in = 0, group_out = 0;
  std::int64_t sum_bytes = 4;
  Target target;

  [[nodiscard]] Constants& of(const Block& b) const { return constants.of(b); }
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
  b.blocks_per_sm = std::max<std::int64_t>(1, aim.threads_per_sm / f.of(b)[kThreads]);
  const std::int64_t wanted = ceil_div(aim.waves * b.blocks_per_sm * f.target.multiprocessors, f.of(b)[kSliceBlocks]);
  const std::int64_t bytes = f.of(b)[kWeights] * f.sum_bytes;
  const std::int64_t most = std::min({kMostSlices, tiles, std::max<std::int64_t>(1, kMostPartialBytes / bytes)});
  b.slices = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, most));
}

/// Tiles of positions in a call at the sizes that are planned for.
std::int64_t tiles_of(const Layer& layer, const Block& b) {
  const InputSizes sizes = planned_sizes(layer);
  return sizes.batch * ceil_div(sizes.extents[kHeight], b.tile_rows) * ceil_div(sizes.extents[kWidth], b.tile_columns);
}

Result<Facts> facts_of(const Problem& problem, const ConstantProgram& program) {
  const Layer& layer = problem.layer;
  Parameters parameters = scalar_parameters(layer, problem.direction);
  parameters.insert({"bias_slices", std::int64_t{1}});
  auto constants = BlockConstants<Block>::make(program, parameters, kMembers, kConstants);
  if (!constants) {
    return std::unexpected(std::move(constants.error()));
  }
  return Facts{.constants = *std::move(constants),
               .rows = layer.axes[kHeight],
               .columns = layer.axes[kWidth],
               .group_in = layer.in_channels / layer.groups,
               .group_out = layer.out_channels / layer.groups,
               .sum_bytes = sum_bytes(layer),
               .target = problem.target};
}

Block choose_block(const Facts& facts, const Layer& layer, const Aim& aim) {
  Block block;
  choose_sums(facts, aim, block);
  choose_threads(facts, aim, block);
  choose_tile(facts, aim, block);
  choose_slices(facts, aim, tiles_of(layer, block), block);
  return block;
}

Plan plan_of(const Problem& problem, const Facts& facts, const Block& block) {
  Plan plan;
  plan.template_name = "direct_grad_weight";
  plan.parameters = scalar_parameters(problem.layer, problem.direction);
  plan.parameters.insert({"bias_slices", problem.layer.bias ? bias_slices(problem) : 1});
  add_block<Block>(plan.parameters, block, kMembers);
  plan.threads = static_cast<int>(facts.of(block)[kThreads]);
  plan.shared_bytes = facts.of(block)[kSharedBytes];
  plan.summary = fmt::format(
      "a block makes {}x{} taps of {} by {} channels from {}x{} positions at a time; {} slices; "
      "{:.1f} KiB shared",
      block.taps_h, block.taps_w, std::min(block.threads_in * block.in_per_thread, facts.group_in),
      std::min(block.threads_out * block.out_per_thread, facts.group_out), block.tile_rows, block.tile_columns,
      block.slices, static_cast<double>(plan.shared_bytes) / 1024.0);
  plan.reason = fmt::format("direct_grad_weight takes every layer; each thread sums {} taps of {} x {} channels",
                            block.taps_h * block.taps_w, block.in_per_thread, block.out_per_thread);
  return plan;
}

const ConstantProgram& own_program() {
  static const ConstantProgram program = ConstantProgram::read(programs::direct_grad_weight()).value();
  return program;
}

}  // namespace

Result<std::vector<Plan>> plans_direct_grad_weight(const Problem& problem, const ConstantProgram& program) {
  if (auto checked = check_numbers(problem.layer); !checked) {
    return std::unexpected(checked.error());
  }
  const Result<Facts> facts = facts_of(problem, program);
  if (!facts) {
    return std::unexpected(facts.error());
  }
  std::vector<Block> blocks;
  std::vector<Plan> plans;
  for (const Aim& aim : kAims) {
    const Block block = choose_block(*facts, problem.layer, aim);
    if (std::ranges::find(blocks, block) != blocks.end()) {
      continue;
    }
    if (facts->of(block)[kSliceBlocks] > kIntMax / block.slices) {
      return fail(fmt::format("{} by {} channels need more blocks than a grid can have (2^31 - 1)",
                              problem.layer.in_channels, problem.layer.out_channels));
    }
    const auto bounds = staged_bounds(problem.layer, block.tile_rows, block.tile_columns);
    if (auto checked = check_bounds(problem.layer, bounds); !checked) {
      return std::unexpected(checked.error());
    }
    blocks.push_back(block);
    plans.push_back(plan_of(problem, *facts, block));
  }
  return plans;
}

Result<std::vector<Plan>> plans_direct_grad_weight(const Problem& problem) {
  return plans_direct_grad_weight(problem, own_program());
}

LaunchPlan direct_grad_weight_launch(const Problem& problem, const Plan& plan) {
  constexpr std::array<std::string_view, 2> kNames = {"kWeights", "kSliceBlocks"};
  const std::vector<std::int64_t> values = constants_of(own_program(), plan.parameters, kNames).value();
  return grad_weight_launch(
      problem, plan,
      {.function = "direct_grad_weight",
       .blocks = values[1],
       .weights = values[0],
       .bounds = staged_bounds(problem.layer, integer_of(plan, "tile_rows"), integer_of(plan, "tile_columns"))});
}

}  // namespace convtgen
