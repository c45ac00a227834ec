#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/forward/mma_window.h"
#include "generator/planner/forward/window.h"
#include "generator/planner/search/block_choices.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/planner.h"
#include "generator/planner/search/roofline.h"

namespace convtgen {
namespace planners::f32x3_mma {

constexpr std::int64_t kMostPlaces = 5;           // of a thread, which registers hold
constexpr std::int64_t kMostLoads = 6;            // of the input, of an outer tap, which registers hold
constexpr std::int64_t kUncountedRegisters = 64;  // of a thread, beside accumulators, input and what it loads of it
constexpr double kProducts = 3;                   // of f16, for each of fp32

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK(Block, (tile_h, 8), (tile_w, 8), (part_w, 8), (block_n, 8), (adjacent_channels, 2), (store, 1),
               (phase_rows, 1), (warps_m, 4), (warps_n, 1), (warp_tiles, 1), (blocks_per_sm, 1), (block_k, 16),
               (vector, 1), (resident, false));

/// The template's constants that are wanted, by their names there.
CONVTGEN_CONSTANTS(kMostAccumulators, kInstructionK, kVector, kKSteps, kFirstH, kFirstW, kBeyondH, kBeyondW, kPhases,
                   kTaps, kKBlocks, kNTiles, kPositions, kStagedColumns, kInputBytes, kPlaces, kWarpChannels, kLoads,
                   kOuterHalo, kKBlockWeightBytes, kStepProducts, kStepTaps, kResidentBytes, kThreads, kSharedBytes,
                   kAlignment, kPackedBytes, kPackedRows);

using Facts = window::WindowFacts<Block>;

/// Products that follow one another in an accumulator. Tensor cores truncate what they add, those of Turing more often.
std::int64_t most_terms(const Target& target) {
  return target.features.has(Feature::kMmaF16) ? 8 : 4;
}

std::int64_t accumulators(const Facts& f, const Block& b) {
  return b.warp_tiles * f.of(b)[kPhases] * f.of(b)[kWarpChannels] / 2;
}

window::Reach reach_of_window(Constants& c) {
  return {.first_h = c[kFirstH], .first_w = c[kFirstW], .beyond_h = c[kBeyondH], .beyond_w = c[kBeyondW]};
}

/// Whether a thread has registers for its input and what it loads of it, and a warp's products can be written out.
bool fits_thread(const Facts& f, const Block& b) {
  Constants& c = f.of(b);
  return (b.block_k == c[kInstructionK] || b.block_k < 2 * f.group_in) && c[kPlaces] <= kMostPlaces &&
         (b.warp_tiles == 1 || c[kLoads] <= kMostLoads) && c[kStepProducts] <= mma_window::kMostStepProducts;
}

BlockNeeds needs_of(const Facts& f, const Block& b) {
  Constants& c = f.of(b);
  return {.threads = c[kThreads],
          .registers = 3 * accumulators(f, b) + 8 * (b.warp_tiles + 1) + c[kVector] * c[kPlaces] + kUncountedRegisters,
          .shared_bytes = c[kSharedBytes]};
}

struct F32x3Mma : mma_window::WindowPlanner<Facts, kConstants> {
  static constexpr std::array kComputes = {Compute::kF32x3};

