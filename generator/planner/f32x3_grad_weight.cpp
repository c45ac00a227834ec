#include "generator/planner/f32x3_grad_weight.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/block_constants.h"
#include "generator/planner/cost.h"
#include "generator/planner/grad_bias.h"
#include "generator/planner/grad_weight_launch.h"
#include "generator/planner/grad_weight_plan.h"
#include "generator/planner/integers.h"
#include "generator/planner/roofline.h"
#include "generator/planner/scalar.h"
#include "generator/planner/tensor_cores.h"

namespace convtgen {
namespace {

constexpr std::array kComputes = {Compute::kF32x3};
constexpr std::int64_t kMostBlockIn = 128;  // columns of a product
constexpr std::int64_t kPack = 8;           // channels that are loaded together
constexpr std::int64_t kMostSteps = 16;     // k-steps of a stage: those of one promotion
constexpr double kSplitProducts = 3;        // that make one of fp32
constexpr std::int64_t kScanBlocks = 8;     // of an SM that look for the largest magnitudes: 2048 threads
constexpr std::int64_t kMostScanSlices = 32;
constexpr std::int64_t kLeastStages = 2;
constexpr std::int64_t kMostStages = 6;
constexpr std::size_t kMostPlans = 8;

/// Warpgroups that multiply, and threads that bring what they multiply.
constexpr std::array<std::pair<std::int64_t, std::int64_t>, 3> kWarpgroups = {{{2, 128}, {2, 256}, {3, 128}}};

/// The block, as the template's parameters of the same names.
struct Block {
  bool operator==(const Block&) const = default;

  std::int64_t taps_h = 1, taps_w = 1;
  std::int64_t block_out = 16, block_in = 8;
  std::int64_t consumer_groups = 2;
  bool flat = false;
  std::int64_t tile_rows = 1, tile_columns = 16;
  std::int64_t stages = 2, producers = 128;
  bool shared_totals = false;
  std::int64_t slices = 1;
};

constexpr std::array kMembers = {
    BlockMember{"taps_h", &Block::taps_h},
    BlockMember{"taps_w", &Block::taps_w},
    BlockMember{"block_out", &Block::block_out},
    BlockMember{"block_in", &Block::block_in},
    BlockMember{"consumer_groups", &Block::consumer_groups},
    BlockMember{"flat", &Block::flat},
    BlockMember{"tile_rows", &Block::tile_rows},
    BlockMember{"tile_columns", &Block::tile_columns},
    BlockMember{"stages", &Block::stages},
    BlockMember{"producers", &Block::producers},
    BlockMember{"shared_totals", &Block::shared_totals},
    BlockMember{"slices", &Block::slices},
};

/// The template's constants that are wanted, by their names there.
enum Constant : std::size_t {
  kThreads,
  kInstructionK,
  kGroupIn,
  kGroupOut,
  kWeights,
  kSliceBlocks,
  kHaloH,
  kHaloW,
  kRows,
  kMTiles,
  kOwnTiles,
  kKSteps,
  kPromoteStages,
  kInputPixels,
  kWindowPixels,
  kInputBatches,
  kWindowBatches,
  kInputBatch,
  kWindowBatch,
  kStageBytes,
  kStoredColumns,
  kSharedBytes,
  kAccumulators,
  kAlignment,
};
constexpr std::array<std::string_view, 24> kConstants = {
    "kThreads", "kInstructionK", "kGroupIn", "kGroupOut", "kWeights", "kSliceBlocks", "kHaloH", "kHaloW", "kRows",
    "kMTiles", "kOwnTiles", "kKSteps", "kPromoteStages", "kInputPixels", "kWindowPixels", "kInputBatches",
    "kWindowBatches", "kInputBatch", "kWindowBatch", "kStageBytes", "kStoredColumns", "kSharedBytes", "kAccumulators",
    "kAlignment"};

struct Facts {
  const Layer& layer;
  const Target& target;
  mutable BlockConstants<Block> constants;  // a cache: holds the block at hand
  Axis rows = {}, columns = {};
  std::int64_t batch = 0, height = 0, width = 0;  // planned for
  double memory_bytes = 0;                        // that a call moves at the least

