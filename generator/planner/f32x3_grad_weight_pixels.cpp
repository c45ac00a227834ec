#include "generator/planner/f32x3_grad_weight_pixels.h"

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
#include "generator/planner/split_scales.h"
#include "generator/planner/tensor_cores.h"

namespace convtgen {
namespace {

using namespace grad_weight;

constexpr std::array kComputes = {Compute::kF32x3};
constexpr std::int64_t kMostSteps = 16;     // k-steps of a stage: those of one promotion
constexpr std::int64_t kMostProducts = 96;  // of a warpgroup in a stage, which the compiler unrolls
constexpr std::int64_t kSplitProducts = 3;  // that make one of fp32
constexpr std::int64_t kParts = 2;          // of a value

constexpr std::int64_t kMostChunks = 3;  // of the batch, for each of which there are two launches

constexpr std::array kOwnMembers = {Member{"shared_totals", &Block::shared_totals}, Member{"chunks", &Block::chunks},
                                    Member{"chunk_images", &Block::chunk_images}};
constexpr auto kAllMembers = joined(joined(kMembers, kBoxMembers), kOwnMembers);

/// The template's own constants that are wanted.
enum OwnConstant : std::size_t { kPromoteStages = kBoxConstants };
constexpr std::array<std::string_view, 1> kOwnNames = {"kPromoteStages"};
constexpr auto kAllConstants = joined(joined(kConstants, kBoxNames), kOwnNames);

/// Two sets of accumulators, totals, two steps' A fragments of both parts, and 40 for the rest.
bool fits_registers(const Facts& f, const Block& b) {
  Constants& of = f.of(b);
  return (b.shared_totals ? 2 : 3) * of[kAccumulators] + 16 * of[kOwnTiles] + 40 <= thread_registers(of[kThreads]);
}

Result<Chunks> chunks_of(const Layer& layer) {
  return chunks_of_copies(layer, "values", kMostChunks);
}

std::vector<Block> warpgroups(const Facts& f, Block b) {
  const Chunks chunks = chunks_of(f.layer).value();
  b.chunks = chunks.number;
  b.chunk_images = chunks.images;
  std::vector<Block> out = box_warpgroups(f, b);
  for (Block& each : out) {
    each.shared_totals = !fits_registers(f, each);
  }
  return out;
}

double stage_cycles(const Facts& f, const Block& b) {
  Constants& of_block = f.of(b);
  const CostFactors& factors = f.target.factors;
  const auto number = [&](std::size_t name) { return static_cast<double>(of_block[name]); };
  const double steps = number(kKSteps);
  const double products = steps * number(kMTiles);
  const double warps = static_cast<double>(b.consumer_groups);                 // of a scheduler
  const double promoted = 2 * number(kAccumulators) / number(kPromoteStages);  // instructions of a warp
  // Totals in shared memory are read and written.
  const double total_wavefronts = b.shared_totals ? 2 * 4 * warps * number(kAccumulators) / number(kPromoteStages) : 0;
  const StageWork work = {
      .tensor_cycles = kSplitProducts * products * product_cycles(f.target, b.block_in),
      // Fragments of 64 rows are read of both parts; each product reads block_in columns of 32 bytes.
      .shared_wavefronts = products * (32 + kSplitProducts * static_cast<double>(b.block_in) / 4) +
                           kParts * box_positions_copied(f, b) + total_wavefronts,
      .instructions = warps * (steps * number(kOwnTiles) * kParts * factors.grad_weight_fragment + promoted),
      .l2_bytes = number(kCopiedBytes)};
  return box_stage_cycles(f, b, cycles_of(f.target, work));
}

bool fits_stage(const Facts& f, const Block& b) {
  Constants& of = f.of(b);
  return of[kKSteps] <= kMostSteps && kSplitProducts * of[kKSteps] * of[kOwnTiles] <= kMostProducts && fits_boxes(f, b);
}

Result<void> check(const Problem& problem) {
  const Layer& layer = problem.layer;
  if (auto checked = check_tensor_cores(problem, kWarpgroups, kComputes); !checked) {
    return checked;
  }
  if (auto checked = check_boxes(layer); !checked) {
    return checked;
  }
  if (auto chunks = chunks_of(layer); !chunks) {
    return std::unexpected(chunks.error());
  }
  return check_numbers(layer);
}

const ConstantProgram& own_program() {
  static const ConstantProgram program = ConstantProgram::read(programs::f32x3_grad_weight_pixels()).value();
  return program;
}

constexpr Traits kTraits = {.name = "f32x3_grad_weight_pixels",
                            .program = own_program,
                            .members = kAllMembers,
                            .constants = kAllConstants,
                            .smallest = {.block_in = 16, .stages = 3},
                            .smallest_stages = "three stages of 16 positions",
                            .in_multiple = 16,
                            .most_in = 192,
                            .least_stages = 3,
                            .most_stages = 8,
                            .splits = true,
                            .copied_bytes = bytes_of_copies,
                            .check = check,
                            .warpgroups = warpgroups,
                            .positions = box_positions,
                            .fits_registers = fits_registers,
                            .fits_stage = fits_stage,
                            .tiles = box_tiles,
                            .stage_cycles = stage_cycles,
                            .positions_text = box_text};

}  // namespace

Result<std::vector<Plan>> plans_f32x3_grad_weight_pixels(const Problem& problem, const ConstantProgram& program) {
  return with_scan_slices(problem, program, plans(kTraits, problem, program));
}

Result<std::vector<Plan>> plans_f32x3_grad_weight_pixels(const Problem& problem) {
  return with_scan_slices(problem, own_program(), plans(kTraits, problem));
}

LaunchPlan f32x3_grad_weight_pixels_launch(const Problem& problem, const Plan& plan) {
  LaunchPlan out = launch(kTraits, problem, plan);
  add_box_maps(out, problem, plan, own_program(), kParts, Dtype::kF16);
  add_copies(out, problem, plan, own_program(),
             {.function = "split_channels_last",
              .suffix = "_split",
              .regions = {"x_parts", "grad_y_parts"},
              .words = {"x, split, with channels last", "grad_y, split, with channels last"}},
             {.number = integer_of(plan, "chunks"), .images = integer_of(plan, "chunk_images")});
  add_scan(out, plan, own_program());
  return out;
}

std::optional<double> f32x3_grad_weight_pixels_seconds(const Problem& problem, const Plan& plan,
                                                       const InputSizes& sizes) {
  return call_seconds(kTraits, problem, plan, sizes);
}

}  // namespace convtgen
