#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/forward/mma_window.h"
#include "generator/planner/forward/window.h"
#include "generator/planner/search/block_choices.h"
#include "generator/planner/search/planner.h"
#include "generator/planner/search/roofline.h"

namespace convtgen {
namespace planners::f32x3_mma {

constexpr std::int64_t kMostPlaces = 5;           // of a thread, which registers hold
constexpr std::int64_t kMostLoads = 6;            // of the input, of an outer tap, which registers hold
constexpr std::int64_t kUncountedRegisters = 64;  // of a thread, besides accumulators, input and what it loads of it
constexpr double kProducts = 3;                   // of f16, for each of fp32

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK_AND_FACTS(window::WindowFacts, (tile_h, 8), (tile_w, 8), (part_w, 8), (block_n, 8),
                         (adjacent_channels, 2), (store, 1), (phase_rows, 1), (warps_m, 4), (warps_n, 1),
                         (warp_tiles, 1), (blocks_per_sm, 1), (block_k, 16), (vector, 1), (resident, false));

/// The template's constants that are wanted, by their names there.
CONVTGEN_CONSTANTS(kMostAccumulators, kInstructionK, kVector, kKSteps, kFirstH, kFirstW, kBeyondH, kBeyondW, kPhases,
                   kTaps, kKBlocks, kNTiles, kPositions, kStagedColumns, kInputBytes, kPlaces, kWarpChannels, kLoads,
                   kOuterHalo, kKBlockWeightBytes, kStepProducts, kStepTaps, kResidentBytes, kThreads, kSharedBytes,
                   kAlignment, kPackedBytes, kPackedRows);

/// Products that follow one another in an accumulator. Tensor cores truncate what they add, those of Turing more often.
std::int64_t most_terms(const Target& target) {
  return target.features.has(Feature::kMmaF16) ? 8 : 4;
}

window::Reach reach_of_window(Constants& c) {
  return {.first_h = c[kFirstH], .first_w = c[kFirstW], .beyond_h = c[kBeyondH], .beyond_w = c[kBeyondW]};
}

/// Whether a thread has registers for its input and what it loads of it, and a warp's products can be written out.
bool fits_thread(const Facts& f, const Block& b, mma_window::Least& least) {
  Constants& c = f.of(b);
  least.products = std::min(least.products, c[kStepProducts]);
  if ((b.block_k > c[kInstructionK] && b.block_k >= 2 * f.group_in) || (b.warp_tiles > 1 && c[kLoads] > kMostLoads) ||
      c[kStepProducts] > mma_window::kMostStepProducts) {
    return false;
  }
  least.places = std::min(least.places, c[kPlaces]);
  return c[kPlaces] <= kMostPlaces;
}

/// Whether a block fits an SM; chooses how many do.
bool choose_blocks(const Facts& f, Block& b, mma_window::Least& least) {
  const std::int64_t loaded = 8 * (b.warp_tiles + 1) + f.of(b)[kVector] * f.of(b)[kPlaces];
  least.bytes = std::min(least.bytes, f.of(b)[kSharedBytes]);
  return mma_window::choose_blocks(
      f, b,
      {.threads = f.of(b)[kThreads],
       .registers = 3 * mma_window::accumulators<kConstants>(f, b) + loaded + kUncountedRegisters,
       .shared_bytes = f.of(b)[kSharedBytes]});
}

void add_tiles(const Facts& f, const Block& b, std::vector<Block>& out) {
  const auto finish = [&](Block& tiled) { mma_window::choose_store(f, tiled, false); };
  window::add_tiles(b, b.warps_m * b.warp_tiles / 4, true, false, finish, out);
}

struct F32x3Mma : mma_window::WindowPlanner<Facts, kConstants> {
  static constexpr std::array kComputes = {Compute::kF32x3};

  static Parameters parameters(const Problem& problem) {
    return with(VolumePlanner::parameters(problem), {{"most_terms", most_terms(problem.target)}});
  }
  static Blocks blocks(const Facts& f) {
    mma_window::Least least;
    return BlockChoices(Block{.vector = f.channels_last && f.adjacent_in % 4 == 0 ? 4 : 1})
        .each(&Block::phase_rows, mma_window::phase_rows(f))
        .each(&Block::warps_m, &Block::warps_n, {{4, 1}, {8, 1}, {2, 2}, {4, 2}, {2, 4}, {1, 4}, {1, 8}})
        .each(&Block::warp_tiles, {1, 2, 4})
        .each(&Block::block_n, {8, 16, 24, 32, 48})
        .keep([&](Block& b) { return mma_window::choose_channels<kConstants>(f, b, least); })
        .into([&](const Block& b, std::vector<Block>& out) { add_tiles(f, b, out); })
        .each(&Block::block_k, {64, 32, 16})
        .keep([&](const Block& b) { return fits_thread(f, b, least); })
        .each(&Block::resident, {false, true})
        .keep([&](Block& b) { return choose_blocks(f, b, least); })
        .or_fail([&] { return mma_window::why_none(f, least, f.of({})[kMostAccumulators], kMostPlaces); });
  }
  static double seconds(const Facts& f, const Block& b, Constants& c) {
    const mma_window::WarpsWork work = mma_window::warps_work<kConstants>(b, c, 2);
    const double products = kProducts * work.products;
    const double input = c.number(kInputBytes);
    const double weights = b.resident ? 0 : c.number(kKBlockWeightBytes);
    const double added = work.warps * static_cast<double>(mma_window::accumulators<kConstants>(f, b)) *
                         std::ceil(work.k_steps * c.number(kStepTaps) / static_cast<double>(most_terms(f.target)));
    const double stage = cycles_of(
        f.target, {.tensor_cycles = products * f.target.sm.mma_cycles,
                   .shared_wavefronts = (work.pixels * f.factors.mma_gemm_pixels + work.columns) * 128 /
                                            f.target.sm.shared_bytes_per_cycle +
                                        input / f.factors.mma_gemm_copied + weights / f.factors.mma_gemm_copied_weights,
                   .instructions = (products + (work.pixels + work.columns) / 4 + added * f.factors.f32x3_mma_add +
                                    input / 32 / 32 * f.factors.f32x3_mma_split) /
                                   4,
                   .l2_bytes = mma_window::sector_waste(f) * input + weights});
    return mma_window::seconds_of<kConstants>(
        f, b, stage, reach_of_window(c), mma_window::pixel_step(f.columns) * c[kStagedColumns],
        mma_window::rates_of(f, mma_window::measured_of(f, f.factors.f32x3_mma_beside_wgmma)));
  }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    return {fmt::format("a block makes {}x{} outputs of {} channels; {} taps", b.tile_h * b.phase_rows,
                        b.tile_w * f.columns.stride, std::min(b.block_n, f.group_out), tap_count(f.layer)),
            fmt::format("tensor cores: three f16 products for each of fp32, by {} warps of {} positions x {} channels "
                        "in {} phases; two stages of {} input channels, weights {}",
                        b.warps_m * b.warps_n, 16 * b.warp_tiles, c[kWarpChannels], c[kPhases], b.block_k,
                        b.resident ? "resident" : "with each stage"),
            window::grid(f, b, c[kNTiles], f.target.multiprocessors * b.blocks_per_sm)};
  }
};

}  // namespace planners::f32x3_mma

CONVTGEN_TEMPLATE(F32x3Mma, f32x3_mma);

}  // namespace convtgen
