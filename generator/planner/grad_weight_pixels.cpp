#include "generator/planner/grad_weight_pixels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/cost.h"
#include "generator/planner/grad_weight_launch.h"
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

constexpr std::array kComputes = {Compute::kF16, Compute::kBf16};
constexpr std::int64_t kMostProducts = 96;    // of a warpgroup in a stage, which the compiler unrolls
constexpr std::int64_t kIssueLag = 2;         // stages from a stage's last read to its next copies
constexpr std::int64_t kMostPositions = 256;  // of a stage
constexpr std::int64_t kMostBox = 256;        // elements of an axis that a tensor copy spans
constexpr std::int64_t kMostStep = 8;         // from an element to the next one that it brings

constexpr std::array kOwnMembers = {Member{"flat", &Block::flat}, Member{"tile_images", &Block::tile_images},
                                    Member{"promote_stages", &Block::promote_stages}};
constexpr auto kAllMembers = joined(kMembers, kOwnMembers);

/// The template's own constants that are wanted.
enum OwnConstant : std::size_t {
  kInBoxes = kOwnConstants,
  kOutBoxes,
  kPlanes,
  kInputPitch,
  kInputRows,
  kInputPixels,
  kWindowPitch,
  kWindowRows,
  kPlanePixels,
  kCopiedBytes,
};
constexpr std::array<std::string_view, 10> kOwnNames = {"kInBoxes",     "kOutBoxes",    "kPlanes",      "kInputPitch",
                                                        "kInputRows",   "kInputPixels", "kWindowPitch", "kWindowRows",
                                                        "kPlanePixels", "kCopiedBytes"};
constexpr auto kAllConstants = joined(kConstants, kOwnNames);

std::vector<Block> warpgroups(const Facts&, Block b) {
  std::vector<Block> out;
  for (const std::int64_t groups : {2, 3}) {
    b.consumer_groups = groups;
    out.push_back(b);
  }
  return out;
}

/// Whether a thread has registers for its accumulators, two steps' A fragments and its places: of 256 threads each has
/// 255, of 384 threads 168.
bool fits_registers(const Facts& f, const Block& b) {
  Constants& of = f.of(b);
  return of[kAccumulators] + 9 * of[kOwnTiles] <= (b.consumer_groups == 2 ? 220 : 124);
}

/// Whether tensor copies bring the boxes of x and of a plane of grad_y: strides count in what they span.
bool fits_boxes(const Facts& f, Constants& of_block) {
  const auto span = [](std::int64_t size, std::int64_t step) { return (size - 1) * step + 1; };
  return of_block[kInputPitch] <= kMostBox && of_block[kInputRows] <= kMostBox &&
         span(of_block[kWindowPitch], f.columns.stride) <= kMostBox &&
         span(of_block[kWindowRows], f.rows.stride) <= kMostBox;
}

std::int64_t tiles(const Facts& f, const Block& b) {
  return ceil_div(f.batch, b.tile_images) * ceil_div(f.height, b.tile_rows) *
         (b.flat ? 1 : ceil_div(f.width, b.tile_columns));
}

