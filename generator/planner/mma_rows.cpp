#include "generator/planner/mma_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "convtgen_template_programs_embedded.h"
#include "generator/layer/phases.h"
#include "generator/planner/block_constants.h"
#include "generator/planner/cost.h"
#include "generator/planner/gemm_block.h"
#include "generator/planner/integers.h"
#include "generator/planner/scalar.h"
#include "generator/planner/tensor_cores.h"

namespace convtgen {
namespace {

constexpr std::array kComputes = {Compute::kF16, Compute::kBf16};
constexpr Features kNeeds = {Feature::kLdmatrix, Feature::kMmaF16, Feature::kMmaBf16, Feature::kPackedConvert,
                             Feature::kCpAsync};
constexpr std::int64_t kUnit = 8;                                      // channels, of input and output
constexpr std::int64_t kSector = 16;                                   // channels of 32 bytes of memory
constexpr std::int64_t kLine = 64;                                     // the same of 128
constexpr std::int64_t kPositions = 16;                                // of a product
constexpr std::int64_t kMostAccumulators = 96;                         // of a thread
constexpr std::int64_t kMostProducts = 4;                              // that are accumulated together
constexpr std::int64_t kMostStride = 64;                               // along columns: phases that are written out
constexpr std::int64_t kMostColumns = 128;                             // of the kernel: products that are written out
constexpr std::int64_t kMostThreadsOfSm = 1536, kMostBlocksOfSm = 16;  // that are asked for
constexpr double kMostArithmetic = 4;                                  // times the memory's time
constexpr double kProductRate = 8;                                     // of mma.sync, times the rate of fp32 FMA

/// The block, as the template's parameters of the same names.
struct Block {
  bool operator==(const Block&) const = default;

  std::int64_t warps = 4;
  std::int64_t tile_rows = 1, column_tiles = 1, tile_channels = 8;
  std::int64_t products = 1;
  std::int64_t blocks_per_sm = 1;
};
using Member = BlockMember<Block>;
constexpr std::array kMembers = {
    Member{"warps", &Block::warps},
    Member{"tile_rows", &Block::tile_rows},
    Member{"column_tiles", &Block::column_tiles},
    Member{"tile_channels", &Block::tile_channels},
    Member{"products", &Block::products},
    Member{"blocks_per_sm", &Block::blocks_per_sm},
};

/// The template's constants that are asked for.
enum Constant : std::size_t {
  kThreads,
  kTileColumns,
  kChannelTiles,
  kInputUnits,
  kPixels,
  kSteps,
  kTileProducts,
  kVectors,
  kSharedBytes,
  kAlignment,
  kConstantCount,
};
constexpr std::array<std::string_view, kConstantCount> kConstants = {
    "kThreads", "kTileColumns",  "kChannelTiles", "kInputUnits",  "kPixels",
    "kSteps",   "kTileProducts", "kVectors",      "kSharedBytes", "kAlignment"};

/// What the choice depends on.
struct Facts {
  const Layer& layer;
  const PlannedTarget& target;
  Axis rows, columns;
  InputSizes sizes;  // that times are predicted for
  Shape shape;       // of a call of these
  Cost cost;
  std::int64_t group_in = 0, group_out = 0;
  std::int64_t row_phases = 1;              // that have taps
  std::int64_t phases = 1;                  // of a row that have taps
  std::int64_t offsets = 1;                 // at which the taps of a row read
  mutable BlockConstants<Block> constants;  // a cache: holds the block at hand

