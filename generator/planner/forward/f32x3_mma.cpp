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
constexpr double kProductTerms = 16 * 8 * 16;     // multiply-adds of one

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK(Block, (tile_h, 8), (tile_w, 8), (part_w, 8), (block_n, 8), (adjacent_channels, 2), (store, 1),
               (phase_rows, 1), (warps_m, 4), (warps_n, 1), (warp_tiles, 1), (blocks_per_sm, 1), (block_k, 16),
               (vector, 1), (resident, false));

/// The template's constants that are wanted, by their names there.
CONVTGEN_CONSTANTS(kMostAccumulators, kInstructionK, kVector, kKSteps, kFirstH, kFirstW, kBeyondH, kBeyondW, kPhases,
                   kTaps, kKBlocks, kNTiles, kPositions, kStagedColumns, kInputBytes, kPlaces, kWarpChannels, kLoads,
                   kOuterHalo, kKBlockWeightBytes, kStepProducts, kStepTaps, kThreads, kSharedBytes, kPackedBytes,
                   kPackedRows, kAlignment);

/// What the choice depends on.
struct Facts : FactsOf<Block> {
  double written_bytes = static_cast<double>(shape.output_elements * bytes);  // that a call moves at the least
  double read_bytes = cost.bytes - written_bytes;
};

/// Of how many channels each addition on tensor cores truncates: those of Turing add fewer at a time, so that as many
/// products would lose more.
std::int64_t most_terms(const Target& target) {
  return target.features.has(Feature::kMmaF16) ? 8 : 4;
}

std::int64_t accumulators(const Facts& f, const Block& b) {
  return b.warp_tiles * f.of(b)[kPhases] * f.of(b)[kWarpChannels] / 2;
}

window::Reach reach_of_window(Constants& c) {
  return {.first_h = c[kFirstH], .first_w = c[kFirstW], .beyond_h = c[kBeyondH], .beyond_w = c[kBeyondW]};
}

/// Adds the pipelines of a block with a tile: all sizes of k-blocks, with weights resident or not.
void add_pipelines_of_parts(const Facts& f, Block b, std::vector<Block>& out, mma_window::Least& least) {
  for (const std::int64_t k_steps : {4, 2, 1}) {
    b.block_k = k_steps * f.of(b)[kInstructionK];
    Constants& c = f.of(b);
    least.products = std::min(least.products, c[kStepProducts]);
    if ((k_steps > 1 && b.block_k >= 2 * f.group_in) || c[kStepProducts] > mma_window::kMostStepProducts ||
        c[kPlaces] > kMostPlaces || (b.warp_tiles > 1 && c[kLoads] > kMostLoads)) {
      continue;
    }
    for (const bool resident : {false, true}) {
      b.resident = resident;
      least.bytes = std::min(least.bytes, f.of(b)[kSharedBytes]);
      const BlockNeeds needs = {.threads = f.of(b)[kThreads],
                                .registers = 3 * accumulators(f, b) + 8 * (b.warp_tiles + 1) +
                                             f.of(b)[kVector] * f.of(b)[kPlaces] + kUncountedRegisters,
                                .shared_bytes = f.of(b)[kSharedBytes]};
      if (mma_window::choose_blocks(f, b, needs)) {
        out.push_back(b);
      }
    }
  }
}

struct F32x3Mma : ExchangingPlanner<Facts, kConstants> {
  static constexpr Features kNeeds = {Feature::kLdmatrix, Feature::kMmaF16, Feature::kPackedConvert, Feature::kCpAsync};
  static constexpr std::array kComputes = {Compute::kF32x3};
  static constexpr std::size_t kMostPlans = 10;

