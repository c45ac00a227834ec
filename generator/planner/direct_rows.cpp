#include "generator/planner/direct_rows.h"

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

constexpr std::int64_t kMostAccumulators = 96;  // of a thread; half as many in fp64
constexpr std::int64_t kMostChannels = 8;       // of a thread
constexpr std::int64_t kMostColumns = 8;        // of a thread
constexpr std::int64_t kMostOutputs = 128;      // of a thread in a row, those of phases without taps too
constexpr std::int64_t kMostUnrolled = 1024;    // multiply-adds in the unrolled body
constexpr std::int64_t kMostWarps = 8;
constexpr std::int64_t kMostThreadsOfSm = 1536, kMostBlocksOfSm = 16;  // that are asked for
constexpr double kMostArithmetic = 4;                                  // times the memory's time

/// The block, as the template's parameters of the same names.
struct Block {
  bool operator==(const Block&) const = default;

  std::int64_t warps_x = 1, warps_c = 1, warps_y = 1;
  std::int64_t lanes_c = 1, lanes_x = 32;
  std::int64_t channels_per_thread = 1, columns_per_thread = 1;
  std::int64_t tile_rows = 1;
  std::int64_t blocks_per_sm = 1;
  std::int64_t vector = 0;
  bool asynchronous = false;
};
using Member = BlockMember<Block>;
constexpr std::array kMembers = {Member{"warps_x", &Block::warps_x},
                                 Member{"warps_c", &Block::warps_c},
                                 Member{"warps_y", &Block::warps_y},
                                 Member{"lanes_c", &Block::lanes_c},
                                 Member{"lanes_x", &Block::lanes_x},
                                 Member{"channels_per_thread", &Block::channels_per_thread},
                                 Member{"columns_per_thread", &Block::columns_per_thread},
                                 Member{"tile_rows", &Block::tile_rows},
                                 Member{"blocks_per_sm", &Block::blocks_per_sm},
                                 Member{"vector", &Block::vector},
                                 Member{"asynchronous", &Block::asynchronous}};

/// The template's constants that are asked for.
enum Constant : std::size_t {
  kThreads,
  kTileColumns,
  kTileChannels,
  kChannelTiles,
  kInputs,
  kPlane,
  kWeights,
  kSharedBytes,
  kAlignment,
  kConstantCount,
};
constexpr std::array<std::string_view, kConstantCount> kConstants = {"kThreads",      "kTileColumns", "kTileChannels",
                                                                     "kChannelTiles", "kInputs",      "kPlane",
                                                                     "kWeights",      "kSharedBytes", "kAlignment"};

/// What the choice depends on.
struct Facts {
  const Layer& layer;
  const PlannedTarget& target;
  Axis rows, columns;
  InputSizes sizes;  // that times are predicted for
  Shape shape;       // of a call of these
  Cost cost;
  std::int64_t group_in = 0, group_out = 0;
  std::int64_t phases = 1;                  // of a row that have taps
  std::int64_t offsets = 1;                 // at which the taps of a row read
  std::int64_t vector_elements = 4;         // of 16 bytes
  mutable BlockConstants<Block> constants;  // a cache: holds the block at hand

  [[nodiscard]] Constants& of(const Block& b) const { return constants.of(b); }
  [[nodiscard]] bool is_nhwc() const { return layer.layout == Layout::kNhwc; }
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
          .vector_elements = 16 / bytes_of(layer.dtype),
          .constants = *std::move(constants)};
  std::set<std::int64_t> phases, offsets;
  for (std::int64_t k = 0; k < f.columns.kernel; ++k) {
    phases.insert(phase_of_tap(f.columns, k));
    offsets.insert(offset_of_tap(f.columns, k));
  }
  f.phases = std::ssize(phases);
  f.offsets = std::ssize(offsets);
  return f;
}

/// ceil(output / stride).
std::int64_t positions(const Facts& f, std::size_t axis) {
  return std::max<std::int64_t>(1, ceil_div(f.shape.out[axis], f.layer.axes[axis].stride));
}

std::int64_t outputs_of_thread(const Facts& f, const Block& b) {
  return b.channels_per_thread * b.columns_per_thread * f.columns.stride;
}

