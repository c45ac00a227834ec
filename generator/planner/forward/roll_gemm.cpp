#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/search/block_choices.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/planner.h"
#include "generator/planner/search/roofline.h"
#include "generator/planner/search/tensor_cores.h"

namespace convtgen {
namespace planners::roll_gemm {

constexpr std::int64_t kMostRegisters = 152;  // of accumulators and fragments: beyond, products are serialised (C7512)
constexpr std::int64_t kMostPixelRegisters = 160;    // with channels last
constexpr std::int64_t kMostRoundedRegisters = 120;  // the same of tf32, whose words are rounded
constexpr std::int64_t kMostReach = 24;              // of a row's taps, whose words a thread reads
constexpr std::int64_t kMostProducts = 256;          // in the unrolled body
constexpr std::int64_t kMostPixelProducts = 64;      // with channels last, where it has those of all channels
constexpr std::int64_t kMostStages = 8;
constexpr std::int64_t kMostSegments = 64;  // of an image's rows

double number(std::int64_t value) {
  return static_cast<double>(value);
}

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK(Block, (thread_positions, 2), (rows, 1), (block_n, 8), (store, 1), (block_k, 16), (stages, 2),
               (flat, false), (staged_epilogue, false));

/// The template's constants that are wanted, by their names there.
CONVTGEN_CONSTANTS(kMostAccumulators, kInstructionK, kReach, kKSteps, kKBlocks, kMTiles, kStrip, kInstructionN, kNTiles,
                   kImagePitch, kFragments, kFragmentSets, kStageBytes, kWeightBytes, kThreads, kSharedBytes,
                   kPackedBytes, kAlignment);

/// What the choice depends on.
struct Facts : FactsOf<Block> {
  std::int64_t instruction_k = of({})[kInstructionK];  // channels of a product
  std::int64_t reach = of({})[kReach];                 // from a row's first tap to its last

