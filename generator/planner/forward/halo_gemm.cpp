#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/forward/window.h"
#include "generator/planner/search/block_choices.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/planner.h"
#include "generator/planner/search/roofline.h"
#include "generator/planner/search/tensor_cores.h"

namespace convtgen {
namespace planners::halo_gemm {

constexpr std::int64_t kMostPhaseColumns = 32;  // of a product
constexpr std::int64_t kMostProducts = 256;     // in the unrolled body
constexpr std::int64_t kMostStages = 6;
constexpr std::int64_t kMostDepthStride = 4;  // planes that are finished together, each with an epilogue of its own
constexpr std::int64_t kMostSegments = 64;    // of the depth
// Places of a thread, which registers hold: besides loaded words, or with asynchronous copies alone.
constexpr std::int64_t kMostPlaces = 8;
constexpr std::int64_t kMostCopiedPlaces = 32;

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK_AND_FACTS(window::WindowFacts, (flat, false), (tile_d, 1), (tile_h, 8), (tile_w, 8), (part_w, 8),
                         (block_n, 8), (adjacent_channels, 1), (store, 1), (phase_rows, 1), (block_k, 16), (stages, 3),
                         (prefetch_stages, 1), (producers, 128), (copy_bytes, 16), (vector, 1), (fused_phases, true),
                         (resident, false), (ping_pong, false));

/// The template's constants that are wanted, by their names there.
CONVTGEN_CONSTANTS(kMostAccumulators, kInstructionK, kVector, kKSteps, kHaloH, kHaloW, kFirstH, kFirstW, kBeyondH,
                   kBeyondW, kGapH, kGapW, kPhases, kMadePhases, kPhaseColumns, kPhaseBlocks, kMadeChannels,
                   kInstructionN, kTaps, kKBlocks, kNTiles, kPositions, kInputBytes, kPixels, kPlaceStep,
                   kKBlockWeightBytes, kThreads, kSharedBytes, kPackedBytes, kAlignment);

/// As many stages as fit; false where too few do. Ping-pong warpgroups need more of them than a tile has k-blocks (the
/// template has the reason).
bool choose_stages(const Facts& f, Block& b) {
  const std::int64_t least = std::max<std::int64_t>(b.copy_bytes > 0 ? 3 : 2, b.ping_pong ? f.of(b)[kKBlocks] + 1 : 0);
  const bool fits = fit_stages(f, b, least, kMostStages, kSharedBytes, f.target.max_shared_bytes);
  if (fits) {
    b.prefetch_stages = b.copy_bytes > 0 ? std::min<std::int64_t>(b.stages - 2, 2) : 0;
  }
  return fits;
}

/// Whether input is brought by copies of so many bytes: by the largest asynchronous copies that the pixels' channels
/// allow, or through registers where they allow none, where channels come first, for tf32, which they round on the way,
/// and by whole units, which shared memory takes eight times as fast as asynchronous copies.
bool may_copy(const Facts& f, const Block& b) {
  const std::int64_t widest = std::gcd(f.adjacent_in * f.bytes, 16);
  const bool has_copies = f.channels_last && widest >= 4;
  return b.copy_bytes > 0 ? has_copies && b.copy_bytes == widest
                          : !has_copies || f.bytes == 4 || f.adjacent_in % f.of(b)[kVector] == 0;
}

/// Elements that are loaded to registers together.
std::int64_t vector_of(const Facts& f, const Block& b) {
  Constants& of_block = f.of(b);
  const std::int64_t pack = of_block[kVector];
  if (f.channels_last) {
    return b.copy_bytes == 0 && f.adjacent_in % pack == 0 ? pack : 1;
  }
  if (f.bytes == 4) {
    return 1;
  }
  const Size& width = f.layer.axes[kWidth].extent;
  const bool dense = of_block[kHaloH] + of_block[kGapH] + of_block[kHaloW] + of_block[kGapW] == 0;
  return width && *width % 2 == 0 && (!b.flat || dense) ? 2 : 1;
}

void choose_store(const Facts& f, Block& b) {
  const Layer& layer = f.layer;
  const std::int64_t pack = f.of(b)[kVector];
  if (f.channels_last && f.of(b)[kPhaseBlocks] == 1) {
    b.store = b.adjacent_channels = halved_until(
        pack, [&](std::int64_t store) { return b.block_n % (4 * store) == 0 && f.adjacent_out % store == 0; });
    return;
  }
  // A thread's adjacent outputs are the phases of one position. An open width allows no store of more than one.
  b.adjacent_channels = 2;
  const Axis& axis = layer.axes[kWidth];
  const std::int64_t out = axis.extent ? output_extent(axis, *axis.extent) : 1;
  b.store = halved_until(pack, [&](std::int64_t store) {
    return f.of(b)[kPhaseColumns] % store == 0 && axis.padding.before % store == 0 && out % store == 0;
  });
}

window::Reach reach_of(Constants& c) {
  return {c[kGapH], c[kGapW], c[kFirstH], c[kFirstW], c[kBeyondH], c[kBeyondW]};
}

std::int64_t tiles_of(const Facts& f, const Block& b) {
  return window::tiles(f, b, reach_of(f.of(b)));
}

/// Whether dilations are the strides: one phase has all taps.
bool has_one_phase(const Layer& layer) {
  const auto is_of_one = [](const Axis& axis) { return axis.dilation == axis.stride; };
  return layer.dimensions == 3 && std::ranges::all_of(layer.axes, is_of_one) &&
         std::ranges::any_of(layer.axes, [](const Axis& axis) { return axis.stride > 1; });
}

/// Positions of the depth that a tap reads before those of an output.
std::int64_t depth_halo(const Layer& layer) {
  return (layer.axes[kDepth].kernel - 1) / (has_one_phase(layer) ? 1 : layer.axes[kDepth].stride);
}

/// Planes of the input, on average, for which a tile makes products.
double staged_planes(const Facts& f, const Block& b) {
  const std::int64_t segments = ceil_div(window::depth_positions(f), b.tile_d);
  return f.layer.dimensions < 3 ? 1
                                : static_cast<double>(f.sizes.extents[kDepth] + (segments - 1) * depth_halo(f.layer)) /
                                      static_cast<double>(segments);
}

/// Whether outputs of volumes with channels first are stored one by one: those of a phase are not adjacent.
bool stores_singles(const Facts& f, const Block& b, Constants& c) {
  return f.layer.dimensions == 3 && !f.channels_last && c[kPhaseColumns] > 1 && b.store == 1;
}

/// Ends of rows that a stage's loads meet, of volumes with channels first, where a warp loads adjacent pixels of a
/// channel: each takes a line of memory more. Rows of a sequence follow one another in memory.
double row_ends(const Facts& f, const Block& b, Constants& c) {
  return f.layer.dimensions < 3 || f.channels_last || b.flat
             ? 0
             : c.number(kInputBytes) / static_cast<double>(f.bytes * (b.tile_w + c[kHaloW]));
}

/// Store cost relative to full 32-byte sectors. Adjacent are a block's channels, or what eight or sixteen adjacent
/// positions of a warp make.
double store_factor(const Facts& f, const Block& b, Constants& of_block) {
  const std::int64_t bytes = f.bytes;
  if (f.channels_last && of_block[kPhaseBlocks] == 1) {
    const auto adjacent = static_cast<double>(std::min(b.block_n, f.layer.out_channels) * bytes);
    return of_block[kNTiles] > 1 ? std::max(1.0, 32 / adjacent) : 1.0;
  }
  const std::int64_t phases = of_block[kPhaseColumns];
  const auto adjacent = static_cast<double>((of_block[kPhaseBlocks] > 1 ? 2 : b.part_w == 8 ? 8 : 16) * phases * bytes);
  if (stores_singles(f, b, of_block)) {
    // A warp's store has eight positions of a phase. Counted are the sectors that these touch, wherever they begin.
    const double sectors = static_cast<double>(7 * phases * bytes + 32) / static_cast<double>(8 * bytes);
    return 1 + f.factors.halo_planes_sectors * (sectors - 1);
  }
  return std::max(1.0, 32 / adjacent) *
         (b.store < std::min(phases, of_block[kVector]) ? f.factors.halo_narrow_stores : 1.0);
}

/// How far a tile goes along the depth. With more segments fewer SMs lack a tile; but each segment makes the products
/// of a halo again.
void choose_depth(const Facts& f, Block& b) {
  if (f.layer.dimensions < 3) {
    return;
  }
  double best = std::numeric_limits<double>::infinity();
  const std::int64_t positions = window::depth_positions(f);
  for (std::int64_t segments = 1; segments <= std::min(positions, kMostSegments); ++segments) {
    Block cut = b;
    cut.tile_d = ceil_div(positions, segments);
    const double planes =
        static_cast<double>(waves_of(f.target, tiles_of(f, cut), f.of(b)[kNTiles])) * staged_planes(f, cut);
    if (planes < best) {
      best = planes;
      b.tile_d = cut.tile_d;
    }
  }
}

/// Whether each phase has as many taps as the others.
bool divides(const Layer& layer) {
  const auto divides_axis = [](const Axis& axis) { return axis.kernel % axis.stride == 0; };
  return divides_axis(layer.axes[kHeight]) && divides_axis(layer.axes[kWidth]);
}

/// What the template asks of an axis.
Result<void> check_axis(const Layer& layer, std::size_t number) {
  const Axis& axis = layer.axes[number];
  const std::string_view name = axis_name(layer, number);
  return first_error(
      {require(axis.stride == 1 || axis.dilation == 1 || axis.kernel == 1 || has_one_phase(layer),
               "stride {} and dilation {} in {}; one of them must be 1", axis.stride, axis.dilation, name),
       window::check_padding(layer, number)});
}

/// Output channels of a block: numbers that share all of them evenly.
std::vector<std::int64_t> block_n_choices(const Facts& f, const Block& b) {
  const std::int64_t phases = f.of(b)[kMadePhases];
  const std::int64_t vectors = 4 * f.of(b)[kVector];        // of a quad of threads
  const std::int64_t planes = f.layer.axes[kDepth].kernel;  // that a product makes
  const std::int64_t most = std::min(kMostProductColumns / (b.fused_phases ? planes * phases : planes),
                                     2 * f.of(b)[kMostAccumulators] / (planes * phases));
  std::vector<std::int64_t> choices;
  const std::int64_t made = f.of(b)[kMadeChannels];
  for (std::int64_t parts = ceil_div(made, std::max<std::int64_t>(1, most));
       parts <= ceil_div(made, 8) && choices.size() < 4; ++parts) {
    std::int64_t block_n = round_up(ceil_div(made, parts), 8);
    // Stored in whole vectors. Of a volume in nchw, where these are along rows, all planes' products would be wider.
    if (block_n > 16 && round_up(block_n, vectors) <= most && (f.layer.dimensions < 3 || f.channels_last)) {
      block_n = round_up(block_n, vectors);
    }
    if (block_n <= most && (choices.empty() || choices.back() != block_n)) {
      choices.push_back(block_n);
    }
  }
  return choices;
}

/// The least that any block needs; above the limit without a block.
struct Least {
  std::int64_t products = std::numeric_limits<std::int64_t>::max();  // in the unrolled body
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();     // of shared memory, where these are few enough
  std::int64_t pixels = std::numeric_limits<std::int64_t>::max();    // of a tile's input, where products are
  std::int64_t most_pixels = 0;                                      // that such a tile may have
};

/// Adds the pipelines of a block with a tile: all sizes of k-blocks, with weights resident or not.
void add_pipelines(const Facts& f, Block b, std::vector<Block>& out, Least& least) {
  for (const std::int64_t k_steps : {4, 2, 1}) {
    b.block_k = k_steps * f.of(b)[kInstructionK];
    Constants& of_block = f.of(b);
    const std::int64_t products = of_block[kTaps] * k_steps * of_block[kPositions] / (b.ping_pong ? 64 : 128);
    if (k_steps > 1 && b.block_k >= 2 * f.layer.in_channels) {
      continue;
    }
    const std::int64_t most_pixels =
        (b.copy_bytes > 0 ? kMostCopiedPlaces : kMostPlaces) * of_block[kPlaceStep] * (f.channels_last ? 1 : b.vector);
    least.products = std::min(least.products, products);
    for (const bool resident : {true, false}) {
      b.resident = resident;
      if ((b.ping_pong && (!resident || f.layer.dimensions == 3)) || products > kMostProducts) {
        continue;
      }
      if (of_block[kPixels] < least.pixels || (of_block[kPixels] == least.pixels && most_pixels > least.most_pixels)) {
        least.pixels = of_block[kPixels];
        least.most_pixels = most_pixels;
      }
      if (of_block[kPixels] <= most_pixels) {
        if (choose_stages(f, b)) {
          out.push_back(b);
        } else {  // with the fewest that it tried, and one less
          ++b.stages;
          least.bytes = std::min(least.bytes, f.of(b)[kSharedBytes]);
        }
      }
    }
  }
}

/// Adds a block's tiles of one, two or four parts of a warpgroup.
void add_parts(const Facts& f, Block b, std::vector<Block>& out, Least& least) {
  const bool can_be_flat =
      window::can_be_flat(f, reach_of(f.of(b))) && (f.layer.dimensions < 3 || (f.rows.extent && f.columns.extent));
  choose_store(f, b);
  for (const std::int64_t parts : {1, 2, 4}) {
    if (parts * f.layer.axes[kDepth].kernel * f.of(b)[kMadePhases] * b.block_n / 2 <= f.of(b)[kMostAccumulators]) {
      const std::vector<Block> tiles =
          BlockChoices(b)
              .each(&Block::ping_pong, {false, true})
              .each(&Block::copy_bytes, {16, 8, 4, 0})
              .keep([&](const Block& each) { return may_copy(f, each); })
              .into([&](const Block& each, std::vector<Block>& tiled) {
                window::add_tiles(
                    each, each.ping_pong ? parts : 2 * parts, !f.channels_last, can_be_flat,
                    [&](Block& of) {
                      of.vector = vector_of(f, of);
                      choose_depth(f, of);
                    },
                    tiled);
              });
      for (const Block& each : tiles) {
        add_pipelines(f, each, out, least);
      }
    }
  }
}

/// Which phases a block makes, and whether products serve all of them.
std::vector<Block> phase_choices(const Layer& layer) {
  const std::int64_t stride = layer.axes[kHeight].stride;
  if (has_one_phase(layer)) {
    return {Block{.phase_rows = stride, .fused_phases = false}};
  }
  const bool divides_h = layer.axes[kHeight].kernel % stride == 0;
  return BlockChoices(Block())
      .each(&Block::phase_rows, stride == 1 ? std::vector{stride} : std::vector{stride, std::int64_t{1}})
      .each(&Block::fused_phases, {true, false})
      .keep([&](const Block& b) {
        return b.fused_phases || (!divides(layer) && layer.axes[kWidth].stride <= kMostPhaseColumns &&
                                  (divides_h || b.phase_rows == stride));
      });
}

/// Why there are no blocks: which limit even the smallest block breaks.
std::unexpected<Error> why_none(const Facts& f, const Least& least) {
  const Layer& layer = f.layer;
  constexpr auto kNone = std::numeric_limits<std::int64_t>::max();
  if (least.products == kNone) {  // of eight channels
    if (layer.dimensions == 3 && layer.axes[kDepth].kernel > 1) {
      return fail(fmt::format(
          "kernel {} in depth, stride {}: a product makes so many planes and phases of 8 channels; at most {} in all",
          layer.axes[kDepth].kernel, axes_text(layer, &Axis::stride), kMostProductColumns / 8));
    }
    return fail(fmt::format("stride {} in width: a product makes that many phases; at most {}",
                            layer.axes[kWidth].stride, kMostProductColumns / 8));
  }
  if (least.products > kMostProducts) {
    return fail(fmt::format("kernel {} takes {} products, each written out; at most {}",
                            axes_text(layer, &Axis::kernel), least.products, kMostProducts));
  }
  if (least.bytes == kNone) {
    return fail(fmt::format("kernel {}, dilation {}: a tile's input with its halo has {} pixels; at most {}",
                            axes_text(layer, &Axis::kernel), axes_text(layer, &Axis::dilation), least.pixels,
                            least.most_pixels));
  }
  return fail_shared_memory(
      f.target, fmt::format("kernel {}: stages of input with its halo and weights", axes_text(layer, &Axis::kernel)),
      least.bytes);
}

struct HaloGemm : ExchangingPlanner<Facts, kConstants> {
  static constexpr std::size_t kMostPlans = 8;
  static constexpr bool kTakesDepth = true;
  static constexpr FuseInput kFuseInput = FuseInput::kKeepingZero;

