#include "generator/planner/grad_weight_rows.h"

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

constexpr std::array kComputes = {Compute::kTf32, Compute::kF16, Compute::kBf16};
constexpr std::int64_t kMostBlockIn = 256;        // columns of a product
constexpr std::int64_t kMostProducts = 96;        // of a warpgroup in a stage, which the compiler unrolls
constexpr std::int64_t kLeastStages = 2;
constexpr std::int64_t kMostStages = 8;
constexpr std::int64_t kMostPositions = 256;      // of a stage
constexpr std::int64_t kMostRowPositions = 128;   // of a row of them
constexpr std::int64_t kMostBox = 256;            // elements of an axis that a tensor copy brings
constexpr std::size_t kMostPlans = 8;

/// The block, as the template's parameters of the same names.
struct Block {
  bool operator==(const Block&) const = default;

  std::int64_t taps_h = 1, taps_w = 1;
  std::int64_t block_out = 16, block_in = 8;
  std::int64_t consumer_groups = 2;
  std::int64_t tile_rows = 1, tile_columns = 64, swizzle = 128;
  std::int64_t stages = 2, producers = 32;
  bool input_copies = true, window_copies = true;
  std::int64_t slices = 1, promote_stages = 0;
};

constexpr std::array kMembers = {
    BlockMember{"taps_h", &Block::taps_h},
    BlockMember{"taps_w", &Block::taps_w},
    BlockMember{"block_out", &Block::block_out},
    BlockMember{"block_in", &Block::block_in},
    BlockMember{"consumer_groups", &Block::consumer_groups},
    BlockMember{"tile_rows", &Block::tile_rows},
    BlockMember{"tile_columns", &Block::tile_columns},
    BlockMember{"swizzle", &Block::swizzle},
    BlockMember{"stages", &Block::stages},
    BlockMember{"producers", &Block::producers},
    BlockMember{"input_copies", &Block::input_copies},
    BlockMember{"window_copies", &Block::window_copies},
    BlockMember{"slices", &Block::slices},
    BlockMember{"promote_stages", &Block::promote_stages},
};

/// The template's constants that are wanted, by their names there.
enum Constant : std::size_t {
  kThreads,
  kBytes,
  kInstructionK,
  kGroupIn,
  kGroupOut,
  kWeights,
  kSliceBlocks,
  kRows,
  kMTiles,
  kOwnTiles,
  kKSteps,
  kInputBytes,
  kWindowBytes,
  kWindowPitch,
  kWindowRows,
  kInputBatches,
  kWindowBatches,
  kInputTurn,
  kWindowTurn,
  kInputLoads,
  kWindowLoads,
  kStoredColumns,
  kSharedBytes,
  kAccumulators,
  kTotals,
  kAlignment,
};
constexpr std::array<std::string_view, 26> kConstants = {
    "kThreads",     "kBytes",       "kInstructionK",  "kGroupIn",     "kGroupOut",     "kWeights", "kSliceBlocks",
    "kRows",        "kMTiles",      "kOwnTiles",      "kKSteps",      "kInputBytes",   "kWindowBytes",
    "kWindowPitch", "kWindowRows", "kInputBatches", "kWindowBatches", "kInputTurn", "kWindowTurn", "kInputLoads", "kWindowLoads", "kStoredColumns", "kSharedBytes", "kAccumulators", "kTotals",  "kAlignment"};

struct Facts {
  const Layer& layer;
  const Target& target;
  mutable BlockConstants<Block> constants;  // a cache: holds the block at hand
  Axis rows = {}, columns = {};
  std::int64_t batch = 0, height = 0, width = 0;  // planned for
  double memory_bytes = 0;                        // that a call moves at the least
  bool input_copies = false, window_copies = false;  // whether rows of x, and of grad_y, are whole 16 bytes

  [[nodiscard]] Constants& of(const Block& b) const { return constants.of(b); }
  [[nodiscard]] bool channels_last() const { return layer.layout == Layout::kNhwc; }
};

