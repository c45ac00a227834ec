#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/search/block_choices.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/planner.h"
#include "generator/planner/search/roofline.h"
#include "generator/planner/search/scalar.h"
#include "generator/planner/search/tensor_cores.h"

namespace convtgen {
namespace planners::mma_grad_input {

constexpr std::int64_t kLeastIn = 4;                                         // input channels of a group
constexpr std::int64_t kMostOuts = 16;                                       // output channels of a group
constexpr std::int64_t kMostAccumulators = 96, kMostSplitAccumulators = 48;  // of a thread
constexpr std::int64_t kOtherRegisters = 56, kOtherSplitRegisters = 80;      // besides accumulators and A fragments
constexpr double kSplitWord = 8;                                             // instructions that split one
constexpr std::int64_t kMostThreadsOfSm = 1024;                              // that are asked for
constexpr std::int64_t kMostBlocksOfSm = 8;
constexpr std::int64_t kMostTile = 1024;  // positions
constexpr std::int64_t kBanks = 32;       // of shared memory
constexpr std::int64_t kSector = 32;      // bytes of memory
constexpr std::int64_t kLine = 128;

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK_AND_FACTS(FactsOf, (warps, 8), (tile_h, 1), (tile_w, 32), (m_tiles, 1), (n_tiles, 1), (block_n, 8),
                         (copy_bytes, 2), (store, 1), (blocks_per_sm, 1));
/// The template's constants that are asked for.
CONVTGEN_CONSTANTS(kThreads, kTileN, kItems, kWarpPositions, kChannelTiles, kUnit, kPixel, kRowsAdjacent, kWindowRows,
                   kRowUnits, kPitch, kWindowBytes, kPositionStep, kPack, kTwoCopies, kSteps, kFullSteps, kStepWords,
                   kStoreTiles, kAccumulators, kSharedBytes, kAlignment);

std::int64_t extent(const Facts& f, std::size_t axis) {
  return std::max<std::int64_t>(1, f.sizes.extents[axis]);
}

/// Bytes of the largest vector that adjacent elements of all rows, or pixels, are whole ones of.
std::int64_t copy_bytes_of(const Facts& f) {
  Constants& c = f.of({});
  std::int64_t adjacent = std::gcd(f.group_out, y_tensor_channels(f.layer));
  if (c[kRowsAdjacent] != 0) {
    adjacent = c[kPixel] * (f.columns.extent ? std::max<std::int64_t>(1, f.shape.out[kWidth]) : 1);
  }
  return f.bytes * std::gcd(adjacent, f.vector);
}

/// Numbers of adjacent elements that may be stored at once: all that divide what is adjacent.
std::vector<std::int64_t> stores_of(const Facts& f) {
  const std::int64_t adjacent =
      f.channels_last ? std::gcd(f.group_in, x_tensor_channels(f.layer)) : f.columns.extent.value_or(1);
  std::vector<std::int64_t> stores;
  for (std::int64_t store = f.vector; store >= 1; store /= 2) {
    if (adjacent % store == 0) {
      stores.push_back(store);
    }
  }
  return stores;
}

/// Channels of a tile: all of a group, or as many as a part of its products are.
std::set<std::int64_t> channels_of_tile(const Facts& f, const Block& b) {
  const std::int64_t unit = 8 * f.of(b)[kStoreTiles];
  std::set<std::int64_t> choices;
  for (const std::int64_t most : {256, 128, 64, 32}) {
    choices.insert(round_up(ceil_div(f.group_in, ceil_div(f.group_in, most)), unit));
  }
  return choices;
}

/// Numbers of products along the channels that a warp makes at a time.
std::vector<std::int64_t> products_of(const Facts& f, const Block& b) {
  std::vector<std::int64_t> choices;
  const std::int64_t tiles = b.block_n / 8;
  for (std::int64_t n = f.of(b)[kStoreTiles]; n <= tiles; n += f.of(b)[kStoreTiles]) {
    if (tiles % n == 0 && b.m_tiles * n * 4 <= (splits(f.layer) ? kMostSplitAccumulators : kMostAccumulators)) {
      choices.push_back(n);
    }
  }
  return choices;
}

/// Adds the tiles that an image's positions fill at least half of.
void add_tiles(const Facts& f, Block b, std::vector<Block>& out) {
  const std::int64_t across = std::max<std::int64_t>(8, power_of_two_at_least(extent(f, kWidth)));
  const std::int64_t down = power_of_two_at_least(extent(f, kHeight));
  for (b.tile_w = std::min<std::int64_t>(across, kMostTile); b.tile_w >= 8; b.tile_w /= 2) {
    for (b.tile_h = std::min(down, kMostTile / b.tile_w); b.tile_h >= 1; b.tile_h /= 2) {
      const std::int64_t positions = b.tile_h * b.tile_w;
      if (positions % (16 * b.m_tiles) == 0) {
        const std::int64_t items = positions / (16 * b.m_tiles) * (b.block_n / 8 / b.n_tiles);
        for (b.warps = 8; b.warps >= 1; b.warps /= 2) {
          if (items % b.warps == 0 && (b.warps >= 4 || items < 8)) {
            out.push_back(b);
          }
        }
      }
    }
  }
}

/// Registers of a thread and blocks of an SM; `least_bytes`: of what did not fit.
bool fits_sm(const Facts& f, Block& b, std::int64_t& least_bytes) {
  const std::int64_t registers = round_up((splits(f.layer) ? 2 : 1) * (f.of(b)[kAccumulators] + 4 * b.m_tiles) +
                                              (splits(f.layer) ? kOtherSplitRegisters : kOtherRegisters),
                                          8);
  const std::int64_t bytes = f.of(b)[kSharedBytes];
  if (bytes > f.target.max_shared_bytes) {
    least_bytes = std::min(least_bytes, bytes);
    return false;
  }
  b.blocks_per_sm =
      std::min(kMostBlocksOfSm, blocks_of_sm(f.target, {f.of(b)[kThreads], registers, bytes}, kMostThreadsOfSm));
  return true;
}

/// Wavefronts of a load of A fragments: the most words that lanes want of one bank. Lanes of a group of four read
/// adjacent words.
double wavefronts_of_load(const Facts& f, const Block& b, Constants& c) {
  const std::int64_t distance = f.channels_last ? 1 : 2 * b.m_tiles;  // positions
  std::array<std::set<std::int64_t>, kBanks> words;
  for (std::int64_t lane = 0; lane < 32; ++lane) {
    const std::int64_t position = lane / 4 * distance;
    const std::int64_t element =
        position / b.tile_w * f.rows.stride * c[kPitch] + position % b.tile_w * c[kPositionStep];
    const std::int64_t word = element / c[kPack] + element % c[kPack] * c[kWindowBytes] / 4 + lane % 4;
    words[static_cast<std::size_t>(word % kBanks)].insert(word);
  }
  std::size_t most = 1;
  for (const auto& bank : words) {
    most = std::max(most, bank.size());
  }
  return static_cast<double>(most);
}

/// Lines of memory that stores write sectors of in part, each by an instruction of a warp.
double cut_lines(const Facts& f, const Block& b, Constants& c) {
  // Adjacent outputs that a warp's lanes have, and how many instructions store them.
  const std::int64_t outputs =
      f.channels_last ? std::min(4 * b.store, f.group_in) : std::min(b.tile_w, c[kWarpPositions]);
  const std::int64_t times = f.channels_last ? 1 : 2 * b.m_tiles / b.store;
  const std::int64_t pitch =
      f.channels_last ? std::gcd(f.group_in, x_tensor_channels(f.layer)) : f.columns.extent.value_or(1);
  if (times == 1 && outputs * f.bytes % kSector == 0 && pitch * f.bytes % kSector == 0) {
    return 0;
  }
  const double crossed = static_cast<double>((outputs - b.store) * f.bytes) / kLine;
  return static_cast<double>(f.shape.input_elements * times) / static_cast<double>(outputs) * (1 + crossed);
}

struct MmaGradInput : Planner<Facts, kConstants> {
  static constexpr Direction kDirection = Direction::kGradInput;
  static constexpr Features kNeeds = {Feature::kMmaF16, Feature::kCpAsync};
  static constexpr auto& kComputes = kSplitModes;
  static constexpr bool kNeedsShape = true;

