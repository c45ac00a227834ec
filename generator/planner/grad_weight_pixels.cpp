#include "generator/planner/grad_weight_pixels.h"

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

constexpr std::array kComputes = {Compute::kF16, Compute::kBf16};
constexpr std::int64_t kMostBlockIn = 256;        // columns of a product
constexpr std::int64_t kMostProducts = 96;        // of a warpgroup in a stage, which the compiler unrolls
constexpr std::int64_t kLeastStages = 3;
constexpr std::int64_t kIssueLag = 2;             // stages from a stage's last read to its next copies
constexpr std::int64_t kMostStages = 8;
constexpr std::int64_t kMostPositions = 256;      // of a stage
constexpr std::int64_t kMostBox = 256;            // elements of an axis that a tensor copy spans
constexpr std::int64_t kMostStep = 8;             // from an element to the next one that it brings
constexpr std::size_t kMostPlans = 8;

/// The block, as the template's parameters of the same names.
struct Block {
  bool operator==(const Block&) const = default;

  std::int64_t taps_h = 1, taps_w = 1;
  std::int64_t block_out = 16, block_in = 16;
  std::int64_t consumer_groups = 2;
  bool flat = false;
  std::int64_t tile_images = 1, tile_rows = 1, tile_columns = 16;
  std::int64_t stages = 3;
  std::int64_t slices = 1, promote_stages = 0;
};

constexpr std::array kMembers = {
    BlockMember{"taps_h", &Block::taps_h},
    BlockMember{"taps_w", &Block::taps_w},
    BlockMember{"block_out", &Block::block_out},
    BlockMember{"block_in", &Block::block_in},
    BlockMember{"consumer_groups", &Block::consumer_groups},
    BlockMember{"flat", &Block::flat},
    BlockMember{"tile_images", &Block::tile_images},
    BlockMember{"tile_rows", &Block::tile_rows},
    BlockMember{"tile_columns", &Block::tile_columns},
    BlockMember{"stages", &Block::stages},
    BlockMember{"slices", &Block::slices},
    BlockMember{"promote_stages", &Block::promote_stages},
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
  kInBoxes,
  kOutBoxes,
  kPlanes,
  kInputPitch,
  kInputRows,
  kInputPixels,
  kWindowPitch,
  kWindowRows,
  kPlanePixels,
  kCopiedBytes,
  kStoredColumns,
  kSharedBytes,
  kAccumulators,
  kTotals,
  kAlignment,
};
constexpr std::array<std::string_view, 27> kConstants = {
    "kThreads", "kInstructionK", "kGroupIn", "kGroupOut", "kWeights", "kSliceBlocks", "kHaloH", "kHaloW", "kRows",
    "kMTiles", "kOwnTiles", "kKSteps", "kInBoxes", "kOutBoxes", "kPlanes", "kInputPitch", "kInputRows",
    "kInputPixels", "kWindowPitch", "kWindowRows", "kPlanePixels", "kCopiedBytes", "kStoredColumns", "kSharedBytes",
    "kAccumulators", "kTotals", "kAlignment"};

struct Facts {
  const Layer& layer;
  const Target& target;
  mutable BlockConstants<Block> constants;  // a cache: holds the block at hand
  Axis rows = {}, columns = {};
  std::int64_t batch = 0, height = 0, width = 0;  // planned for
  double memory_bytes = 0;                        // that a call moves at the least

  [[nodiscard]] Constants& of(const Block& b) const { return constants.of(b); }
};

/// Whether a thread has registers for its accumulators, two steps' A fragments and its places: of 256 threads each has
/// 255, of 384 threads 168.
bool fits_registers(const Block& b, Constants& of_block) {
  const std::int64_t most = b.consumer_groups == 2 ? 220 : 124;
  return of_block[kAccumulators] + 9 * of_block[kOwnTiles] <= most;
}

/// Whether tensor copies bring the boxes of x and of a plane of grad_y: strides count in what they span.
bool fits_boxes(const Facts& f, Constants& of_block) {
  const auto span = [](std::int64_t size, std::int64_t step) { return (size - 1) * step + 1; };
  return of_block[kInputPitch] <= kMostBox && of_block[kInputRows] <= kMostBox &&
         span(of_block[kWindowPitch], f.columns.stride) <= kMostBox &&
         span(of_block[kWindowRows], f.rows.stride) <= kMostBox;
}

