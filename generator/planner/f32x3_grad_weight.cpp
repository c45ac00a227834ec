#include "generator/planner/f32x3_grad_weight.h"

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
#include "generator/planner/split_scales.h"
#include "generator/planner/tensor_cores.h"

namespace convtgen {
namespace {

using namespace grad_weight;

constexpr std::array kComputes = {Compute::kF32x3};
constexpr std::int64_t kPack = 8;        // channels that are loaded together
constexpr std::int64_t kMostSteps = 16;  // k-steps of a stage: those of one promotion
constexpr double kSplitProducts = 3;     // that make one of fp32

constexpr std::array kOwnMembers = {Member{"shared_totals", &Block::shared_totals}};
constexpr auto kAllMembers = joined(joined(kMembers, kProducedMembers), kOwnMembers);

/// The template's own constants that are wanted.
enum OwnConstant : std::size_t {
  kPromoteStages = kOwnConstants,
  kInputPixels,
  kWindowPixels,
  kInputBatches,
  kWindowBatches,
  kInputBatch,
  kWindowBatch,
  kStageBytes,
  kOfRows,
};
constexpr std::array<std::string_view, 8> kOwnNames = {"kPromoteStages", "kInputPixels",   "kWindowPixels",
                                                       "kInputBatches",  "kWindowBatches", "kInputBatch",
                                                       "kWindowBatch",   "kStageBytes"};
constexpr auto kAllConstants = joined(joined(kConstants, kOwnNames), kRowNames);

/// Two sets of accumulators, totals, a step's A fragments of both parts, and 48 for the rest.
bool fits_registers(const Facts& f, const Block& b) {
  Constants& of = f.of(b);
  return (b.shared_totals ? 2 : 3) * of[kAccumulators] + 8 * of[kOwnTiles] + 48 <= thread_registers(of[kThreads]);
}

std::vector<Block> warpgroups(const Facts& f, Block b) {
  std::vector<Block> out = producing_warpgroups(f, b);
  for (Block& each : out) {
    each.shared_totals = !fits_registers(f, each);
  }
  return out;
}

double stage_cycles(const Facts& f, const Block& b) {
  Constants& of_block = f.of(b);
  const SmRates& sm = f.target.sm;
  const CostFactors& factors = f.target.factors;
  const auto number = [&](std::size_t name) { return static_cast<double>(of_block[name]); };
  const double steps = number(kKSteps);
  const double products = steps * number(kMTiles);
  // Values that a thread brings: each is loaded, scaled and split.
  const double values = static_cast<double>(kPack) *
                        (number(kInputBatches) * number(kInputBatch) + number(kWindowBatches) * number(kWindowBatch));
  const Brought brought =
      brought_by_threads(f, b,
                         {.batches = number(kInputBatches) + number(kWindowBatches),
                          .batch_instructions = values * factors.f32x3_grad_weight_value,
                          .elements = number(kInputPixels) * static_cast<double>(b.block_in) +
                                      elements_read(f) * number(kWindowPixels) * static_cast<double>(b.block_out),
                          .turn_instructions = factors.f32x3_grad_weight_turn},
                         kOfRows);
  const double warps = static_cast<double>(b.consumer_groups);                 // of a scheduler
  const double promoted = 2 * number(kAccumulators) / number(kPromoteStages);  // instructions of a warp
  // Totals in shared memory are read and written.
  const double total_wavefronts = b.shared_totals ? 2 * 4 * warps * number(kAccumulators) / number(kPromoteStages) : 0;
  const StageWork work = {
      .tensor_cycles = kSplitProducts * products * product_cycles(f.target, b.block_in),
      // Fragments of 64 rows are read of both parts; each product reads block_in columns of 32 bytes.
      .shared_wavefronts = products * (32 + kSplitProducts * static_cast<double>(b.block_in) / 4) +
                           (number(kStageBytes) + brought.shared_bytes) / sm.shared_bytes_per_cycle + total_wavefronts,
      .instructions =
          brought.instructions + warps * (steps * number(kOwnTiles) * 2 * factors.grad_weight_fragment + promoted),
      .l2_bytes = brought.l2_bytes};
  return std::max(cycles_of(f.target, work), brought.cycles) + factors.grad_weight_stage;
}

std::vector<Block> positions(const Facts& f, Block b) {
  return produced_positions(f, b, kMostSteps * f.of(b)[kInstructionK]);
}

bool fits_stage(const Facts& f, const Block& b) {
  return f.of(b)[kKSteps] <= kMostSteps && fits_rows(f, b, kOfRows);
}

Result<void> check(const Problem& problem) {
  const Layer& layer = problem.layer;
  if (auto checked = check_tensor_cores(problem, kWarpgroups, kComputes); !checked) {
    return checked;
  }
  if (auto checked = check_channels_last(layer, kPack); !checked) {
    return checked;
  }
  return check_numbers(layer);
}

const ConstantProgram& own_program() {
  static const ConstantProgram program = ConstantProgram::read(programs::f32x3_grad_weight()).value();
  return program;
}

constexpr Traits kTraits = {.name = "f32x3_grad_weight",
                            .program = own_program,
                            .members = kAllMembers,
                            .constants = kAllConstants,
                            .smallest_stages = "two stages of one row of products",
                            .most_in = 96,
                            .splits = true,
                            .check = check,
                            .warpgroups = warpgroups,
                            .positions = positions,
                            .fits_registers = fits_registers,
                            .fits_stage = fits_stage,
                            .tiles = produced_tiles,
                            .stage_cycles = stage_cycles,
                            .positions_text = produced_text};

}  // namespace

Result<std::vector<Plan>> plans_f32x3_grad_weight(const Problem& problem, const ConstantProgram& program) {
  return with_scan_slices(problem, program, plans(kTraits, problem, program));
}

Result<std::vector<Plan>> plans_f32x3_grad_weight(const Problem& problem) {
  return with_scan_slices(problem, own_program(), plans(kTraits, problem));
}

LaunchPlan f32x3_grad_weight_launch(const Problem& problem, const Plan& plan) {
  LaunchPlan out = launch(kTraits, problem, plan);
  add_row_copies(out, problem, plan, own_program());
  add_scan(out, plan, own_program());
  return out;
}

std::optional<double> f32x3_grad_weight_seconds(const Problem& problem, const Plan& plan, const InputSizes& sizes) {
  return call_seconds(kTraits, problem, plan, sizes);
}

}  // namespace convtgen