/// Whether a thread has registers for its accumulators, two steps' A fragments and its places. The assembler counts those
/// that each thread has when the block starts: 168 of up to 384 threads, 128 of up to 512.
bool fits_registers(const Facts& f, const Block& b, Constants& of_block) {
  const bool copies_alone = b.producers == 32;
  const std::int64_t most = b.consumer_groups == 2 ? (copies_alone ? 160 : 148) : (copies_alone ? 112 : 96);
  const std::int64_t place = f.layer.dtype == Dtype::kF32 ? 1 : 4;
  return of_block[kAccumulators] + (8 + place) * of_block[kOwnTiles] <= most;
}

/// Stages of all positions.
std::int64_t tiles_of(const Facts& f, const Block& b, Constants&) {
  return f.batch * ceil_div(f.height, b.tile_rows) * ceil_div(f.width, b.tile_columns);
}

/// Cycles of a stage.
double stage_cycles(const Facts& f, const Block& b, Constants& of_block) {
  const CostFactors& factors = f.target.factors;
  const auto number = [&](Constant name) { return static_cast<double>(of_block[name]); };
  const double steps = number(kKSteps);
  const double products = steps * number(kMTiles);
  const bool half = of_block[kBytes] == 2;
  // Lanes whose words are in the same bank when a warp loads fragments of rows with a stride.
  const double conflicts = std::clamp<double>(static_cast<double>(f.columns.stride), 1, 4);
  const double loads = (half ? 8 : 4) * conflicts;  // wavefronts of a warp's fragment
  const StageWork work = {
      .tensor_cycles = products * product_cycles(f.target, b.block_in),
      .shared_wavefronts = products * (4 * loads + static_cast<double>(b.block_in) / 4) +
                           (number(kInputBytes) + number(kWindowBytes)) / f.target.sm.shared_bytes_per_cycle,
      .instructions = steps * number(kOwnTiles) * static_cast<double>(b.consumer_groups) *
                      (half ? factors.grad_weight_half_fragment : factors.grad_weight_fragment),
      .l2_bytes = number(kInputBytes) + number(kWindowBytes)};
  // Words that come through registers: each takes as long as a thread needs for it.
  const double batches = number(kInputBatches) + number(kWindowBatches);
  const double words = number(kInputBatches) * number(kInputTurn) * number(kInputLoads) +
                       number(kWindowBatches) * number(kWindowTurn) * number(kWindowLoads);
  const double brought = batches * factors.grad_weight_latency + words * factors.grad_weight_row_word;
  return std::max(cycles_of(f.target, work), brought) + factors.grad_weight_stage;
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
  return seconds_of(f.target,
                    {.launches = b.slices > 1 ? 2.0 : 1.0,
                     .waves = static_cast<double>(ceil_div(static_cast<std::int64_t>(blocks), f.target.multiprocessors)),
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
                            .totals = of_block[kTotals],
                            .is_open = !f.layer.batch || !f.rows.extent || !f.columns.extent};
  Block best(b);
  seconds = 0;
  for (const Slices& choice : slice_choices(facts)) {
    Block next = b;
    next.slices = choice.slices;
    next.promote_stages = choice.promote_stages;
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
  const std::int64_t bytes = f.of(b)[kBytes];
  for (const std::int64_t swizzle : {128, 64, 32}) {
    const std::int64_t box = swizzle / bytes;
    for (std::int64_t boxes = 1; boxes * box <= kMostRowPositions && (boxes - 1) * box < f.width; ++boxes) {
      // A wider swizzle does as well where it divides the row.
      if (swizzle < 128 && boxes % 2 == 0) {
        continue;
      }
      for (std::int64_t rows = 1; rows * boxes * box <= kMostPositions && rows < 2 * f.height; rows *= 2) {
        b.swizzle = swizzle;
        b.tile_columns = boxes * box;
        b.tile_rows = std::min(rows, f.height);
        out.push_back(b);
      }
    }
  }
  return out;
}

std::vector<Candidate> candidates(const Facts& f) {
  std::vector<Candidate> out;
  Block b = {};
  const std::int64_t group_in = f.of(b)[kGroupIn], group_out = f.of(b)[kGroupOut];
  for (const auto& [taps_h, taps_w] : tap_rectangles(f.rows, f.columns)) {
    for (const std::int64_t block_out : even_parts(group_out, 16, 128)) {
      for (const std::int64_t block_in : even_parts(group_in, 8, kMostBlockIn)) {
        for (const std::int64_t groups : {2, 3}) {
          b = Block();
          b.taps_h = taps_h;
          b.taps_w = taps_w;
          b.block_out = block_out;
          b.block_in = block_in;
          b.consumer_groups = groups;
          b.input_copies = f.input_copies;
          b.window_copies = f.window_copies;
          b.producers = b.input_copies && b.window_copies ? 32 : 128;
          if (!fits_registers(f, b, f.of(b))) {
            continue;
          }
          Candidate best;
          for (Block tile : with_tiles(f, b)) {
            double seconds = 0;
            if (f.of(tile)[kKSteps] * f.of(tile)[kOwnTiles] <= kMostProducts && f.of(tile)[kWindowPitch] <= kMostBox &&
                f.of(tile)[kWindowRows] <= kMostBox && choose_stages(f, tile)) {
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
  p.insert({{"type", std::int64_t{problem.layer.dtype == Dtype::kF16    ? 0
                                  : problem.layer.dtype == Dtype::kBf16 ? 1
                                                                        : 2}},
            {"store", std::int64_t{1}},
            {"bias_slices", problem.layer.bias ? bias_slices(problem) : 1}});
  return p;
}

Plan plan_of(const Problem& problem, const Facts& f, const Candidate& candidate) {
  const Block& b = candidate.block;
  Constants& of_block = f.of(b);
  Plan plan;
  plan.template_name = "grad_weight_rows";
  plan.predicted_seconds = candidate.seconds;
  plan.parameters = parameters_of(problem);
  add_block<Block>(plan.parameters, b, kMembers);
  plan.threads = static_cast<int>(of_block[kThreads]);
  plan.shared_bytes = of_block[kSharedBytes];
  plan.alignment = of_block[kAlignment];
  plan.summary = fmt::format(
      "a block makes {}x{} taps of {} by {} channels; {} slice{}; {:.1f} KiB shared", b.taps_h, b.taps_w,
      std::min(b.block_in, of_block[kGroupIn]), std::min(b.block_out, of_block[kGroupOut]), b.slices,
      b.slices == 1 ? "" : "s", static_cast<double>(plan.shared_bytes) / 1024.0);
  plan.reason = fmt::format(
      "tensor cores: products over positions of 64 rows of taps and channels x {} channels; {} stages of {}{}",
      b.block_in, b.stages, fmt::format("{}x{} positions", b.tile_rows, b.tile_columns),
      
      b.promote_stages > 0 ? fmt::format(", promoted every {}", b.promote_stages) : "");
  return plan;
}

/// What the template asks of a problem, whatever its sizes.
Result<void> check(const Problem& problem) {
  const Layer& layer = problem.layer;
  if (auto checked = check_tensor_cores(problem, kComputes); !checked) {
    return checked;
  }
  if (layer.layout != Layout::kNchw) {
    return fail("channels last; it takes NCHW");
  }
  const Axis columns = symmetric(layer.axes[kWidth]);
  if (!columns.extent) {
    return fail("an open width; it takes rows of a known size");
  }
  for (const auto& [name, width] :
       {std::pair{"width", *columns.extent}, std::pair{"output width", output_extent(columns, *columns.extent)}}) {
    if (width * bytes_of(layer.dtype) % 4 != 0) {
      return fail(fmt::format("{} {}; it takes rows of whole words, of even widths", name, width));
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
  const std::int64_t bytes = bytes_of(problem.layer.dtype);
  f.input_copies = *f.columns.extent * bytes % 16 == 0;
  f.window_copies = output_extent(f.columns, *f.columns.extent) * bytes % 16 == 0;
  if (const auto shape = shape_of(problem.layer, sizes)) {
    f.memory_bytes = cost_of(problem, *shape).bytes;
  }
  return f;
}

/// The program of the template, read once in a process.
const ConstantProgram& own_program() {
  static const ConstantProgram program = ConstantProgram::read(programs::grad_weight_rows()).value();
  return program;
}

}  // namespace

Result<std::vector<Plan>> plans_grad_weight_rows(const Problem& problem, const ConstantProgram& program) {
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

Result<std::vector<Plan>> plans_grad_weight_rows(const Problem& problem) {
  if (auto checked = check(problem); !checked) {  // before the program is read
    return std::unexpected(checked.error());
  }
  return plans_grad_weight_rows(problem, own_program());
}

LaunchPlan grad_weight_rows_launch(const Problem& problem, const Plan& plan) {
  constexpr std::array<std::string_view, 5> kNames = {"kWeights", "kSliceBlocks", "kTotals", "kWindowPitch",
                                                      "kWindowRows"};
  const std::vector<std::int64_t> values = constants_of(own_program(), plan.parameters, kNames).value();
  const Layer& layer = problem.layer;
  const std::int64_t totals =
      integer_of(plan, "promote_stages") > 0 ? integer_of(plan, "slices") * values[1] * values[2] * 4 : 0;
  LaunchPlan launch = grad_weight_launch(problem, plan,
                                         {.function = "grad_weight_rows",
                                          .blocks = values[1],
                                          .weights = values[0],
                                          .totals_bytes = totals,
                                          .bounds = staged_bounds(layer, integer_of(plan, "tile_rows"),
                                                                  integer_of(plan, "tile_columns"))});
  const std::int64_t bytes = bytes_of(layer.dtype);
  const std::int64_t swizzle = integer_of(plan, "swizzle");
  const Axis columns = symmetric(layer.axes[kWidth]);
  // Elements of a row, channels, rows, images: the channels of a row follow one another in a box.
  const auto map = [&](std::string name, Role role, std::int64_t width, std::int64_t channels, Quantity height,
                       Quantity image) {
    MapRecipe out{.name = std::move(name), .role = role};
    out.form.element = layer.dtype == Dtype::kF16    ? TensorMap::Element::kF16
                       : layer.dtype == Dtype::kBf16 ? TensorMap::Element::kBf16
                                                     : TensorMap::Element::kTf32;
    out.form.rank = 4;
    out.sizes = {Amount{.constant = width}, Amount{.constant = channels}, Amount{.factor = 1, .per = height},
                 Amount{.factor = 1, .per = Quantity::kBatch}};
    out.pitches = {Amount{}, Amount{.factor = bytes, .per = image}, Amount{.constant = width * bytes},
                   Amount{.factor = channels * bytes, .per = image}};
    return out;
  };
  MapRecipe x = map("x_map", Role::kX, *columns.extent, layer.in_channels, Quantity::kInHeight, Quantity::kInImage);
  x.form.box = {static_cast<std::uint32_t>(swizzle / bytes), static_cast<std::uint32_t>(integer_of(plan, "block_in")),
                static_cast<std::uint32_t>(integer_of(plan, "tile_rows")), 1};
  x.form.swizzle = swizzle == 128  ? TensorMap::Swizzle::k128
                   : swizzle == 64 ? TensorMap::Swizzle::k64
                                   : TensorMap::Swizzle::k32;
  MapRecipe grad_y = map("grad_y_map", Role::kGradY, output_extent(columns, *columns.extent), layer.out_channels,
                         Quantity::kOutHeight, Quantity::kOutImage);
  grad_y.form.box = {static_cast<std::uint32_t>(values[3]), static_cast<std::uint32_t>(integer_of(plan, "block_out")),
                     static_cast<std::uint32_t>(values[4]), 1};
  if (flag_of(plan, "input_copies")) {
    launch.maps.push_back(std::move(x));
  }
  if (flag_of(plan, "window_copies")) {
    launch.maps.push_back(std::move(grad_y));
  }
  return launch;
}

std::optional<double> grad_weight_rows_seconds(const Problem& problem, const Plan& plan, const InputSizes& sizes) {
  const Result<Facts> facts = facts_of(problem, sizes, own_program());
  return facts ? std::optional(predicted(*facts, block_of<Block>(plan, kMembers))) : std::nullopt;
}

}  // namespace convtgen