/// Stages of all positions.
std::int64_t tiles_of(const Facts& f, const Block& b) {
  return ceil_div(f.batch, b.tile_images) * ceil_div(f.height, b.tile_rows) *
         (b.flat ? 1 : ceil_div(f.width, b.tile_columns));
}

/// Cycles of a stage.
double stage_cycles(const Facts& f, const Block& b, Constants& of_block) {
  const CostFactors& factors = f.target.factors;
  const auto number = [&](Constant name) { return static_cast<double>(of_block[name]); };
  const double steps = number(kKSteps);
  const double products = steps * number(kMTiles);
  // Copies bring a position of a box at a time, however few channels it has.
  const double copied = number(kInBoxes) * number(kInputPixels) +
                        number(kPlanes) * number(kOutBoxes) * number(kPlanePixels);
  const StageWork work = {
      .tensor_cycles = products * product_cycles(f.target, b.block_in),
      // A product reads fragments of 64 rows, and block_in columns of 32 bytes.
      .shared_wavefronts = products * (16 + static_cast<double>(b.block_in) / 4) + copied,
      .instructions = steps * number(kOwnTiles) * static_cast<double>(b.consumer_groups) * factors.grad_weight_fragment,
      .l2_bytes = number(kCopiedBytes)};
  // A stage's copies have the time of the stages before it.
  const double latency = factors.grad_weight_latency / static_cast<double>(b.stages - kIssueLag);
  return std::max(cycles_of(f.target, work) + factors.grad_weight_stage, latency);
}

