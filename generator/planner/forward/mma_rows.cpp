#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "convtgen_template_programs_embedded.h"
#include "generator/layer/phases.h"
#include "generator/planner/forward/output_rows.h"
#include "generator/planner/search/block_choices.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/planner.h"
#include "generator/planner/search/tensor_cores.h"

namespace convtgen {
namespace planners::mma_rows {

constexpr std::int64_t kUnit = 8;           // channels, of input and output
constexpr std::int64_t kSector = 16;        // channels of 32 bytes of memory
constexpr std::int64_t kLine = 64;          // the same of 128
constexpr std::int64_t kPositions = 16;     // of a product
constexpr std::int64_t kMostProducts = 4;   // that are accumulated together
constexpr std::int64_t kMostStride = 64;    // along columns: phases that are written out
constexpr std::int64_t kMostColumns = 128;  // of the kernel: products that are written out
constexpr double kProductRate = 8;          // of mma.sync, times the rate of fp32 FMA

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK_AND_FACTS(output_rows::RowFacts, (warps, 4), (tile_rows, 1), (column_tiles, 1), (tile_channels, 8),
                         (products, 1), (blocks_per_sm, 1));
/// The template's constants that are asked for.
CONVTGEN_CONSTANTS(kThreads, kTileColumns, kChannelTiles, kInputUnits, kPixels, kSteps, kTileProducts, kVectors,
                   kSharedBytes, kAlignment);

/// Cycles of the chip's SMs, one after the other, of all blocks of a call.
double sm_cycles(const Facts& f, const Block& b, Constants& of_block) {
  // Of a warp, for 16 positions of all row phases: instructions, and wavefronts of shared memory.
  const auto products = static_cast<double>(f.rows.kernel * of_block[kSteps] * of_block[kTileProducts]);
  const double loads = static_cast<double>(f.rows.kernel * f.offsets * ceil_div(f.group_in, 2 * kUnit) *
                                           of_block[kTileProducts] / b.products);
  const double stored = static_cast<double>(f.rows.stride * f.columns.stride * kPositions * of_block[kVectors]) / 32;
  const double exchanged =
      static_cast<double>(std::min(f.rows.kernel, f.rows.stride) * f.phases * 2 * of_block[kTileProducts]);
  const double instructions = f.factors.mma_rows_product * products + 4 * loads + f.factors.mma_rows_stored * stored +
                              f.factors.mma_rows_exchanged * exchanged;
  const double wavefronts = 2 * products + 4 * loads + 4 * stored + exchanged;
  const double items = static_cast<double>(b.tile_rows * b.column_tiles);
  const double warps = static_cast<double>(b.warps * b.blocks_per_sm);
  const double work = items * (1 + f.factors.mma_rows_wait / warps) * std::max(instructions / 4, wavefronts);
  // Other blocks' work hides what a block waits for when it stages.
  const double staged =
      (static_cast<double>(of_block[kPixels] * of_block[kInputUnits]) * f.factors.mma_rows_staged +
       static_cast<double>(f.group_in * tap_count(f.layer) * b.tile_channels) * f.factors.mma_rows_weight) /
      128;
  return static_cast<double>(output_rows::whole_blocks(f, b, of_block[kTileColumns], of_block[kChannelTiles])) *
         (work + staged * (1 + 1.0 / static_cast<double>(b.blocks_per_sm)));
}

/// Registers of a thread and blocks of an SM.
void choose_blocks(const Facts& f, Block& b) {
  constexpr std::int64_t kOthers = 52;  // registers besides accumulators
  const std::int64_t registers = ceil_div(f.phases * b.products * 4 + kOthers, 8) * 8;
  b.blocks_per_sm = output_rows::choose_blocks(f, {f.of(b)[kThreads], registers, f.of(b)[kSharedBytes]});
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
  while (products > 1 && (of_group % products != 0 || f.phases * products * 4 > output_rows::kMostAccumulators)) {
    --products;
  }
  return products;
}

/// Adds the tiles of a block that fit: each warp has work, and less than half of a tile lies beyond the image.
void add_tiles(const Facts& f, Block b, std::vector<Block>& out, std::int64_t& least_bytes) {
  const std::int64_t most_column_tiles = f.positions(kHeight) == 1 ? 64 : 8;
  const std::int64_t across = power_of_two_at_least(ceil_div(f.positions(kWidth), kPositions));
  b.products = products_of(f, b.tile_channels);
  for (b.column_tiles = std::min(across, most_column_tiles); b.column_tiles >= 1; b.column_tiles /= 2) {
    for (const std::int64_t of_warp : {1, 2, 4, 8}) {
      b.tile_rows = of_warp * b.warps / b.column_tiles;
      if (of_warp * b.warps % b.column_tiles == 0 && b.tile_rows < 2 * f.positions(kHeight)) {
        const std::int64_t bytes = f.of(b)[kSharedBytes];
        least_bytes = std::min(least_bytes, bytes);
        if (bytes <= f.target.max_shared_bytes) {
          choose_blocks(f, b);
          out.push_back(b);
        }
      }
    }
  }
}

Result<void> check_units(std::string_view name, std::int64_t channels) {
  return require(channels % kUnit == 0, "groups of {} {} channels; products take multiples of {}", channels, name,
                 kUnit);
}

struct MmaRows : output_rows::RowPlanner<Facts, kConstants> {
  static constexpr Features kNeeds = {Feature::kLdmatrix, Feature::kMmaF16, Feature::kMmaBf16, Feature::kPackedConvert,
                                      Feature::kCpAsync};
  static constexpr auto& kComputes = kHalfModes;
  static constexpr bool kStreams = true;
  static constexpr FuseInput kFuseInput = FuseInput::kAny;

