#include "generator/planner/direct_grad_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/direct_block.h"
#include "generator/planner/scalar.h"

namespace convtgen {
namespace {

using namespace direct;

/// The block's own limits: the kernel's coordinates to the end of its last tile, and the grid.
Result<void> check_block(const Layer& layer, const Facts& facts, const Block& block) {
  const auto bounds = staged_bounds(layer, facts.of(block)[kTileRows], facts.of(block)[kTileColumns]);
  if (auto checked = check_bounds(layer, bounds); !checked) {
    return checked;
  }
  if (layer.groups > kIntMax / facts.of(block)[kChannelTiles]) {
    return fail(fmt::format("{} input channels need more blocks than a grid can have (2^31 - 1)", layer.in_channels));
  }
  return {};
}

Plan plan_of_block(const Problem& problem, const Facts& facts, const Block& block) {
  Plan plan = plan_of(problem, facts, block, "direct_grad_input");
  Constants& of_block = facts.of(block);
  plan.summary = fmt::format("a block makes {}x{} inputs of {} channels; {} taps; ", of_block[kTileRows],
                             of_block[kTileColumns], std::min(of_block[kTileChannels], facts.made), facts.taps);
  plan.summary += block.staged ? fmt::format("{:.1f} KiB shared", static_cast<double>(plan.shared_bytes) / 1024.0)
                               : "nothing shared";
  plan.reason = fmt::format(
      "direct_grad_input takes every layer; each thread accumulates {} x {} x {}, and {}",
      count_of(block.channels_per_thread, "channel"), count_of(block.rows_per_thread, "row"),
      count_of(block.columns_per_thread, "column"),
      block.staged ? fmt::format("{} {} staged at a time", count_of(block.block_k, "output channel"),
                                 block.block_k == 1 ? "is" : "are")
                   : std::string("the window is too large for shared memory, so grad_y is read where it lies"));
  return plan;
}

/// The program of the template, read once in a process.
const ConstantProgram& own_program() {
  static const ConstantProgram program = ConstantProgram::read(programs::direct_grad_input()).value();
  return program;
}

}  // namespace

Result<std::vector<Plan>> plans_direct_grad_input(const Problem& problem, const ConstantProgram& program) {
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
    const Block block = choose_block(*facts, aim);
    if (std::ranges::find(blocks, block) != blocks.end()) {
      continue;
    }
    if (auto checked = check_block(problem.layer, *facts, block); checked) {
      blocks.push_back(block);
      plans.push_back(plan_of_block(problem, *facts, block));
    } else if (plans.empty()) {
      return std::unexpected(checked.error());
    }
  }
  return plans;
}

Result<std::vector<Plan>> plans_direct_grad_input(const Problem& problem) {
  return plans_direct_grad_input(problem, own_program());
}

LaunchPlan direct_grad_input_launch(const Problem& problem, const Plan& plan) {
  const Layer& layer = problem.layer;
  constexpr std::array<std::string_view, 3> kNames = {"kTileRows", "kTileColumns", "kChannelTiles"};
  const std::vector<std::int64_t> values = constants_of(own_program(), plan.parameters, kNames).value();
  const auto per = [](Quantity quantity) { return Amount{.factor = 1, .per = quantity}; };
  LaunchPlan launch;
  launch.tensors = tensors_of(layer, problem.direction, plan.alignment);
  launch.kernels.push_back({.function = "direct_grad_input",
                            .suffix = "",
                            .threads = plan.threads,
                            .shared_bytes = plan.shared_bytes,
                            .grid = {.axes = {{per(Quantity::kInHeight), values[0]},
                                              {per(Quantity::kInWidth), values[1]},
                                              {per(Quantity::kBatch), 1}},
                                     .blocks_per_tile = layer.groups * values[2],
                                     .bounds = staged_bounds(layer, values[0], values[1])}});
  return launch;
}

}  // namespace convtgen
