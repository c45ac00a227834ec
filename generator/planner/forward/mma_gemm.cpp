#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/forward/mma_window.h"
#include "generator/planner/forward/window.h"
#include "generator/planner/search/block_choices.h"
#include "generator/planner/search/planner.h"
#include "generator/planner/search/roofline.h"

namespace convtgen {
namespace planners::mma_gemm {

using mma_window::kMostStepProducts;
using mma_window::Least;

constexpr std::int64_t kMostPlaces = 8;        // of a thread, which registers hold
constexpr std::int64_t kOtherRegisters = 64;   // of a thread, besides accumulators and what it loads of the input
constexpr std::int64_t kFewAccumulators = 64;  // of a thread
constexpr std::int64_t kLeastStages = 2, kMostStages = 4;

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK_AND_FACTS(window::WindowFacts, (flat, false), (tile_h, 8), (tile_w, 8), (part_w, 8), (block_n, 8),
                         (adjacent_channels, 1), (store, 1), (phase_rows, 1), (warps_m, 4), (warps_n, 1),
                         (warp_tiles, 1), (blocks_per_sm, 1), (block_k, 16), (stages, 2), (copy_bytes, 16), (vector, 1),
                         (resident, false));

/// The template's constants that are wanted, by their names there.
CONVTGEN_CONSTANTS(kMostAccumulators, kInstructionK, kVector, kKSteps, kHaloH, kHaloW, kFirstH, kFirstW, kBeyondH,
                   kBeyondW, kGapH, kGapW, kPhases, kTaps, kKBlocks, kNTiles, kPositions, kStagedColumns, kInputBytes,
                   kPlaces, kBatches, kWarpChannels, kLoads, kOuterHalo, kKBlockWeightBytes, kStepProducts,
                   kResidentBytes, kThreads, kSharedBytes, kPackedBytes, kPackedRows, kAlignment);

/// How input is brought: by the largest asynchronous copies that the pixels' channels allow, or through registers where
/// they allow none, and where channels come first.
std::int64_t copy_bytes_of(const Facts& f) {
  const std::int64_t widest = std::gcd(f.adjacent_in * f.bytes, 16);
  return f.channels_last && widest >= 4 && f.target.features.has(Feature::kCpAsync) ? widest : 0;
}

/// Elements that are loaded to registers together.
std::int64_t vector_of(const Facts& f, const Block& b) {
  if (f.channels_last) {
    return b.copy_bytes == 0 && f.adjacent_in % f.vector == 0 ? f.vector : 1;
  }
  if (f.bytes == 4) {
    return 1;
  }
  Constants& c = f.of(b);
  const Size& width = f.layer.axes[kWidth].extent;
  const bool dense = c[kHaloH] + c[kGapH] + c[kHaloW] + c[kGapW] == 0;
  return width && *width % 2 == 0 && mma_window::pixel_step(f.columns) == 1 && (!b.flat || dense) ? 2 : 1;
}

window::Reach reach_of(Constants& c) {
  return {c[kGapH], c[kGapW], c[kFirstH], c[kFirstW], c[kBeyondH], c[kBeyondW]};
}

/// Whether a block fits an SM; chooses how many do.
bool choose_blocks(const Facts& f, Block& b) {
  Constants& c = f.of(b);
  const std::int64_t loaded = 4 * (b.warp_tiles + 2);  // of this step and of the next tap
  return mma_window::choose_blocks(f, b,
                                   {.threads = c[kThreads],
                                    .registers = mma_window::accumulators<kConstants>(f, b) + loaded + kOtherRegisters,
                                    .shared_bytes = c[kSharedBytes]});
}

/// Adds the pipelines of a block with a tile: all sizes of k-blocks, with weights resident or not.
void add_pipelines(const Facts& f, Block b, std::vector<Block>& out, Least& least) {
  for (const std::int64_t k_steps : {4, 2, 1}) {
    b.block_k = k_steps * f.of(b)[kInstructionK];
    least.products = std::min(least.products, f.of(b)[kStepProducts]);
    if ((k_steps > 1 && b.block_k >= 2 * f.group_in) || f.of(b)[kStepProducts] > kMostStepProducts) {
      continue;
    }
    least.places = std::min(least.places, f.of(b)[kPlaces]);
    if (f.of(b)[kPlaces] > kMostPlaces) {
      continue;
    }
    if (b.copy_bytes == 0 && f.of(b)[kBatches] > 1) {
      least.batches = std::min(least.batches, f.of(b)[kBatches]);
      continue;
    }
    for (const bool resident : {false, true}) {
      b.resident = resident;
      for (b.stages = b.copy_bytes > 0 ? kMostStages : kLeastStages; b.stages >= kLeastStages; --b.stages) {
        least.bytes = std::min(least.bytes, f.of(b)[kSharedBytes]);
        if (choose_blocks(f, b)) {
          out.push_back(b);
        }
      }
    }
  }
}

/// Adds a block's tiles, each with how it loads and stores.
void add_tiles(const Facts& f, const Block& b, bool can_be_flat, std::vector<Block>& out) {
  const auto finish = [&](Block& tiled) {
    tiled.vector = vector_of(f, tiled);
    mma_window::choose_store(f, tiled, tiled.flat);
  };
  window::add_tiles(b, b.warps_m * b.warp_tiles / 4, true, can_be_flat, finish, out);
}

/// Whether input comes through registers by rows of a volume's planes.
bool has_planes(const Facts& f) {
  return f.layer.dimensions == 3 && !f.channels_last;
}

/// Lines of memory that the loads of a stage touch, where a warp loads adjacent pixels of a channel: rows begin within
/// lines, and a warp's pixels are of several rows.
double lines_of(const Facts& f, const Block& b, Constants& c) {
  const double pixels = 32 * static_cast<double>(b.vector);  // of a load
  const double bytes = pixels * static_cast<double>(f.bytes);
  const auto step = static_cast<double>(mma_window::pixel_step(f.columns));
  const double loads = c.number(kInputBytes) / bytes;
  return loads * (step * bytes / 128 + 1 + pixels / c.number(kStagedColumns));
}

mma_window::Rates rates_of(const Facts& f) {
  if (!has_planes(f)) {
    return mma_window::rates_of(f, mma_window::measured_of(f, f.factors.mma_gemm_beside_wgmma));
  }
  return {.store = f.factors.mma_planes_store,
          .wait = f.factors.mma_planes_wait,
          .stage = f.factors.mma_planes_stage,
          .alone = f.factors.mma_planes_alone,
          .cut_bytes = f.factors.mma_planes_cut,
          .measured = f.factors.mma_planes_measured};
}

struct MmaGemm : mma_window::WindowPlanner<Facts, kConstants> {
  static constexpr bool kStreams = true;

