#include "generator/planner/mma_phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/gemm_block.h"
#include "generator/planner/integers.h"
#include "generator/planner/pixel_facts.h"
#include "generator/planner/roofline.h"
#include "generator/planner/scalar.h"
#include "generator/planner/tensor_cores.h"
#include "generator/planner/tensor_maps.h"

namespace convtgen {
namespace {

constexpr std::array kComputes = {Compute::kTf32, Compute::kF16, Compute::kBf16};
constexpr Features kNeeds = {Feature::kMmaF16, Feature::kMmaBf16, Feature::kMmaTf32, Feature::kTma};
constexpr std::int64_t kPieceBytes = 16;        // of tensor copies, which rows are multiples of
constexpr std::int64_t kMostRows = 64;          // of the products: phases by output channels
constexpr std::int64_t kMostShifts = 32;        // of the input, which are unrolled
constexpr std::int64_t kMostProducts = 1024;    // of a warp in a stage, which are unrolled
constexpr std::int64_t kMostBox = 256;          // elements of an axis that a tensor copy spans
constexpr std::int64_t kMostBlockK = 32;        // input channels of a stage
constexpr std::int64_t kMostAccumulators = 96;  // of a thread
constexpr std::int64_t kOtherRegisters = 56;    // of a thread, beside accumulators and what it has loaded
constexpr std::int64_t kLeastWarps = 1, kMostWarps = 16;
constexpr std::int64_t kLeastStages = 2, kMostStages = 6;
constexpr std::int64_t kMostBlocksOfSm = 3;    // that are asked for
constexpr std::int64_t kMostColumnTiles = 32;  // of an image, of which each width is tried
constexpr std::int64_t kRegistersOfSm = 65536;

/// The block, as the template's parameters of the same names.
struct Block {
  bool operator==(const Block&) const = default;

