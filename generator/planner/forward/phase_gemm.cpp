#include <fmt/format.h>

#include <algorithm>
#include <array>

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
namespace planners::phase_gemm {

constexpr std::int64_t kMostColumns = 192;      // of a product: phases by output channels, of each row of positions
constexpr std::int64_t kMostShifts = 32;        // of the input along a row, which are unrolled
constexpr std::int64_t kMostRowColumns = 128;   // of a thread's tiles: outputs, whose stores are unrolled
constexpr std::int64_t kMostStrips = 4;         // of several images
constexpr std::int64_t kOtherRegisters = 56;    // of a thread, besides accumulators and biases
constexpr std::int64_t kMostAccumulators = 96;  // of a thread
constexpr std::int64_t kLeastStages = 2, kMostStages = 8;
constexpr std::int64_t kMostBlocksOfSm = 4;   // that are asked for
constexpr std::int64_t kMostSegments = 1024;  // of a strip; each number that gives other rows is tried
constexpr std::int64_t kTriedRows = 12;

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK_AND_FACTS(FactsOf, (tile_n, 1), (tile_w, 64), (rows, 1), (warpgroups, 1), (thread_tiles, 1), (store, 1),
                         (block_k, 64), (stages, kLeastStages), (blocks_per_sm, 1));
/// The template's constants that are asked for.
CONVTGEN_CONSTANTS(kThreads, kKSteps, kKBlocks, kReachH, kReachW, kFirstH, kFirstW, kBeyondH, kBeyondW, kRowColumns,
                   kInstructionN, kProductRows, kPitch, kPositions, kCopiedBytes, kResidentBytes, kSharedBytes,
                   kAlignment);

/// Positions along the axes.
std::int64_t positions_h(const Facts& f, const Block& b) {
  return std::max<std::int64_t>(1, f.sizes.extents[kHeight] + f.of(b)[kBeyondH] - f.of(b)[kFirstH]);
}
std::int64_t positions_w(const Facts& f, const Block& b) {
  return std::max<std::int64_t>(1, f.sizes.extents[kWidth] + f.of(b)[kBeyondW] - f.of(b)[kFirstW]);
}

std::int64_t tiles(const Facts& f, const Block& b) {
  return ceil_div(f.sizes.batch, b.tile_n) * ceil_div(positions_h(f, b), b.rows) *
         ceil_div(positions_w(f, b), b.tile_w);
}

double predicted_seconds(const Facts& f, const Block& b, Constants& c) {
  const double row_tiles = static_cast<double>(b.warpgroups * b.thread_tiles);  // of 64 positions
  const double products = c.number(kKBlocks) * c.number(kKSteps) * c.number(kReachW) * row_tiles;
  const double stores = row_tiles * 2 * c.number(kRowColumns) * 8 / static_cast<double>(b.store) / 4;  // of a warp
  const double work =
      cycles_of(f.target, {.tensor_cycles = products * product_cycles(f.target, c[kInstructionN]),
                           .shared_wavefronts = products * (16 + c.number(kInstructionN) / 4),
                           .instructions = (stores * f.factors.phase_store + c.number(kInstructionN)) / 4,
                           .l2_bytes = c.number(kKBlocks) * c.number(kCopiedBytes)});
  // A warpgroup waits for its own products, in which others of the SM multiply.
  const double waited = work / static_cast<double>(b.warpgroups) + c.number(kKBlocks) * f.factors.phase_stage;
  const double row = std::max(work, waited / static_cast<double>(b.blocks_per_sm));
  const std::int64_t rounds = ceil_div(tiles(f, b), f.target.multiprocessors * b.blocks_per_sm);
  const double staged_rows =
      static_cast<double>(std::min(b.rows + c[kReachH] - 1, f.sizes.extents[kHeight] + c[kReachH] - 1));
  return call_seconds(f, {.first_cycles = f.factors.phase_begin + c.number(kResidentBytes) * f.factors.phase_weight *
                                                                      static_cast<double>(b.blocks_per_sm),
                          .waves = static_cast<double>(rounds * b.blocks_per_sm),
                          .wave_cycles = staged_rows * row,
                          .measured = f.factors.phase_measured});
}

/// Registers of a thread.
std::int64_t wanted_registers(const Facts& f, const Block& b) {
  const std::int64_t biases = f.layer.bias && f.layer.out_channels > 1 ? f.of(b)[kRowColumns] / 4 : 1;
  const std::int64_t sums = b.thread_tiles * f.of(b)[kRowColumns] / 2;
  return round_up(b.thread_tiles * f.of(b)[kInstructionN] / 2 + sums + biases + kOtherRegisters, 8);
}

/// As many adjacent elements of a row of outputs as begin at whole vectors, and need no more columns than others do.
std::int64_t store_of(const Facts& f) {
  const std::int64_t channels = f.layer.out_channels, line = f.columns.stride * channels;
  const std::int64_t all = f.rows.stride * line;
  // An output row is a multiple of its inputs' lines, and this.
  const std::int64_t more =
      (f.columns.kernel + f.columns.output_padding - 2 * f.columns.padding.before - f.columns.stride) * channels;
  return halved_until(8, [&](std::int64_t store) {
    return line % store == 0 && f.columns.padding.before * channels % store == 0 && more % store == 0 &&
           round_up(all, 4 * store) <= round_up(all, 8);
  });
}

/// Adds the block with numbers of rows that make rounds of all SMs full.
void add_rows(const Facts& f, Block b, std::vector<Block>& out) {
  const std::int64_t all = positions_h(f, b);
  std::int64_t tried = 0;
  std::vector<std::pair<double, Block>> found;
  for (std::int64_t segments = 1; segments <= std::min(all, kMostSegments); ++segments) {
    const std::int64_t rows = ceil_div(all, segments);
    if (rows != tried) {
      tried = b.rows = rows;
      found.emplace_back(predicted_seconds(f, b, f.of(b)), b);
    }
  }
  const std::size_t kept = std::min<std::size_t>(found.size(), kTriedRows);
  std::ranges::partial_sort(found, found.begin() + static_cast<std::ptrdiff_t>(kept),
                            [](const auto& a, const auto& other) { return a.first < other.first; });
  for (std::size_t i = 0; i < kept; ++i) {
    out.push_back(found[i].second);
  }
}

/// Adds the block with whole rows of positions of an image, and with parts of rows of several images, which fill the
/// rows of products better where a width is known.
void add_widths(const Facts& f, Block b, std::vector<Block>& out) {
  b.tile_w = f.of(b)[kProductRows];
  if (f.of(b)[kPitch] <= kMostBox) {
    out.push_back(b);
  }
  const std::int64_t all = positions_w(f, b);
  for (std::int64_t strips = 1; f.columns.extent && strips <= kMostStrips; ++strips) {
    b.tile_n = 1;
    b.tile_w = ceil_div(all, strips);
    if (f.of(b)[kPitch] <= kMostBox && f.of(b)[kPositions] <= f.of(b)[kProductRows]) {
      b.tile_n = std::min({(f.of(b)[kProductRows] - b.tile_w) / f.of(b)[kPitch] + 1, f.sizes.batch, kMostBox});
      if (b.tile_n > 1) {
        out.push_back(b);
      }
    }
  }
}

/// Whether so many blocks of an SM have registers, and shared memory for stages, as many as fit.
bool fits_sm(const Facts& f, Block& b) {
  return wanted_registers(f, b) <= registers_of_thread(f.of(b)[kThreads] * b.blocks_per_sm) &&
         fit_stages(f, b, kLeastStages, kMostStages, kSharedBytes, shared_of_block(f.target, b.blocks_per_sm));
}

/// Elements of a row of outputs are counted in an int too.
std::vector<Grid::Bound> bounds_of(const Facts& f, const Block& b) {
  std::vector<Grid::Bound> bounds = staged_bounds(f.layer, b.rows, b.tile_w);
  const std::int64_t elements = f.columns.stride * f.layer.out_channels;
  const std::int64_t reach = f.columns.kernel + f.columns.output_padding + f.columns.padding.before;
  bounds.back().most = std::min(bounds.back().most, std::max<std::int64_t>(0, kIntMax / elements - b.tile_w - reach));
  return bounds;
}

struct PhaseGemm : WarpgroupPlanner<Facts, kConstants, kHalfModes> {
  static Checks checks(const Layer& layer) {
    const Axis &rows = layer.axes[kHeight], &columns = layer.axes[kWidth];
    const std::int64_t phases = rows.stride * columns.stride, reach = ceil_div(rows.kernel, rows.stride);
    const std::int64_t shifts = ceil_div(columns.kernel, columns.stride);
    return {
        check_dense_pixels(layer),
        check_whole("y_channels", layer.y_channels),
        require(layer.in_channels % kChannelMultiple == 0,
                "{} input channels; tensor copies need whole 16 bytes, multiples of {}", layer.in_channels,
                kChannelMultiple),
        require(phases <= kMostRowColumns / layer.out_channels,
                "{} phases of {} output channels; a position has at most {} outputs, whose stores are unrolled", phases,
                layer.out_channels, kMostRowColumns),
        require(reach <= kMostColumns / round_up(phases * layer.out_channels, 8),
                "{} phases of {} output channels, which an input row adds to in {} rows of positions; a product has at "
                "most {} columns",
                phases, layer.out_channels, reach, kMostColumns),
        require(shifts <= kMostShifts, "{} taps of an output along a row; at most {}, which are unrolled", shifts,
                kMostShifts)};
  }
  static Blocks blocks(const Facts& f) {
    return BlockChoices(Block{.store = store_of(f), .block_k = row_channels(f.layer)})
        .each(&Block::warpgroups, &Block::thread_tiles, {{1, 1}, {2, 1}, {3, 1}, {1, 2}, {1, 3}})
        .keep([&](const Block& b) {
          return b.thread_tiles * f.of(b)[kInstructionN] / 2 <= kMostAccumulators &&
                 b.thread_tiles * f.of(b)[kRowColumns] <= kMostRowColumns;
        })
        .into([&](const Block& b, std::vector<Block>& out) { add_widths(f, b, out); })
        .up_to(&Block::blocks_per_sm, kMostBlocksOfSm)
        .keep([&](Block& b) { return fits_sm(f, b); })
        .into([&](const Block& b, std::vector<Block>& out) { add_rows(f, b, out); })
        .or_fail(
            "{} input channels of {} taps and {} output channels: their weights and two stages do not fit shared "
            "memory",
            f.layer.in_channels, tap_count(f.layer), f.layer.out_channels);
  }
  static double seconds(const Facts& f, const Block& b, Constants& c) { return predicted_seconds(f, b, c); }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    // Positions are as many as inputs, and some beyond them.
    return {fmt::format("a block makes {}x{} outputs of {} channels{}; {} taps", b.rows * f.rows.stride,
                        b.tile_w * f.columns.stride, f.layer.out_channels,
                        b.tile_n > 1 ? fmt::format(" of {} images", b.tile_n) : "", tap_count(f.layer)),
            fmt::format("tensor cores: products of 64 positions x {} columns, the phases of all channels in {} rows of "
                        "positions; {} shifts along a row, from shared memory; {} stages of {} input channels, weights "
                        "resident",
                        c[kInstructionN], c[kReachH], c[kReachW], b.stages, b.block_k),
            {.axes = {{per(Quantity::kBatch), b.tile_n},
                      {per(Quantity::kInHeight, c[kBeyondH] - c[kFirstH]), b.rows},
                      {per(Quantity::kInWidth, c[kBeyondW] - c[kFirstW]), b.tile_w}},
             .most_tiles = f.target.multiprocessors * b.blocks_per_sm,
             .bounds = bounds_of(f, b)},
            {pixel_map(f.layer, Role::kX, {b.block_k, c[kPitch], 1, b.tile_n}, {1, 1})},
            c[kAlignment]};
  }
};

}  // namespace planners::phase_gemm

CONVTGEN_TEMPLATE(PhaseGemm, phase_gemm);

}  // namespace convtgen