  [[nodiscard]] std::int64_t strips(const Block& b) const {
    const std::int64_t strip = of(b)[kStrip];
    return b.flat ? ceil_div(shape.batch * of(b)[kImagePitch], strip)
                  : shape.batch * ceil_div(shape.out[kWidth], strip);
  }
};

/// Registers of a consumer: of its accumulators, and of a step's fragments.
std::int64_t acc_registers(const Facts& f, const Block& b) {
  return f.of(b)[kMTiles] * f.of(b)[kInstructionN] / 2;
}
std::int64_t fragment_registers(const Facts& f, const Block& b) {
  return 4 * f.of(b)[kFragments];
}

/// Sectors of 32 bytes that rows of strips touch, over those that they would fill.
double row_waste(const Facts& f, const Block& b, std::int64_t extent) {
  const std::int64_t bytes = std::min(f.of(b)[kStrip], extent) * f.bytes;
  return number(round_up(bytes, 32) + (extent * f.bytes % 32 == 0 && bytes % 32 == 0 ? 0 : 32)) / number(bytes);
}

/// Cycles in which the cache takes a row of outputs. Parts of sectors cost most: vectors that are stored together begin
/// and end with them where rows are not whole sectors.
double store_cycles(const Facts& f, const Block& b) {
  const std::int64_t strip = f.of(b)[kStrip];
  const double part = f.factors.roll_part_of_sector;
  if (f.channels_last) {  // a quad stores its channels of a position together
    const std::int64_t piece = 4 * b.store * f.bytes;
    const bool is_whole = piece % 32 == 0 && f.layer.out_channels * f.bytes % 32 == 0;
    const double cycles = is_whole ? number(piece) / 32 : (number(piece) / 32 + 1) * part;
    const double warps = number(strip) / 8;
    return number(ceil_div(b.block_n, 4 * b.store)) * warps * (8 * cycles + f.factors.roll_store_nhwc);
  }
  const std::int64_t piece =
      b.staged_epilogue ? 32 * std::min(b.thread_positions, b.store) : 8 * b.thread_positions;  // positions
  const bool is_whole = f.shape.out[kWidth] * f.bytes % 32 == 0 && piece * f.bytes % 32 == 0 &&
                        (!b.flat || f.of(b)[kImagePitch] * f.bytes % 32 == 0);
  const double sectors = number(piece * f.bytes) / 32;
  double cycles = is_whole ? sectors : std::max(0.0, sectors - 1) + 2 * part;
  if (!b.staged_epilogue && b.store < b.thread_positions) {  // with gaps
    cycles = (sectors + (is_whole ? 0 : 1)) * part * number(b.thread_positions / b.store);
  }
  return number(b.block_n * (strip / piece)) * cycles;
}

/// Cycles of one input row while the next ones keep coming.
double row_cycles(const Facts& f, const Block& b) {
  Constants& of_block = f.of(b);
  const std::int64_t n = of_block[kInstructionN];
  const std::int64_t k_blocks = of_block[kKBlocks];
  const double steps = number(k_blocks * of_block[kKSteps]);
  const double products = number(f.columns.kernel * b.thread_positions) * steps;
  // Instructions of a scheduler, which has a warp of each warpgroup: the words of a thread's positions are read,
  // rounded or paired, and copied for each fragment.
  const double words = number(2 * (b.thread_positions + f.reach));
  const double read = f.channels_last ? words / 4 : words / number(b.thread_positions);
  const auto fragments = number(fragment_registers(f, b));
  const double staged = number(k_blocks * of_block[kStageBytes]);
  // Shared memory gives weights and words, and takes what arrives. With channels last two threads of a row meet in a
  // bank, except where they take pixels crossed.
  const std::int64_t pixel = f.layer.in_channels * f.bytes;
  const bool meet = f.channels_last && pixel % 128 != 64 && b.thread_positions * pixel % 128 == 0;
  const double wavefronts =
      products * number(n) / 4 + staged / f.target.sm.shared_bytes_per_cycle + 8 * steps * words * (meet ? 2 : 1);
  const StageWork row = {.tensor_cycles = products * product_cycles(f.target, n),
                         .shared_wavefronts = f.channels_last ? wavefronts : 0,
                         .instructions = 2 * steps * (read + 2 * words + fragments + 10),
                         .l2_bytes = staged};
  return cycles_of(f.target, row) + (of_block[kFragmentSets] == 1 ? steps * f.factors.roll_once : 0);
}

/// What a row of a block takes, however many rows its tiles have.
struct RowCycles {
  double row = 0;     // of an input row
  double stored = 0;  // of an output row, on top of that
};
RowCycles row_cycles_of(const Facts& f, const Block& b) {
  const double row = row_cycles(f, b);
  // Where few rows are staged, a warpgroup can't go on to the next while the other stores.
  const double staged = number(b.stages * b.block_k) / number(f.layer.in_channels);
  const double alone = f.factors.roll_alone * std::max(0.0, 2 - staged);
  return {.row = row,
          .stored = std::max(0.0, store_cycles(f, b) - row) + f.factors.roll_row + alone +
                    (b.staged_epilogue ? f.factors.roll_staged_epilogue : 0.0)};
}

/// The work of a call, except what moves through memory.
CallWork work_of(const Facts& f, const Block& b, const RowCycles& cycles) {
  const std::int64_t segments = ceil_div(f.shape.out[kHeight], b.rows);
  // Input rows of a tile: those of its outputs and the halo, except what lies outside.
  const std::int64_t outside = segments == 1   ? 2 * (f.rows.kernel - 1 - f.rows.padding.before) + f.rows.output_padding
                               : segments == 2 ? f.rows.kernel - 1 - f.rows.padding.before
                                               : 0;
  const std::int64_t read = b.rows + f.rows.kernel - 1 - std::max<std::int64_t>(0, outside);
  const double tile = number(read) * cycles.row + number(b.rows) * cycles.stored;
  return {.first_cycles = f.channels_last ? f.factors.roll_tile : 0,
          .waves = number(waves_of(f.target, f.strips(b) * segments, f.of(b)[kNTiles])),
          .wave_cycles = tile + (f.channels_last ? f.factors.roll_tile_nhwc : f.factors.roll_tile)};
}

double predicted_seconds(const Facts& f, const Block& b) {
  const double halo = 1 + number(f.rows.kernel - 1) / number(b.rows);
  const double read = f.channels_last ? 1 : row_waste(f, b, f.shape.in[kWidth]);
  const double written = f.channels_last ? 1 : row_waste(f, b, f.shape.out[kWidth]);
  const double moved = number(f.shape.input_elements) * read * halo + number(f.shape.weight_elements) +
                       number(f.shape.output_elements) * written;
  CallWork work = work_of(f, b, row_cycles_of(f, b));
  work.packed_bytes = number(f.of(b)[kPackedBytes]);
  work.memory_bytes = moved * number(f.bytes);
  work.hidden_less = f.channels_last ? f.factors.hidden_less : 0;  // NCHW's waste of sectors stands for that
  return seconds_of(f.target, work);
}

/// As many stages as fit; false where not even two do, or where channels that the layer lacks would move from stage to
/// stage.
bool choose_stages(const Facts& f, Block& b) {
  const std::int64_t unit = f.channels_last || f.layer.in_channels % b.block_k == 0 ? 1 : f.of(b)[kKBlocks];
  return fit_stages(f, b, 2, round_down(kMostStages, unit), kSharedBytes, f.target.max_shared_bytes, unit);
}

/// The rows of a tile for which the whole takes least.
void choose_rows(const Facts& f, Block& b) {
  double best = std::numeric_limits<double>::infinity();
  const RowCycles cycles = row_cycles_of(f, b);
  Block tried = b;
  for (std::int64_t segments = 1; segments <= std::min(f.shape.out[kHeight], kMostSegments); ++segments) {
    tried.rows = ceil_div(f.shape.out[kHeight], segments);
    const CallWork work = work_of(f, tried, cycles);
    if (const double all = work.first_cycles + work.waves * work.wave_cycles; all < best) {
      best = all;
      b.rows = tried.rows;
    }
  }
}

/// Output channels of a block: numbers that share all of them evenly, and whose weights leave room for stages.
std::vector<std::int64_t> block_n_choices(const Facts& f) {
  const std::int64_t out = f.layer.out_channels;
  const auto fits = [&](std::int64_t block_n) {
    Block least;
    least.block_n = block_n;
    least.block_k = f.channels_last ? round_up(f.layer.in_channels, f.instruction_k) : f.instruction_k;
    return f.of(least)[kInstructionN] <= kMostProductColumns && f.of(least)[kSharedBytes] <= f.target.max_shared_bytes;
  };
  std::vector<std::int64_t> choices;
  for (std::int64_t parts = 1; parts <= ceil_div(out, 8) && choices.size() < 3; ++parts) {
    // With channels last a quad of threads stores 16 bytes of each, of one position.
    const std::int64_t share = ceil_div(out, parts);
    const std::int64_t block_n = round_up(share, f.channels_last && share > 16 ? 4 * f.vector : 8);
    if (fits(block_n) && (choices.empty() || choices.back() != block_n)) {
      choices.push_back(block_n);
    }
  }
  return choices;
}

/// Registers of a consumer's accumulators and fragments, and how many it may have.
struct Registers {
  std::int64_t wanted = 0, most = 0;
};
Registers registers_of(const Facts& f, const Block& b) {
  const std::int64_t fragments = fragment_registers(f, b);
  return f.channels_last
             ? Registers{acc_registers(f, b) + fragments, f.bytes == 4 ? kMostRoundedRegisters : kMostPixelRegisters}
             : Registers{acc_registers(f, b) + 2 * fragments, kMostRegisters};
}

bool registers_suffice(const Facts& f, const Block& b) {
  const Registers registers = registers_of(f, b);
  return acc_registers(f, b) <= f.of(b)[kMostAccumulators] && registers.wanted <= registers.most;
}

/// The stages that are predicted to take least; false where none fit.
bool choose_pipeline(const Facts& f, Block& b) {
  const std::int64_t k = f.instruction_k;
  // With channels last a stage has all channels.
  const auto sizes = f.channels_last ? std::vector{round_up(f.layer.in_channels, k)} : std::vector{4 * k, 2 * k, k};
  const std::int64_t most = f.channels_last ? kMostPixelProducts : kMostProducts;
  const std::vector<Block> pipelines = BlockChoices(b).each(&Block::block_k, sizes).keep([&](Block& tried) {
    const std::int64_t k_steps = f.of(tried)[kKSteps];
    const bool is_wider = k_steps > 1 && tried.block_k >= 2 * f.layer.in_channels;
    const bool is_odd = k_steps == 1 && f.of(tried)[kKBlocks] > 1;
    return !is_wider && !is_odd && k_steps * f.columns.kernel * b.thread_positions / 2 <= most &&
           choose_stages(f, tried);
  });
  double least = std::numeric_limits<double>::infinity();
  for (Block tried : pipelines) {
    choose_rows(f, tried);
    if (const double seconds = predicted_seconds(f, tried); seconds < least) {
      least = seconds;
      b = tried;
    }
  }
  return !pipelines.empty();
}

/// How outputs are stored.
void choose_store(const Facts& f, Block& b) {
  b.store = halved_until(f.channels_last || b.staged_epilogue ? f.vector : b.thread_positions, [&](std::int64_t store) {
    return f.channels_last ? b.block_n % (4 * store) == 0 && f.layer.out_channels % store == 0
                           : f.shape.out[kWidth] % store == 0;
  });
}

/// Why blocks() has none: which limit the smallest block that it tries breaks.
std::unexpected<Error> why_none(const Facts& f) {
  const Layer& layer = f.layer;
  Block least;
  least.block_k = f.channels_last ? round_up(layer.in_channels, f.instruction_k)
                                  : (layer.in_channels > f.instruction_k ? 2 : 1) * f.instruction_k;
  if (8 * layer.axes[kHeight].kernel > kMostProductColumns) {
    return fail(fmt::format("kernel height {}; at most {}", layer.axes[kHeight].kernel, kMostProductColumns / 8));
  }
  const std::vector<std::int64_t> choices = block_n_choices(f);
  least.block_n = choices.empty() ? 8 : choices.back();
  const std::string words = fmt::format("weights of {} channels and two stages of input", least.block_n);
  if (choices.empty()) {
    return fail_shared_memory(f.target, words, f.of(least)[kSharedBytes]);
  }
  if (const std::int64_t acc = acc_registers(f, least); acc > f.of(least)[kMostAccumulators]) {
    return fail(fmt::format("kernel height {} takes {} accumulators of a thread; at most {}",
                            layer.axes[kHeight].kernel, acc, f.of(least)[kMostAccumulators]));
  }
  if (const Registers registers = registers_of(f, least); registers.wanted > registers.most) {
    return fail(fmt::format("kernel {}x{} takes {} registers of a thread for accumulators and fragments; at most {}",
                            layer.axes[kHeight].kernel, layer.axes[kWidth].kernel, registers.wanted, registers.most));
  }
  const std::int64_t products = f.of(least)[kKSteps] * layer.axes[kWidth].kernel * least.thread_positions / 2;
  if (const std::int64_t most = f.channels_last ? kMostPixelProducts : kMostProducts; products > most) {
    return fail(fmt::format("{} input channels and kernel width {} make {} products of a row; at most {}",
                            layer.in_channels, layer.axes[kWidth].kernel, products, most));
  }
  if (!f.channels_last && layer.in_channels % least.block_k != 0) {
    return fail(fmt::format("{} input channels are no multiple of {}, and stages do not hold all of them",
                            layer.in_channels, least.block_k));
  }
  return fail_shared_memory(f.target, words, f.of(least)[kSharedBytes]);
}

struct RollGemm : ExchangingPlanner<Facts, kConstants> {
  static constexpr std::size_t kMostPlans = 8;
  static constexpr bool kNeedsOutputs = true;

