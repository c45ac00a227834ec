#include "generator/planner/f32x3_gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/block_constants.h"
#include "generator/planner/cost.h"
#include "generator/planner/f32x3_gemm_block.h"
#include "generator/planner/gemm_block.h"
#include "generator/planner/layer_parameters.h"
#include "generator/planner/tensor_cores.h"

namespace convtgen {
namespace {

using f32x3_gemm::Block;
using f32x3_gemm::Facts;

/// The program of the template, read once in a process.
const ConstantProgram& own_program() {
  static const ConstantProgram program = ConstantProgram::read(programs::f32x3_gemm()).value();
  return program;
}

Plan plan_of(const Problem& problem, const Facts& f, const Block& b, double seconds) {
  Constants& of_block = f.of(b);
  Plan plan;
  plan.template_name = "f32x3_gemm";
  plan.predicted_seconds = seconds;
  plan.parameters = f32x3_gemm::parameters_of(problem);
  add_block<Block>(plan.parameters, b, f32x3_gemm::kMembers);
  gemm::give_layout(plan, f, b, of_block);
  plan.reason = fmt::format(
      "tensor cores: three f16 products for each of fp32, of {}, {} stages of {} input channels{}, weights {}{}",
      gemm::products_text(of_block), b.stages, b.block_k,
      of_block[gemm::kFlat] != 0 ? " by bulk copies of whole images"
      : b.bulk                   ? " by bulk copies of rows"
                                 : "",
      b.resident ? "resident" : "with each stage", f.groups > 1 ? fmt::format(", {} groups", f.groups) : "");
  return plan;
}

constexpr std::array kComputes = {Compute::kF32x3};

}  // namespace

Result<std::vector<Plan>> plans_f32x3_gemm(const Problem& problem, const ConstantProgram& program) {
  if (auto checked = gemm::check(problem, kComputes); !checked) {
    return std::unexpected(checked.error());
  }
  const Result<Facts> facts = f32x3_gemm::facts_of(problem, planned_sizes(problem.layer), program);
  if (!facts) {
    return std::unexpected(facts.error());
  }
  const std::vector<Block> blocks = f32x3_gemm::blocks(*facts);
  if (blocks.empty()) {
    return f32x3_gemm::why_none(*facts);
  }
  return gemm::fastest_plans(
      blocks, [&](const Block& block) { return predicted_seconds(*facts, block); },
      [&](const Block& block, double seconds) { return plan_of(problem, *facts, block, seconds); });
}

Result<std::vector<Plan>> plans_f32x3_gemm(const Problem& problem) {
  if (auto checked = gemm::check(problem, kComputes); !checked) {  // before the program is read
    return std::unexpected(checked.error());
  }
  return plans_f32x3_gemm(problem, own_program());
}

std::optional<double> f32x3_gemm_seconds(const Problem& problem, const Plan& plan, const InputSizes& sizes) {
  const Result<Facts> facts = f32x3_gemm::facts_of(problem, sizes, own_program());
  return facts ? std::optional(predicted_seconds(*facts, block_of<Block>(plan, f32x3_gemm::kMembers))) : std::nullopt;
}

TileGrid f32x3_gemm_grid(const Problem& problem, const Plan& plan) {
  return gemm::grid_of(problem, plan, own_program());
}

}  // namespace convtgen
