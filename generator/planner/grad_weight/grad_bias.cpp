#include "generator/planner/grad_weight/grad_bias.h"

#include <fmt/format.h>

#include <algorithm>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/scalar.h"

namespace convtgen {
namespace planners::grad_bias {

constexpr std::int64_t kMostSlices = 256;
constexpr std::int64_t kBlocksPerSm = 4;  // that are wanted: one has 256 threads
constexpr int kAddingThreads = 128;       // of the kernel that adds the slices

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK_AND_FACTS(FactsOf, (bias_slices, 1));

/// The constants of channel_sums.h, which all templates that include it have.
CONVTGEN_CONSTANTS(kBiasTiles, kBiasTotals);

/// The constants of any problem of a gradient that reads grad_y, by the program of `grad_bias`.
std::vector<std::int64_t> channel_sums(const Layer& layer) {
  static const ConstantProgram program = ConstantProgram::read(programs::grad_bias()).value();
  return constants_of(program,
                      with_slices(with_depth(scalar_parameters(layer, Direction::kGradBias), layer), layer,
                                  Direction::kGradBias),
                      kConstants)
      .value();
}

struct GradBias : GeneralPlanner<GradBias, Facts, kConstants> {
  static constexpr Direction kDirection = Direction::kGradBias;

  static Blocks blocks(const Facts& f) { return std::vector{Block{.bias_slices = bias_slices(f.problem)}}; }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    return {fmt::format("{} slices of the positions, {} blocks each", b.bias_slices, c[kBiasTiles]),
            "grad_bias takes every layer with a bias; it reads grad_y once",
            {.axes = {{{.constant = f.layer.out_channels}, 1}}}};
  }
  static void add(LaunchPlan& launch, const Facts& f, const Block& b, Constants&) {
    launch.kernels.back().per_thread = true;
    launch.kernels.back().threads = kAddingThreads;
    add_channel_sums(launch, f.layer, b.bias_slices);
    std::swap(launch.kernels.front(), launch.kernels.back());
  }
};

}  // namespace planners::grad_bias

std::int64_t bias_slices(const Problem& problem) {
  if (!problem.layer.bias) {
    return 1;
  }
  using namespace planners::grad_bias;
  const std::int64_t tiles = channel_sums(problem.layer)[kBiasTiles];
  return std::clamp<std::int64_t>(ceil_div(kBlocksPerSm * problem.target.multiprocessors, tiles), 1, kMostSlices);
}

void add_channel_sums(LaunchPlan& launch, const Layer& layer, std::int64_t slices, bool by_kernel) {
  using namespace planners::grad_bias;
  const std::vector<std::int64_t> sums = channel_sums(layer);
  const std::int64_t bytes = sum_bytes(layer);
  if (by_kernel) {
    launch.kernels.push_back({.function = "sum_channels",
                              .suffix = "_channels",
                              .shared_bytes = sums[kBiasTotals] * bytes,
                              .grid = {.blocks_per_tile = slices * sums[kBiasTiles]}});
  }
  launch.regions.push_back({.name = "partial_bias",
                            .what = "sums of slices of grad_y's positions",
                            .bytes = {.constant = slices * layer.out_channels * bytes}});
}

CONVTGEN_TEMPLATE(GradBias, grad_bias);

}  // namespace convtgen