/// Instructions and wavefronts of shared memory, of all lanes of a call, at the rate of instructions.
double lane_work(const Facts& f, const Block& b) {
  const CostFactors& factors = f.target.factors;
  Constants& of_block = f.of(b);
  const auto threads = static_cast<double>(of_block[kThreads]);
  const double f64_factor = f.layer.dtype == Dtype::kF64 ? f.target.f32_flops / f.target.f64_flops : 1;
  // Of a thread, for a row of positions.
  const auto taps = static_cast<double>(f.rows.kernel * f.columns.kernel * f.group_in);
  const auto products = static_cast<double>(b.channels_per_thread * b.columns_per_thread);
  const bool has_vectors = b.channels_per_thread % 4 == 0;
  const double weight_loads = taps * static_cast<double>(b.channels_per_thread) / (has_vectors ? 4 : 1);
  // Channels last, a thread's columns are adjacent.
  const std::int64_t row_loads =
      f.is_nhwc() ? ceil_div(b.columns_per_thread + f.offsets - 1, b.columns_per_thread % 4 == 0 ? 4 : 1)
                  : b.columns_per_thread * f.offsets;
  const auto input_loads = static_cast<double>(f.rows.kernel * f.group_in * row_loads);
  const double outputs = static_cast<double>(f.rows.stride * outputs_of_thread(f, b));
  const double epilogue = outputs * (b.vector > 0 ? factors.rows_stored : factors.rows_exchanged);
  const double instructions = taps * products * f64_factor + weight_loads + input_loads + epilogue;
  // A scheduler issues while shared memory serves all four of them.
  const double wavefronts = 4 * (weight_loads * (has_vectors ? factors.rows_weight_wavefronts : 1) + input_loads +
                                 (b.vector > 0 ? 0 : 2 * outputs));
  const double rows = static_cast<double>(b.tile_rows) / static_cast<double>(b.warps_y);
  const double staged = static_cast<double>(of_block[kInputs] * of_block[kPlane] + of_block[kWeights]) / threads;
  // Other blocks' products hide what a block waits for when it stages, and other warps what a warp waits for.
  const double warps = threads / 32 * static_cast<double>(b.blocks_per_sm);
  const double thread =
      (1 + factors.rows_wait / warps) * rows * std::max(instructions, wavefronts) +
      staged * (b.asynchronous ? factors.rows_staged : factors.rows_staged_registers) * (b.blocks_per_sm == 1 ? 2 : 1);
  const std::int64_t blocks = f.sizes.batch * ceil_div(positions(f, kHeight), b.tile_rows) *
                              ceil_div(positions(f, kWidth), of_block[kTileColumns]) * of_block[kChannelTiles];
  const std::int64_t at_once = f.target.multiprocessors * b.blocks_per_sm;
  // The last blocks take as long as all, unless there are so many that others end before.
  const std::int64_t whole = blocks > 4 * at_once ? blocks + at_once / 10 : ceil_div(blocks, at_once) * at_once;
  return static_cast<double>(whole) * threads * thread;
}

double predicted_seconds(const Facts& f, const Block& b) {
  const double arithmetic = 2 * lane_work(f, b) / f.target.f32_flops;
  const double memory = f.cost.bytes / f.target.bytes_per_second;
  return f.target.launch_seconds + std::max(arithmetic, memory) +
         f.target.factors.hidden_less * std::min(arithmetic, memory);
}

/// The lanes of a warp and its channels; false where a tile would have parts of several groups.
bool choose_lanes(const Facts& f, Block& b) {
  const std::int64_t all = f.layer.out_channels / b.channels_per_thread;
  const std::int64_t of_group = f.group_out / b.channels_per_thread;
  if (!f.is_nhwc()) {
    // A narrow image leaves lanes to other channels.
    const std::int64_t wanted = power_of_two_at_least(ceil_div(positions(f, kWidth), b.columns_per_thread));
    b.lanes_x = std::min<std::int64_t>(32, wanted);
    b.lanes_c = std::min(32 / b.lanes_x, power_of_two_at_most(of_group));
    return true;
  }
  const auto is_whole = [&](std::int64_t lanes) { return lanes <= of_group || lanes % of_group == 0; };
  if (all <= 32) {
    b.lanes_c = all;
  } else {
    b.lanes_c = 32;
    // Whole sectors of 32 bytes do; a warp with fewer channels has more columns.
    const std::int64_t sector = std::max<std::int64_t>(1, 8 * f.vector_elements / b.channels_per_thread);
    if (b.vector > 0 && of_group % 2 == 0) {
      b.lanes_c = std::min<std::int64_t>(32, power_of_two_at_least(sector));
    }
    while (b.lanes_c > 1 && !is_whole(b.lanes_c)) {
      --b.lanes_c;
    }
  }
  b.lanes_x = 32 / b.lanes_c;
  return is_whole(b.lanes_c);
}