  std::int64_t tile_h = 1, staged_columns = 8, warps = 1, warp_chunks = 1;
  std::int64_t block_k = 32, stages = kLeastStages, blocks_per_sm = 1;
};
using Member = BlockMember<Block>;
constexpr std::array kMembers = {Member{"tile_h", &Block::tile_h},
                                 Member{"staged_columns", &Block::staged_columns},
                                 Member{"warps", &Block::warps},
                                 Member{"warp_chunks", &Block::warp_chunks},
                                 Member{"block_k", &Block::block_k},
                                 Member{"stages", &Block::stages},
                                 Member{"blocks_per_sm", &Block::blocks_per_sm}};

/// The template's constants that are asked for.
enum Constant : std::size_t {
  kThreads,
  kReachW,
  kShifts,
  kFirstH,
  kOriginW,
  kBeyondH,
  kBeyondW,
  kRows,
  kRowTiles,
  kKSteps,
  kKBlocks,
  kVector,
  kTileColumns,
  kStagedRows,
  kStagedPixels,
  kChunk,
  kPositions,
  kVectors,
  kLaneChannels,
  kCopiedBytes,
  kWeightWords,
  kSharedBytes,
  kAlignment,
  kConstantCount,
};
constexpr std::array<std::string_view, kConstantCount> kConstants = {
    "kThreads",      "kReachW",      "kShifts",       "kFirstH",      "kOriginW",   "kBeyondH",
    "kBeyondW",      "kRows",        "kRowTiles",     "kKSteps",      "kKBlocks",   "kVector",
    "kTileColumns",  "kStagedRows",  "kStagedPixels", "kChunk",       "kPositions", "kVectors",
    "kLaneChannels", "kCopiedBytes", "kWeightWords",  "kSharedBytes", "kAlignment"};

using Facts = PixelFacts<Block>;

Parameters parameters_of(const Layer& layer) {
  Parameters p = layer_parameters(layer);
  p.insert({{"Element", TypeName{layer.dtype == Dtype::kF32 ? "float" : "unsigned short"}},
            {"Sum", TypeName{"float"}},
            {"type", product_type(layer.dtype)},
            {"store", std::int64_t{1}}});
  return p;
}

Result<Facts> facts_of(const Problem& problem, const InputSizes& sizes, const ConstantProgram& program) {
  return Facts::make(problem, sizes, program, parameters_of(problem.layer), kMembers, kConstants);
}

/// Positions along the axes.
std::int64_t positions_h(const Facts& f, const Block& b) {
  return f.sizes.extents[kHeight] + f.of(b)[kBeyondH] - f.of(b)[kFirstH];
}
std::int64_t positions_w(const Facts& f, const Block& b) {
  return f.sizes.extents[kWidth] + f.of(b)[kBeyondW] - f.of(b)[kOriginW];
}

std::int64_t tiles(const Facts& f, const Block& b) {
  return f.sizes.batch * ceil_div(positions_h(f, b), b.tile_h) * ceil_div(positions_w(f, b), f.of(b)[kTileColumns]);
}

double predicted_seconds(const Facts& f, const Block& b) {
  const CostFactors& factors = f.target.factors;
  Constants& c = f.of(b);
  const auto number = [&](std::size_t name) { return static_cast<double>(c[name]); };
  const double steps = number(kKBlocks) * number(kKSteps);
  const double chunks = static_cast<double>(b.warps * b.warp_chunks);
  const double products = steps * number(kShifts) * number(kRowTiles) * chunks * number(kVector);
  const double weight_loads = steps * number(kShifts) * number(kRowTiles) * static_cast<double>(b.warps);
  const double shifts_h = number(kShifts) / number(kReachW);
  const double loads =
      steps * shifts_h * chunks * number(kLaneChannels) * number(kVectors);  // of 16 bytes of each lane
  const double moved = f.layer.dtype == Dtype::kF32 ? 1.5 : 2;               // words to a fragment's registers
  const double outputs = chunks * number(kVector) * 4 * number(kRowTiles);   // of a lane
  const double cycles =
      cycles_of(f.target, {.tensor_cycles = products * std::max(factors.phases_product, f.target.sm.mma_cycles),
                           .shared_wavefronts = 4 * (loads + weight_loads),
                           .instructions = (products * (1 + moved / number(kRowTiles)) + loads + weight_loads) / 4,
                           .l2_bytes = number(kCopiedBytes) * number(kKBlocks)});
  const double waits = 1 + factors.phases_wait / static_cast<double>(b.warps * b.blocks_per_sm);
  const double tile = cycles * waits + outputs * factors.phases_output / 4;
  const double weights =
      static_cast<double>(f.layer.in_channels * f.layer.out_channels * tap_count(f.layer)) * factors.phases_weight;
  const std::int64_t rounds = ceil_div(tiles(f, b), f.target.multiprocessors * b.blocks_per_sm);
  return seconds_of(f.target, {.first_cycles = factors.phases_begin + weights * static_cast<double>(b.blocks_per_sm),
                               .waves = static_cast<double>(rounds * b.blocks_per_sm),
                               .wave_cycles = tile,
                               .memory_bytes = f.memory_bytes,
                               .hidden_less = factors.hidden_less,
                               .measured = factors.phases_measured});
}

/// Registers of a thread for its accumulators, what it has loaded, and all else.
std::int64_t accumulators(const Facts& f, const Block& b) {
  return b.warp_chunks * f.of(b)[kRowTiles] * f.of(b)[kVector] * 4;
}
std::int64_t wanted_registers(const Facts& f, const Block& b) {
  Constants& c = f.of(b);
  const std::int64_t loaded = 4 + b.warp_chunks * c[kLaneChannels] * c[kVectors] * 4;
  return round_up(accumulators(f, b) + loaded + kOtherRegisters, 8);
}

/// Widths of staged rows that make all columns by different numbers of tiles, and lie in banks as lanes read them.
std::set<std::int64_t> widths(const Facts& f, Block b) {
  const std::int64_t step = f.of(b)[kVector];
  std::set<std::int64_t> out;
  for (std::int64_t tiles_w = 1; tiles_w <= kMostColumnTiles; ++tiles_w) {
    const std::int64_t columns = ceil_div(positions_w(f, b), tiles_w);
    for (b.staged_columns = round_up(columns + f.of(b)[kReachW] - 1, step); b.staged_columns <= kMostBox;
         b.staged_columns += step) {
      const std::int64_t banks = f.of(b)[kStagedPixels] % 32;
      if (f.of(b)[kTileColumns] >= columns && (banks == 8 || banks == 24)) {
        out.insert(b.staged_columns);
        break;
      }
    }
  }
  return out;
}

/// The block with each number of blocks of an SM, and as many stages as fit; `least_bytes`: of what did not.
void add_blocks(const Facts& f, Block b, std::vector<Block>& out, std::int64_t& least_bytes) {
  for (b.blocks_per_sm = 1; b.blocks_per_sm <= kMostBlocksOfSm; ++b.blocks_per_sm) {
    const std::int64_t registers = kRegistersOfSm / (f.of(b)[kThreads] * b.blocks_per_sm) / 8 * 8;
    if (wanted_registers(f, b) > std::min<std::int64_t>(255, registers) ||
        f.of(b)[kThreads] * b.blocks_per_sm > f.target.max_threads_per_sm) {
      return;
    }
    const std::int64_t most =
        b.blocks_per_sm == 1 ? f.target.max_shared_bytes : f.target.shared_bytes_per_sm / b.blocks_per_sm - 1024;
    b.stages = kMostStages;
    while (b.stages >= kLeastStages && f.of(b)[kSharedBytes] > most) {
      least_bytes = std::min(least_bytes, f.of(b)[kSharedBytes]);
      --b.stages;
    }
    if (b.stages < kLeastStages) {
      return;
    }
    out.push_back(b);
  }
}

std::vector<Block> blocks(const Facts& f, std::int64_t& least_bytes) {
  std::vector<Block> out;
  const std::int64_t product_k = 32 / bytes_of(f.layer.dtype);
  for (std::int64_t block_k = product_k; block_k <= kMostBlockK; block_k *= 2) {
    if (block_k > product_k && block_k >= 2 * f.layer.in_channels) {
      break;
    }
    for (const std::int64_t tile_h : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 24, 25, 32}) {
      Block b{.tile_h = tile_h, .block_k = block_k};
      if (tile_h > 1 && tile_h >= 2 * positions_h(f, b)) {
        break;
      }
      if (f.of(b)[kStagedRows] > kMostBox) {
        continue;
      }
      for (const std::int64_t width : widths(f, b)) {
        b.staged_columns = width;
        const std::int64_t chunks = ceil_div(f.of(b)[kPositions], f.of(b)[kChunk]);
        for (b.warp_chunks = 1; b.warp_chunks <= 3; ++b.warp_chunks) {
          b.warps = ceil_div(chunks, b.warp_chunks);
          const std::int64_t products =
              f.of(b)[kKSteps] * f.of(b)[kShifts] * f.of(b)[kRowTiles] * b.warp_chunks * f.of(b)[kVector];
          if (b.warps >= kLeastWarps && b.warps <= kMostWarps && products <= kMostProducts &&
              accumulators(f, b) <= kMostAccumulators) {
            add_blocks(f, b, out, least_bytes);
          }
        }
      }
    }
  }
  return out;
}

Plan plan_of(const Problem& problem, const Facts& f, const Block& b, double seconds) {
  Constants& c = f.of(b);
  Plan plan;
  plan.template_name = "mma_phases";
  plan.predicted_seconds = seconds;
  plan.parameters = parameters_of(problem.layer);
  add_block<Block>(plan.parameters, b, kMembers);
  plan.threads = static_cast<int>(c[kThreads]);
  plan.shared_bytes = c[kSharedBytes];
  plan.alignment = c[kAlignment];
  plan.summary = fmt::format("a block makes {}x{} outputs of {} channels; {} taps; {:.1f} KiB shared",
                             b.tile_h * f.rows.stride, c[kTileColumns] * f.columns.stride, f.layer.out_channels,
                             tap_count(f.layer), static_cast<double>(plan.shared_bytes) / 1024.0);
  plan.reason = fmt::format(
      "tensor cores: the rows of products are {} phases of {} channels; {} shifts of the input, {} positions of a "
      "warp; {} stages of {} input channels",
      f.rows.stride * f.columns.stride, f.layer.out_channels, c[kShifts], b.warp_chunks * c[kChunk], b.stages,
      b.block_k);
  return plan;
}

/// What tensor copies want of the layout: rows that are whole pieces.
Result<void> check_layout(const Layer& layer) {
  if (layer.layout == Layout::kNhwc) {
    return fail("layout nhwc; it takes nchw, whose positions of a row are vectors");
  }
  const Axis columns = symmetric(layer.axes[kWidth]);
  if (!columns.extent) {
    return fail("a width that the layer leaves open; tensor copies of rows want to know it");
  }
  if (const std::int64_t multiple = kPieceBytes / bytes_of(layer.dtype); *columns.extent % multiple != 0) {
    return fail_extent(layer, multiple, kPieceBytes);
  }
  return {};
}

Result<void> check(const Problem& problem) {
  const Layer& layer = problem.layer;
  if (auto checked = check_tensor_cores(problem, kNeeds, kComputes); !checked) {
    return checked;
  }
  if (auto checked = check_one_group(layer); !checked) {
    return checked;
  }
  if (auto checked = check_no_dilation(layer); !checked) {
    return checked;
  }
  const Axis rows = symmetric(layer.axes[kHeight]), columns = symmetric(layer.axes[kWidth]);
  if (const std::int64_t phases = rows.stride * columns.stride; phases > kMostRows) {
    return fail(fmt::format("{} phases; at most {}, which are rows of products", phases, kMostRows));
  } else if (const std::int64_t all = layer.out_channels * phases; all > kMostRows) {
    return fail(fmt::format("{} output channels in {} phases, {} rows of products; at most {}", layer.out_channels,
                            phases, all, kMostRows));
  }
  const std::int64_t shifts = ceil_div(rows.kernel, rows.stride) * ceil_div(columns.kernel, columns.stride);
  if (shifts > kMostShifts) {
    return fail(fmt::format("{} taps of an output; at most {}, which are unrolled", shifts, kMostShifts));
  }
  if (auto checked = check_layout(layer); !checked) {
    return checked;
  }
  return check_numbers(layer);
}

const ConstantProgram& own_program() {
  static const ConstantProgram program = ConstantProgram::read(programs::mma_phases()).value();
  return program;
}

std::vector<Grid::Bound> bounds_of(const Layer& layer, const Block& b, std::int64_t tile_columns) {
  return staged_bounds(layer, b.tile_h, tile_columns);
}

/// The map of x: columns, rows, channels, images.
MapRecipe plane_map(const Layer& layer, const Block& b, std::int64_t rows) {
  const std::int64_t bytes = bytes_of(layer.dtype);
  MapRecipe recipe{.name = "x_map", .role = Role::kX};
  recipe.form = map_form(layer.dtype, {b.staged_columns, rows, b.block_k, 1}, 0);
  recipe.sizes = {Amount{.factor = 1, .per = Quantity::kInWidth}, Amount{.factor = 1, .per = Quantity::kInHeight},
                  Amount{.constant = layer.in_channels}, Amount{.factor = 1, .per = Quantity::kBatch}};
  recipe.pitches = {Amount{}, Amount{.factor = bytes, .per = Quantity::kInWidth},
                    Amount{.factor = bytes, .per = Quantity::kInImage},
                    Amount{.factor = layer.in_channels * bytes, .per = Quantity::kInImage}};
  return recipe;
}

}  // namespace