  [[nodiscard]] Constants& of(const Block& b) const { return constants.of(b); }
  [[nodiscard]] bool channels_last() const { return layer.layout == Layout::kNhwc; }
};

/// Whether a thread has registers for two sets of accumulators, totals and two k-steps' A fragments of both parts. The
/// assembler counts those that each thread has when the block starts, 168 of 384 threads and 128 of 512; it wants 32
/// for the rest.
bool fits_registers(const Block& b, Constants& of_block) {
  const std::int64_t most = b.consumer_groups == 2 && b.producers == 128 ? 136 : 96;
  return (b.shared_totals ? 2 : 3) * of_block[kAccumulators] + 16 * of_block[kOwnTiles] <= most;
}

/// Stages of all positions.
std::int64_t tiles_of(const Facts& f, const Block& b, Constants& of_block) {
  return ceil_div(f.batch * (f.height + of_block[kHaloH]), b.tile_rows) *
         (b.flat ? 1 : ceil_div(f.width, b.tile_columns));
}

/// Cycles of a stage.
double stage_cycles(const Facts& f, const Block& b, Constants& of_block) {
  const SmRates& sm = f.target.sm;
  const CostFactors& factors = f.target.factors;
  const auto number = [&](Constant name) { return static_cast<double>(of_block[name]); };
  const double steps = number(kKSteps);
  const double products = steps * number(kMTiles);
  const double batches = number(kInputBatches) + number(kWindowBatches);
  // Values that a thread brings: each is loaded, scaled and split.
  const double values = static_cast<double>(kPack) * (number(kInputBatches) * number(kInputBatch) +
                                                      number(kWindowBatches) * number(kWindowBatch));
  const double warps = static_cast<double>(b.consumer_groups);  // of a scheduler
  // Rows of grad_y with a stride are read with gaps.
  const double gaps = f.channels_last() ? 1 : std::min<double>(static_cast<double>(f.columns.stride), 8);
  const double promoted = 2 * number(kAccumulators) / number(kPromoteStages);  // instructions of a warp
  // Totals in shared memory are read and written.
  const double total_wavefronts =
      b.shared_totals ? 2 * 4 * warps * number(kAccumulators) / number(kPromoteStages) : 0;
  const StageWork work = {
      .tensor_cycles = kSplitProducts * products * product_cycles(f.target, b.block_in),
      // Fragments of 64 rows are read of both parts; each product reads block_in columns of 32 bytes.
      .shared_wavefronts = products * (32 + kSplitProducts * static_cast<double>(b.block_in) / 4) +
                           number(kStageBytes) / sm.shared_bytes_per_cycle + total_wavefronts,
      .instructions =
          static_cast<double>(b.producers) / 128 *
              (batches * factors.grad_weight_batch + values * factors.f32x3_grad_weight_value) +
          warps * (steps * number(kOwnTiles) * 2 * factors.grad_weight_fragment + promoted),
      .l2_bytes = 4 * (number(kInputPixels) * static_cast<double>(b.block_in) +
                       gaps * number(kWindowPixels) * static_cast<double>(b.block_out))};
  const double latency = batches * (factors.grad_weight_latency + factors.grad_weight_batch) +
                         values * factors.f32x3_grad_weight_value;
  return std::max(cycles_of(f.target, work), latency) + factors.grad_weight_stage;
}

/// The time of a call, in seconds.
double predicted(const Facts& f, const Block& b) {
  const CostFactors& factors = f.target.factors;
  Constants& of_block = f.of(b);
  const auto number = [&](Constant name) { return static_cast<double>(of_block[name]); };
  const auto slices = static_cast<double>(b.slices);
  const double stages = static_cast<double>(ceil_div(tiles_of(f, b, of_block), b.slices));
  const double blocks = number(kSliceBlocks) * slices;
  const double outputs =
      number(kRows) * static_cast<double>(b.block_in) / (128 * static_cast<double>(b.consumer_groups));  // of a thread
  const double sum_bytes = b.slices > 1 ? 8 * slices * number(kWeights) : 0;  // written and read again
  // The largest magnitudes are found before, of all that is read.
  return f.memory_bytes / f.target.bytes_per_second +
         seconds_of(f.target,
                    {.launches = b.slices > 1 ? 3.0 : 2.0,
                     .waves = static_cast<double>(
                         ceil_div(static_cast<std::int64_t>(blocks), f.target.multiprocessors)),
                     .wave_cycles = stages * stage_cycles(f, b, of_block) + factors.grad_weight_begin +
                                    factors.grad_weight_output * outputs,
                     .memory_bytes = f.memory_bytes + sum_bytes / 2,
                     .hidden_less = factors.hidden_less,
                     .measured = factors.grad_weight_measured});
}

/// As many stages as fit; false where too few do.
bool choose_stages(const Facts& f, Block& b) {
  for (b.stages = kMostStages; b.stages >= kLeastStages; --b.stages) {
    if (f.of(b)[kSharedBytes] <= f.target.max_shared_bytes && f.of(b)[kStoredColumns] >= 8) {
      return true;
    }
  }
  return false;
}

/// The number of slices that is predicted to be the fastest.
void choose_slices(const Facts& f, Block& b, double& seconds) {
  Constants& of_block = f.of(b);
  const SliceFacts facts = {.multiprocessors = f.target.multiprocessors,
                            .blocks = of_block[kSliceBlocks],
                            .stages = tiles_of(f, b, of_block),
                            .stage_positions = of_block[kKSteps] * of_block[kInstructionK],
                            .weights = of_block[kWeights],
                            .totals = 0,
                            .is_open = false};
  Block best = b;
  seconds = 0;
  for (const Slices& choice : slice_choices(facts)) {
    Block next = b;
    next.slices = choice.slices;
    const double time = predicted(f, next);
    if (seconds == 0 || time < seconds) {
      best = next;
      seconds = time;
    }
  }
  b = best;
}

struct Candidate {
  Block block;
  double seconds = 0;
};

/// The positions of a stage that may suit a block's channels and taps.
std::vector<Block> with_tiles(const Facts& f, Block b) {
  std::vector<Block> out;
  Constants& of_block = f.of(b);
  for (const StageShape& shape :
       stage_shapes(f.width, f.columns.extent.has_value(), of_block[kHaloW], of_block[kInstructionK],
                    kMostSteps * of_block[kInstructionK])) {
    b.flat = shape.flat;
    b.tile_rows = shape.rows;
    b.tile_columns = shape.columns;
    out.push_back(b);
  }
  return out;
}

std::vector<Candidate> candidates(const Facts& f) {
  std::vector<Candidate> out;
  Block b;
  const std::int64_t group_in = f.of(b)[kGroupIn], group_out = f.of(b)[kGroupOut];
  for (const auto& [taps_h, taps_w] : tap_rectangles(f.rows, f.columns)) {
    for (const std::int64_t block_out : even_parts(group_out, 16, 128)) {
      for (const std::int64_t block_in : even_parts(group_in, 8, kMostBlockIn)) {
        for (const auto& [groups, producers] : kWarpgroups) {
          b = {};
          b.taps_h = taps_h;
          b.taps_w = taps_w;
          b.block_out = block_out;
          b.block_in = block_in;
          b.consumer_groups = groups;
          b.producers = producers;
          b.shared_totals = !fits_registers(b, f.of(b));
          if (!fits_registers(b, f.of(b))) {
            continue;
          }
          Candidate best;
          for (Block tile : with_tiles(f, b)) {
            double seconds = 0;
            if (f.of(tile)[kKSteps] <= kMostSteps && choose_stages(f, tile)) {
              choose_slices(f, tile, seconds);
              if (best.seconds == 0 || seconds < best.seconds) {
                best = {tile, seconds};
              }
            }
          }
          if (best.seconds > 0) {
            out.push_back(best);
          }
        }
      }
    }
  }
  std::ranges::stable_sort(out, {}, &Candidate::seconds);
  return out;
}

Parameters parameters_of(const Problem& problem) {
  Parameters p = scalar_parameters(problem.layer, problem.direction);
  for (const std::string_view name : {"Offset", "element_kind"}) {
    p.erase(p.find(name));
  }
  p.insert({{"type", std::int64_t{0}},
            {"scan_slices", std::int64_t{1}},
            {"bias_slices", problem.layer.bias ? bias_slices(problem) : 1}});
  return p;
}

/// The program of the template, read once in a process.
const ConstantProgram& own_program() {
  static const ConstantProgram program = ConstantProgram::read(programs::f32x3_grad_weight()).value();
  return program;
}

Plan plan_of(const Problem& problem, const Facts& f, const Candidate& candidate) {
  const Block& b = candidate.block;
  Constants& of_block = f.of(b);
  Plan plan;
  plan.template_name = "f32x3_grad_weight";
  plan.predicted_seconds = candidate.seconds;
  plan.parameters = parameters_of(problem);
  add_block<Block>(plan.parameters, b, kMembers);
  constexpr std::array<std::string_view, 1> kScanTiles = {"kScanTiles"};
  const std::int64_t tiles = constants_of(own_program(), plan.parameters, kScanTiles).value()[0];
  plan.parameters.find("scan_slices")->second =
      std::clamp<std::int64_t>(kScanBlocks * f.target.multiprocessors / tiles, 1, kMostScanSlices);
  plan.threads = static_cast<int>(of_block[kThreads]);
  plan.shared_bytes = of_block[kSharedBytes];
  plan.alignment = of_block[kAlignment];
  plan.summary = fmt::format(
      "a block makes {}x{} taps of {} by {} channels; {} slice{}; {:.1f} KiB shared", b.taps_h, b.taps_w,
      std::min(b.block_in, of_block[kGroupIn]), std::min(b.block_out, of_block[kGroupOut]), b.slices,
      b.slices == 1 ? "" : "s", static_cast<double>(plan.shared_bytes) / 1024.0);
  plan.reason = fmt::format(
      "tensor cores, values in two parts: products over positions of 64 rows of taps and channels x {} channels; {} "
      "stages of {}",
      b.block_in, b.stages,
      b.flat ? fmt::format("{} whole rows", b.tile_rows)
             : fmt::format("{}x{} positions", b.tile_rows, b.tile_columns));
  return plan;
}

/// What the template asks of a problem, whatever its sizes.
Result<void> check(const Problem& problem) {
  const Layer& layer = problem.layer;
  if (auto checked = check_tensor_cores(problem, kComputes); !checked) {
    return checked;
  }
  for (const auto& [name, channels] : {std::pair{"input", layer.in_channels / layer.groups},
                                       std::pair{"output", layer.out_channels / layer.groups}}) {
    if (layer.layout == Layout::kNhwc && channels % kPack != 0) {
      return fail(fmt::format("{} {} channels{}; with channels last it takes multiples of {}", channels, name,
                              layer.groups > 1 ? " of a group" : "", kPack));
    }
  }
  return check_numbers(layer);
}

Result<Facts> facts_of(const Problem& problem, const InputSizes& sizes, const ConstantProgram& program) {
  auto constants = BlockConstants<Block>::make(program, parameters_of(problem), kMembers, kConstants);
  if (!constants) {
    return std::unexpected(std::move(constants.error()));
  }
  Facts f{.layer = problem.layer,
          .target = problem.target,
          .constants = *std::move(constants),
          .rows = symmetric(problem.layer.axes[kHeight]),
          .columns = symmetric(problem.layer.axes[kWidth]),
          .batch = sizes.batch,
          .height = sizes.extents[kHeight],
          .width = sizes.extents[kWidth]};
  if (const auto shape = shape_of(problem.layer, sizes)) {
    f.memory_bytes = cost_of(problem, *shape).bytes;
  }
  return f;
}

}  // namespace

Result<std::vector<Plan>> plans_f32x3_grad_weight(const Problem& problem, const ConstantProgram& program) {
  if (auto checked = check(problem); !checked) {
    return std::unexpected(checked.error());
  }
  const Result<Facts> facts = facts_of(problem, planned_sizes(problem.layer), program);
  if (!facts) {
    return std::unexpected(facts.error());
  }
  std::vector<Plan> plans;
  for (const Candidate& candidate : candidates(*facts)) {
    const Block& b = candidate.block;
    const auto bounds = staged_bounds(problem.layer, b.tile_rows, b.tile_columns);
    if (facts->of(b)[kSliceBlocks] <= kIntMax / b.slices && check_bounds(problem.layer, bounds)) {
      plans.push_back(plan_of(problem, *facts, candidate));
    }
    if (plans.size() == kMostPlans) {
      break;
    }
  }
  if (plans.empty()) {
    return fail_shared_memory(problem.target, "two stages of one row of products", facts->of(Block())[kSharedBytes]);
  }
  return plans;
}

Result<std::vector<Plan>> plans_f32x3_grad_weight(const Problem& problem) {
  if (auto checked = check(problem); !checked) {  // before the program is read
    return std::unexpected(checked.error());
  }
  return plans_f32x3_grad_weight(problem, own_program());
}

LaunchPlan f32x3_grad_weight_launch(const Problem& problem, const Plan& plan) {
  constexpr std::array<std::string_view, 5> kNames = {"kWeights", "kSliceBlocks", "kScanTiles", "kScanSharedBytes",
                                                      "kScannedChannels"};
  const std::vector<std::int64_t> values = constants_of(own_program(), plan.parameters, kNames).value();
  LaunchPlan launch =
      grad_weight_launch(problem, plan,
                         {.function = "f32x3_grad_weight",
                          .blocks = values[1],
                          .weights = values[0],
                          .bounds = staged_bounds(problem.layer, integer_of(plan, "tile_rows"),
                                                  integer_of(plan, "tile_columns"))});
  const std::int64_t slices = integer_of(plan, "scan_slices");
  launch.kernels.insert(launch.kernels.begin(), {.function = "scan_channels",
                                                 .suffix = "_scan",
                                                 .shared_bytes = values[3],
                                                 .grid = {.blocks_per_tile = slices * values[2]}});
  launch.regions.push_back({.name = "maxima",
                            .what = "the largest magnitudes of channels, by slices of the positions",
                            .bytes = {.constant = slices * values[4] * 4}});
  return launch;
}

std::optional<double> f32x3_grad_weight_seconds(const Problem& problem, const Plan& plan, const InputSizes& sizes) {
  const Result<Facts> facts = facts_of(problem, sizes, own_program());
  return facts ? std::optional(predicted(*facts, block_of<Block>(plan, kMembers))) : std::nullopt;
}

}  // namespace convtgen