/// Warps along channels, which share the staged input, then columns, then rows.
void choose_warps(const Facts& f, std::int64_t most_warps, Block& b) {
  const std::int64_t warp_channels = b.lanes_c * b.channels_per_thread;
  const std::int64_t in_reach =
      warp_channels >= f.group_out && f.layer.groups > 1 && f.is_nhwc() ? f.layer.out_channels : f.group_out;
  b.warps_c = std::min(most_warps / 2, power_of_two_at_most(ceil_div(in_reach, warp_channels)));
  b.warps_c = std::max<std::int64_t>(1, b.warps_c);
  if (warp_channels < f.group_out && f.layer.groups > 1) {
    while (b.warps_c > 1 && b.warps_c * warp_channels >= f.group_out && b.warps_c * warp_channels % f.group_out != 0) {
      b.warps_c /= 2;
    }
  }
  const std::int64_t columns = ceil_div(positions(f, kWidth), b.lanes_x * b.columns_per_thread);
  b.warps_x =
      std::clamp<std::int64_t>(power_of_two_at_most(columns), 1, std::max<std::int64_t>(1, most_warps / b.warps_c / 2));
  const std::int64_t rows = power_of_two_at_least(positions(f, kHeight));
  b.warps_y = std::min(rows, most_warps / (b.warps_c * b.warps_x));
}

/// Registers of a thread and blocks of an SM.
void choose_blocks(const Facts& f, Block& b) {
  constexpr std::int64_t kOthers = 44;  // registers beside accumulators
  const std::int64_t accumulators =
      b.channels_per_thread * b.columns_per_thread * f.phases * (f.layer.dtype == Dtype::kF64 ? 2 : 1);
  const std::int64_t registers = std::min<std::int64_t>(255, ceil_div(accumulators + kOthers, 8) * 8);
  const std::int64_t threads = f.of(b)[kThreads];
  const std::int64_t by_registers = 65536 / (registers * threads);
  const std::int64_t by_shared = f.target.shared_bytes_per_sm / (f.of(b)[kSharedBytes] + 1024);
  b.blocks_per_sm =
      std::max<std::int64_t>(1, std::min({by_registers, by_shared, kMostThreadsOfSm / threads, kMostBlocksOfSm}));
}

/// The block with each number of rows that fits shared memory, which is less for large ones; none where not one row
/// does. `least_bytes` gets the shared memory of the smallest that was tried.
void add_blocks(const Facts& f, Block b, std::vector<Block>& out, std::int64_t& least_bytes) {
  const std::int64_t rows = positions(f, kHeight);
  for (const std::int64_t of_warp : {1, 2, 4, 8}) {
    b.tile_rows = b.warps_y * of_warp;
    least_bytes = std::min(least_bytes, f.of(b)[kSharedBytes]);
    if ((of_warp > 1 && (of_warp - 1) * b.warps_y >= rows) || f.of(b)[kSharedBytes] > f.target.max_shared_bytes) {
      return;
    }
    choose_blocks(f, b);
    if (std::ranges::find(out, b) == out.end()) {
      out.push_back(b);
    }
  }
}

/// Elements that a thread stores as one vector; 0 where its channels are none, or parts of sectors.
std::int64_t vector_of(const Facts& f, std::int64_t channels) {
  if (!f.is_nhwc()) {
    return 0;
  }
  for (const std::int64_t vector : {f.vector_elements, f.vector_elements / 2}) {
    // Vectors of 8 bytes at the least; whole sectors of a pixel.
    if (vector * bytes_of(f.layer.dtype) >= 8 && f.layer.dtype != Dtype::kF64 && channels % vector == 0 &&
        f.layer.out_channels % (2 * f.vector_elements) == 0) {
      return vector;
    }
  }
  return 0;
}

std::int64_t most_accumulators(const Layer& layer) {
  return layer.dtype == Dtype::kF64 ? kMostAccumulators / 2 : kMostAccumulators;
}

/// The blocks that fit. `least_bytes` gets the shared memory of the smallest that a thread's registers allow; where
/// there is none it stays.
std::vector<Block> blocks(const Facts& f, std::int64_t& least_bytes) {
  std::vector<Block> out;
  const std::int64_t most_acc = most_accumulators(f.layer);
  for (std::int64_t channels = kMostChannels; channels >= 1; --channels) {
    const bool is_wanted = channels == 8 || channels == 4 || channels <= 2 || channels == f.group_out;
    if (f.group_out % channels != 0 || !is_wanted || (channels == 1 && f.group_out % 4 == 0)) {
      continue;
    }
    for (std::int64_t columns = kMostColumns; columns >= 1; columns /= 2) {
      for (const std::int64_t warps : {kMostWarps, kMostWarps / 2}) {
        Block b{.channels_per_thread = channels,
                .columns_per_thread = columns,
                .vector = vector_of(f, channels),
                .asynchronous = f.target.features.has(Feature::kCpAsync) && bytes_of(f.layer.dtype) >= 4};
        const std::int64_t accumulators = channels * columns * f.phases;
        if (accumulators > most_acc || outputs_of_thread(f, b) > kMostOutputs ||
            channels * columns * f.columns.kernel > kMostUnrolled || (columns > 1 && columns > positions(f, kWidth))) {
          continue;
        }
        if (!choose_lanes(f, b)) {
          continue;
        }
        choose_warps(f, warps, b);
        add_blocks(f, b, out, least_bytes);
      }
    }
  }
  return out;
}