  static Checks checks(const Layer& layer) {
    const std::int64_t stride = layer.axes[kWidth].stride;
    const bool is_wide = stride > kMostPhaseColumns;
    const Axis& depth = layer.axes[kDepth];
    return {
        check_one_group_without_strides(layer),
        layer.layout == Layout::kNhwc && layer.out_channels == 1 ? check_whole("y_channels", layer.y_channels)
                                                                 : Result<void>(),
        require(!is_wide || layer.layout != Layout::kNhwc || layer.out_channels == 1,
                "stride {} in width and {} output channels in nhwc: a product makes that many phases; at most {}",
                stride, layer.out_channels, kMostPhaseColumns),
        require(!is_wide || layer.out_channels <= kIntMax / stride,
                "{} output channels of {} phases in width are too many for 32 bits", layer.out_channels, stride),
        check_axis(layer, kHeight),
        check_axis(layer, kWidth),
        window::check_padding(layer, kDepth),
        require(depth.dilation == 1 || depth.kernel == 1 || has_one_phase(layer), "dilation {} in depth; it takes 1",
                depth.dilation),
        require(depth.stride <= kMostDepthStride, "stride {} in depth; at most {}", depth.stride, kMostDepthStride)};
  }
  static Blocks blocks(const Facts& f) {
    Least least;
    return BlockChoices(phase_choices(f.layer))
        .each(&Block::block_n, [&](const Block& b) { return block_n_choices(f, b); })
        .into([&](const Block& b, std::vector<Block>& out) { add_parts(f, b, out, least); })
        .or_fail([&] { return why_none(f, least); });
  }
  static double seconds(const Facts& f, const Block& b, Constants& c) {
    // Shared memory gives both operands of products and takes what is staged; weights and input come from L2 besides
    // them; the epilogue runs while no products do, except with ping-pong consumers.
    const SmRates& sm = f.target.sm;
    const auto number = [&](Constant name) { return static_cast<double>(c[name]); };
    const bool copies = b.copy_bytes > 0;
    const double n = number(kInstructionN);
    const double measured = f.layer.dimensions == 3 ? f.factors.halo_measured_volumes
                            : f.channels_last       ? f.factors.halo_measured_nhwc
                                                    : f.factors.halo_measured;
    // With channels last products take no longer where nothing else takes time: `measured` is of the rest.
    const double products = static_cast<double>(c[kTaps] * c[kKSteps] * c[kPositions] / 64) *
                            (f.channels_last ? f.factors.halo_products_nhwc / measured : 1);
    const double input = number(kInputBytes);
    const double weights = number(kKBlockWeightBytes) * f.factors.halo_l2_copies;
    // A product reads 64 rows and n columns of 32 bytes.
    const StageWork stage = {
        .tensor_cycles = products * n / sm.tensor_columns_per_cycle,
        .shared_wavefronts = products * (16 + n / 4) +
                             input / (copies ? sm.copied_bytes_per_cycle : sm.shared_bytes_per_cycle) +
                             f.factors.halo_planes_row * row_ends(f, b, c),
        .l2_bytes =
            input * (copies ? f.factors.halo_l2_copies : f.factors.halo_l2_registers) + (b.resident ? 0 : weights)};
    const double stages = staged_planes(f, b) * number(kKBlocks);
    const double outputs = static_cast<double>(c[kPositions] * c[kPhases] * b.block_n) / 256;  // of a thread
    const double planes = static_cast<double>(b.tile_d * f.layer.axes[kDepth].stride);         // of a tile
    const double output = stores_singles(f, b, c) ? f.factors.halo_planes_output : f.factors.halo_epilogue_outputs;
    const double epilogue = f.factors.halo_epilogue + output * outputs;
    const double resident = b.resident ? number(kKBlocks) * weights : 0;
    // Of channels last, four lanes have adjacent channels of a pixel.
    const std::int64_t piece = std::min(4 * b.store, f.layer.out_channels) * f.bytes;
    const double pieces = f.channels_last && c[kPhaseBlocks] == 1 ? piece_seconds(f.target, f.written_bytes, piece) : 0;
    return seconds_of(f.target,
                      {.launches = f.factors.halo_launches,
                       .first_cycles = f.factors.halo_begin + (stage.l2_bytes + resident) / sm.l2_bytes_per_cycle,
                       .waves = static_cast<double>(waves_of(f.target, window::tiles(f, b, reach_of(c)), c[kNTiles])),
                       .wave_cycles = stages * (cycles_of(f.target, stage) + f.factors.halo_stage) +
                                      (b.ping_pong ? f.factors.halo_epilogue_shown : 1.0) * planes * epilogue,
                       .memory_bytes = std::max(f.read_bytes + f.written_bytes * store_factor(f, b, c),
                                                pieces * f.target.bytes_per_second),
                       .hidden_less = f.factors.hidden_less,
                       .measured = measured});
  }
  /// Of blocks that differ in their pipelines alone, the fastest will do.
  static bool alike(const Block& one, const Block& other) {
    const auto block = [](const Block& b) {
      return std::tuple(b.flat, b.tile_h, b.tile_w, b.part_w, b.copy_bytes, b.block_n, b.phase_rows, b.fused_phases,
                        b.resident, b.ping_pong);
    };
    return block(one) == block(other);
  }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    // Of parted phases, those of adjacent blocks of one channel.
    const std::int64_t phase_blocks = std::min(b.block_n, c[kPhaseBlocks]);
    const std::string outputs =
        b.flat ? fmt::format("{}", c[kPositions] * c[kPhases] * phase_blocks)
               : fmt::format("{}x{}", b.tile_h * b.phase_rows, b.tile_w * c[kPhaseColumns] * phase_blocks);
    const std::string columns = b.fused_phases && c[kPhases] > 1
                                    ? fmt::format("{} phases of {} channels{}", c[kPhases], b.block_n,
                                                  divides(f.layer) ? "" : " joined by weights of zero")
                                    : fmt::format("{} channels", b.block_n);
    const Axis& depth = f.layer.axes[kDepth];
    const std::string planes =
        f.layer.dimensions == 3 ? fmt::format(" in each of {} planes", b.tile_d * depth.stride) : "";
    return {
        fmt::format("a block makes {} outputs of {} channels{}; {} taps", outputs,
                    std::min(ceil_div(b.block_n, c[kPhaseBlocks]), f.layer.out_channels), planes, tap_count(f.layer)),
        fmt::format("tensor cores: products of 64 positions x {}{}, {} taps; {} stages of {} input channels{}, "
                    "weights {}{}",
                    columns, depth.kernel > 1 ? fmt::format(" of {} planes", depth.kernel) : "", c[kTaps], b.stages,
                    b.block_k, b.copy_bytes > 0 ? "" : " through registers",
                    b.resident ? "resident" : "with each stage", b.ping_pong ? ", ping-pong warpgroups" : ""),
        window::grid(f, b, c[kNTiles], f.target.multiprocessors)};
  }
};

}  // namespace planners::halo_gemm

CONVTGEN_TEMPLATE(HaloGemm, halo_gemm);

}  // namespace convtgen
