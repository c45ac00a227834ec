#include "generator/planner/shift_gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "generator/planner/gemm_block.h"
#include "generator/planner/layer_parameters.h"
#include "generator/planner/shift_gemm_block.h"
#include "generator/planner/tensor_cores.h"

namespace convtgen {
namespace {

using shift_gemm::Block;
using shift_gemm::Facts;

constexpr std::size_t kMostPlans = 16;

Parameters parameters_of(const Facts& f, const Block& b) {
  const Layer& l = f.layer;
  Parameters p = layer_parameters(l);
  gemm::add_parameters(p, b);
  p.insert({
      {"Element", TypeName{l.dtype == Dtype::kF32 ? "float" : "unsigned short"}},
      {"Sum", TypeName{"float"}},
      {"type", std::int64_t{l.dtype == Dtype::kF16    ? 0
                            : l.dtype == Dtype::kBf16 ? 1
                                                      : 2}},
      {"groups", f.groups},
      {"staged_epilogue", b.staged_epilogue},
      {"ping_pong", b.ping_pong},
      {"cluster", b.cluster},
  });
  return p;
}

/// The inverse of parameters_of().
Block block_of(const Plan& plan) {
  Block block;
  gemm::read_parameters(plan, block);
  block.staged_epilogue = flag_of(plan, "staged_epilogue");
  block.ping_pong = flag_of(plan, "ping_pong");
  block.cluster = integer_of(plan, "cluster");
  return block;
}

Plan plan_of(const Facts& f, const Block& b, double seconds) {
  Plan plan;
  plan.template_name = "shift_gemm";
  plan.predicted_seconds = seconds;
  plan.parameters = parameters_of(f, b);
  plan.threads = gemm::kConsumers + shift_gemm::kProducers;
  plan.cluster = static_cast<int>(b.cluster);
  plan.shared_bytes = shared_bytes(f, b);
  plan.packed_bytes = packed_bytes(f, b);
  plan.packed_rows = packed_rows(f, b);
  plan.alignment = std::max(is_skewed(f, b) ? staging_of(f, b).vector * f.bytes : b.copy_bytes, b.store * f.bytes);
  plan.summary = gemm::summary_of(f, b, plan.shared_bytes);
  plan.reason = fmt::format("tensor cores: products of {}, {} stages of {} input channels{}, weights {}{}{}{}{}",
                            gemm::products_text(f, b), b.stages, b.block_k,
                            is_flat(f, b)               ? " by bulk copies of whole images"
                            : b.bulk && f.channels_last ? " by bulk copies of pixels"
                            : b.bulk                    ? " by bulk copies of rows"
                                                        : "",
                            b.resident ? "resident" : "with each stage", b.ping_pong ? ", ping-pong warpgroups" : "",
                            b.staged_epilogue ? ", outputs through shared memory" : "",
                            b.cluster > 1 ? fmt::format(", channels shared by clusters of {} blocks", b.cluster) : "",
                            f.groups > 1 ? fmt::format(", {} groups", f.groups) : "");
  return plan;
}

constexpr std::array kComputes = {Compute::kTf32, Compute::kF16, Compute::kBf16};

}  // namespace

Result<std::vector<Plan>> plans_shift_gemm(const Problem& problem) {
  if (auto checked = check_tensor_cores(problem, kComputes); !checked) {
    return std::unexpected(checked.error());
  }
  if (auto checked = gemm::check_groups(problem.layer); !checked) {
    return std::unexpected(checked.error());
  }
  const Facts facts = shift_gemm::facts_of(problem);
  std::vector<std::pair<double, Block>> ranked;
  for (const Block& block : shift_gemm::blocks(facts)) {
    ranked.emplace_back(predicted_seconds(facts, block), block);
  }
  if (ranked.empty()) {
    return shift_gemm::why_none(facts);
  }
  std::ranges::stable_sort(ranked, {}, [](const auto& entry) { return entry.first; });
  std::vector<Plan> plans;
  for (const auto& [seconds, block] : ranked) {
    if (plans.size() < kMostPlans) {
      plans.push_back(plan_of(facts, block, seconds));
    }
  }
  return plans;
}

std::optional<double> shift_gemm_seconds(const Problem& problem, const Plan& plan, const InputSizes& sizes) {
  return predicted_seconds(shift_gemm::facts_of(problem, sizes), block_of(plan));
}

TileGrid shift_gemm_grid(const Problem& problem, const Plan& plan) {
  const Block block = block_of(plan);
  TileGrid grid = gemm::grid_of(problem, block, is_flat(shift_gemm::facts_of(problem), block));
  if (block.cluster > 1) {
    grid.blocks_per_tile *= block.cluster;
    grid.most_tiles = 0;
  }
  return grid;
}

}  // namespace convtgen