double stage_cycles(const Facts& f, const Block& b) {
  Constants& of_block = f.of(b);
  const CostFactors& factors = f.target.factors;
  const auto number = [&](std::size_t name) { return static_cast<double>(of_block[name]); };
  const double steps = number(kKSteps);
  const double products = steps * number(kMTiles);
  // Copies bring a position of a box at a time, however few channels it has.
  const double copied =
      number(kInBoxes) * number(kInputPixels) + number(kPlanes) * number(kOutBoxes) * number(kPlanePixels);
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

std::vector<Block> positions(const Facts& f, Block b) {
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

bool fits_stage(const Facts& f, const Block& b) {
  Constants& of = f.of(b);
  return of[kKSteps] * of[kOwnTiles] <= kMostProducts && fits_boxes(f, of);
}

std::string positions_text(const Block& b) {
  return b.flat ? fmt::format("{} whole row{} of {} image{}", b.tile_rows, b.tile_rows == 1 ? "" : "s", b.tile_images,
                              b.tile_images == 1 ? "" : "s")
                : fmt::format("{}x{} positions", b.tile_rows, b.tile_columns);
}

/// Of x and grad_y with channels last, where their size is known. It is within 63 bits, as that of all tensors.
std::optional<std::array<std::int64_t, 2>> bytes_of_copies(const Layer& layer) {
  const Axis rows = symmetric(layer.axes[kHeight]);
  const Axis columns = symmetric(layer.axes[kWidth]);
  if (!layer.batch || !rows.extent || !columns.extent) {
    return std::nullopt;
  }
  const std::int64_t bytes = *layer.batch * bytes_of(layer.dtype);
  return std::array{
      bytes * layer.in_channels * *rows.extent * *columns.extent,
      bytes * layer.out_channels * output_extent(rows, *rows.extent) * output_extent(columns, *columns.extent)};
}

Result<void> check(const Problem& problem) {
  const Layer& layer = problem.layer;
  if (auto checked = check_tensor_cores(problem, kComputes); !checked) {
    return checked;
  }
  for (const auto& [name, channels] :
       {std::pair{"input", layer.in_channels / layer.groups}, std::pair{"output", layer.out_channels / layer.groups}}) {
    if (channels % 8 != 0) {
      return fail(fmt::format("{} {} channels{}; tensor copies want whole 16 bytes, multiples of 8", channels, name,
                              layer.groups > 1 ? " of a group" : ""));
    }
  }
  for (const std::size_t axis : {kHeight, kWidth}) {
    if (const std::int64_t stride = symmetric(layer.axes[axis]).stride; stride > kMostStep) {
      return fail(
          fmt::format("stride {}; at most {}, which the elements of a tensor copy are apart", stride, kMostStep));
    }
  }
  if (layer.layout != Layout::kNhwc) {
    const std::optional<std::array<std::int64_t, 2>> bytes = bytes_of_copies(layer);
    if (!bytes) {
      return fail("NCHW of a size that the layer leaves open; copies to channels last want to know it");
    }
    if ((*bytes)[0] + (*bytes)[1] == 0) {
      return fail("NCHW without an element to copy to channels last");
    }
    if ((*bytes)[0] + (*bytes)[1] > kMostPartialBytes) {
      return fail(fmt::format("NCHW, of which copies to channels last take {:.0f} MiB; at most {}",
                              static_cast<double>((*bytes)[0] + (*bytes)[1]) / (1 << 20), kMostPartialBytes >> 20));
    }
  }
  return check_numbers(layer);
}

/// Of the workspace.
std::int64_t copied_bytes(const Layer& layer) {
  const std::optional<std::array<std::int64_t, 2>> bytes = bytes_of_copies(layer);
  return layer.layout != Layout::kNhwc && bytes ? (*bytes)[0] + (*bytes)[1] : 0;
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
                            .warpgroups = warpgroups,
                            .positions = positions,
                            .fits_registers = fits_registers,
                            .fits_stage = fits_stage,
                            .tiles = tiles,
                            .stage_cycles = stage_cycles,
                            .positions_text = positions_text};

}  // namespace

Result<std::vector<Plan>> plans_grad_weight_pixels(const Problem& problem, const ConstantProgram& program) {
  return plans(kTraits, problem, program);
}

Result<std::vector<Plan>> plans_grad_weight_pixels(const Problem& problem) {
  return plans(kTraits, problem);
}

namespace {

/// A kernel before the products that copies x and grad_y to channels last, of which the maps are then.
void add_copies(const Problem& problem, const Plan& plan, LaunchPlan& out) {
  constexpr std::array<std::string_view, 4> kNames = {"kCopySide", "kCopySharedBytes", "kInputCopyColumns",
                                                      "kWindowCopyColumns"};
  const std::vector<std::int64_t> values = constants_of(own_program(), plan.parameters, kNames).value();
  const Layer& layer = problem.layer;
  const std::array<std::int64_t, 2> bytes = bytes_of_copies(layer).value();
  const auto tiles = [&](std::size_t of, std::int64_t channels) {
    return ceil_div(bytes[of] / (channels * bytes_of(layer.dtype)), values[0]);
  };
  out.kernels.insert(out.kernels.begin(), {.function = "to_channels_last",
                                           .suffix = "_copy",
                                           .shared_bytes = values[1],
                                           .grid = {.blocks_per_tile = tiles(0, layer.in_channels) * values[2] +
                                                                       tiles(1, layer.out_channels) * values[3]}});
  for (std::size_t i = 0; i < out.maps.size(); ++i) {
    out.maps[i].of_region = true;
    out.maps[i].region = out.regions.size();
    out.regions.push_back({.name = i == 0 ? "x_pixels" : "grad_y_pixels",
                           .what = i == 0 ? "x with channels last" : "grad_y with channels last",
                           .bytes = {.constant = bytes[i]}});
  }
}

}  // namespace

LaunchPlan grad_weight_pixels_launch(const Problem& problem, const Plan& plan) {
  constexpr std::array<std::string_view, 6> kNames = {"kInBox",     "kOutBox",      "kInputPitch",
                                                      "kInputRows", "kWindowPitch", "kWindowRows"};
  const std::vector<std::int64_t> values = constants_of(own_program(), plan.parameters, kNames).value();
  const Layer& layer = problem.layer;
  LaunchPlan out = launch(kTraits, problem, plan);
  const std::int64_t images = integer_of(plan, "tile_images");
  out.maps = {pixel_map(layer, Role::kX, {values[0], values[2], values[3], images}, {1, 1}),
              // The positions of a plane are a stride apart.
              pixel_map(layer, Role::kGradY, {values[1], values[4], values[5], images},
                        {symmetric(layer.axes[kWidth]).stride, symmetric(layer.axes[kHeight]).stride})};
  if (layer.layout != Layout::kNhwc) {
    add_copies(problem, plan, out);
  }
  return out;
}

std::optional<double> grad_weight_pixels_seconds(const Problem& problem, const Plan& plan, const InputSizes& sizes) {
  return call_seconds(kTraits, problem, plan, sizes);
}

}  // namespace convtgen
