#include "generator/planner/direct.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/direct_block.h"
#include "generator/planner/scalar.h"

namespace convtgen {
namespace {

using namespace direct;

/// The kernel's coordinates on one axis, up to the end of the last tile of `tile` outputs.
Result<void> check_extents(std::string_view axis, std::int64_t in, std::int64_t out, std::int64_t stride,
                           std::int64_t tile) {
  if (out > kIntMax - tile) {
    return fail(fmt::format("output {} {} is too large for the kernel's 32-bit coordinates; at most {}", axis, out,
                            kIntMax - tile));
  }
  if (in - 1 > (kIntMax - tile) / stride) {  // also where the padding takes it away again
    return fail(fmt::format("input {} {} is too large for the kernel's 32-bit coordinates; at most {}", axis, in,
                            (kIntMax - tile) / stride + 1));
  }
  return {};
}

/// The block's own limits: the kernel's coordinates to the end of its last tile, and the grid.
Result<void> check_block(const Layer& layer, const Facts& facts, const Block& block) {
  const auto check = [](std::string_view name, const Axis& axis, std::int64_t tile) -> Result<void> {
    return axis.extent
               ? check_extents(name, *axis.extent, output_extent(axis, *axis.extent), axis.stride, axis.stride * tile)
               : Result<void>();
  };
  const Axis rows = symmetric(layer.axes[kHeight]), columns = symmetric(layer.axes[kWidth]);
  if (auto checked = check("height", rows, facts.of(block)[kTileRows]); !checked) {
    return checked;
  }
  if (auto checked = check("width", columns, facts.of(block)[kTileColumns]); !checked) {
    return checked;
  }
  if (layer.groups * facts.of(block)[kChannelTiles] > kIntMax / facts.of(block)[kPhaseGroups]) {
    return fail(fmt::format("{} output channels and a stride of {}x{} need more blocks than a grid can have (2^31 - 1)",
                            layer.out_channels, rows.stride, columns.stride));
  }
  return {};
}

Plan plan_of_block(const Problem& problem, const Facts& facts, const Block& block) {
  Plan plan = plan_of(problem, facts, block, "direct");
  const Layer& layer = problem.layer;
  Constants& of_block = facts.of(block);
  plan.summary = fmt::format(
      "a block makes {}x{} outputs of {} channels; {} taps; ", of_block[kTileRows] * layer.axes[kHeight].stride,
      of_block[kTileColumns] * layer.axes[kWidth].stride, std::min(of_block[kTileChannels], facts.made), facts.taps);
  plan.summary += block.staged ? fmt::format("{:.1f} KiB shared", static_cast<double>(plan.shared_bytes) / 1024.0)
                               : "nothing shared";
  plan.reason = fmt::format(
      "direct takes every forward layer; each thread accumulates {} x {} x {} x {}, and {}",
      count_of(block.group_phases_h * block.group_phases_w, "phase"), count_of(block.channels_per_thread, "channel"),
      count_of(block.rows_per_thread, "row"), count_of(block.columns_per_thread, "column"),
      block.staged ? fmt::format("{} {} staged at a time{}", count_of(block.block_k, "input channel"),
                                 block.block_k == 1 ? "is" : "are",
                                 of_block[kBuffers] > 1 ? ", during the products of those before" : "")
                   : std::string("the halo is too large for shared memory, so the input is read where it lies"));
  return plan;
}

/// What is tried, the first choice first.
std::vector<Aim> aims_of(const Problem& problem, const Facts& facts) {
  constexpr double kWorthwhile = 0.9;
  constexpr std::int64_t kPhasesChannels = 4;
  std::vector<Aim> aims(kAims.begin(), kAims.end());
  aims.insert(aims.begin() + 1, kForwardAims.begin(), kForwardAims.end());
  // Where tensor cores take the layer, direct's time was fitted to its plain first choice.
  const Compute compute = problem.layer.compute;
  const bool is_exact = compute == Compute::kF32 || compute == Compute::kF32x3 || compute == Compute::kF64;
  const auto busiest = [&](const Aim& aim) {
    return static_cast<double>(threads_of_busiest(facts, choose_block(facts, aim)));
  };
  if (is_exact && busiest(aims[1]) < kWorthwhile * busiest(aims[0])) {
    std::swap(aims[0], aims[1]);
  } else if (is_exact && facts.phases_h.size() * facts.phases_w.size() > 1) {
    // Measured with four phases: 1.2 times as fast as eight channels, which spill.
    const auto few_channels = std::ranges::find(aims, kPhasesChannels, &Aim::channels);
    std::rotate(aims.begin(), few_channels, few_channels + 1);
  }
  return aims;
}

/// The program of the template, read once in a process.
const ConstantProgram& own_program() {
  static const ConstantProgram program = ConstantProgram::read(programs::direct()).value();
  return program;
}

}  // namespace

Result<std::vector<Plan>> plans_direct(const Problem& problem, const ConstantProgram& program) {
  const Layer& layer = problem.layer;
  if (auto checked = check_numbers(layer); !checked) {
    return std::unexpected(checked.error());
  }
  const Result<Facts> facts = facts_of(problem, program);
  if (!facts) {
    return std::unexpected(facts.error());
  }
  std::vector<Block> blocks;
  std::vector<Plan> plans;
  for (const Aim& aim : aims_of(problem, *facts)) {
    const Block block = choose_block(*facts, aim);
    if (std::ranges::find(blocks, block) != blocks.end()) {
      continue;
    }
    if (auto checked = check_block(layer, *facts, block); checked) {
      blocks.push_back(block);
      plans.push_back(plan_of_block(problem, *facts, block));
    } else if (plans.empty()) {
      return std::unexpected(checked.error());
    }
  }
  return plans;
}

Result<std::vector<Plan>> plans_direct(const Problem& problem) {
  return plans_direct(problem, own_program());
}

Result<Plan> plan_direct(const Problem& problem) {
  auto plans = plans_direct(problem);
  if (!plans) {
    return std::unexpected(plans.error());
  }
  return std::move(plans->front());
}

TileGrid direct_grid(const Problem& problem, const Plan& plan) {
  const Layer& layer = problem.layer;
  constexpr std::array<std::string_view, 4> kNames = {"kTileRows", "kTileColumns", "kChannelTiles", "kPhaseGroups"};
  const std::vector<std::int64_t> values = constants_of(own_program(), plan.parameters, kNames).value();
  return staged_grid(layer, values[0], values[1], layer.groups * values[2] * values[3]);
}

}  // namespace convtgen
