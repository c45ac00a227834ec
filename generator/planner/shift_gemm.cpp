#include "generator/planner/shift_gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/block_constants.h"
#include "generator/planner/cost.h"
#include "generator/planner/gemm_block.h"
#include "generator/planner/layer_parameters.h"
#include "generator/planner/shift_gemm_block.h"

namespace convtgen {
namespace {

using shift_gemm::Block;
using shift_gemm::Facts;

/// The program of the template, read once in a process.
const ConstantProgram& own_program() {
  static const ConstantProgram program = ConstantProgram::read(programs::shift_gemm()).value();
  return program;
}

Plan plan_of(const Problem& problem, const Facts& f, const Block& b, double seconds) {
  Constants& of_block = f.of(b);
  Plan plan;
  plan.template_name = "shift_gemm";
  plan.predicted_seconds = seconds;
  plan.parameters = shift_gemm::parameters_of(problem);
  add_block<Block>(plan.parameters, b, shift_gemm::kMembers);
  plan.cluster = static_cast<int>(b.cluster);
  gemm::give_layout(plan, f, b, of_block);
  plan.reason = fmt::format("tensor cores: products of {}, {} stages of {} input channels{}, weights {}{}{}{}{}",
                            gemm::products_text(of_block), b.stages, b.block_k,
                            of_block[gemm::kFlat] != 0  ? " by bulk copies of whole images"
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

Result<std::vector<Plan>> plans_shift_gemm(const Problem& problem, const ConstantProgram& program) {
  if (auto checked = gemm::check(problem, kComputes); !checked) {
    return std::unexpected(checked.error());
  }
  const Result<Facts> facts = shift_gemm::facts_of(problem, planned_sizes(problem.layer), program);
  if (!facts) {
    return std::unexpected(facts.error());
  }
  const std::vector<Block> blocks = shift_gemm::blocks(*facts);
  if (blocks.empty()) {
    return shift_gemm::why_none(*facts);
  }
  return gemm::fastest_plans(
      blocks, [&](const Block& block) { return predicted_seconds(*facts, block); },
      [&](const Block& block, double seconds) { return plan_of(problem, *facts, block, seconds); });
}

Result<std::vector<Plan>> plans_shift_gemm(const Problem& problem) {
  if (auto checked = gemm::check(problem, kComputes); !checked) {  // before the program is read
    return std::unexpected(checked.error());
  }
  return plans_shift_gemm(problem, own_program());
}

std::optional<double> shift_gemm_seconds(const Problem& problem, const Plan& plan, const InputSizes& sizes) {
  const Result<Facts> facts = shift_gemm::facts_of(problem, sizes, own_program());
  return facts ? std::optional(predicted_seconds(*facts, block_of<Block>(plan, shift_gemm::kMembers))) : std::nullopt;
}

TileGrid shift_gemm_grid(const Problem& problem, const Plan& plan) {
  TileGrid grid = gemm::grid_of(problem, plan, own_program());
  if (plan.cluster > 1) {
    grid.blocks_per_tile *= plan.cluster;
    grid.most_tiles = 0;
  }
  return grid;
}

}  // namespace convtgen