Plan plan_of(const Problem& problem, const Facts& f, const Block& b, double seconds) {
  Constants& of_block = f.of(b);
  Plan plan;
  plan.template_name = "direct_rows";
  plan.predicted_seconds = seconds;
  plan.parameters = scalar_parameters(problem.layer, Direction::kForward);
  add_block<Block>(plan.parameters, b, kMembers);
  plan.threads = static_cast<int>(of_block[kThreads]);
  plan.shared_bytes = of_block[kSharedBytes];
  plan.alignment = of_block[kAlignment];
  plan.summary =
      fmt::format("a block makes {}x{} outputs of {} channels; {} taps; {:.1f} KiB shared", b.tile_rows * f.rows.stride,
                  of_block[kTileColumns] * f.columns.stride, std::min(of_block[kTileChannels], f.layer.out_channels),
                  tap_count(f.layer), static_cast<double>(plan.shared_bytes) / 1024.0);
  plan.reason = fmt::format(
      "memory's time: a tile has all {} input channels; a thread makes {} channels of {} columns in {} phases; {}",
      f.group_in, b.channels_per_thread, b.columns_per_thread, f.phases,
      b.vector > 0 ? fmt::format("stores {} channels together", b.vector)
                   : std::string("a warp stores adjacent outputs together, through shared memory"));
  return plan;
}

Result<void> check(const Problem& problem) {
  const Layer& layer = problem.layer;
  if (auto checked = check_numbers(layer); !checked) {
    return checked;
  }
  if (const std::int64_t stride = layer.axes[kWidth].stride; stride > kMostOutputs) {
    return fail(fmt::format("stride {} along columns; at most {}, the phases of a thread", stride, kMostOutputs));
  }
  if (const std::int64_t kernel = layer.axes[kWidth].kernel; kernel > kMostUnrolled) {
    return fail(fmt::format("{} kernel columns; at most {}, which are unrolled", kernel, kMostUnrolled));
  }
  return {};
}

const ConstantProgram& own_program() {
  static const ConstantProgram program = ConstantProgram::read(programs::direct_rows()).value();
  return program;
}

}  // namespace

Result<std::vector<Plan>> plans_direct_rows(const Problem& problem, const ConstantProgram& program) {
  if (auto checked = check(problem); !checked) {
    return std::unexpected(checked.error());
  }
  const Result<Facts> facts = facts_of(problem, planned_sizes(problem.layer), program);
  if (!facts) {
    return std::unexpected(facts.error());
  }
  const double arithmetic = facts->cost.flops / problem.target.f32_flops;
  const double memory = facts->cost.bytes / problem.target.bytes_per_second;
  if (arithmetic > kMostArithmetic * memory) {
    return fail(
        fmt::format("arithmetic takes {:.1f} times as long as the memory; it takes up to {}, since it speeds up "
                    "stores alone",
                    arithmetic / memory, kMostArithmetic));
  }
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::int64_t least_bytes = kNone;
  const std::vector<Block> all = blocks(*facts, least_bytes);
  if (all.empty() && least_bytes == kNone) {
    return fail(
        fmt::format("{} column phases, {} of them with taps; a thread makes at most {} outputs of a row, of {} "
                    "accumulators",
                    facts->columns.stride, facts->phases, kMostOutputs, most_accumulators(problem.layer)));
  }
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

Result<std::vector<Plan>> plans_direct_rows(const Problem& problem) {
  return plans_direct_rows(problem, own_program());
}

TileGrid direct_rows_grid(const Problem& problem, const Plan& plan) {
  constexpr std::array<std::string_view, 2> kNames = {"kTileColumns", "kChannelTiles"};
  const std::vector<std::int64_t> values = constants_of(own_program(), plan.parameters, kNames).value();
  return staged_grid(problem.layer, integer_of(plan, "tile_rows"), values[0], values[1]);
}

std::optional<double> direct_rows_seconds(const Problem& problem, const Plan& plan, const InputSizes& sizes) {
  const Result<Facts> facts = facts_of(problem, sizes, own_program());
  return facts ? std::optional(predicted_seconds(*facts, block_of<Block>(plan, kMembers))) : std::nullopt;
}

}  // namespace convtgen
