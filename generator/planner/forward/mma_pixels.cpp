#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/search/block_choices.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/planner.h"
#include "generator/planner/search/roofline.h"

namespace convtgen {
namespace planners::mma_pixels {

constexpr std::int64_t kMostCopies = 8;        // of a thread, whose places registers hold
constexpr std::int64_t kMostPlaneCopies = 16;  // of a thread, of planes: many have one place
constexpr double kPlaneCopy = 4;               // instructions for one
constexpr double kPartsOfSectors = 1.6;        // times as long as whole ones, of as many bytes, do copies of parts take
constexpr double kPieceCycles = 3;             // that a warp's copy of pieces of 4 or 8 bytes keeps an SM from products
constexpr std::int64_t kMostParts = 8;         // of a tile
constexpr double kLeastOfParts = 0.9;          // of a whole tile's time, that parts take at the most
constexpr double kLeastGain = 0.02;            // of it, for which there is one part more
constexpr double kLeastGainOfAll = 0.03;       // of all waves
constexpr std::int64_t kOtherRegisters = 40;   // of a thread, besides accumulators, fragments and places
constexpr std::int64_t kRoundedRegisters = 4;  // more for each k-step, where fragments are rounded to tf32
constexpr std::int64_t kMostRegisters = 256;   // by this estimate: ptxas finds room for one more
constexpr std::int64_t kLeastStages = 3, kMostStages = 4;
constexpr std::int64_t kMostBlocksOfSm = 4;      // that are asked for
constexpr std::int64_t kMostColumnPhases = 32;   // of a channel that are columns of one block,
constexpr std::int64_t kWideColumnPhases = 128;  // and where it has few channels
constexpr double kFusedOutput = 5;               // instructions more for each output of fused phases
constexpr std::int64_t kSplitBlockK = 32;        // input channels of a stage, where values are split
constexpr double kSplitProducts = 3;             // of f16, for each of fp32
constexpr std::int64_t kMostBlocks = 1 << 24;    // of a grid
constexpr std::int64_t kBlocksOfOpenSizes = 8;   // of an SM's room, where sizes are open: others would have no tile

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK_AND_FACTS(FactsOf, (block_m, 64), (block_n, 32), (adjacent_channels, 1), (store, 1), (warps_m, 2),
                         (warps_n, 1), (blocks_per_sm, 1), (block_k, 32), (stages, kLeastStages), (plane_words, 0),
                         (copy_bytes, 16), (column_phases, 1), (parts, 1), (parted_tiles, 0));

/// The template's constants that are wanted, by their names there.
CONVTGEN_CONSTANTS(kMostAccumulators, kInstructionK, kTapFields, kTaps, kPhases, kKSteps, kKBlocks, kNTiles, kWarpTiles,
                   kWarpChannels, kAccumulators, kCopies, kPlaces, kRowUnits, kWeightCopies, kStageChannels, kStageTaps,
                   kInputBytes, kStageBytes, kThreads, kSharedBytes, kPartedBytes, kPartedBlocks, kPackedBytes,
                   kPackedRows, kAlignment, kInputPixelBytes, kArrangedPixels, kArrangeParts, kScanBlocks,
                   kScanSharedBytes, kScanThreads, kMaximaBytes, kExponentBytes, kMostTerms);

/// Positions of a phase in one image. Fused phases begin where the first output's stride does.
std::int64_t image_positions(const Facts& f, const Block& b) {
  std::int64_t all = 1;
  for (const std::size_t axis : axes_of(f.layer)) {
    const Axis& of = f.layer.axes[axis];
    const std::int64_t before = axis == kWidth && b.column_phases > 1 ? of.padding.before % of.stride : 0;
    all *= ceil_div(f.shape.out[axis] + before, of.stride);
  }
  return all;
}

/// Blocks of all phases.
std::int64_t tiles(const Facts& f, const Block& b) {
  return ceil_div(f.sizes.batch * image_positions(f, b), b.block_m) * f.of(b)[kPhases];
}

bool has_open_size(const Layer& layer) {
  return std::ranges::any_of(axes_of(layer), [&](std::size_t axis) { return !layer.axes[axis].extent; });
}

/// Fragments are rounded in registers.
bool rounds(const Facts& f, const Block& b) {
  return f.layer.compute == Compute::kTf32 && (f.channels_last || b.plane_words > 0);
}
/// Another kernel writes x as products read it.
bool arranges(const Facts& f, const Block& b) {
  return splits(f.layer) || (!f.channels_last && b.plane_words == 0);
}

/// Phases of a row that may be columns of one product, adjacent ones with as many taps: all of a stride, or a part of a
/// long one; where values are split, of each. More of them where few channels would leave most of a block's columns.
std::vector<std::int64_t> column_phases_of(const Facts& f) {
  const Axis& of = f.columns;
  const std::int64_t common = std::gcd(of.stride, of.kernel), phases = common & -common;
  std::vector<std::int64_t> all = {1};
  if (!f.channels_last && of.dilation == 1 && phases > 1 &&
      (splits(f.layer) || phases == of.stride || of.stride > kMostColumnPhases)) {
    all.push_back(std::min(kMostColumnPhases, phases));
    if (phases > kMostColumnPhases && f.group_out * kMostColumnPhases < kWideColumnPhases) {
      all.push_back(std::min(kWideColumnPhases, phases));
    }
  }
  return all;
}

/// Whether copies of so many bytes can bring words of planes, of so many adjacent taps: each lies in a row of x as a
/// whole, or outside of it.
bool can_copy(const Facts& f, std::int64_t taps, std::int64_t bytes) {
  const Axis& columns = f.columns;
  const std::int64_t elements = bytes / f.bytes;
  if (elements == 1) {
    return true;
  }
  const Size& pixels = f.layer.axes[kWidth].extent;  // of a row
  // Where a row's positions read for their first tap, and that all others read as many elements from there.
  const bool begin_alike =
      columns.stride == 1 ? (columns.padding.before - (taps - 1)) % elements == 0
                          : columns.padding.before == 0 && columns.kernel <= columns.stride && columns.dilation == 1;
  const bool follow = elements > taps ? columns.stride > 1 || columns.kernel == taps : taps % elements == 0;
  return pixels && *pixels % elements == 0 && begin_alike && follow &&
         (elements > taps
              ? columns.input_stride == taps && ceil_div(f.shape.out[kWidth], columns.stride) % (elements / taps) == 0
              : columns.input_stride % elements == 0);
}

/// Words of planes in a stage, of as many adjacent taps as a stride has; 0 without planes.
std::int64_t plane_words_of(const Facts& f) {
  if (f.channels_last || splits(f.layer) || !f.layer.fuse_input.empty()) {
    return 0;
  }
  for (const std::int64_t words : {4, 2, 1}) {
    const std::int64_t taps = words * 4 / f.bytes;
    const bool are_adjacent =
        taps == 1 || (f.columns.stride == 1 && f.columns.dilation == 1 && f.columns.kernel % taps == 0);
    if (are_adjacent && taps <= f.columns.input_stride && can_copy(f, taps, 4)) {
      return words;
    }
  }
  return 0;
}

/// Chooses how planes are copied; false where a block's threads can't share the copies of rows.
bool choose_copies(const Facts& f, Block& b) {
  const std::int64_t taps = b.plane_words * 4 / f.bytes;
  b.copy_bytes = halved_until(4, [&](std::int64_t words) { return can_copy(f, taps, words * 4); }) * 4;
  const std::int64_t units = f.of(b)[kRowUnits], threads = f.of(b)[kThreads];
  return units >= threads ? units % threads == 0
                          : threads % units == 0 && f.of(b)[kStageChannels] % (threads / units) == 0;
}

std::int64_t registers(const Facts& f, const Block& b) {
  Constants& c = f.of(b);
  const std::int64_t fragments = (splits(f.layer) ? 2 : 1) * 4 * (c[kWarpTiles] + c[kWarpChannels] / 16);
  const std::int64_t rounded = rounds(f, b) ? kRoundedRegisters * c[kKSteps] : 0;
  return round_up(
      (splits(f.layer) ? 3 : 1) * c[kAccumulators] + 2 * fragments + 3 * c[kPlaces] + rounded + kOtherRegisters, 8);
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

/// Adjacent channels of a thread, which it stores together. In nchw it stores what products have one by one; with
/// planes it stores adjacent positions together, with fused phases those of a channel.
void choose_store(const Facts& f, Block& b) {
  if (b.column_phases > 1) {
    const std::int64_t padding = f.columns.padding.before;
    b.adjacent_channels = std::max<std::int64_t>(2, std::min(b.column_phases, f.vector));
    b.store =
        f.layer.axes[kWidth].extent
            ? halved_until(std::min(b.column_phases, f.vector),
                           [&](std::int64_t store) { return f.shape.out[kWidth] % store == 0 && padding % store == 0; })
            : 1;
    return;
  }
  if (!f.channels_last) {
    b.adjacent_channels = 2;
    if (b.plane_words > 0 && f.layer.axes[kWidth].extent && f.of(b)[kPhases] == 1) {
      b.store = halved_until(2, [&](std::int64_t store) { return f.shape.out[kWidth] % store == 0; });
    }
    return;
  }
  b.store = b.adjacent_channels = halved_until(f.vector, [&](std::int64_t store) {
    return b.block_n / b.warps_n % (4 * store) == 0 && f.adjacent_out % store == 0;
  });
}

/// What the chip makes at a time, in waves: of whole tiles, and of parts of the last ones, each as long as a whole tile
/// divided by their number.
struct Waves {
  double whole, parts;
};
Waves waves(const Facts& f, const Block& b) {
  const auto of_sm = [&](std::int64_t blocks) {
    const auto at_once = static_cast<double>(f.target.multiprocessors);
    return std::ceil(static_cast<double>(blocks) / at_once);
  };
  const std::int64_t n_tiles = f.of(b)[kNTiles], parted = std::min(b.parted_tiles, tiles(f, b));
  return {of_sm((tiles(f, b) - parted) * n_tiles), b.parts > 1 ? of_sm(parted * n_tiles * b.parts) : 0};
}

/// Chooses parts of the tiles that do not fill all SMs; false where these would not be made much earlier. Chips with
/// wgmma have templates that need none, except for kernels of many taps.
bool choose_parts(const Facts& f, Block& b) {
  const bool has_many_taps = f.of(b)[kTapFields] != 0;
  if ((f.target.features.has(Feature::kWgmma) && !has_many_taps) || has_open_size(f.layer) || !f.layer.batch) {
    return false;
  }
  const bool divides_taps = has_many_taps && b.plane_words == 0 && !splits(f.layer);
  const std::int64_t at_once = f.target.multiprocessors * b.blocks_per_sm, n_tiles = f.of(b)[kNTiles];
  const std::int64_t parted = ceil_div(tiles(f, b) * n_tiles % at_once, n_tiles);
  double least = kLeastOfParts;
  std::int64_t best = 1;
  for (std::int64_t parts = 2; parts <= std::min(kMostParts, divides_taps ? kMostParts : f.of(b)[kKBlocks]); ++parts) {
    const double time = static_cast<double>(ceil_div(parted * n_tiles * parts, at_once)) / static_cast<double>(parts);
    if (parted > 0 && time < least - kLeastGain) {
      least = time;
      best = parts;
    }
  }
  const auto all_waves = static_cast<double>(ceil_div(tiles(f, b) * n_tiles, at_once));
  b.parts = best;
  b.parted_tiles = parted;
  return best > 1 && (1 - least) / all_waves > kLeastGainOfAll;
}

struct MmaPixels : VolumePlanner<Facts, kConstants> {
  static constexpr Features kNeeds = {Feature::kLdmatrix, Feature::kMmaF16,        Feature::kMmaBf16,
                                      Feature::kMmaTf32,  Feature::kPackedConvert, Feature::kCpAsync};
  static constexpr auto& kComputes = kSplitModes;
  static constexpr std::size_t kMostPlans = 10;
  static constexpr FuseInput kFuseInput = FuseInput::kAny;

  static Checks checks(const Layer& layer) {
    return {check_group_channels(layer),
            require(layer.fuse_input.empty() || layer.layout == Layout::kNchw || layer.compute == Compute::kF32x3,
                    "fuse_input in nhwc with {}; it takes it where another kernel arranges x, in nchw or for f32x3",
                    name_of(layer.compute)),
            require(layer.layout == Layout::kNchw || layer.compute == Compute::kF32x3 ||
                        layer.in_channels / layer.groups * bytes_of(layer.dtype) % 16 == 0,
                    "groups of {} input channels; copies of 16 bytes take multiples of {}",
                    layer.in_channels / layer.groups, 16 / bytes_of(layer.dtype))};
  }
  static Checks size_checks(const Facts& f) { return {check_warp_products(f.target, f.layer.compute, kNeeds)}; }
  static Parameters parameters(const Problem& problem) {
    Parameters p = VolumePlanner::parameters(problem);
    return problem.layer.compute == Compute::kF32x3
               ? with(std::move(p), {{"Element", TypeName{"float"}}, {"type", product_type(Dtype::kF16)}})
               : p;
  }
  static Blocks blocks(const Facts& f) {
    struct Tile {
      std::int64_t block_m, block_n, warps_m, warps_n;
    };
    // Where values are split, of warps of 32 positions x 32 channels.
    constexpr std::array kSplitTiles = {Tile{128, 64, 4, 2}, Tile{64, 128, 2, 4}, Tile{64, 64, 2, 2},
                                        Tile{256, 32, 8, 1}, Tile{128, 32, 4, 1}, Tile{64, 32, 2, 1}};
    constexpr std::array kTiles = {
        Tile{128, 256, 2, 4}, Tile{256, 128, 4, 2}, Tile{128, 128, 2, 2}, Tile{128, 128, 4, 2}, Tile{64, 256, 1, 4},
        Tile{256, 64, 4, 1},  Tile{128, 64, 2, 2},  Tile{64, 128, 1, 4},  Tile{64, 128, 2, 2},  Tile{64, 64, 2, 2},
        Tile{256, 32, 4, 1},  Tile{128, 32, 4, 1},  Tile{64, 32, 2, 1}};
    std::vector<Block> all;
    for (const auto& [block_m, block_n, warps_m, warps_n] :
         splits(f.layer) ? std::span<const Tile>(kSplitTiles) : std::span<const Tile>(kTiles)) {
      all.push_back({.block_m = block_m, .block_n = block_n, .warps_m = warps_m, .warps_n = warps_n});
    }
    std::vector<std::int64_t> words = {0};
    if (const std::int64_t of_planes = plane_words_of(f); of_planes > 0) {
      words.push_back(of_planes);
    }
    return BlockChoices(std::move(all))
        .each(&Block::column_phases, column_phases_of(f))
        .keep([&](const Block& b) {
          return b.block_n % b.column_phases == 0 && (b.block_n == 32 || b.block_n < 2 * f.group_out * b.column_phases);
        })
        .each(&Block::block_k, splits(f.layer) ? std::vector{kSplitBlockK}
                                               : std::vector{2 * f.of({})[kInstructionK], 4 * f.of({})[kInstructionK]})
        .each(&Block::stages, {kMostStages, kLeastStages})
        .each(&Block::plane_words, words)
        .keep([&](Block& b) {
          choose_store(f, b);
          return (b.plane_words == 0 || choose_copies(f, b)) &&
                 f.of(b)[kCopies] <= (b.plane_words > 0 ? kMostPlaneCopies : kMostCopies) &&
                 f.of(b)[kWeightCopies] > 0 && choose_stages(f, b);
        })
        .into([&](const Block& b, std::vector<Block>& out) {
          out.push_back(b);
          if (Block parted = b; choose_parts(f, parted)) {
            out.push_back(parted);
          }
        })
        .distinct()
        .or_fail([&] { return fail_shared_memory(f.target, "stages of pixels and weights", f.of({})[kSharedBytes]); });
  }
  static double seconds(const Facts& f, const Block& b, Constants& c) {
    const SmRates& sm = f.target.sm;
    const auto warps = static_cast<double>(b.warps_m * b.warps_n);
    const double k_steps = c.number(kKSteps);
    const double loads = (splits(f.layer) ? 2 : 1) * warps * k_steps *
                         (c.number(kWarpTiles) + c.number(kWarpChannels) / 16);  // of 512 bytes
    const double products =
        (splits(f.layer) ? kSplitProducts : 1) * warps * k_steps * c.number(kWarpTiles) * c.number(kWarpChannels) / 8;
    const double rounded = rounds(f, b) ? warps * k_steps * c.number(kWarpTiles) * 8 : 0;
    const double added =
        splits(f.layer) ? warps * c.number(kAccumulators) * f.factors.f32x3_mma_add * k_steps / c.number(kMostTerms)
                        : 0;
    const double copy = b.plane_words > 0 ? kPlaneCopy : f.factors.mma_pixels_copy;
    const double copies = warps * (c.number(kCopies) * copy + c.number(kWeightCopies) * 2);
    const double l2_bytes = c.number(kStageBytes) + (sectors_of_word(f, b) - 1) * c.number(kInputBytes);
    const StageWork stage = {.tensor_cycles = products * sm.mma_cycles,
                             .shared_wavefronts = (loads * 512 + c.number(kStageBytes)) / sm.shared_bytes_per_cycle,
                             .instructions = (products + loads + rounded + added + copies) / 4,
                             .l2_bytes = l2_bytes * sm.l2_bytes_per_cycle / f.factors.mma_pixels_l2};
    const auto blocks = static_cast<double>((tiles(f, b) + b.parted_tiles * (b.parts - 1)) * c[kNTiles]) /
                        static_cast<double>(f.target.multiprocessors);  // of an SM
    const double at_once = std::min(std::ceil(blocks), static_cast<double>(b.blocks_per_sm));
    const double outputs = static_cast<double>(b.block_m * b.block_n);
    const double stages = c.number(kStageTaps) * c.number(kKBlocks) / c.number(kPhases);
    const bool fused = b.column_phases > 1;
    const double output_instructions = f.factors.mma_gemm_output + (fused ? kFusedOutput : 0) +
                                       f.factors.mma_gemm_store / static_cast<double>(b.store);
    // A block of many phases stores so much together that only another block hides it, at half of L2's rate.
    const double stored =
        fused && at_once == 1 ? 2 * outputs * static_cast<double>(f.bytes) / f.factors.mma_pixels_l2 : 0;
    const double pieces = b.plane_words > 0 && b.copy_bytes < 16 ? warps * c.number(kCopies) * kPieceCycles : 0;
    const double products_of_tile =
        stages * (cycles_of(f.target, stage) * (1 + f.factors.mma_pixels_wait / (warps * at_once)) + pieces +
                  f.factors.mma_pixels_stage / at_once);
    const double rest_of_tile = outputs * output_instructions / 128 + stored + f.factors.mma_pixels_begin / at_once;
    const Waves all = waves(f, b);
    const double cycles = all.whole * (products_of_tile + rest_of_tile) +
                          all.parts * (products_of_tile / static_cast<double>(b.parts) + rest_of_tile);
    const double measured = !f.target.features.has(Feature::kWgmma) ? 1
                            : splits(f.layer)                       ? f.factors.mma_pixels_split_beside_wgmma
                                                                    : f.factors.mma_pixels_beside_wgmma;
    return call_seconds(
               f, {.packed_bytes = c.number(kPackedBytes), .waves = 1, .wave_cycles = cycles, .measured = measured}) +
           (arranges(f, b) ? measured * arrange_seconds(f, c) : 0) + (b.parts > 1 ? part_seconds(f, c) : 0) +
           (f.channels_last ? 0 : measured * plane_seconds(f, b));
  }
  /// Bytes of L2 for each byte that a stage takes of planes: strides leave parts of sectors to other taps.
  static double sectors_of_word(const Facts& f, const Block& b) {
    const std::int64_t all = std::min<std::int64_t>(32, f.columns.input_stride * f.bytes);
    const double of_byte = static_cast<double>(all) / static_cast<double>(4 * std::max<std::int64_t>(1, b.plane_words));
    return b.plane_words > 0 && of_byte > 1 ? of_byte * kPartsOfSectors : 1;
  }
  /// Of x that is arranged, by a launch of its own; and of what makes the scales of values that are split.
  static double arrange_seconds(const Facts& f, Constants& c) {
    const double moved = (splits(f.layer) ? 3 : 2) * static_cast<double>(f.shape.input_elements / f.layer.in_channels) *
                         c.number(kInputPixelBytes) / f.target.bytes_per_second;
    return (splits(f.layer) ? 3 : 1) * f.target.launch_seconds + moved;
  }
  /// Of sums of parts, which are written and read, and added by a launch of its own.
  static double part_seconds(const Facts& f, Constants& c) {
    return f.target.launch_seconds + 2 * c.number(kPartedBytes) / f.target.bytes_per_second;
  }
  /// Of outputs that go to planes in pieces of sectors.
  static double plane_seconds(const Facts& f, const Block& b) {
    // Of fused phases lanes store adjacent vectors, unless a vector is less than a lane has of a channel.
    const std::int64_t fused = b.store == b.adjacent_channels ? 8 * b.column_phases : b.store;
    const std::int64_t piece = b.column_phases > 1 ? fused * f.bytes
                                                   : std::min(8 * f.bytes * (b.plane_words > 0 ? b.store : 1),
                                                              std::max(f.bytes, 32 / f.columns.stride));
    return piece_seconds(f.target, static_cast<double>(f.shape.output_elements * f.bytes), piece);
  }
  static bool alike(const Block& one, const Block& other) {
    return one.block_m == other.block_m && one.block_n == other.block_n && one.warps_m == other.warps_m &&
           one.plane_words == other.plane_words && one.column_phases == other.column_phases && one.parts == other.parts;
  }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    return {
        fmt::format("a block makes {} outputs of {} channels in one of {} phases; {} taps", b.block_m * b.column_phases,
                    std::min(b.block_n / b.column_phases, f.group_out), c[kPhases], tap_count(f.layer)),
        fmt::format("tensor cores: positions of all images as one sequence; {} warps make {}products of "
                    "{} positions x {} {}; {} stages of {} {} input channels{}",
                    b.warps_m * b.warps_n, splits(f.layer) ? "three f16 " : "", 16 * c[kWarpTiles], c[kWarpChannels],
                    b.column_phases > 1 ? "channels' phases of a row" : "channels", b.stages,
                    c[kTaps] == c[kStageTaps] ? std::string("a tap's")
                                              : fmt::format("{} adjacent taps of", c[kTaps] / c[kStageTaps]),
                    c[kStageChannels], b.plane_words > 0 ? ", as planes have them" : ""),
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
    grid = by_planes(std::move(grid), f.layer, Quantity::kOutDepth);                       // its bound
    const std::int64_t more_tiles = ceil_div(b.parted_tiles * (b.parts - 1), c[kPhases]);  // of parts
    grid.axes = {
        {{.constant = more_tiles * b.block_m, .factor = image_positions(f, b), .per = Quantity::kBatch}, b.block_m}};
    return grid;
  }
  static void add(LaunchPlan& launch, const Facts& f, const Block& b, Constants& c) {
    if (b.parts > 1) {
      launch.kernels.push_back({.function = "add_parts",
                                .suffix = "_add",
                                .shared_bytes = c[kSharedBytes],
                                .grid = {.blocks_per_tile = c[kPartedBlocks]}});
    }
    if (arranges(f, b)) {
      add_arranging(launch, f, c);
    }
    if (b.parts > 1) {
      launch.regions.push_back(
          {.name = "partials", .what = "the sums of parts of tiles", .bytes = {.constant = c[kPartedBytes]}});
    }
  }
  /// The main kernel, before which others go.
  static std::vector<KernelPlan>::iterator main_of(LaunchPlan& launch) {
    return std::ranges::find(launch.kernels, "", &KernelPlan::suffix);
  }
  /// What arranges x, before the main kernel.
  static void add_arranging(LaunchPlan& launch, const Facts& f, Constants& c) {
    if (splits(f.layer)) {
      add_scales(launch, f, c);
    }
    launch.kernels.insert(main_of(launch), {.function = "arrange_input",
                                            .suffix = "_arrange",
                                            .grid = {.axes = {{per(Quantity::kInPixels), c[kArrangedPixels]}},
                                                     .blocks_per_tile = c[kArrangeParts]}});
    launch.regions.push_back({.name = "arranged",
                              .what = "the input with channels last",
                              .bytes = {.factor = c[kInputPixelBytes], .per = Quantity::kInPixels}});
  }
  /// What finds the scales of values that are split.
  static void add_scales(LaunchPlan& launch, const Facts& f, Constants& c) {
    launch.kernels.insert(main_of(launch),
                          {.function = "scan_input",
                           .suffix = "_scan",
                           .shared_bytes = c[kScanSharedBytes],
                           .grid = {.axes = {{per(Quantity::kBatch), 1}}, .blocks_per_tile = c[kScanBlocks]}});
    launch.kernels.insert(main_of(launch),
                          {.function = "find_exponents",
                           .suffix = "_exponents",
                           .grid = {.axes = {{{.factor = f.layer.groups, .per = Quantity::kBatch}, c[kScanThreads]}}}});
    launch.regions.push_back({.name = "maxima",
                              .what = "the largest magnitudes of each image's k-blocks, by slices",
                              .bytes = {.factor = c[kMaximaBytes], .per = Quantity::kBatch}});
    launch.regions.push_back({.name = "exponents",
                              .what = "the exponents of their scales",
                              .bytes = {.factor = c[kExponentBytes], .per = Quantity::kBatch}});
  }
};

}  // namespace planners::mma_pixels

CONVTGEN_TEMPLATE(MmaPixels, mma_pixels);

}  // namespace convtgen
