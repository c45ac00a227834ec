#include "generator/planner/grad_weight_pixels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/cost.h"
#include "generator/planner/grad_weight_boxes.h"
#include "generator/planner/grad_weight_plan.h"
#include "generator/planner/grad_weight_search.h"
#include "generator/planner/integers.h"
#include "generator/planner/roofline.h"
#include "generator/planner/scalar.h"
#include "generator/planner/tensor_cores.h"

namespace convtgen {
namespace {

using namespace grad_weight;

constexpr std::array kComputes = {Compute::kF16, Compute::kBf16};
constexpr std::int64_t kMostProducts = 96;  // of a warpgroup in a stage, which the compiler unrolls

constexpr std::array kOwnMembers = {Member{"promote_stages", &Block::promote_stages}};
constexpr auto kAllMembers = joined(joined(kMembers, kBoxMembers), kOwnMembers);
constexpr auto kAllConstants = joined(kConstants, kBoxNames);

/// Whether a thread has registers for its accumulators, two steps' A fragments and its places: of 256 threads each has
/// 255, of 384 threads 168.
bool fits_registers(const Facts& f, const Block& b) {
  Constants& of = f.of(b);
  return of[kAccumulators] + 9 * of[kOwnTiles] <= (b.consumer_groups == 2 ? 220 : 124);
}

double stage_cycles(const Facts& f, const Block& b) {
  Constants& of_block = f.of(b);
  const CostFactors& factors = f.target.factors;
  const auto number = [&](std::size_t name) { return static_cast<double>(of_block[name]); };
  const double steps = number(kKSteps);
  const double products = steps * number(kMTiles);
  const StageWork work = {
      .tensor_cycles = products * product_cycles(f.target, b.block_in),
      // A product reads fragments of 64 rows, and block_in columns of 32 bytes.
      .shared_wavefronts = products * (16 + static_cast<double>(b.block_in) / 4) + box_positions_copied(f, b),
      .instructions = steps * number(kOwnTiles) * static_cast<double>(b.consumer_groups) * factors.grad_weight_fragment,
      .l2_bytes = number(kCopiedBytes)};
  return box_stage_cycles(f, b, cycles_of(f.target, work));
}

bool fits_stage(const Facts& f, const Block& b) {
  Constants& of = f.of(b);
  return of[kKSteps] * of[kOwnTiles] <= kMostProducts && fits_boxes(f, b);
}

Result<void> check(const Problem& problem) {
  const Layer& layer = problem.layer;
  if (auto checked = check_tensor_cores(problem, kWarpgroups, kComputes); !checked) {
    return checked;
  }
  if (auto checked = check_boxes(layer); !checked) {
    return checked;
  }
  if (layer.layout != Layout::kNhwc) {
    if (auto chunks = chunks_of_copies(layer, "NCHW", 1); !chunks) {
      return std::unexpected(chunks.error());
    }
  }
  return check_numbers(layer);
}

/// Of the workspace.
std::int64_t copied_bytes(const Layer& layer) {
  return layer.layout != Layout::kNhwc ? bytes_of_copies(layer) : 0;
}

const ConstantProgram& own_program() {
  static const ConstantProgram program = ConstantProgram::read(programs::grad_weight_pixels()).value();
  return program;
}

constexpr Traits kTraits = {.name = "grad_weight_pixels",
                            .program = own_program,
                            .members = kAllMembers,
                            .constants = kAllConstants,
                            .smallest = {.block_in = 16, .stages = 3},
                            .smallest_stages = "three stages of 16 positions",
                            .in_multiple = 16,
                            .least_stages = 3,
                            .most_stages = 8,
                            .copied_bytes = copied_bytes,
                            .check = check,
                            .warpgroups = box_warpgroups,
                            .positions = box_positions,
                            .fits_registers = fits_registers,
                            .fits_stage = fits_stage,
                            .tiles = box_tiles,
                            .stage_cycles = stage_cycles,
                            .positions_text = box_text};

}  // namespace

Result<std::vector<Plan>> plans_grad_weight_pixels(const Problem& problem, const ConstantProgram& program) {
  return plans(kTraits, problem, program);
}

Result<std::vector<Plan>> plans_grad_weight_pixels(const Problem& problem) {
  return plans(kTraits, problem);
}

LaunchPlan grad_weight_pixels_launch(const Problem& problem, const Plan& plan) {
  LaunchPlan out = launch(kTraits, problem, plan);
  add_box_maps(out, problem, plan, own_program(), 1, problem.layer.dtype);
  if (problem.layer.layout != Layout::kNhwc) {
    add_copies(out, problem, plan, own_program(),
               {.function = "to_channels_last",
                .suffix = "_copy",
                .regions = {"x_pixels", "grad_y_pixels"},
                .words = {"x with channels last", "grad_y with channels last"}},
               {.number = 1, .images = *problem.layer.batch});
  }
  return out;
}

std::optional<double> grad_weight_pixels_seconds(const Problem& problem, const Plan& plan, const InputSizes& sizes) {
  return call_seconds(kTraits, problem, plan, sizes);
}

}  // namespace convtgen
