#include "generator/planner/split_scales.h"

#include <algorithm>
#include <array>

#include "generator/planner/layer_parameters.h"
#include "generator/planner/scalar.h"

namespace convtgen {
namespace {

constexpr std::int64_t kScanBlocks = 8;  // of an SM: 2048 threads
constexpr std::int64_t kMostScanSlices = 32;

}  // namespace

Result<std::vector<Plan>> with_scan_slices(const Problem& problem, const ConstantProgram& program,
                                           Result<std::vector<Plan>> plans) {
  constexpr std::array<std::string_view, 1> kNames = {"kScanTiles"};
  if (plans) {
    for (Plan& plan : *plans) {
      const std::int64_t tiles = constants_of(program, plan.parameters, kNames).value()[0];
      plan.parameters.find("scan_slices")->second =
          std::clamp<std::int64_t>(kScanBlocks * problem.target.multiprocessors / tiles, 1, kMostScanSlices);
    }
  }
  return plans;
}

void add_scan(LaunchPlan& launch, const Plan& plan, const ConstantProgram& program) {
  constexpr std::array<std::string_view, 3> kNames = {"kScanTiles", "kScanSharedBytes", "kScannedChannels"};
  const std::vector<std::int64_t> values = constants_of(program, plan.parameters, kNames).value();
  const std::int64_t slices = integer_of(plan, "scan_slices");
  launch.kernels.insert(launch.kernels.begin(), {.function = "scan_channels",
                                                 .suffix = "_scan",
                                                 .shared_bytes = values[1],
                                                 .grid = {.blocks_per_tile = slices * values[0]}});
  launch.regions.push_back({.name = "maxima",
                            .what = "the largest magnitudes of channels, by slices of the positions",
                            .bytes = {.constant = slices * values[2] * 4}});
}

}  // namespace convtgen
