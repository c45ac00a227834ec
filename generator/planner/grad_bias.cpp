#include "generator/planner/grad_bias.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/block_constants.h"
#include "generator/planner/integers.h"
#include "generator/planner/scalar.h"

namespace convtgen {
namespace {

constexpr std::int64_t kMostSlices = 256;
constexpr std::int64_t kBlocksPerSm = 4;  // that are wanted: one has 256 threads

/// The constants of channel_sums.h, which all templates that include it have.
struct ChannelSums {
  std::int64_t threads, tiles;
};
ChannelSums channel_sums(const Parameters& parameters) {
  static const ConstantProgram program = ConstantProgram::read(programs::grad_bias()).value();
  constexpr std::array<std::string_view, 2> kNames = {"kBiasThreads", "kBiasTiles"};
  const std::vector<std::int64_t> values = constants_of(program, parameters, kNames).value();
  return {values[0], values[1]};
}

Parameters parameters_of(const Problem& problem, std::int64_t slices) {
  Parameters p = scalar_parameters(problem.layer, Direction::kGradBias);
  p.insert({"bias_slices", slices});
  return p;
}

}  // namespace

std::int64_t bias_slices(const Problem& problem) {
  const std::int64_t tiles = channel_sums(parameters_of(problem, 1)).tiles;
  return std::clamp<std::int64_t>(ceil_div(kBlocksPerSm * problem.target.multiprocessors, tiles), 1, kMostSlices);
}

void add_channel_sums(LaunchPlan& launch, const Problem& problem, const Plan& plan) {
  const ChannelSums sums = channel_sums(parameters_of(problem, 1));
  const std::int64_t slices = integer_of(plan, "bias_slices");
  const std::int64_t bytes = sum_bytes(problem.layer);
  launch.kernels.push_back({.function = "sum_channels",
                            .suffix = "_channels",
                            .shared_bytes = sums.threads * bytes,
                            .grid = {.blocks_per_tile = slices * sums.tiles}});
  launch.regions.push_back({.name = "partial_bias",
                            .what = "sums of slices of grad_y's positions",
                            .bytes = {.constant = slices * problem.layer.out_channels * bytes}});
}

Result<std::vector<Plan>> plans_grad_bias(const Problem& problem) {
  if (auto checked = check_numbers(problem.layer); !checked) {
    return std::unexpected(checked.error());
  }
  const std::int64_t slices = bias_slices(problem);
  const ChannelSums sums = channel_sums(parameters_of(problem, 1));
  Plan plan;
  plan.template_name = "grad_bias";
  plan.parameters = parameters_of(problem, slices);
  plan.threads = static_cast<int>(sums.threads);
  plan.summary = fmt::format("{} slices of the positions, {} blocks each", slices, sums.tiles);
  plan.reason = "grad_bias takes every layer with a bias; it reads grad_y once";
  return std::vector{std::move(plan)};
}

LaunchPlan grad_bias_launch(const Problem& problem, const Plan& plan) {
  LaunchPlan launch;
  launch.tensors = tensors_of(problem.layer, problem.direction, plan.alignment);
  add_channel_sums(launch, problem, plan);
  launch.kernels.push_back({.function = "grad_bias",
                            .suffix = "",
                            .grid = {.axes = {{{.constant = problem.layer.out_channels}, 1}}},
                            .per_thread = true});
  return launch;
}

}  // namespace convtgen