  static Checks checks(const Layer& layer) {
    const std::int64_t bytes = bytes_of(layer.dtype);
    const bool channels_last = layer.layout == Layout::kNhwc;
    const Axis& rows = layer.axes[kHeight];
    const Axis& columns = layer.axes[kWidth];
    const std::int64_t reach = columns.dilation * (columns.kernel - 1);
    const Size extent = channels_last ? Size(layer.in_channels) : columns.extent;
    return {check_one_group_without_strides(layer),
            channels_last ? check_whole("x_channels", layer.x_channels) : Result<void>(),
            require(rows.stride == 1 && columns.stride == 1, "stride {}; it takes 1", axes_text(layer, &Axis::stride)),
            require(rows.dilation == 1, "dilation {} in height; it takes 1", rows.dilation),
            require(rows.kernel >= 2 || channels_last, "kernel height 1; in nchw it takes 2 and more"),
            require(reach <= kMostReach, "dilation * (kernel - 1) is {} in width; at most {}", reach, kMostReach),
            require(columns.padding.before <= kMostReach, "padding {} in width; at most {}", columns.padding.before,
                    kMostReach),
            extent && *extent * bytes % 16 == 0 ? Result<void>() : fail_extent(layer, 16 / bytes, 16)};
  }
  static Blocks blocks(const Facts& f) {
    return BlockChoices(Block())
        .each(&Block::thread_positions, {2, 4})
        .each(&Block::block_n, block_n_choices(f))
        .each(&Block::flat, {false, true})
        .each(&Block::staged_epilogue, {false, true})
        .keep([&](const Block& b) { return (!f.channels_last || !b.staged_epilogue) && (!b.flat || f.columns.extent); })
        .keep([&](Block& b) {
          choose_store(f, b);
          return registers_suffice(f, b) && choose_pipeline(f, b);
        })
        .or_fail([&] { return why_none(f); });
  }
  static double seconds(const Facts& f, const Block& b, Constants&) { return predicted_seconds(f, b); }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    // In a sequence an image takes more than its outputs: as many blocks as its share of the strips, or some more.
    const std::int64_t columns = b.flat ? c[kStrip] * f.shape.out[kWidth] / c[kImagePitch] : c[kStrip];
    return {fmt::format("a block makes {}x{} outputs of {} channels; {} taps", b.rows, c[kStrip],
                        std::min(b.block_n, f.layer.out_channels), tap_count(f.layer)),
            fmt::format("tensor cores: products of 64 positions x {} kernel rows of {} channels, rows roll down; {} "
                        "stages of {} input channels, weights resident{}{}",
                        f.rows.kernel, b.block_n, b.stages, b.block_k, b.flat ? ", images in one sequence" : "",
                        b.staged_epilogue ? ", outputs through shared memory" : ""),
            TileGrid{.tile_rows = b.rows,
                     .tile_columns = columns,
                     .blocks_per_tile = c[kNTiles],
                     .most_tiles = std::max<std::int64_t>(1, f.target.multiprocessors / c[kNTiles])}
                .grid()};
  }
};

}  // namespace planners::roll_gemm

CONVTGEN_TEMPLATE(RollGemm, roll_gemm);

}  // namespace convtgen