  static Blocks blocks(const Facts& f) {
    Least least;
    const bool can_be_flat = f.layer.dimensions < 3 && window::can_be_flat(f, reach_of(f.of({})));
    return BlockChoices(Block{.copy_bytes = copy_bytes_of(f)})
        .each(&Block::phase_rows, mma_window::phase_rows(f))
        .each(&Block::warps_m, &Block::warps_n, {{4, 1}, {8, 1}, {2, 2}, {4, 2}, {8, 2}, {2, 4}, {4, 4}, {1, 4}})
        .each(&Block::warp_tiles, {1, 2, 4})
        .each(&Block::block_n, {8, 16, 24, 32, 64})
        .keep([&](Block& b) { return mma_window::choose_channels<kConstants>(f, b, least); })
        .into([&](const Block& b, std::vector<Block>& out) { add_tiles(f, b, can_be_flat, out); })
        .into([&](const Block& b, std::vector<Block>& out) { add_pipelines(f, b, out, least); })
        .or_fail([&] { return mma_window::why_none(f, least, f.of({})[kMostAccumulators], kMostPlaces); });
  }
  static double seconds(const Facts& f, const Block& b, Constants& c) {
    const mma_window::WarpsWork work = mma_window::warps_work<kConstants>(b, c, 1);
    const double input = c.number(kInputBytes);
    const double weights = b.resident ? 0 : c.number(kKBlockWeightBytes);
    const double copies = input / 16;  // or as many loads of vectors, which are put together in registers
    const bool planes = has_planes(f);
    const double turn = planes ? f.factors.mma_planes_turn : f.factors.mma_gemm_turn;
    const double stage = cycles_of(
        f.target,
        {.tensor_cycles = work.products * f.target.sm.mma_cycles,
         .shared_wavefronts =
             (work.pixels * f.factors.mma_gemm_pixels + work.columns) * 128 / f.target.sm.shared_bytes_per_cycle +
             input / f.factors.mma_gemm_copied +
             weights / (planes ? f.factors.mma_planes_weights : f.factors.mma_gemm_copied_weights) +
             (planes ? f.factors.mma_planes_line * lines_of(f, b, c) : 0),
         .instructions = (work.products + (work.pixels + work.columns) / 2 +
                          copies / 32 * (b.copy_bytes > 0 ? f.factors.mma_gemm_copy : turn)) /
                         4,
         .l2_bytes = mma_window::sector_waste(f) * input + weights});
    // Input on its way to shared memory takes registers that loads ahead of products would take.
    const double crowded = b.copy_bytes == 0 && mma_window::accumulators<kConstants>(f, b) > kFewAccumulators
                               ? 1 + (planes ? f.factors.mma_planes_crowded : f.factors.mma_gemm_crowded)
                               : 1;
    return mma_window::seconds_of<kConstants>(
        f, b, crowded * stage, reach_of(c),
        b.flat ? c[kPositions] : mma_window::pixel_step(f.columns) * c[kStagedColumns], rates_of(f));
  }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    const std::string outputs = b.flat ? fmt::format("{}", c[kPositions] * c[kPhases])
                                       : fmt::format("{}x{}", b.tile_h * b.phase_rows, b.tile_w * f.columns.stride);
    return {fmt::format("a block makes {} outputs of {} channels; {} taps", outputs, std::min(b.block_n, f.group_out),
                        tap_count(f.layer)),
            fmt::format("tensor cores: {} warps make products of {} positions x {} channels in {} phases; {} stages of "
                        "{} input channels{}, weights {}",
                        b.warps_m * b.warps_n, 16 * b.warp_tiles, c[kWarpChannels], c[kPhases], b.stages, b.block_k,
                        b.copy_bytes > 0 ? "" : " through registers", b.resident ? "resident" : "with each stage"),
            window::grid(f, b, c[kNTiles], f.target.multiprocessors * b.blocks_per_sm)};
  }
};

}  // namespace planners::mma_gemm

CONVTGEN_TEMPLATE(MmaGemm, mma_gemm);

}  // namespace convtgen