  static Checks size_checks(const Facts& f) { return {check_split_products(f.target)}; }
  static Parameters parameters(const Problem& problem) {
    return with(window_parameters(problem.layer),
                {{"Sum", TypeName{"float"}}, {"most_terms", most_terms(problem.target)}});
  }
  static Blocks blocks(const Facts& f) {
    mma_window::Least least;
    return BlockChoices(Block{.vector = f.channels_last && f.group_in % 4 == 0 ? 4 : 1})
        .each(&Block::phase_rows, mma_window::phase_rows(f))
        .each(&Block::warps_m, &Block::warps_n, {{4, 1}, {8, 1}, {2, 2}, {4, 2}, {2, 4}, {1, 4}, {1, 8}})
        .each(&Block::warp_tiles, {1, 2, 4})
        .each(&Block::block_n, {8, 16, 24, 32, 48})
        .keep([&](Block& b) {
          b.block_n *= b.warps_n;
          least.accumulators = std::min(least.accumulators, accumulators(f, b));
          return b.warps_m * b.warp_tiles % 4 == 0 && accumulators(f, b) <= f.of(b)[kMostAccumulators] &&
                 b.block_n <= mma_window::kMostBlockN && b.block_n < round_up(f.group_out, 8) + 8 * b.warps_n;
        })
        .into([&](const Block& b, std::vector<Block>& out) {
          const auto finish = [&](Block& tiled) { mma_window::choose_store(f, tiled, false); };
          window::add_tiles(b, b.warps_m * b.warp_tiles / 4, true, false, finish, out);
        })
        .each(&Block::block_k, {64, 32, 16})
        .keep([&](const Block& b) {
          least.products = std::min(least.products, f.of(b)[kStepProducts]);
          return fits_thread(f, b);
        })
        .each(&Block::resident, {false, true})
        .keep([&](Block& b) {
          const BlockNeeds needs = needs_of(f, b);
          least.bytes = std::min(least.bytes, needs.shared_bytes);
          return mma_window::choose_blocks(f, b, needs);
        })
        .or_fail([&] { return mma_window::why_none(f, least, f.of({})[kMostAccumulators]); });
  }
  static double seconds(const Facts& f, const Block& b, Constants& c) {
    const auto warps = static_cast<double>(b.warps_m * b.warps_n);
    const double k_steps = c.number(kKSteps);
    const double products = kProducts * warps * k_steps * c.number(kStepProducts);
    // Vectors of a warp, of high and low parts: what it loads of the input for each outer tap, and of the weights.
    const double pixels = warps * k_steps * (c.number(kOuterHalo) + 1) * c.number(kLoads) * 8;
    const double columns = warps * k_steps * c.number(kTaps) * c.number(kWarpChannels) / 8 * 4;
    const double input = c.number(kInputBytes);
    const double weights = b.resident ? 0 : c.number(kKBlockWeightBytes);
    const double added = warps * static_cast<double>(accumulators(f, b)) *
                         std::ceil(k_steps * c.number(kStepTaps) / static_cast<double>(most_terms(f.target)));
    const double stage = cycles_of(
        f.target, {.tensor_cycles = products * f.target.sm.mma_cycles,
                   .shared_wavefronts =
                       (pixels * f.factors.mma_gemm_pixels + columns) * 128 / f.target.sm.shared_bytes_per_cycle +
                       input / f.factors.mma_gemm_copied + weights / f.factors.mma_gemm_copied_weights,
                   .instructions = (products + (pixels + columns) / 4 + added * f.factors.f32x3_mma_add +
                                    input / 32 / 32 * f.factors.f32x3_mma_split) /
                                   4,
                   .l2_bytes = input + weights});
    const double stages = f.depth_taps * c.number(kKBlocks);
    const auto blocks = static_cast<double>(window::tiles(f, b, reach_of_window(c)) * c[kNTiles]) /
                        f.target.multiprocessors;  // of an SM
    const double at_once = std::min(std::ceil(blocks), static_cast<double>(b.blocks_per_sm));
    const double outputs = c.number(kPositions) * c.number(kPhases) * static_cast<double>(b.block_n);
    const double tile =
        stages * (stage * (1 + f.factors.mma_gemm_wait / (warps * at_once)) + f.factors.mma_gemm_stage / at_once);
    const double kept = c.number(kResidentBytes) * at_once;
    return call_seconds(
        f,
        {.packed_bytes = c.number(kPackedBytes),
         .first_cycles = f.factors.mma_gemm_begin + kept / f.target.sm.l2_bytes_per_cycle,
         .waves = std::max(blocks, f.factors.mma_gemm_whole * std::ceil(blocks)),
         .wave_cycles = mma_window::waits_alone(f, b) * (tile + outputs * mma_window::output_instructions(f, b) / 128),
         .memory_bytes = mma_window::memory_bytes(f, b, f.read_bytes, f.written_bytes, c[kStagedColumns]),
         .measured = mma_window::has_rivals(f) ? f.factors.f32x3_mma_beside_wgmma : f.factors.mma_gemm_measured});
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
