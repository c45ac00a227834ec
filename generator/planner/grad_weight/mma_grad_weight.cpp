#include "generator/planner/grad_weight/mma_grad_weight_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/grad_weight/choices.h"
#include "generator/planner/grad_weight/grad_bias.h"
#include "generator/planner/grad_weight/launch.h"
#include "generator/planner/grad_weight/search.h"
#include "generator/planner/grad_weight/split_scales.h"
#include "generator/planner/grad_weight/staging.h"
#include "generator/planner/search/block_choices.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/planner.h"
#include "generator/planner/search/roofline.h"
#include "generator/planner/search/tensor_cores.h"

namespace convtgen {
namespace planners::mma_grad_weight {

constexpr std::int64_t kLeastAccumulators = 48, kLeastSplitAccumulators = 24;  // of a thread, where there are as many
constexpr std::int64_t kMostThreads = 512;
constexpr std::int64_t kMostTapsOfWarp = 32;
constexpr std::int64_t kMostStrip = 8;
constexpr std::int64_t kMostStripProducts = 192;  // of a warp, written out
constexpr std::int64_t kMostKept = 8;             // fragments of x that a strip keeps
constexpr std::int64_t kMostBatchWords = 48;      // of a thread, on their way through registers
constexpr std::int64_t kMostPositions = 256;      // of a stage
constexpr std::int64_t kLeastSteps = 4;           // products of positions of a stage
constexpr std::int64_t kMostRegisters = 255;      // of a thread
constexpr std::int64_t kOtherRegisters = 44;      // of a thread, besides accumulators and what it loads
constexpr std::int64_t kMostSplitOfTuring = 256;  // where products have half the terms; with more ptxas spills
constexpr std::int64_t kMostBlocks = 4;           // of an SM, that are asked for
constexpr std::int64_t kLeastStages = 2, kMostStages = 4;
constexpr std::int64_t kLeastOfVolumes = 4;  // channels of groups, which no others make products of

/// Whether asynchronous copies bring what products read.
bool can_copy(const Facts& f) {
  return !splits(f.layer) && f.target.features.has(Feature::kCpAsync);
}

/// Whether copies can bring rows of NCHW: of tf32, whose elements are words of fragments as they lie, or of 16 bits by
/// two elements or more.
bool can_copy_rows(const Facts& f) {
  constexpr std::int64_t kMostStride = 2;
  return can_copy(f) && !f.channels_last &&
         (f.bytes == 4 ||
          (f.layer.axes[kWidth].extent && f.sizes.extents[kWidth] % 2 == 0 &&
           output_extent(f.columns, f.sizes.extents[kWidth]) % 2 == 0 && f.columns.stride <= kMostStride));
}
/// Whether a block can have tiles of so many columns where copies bring such rows.
bool fits_rows(const Facts& f, const Block& b) {
  return !has_whole_rows(f, b) || (b.tile_columns % 8 == 0 && !b.along_row &&
                                   (b.taps_w == f.columns.kernel || b.taps_w * f.columns.dilation % 2 == 0));
}

/// How x and grad_y are brought: by the largest asynchronous copies that the pixels' channels allow. Through registers
/// where they allow none, where values are split, and where there are no such copies; there whole units of channels,
/// where these are adjacent, or two adjacent positions.
void choose_copies(const Facts& f, Block& b) {
  const bool by_copies = can_copy(f) && f.channels_last;
  const auto widest = [&](std::int64_t channels) { return by_copies ? std::gcd(channels * f.bytes, 16) : 0; };
  constexpr std::int64_t kLeastCopy = 4;
  const std::int64_t in = widest(f.group_in), out = widest(f.group_out);
  b.copies_in = in >= kLeastCopy;
  b.copies_out = out >= kLeastCopy;
  b.copy_bytes = b.copies_in && b.copies_out ? std::min(in, out) : b.copies_in ? in : b.copies_out ? out : 0;
  const std::int64_t unit = f.of(b)[kVector];
  b.wide_in = f.channels_last && !b.copies_in && f.group_in % unit == 0;
  b.wide_out = f.channels_last && !b.copies_out && f.group_out % unit == 0;
  b.span = f.channels_last ? 1 : 2;
}

/// Registers of a thread.
std::int64_t registers_of(const Facts& f, const Block& b, Constants& c) {
  // Of grad_y what later steps of a strip need, too.
  const std::int64_t kept = std::min(c[kInnerPlanes] * (c[kPlaneLoads] - b.strip + 1), c[kStripLoads]);
  const std::int64_t fragments = 4 * c[kParts] * (b.strip * c[kWarpInTiles] + (kept + 1) * c[kWarpOutLoads]);
  // Where values are split: accumulators of both parts, and totals.
  const std::int64_t sums = (c[kParts] == 2 ? 3 : 1) * c[kAccumulators];
  // Of tf32 one channel of each tile.
  const std::int64_t of_tile = f.layer.compute == Compute::kTf32 ? 2 : 2 + 4 * c[kParts];
  const std::int64_t bias = b.sums_bias ? of_tile * c[kWarpOutTiles] : 0;
  return round_up(sums + fragments + c[kBatchWords] + bias + kOtherRegisters, 8);
}

/// Whether so many blocks have the registers that they need. Each of the four schedulers has a quarter of an SM's, so
/// those with one warp more than the others limit all.
bool have_registers(const BlockNeeds& needs, std::int64_t blocks) {
  constexpr std::int64_t kThreadsOfSchedulers = 4 * 32;
  return needs.registers * round_up(blocks * needs.threads, kThreadsOfSchedulers) <= kRegistersOfSm;
}

/// Whether a block fits an SM; chooses how many do.
bool choose_blocks(const Facts& f, Block& b) {
  Constants& c = f.of(b);
  const BlockNeeds needs = {.threads = c[kThreads],
                            .registers = std::min(kMostRegisters, registers_of(f, b, c)),
                            .shared_bytes = c[kSharedBytes]};
  if (splits(f.layer) && !f.target.features.has(Feature::kCpAsync) && registers_of(f, b, c) > kMostSplitOfTuring) {
    return false;
  }
  if (needs.shared_bytes > f.target.max_shared_bytes || !have_registers(needs, 1) || c[kBatchWords] > kMostBatchWords) {
    return false;
  }
  b.blocks_per_sm = std::min(kMostBlocks, blocks_of_sm(f.target, needs, f.target.max_threads_per_sm));
  while (!have_registers(needs, b.blocks_per_sm)) {
    --b.blocks_per_sm;
  }
  return true;
}

/// As many stages as fit with as many blocks of an SM as registers allow, and at least two.
bool choose_stages(const Facts& f, Block& b) {
  Block best;
  std::int64_t most = 0;
  for (b.stages = b.copy_bytes > 0 ? kMostStages : kLeastStages; b.stages >= kLeastStages; --b.stages) {
    // The third stage is worth as much as a second block is, the fourth less.
    if (choose_blocks(f, b) && b.blocks_per_sm * std::min<std::int64_t>(b.stages, 3) > most) {
      most = b.blocks_per_sm * std::min<std::int64_t>(b.stages, 3);
      best = b;
    }
  }
  b = best;
  return most > 0;
}

/// The number of slices that is predicted to be the fastest.
double choose_slices(const Facts& f, Block& b) {
  Constants& c = f.of(b);
  const SliceFacts facts = {.multiprocessors = f.target.multiprocessors * b.blocks_per_sm,
                            .blocks = c[kSliceBlocks],
                            .stages = tiles_of(f, b),
                            .stage_positions = b.tile_rows * b.tile_columns / b.warps_k,
                            .weights = c[kWeights],
                            .totals = c[kTotals],
                            .is_open = !f.layer.batch || !f.rows.extent || !f.columns.extent};
  Block best;
  double least = 0;
  for (const Slices& choice : slice_choices(facts)) {
    b.slices = choice.slices;
    b.promote_stages = splits(f.layer) ? 0 : choice.promote_stages;
    const double seconds = seconds_of(f, b, f.of(b));
    if (least == 0 || seconds < least) {
      best = b;
      least = seconds;
    }
  }
  b = best;
  return least;
}

/// Rows and columns of the positions of a stage.
std::vector<std::pair<std::int64_t, std::int64_t>> tile_choices(const Facts& f, std::int64_t k, std::int64_t least) {
  const std::int64_t width = f.sizes.extents[kWidth],
                     all_rows = f.sizes.batch * f.sizes.extents[kDepth] * f.sizes.extents[kHeight];
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (const std::int64_t columns : {k / 4, k / 2, k, 3 * k / 2, 2 * k, 3 * k, 4 * k, 8 * k, 16 * k}) {
    // The narrowest are for narrow images alone.
    if (columns == k / 4 ? columns < width : columns >= 2 * width) {
      continue;
    }
    for (std::int64_t rows = 1; rows * columns <= kMostPositions; rows *= 2) {
      const std::int64_t positions = rows * columns;
      if (positions >= least * k && (rows < 2 * all_rows || positions < 2 * least * k)) {
        out.emplace_back(rows, columns);
      }
    }
  }
  return out;
}

/// Whether the warps of a stage can share strips of that length, and threads keep what these load.
bool fits_strip(const Facts& f, const Block& b) {
  Constants& c = f.of(b);
  const std::int64_t parts = c[kParts], products = static_cast<std::int64_t>(products_of_value(f));
  return b.strip == 1 || (parts * b.strip * c[kWarpInTiles] <= kMostKept &&
                          products * c[kStripProducts] <= kMostStripProducts && c[kBatchWords] <= kMostBatchWords);
}

/// The longest strip of a stage, of so many products at the most, that its warps can share.
bool choose_strip(const Facts& f, Block& b, std::int64_t most) {
  const std::int64_t k = f.of(b)[kInstructionK];
  const std::int64_t part = b.tile_columns % k == 0 ? k : b.tile_columns % (k / 2) == 0 ? k / 2 : k / 4;
  const std::int64_t rows = b.tile_rows * part / k;
  if (rows * k != b.tile_rows * part) {
    return false;
  }
  if (splits(f.layer) && b.tile_rows * b.tile_columns > grad_weight::kMostSplitSteps * k * b.warps_k) {
    return false;
  }
  for (b.strip = most; b.strip >= 1; b.strip /= 2) {
    const std::int64_t of_column = rows / b.strip;
    if (rows % b.strip == 0 && of_column * (b.tile_columns / part) % b.warps_k == 0 && fits_strip(f, b)) {
      return true;
    }
  }
  return false;
}

/// Whether blocks can add up the B fragments of such taps. Those of tf32 are rounded but in planar stages.
bool can_sum_bias(const Facts& f, const Block& b) {
  Constants& c = f.of(b);
  return f.layer.bias && !b.along_row && are_read_once(f.rows) && are_read_once(f.columns) &&
         are_read_once(symmetric(f.layer.axes[kDepth])) && c[kTapGroups] == 1 && c[kThreads] >= b.block_out &&
         (f.layer.compute != Compute::kTf32 || c[kPlanar] != 0);
}

/// A block with its channels, taps and warps, with the best positions.
struct Found {
  Block best;
  double least = 0;  // 0: none