  static Checks checks(const Layer& layer) {
    const Axis& columns = layer.axes[kWidth];
    return {
        require(layer.layout == Layout::kNhwc, "layout nchw; it takes nhwc, whose channels of a pixel are vectors"),
        check_units("input", layer.in_channels / layer.groups),
        check_units("output", layer.out_channels / layer.groups),
        require(columns.stride <= kMostStride, "stride {} along columns; at most {}, the phases that are written out",
                columns.stride, kMostStride),
        require(columns.kernel <= kMostColumns, "{} kernel columns; at most {}, which are written out", columns.kernel,
                kMostColumns)};
  }
  static Checks size_checks(const Facts& f) {
    return {require(4 * f.phases <= output_rows::kMostAccumulators,
                    "{} column phases with taps; a thread holds the accumulators of at most {}", f.phases,
                    output_rows::kMostAccumulators / 4),
            output_rows::check_memory_bound(f, kProductRate * f.target.f32_flops, "products take")};
  }
  static Blocks blocks(const Facts& f) {
    std::int64_t least_bytes = std::numeric_limits<std::int64_t>::max();
    return BlockChoices(Block())
        .each(&Block::tile_channels, channel_choices(f))
        .each(&Block::warps, {8, 4, 2, 1})
        .into([&](const Block& b, std::vector<Block>& out) {
          if (b.warps >= 4 || out.empty()) {  // fewer only where more don't fit
            add_tiles(f, b, out, least_bytes);
          }
        })
        .or_fail([&] { return output_rows::fail_tile(f, least_bytes); });
  }
  static double seconds(const Facts& f, const Block& b, Constants& c) {
    // An SM issues 128 multiply-adds a cycle.
    const double work = 256 * sm_cycles(f, b, c) / f.target.f32_flops;
    const bool has_part_lines = b.tile_channels < f.layer.out_channels && b.tile_channels % kLine != 0;
    const double memory =
        (has_part_lines ? f.factors.mma_rows_part_lines : 1) * f.cost.bytes / f.target.bytes_per_second;
    return output_rows::seconds_of(f, work, memory);
  }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    return {fmt::format("a block makes {}x{} outputs of {} channels; {} taps", b.tile_rows * f.rows.stride,
                        c[kTileColumns] * f.columns.stride, b.tile_channels, tap_count(f.layer)),
            fmt::format("memory's time: a tile has all {} input channels of a group; a warp makes products of 16 "
                        "positions by {} channels in {} phases, and stores whole vectors of {} channels through shared "
                        "memory",
                        f.group_in, b.products * kUnit, f.phases, b.tile_channels),
            grid(f, b, c)};
  }
};

}  // namespace planners::mma_rows

CONVTGEN_TEMPLATE(MmaRows, mma_rows);

}  // namespace convtgen
