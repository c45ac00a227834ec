#include "generator/planner/f32x3_gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "generator/planner/f32x3_gemm_block.h"
#include "generator/planner/gemm_block.h"
#include "generator/planner/layer_parameters.h"
#include "generator/planner/tensor_cores.h"

namespace convtgen {
namespace {

using f32x3_gemm::Block;
using f32x3_gemm::Facts;

constexpr std::size_t kMostPlans = 16;

Parameters parameters_of(const Facts& f, const Block& b) {
  Parameters p = layer_parameters(f.layer);
  gemm::add_parameters(p, b);
  p.insert({
      {"Sum", TypeName{"float"}},
      {"groups", f.groups},
      {"prefetch", b.prefetch},
      {"promote_rows", b.promote_rows},
  });
  return p;
}

/// The inverse of parameters_of().
Block block_of(const Plan& plan) {
  Block block;
  gemm::read_parameters(plan, block);
  block.prefetch = flag_of(plan, "prefetch");
  block.promote_rows = integer_of(plan, "promote_rows");
  return block;
}

Plan plan_of(const Facts& f, const Block& b, double seconds) {
  Plan plan;
  plan.template_name = "f32x3_gemm";
  plan.predicted_seconds = seconds;
  plan.parameters = parameters_of(f, b);
  plan.threads = gemm::kConsumers + producers(f, b);
  plan.shared_bytes = shared_bytes(f, b);
  plan.packed_bytes = packed_bytes(f, b);
  plan.packed_rows = packed_rows(f, b);
  plan.alignment = std::max(b.copy_bytes, b.store * f.bytes);
  plan.summary = gemm::summary_of(f, b, plan.shared_bytes);
  plan.reason = fmt::format(
      "tensor cores: three f16 products for each of fp32, of {}, {} stages of {} input channels{}, weights {}{}",
      gemm::products_text(f, b), b.stages, b.block_k,
      is_flat(f, b) ? " by bulk copies of whole images"
      : b.bulk      ? " by bulk copies of rows"
                    : "",
      b.resident ? "resident" : "with each stage", f.groups > 1 ? fmt::format(", {} groups", f.groups) : "");
  return plan;
}

constexpr std::array kComputes = {Compute::kF32x3};

}  // namespace

Result<std::vector<Plan>> plans_f32x3_gemm(const Problem& problem) {
  if (auto checked = check_tensor_cores(problem, kComputes); !checked) {
    return std::unexpected(checked.error());
  }
  if (auto checked = gemm::check_groups(problem.layer); !checked) {
    return std::unexpected(checked.error());
  }
  const Facts facts = f32x3_gemm::facts_of(problem);
  std::vector<std::pair<double, Block>> ranked;
  for (const Block& block : f32x3_gemm::blocks(facts)) {
    ranked.emplace_back(predicted_seconds(facts, block), block);
  }
  if (ranked.empty()) {
    return f32x3_gemm::why_none(facts);
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

std::optional<double> f32x3_gemm_seconds(const Problem& problem, const Plan& plan, const InputSizes& sizes) {
  return predicted_seconds(f32x3_gemm::facts_of(problem, sizes), block_of(plan));
}

TileGrid f32x3_gemm_grid(const Problem& problem, const Plan& plan) {
  const Block block = block_of(plan);
  return gemm::grid_of(problem, block, is_flat(f32x3_gemm::facts_of(problem), block));
}

}  // namespace convtgen