  /// Whether stages of it fit, with sums of grad_y or without them.
  bool add(const Facts& f, Block& tile) {
    const bool fits = keep(f, tile);
    if (fits && can_sum_bias(f, tile)) {
      Block sums(tile);
      sums.sums_bias = true;
      // Else ptxas spills. Of split values, whose accumulators are three, it does not.
      if (splits(f.layer) || registers_of(f, sums, f.of(sums)) <= kMostRegisters) {
        keep(f, sums);
      }
    }
    return fits;
  }

  bool keep(const Facts& f, Block& tile) {
    const bool fits = choose_stages(f, tile);
    if (fits) {
      const double seconds = choose_slices(f, tile);
      if (tile.sums_bias) {
        tile.bias_slices = tile.slices * f.layer.axes[kDepth].kernel;
      }
      if (least == 0 || seconds < least) {
        best = tile;
        least = seconds;
      }
    }
    return fits;
  }
};

/// Adds that block, whose strips go down rows or along them.
void add_positions(const Facts& f, Block b, bool is_large, std::vector<Block>& out) {
  Found found;
  const std::int64_t k = f.of(b)[kInstructionK], columns = f.of(b)[kWarpTapsW], period = f.of(b)[kPeriodW];
  for (const auto& [rows, of_row] : tile_choices(f, k, is_large ? kLeastSteps : 1)) {
    Block tile(b);
    tile.tile_rows = rows;
    tile.tile_columns = of_row;
    // A shorter strip where fragments of the longest one leave too few registers.
    for (std::int64_t most = kMostStrip; most >= 1 && fits_rows(f, tile) && choose_strip(f, tile, most);
         most = tile.strip / 2) {
      Block attempt(tile);
      if (found.add(f, attempt) || f.of(tile)[kSharedBytes] > f.target.max_shared_bytes) {
        break;
      }
    }
  }
  const bool may_share = !has_whole_rows(f, b) && columns > period && (b.warps_taps == 1 || columns % period == 0);
  for (b.strip = 3; may_share && b.strip <= 7; b.strip += 2) {
    b.along_row = true;
    for (std::int64_t strips = 1; strips * b.strip * k <= kMostPositions; strips *= 2) {
      for (b.tile_rows = 1; b.tile_rows <= strips; b.tile_rows *= 2) {
        Block tile(b);
        tile.tile_columns = strips / b.tile_rows * b.strip * k;
        if (tile.tile_columns < 2 * f.sizes.extents[kWidth] && strips % b.warps_k == 0 &&
            (!splits(f.layer) || strips / b.warps_k * b.strip <= grad_weight::kMostSplitSteps) && fits_strip(f, tile)) {
          found.add(f, tile);
        }
      }
    }
  }
  if (found.least > 0) {
    out.push_back(found.best);
  }
}

/// How many tiles a warp may have, or warps a block, of so many tiles: powers of two, and three where these divide
/// them.
std::vector<std::int64_t> counts_up_to(std::int64_t most, std::int64_t tiles) {
  std::vector<std::int64_t> out;
  for (const std::int64_t count : {1, 2, 3, 4, 8}) {
    if (count <= most && (count != 3 || tiles % 3 == 0)) {
      out.push_back(count);
    }
  }
  return out;
}

/// Blocks of a rectangle of taps, by warps and what each has: of enough warps, with enough accumulators, or any.
void add_warps(const Facts& f, Block b, bool is_large, std::vector<Block>& out) {
  const std::vector<std::int64_t> of_in = counts_up_to(4, ceil_div(f.group_in, 16)),
                                  of_out = counts_up_to(4, ceil_div(f.group_out, 8));
  for (const std::int64_t in : of_in) {
    for (const std::int64_t outs : {1, 2, 4, 8}) {
      const std::int64_t taps = b.taps_h * (b.taps_w / b.warps_taps);
      const std::int64_t accumulators = taps * in * outs * 4;
      const bool whole_in = in * 16 >= f.group_in, whole_out = outs * 8 >= f.group_out;
      if (accumulators > f.of({})[kMostAccumulators] || (in > 1 && ceil_div(in, 2) * 16 >= f.group_in) ||
          (outs > 1 && outs / 2 * 8 >= f.group_out) ||
          (is_large && accumulators < (splits(f.layer) ? kLeastSplitAccumulators : kLeastAccumulators) &&
           !(whole_in && whole_out))) {
        continue;
      }
      for (const std::int64_t warps_in : of_in) {
        for (const std::int64_t warps_out : of_out) {
          for (const std::int64_t warps_k : {1, 2, 4}) {
            const std::int64_t warps = warps_in * warps_out * warps_k * b.warps_taps;
            if ((is_large && warps < 4) || warps * 32 > kMostThreads ||
                (warps_in > 1 && (warps_in - 1) * in * 16 >= f.group_in) ||
                (warps_out > 1 && (warps_out - 1) * outs * 8 >= f.group_out) || (warps_k > 1 && warps > 8)) {
              continue;
            }
            b.warps_in = warps_in;
            b.warps_out = warps_out;
            b.warps_k = warps_k;
            b.block_in = warps_in * in * 16;
            b.block_out = warps_out * outs * 8;
            add_positions(f, b, is_large, out);
          }
        }
      }
    }
  }
}

/// The blocks whose stages come as those of `first`: large ones, or any if no large one fits.
std::vector<Block> blocks_from(const Facts& f, const Block& first) {
  std::vector<Block> out;
  for (const bool is_large : {true, false}) {
    for (const auto& [taps_h, taps_w] : tap_rectangles(f.rows, f.columns)) {
      for (const std::int64_t warps_taps : {1, 2, 3, 4, 5, 7, 8}) {
        Block b(first);
        b.taps_h = taps_h;
        b.taps_w = taps_w;
        b.warps_taps = warps_taps;
        if (taps_w % warps_taps == 0 && taps_h * (taps_w / warps_taps) <= kMostTapsOfWarp) {
          add_warps(f, b, is_large, out);
        }
      }
    }
    if (!out.empty()) {
      break;
    }
  }
  return out;
}

Result<void> check_volume_channels(const Layer& layer) {
  const std::int64_t least = std::min(layer.in_channels, layer.out_channels) / layer.groups;
  return require(layer.groups == 1 || least >= kLeastOfVolumes,
                 "groups of {} channels; of volumes tensor cores need {}", least, kLeastOfVolumes);
}

struct MmaGradWeight : WarpgroupPlanner<Facts, kConstants> {
  static constexpr Direction kDirection = Direction::kGradWeight;
  static constexpr Features kNeeds = {Feature::kLdmatrix, Feature::kMmaF16K8};
  static constexpr auto& kComputes = kSplitModes;
  static constexpr bool kTakesDepth = true;
  static constexpr std::size_t kMostPlans = 10;