  static Checks checks(const Layer& layer) {
    const std::int64_t ins = layer.in_channels / layer.groups, outs = layer.out_channels / layer.groups;
    return {
        require(ins >= kLeastIn, "groups of {} input channels; at least {} of the 8 that a product has", ins, kLeastIn),
        require(outs <= kMostOuts,
                "groups of {} output channels; at most {}, whose taps are adjacent in a window of grad_y", outs,
                kMostOuts)};
  }
  static Checks size_checks(const Facts& f) {
    const Compute of = splits(f.layer) ? Compute::kTf32 : f.layer.compute;
    return {check_warp_products(f.target, of, kNeeds),
            splits(f.layer) ? check_split_products(f.target, of) : Result<void>()};
  }
  static Parameters parameters(const Problem& problem) {
    Parameters p = scalar_parameters(problem.layer, Direction::kGradInput);
    p.erase(p.find("Sum"));
    p.erase(p.find("element_kind"));
    p.emplace("type", product_type(problem.layer.dtype));
    p.emplace("splits", splits(problem.layer));
    return p;
  }
  static Blocks blocks(const Facts& f) {
    std::int64_t least_bytes = kIntMax;
    const std::int64_t copied = copy_bytes_of(f);
    return BlockChoices(Block())
        .each(&Block::store, stores_of(f))
        .keep([&](Block& b) {
          b.copy_bytes = copied;
          return true;
        })
        .each(&Block::block_n, [&](const Block& b) { return channels_of_tile(f, b); })
        .each(&Block::m_tiles, {4, 2, 1})
        .keep([&](const Block& b) { return f.channels_last || 2 * b.m_tiles % b.store == 0; })
        .each(&Block::n_tiles, [&](const Block& b) { return products_of(f, b); })
        .into([&](const Block& b, std::vector<Block>& out) { add_tiles(f, b, out); })
        .keep([&](Block& b) { return fits_sm(f, b, least_bytes); })
        .or_fail([&] {
          return fail_shared_memory(
              f.target,
              fmt::format("{} taps of {} output channels and a window of grad_y", tap_count(f.layer), f.group_out),
              least_bytes);
        });
  }
  static double seconds(const Facts& f, const Block& b, Constants& c) {
    const auto m = static_cast<double>(b.m_tiles), n = static_cast<double>(b.n_tiles);
    const double steps = c.number(kSteps), ragged = steps - c.number(kFullSteps);
    const double items = c.number(kItems);
    const double products = (splits(f.layer) ? 3 : 1) * steps * m * n;
    const double loads = 4 * m * steps;
    // Values are rounded, or split and their sums added to totals each four steps.
    const double rounding = splits(f.layer) ? kSplitWord * loads + 2 * steps * m * n : f.bytes == 4 ? loads : 0;
    // Of a warp, for an item: besides products and loads, words' places and masks; positions and their stores.
    const double stores = 8 * m * n / static_cast<double>(b.store) / 2 * (b.store == 1 ? 1.0 : 2.0);
    const double instructions = products + loads + rounding + steps * (n + 8) + ragged * (4 * m + 12) +
                                stores * f.factors.mma_input_store + f.factors.mma_input_item;
    const double units = c.number(kWindowRows) * c.number(kRowUnits);
    // Pieces of pixels are read by sectors of 32 bytes.
    const auto copied = static_cast<double>(
        c[kRowsAdjacent] != 0 ? b.copy_bytes
                              : std::max(b.copy_bytes, std::min(kSector, y_tensor_channels(f.layer) * f.bytes)));
    const double shifted = c[kTwoCopies] != 0 ? c.number(kWindowBytes) / 16 : 0;
    const double copies = (units * f.factors.mma_input_copy + shifted * f.factors.mma_input_shift) / 32;
    const double tile = cycles_of(
        f.target, {.tensor_cycles = items * products * f.target.sm.mma_cycles,
                   .shared_wavefronts =
                       items * (loads * wavefronts_of_load(f, b, c) + steps * ((splits(f.layer) ? 4 : 2) * n + 2)) +
                       c.number(kWindowBytes) / 128,
                   .instructions = (items * instructions + copies) / 4,
                   .l2_bytes = units * copied});
    const double waits = 1 + f.factors.mma_input_wait / static_cast<double>(b.warps * b.blocks_per_sm);
    const double of_weight = f.factors.mma_input_weight + (splits(f.layer) ? kSplitWord : 0);
    const double weights = steps * c.number(kTileN) * 64 * of_weight / 128;
    const std::int64_t tiles = f.sizes.batch * ceil_div(extent(f, kHeight), b.tile_h) *
                               ceil_div(extent(f, kWidth), b.tile_w) * c[kChannelTiles];
    const std::int64_t at_once = f.target.multiprocessors * b.blocks_per_sm;
    const std::int64_t rounds = ceil_div(tiles, at_once);
    const double of_sm = static_cast<double>(
        rounds > 1 ? rounds * b.blocks_per_sm
                   : std::min(b.blocks_per_sm, ceil_div(tiles, std::int64_t{f.target.multiprocessors})));
    const double blocks = std::min(static_cast<double>(b.blocks_per_sm), of_sm);
    return call_seconds(f, {.first_cycles = f.factors.mma_input_begin + weights * blocks,
                            .waves = of_sm,
                            .wave_cycles = tile * waits,
                            .hidden_less = f.factors.hidden_less,
                            .measured = f.factors.mma_input_measured}) +
           cut_lines(f, b, c) / (f.factors.mma_input_cut_lines * 1e9);
  }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    return {fmt::format("a block makes {}x{} inputs of {} channels; {} taps", b.tile_h, b.tile_w,
                        std::min(b.block_n, f.group_in), tap_count(f.layer)),
            fmt::format("tensor cores: {} output channels of a group; {} steps of K have their taps, read from a "
                        "window of grad_y; a warp makes {} positions of {} channels{}",
                        f.group_out, c[kSteps], 16 * b.m_tiles, 8 * b.n_tiles,
                        splits(f.layer) ? " by three products of tf32" : ""),
            {.axes = {{per(Quantity::kInHeight), b.tile_h},
                      {per(Quantity::kInWidth), b.tile_w},
                      {per(Quantity::kBatch), 1}},
             .blocks_per_tile = c[kChannelTiles],
             .most_tiles =
                 std::max<std::int64_t>(1, ceil_div(f.target.multiprocessors * b.blocks_per_sm, c[kChannelTiles])),
             .bounds = staged_bounds(f.layer, b.tile_h, b.tile_w)}};
  }
};

}  // namespace planners::mma_grad_input

CONVTGEN_TEMPLATE(MmaGradInput, mma_grad_input);

}  // namespace convtgen