Result<std::vector<Plan>> plans_mma_phases(const Problem& problem, const ConstantProgram& program) {
  if (auto checked = check(problem); !checked) {
    return std::unexpected(checked.error());
  }
  const Result<Facts> facts = facts_of(problem, planned_sizes(problem.layer), program);
  if (!facts) {
    return std::unexpected(facts.error());
  }
  std::int64_t least_bytes = kIntMax;
  const std::vector<Block> all = blocks(*facts, least_bytes);
  if (all.empty()) {
    return least_bytes < kIntMax
               ? fail_shared_memory(
                     problem.target,
                     fmt::format("{} weights and two stages",
                                 tap_count(problem.layer) * problem.layer.in_channels * problem.layer.out_channels),
                     least_bytes)
               : fail(fmt::format("{} rows of products take {} accumulators of a thread at the least; at most {}",
                                  facts->of({})[kRows], accumulators(*facts, {}), kMostAccumulators));
  }
  for (const Block& b : all) {
    if (auto checked = check_bounds(problem.layer, bounds_of(problem.layer, b, facts->of(b)[kTileColumns])); !checked) {
      return std::unexpected(checked.error());
    }
  }
  return gemm::fastest_plans(
      all, [&](const Block& block) { return predicted_seconds(*facts, block); },
      [&](const Block& block, double seconds) { return plan_of(problem, *facts, block, seconds); });
}

