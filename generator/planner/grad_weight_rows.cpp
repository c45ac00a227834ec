#include "generator/planner/grad_weight_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
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
#include "generator/planner/tensor_maps.h"

namespace convtgen {
namespace {

using namespace grad_weight;

constexpr std::array kComputes = {Compute::kTf32, Compute::kF16, Compute::kBf16};
constexpr std::int64_t kMostProducts = 96;       // of a warpgroup in a stage, which the compiler unrolls
constexpr std::int64_t kMostPositions = 256;     // of a stage
constexpr std::int64_t kMostRowPositions = 128;  // of a row of them
constexpr std::int64_t kMostColumns = 256;       // of a product
constexpr std::int64_t kMostBox = 256;           // elements of an axis that a tensor copy brings

constexpr std::array kOwnMembers = {Member{"rows_in_columns", &Block::rows_in_columns},
                                    Member{"swizzle", &Block::swizzle},
                                    Member{"producers", &Block::producers},
                                    Member{"input_copies", &Block::input_copies},
                                    Member{"window_copies", &Block::window_copies},
                                    Member{"promote_stages", &Block::promote_stages}};
constexpr auto kAllMembers = joined(kMembers, kOwnMembers);

/// The template's own constants that are wanted.
enum OwnConstant : std::size_t {
  kBytes = kOwnConstants,
  kBoxRows,
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
};
constexpr std::array<std::string_view, 12> kOwnNames = {
    "kBytes",        "kBoxRows",       "kInputBytes", "kWindowBytes", "kWindowPitch", "kWindowRows",
    "kInputBatches", "kWindowBatches", "kInputTurn",  "kWindowTurn",  "kInputLoads",  "kWindowLoads"};
constexpr auto kAllConstants = joined(kConstants, kOwnNames);

/// Tensor copies bring rows that are whole 16 bytes; a warpgroup brings others. Kernel rows are in the rows of the
/// products or in their columns.
std::vector<Block> warpgroups(const Facts& f, Block b) {
  const std::int64_t bytes = bytes_of(f.layer.dtype);
  b.input_copies = *f.columns.extent * bytes % 16 == 0;
  b.window_copies = output_extent(f.columns, *f.columns.extent) * bytes % 16 == 0;
  b.producers = b.input_copies && b.window_copies ? 32 : 128;
  const bool has_successive_rows = f.rows.stride == 1 && f.rows.dilation == 1;
  std::vector<Block> out;
  for (const bool in_columns : {false, true}) {
    if (in_columns && (!has_successive_rows || b.taps_h == 1 || b.taps_h * b.block_in > kMostColumns)) {
      break;
    }
    b.rows_in_columns = in_columns;
    for (const std::int64_t groups : {2, 3}) {
      b.consumer_groups = groups;
      out.push_back(b);
    }
  }
  return out;
}

/// Rows of all positions, of which a stage has tile_rows.
std::int64_t rows_of_positions(const Facts& f, const Block& b) {
  return b.rows_in_columns ? output_extent(f.rows, f.height) : f.height;
}

/// Whether a thread has registers for its accumulators, fragments and places. The assembler counts those that each
/// thread has when the block starts: 168 of up to 384 threads, 128 of up to 512. There products with 96 accumulators
/// were serialised.
bool fits_registers(const Facts& f, const Block& b) {
  Constants& of = f.of(b);
  const bool copies_alone = b.producers == 32;
  const std::int64_t most = b.consumer_groups == 2 ? (copies_alone ? 160 : 148) : (copies_alone ? 112 : 96);
  const std::int64_t place = f.layer.dtype == Dtype::kF32 ? 1 : 4;
  return of[kAccumulators] + (8 + place) * of[kOwnTiles] <= most && (b.consumer_groups == 2 || of[kAccumulators] <= 88);
}

std::int64_t tiles(const Facts& f, const Block& b) {
  return f.batch * ceil_div(rows_of_positions(f, b), b.tile_rows) * ceil_div(f.width, b.tile_columns);
}

double stage_cycles(const Facts& f, const Block& b) {
  Constants& of_block = f.of(b);
  const CostFactors& factors = f.target.factors;
  const auto number = [&](std::size_t name) { return static_cast<double>(of_block[name]); };
  const double steps = number(kKSteps);
  const double products = steps * number(kMTiles);
  const bool half = of_block[kBytes] == 2;
  // Lanes whose words are in the same bank when a warp loads fragments of rows with a stride.
  const double conflicts = std::clamp<double>(static_cast<double>(f.columns.stride), 1, 4);
  const double loads = (half ? 8 : 4) * conflicts;  // wavefronts of a warp's fragment
  const StageWork work = {
      .tensor_cycles = products * product_cycles(f.target, of_block[kColumns]),
      .shared_wavefronts = products * (4 * loads + number(kColumns) / 4) +
                           (number(kInputBytes) + number(kWindowBytes)) / f.target.sm.shared_bytes_per_cycle,
      .instructions = steps * number(kOwnTiles) * static_cast<double>(b.consumer_groups) *
                      (half ? factors.grad_weight_half_fragment : factors.grad_weight_fragment),
      .l2_bytes = number(kInputBytes) + number(kWindowBytes)};
  // Words that come through registers: each takes as long as a thread needs for it.
  const double batches = number(kInputBatches) + number(kWindowBatches);
  const double words = number(kInputBatches) * number(kInputTurn) * number(kInputLoads) +
                       number(kWindowBatches) * number(kWindowTurn) * number(kWindowLoads);
  const double brought = batches * factors.grad_weight_latency + words * factors.grad_weight_row_word;
  const double cycles = std::max(cycles_of(f.target, work), brought) + factors.grad_weight_stage;
  return batches > 0 ? factors.grad_weight_row_measured * cycles : cycles;
}

std::vector<Block> positions(const Facts& f, Block b) {
  std::vector<Block> out;
  const std::int64_t bytes = f.of(b)[kBytes];
  const std::int64_t all_rows = rows_of_positions(f, b);
  for (const std::int64_t swizzle : {128, 64, 32}) {
    const std::int64_t box = swizzle / bytes;
    for (std::int64_t boxes = 1; boxes * box <= kMostRowPositions && (boxes - 1) * box < f.width; ++boxes) {
      // A wider swizzle does as well where it divides the row.
      if (swizzle < 128 && boxes % 2 == 0) {
        continue;
      }
      for (std::int64_t rows = 1; rows * boxes * box <= kMostPositions && rows < 2 * all_rows; rows *= 2) {
        b.swizzle = swizzle;
        b.tile_columns = boxes * box;
        b.tile_rows = std::min(rows, all_rows);
        out.push_back(b);
      }
    }
  }
  return out;
}

bool fits_stage(const Facts& f, const Block& b) {
  Constants& of = f.of(b);
  return of[kKSteps] * of[kOwnTiles] <= kMostProducts && of[kWindowPitch] <= kMostBox && of[kWindowRows] <= kMostBox;
}

std::string why_none(const Facts& f, const Block& smallest) {
  return fmt::format("{} positions of a row reach {} columns of grad_y; at most {}, which a tensor copy brings",
                     smallest.tile_columns, f.of(smallest)[kWindowPitch], kMostBox);
}

std::string positions_text(const Block& b) {
  return fmt::format("{}x{} positions", b.tile_rows, b.tile_columns);
}

Result<void> check(const Problem& problem) {
  const Layer& layer = problem.layer;
  if (auto checked = check_tensor_cores(problem, kWarpgroups, kComputes); !checked) {
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

const ConstantProgram& own_program() {
  static const ConstantProgram program = ConstantProgram::read(programs::grad_weight_rows()).value();
  return program;
}

constexpr Traits kTraits = {.name = "grad_weight_rows",
                            .program = own_program,
                            .members = kAllMembers,
                            .constants = kAllConstants,
                            .smallest = {.producers = 32, .tile_columns = 16, .swizzle = 32},
                            .smallest_stages = "two stages of one row of products",
                            .most_stages = 8,
                            .check = check,
                            .warpgroups = warpgroups,
                            .positions = positions,
                            .fits_registers = fits_registers,
                            .fits_stage = fits_stage,
                            .why_none = why_none,
                            .tiles = tiles,
                            .stage_cycles = stage_cycles,
                            .positions_text = positions_text};

}  // namespace

Result<std::vector<Plan>> plans_grad_weight_rows(const Problem& problem, const ConstantProgram& program) {
  return plans(kTraits, problem, program);
}

Result<std::vector<Plan>> plans_grad_weight_rows(const Problem& problem) {
  return plans(kTraits, problem);
}

LaunchPlan grad_weight_rows_launch(const Problem& problem, const Plan& plan) {
  constexpr std::array<std::string_view, 3> kNames = {"kWindowPitch", "kWindowRows", "kBoxRows"};
  const std::vector<std::int64_t> values = constants_of(own_program(), plan.parameters, kNames).value();
  const Layer& layer = problem.layer;
  LaunchPlan out = launch(kTraits, problem, plan);
  const std::int64_t bytes = bytes_of(layer.dtype);
  const std::int64_t swizzle = integer_of(plan, "swizzle");
  const Axis columns = symmetric(layer.axes[kWidth]);
  // Elements of a row, channels, rows, images: the channels of a row follow one another in a box.
  const auto map = [&](std::string name, Role role, std::int64_t width, std::int64_t channels, Quantity height,
                       Quantity image, std::initializer_list<std::int64_t> box, std::int64_t swizzled) {
    MapRecipe recipe{.name = std::move(name), .role = role, .form = map_form(layer.dtype, box, swizzled)};
    recipe.sizes = {Amount{.constant = width}, Amount{.constant = channels}, Amount{.factor = 1, .per = height},
                    Amount{.factor = 1, .per = Quantity::kBatch}};
    recipe.pitches = {Amount{}, Amount{.factor = bytes, .per = image}, Amount{.constant = width * bytes},
                      Amount{.factor = channels * bytes, .per = image}};
    return recipe;
  };
  MapRecipe x = map("x_map", Role::kX, *columns.extent, layer.in_channels, Quantity::kInHeight, Quantity::kInImage,
                    {swizzle / bytes, integer_of(plan, "block_in"), values[2], 1}, swizzle);
  MapRecipe grad_y =
      map("grad_y_map", Role::kGradY, output_extent(columns, *columns.extent), layer.out_channels, Quantity::kOutHeight,
          Quantity::kOutImage, {values[0], integer_of(plan, "block_out"), values[1], 1}, 0);
  if (flag_of(plan, "input_copies")) {
    out.maps.push_back(std::move(x));
  }
  if (flag_of(plan, "window_copies")) {
    out.maps.push_back(std::move(grad_y));
  }
  return out;
}

std::optional<double> grad_weight_rows_seconds(const Problem& problem, const Plan& plan, const InputSizes& sizes) {
  return call_seconds(kTraits, problem, plan, sizes);
}

}  // namespace convtgen
