#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/plan/tensor_maps.h"
#include "generator/planner/search/block_choices.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/planner.h"
#include "generator/planner/search/roofline.h"
#include "generator/planner/search/tensor_cores.h"

namespace convtgen {
namespace planners::mma_phases {

constexpr std::int64_t kPieceBytes = 16;        // of tensor copies, which rows are multiples of
constexpr std::int64_t kMostRows = 64;          // of the products: phases by output channels
constexpr std::int64_t kMostShifts = 32;        // of the input, which are unrolled
constexpr std::int64_t kMostProducts = 1024;    // of a warp in a stage, which are unrolled
constexpr std::int64_t kMostBlockK = 32;        // input channels of a stage
constexpr std::int64_t kMostAccumulators = 96;  // of a thread
constexpr std::int64_t kOtherRegisters = 56;    // of a thread, besides accumulators and what it has loaded
constexpr std::int64_t kLeastWarps = 1, kMostWarps = 16, kMostWarpChunks = 3;
constexpr std::int64_t kLeastStages = 2, kMostStages = 6;
constexpr std::int64_t kMostBlocksOfSm = 3;    // that are asked for
constexpr std::int64_t kMostColumnTiles = 32;  // of an image; each width is tried

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK_AND_FACTS(FactsOf, (tile_h, 1), (staged_columns, 8), (warps, 1), (warp_chunks, 1), (block_k, 32),
                         (stages, kLeastStages), (blocks_per_sm, 1));
/// The template's constants that are asked for.
CONVTGEN_CONSTANTS(kThreads, kReachW, kShifts, kFirstH, kOriginW, kBeyondH, kBeyondW, kRows, kRowTiles, kKSteps,
                   kKBlocks, kVector, kTileColumns, kStagedRows, kStagedPixels, kChunk, kPositions, kVectors,
                   kLaneChannels, kCopiedBytes, kWeightWords, kSharedBytes, kAlignment);

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

/// Registers of a thread for its accumulators, what it has loaded, and all else.
std::int64_t accumulators(const Facts& f, const Block& b) {
  return b.warp_chunks * f.of(b)[kRowTiles] * f.of(b)[kVector] * 4;
}
std::int64_t wanted_registers(const Facts& f, const Block& b) {
  Constants& c = f.of(b);
  const std::int64_t loaded = 4 + b.warp_chunks * c[kLaneChannels] * c[kVectors] * 4;
  return round_up(accumulators(f, b) + loaded + kOtherRegisters, 8);
}

/// Whether a stage's channels are those of one product, or no more than the layer's and the limit.
bool has_channels(const Facts& f, const Block& b, std::int64_t product_k) {
  return b.block_k == product_k || (b.block_k <= kMostBlockK && b.block_k < 2 * f.layer.in_channels);
}

/// Whether a tile's rows are about the image's, and one copy brings what they read.
bool has_rows(const Facts& f, const Block& b) {
  return (b.tile_h == 1 || b.tile_h < 2 * positions_h(f, b)) && f.of(b)[kStagedRows] <= kMostBox;
}

/// As many warps as have the positions of a tile; false where a block or a thread can't have that many.
bool choose_warps(const Facts& f, Block& b) {
  Constants& c = f.of(b);
  b.warps = ceil_div(ceil_div(c[kPositions], c[kChunk]), b.warp_chunks);
  const std::int64_t products = c[kKSteps] * c[kShifts] * c[kRowTiles] * b.warp_chunks * c[kVector];
  return b.warps >= kLeastWarps && b.warps <= kMostWarps && products <= kMostProducts &&
         accumulators(f, b) <= kMostAccumulators;
}

/// Widths of staged rows that make all columns by different numbers of tiles, and lie in banks as lanes read them.
std::set<std::int64_t> widths(const Facts& f, Block b) {
  const std::int64_t step = f.of(b)[kVector];
  std::set<std::int64_t> found;
  for (std::int64_t tiles_w = 1; tiles_w <= kMostColumnTiles; ++tiles_w) {
    const std::int64_t columns = ceil_div(positions_w(f, b), tiles_w);
    for (b.staged_columns = round_up(columns + f.of(b)[kReachW] - 1, step); b.staged_columns <= kMostBox;
         b.staged_columns += step) {
      const std::int64_t banks = f.of(b)[kStagedPixels] % 32;
      if (f.of(b)[kTileColumns] >= columns && (banks == 8 || banks == 24)) {
        found.insert(b.staged_columns);
        break;
      }
    }
  }
  return found;
}

/// Whether so many blocks of an SM have registers, and shared memory for stages, as many as fit; `least_bytes`: of what
/// did not.
bool fits_sm(const Facts& f, Block& b, std::int64_t& least_bytes) {
  const std::int64_t threads = f.of(b)[kThreads] * b.blocks_per_sm;
  if (wanted_registers(f, b) > registers_of_thread(threads) || threads > f.target.max_threads_per_sm) {
    return false;
  }
  const bool fits =
      fit_stages(f, b, kLeastStages, kMostStages, kSharedBytes, shared_of_block(f.target, b.blocks_per_sm));
  b.stages = std::max(b.stages, kLeastStages);
  least_bytes = fits ? least_bytes : std::min(least_bytes, f.of(b)[kSharedBytes]);
  return fits;
}

/// What tensor copies need of the layout: rows that are whole pieces.
Result<void> check_layout(const Layer& layer) {
  if (layer.layout == Layout::kNhwc) {
    return fail("layout nhwc; it takes nchw, whose positions of a row are vectors");
  }
  const Axis columns = symmetric(layer.axes[kWidth]);
  if (!columns.extent) {
    return fail("a width that the layer leaves open; tensor copies of rows need it");
  }
  if (const std::int64_t multiple = kPieceBytes / bytes_of(layer.dtype); *columns.extent % multiple != 0) {
    return fail_extent(layer, multiple, kPieceBytes);
  }
  return {};
}

/// The map of x: columns, rows, channels, images.
MapRecipe plane_map(const Facts& f, const Block& b, std::int64_t rows) {
  return input_map(map_form(f.layer.dtype, {b.staged_columns, rows, b.block_k, 1}, 0),
                   {per(Quantity::kInWidth), per(Quantity::kInHeight), Amount{.constant = f.layer.in_channels},
                    per(Quantity::kBatch)},
                   {Amount{}, Amount{.factor = f.bytes, .per = Quantity::kInWidth},
                    Amount{.factor = f.bytes, .per = Quantity::kInImage},
                    Amount{.factor = x_tensor_channels(f.layer) * f.bytes, .per = Quantity::kInImage}});
}

struct MmaPhases : Planner<Facts, kConstants> {
  static constexpr Features kNeeds = {Feature::kMmaF16, Feature::kMmaBf16, Feature::kMmaTf32, Feature::kTma};
  static constexpr auto& kComputes = kProductModes;

