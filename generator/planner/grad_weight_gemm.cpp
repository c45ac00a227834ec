#include "generator/planner/grad_weight_gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/cost.h"
#include "generator/planner/grad_weight_plan.h"
#include "generator/planner/grad_weight_search.h"
#include "generator/planner/grad_weight_staging.h"
#include "generator/planner/integers.h"
#include "generator/planner/roofline.h"
#include "generator/planner/scalar.h"
#include "generator/planner/tensor_cores.h"

namespace convtgen {
namespace {

using namespace grad_weight;

constexpr std::array kComputes = {Compute::kTf32, Compute::kF16, Compute::kBf16};
constexpr std::int64_t kMostProducts = 96;    // of a warpgroup in a stage, which the compiler unrolls
constexpr std::int64_t kMostPositions = 160;  // of a stage
constexpr std::int64_t kMostTurned = 256;     // of one of rows that are turned

constexpr std::array kOwnMembers = {Member{"promote_stages", &Block::promote_stages}};
constexpr auto kAllMembers = joined(joined(kMembers, kProducedMembers), kOwnMembers);

/// The template's own constants that are wanted.
enum OwnConstant : std::size_t {
  kPack = kOwnConstants,
  kInputPixels,
  kWindowPixels,
  kWords,
  kInputBatches,
  kWindowBatches,
  kInputBatch,
  kWindowBatch,
  kStageBytes,
  kOfRows,
};
constexpr std::array<std::string_view, 9> kOwnNames = {"kPack",       "kInputPixels",  "kWindowPixels",
                                                       "kWords",      "kInputBatches", "kWindowBatches",
                                                       "kInputBatch", "kWindowBatch",  "kStageBytes"};
constexpr auto kAllConstants = joined(joined(kConstants, kOwnNames), kRowNames);

std::vector<Block> warpgroups(const Facts& f, Block b) {
  return producing_warpgroups(f, b);
}

/// Whether a thread has registers for its accumulators and fragments. The assembler counts those that each thread has
/// when the block starts, 168 of 384 threads and 128 of 512. Beside accumulators and fragments it wants 20, or 32 where
/// the template issues products one by one.
bool fits_registers(const Facts& f, const Block& b) {
  Constants& of = f.of(b);
  const std::int64_t together = of[kAccumulators] + 8 * of[kOwnTiles];
  return b.consumer_groups == 2 && b.producers == 128 ? together <= 148 : together <= 112 && of[kAccumulators] <= 88;
}

double stage_cycles(const Facts& f, const Block& b) {
  Constants& of_block = f.of(b);
  const SmRates& sm = f.target.sm;
  const CostFactors& factors = f.target.factors;
  const auto number = [&](std::size_t name) { return static_cast<double>(of_block[name]); };
  const bool tf32 = of_block[kPack] == 4;
  const double steps = number(kKSteps);
  const double products = steps * number(kMTiles);
  // Words that a thread brings. Each is loaded and stored alone, except where channels are adjacent in memory.
  const double words =
      number(kWords) * (number(kInputBatches) * number(kInputBatch) + number(kWindowBatches) * number(kWindowBatch));
  const Brought brought = brought_by_threads(
      f, b,
      {.batches = number(kInputBatches) + number(kWindowBatches),
       .batch_instructions = words * (tf32 ? factors.grad_weight_word_tf32 : factors.grad_weight_word),
       .elements = number(kInputPixels) * static_cast<double>(b.block_in) +
                   elements_read(f) * number(kWindowPixels) * static_cast<double>(b.block_out),
       .turn_instructions = tf32 ? factors.grad_weight_turn_tf32 : factors.grad_weight_turn},
      kOfRows);
  const double warps = static_cast<double>(b.consumer_groups);  // of a scheduler
  const StageWork work = {
      .tensor_cycles = products * product_cycles(f.target, b.block_in),
      // A product reads fragments of 64 rows, and block_in columns of 32 bytes.
      .shared_wavefronts = products * (16 + static_cast<double>(b.block_in) / 4) +
                           (number(kStageBytes) + brought.shared_bytes) / sm.shared_bytes_per_cycle,
      .instructions = brought.instructions + steps * number(kOwnTiles) * warps * factors.grad_weight_fragment,
      .l2_bytes = brought.l2_bytes};
  return std::max(cycles_of(f.target, work), brought.cycles) + factors.grad_weight_stage;
}

std::vector<Block> positions(const Facts& f, Block b) {
  return produced_positions(f, b, b.row_stages > 0 ? kMostTurned : kMostPositions);
}

bool fits_stage(const Facts& f, const Block& b) {
  Constants& of = f.of(b);
  return of[kKSteps] * of[kOwnTiles] <= kMostProducts && fits_rows(f, b, kOfRows);
}

Result<void> check(const Problem& problem) {
  const Layer& layer = problem.layer;
  if (auto checked = check_tensor_cores(problem, kWarpgroups, kComputes); !checked) {
    return checked;
  }
  if (auto checked = check_channels_last(layer, layer.dtype == Dtype::kF32 ? 4 : 8); !checked) {
    return checked;
  }
  return check_numbers(layer);
}

const ConstantProgram& own_program() {
  static const ConstantProgram program = ConstantProgram::read(programs::grad_weight_gemm()).value();
  return program;
}

constexpr Traits kTraits = {.name = "grad_weight_gemm",
                            .program = own_program,
                            .members = kAllMembers,
                            .constants = kAllConstants,
                            .smallest_stages = "two stages of one row of products",
                            .check = check,
                            .warpgroups = warpgroups,
                            .positions = positions,
                            .fits_registers = fits_registers,
                            .fits_stage = fits_stage,
                            .tiles = produced_tiles,
                            .stage_cycles = stage_cycles,
                            .positions_text = produced_text};

}  // namespace

Result<std::vector<Plan>> plans_grad_weight_gemm(const Problem& problem, const ConstantProgram& program) {
  return plans(kTraits, problem, program);
}

Result<std::vector<Plan>> plans_grad_weight_gemm(const Problem& problem) {
  return plans(kTraits, problem);
}

LaunchPlan grad_weight_gemm_launch(const Problem& problem, const Plan& plan) {
  LaunchPlan out = launch(kTraits, problem, plan);
  add_row_copies(out, problem, plan, own_program());
  return out;
}

std::optional<double> grad_weight_gemm_seconds(const Problem& problem, const Plan& plan, const InputSizes& sizes) {
  return call_seconds(kTraits, problem, plan, sizes);
}

}  // namespace convtgen