Result<std::vector<Plan>> plans_mma_phases(const Problem& problem) {
  if (auto checked = check(problem); !checked) {  // before the program is read
    return std::unexpected(checked.error());
  }
  return plans_mma_phases(problem, own_program());
}

LaunchPlan mma_phases_launch(const Problem& problem, const Plan& plan) {
  const Layer& layer = problem.layer;
  const Block b = block_of<Block>(plan, kMembers);
  const std::vector<std::int64_t> c = constants_of(own_program(), plan.parameters, kConstants).value();
  // Positions are as many as inputs, and some beyond them.
  const auto positions = [](Quantity quantity, std::int64_t more) {
    return Amount{.constant = more, .factor = 1, .per = quantity};
  };
  LaunchPlan launch;
  launch.tensors = tensors_of(layer, problem.direction, plan.alignment);
  launch.kernels.push_back(
      {.function = "mma_phases",
       .suffix = "",
       .threads = plan.threads,
       .shared_bytes = plan.shared_bytes,
       .grid = {.axes = {{{.factor = 1, .per = Quantity::kBatch}, 1},
                         {positions(Quantity::kInHeight, c[kBeyondH] - c[kFirstH]), b.tile_h},
                         {positions(Quantity::kInWidth, c[kBeyondW] - c[kOriginW]), c[kTileColumns]}},
                .most_tiles = problem.target.multiprocessors * b.blocks_per_sm,
                .bounds = bounds_of(layer, b, c[kTileColumns])}});
  launch.maps = {plane_map(layer, b, c[kStagedRows])};
  return launch;
}

std::optional<double> mma_phases_seconds(const Problem& problem, const Plan& plan, const InputSizes& sizes) {
  const Result<Facts> facts = facts_of(problem, sizes, own_program());
  return facts ? std::optional(predicted_seconds(*facts, block_of<Block>(plan, kMembers))) : std::nullopt;
}

}  // namespace convtgen