  static Checks checks(const Layer& layer) {
    // Values are split by units of eight channels, and scanned by four.
    return {layer.dimensions == 3 ? check_volume_channels(layer) : check_group_channels(layer),
            splits(layer) ? grad_weight::check_channels_last(layer, 8) : Result<void>{}};
  }
  static Checks size_checks(const Facts& f) { return {check_warp_products(f.target, f.layer.compute, kNeeds)}; }
  static Parameters parameters(const Problem& problem) { return grad_weight::word_parameters_of(problem); }
  static Blocks blocks(const Facts& f) {
    Block first = {.bias_slices = bias_slices(f.problem)};
    choose_copies(f, first);
    if (splits(f.layer)) {
      first.scan_slices = scan_slices(f.target, f.of(first)[kScanTiles]);
    }
    std::vector<Block> out = blocks_from(f, first);
    if (can_copy_rows(f)) {
      Block rows(first);
      rows.copies_in = rows.copies_out = true;
      rows.copy_bytes = 16;  // at the most
      rows.span = 1;
      std::ranges::copy(blocks_from(f, rows), std::back_inserter(out));
    }
    std::erase_if(out, [&](const Block& b) { return f.of(b)[kSliceBlocks] > kIntMax / b.slices; });
    if (out.empty()) {
      return fail_shared_memory(f.target, "two stages of positions", f.of(first)[kSharedBytes]);
    }
    return out;
  }
  static double seconds(const Facts& f, const Block& b, Constants& c) { return seconds_of(f, b, c); }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    return {fmt::format("a block makes {}x{} taps of {} by {} channels; {} slice{}", b.taps_h, b.taps_w,
                        std::min(b.block_in, f.group_in), std::min(b.block_out, f.group_out), b.slices,
                        b.slices == 1 ? "" : "s"),
            fmt::format("tensor cores: {} warps make {}products over positions of {} x {} channels by {} taps; {} "
                        "stages of {}x{} positions{}{}{}{}",
                        c[kThreads] / 32, splits(f.layer) ? "three f16 " : "", 16 * c[kWarpInTiles],
                        8 * c[kWarpOutTiles], b.taps_h * c[kWarpTapsW], b.stages, b.tile_rows, b.tile_columns,
                        b.along_row ? ", strips along rows" : "",
                        b.copy_bytes == 0             ? " through registers"
                        : b.copies_in && b.copies_out ? ""
                        : b.copies_in                 ? ", grad_y through registers"
                                                      : ", x through registers",
                        b.promote_stages > 0 ? fmt::format(", promoted every {}", b.promote_stages) : "",
                        b.sums_bias ? ", with sums of grad_y" : ""),
            sliced_grid(f.layer, b.slices * c[kSliceBlocks], b.tile_rows, b.tile_columns)};
  }
  static void add(LaunchPlan& launch, const Facts& f, const Block& b, Constants& c) {
    add_slices(launch, f.layer,
               {.slices = b.slices,
                .weights = c[kWeights],
                .bias_slices = b.bias_slices,
                .totals_bytes = b.promote_stages > 0 ? b.slices * c[kSliceBlocks] * c[kTotals] * 4 : 0,
                .sums_channels = !b.sums_bias});
    if (splits(f.layer)) {
      add_scan(launch, b.scan_slices, c[kScanTiles], c[kScanSharedBytes], c[kScannedChannels]);
    }
  }
};

}  // namespace planners::mma_grad_weight

CONVTGEN_TEMPLATE(MmaGradWeight, mma_grad_weight);

}  // namespace convtgen