  [[nodiscard]] Constants& of(const Block& b) const { return constants.of(b); }
  /// ceil(output / stride).
  [[nodiscard]] std::int64_t positions(std::size_t axis) const {
    return std::max<std::int64_t>(1, ceil_div(shape.out[axis], layer.axes[axis].stride));
  }
};

Result<Facts> facts_of(const Problem& problem, const InputSizes& sizes, const ConstantProgram& program) {
  const Layer& layer = problem.layer;
  auto constants =
      BlockConstants<Block>::make(program, scalar_parameters(layer, Direction::kForward), kMembers, kConstants);
  if (!constants) {
    return std::unexpected(std::move(constants.error()));
  }
  const auto shape = shape_of(layer, sizes);
  if (!shape) {
    return std::unexpected(shape.error());
  }
  Facts f{.layer = layer,
          .target = problem.target,
          .rows = symmetric(layer.axes[kHeight]),
          .columns = symmetric(layer.axes[kWidth]),
          .sizes = sizes,
          .shape = *shape,
          .cost = cost_of(problem, *shape),
          .group_in = layer.in_channels / layer.groups,
          .group_out = layer.out_channels / layer.groups,
          .constants = *std::move(constants)};
  std::set<std::int64_t> row_phases, phases, offsets;
  for (std::int64_t k = 0; k < f.rows.kernel; ++k) {
    row_phases.insert(phase_of_tap(f.rows, k));
  }
  for (std::int64_t k = 0; k < f.columns.kernel; ++k) {
    phases.insert(phase_of_tap(f.columns, k));
    offsets.insert(offset_of_tap(f.columns, k));
  }
  f.row_phases = std::ssize(row_phases);
  f.phases = std::ssize(phases);
  f.offsets = std::ssize(offsets);
  return f;
}

/// Cycles of the chip's SMs, one after the other, of all blocks of a call.
double sm_cycles(const Facts& f, const Block& b) {
  const CostFactors& factors = f.target.factors;
  Constants& of_block = f.of(b);
  // Of a warp, for 16 positions of all row phases: instructions, and wavefronts of shared memory.
  const auto products = static_cast<double>(f.rows.kernel * of_block[kSteps] * of_block[kTileProducts]);
  const double loads = static_cast<double>(f.rows.kernel * f.offsets * ceil_div(f.group_in, 2 * kUnit) *
                                           of_block[kTileProducts] / b.products);
  const double stored = static_cast<double>(f.rows.stride * f.columns.stride * kPositions * of_block[kVectors]) / 32;
  const double exchanged =
      static_cast<double>(std::min(f.rows.kernel, f.rows.stride) * f.phases * 2 * of_block[kTileProducts]);
  const double instructions = factors.mma_rows_product * products + 4 * loads + factors.mma_rows_stored * stored +
                              factors.mma_rows_exchanged * exchanged;
  const double wavefronts = 2 * products + 4 * loads + 4 * stored + exchanged;
  const double items = static_cast<double>(b.tile_rows * b.column_tiles);
  const double warps = static_cast<double>(b.warps * b.blocks_per_sm);
  const double work = items * (1 + factors.mma_rows_wait / warps) * std::max(instructions / 4, wavefronts);
  // Other blocks' work hides what a block waits for when it stages.
  const double staged =
      (static_cast<double>(of_block[kPixels] * of_block[kInputUnits]) * factors.mma_rows_staged +
       static_cast<double>(f.group_in * tap_count(f.layer) * b.tile_channels) * factors.mma_rows_weight) /
      128;
  const std::int64_t blocks = f.sizes.batch * ceil_div(f.positions(kHeight), b.tile_rows) *
                              ceil_div(f.positions(kWidth), of_block[kTileColumns]) * of_block[kChannelTiles];
  const std::int64_t at_once = f.target.multiprocessors * b.blocks_per_sm;
  // The last blocks take as long as all, unless there are so many that others end before.
  const std::int64_t whole = blocks > 4 * at_once ? blocks + at_once / 10 : ceil_div(blocks, at_once) * at_once;
  return static_cast<double>(whole) * (work + staged * (1 + 1.0 / static_cast<double>(b.blocks_per_sm)));
}

double predicted_seconds(const Facts& f, const Block& b) {
  // An SM issues 128 multiply-adds a cycle.
  const double work = 256 * sm_cycles(f, b) / f.target.f32_flops;
  const bool has_part_lines = b.tile_channels < f.layer.out_channels && b.tile_channels % kLine != 0;
  const double memory =
      (has_part_lines ? f.target.factors.mma_rows_part_lines : 1) * f.cost.bytes / f.target.bytes_per_second;
  return f.target.launch_seconds + std::max(work, memory) + f.target.factors.hidden_less * std::min(work, memory);
}

/// Registers of a thread and blocks of an SM.
void choose_blocks(const Facts& f, Block& b) {
  constexpr std::int64_t kOthers = 52;  // registers beside accumulators
  const std::int64_t registers = ceil_div(f.phases * b.products * 4 + kOthers, 8) * 8;
  const std::int64_t threads = f.of(b)[kThreads];
  const std::int64_t by_registers = 65536 / (registers * threads);
  const std::int64_t by_shared = f.target.shared_bytes_per_sm / (f.of(b)[kSharedBytes] + 1024);
  b.blocks_per_sm =
      std::max<std::int64_t>(1, std::min({by_registers, by_shared, kMostThreadsOfSm / threads, kMostBlocksOfSm}));
}

/// Channels of a tile: all, or as many as fill some lines of memory, in whole groups or even parts of one. A pixel's
/// part is whole sectors of 32 bytes.
std::set<std::int64_t> channel_choices(const Facts& f) {
  std::set<std::int64_t> choices = {f.layer.out_channels};
  for (const std::int64_t most : {2 * kLine, kLine, kLine / 2}) {
    std::int64_t best = 0;
    for (std::int64_t channels = kSector; channels <= std::min(most, f.layer.out_channels); channels += kSector) {
      const bool is_part = f.group_out % channels == 0;
      const bool is_whole = channels % f.group_out == 0 && f.layer.out_channels % channels == 0;
      best = is_part || is_whole ? channels : best;
    }
    if (best > 0) {
      choices.insert(best);
    }
  }
  return choices;
}

/// Products that are accumulated together: of one group, as many as a thread's accumulators allow.
std::int64_t products_of(const Facts& f, std::int64_t tile_channels) {
  const std::int64_t of_group = std::min(tile_channels, f.group_out) / kUnit;
  std::int64_t products = kMostProducts;
  while (products > 1 && (of_group % products != 0 || f.phases * products * 4 > kMostAccumulators)) {
    --products;
  }
  return products;
}

/// The blocks that fit, and the least shared memory of those that don't.
std::vector<Block> blocks(const Facts& f, std::int64_t& least_bytes) {
  const std::int64_t most_column_tiles = f.positions(kHeight) == 1 ? 64 : 8;
  const std::int64_t across = power_of_two_at_least(ceil_div(f.positions(kWidth), kPositions));
  std::vector<Block> out;
  for (const std::int64_t channels : channel_choices(f)) {
    for (const std::int64_t warps : {8, 4, 2, 1}) {
      for (std::int64_t tiles = std::min(across, most_column_tiles); tiles >= 1; tiles /= 2) {
        for (const std::int64_t of_warp : {1, 2, 4, 8}) {
          Block b{.warps = warps,
                  .tile_rows = of_warp * warps / tiles,
                  .column_tiles = tiles,
                  .tile_channels = channels,
                  .products = products_of(f, channels)};
          // Each warp has work, and less than half of a tile lies beyond the image.
          if (of_warp * warps % tiles != 0 || b.tile_rows >= 2 * f.positions(kHeight)) {
            continue;
          }
          const std::int64_t bytes = f.of(b)[kSharedBytes];
          least_bytes = std::min(least_bytes, bytes);
          if (bytes <= f.target.max_shared_bytes) {
            choose_blocks(f, b);
            out.push_back(b);
          }
        }
      }
      // Fewer warps only where more don't fit.
      if (warps <= 4 && !out.empty()) {
        break;
      }
    }
  }
  return out;
}

Plan plan_of(const Problem& problem, const Facts& f, const Block& b, double seconds) {
  Constants& of_block = f.of(b);
  Plan plan;
  plan.template_name = "mma_rows";
  plan.predicted_seconds = seconds;
  plan.parameters = scalar_parameters(problem.layer, Direction::kForward);
  add_block<Block>(plan.parameters, b, kMembers);
  plan.threads = static_cast<int>(of_block[kThreads]);
  plan.shared_bytes = of_block[kSharedBytes];
  plan.alignment = of_block[kAlignment];
  plan.summary = fmt::format("a block makes {}x{} outputs of {} channels; {} taps; {:.1f} KiB shared",
                             b.tile_rows * f.rows.stride, of_block[kTileColumns] * f.columns.stride, b.tile_channels,
                             tap_count(f.layer), static_cast<double>(plan.shared_bytes) / 1024.0);
  plan.reason = fmt::format(
      "memory's time: a tile has all {} input channels of a group; a warp makes products of 16 positions by {} "
      "channels "
      "in {} phases, and stores whole vectors of {} channels through shared memory",
      f.group_in, b.products * kUnit, f.phases, b.tile_channels);
  return plan;
}

Result<void> check(const Problem& problem) {
  const Layer& layer = problem.layer;
  if (auto checked = check_tensor_cores(problem, kNeeds, kComputes); !checked) {
    return checked;
  }
  if (layer.layout != Layout::kNhwc) {
    return fail("layout nchw; it takes nhwc, whose channels of a pixel are vectors");
  }
  for (const auto& [name, channels] :
       {std::pair{"input", layer.in_channels}, std::pair{"output", layer.out_channels}}) {
    if (channels / layer.groups % kUnit != 0) {
      return fail(
          fmt::format("groups of {} {} channels; products take multiples of {}", channels / layer.groups, name, kUnit));
    }
  }
  if (auto checked = check_numbers(layer); !checked) {
    return checked;
  }
  if (const std::int64_t stride = layer.axes[kWidth].stride; stride > kMostStride) {
    return fail(
        fmt::format("stride {} along columns; at most {}, the phases that are written out", stride, kMostStride));
  }
  if (const std::int64_t kernel = layer.axes[kWidth].kernel; kernel > kMostColumns) {
    return fail(fmt::format("{} kernel columns; at most {}, which are written out", kernel, kMostColumns));
  }
  return {};
}

const ConstantProgram& own_program() {
  static const ConstantProgram program = ConstantProgram::read(programs::mma_rows()).value();
  return program;
}

}  // namespace

Result<std::vector<Plan>> plans_mma_rows(const Problem& problem, const ConstantProgram& program) {
  if (auto checked = check(problem); !checked) {
    return std::unexpected(checked.error());
  }
  const Result<Facts> facts = facts_of(problem, planned_sizes(problem.layer), program);
  if (!facts) {
    return std::unexpected(facts.error());
  }
  if (4 * facts->phases > kMostAccumulators) {
    return fail(fmt::format("{} column phases with taps; at most {}, of which a thread holds the accumulators",
                            facts->phases, kMostAccumulators / 4));
  }
  const double arithmetic = facts->cost.flops / (kProductRate * problem.target.f32_flops);
  const double memory = facts->cost.bytes / problem.target.bytes_per_second;
  if (arithmetic > kMostArithmetic * memory) {
    return fail(
        fmt::format("products take {:.1f} times as long as the memory; it takes up to {}, since it speeds up "
                    "stores alone",
                    arithmetic / memory, kMostArithmetic));
  }
  std::int64_t least_bytes = std::numeric_limits<std::int64_t>::max();
  const std::vector<Block> all = blocks(*facts, least_bytes);
  if (all.empty()) {
    return fail_shared_memory(
        problem.target,
        fmt::format("{} input channels and {} taps of a tile", facts->group_in, tap_count(problem.layer)), least_bytes);
  }
  for (const Block& b : all) {
    Constants& c = facts->of(b);
    if (auto checked = check_staged_grid(problem.layer, b.tile_rows, c[kTileColumns], c[kChannelTiles]); !checked) {
      return std::unexpected(checked.error());
    }
  }
  return gemm::fastest_plans(
      all, [&](const Block& block) { return predicted_seconds(*facts, block); },
      [&](const Block& block, double seconds) { return plan_of(problem, *facts, block, seconds); });
}

Result<std::vector<Plan>> plans_mma_rows(const Problem& problem) {
  return plans_mma_rows(problem, own_program());
}

TileGrid mma_rows_grid(const Problem& problem, const Plan& plan) {
  constexpr std::array<std::string_view, 2> kNames = {"kTileColumns", "kChannelTiles"};
  const std::vector<std::int64_t> values = constants_of(own_program(), plan.parameters, kNames).value();
  return staged_grid(problem.layer, integer_of(plan, "tile_rows"), values[0], values[1]);
}

std::optional<double> mma_rows_seconds(const Problem& problem, const Plan& plan, const InputSizes& sizes) {
  const Result<Facts> facts = facts_of(problem, sizes, own_program());
  return facts ? std::optional(predicted_seconds(*facts, block_of<Block>(plan, kMembers))) : std::nullopt;
}

}  // namespace convtgen