/// The time of a call, in seconds.
double predicted(const Facts& f, const Block& b) {
  const CostFactors& factors = f.target.factors;
  Constants& of_block = f.of(b);
  const auto number = [&](Constant name) { return static_cast<double>(of_block[name]); };
  const auto slices = static_cast<double>(b.slices);
  const double stages = static_cast<double>(ceil_div(tiles_of(f, b), b.slices));
  const double blocks = number(kSliceBlocks) * slices;
  const double outputs =
      number(kRows) * static_cast<double>(b.block_in) / (128 * static_cast<double>(b.consumer_groups));  // of a thread
  const double sum_bytes = b.slices > 1 ? 8 * slices * number(kWeights) : 0;  // written and read again
  return seconds_of(f.target,
                    {.launches = b.slices > 1 ? 2.0 : 1.0,
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
                            .stages = tiles_of(f, b),
                            .stage_positions = of_block[kKSteps] * of_block[kInstructionK],
                            .weights = of_block[kWeights],
                            .totals = of_block[kTotals],
                            .is_open = !f.layer.batch || !f.rows.extent || !f.columns.extent};
  Block best = b;
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

/// Stages of whole rows, of one image or more. Products of a row take its zeros too.
void add_flat_tiles(const Facts& f, Block b, std::vector<Block>& out) {
  b.flat = true;
  Constants& of_block = f.of(b);
  const std::int64_t k = of_block[kInstructionK];
  const std::int64_t halo_h = of_block[kHaloH];
  const std::int64_t pitch = f.width + of_block[kHaloW];
  const auto add = [&](std::int64_t images, std::int64_t rows, std::int64_t positions) {
    // Nothing but whole products, or nearly so.
    if (round_up(positions, k) * 10 <= 11 * positions || rows == f.height) {
      b.tile_images = images;
      b.tile_rows = rows;
      out.push_back(b);
    }
  };
  for (std::int64_t rows = 1; rows <= f.height && rows * pitch <= kMostPositions; ++rows) {
    add(1, rows, rows * pitch);
  }
  const std::int64_t image = (f.height + halo_h) * pitch;
  for (std::int64_t images = 2; f.rows.extent && images <= f.batch && images * image <= kMostPositions; ++images) {
    add(images, f.height, images * image);
  }
}

/// The positions of a stage that may suit a block's channels and taps.
std::vector<Block> with_tiles(const Facts& f, Block b) {
  std::vector<Block> out;
  const std::int64_t k = f.of(b)[kInstructionK];
  const std::int64_t whole = round_up(f.width, k);
  std::vector<std::int64_t> columns = {k, 2 * k, 4 * k, 8 * k, 12 * k, whole, round_up(ceil_div(f.width, 2), k)};
  std::ranges::sort(columns);
  columns.erase(std::ranges::unique(columns).begin(), columns.end());
  for (const std::int64_t column : columns) {
    for (std::int64_t rows = 1; rows * column <= kMostPositions && column <= whole && rows < 2 * f.height; rows *= 2) {
      b.tile_columns = column;
      b.tile_rows = std::min(rows, f.height);
      out.push_back(b);
    }
  }
  if (f.columns.extent) {
    b.tile_columns = k;
    add_flat_tiles(f, b, out);
  }
  return out;
}

std::vector<Candidate> candidates(const Facts& f) {
  std::vector<Candidate> out;
  Block b;
  const std::int64_t group_in = f.of(b)[kGroupIn], group_out = f.of(b)[kGroupOut];
  for (const auto& [taps_h, taps_w] : tap_rectangles(f.rows, f.columns)) {
    for (const std::int64_t block_out : even_parts(group_out, 16, 128)) {
      for (const std::int64_t block_in : even_parts(group_in, 16, kMostBlockIn)) {
        for (const std::int64_t groups : {2, 3}) {
          b = {};
          b.taps_h = taps_h;
          b.taps_w = taps_w;
          b.block_out = block_out;
          b.block_in = block_in;
          b.consumer_groups = groups;
          if (!fits_registers(b, f.of(b))) {
            continue;
          }
          Candidate best;
          for (Block tile : with_tiles(f, b)) {
            double seconds = 0;
            if (f.of(tile)[kKSteps] * f.of(tile)[kOwnTiles] <= kMostProducts && fits_boxes(f, f.of(tile)) &&
                choose_stages(f, tile)) {
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
  p.insert({{"type", std::int64_t{problem.layer.dtype == Dtype::kF16 ? 0 : 1}},
            {"store", std::int64_t{1}},
            {"bias_slices", problem.layer.bias ? bias_slices(problem) : 1}});
  return p;
}

Plan plan_of(const Problem& problem, const Facts& f, const Candidate& candidate) {
  const Block& b = candidate.block;
  Constants& of_block = f.of(b);
  Plan plan;
  plan.template_name = "grad_weight_pixels";
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
      b.block_in, b.stages,
      b.flat ? fmt::format("{} whole row{} of {} image{}", b.tile_rows, b.tile_rows == 1 ? "" : "s", b.tile_images,
                           b.tile_images == 1 ? "" : "s")
             : fmt::format("{}x{} positions", b.tile_rows, b.tile_columns),
      b.promote_stages > 0 ? fmt::format(", promoted every {}", b.promote_stages) : "");
  return plan;
}

/// What the template asks of a problem, whatever its sizes.
Result<void> check(const Problem& problem) {
  const Layer& layer = problem.layer;
  if (auto checked = check_tensor_cores(problem, kComputes); !checked) {
    return checked;
  }
  if (layer.layout != Layout::kNhwc) {
    return fail("NCHW; it takes channels last");
  }
  for (const auto& [name, channels] : {std::pair{"input", layer.in_channels / layer.groups},
                                       std::pair{"output", layer.out_channels / layer.groups}}) {
    if (channels % 8 != 0) {
      return fail(fmt::format("{} {} channels{}; tensor copies want whole 16 bytes, multiples of 8", channels, name,
                              layer.groups > 1 ? " of a group" : ""));
    }
  }
  for (const std::size_t axis : {kHeight, kWidth}) {
    if (const std::int64_t stride = symmetric(layer.axes[axis]).stride; stride > kMostStep) {
      return fail(fmt::format("stride {}; a tensor copy's elements are at most {} apart", stride, kMostStep));
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

/// The program of the template, read once in a process.
const ConstantProgram& own_program() {
  static const ConstantProgram program = ConstantProgram::read(programs::grad_weight_pixels()).value();
  return program;
}

}  // namespace

Result<std::vector<Plan>> plans_grad_weight_pixels(const Problem& problem, const ConstantProgram& program) {
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
    return fail_shared_memory(problem.target, "three stages of 16 positions", facts->of(Block())[kSharedBytes]);
  }
  return plans;
}

Result<std::vector<Plan>> plans_grad_weight_pixels(const Problem& problem) {
  if (auto checked = check(problem); !checked) {  // before the program is read
    return std::unexpected(checked.error());
  }
  return plans_grad_weight_pixels(problem, own_program());
}

LaunchPlan grad_weight_pixels_launch(const Problem& problem, const Plan& plan) {
  constexpr std::array<std::string_view, 9> kNames = {"kWeights",    "kSliceBlocks", "kTotals",
                                                      "kInBox",      "kOutBox",      "kInputPitch",
                                                      "kInputRows",  "kWindowPitch", "kWindowRows"};
  const std::vector<std::int64_t> values = constants_of(own_program(), plan.parameters, kNames).value();
  const Layer& layer = problem.layer;
  const std::int64_t totals =
      integer_of(plan, "promote_stages") > 0 ? integer_of(plan, "slices") * values[1] * values[2] * 4 : 0;
  LaunchPlan launch = grad_weight_launch(problem, plan,
                                         {.function = "grad_weight_pixels",
                                          .blocks = values[1],
                                          .weights = values[0],
                                          .totals_bytes = totals,
                                          .bounds = staged_bounds(layer, integer_of(plan, "tile_rows"),
                                                                  integer_of(plan, "tile_columns"))});
  const std::int64_t bytes = bytes_of(layer.dtype);
  // Channels, positions of a row, rows, images. Of grad_y the positions of a plane are a stride apart.
  const auto map = [&](std::string name, Role role, std::int64_t channels, Quantity width, Quantity height,
                       Quantity image, std::array<std::int64_t, 3> box, std::array<std::int64_t, 2> steps) {
    MapRecipe out{.name = std::move(name), .role = role};
    out.form.element = layer.dtype == Dtype::kF16 ? TensorMap::Element::kF16 : TensorMap::Element::kBf16;
    out.form.rank = 4;
    out.sizes = {Amount{.constant = channels}, Amount{.factor = 1, .per = width}, Amount{.factor = 1, .per = height},
                 Amount{.factor = 1, .per = Quantity::kBatch}};
    out.pitches = {Amount{}, Amount{.constant = channels * bytes}, Amount{.factor = channels * bytes, .per = width},
                   Amount{.factor = channels * bytes, .per = image}};
    const auto span = [](std::int64_t size, std::int64_t step) {
      return static_cast<std::uint32_t>((size - 1) * step + 1);
    };
    out.form.box = {static_cast<std::uint32_t>(box[0]), span(box[1], steps[0]), span(box[2], steps[1]),
                    static_cast<std::uint32_t>(integer_of(plan, "tile_images"))};
    out.form.steps = {1, static_cast<std::uint32_t>(steps[0]), static_cast<std::uint32_t>(steps[1]), 1, 1};
    out.form.swizzle = box[0] == 64   ? TensorMap::Swizzle::k128
                       : box[0] == 32 ? TensorMap::Swizzle::k64
                                      : TensorMap::Swizzle::k32;
    return out;
  };
  MapRecipe x = map("x_map", Role::kX, layer.in_channels, Quantity::kInWidth, Quantity::kInHeight, Quantity::kInImage,
                    {values[3], values[5], values[6]}, {1, 1});
  MapRecipe grad_y = map("grad_y_map", Role::kGradY, layer.out_channels, Quantity::kOutWidth, Quantity::kOutHeight,
                         Quantity::kOutImage, {values[4], values[7], values[8]},
                         {symmetric(layer.axes[kWidth]).stride, symmetric(layer.axes[kHeight]).stride});
  launch.maps = {std::move(x), std::move(grad_y)};
  return launch;
}

std::optional<double> grad_weight_pixels_seconds(const Problem& problem, const Plan& plan, const InputSizes& sizes) {
  const Result<Facts> facts = facts_of(problem, sizes, own_program());
  return facts ? std::optional(predicted(*facts, block_of<Block>(plan, kMembers))) : std::nullopt;
}

}  // namespace convtgen
