#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/search/block_choices.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/planner.h"
#include "generator/planner/search/roofline.h"

namespace convtgen {
namespace planners::mma_pixels {

constexpr std::int64_t kMostTapBits = 31;      // of the word that has a bit for each tap
constexpr std::int64_t kMostCopies = 8;        // of a thread, whose places registers hold
constexpr std::int64_t kOtherRegisters = 40;   // of a thread, beside accumulators, fragments and places
constexpr std::int64_t kRoundedRegisters = 4;  // more for each k-step, where fragments are rounded to tf32
constexpr std::int64_t kMostRegisters = 256;   // by this estimate: ptxas finds room for one more
constexpr std::int64_t kLeastStages = 3, kMostStages = 4;
constexpr std::int64_t kMostBlocksOfSm = 4;     // that are asked for
constexpr std::int64_t kMostBlocks = 1 << 24;   // of a grid
constexpr std::int64_t kBlocksOfOpenSizes = 8;  // of an SM's room, where sizes are open: others would have no tile

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK_AND_FACTS(FactsOf, (block_m, 64), (block_n, 32), (adjacent_channels, 1), (store, 1), (warps_m, 2),
                         (warps_n, 1), (blocks_per_sm, 1), (block_k, 32), (stages, kLeastStages));

/// The template's constants that are wanted, by their names there.
CONVTGEN_CONSTANTS(kMostAccumulators, kInstructionK, kTapBits, kTaps, kPhases, kKSteps, kKBlocks, kNTiles, kWarpTiles,
                   kWarpChannels, kAccumulators, kCopies, kWeightCopies, kStageBytes, kThreads, kSharedBytes,
                   kPackedBytes, kPackedRows, kAlignment, kInputPixelBytes, kArrangedPixels, kArrangeParts);

/// Positions of a phase in one image.
std::int64_t image_positions(const Facts& f) {
  std::int64_t all = 1;
  for (const std::size_t axis : axes_of(f.layer)) {
    all *= ceil_div(f.shape.out[axis], f.layer.axes[axis].stride);
  }
  return all;
}

/// Blocks of all phases.
std::int64_t tiles(const Facts& f, const Block& b) {
  return ceil_div(f.sizes.batch * image_positions(f), b.block_m) * f.of(b)[kPhases];
}

bool has_open_size(const Layer& layer) {
  return std::ranges::any_of(axes_of(layer), [&](std::size_t axis) { return !layer.axes[axis].extent; });
}

std::int64_t registers(const Facts& f, const Block& b) {
  Constants& c = f.of(b);
  const std::int64_t fragments = 4 * (c[kWarpTiles] + c[kWarpChannels] / 16);
  const std::int64_t rounded = f.bytes == 4 && f.channels_last ? kRoundedRegisters * c[kKSteps] : 0;
  return round_up(c[kAccumulators] + 2 * fragments + 3 * c[kCopies] + rounded + kOtherRegisters, 8);
}

/// Chooses stages, and how many blocks an SM has room for; false where not even one fits.
bool choose_stages(const Facts& f, Block& b) {
  if (!fit_stages(f, b, kLeastStages, b.stages, kSharedBytes, f.target.max_shared_bytes)) {
    return false;
  }
  if (registers(f, b) > kMostRegisters) {
    return false;
  }
  const BlockNeeds needs = {f.of(b)[kThreads], std::min<std::int64_t>(255, registers(f, b)), f.of(b)[kSharedBytes]};
  b.blocks_per_sm = std::min(kMostBlocksOfSm, blocks_of_sm(f.target, needs, f.target.max_threads_per_sm));
  return needs.registers * needs.threads <= kRegistersOfSm;
}

/// Adjacent channels of a thread, all of which it stores together; in nchw what products have, one by one.
void choose_store(const Facts& f, Block& b) {
  if (!f.channels_last) {
    b.adjacent_channels = 2;
    return;
  }
  b.store = b.adjacent_channels = halved_until(f.vector, [&](std::int64_t store) {
    return b.block_n / b.warps_n % (4 * store) == 0 && f.group_out % store == 0;
  });
}

struct MmaPixels : VolumePlanner<Facts, kConstants> {
  static constexpr Features kNeeds = {Feature::kLdmatrix, Feature::kMmaF16,        Feature::kMmaBf16,
                                      Feature::kMmaTf32,  Feature::kPackedConvert, Feature::kCpAsync};
  static constexpr std::size_t kMostPlans = 10;