  static Checks checks(const Layer& layer) {
    return {check_group_channels(layer), window::check_padding(layer, kHeight), window::check_padding(layer, kWidth),
            mma_window::check_shifts(layer, kHeight), mma_window::check_shifts(layer, kWidth)};
  }
  static Checks size_checks(const Facts& f) {
    const double products = kProducts * f.target.sm.mma_cycles / kProductTerms;  // cycles of an SM for a multiply-add
    const double others = 2 * f.target.multiprocessors * f.target.sm.clock_hz / f.target.f32_flops;
    return {require(products < others,
                    "three products of f16 take {:.2f} times as long as one of f32 without tensor "
                    "cores; at most 1",
                    products / others)};
  }
  static Parameters parameters(const Problem& problem) {
    return with(product_parameters(problem.layer), {{"groups", problem.layer.groups},
                                                    {"input_stride_h", problem.layer.axes[kHeight].input_stride},
                                                    {"input_stride_w", problem.layer.axes[kWidth].input_stride},
                                                    {"Sum", TypeName{"float"}},
                                                    {"most_terms", most_terms(problem.target)}});
  }
  static Blocks blocks(const Facts& f) {
    mma_window::Least least;
    const Axis& rows = f.layer.axes[kHeight];
    const bool may_part = rows.stride > 1 && rows.kernel % rows.stride == 0 && rows.dilation == 1;
    return BlockChoices(Block{.vector = f.channels_last && f.group_in % 4 == 0 ? 4 : 1})
        .each(&Block::phase_rows, may_part ? std::vector{rows.stride, std::int64_t{1}} : std::vector{rows.stride})
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
        .into([&](const Block& b, std::vector<Block>& out) { add_pipelines_of_parts(f, b, out, least); })
        .or_fail([&] { return mma_window::why_none(f, least, f.of({})[kMostAccumulators]); });
  }
  static double seconds(const Facts& f, const Block& b, Constants& c) {
    const SmRates& sm = f.target.sm;
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
    const StageWork stage = {
        .tensor_cycles = products * sm.mma_cycles,
        .shared_wavefronts = (pixels * f.factors.mma_gemm_pixels + columns) * 128 / sm.shared_bytes_per_cycle +
                             input / f.factors.mma_gemm_copied + weights / f.factors.mma_gemm_copied_weights,
        .instructions = (products + (pixels + columns) / 4 + added * f.factors.f32x3_mma_add +
                         input / 32 / 32 * f.factors.f32x3_mma_split) /
                        4,
        .l2_bytes = input + weights};
    const double stages = c.number(kKBlocks);
    const auto blocks = static_cast<double>(window::tiles(f, b, reach_of_window(c)) * c[kNTiles]) /
                        f.target.multiprocessors;  // of an SM
    const double at_once = std::min(std::ceil(blocks), static_cast<double>(b.blocks_per_sm));
    const double outputs = c.number(kPositions) * c.number(kPhases) * static_cast<double>(b.block_n);
    const double tile = stages * (cycles_of(f.target, stage) * (1 + f.factors.mma_gemm_wait / (warps * at_once)) +
                                  f.factors.mma_gemm_stage / at_once) +
                        outputs * mma_window::output_instructions(f, b) / 128;
    const double kept = b.resident ? stages * c.number(kKBlockWeightBytes) * at_once : 0;
    return seconds_of(f.target,
                      {.packed_bytes = c.number(kPackedBytes),
                       .first_cycles = f.factors.mma_gemm_begin + kept / sm.l2_bytes_per_cycle,
                       .waves = std::max(blocks, f.factors.mma_gemm_whole * std::ceil(blocks)),
                       .wave_cycles = tile,
                       .memory_bytes = mma_window::memory_bytes(f, b, f.read_bytes, f.written_bytes, c[kStagedColumns]),
                       .hidden_less = f.factors.hidden_less,
                       .measured = f.target.features.has(Feature::kWgmma) ? f.factors.f32x3_mma_beside_wgmma
                                                                          : f.factors.mma_gemm_measured});
  }
  static bool alike(const Block& one, const Block& other) { return mma_window::alike(one, other); }
  static Words words(const Facts& f, const Block& b, Constants& c) {
    return {fmt::format("a block makes {}x{} outputs of {} channels; {} taps", b.tile_h * b.phase_rows,
                        b.tile_w * f.columns.stride, std::min(b.block_n, f.group_out), tap_count(f.layer)),
            fmt::format("tensor cores: three f16 products for each of fp32, by {} warps of {} positions x {} channels "
                        "in {} phases; two stages of {} input channels, weights {}",
                        b.warps_m * b.warps_n, 16 * b.warp_tiles, c[kWarpChannels], c[kPhases], b.block_k,
                        b.resident ? "resident" : "with each stage")};
  }
  static Grid grid(const Facts& f, const Block& b, Constants& c) {
    return window::grid(f, b, c[kNTiles], f.target.multiprocessors * b.blocks_per_sm);
  }
};

}  // namespace planners::f32x3_mma

CONVTGEN_TEMPLATE(F32x3Mma, f32x3_mma);

}  // namespace convtgen