  static Checks checks(const Layer& layer) {
    const Axis &rows = layer.axes[kHeight], &columns = layer.axes[kWidth];
    const std::int64_t phases = rows.stride * columns.stride;
    const std::int64_t shifts = ceil_div(rows.kernel, rows.stride) * ceil_div(columns.kernel, columns.stride);
    return {check_dense(layer),
            require(phases <= kMostRows, "{} phases; at most {}, which are rows of products", phases, kMostRows),
            require(layer.out_channels <= kMostRows / phases,
                    "{} output channels in {} phases, {} rows of products; at most {}", layer.out_channels, phases,
                    layer.out_channels * phases, kMostRows),
            require(shifts <= kMostShifts, "{} taps of an output; at most {}, which are unrolled", shifts, kMostShifts),
            check_layout(layer)};
  }
  static Parameters parameters(const Problem& problem) { return with_store(Planner::parameters(problem), 1); }
  static Blocks blocks(const Facts& f) {
    std::int64_t least_bytes = kIntMax;
    const std::int64_t product_k = 32 / f.bytes;
    return BlockChoices(Block())
        .each(&Block::block_k, {product_k, 2 * product_k, 4 * product_k})
        .keep([&](const Block& b) { return has_channels(f, b, product_k); })
        .each(&Block::tile_h, {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 24, 25, 32})
        .keep([&](const Block& b) { return has_rows(f, b); })
        .each(&Block::staged_columns, [&](const Block& b) { return widths(f, b); })
        .up_to(&Block::warp_chunks, kMostWarpChunks)
        .keep([&](Block& b) { return choose_warps(f, b); })
        .up_to(&Block::blocks_per_sm, kMostBlocksOfSm)
        .keep([&](Block& b) { return fits_sm(f, b, least_bytes); })
        .or_fail([&] {
          const std::int64_t weights = tap_count(f.layer) * f.layer.in_channels * f.layer.out_channels;
          return least_bytes < kIntMax
                     ? fail_shared_memory(f.target, fmt::format("{} weights and two stages", weights), least_bytes)
                     : fail(fmt::format("{} rows of products take {} accumulators of a thread at the least; at most {}",
                                        f.of({})[kRows], accumulators(f, {}), kMostAccumulators));
        });
  }
  static double seconds(const Facts& f, const Block& b, Constants& c) {
    const double steps = c.number(kKBlocks) * c.number(kKSteps);
    const double chunks = static_cast<double>(b.warps * b.warp_chunks);
    const double products = steps * c.number(kShifts) * c.number(kRowTiles) * chunks * c.number(kVector);
    const double weight_loads = steps * c.number(kShifts) * c.number(kRowTiles) * static_cast<double>(b.warps);
    const double shifts_h = c.number(kShifts) / c.number(kReachW);
    const double loads =
        steps * shifts_h * chunks * c.number(kLaneChannels) * c.number(kVectors);  // of 16 bytes of each lane
    const double moved = f.layer.dtype == Dtype::kF32 ? 1.5 : 2;                   // words to a fragment's registers
    const double outputs = chunks * c.number(kVector) * 4 * c.number(kRowTiles);   // of a lane
    const double cycles =
        cycles_of(f.target, {.tensor_cycles = products * std::max(f.factors.phases_product, f.target.sm.mma_cycles),
                             .shared_wavefronts = 4 * (loads + weight_loads),
                             .instructions = (products * (1 + moved / c.number(kRowTiles)) + loads + weight_loads) / 4,
                             .l2_bytes = c.number(kCopiedBytes) * c.number(kKBlocks)});
    const double waits = 1 + f.factors.phases_wait / static_cast<double>(b.warps * b.blocks_per_sm);
    const double tile = cycles * waits + outputs * f.factors.phases_output / 4;
    const double weights =
        static_cast<double>(f.layer.in_channels * f.layer.out_channels * tap_count(f.layer)) * f.factors.phases_weight;
    const std::int64_t rounds = ceil_div(tiles(f, b), f.target.multiprocessors * b.blocks_per_sm);
    return call_seconds(f, {.first_cycles = f.factors.phases_begin + weights * static_cast<double>(b.blocks_per_sm),
                            .waves = static_cast<double>(rounds * b.blocks_per_sm),
                            .wave_cycles = tile,
                            .measured = f.factors.phases_measured});
  }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    // Positions are as many as inputs, and some beyond them.
    return {fmt::format("a block makes {}x{} outputs of {} channels; {} taps", b.tile_h * f.rows.stride,
                        c[kTileColumns] * f.columns.stride, f.layer.out_channels, tap_count(f.layer)),
            fmt::format("tensor cores: the rows of products are {} phases of {} channels; {} shifts of the input, {} "
                        "positions of a warp; {} stages of {} input channels",
                        f.rows.stride * f.columns.stride, f.layer.out_channels, c[kShifts], b.warp_chunks * c[kChunk],
                        b.stages, b.block_k),
            {.axes = {{per(Quantity::kBatch), 1},
                      {per(Quantity::kInHeight, c[kBeyondH] - c[kFirstH]), b.tile_h},
                      {per(Quantity::kInWidth, c[kBeyondW] - c[kOriginW]), c[kTileColumns]}},
             .most_tiles = f.target.multiprocessors * b.blocks_per_sm,
             .bounds = staged_bounds(f.layer, b.tile_h, c[kTileColumns])},
            {plane_map(f, b, c[kStagedRows])}};
  }
};

}  // namespace planners::mma_phases

CONVTGEN_TEMPLATE(MmaPhases, mma_phases);

}  // namespace convtgen