  static Checks checks(const Layer& layer) {
    return {check_group_channels(layer),
            require(layer.layout == Layout::kNchw || layer.in_channels / layer.groups * bytes_of(layer.dtype) % 16 == 0,
                    "groups of {} input channels; copies of 16 bytes take multiples of {}",
                    layer.in_channels / layer.groups, 16 / bytes_of(layer.dtype))};
  }
  static Checks size_checks(const Facts& f) {
    return {require(f.of({})[kTapBits] <= kMostTapBits,
                    "kernel {}: a phase has {} rows and columns of taps, each with a bit in a word; at most {}",
                    axes_text(f.layer, &Axis::kernel), f.of({})[kTapBits], kMostTapBits)};
  }
  static Blocks blocks(const Facts& f) {
    struct Tile {
      std::int64_t block_m, block_n, warps_m, warps_n;
    };
    constexpr std::array kTiles = {
        Tile{128, 256, 2, 4}, Tile{256, 128, 4, 2}, Tile{128, 128, 2, 2}, Tile{128, 128, 4, 2}, Tile{64, 256, 1, 4},
        Tile{256, 64, 4, 1},  Tile{128, 64, 2, 2},  Tile{64, 128, 1, 4},  Tile{64, 128, 2, 2},  Tile{64, 64, 2, 2},
        Tile{256, 32, 4, 1},  Tile{128, 32, 4, 1},  Tile{64, 32, 2, 1}};
    std::vector<Block> all;
    for (const auto& [block_m, block_n, warps_m, warps_n] : kTiles) {
      if (block_n == 32 || block_n < 2 * f.group_out) {
        all.push_back({.block_m = block_m, .block_n = block_n, .warps_m = warps_m, .warps_n = warps_n});
        choose_store(f, all.back());
      }
    }
    return BlockChoices(std::move(all))
        .each(&Block::block_k, {2 * f.of({})[kInstructionK], 4 * f.of({})[kInstructionK]})
        .each(&Block::stages, {kMostStages, kLeastStages})
        .keep([&](Block& b) {
          return f.of(b)[kCopies] <= kMostCopies && f.of(b)[kWeightCopies] > 0 && choose_stages(f, b);
        })
        .distinct()
        .or_fail([&] { return fail_shared_memory(f.target, "stages of pixels and weights", f.of({})[kSharedBytes]); });
  }
  static double seconds(const Facts& f, const Block& b, Constants& c) {
    const SmRates& sm = f.target.sm;
    const auto warps = static_cast<double>(b.warps_m * b.warps_n);
    const double k_steps = c.number(kKSteps);
    const double loads = warps * k_steps * (c.number(kWarpTiles) + c.number(kWarpChannels) / 16);  // of 512 bytes
    const double products = warps * k_steps * c.number(kWarpTiles) * c.number(kWarpChannels) / 8;
    const double rounded = f.bytes == 4 && f.channels_last ? warps * k_steps * c.number(kWarpTiles) * 8 : 0;
    const double copies = warps * (c.number(kCopies) * f.factors.mma_pixels_copy + c.number(kWeightCopies) * 2);
    const StageWork stage = {.tensor_cycles = products * sm.mma_cycles,
                             .shared_wavefronts = (loads * 512 + c.number(kStageBytes)) / sm.shared_bytes_per_cycle,
                             .instructions = (products + loads + rounded + copies) / 4,
                             .l2_bytes = c.number(kStageBytes) * sm.l2_bytes_per_cycle / f.factors.mma_pixels_l2};
    const auto blocks =
        static_cast<double>(tiles(f, b) * c[kNTiles]) / static_cast<double>(f.target.multiprocessors);  // of an SM
    const double at_once = std::min(std::ceil(blocks), static_cast<double>(b.blocks_per_sm));
    const double outputs = static_cast<double>(b.block_m * b.block_n);
    const double stages = c.number(kTaps) * c.number(kKBlocks) / c.number(kPhases);
    const double output_instructions =
        f.factors.mma_gemm_output + f.factors.mma_gemm_store / static_cast<double>(b.store);
    const double tile = stages * (cycles_of(f.target, stage) * (1 + f.factors.mma_pixels_wait / (warps * at_once)) +
                                  f.factors.mma_pixels_stage / at_once) +
                        outputs * output_instructions / 128 + f.factors.mma_pixels_begin / at_once;
    const double measured = f.target.features.has(Feature::kWgmma) ? f.factors.mma_gemm_beside_wgmma : 1;
    return call_seconds(f, {.packed_bytes = c.number(kPackedBytes),
                            .waves = std::ceil(blocks),
                            .wave_cycles = tile,
                            .measured = measured}) +
           (f.channels_last ? 0 : measured * plane_seconds(f, c));
  }
  /// Of x that is arranged, by a launch of its own, and of outputs that go to planes in pieces of sectors.
  static double plane_seconds(const Facts& f, Constants& c) {
    const double moved = 2 * static_cast<double>(f.shape.input_elements / f.layer.in_channels) *
                         c.number(kInputPixelBytes) / f.target.bytes_per_second;
    const std::int64_t piece = std::min(8 * f.bytes, std::max(f.bytes, 32 / f.columns.stride));
    return f.target.launch_seconds + moved +
           piece_seconds(f.target, static_cast<double>(f.shape.output_elements * f.bytes), piece);
  }
  static bool alike(const Block& one, const Block& other) {
    return one.block_m == other.block_m && one.block_n == other.block_n && one.warps_m == other.warps_m;
  }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    return {fmt::format("a block makes {} outputs of {} channels in one of {} phases; {} taps", b.block_m,
                        std::min(b.block_n, f.group_out), c[kPhases], tap_count(f.layer)),
            fmt::format("tensor cores: positions of all images as one sequence; {} warps make products of {} "
                        "positions x {} channels; {} stages of a tap's {} input channels",
                        b.warps_m * b.warps_n, 16 * c[kWarpTiles], c[kWarpChannels], b.stages, b.block_k),
            grid(f, b, c)};
  }
  static Grid grid(const Facts& f, const Block& b, Constants& c) {
    const std::int64_t blocks_per_tile = c[kNTiles] * c[kPhases];
    const bool is_open = has_open_size(f.layer);
    const std::int64_t most = is_open ? kBlocksOfOpenSizes * f.target.multiprocessors * b.blocks_per_sm : kMostBlocks;
    Grid grid = {.blocks_per_tile = blocks_per_tile,
                 .most_tiles = std::max<std::int64_t>(1, most / blocks_per_tile),
                 .bounds = staged_bounds(f.layer, 1, 1)};
    if (is_open) {
      // At least as many tiles as there are.
      grid.axes = {{per(Quantity::kOutHeight), f.rows.stride},
                   {per(Quantity::kOutWidth), f.columns.stride * b.block_m},
                   {per(Quantity::kBatch), 1}};
      return by_planes(std::move(grid), f.layer, Quantity::kOutDepth);
    }
    grid = by_planes(std::move(grid), f.layer, Quantity::kOutDepth);  // its bound
    grid.axes = {{{.factor = image_positions(f), .per = Quantity::kBatch}, b.block_m}};
    return grid;
  }
  static void add(LaunchPlan& launch, const Facts& f, const Block&, Constants& c) {
    if (f.channels_last) {
      return;
    }
    launch.kernels.insert(launch.kernels.end() - 1, {.function = "arrange_input",
                                                     .suffix = "_arrange",
                                                     .grid = {.axes = {{per(Quantity::kInPixels), c[kArrangedPixels]}},
                                                              .blocks_per_tile = c[kArrangeParts]}});
    launch.regions.push_back({.name = "arranged",
                              .what = "the input with channels last",
                              .bytes = {.factor = c[kInputPixelBytes], .per = Quantity::kInPixels}});
  }
};

}  // namespace planners::mma_pixels

CONVTGEN_TEMPLATE(MmaPixels, mma_pixels);

}  // namespace convtgen
