// What planners share of templates that make products of warps in windows of pixels (templates/mma_window). Their
// blocks have the members block_n, warps_n, adjacent_channels and store.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "generator/planner/forward/window.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/planner.h"

namespace convtgen::mma_window {

inline constexpr std::int64_t kLeastOfVolumes = 4;       // channels of groups, which no others make products of
inline constexpr std::int64_t kMostStepProducts = 1024;  // of a warp, written out
inline constexpr std::int64_t kMostShifts = 1024;        // of the input, which are unrolled
inline constexpr std::int64_t kMostBlockN = 256;
inline constexpr std::int64_t kMostBlocksOfSm = 4;  // that are asked for

/// Errors: the axis reads over more positions than can be unrolled.
[[nodiscard]] inline Result<void> check_shifts(const Layer& layer, std::size_t number) {
  const Axis& axis = layer.axes[number];
  const std::int64_t shifts = axis.dilation * (axis.kernel - 1) / axis.stride + 1;
  return require(shifts <= kMostShifts, "kernel {} with dilation {} in {} reads over {} positions; at most {}",
                 axis.kernel, axis.dilation, axis_name(layer, number), shifts, kMostShifts);
}

/// From a pixel of the axis that a gradient of the input may read to the next one.
[[nodiscard]] inline std::int64_t pixel_step(const Axis& axis) {
  return std::gcd(axis.input_stride, axis.kernel > 1 ? axis.dilation : 0);
}

/// Bytes of whole sectors, which come from L2, for each that is wanted of a row.
[[nodiscard]] inline double sector_waste(const LayerFacts& f) {
  return f.channels_last ? 1 : static_cast<double>(std::min(pixel_step(f.columns), 32 / f.bytes));
}

/// Columns of the outputs that a warp stores in a row of nchw.
template <typename Block>
[[nodiscard]] std::int64_t row_columns(const LayerFacts& f, const Block& b) {
  return (b.part_w == 64 ? 16 * b.warp_tiles : 8) * f.columns.stride;
}

/// How many stores of a lane a row takes: whole vectors and, where it begins within one, single elements at both ends.
template <typename Block>
[[nodiscard]] std::int64_t row_stores(const LayerFacts& f, const Block& b, std::int64_t store) {
  const bool begins_within = f.columns.padding.before % f.columns.stride % store != 0;
  return row_columns(f, b) / store + (begins_within ? store - 1 : 0);
}

/// Chooses a thread's adjacent channels, and how many outputs it stores together. In a sequence (`flat`) rows begin
/// anywhere, a position's outputs do not. An open width allows no store of more than one.
template <typename Block>
void choose_store(const LayerFacts& f, Block& b, bool flat) {
  if (f.channels_last) {
    b.store = b.adjacent_channels = halved_until(f.vector, [&](std::int64_t store) {
      return b.block_n / b.warps_n % (4 * store) == 0 && f.adjacent_out % store == 0;
    });
    return;
  }
  b.adjacent_channels = 2;
  const std::int64_t out = f.columns.extent ? f.shape.out[kWidth] : 1;
  const std::int64_t stride = f.columns.stride, padding = f.columns.padding.before;
  b.store = 1;
  for (std::int64_t store = f.vector; store > 1; store /= 2) {
    const bool whole = out % store == 0 && (!flat || (stride % store == 0 && padding % store == 0));
    if (whole && row_stores(f, b, store) < row_stores(f, b, b.store)) {
      b.store = store;
    }
  }
}

/// What was fitted of a template's tiles, apart from their products.
struct Rates {
  double store = 0;        // instructions for each store of outputs
  double wait = 0;         // times a stage's work that an SM waits
  double stage = 0;        // cycles of a stage's barrier
  double alone = 1;        // times as long that a block takes which is alone on its SM
  double cut_bytes = 0;    // of memory for each place where two tiles share a sector of a row of outputs
  bool by_stores = false;  // whether stores of less than 16 bytes are counted each, NCHW
  double measured = 1;     // median of measured / predicted
};
[[nodiscard]] inline Rates rates_of(const LayerFacts& f, double measured) {
  constexpr double kAloneOfVolumes = 1.12;
  return {.store = f.factors.mma_gemm_store,
          .wait = f.factors.mma_gemm_wait,
          .stage = f.factors.mma_gemm_stage,
          .alone = f.layer.dimensions == 3 ? kAloneOfVolumes : 1,
          .by_stores = f.layer.dimensions < 3 && f.layer.compute != Compute::kF32x3,
          .measured = measured};
}

/// Instructions for an output.
template <typename Block>
[[nodiscard]] double output_instructions(const LayerFacts& f, const Block& b, const Rates& rates) {
  const double stores = f.channels_last
                            ? 1 / static_cast<double>(b.store)
                            : static_cast<double>(row_stores(f, b, b.store)) / static_cast<double>(row_columns(f, b));
  return f.factors.mma_gemm_output + stores * rates.store;
}

/// What a call moves of that many bytes at the least. In nchw rows begin within sectors of 32 bytes, and end within
/// others; `read_columns`: of a row that is staged.
template <typename Block>
[[nodiscard]] double memory_bytes(const LayerFacts& f, const Block& b, double read_bytes, double written_bytes,
                                  std::int64_t read_columns, const Rates& rates) {
  const auto part_sectors = [&](std::int64_t elements) { return 32 / static_cast<double>(elements * f.bytes); };
  if (f.channels_last) {
    return read_bytes + written_bytes * std::max(1.0, part_sectors(std::min(b.block_n / b.warps_n, f.group_out)));
  }
  const double read = part_sectors(std::min(read_columns, f.sizes.extents[kWidth]));
  // A store of a warp begins and ends within sectors, as rows do: measured where kernels are longer than the stride.
  const bool is_narrow = rates.by_stores && b.store < f.vector && f.columns.kernel > f.columns.stride;
  const std::int64_t stored = is_narrow ? std::min(32 * b.store, row_columns(f, b)) : row_columns(f, b);
  const double written = part_sectors(std::min(stored, f.shape.out[kWidth]));
  return read_bytes * (1 + f.factors.mma_gemm_read_parts * read) +
         written_bytes * (1 + f.factors.mma_gemm_written_parts * written);
}

/// Rows of the input, of all planes, for each one that is read.
[[nodiscard]] inline double rows_of_read(const LayerFacts& f) {
  return static_cast<double>(pixel_step(f.rows) * pixel_step(f.layer.axes[kDepth]));
}

/// The least that any block needs, for the words of a refusal.
struct Least {
  std::int64_t accumulators = std::numeric_limits<std::int64_t>::max();
  std::int64_t products = std::numeric_limits<std::int64_t>::max();
  std::int64_t places = std::numeric_limits<std::int64_t>::max();   // of a thread's input
  std::int64_t batches = std::numeric_limits<std::int64_t>::max();  // of its loads, where they go through registers
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();    // where these are few enough
};

/// Why there are no blocks: which limit even the smallest block breaks.
[[nodiscard]] inline std::unexpected<Error> why_none(const LayerFacts& f, const Least& least,
                                                     std::int64_t most_accumulators, std::int64_t most_places) {
  if (least.accumulators > most_accumulators) {
    return fail(fmt::format("stride {}: a thread has accumulators of all phases, {}; at most {}",
                            axes_text(f.layer, &Axis::stride), least.accumulators, most_accumulators));
  }
  if (least.products > kMostStepProducts) {
    return fail(fmt::format("kernel {} takes {} products, each written out; at most {}",
                            axes_text(f.layer, &Axis::kernel), least.products, kMostStepProducts));
  }
  if (least.places > most_places) {
    return fail(fmt::format("kernel {}: a thread loads a stage's input with its halo from {} places; at most {}",
                            axes_text(f.layer, &Axis::kernel), least.places, most_places));
  }
  if (least.bytes == std::numeric_limits<std::int64_t>::max()) {
    return fail(
        fmt::format("kernel {}: a thread loads a stage's input with its halo in {} batches; at most 1, which "
                    "registers hold",
                    axes_text(f.layer, &Axis::kernel), least.batches));
  }
  return fail_shared_memory(
      f.target, fmt::format("kernel {}: stages of input with its halo and weights", axes_text(f.layer, &Axis::kernel)),
      least.bytes);
}

/// Whether a block with so many registers of a thread fits an SM; chooses how many do.
template <typename Block>
[[nodiscard]] bool choose_blocks(const LayerFacts& f, Block& b, BlockNeeds needs) {
  needs.registers = std::min<std::int64_t>(255, round_up(needs.registers, 8));
  b.blocks_per_sm = std::min(kMostBlocksOfSm, blocks_of_sm(f.target, needs, f.target.max_threads_per_sm));
  return needs.shared_bytes <= f.target.max_shared_bytes && needs.registers * needs.threads <= kRegistersOfSm;
}

/// Whether blocks differ in their pipelines alone: of these the fastest will do.
template <typename Block>
[[nodiscard]] bool are_alike(const Block& one, const Block& other) {
  return window::is_flat(one) == window::is_flat(other) && one.tile_h == other.tile_h && one.tile_w == other.tile_w &&
         one.warps_m == other.warps_m && one.warps_n == other.warps_n && one.warp_tiles == other.warp_tiles &&
         one.block_n == other.block_n && one.phase_rows == other.phase_rows && one.resident == other.resident;
}

/// Whether templates of wgmma, which have been measured, take such layers too.
[[nodiscard]] inline bool has_rivals(const LayerFacts& f) {
  return f.target.features.has(Feature::kWgmma) && f.layer.dimensions < 3;
}

/// Median of measured / predicted; `beside_wgmma`: of forward layers where there are rivals.
[[nodiscard]] inline double measured_of(const LayerFacts& f, double beside_wgmma) {
  return !has_rivals(f)        ? f.factors.mma_gemm_measured
         : f.problem.exchanged ? f.factors.mma_gemm_gradients_beside_wgmma
                               : beside_wgmma;
}

/// How many places there are where two tiles share a sector of a row of outputs, NCHW.
template <typename Block>
[[nodiscard]] double shared_sectors(const LayerFacts& f, const Block& b) {
  const std::int64_t out = std::max<std::int64_t>(1, f.shape.out[kWidth]), tile = b.tile_w * f.columns.stride;
  const std::int64_t sector = 32 / f.bytes, before = f.columns.padding.before % f.columns.stride;
  const bool whole = out % sector == 0 && tile % sector == 0 && before % sector == 0;
  const auto rows = static_cast<double>(f.shape.output_elements) / static_cast<double>(out);
  return whole ? 0 : rows * static_cast<double>(ceil_div(out + before, tile) - 1);
}

/// Phase rows of a block: all, or with the same kernel rows for each, one.
[[nodiscard]] inline std::vector<std::int64_t> phase_rows(const LayerFacts& f) {
  const Axis& rows = f.layer.axes[kHeight];
  const bool may_part = rows.stride > 1 && rows.kernel % rows.stride == 0 && rows.dilation == 1;
  return may_part ? std::vector{rows.stride, std::int64_t{1}} : std::vector{rows.stride};
}

/// Accumulators of a thread, of one part of a value.
template <const auto& kWanted, typename F>
[[nodiscard]] std::int64_t accumulators(const F& f, const typename F::Block& b) {
  Constants& c = f.of(b);
  return b.warp_tiles * c[index_of(kWanted, "kPhases")] * c[index_of(kWanted, "kWarpChannels")] / 2;
}

/// Whether warps of a block, with block_n channels each, make products of whole parts of a tile, within the limits.
/// Chooses the channels of all of them.
template <const auto& kWanted, typename F>
[[nodiscard]] bool choose_channels(const F& f, typename F::Block& b, Least& least) {
  b.block_n *= b.warps_n;
  const std::int64_t wanted = accumulators<kWanted>(f, b);
  least.accumulators = std::min(least.accumulators, wanted);
  return b.warps_m * b.warp_tiles % 4 == 0 && wanted <= f.of(b)[index_of(kWanted, "kMostAccumulators")] &&
         b.block_n <= kMostBlockN && b.block_n < round_up(f.group_out, 8) + 8 * b.warps_n;
}

/// The work of all warps in a stage, of values of so many parts.
struct WarpsWork {
  double warps, k_steps;
  double products;         // of one part by another
  double pixels, columns;  // vectors that are loaded: of the input for each outer tap, and of the weights
};
template <const auto& kWanted, typename Block>
[[nodiscard]] WarpsWork warps_work(const Block& b, Constants& c, double parts) {
  const auto warps = static_cast<double>(b.warps_m * b.warps_n);
  const double k_steps = c.number(index_of(kWanted, "kKSteps")), all = warps * k_steps;
  return {.warps = warps,
          .k_steps = k_steps,
          .products = all * c.number(index_of(kWanted, "kStepProducts")),
          .pixels =
              all * (c.number(index_of(kWanted, "kOuterHalo")) + 1) * c.number(index_of(kWanted, "kLoads")) * 4 * parts,
          .columns = all * c.number(index_of(kWanted, "kTaps")) * c.number(index_of(kWanted, "kWarpChannels")) / 8 * 2 *
                     parts};
}

/// Seconds of a call whose blocks take so many cycles for a stage, without what its warps wait for.
template <const auto& kWanted, typename F>
[[nodiscard]] double seconds_of(const F& f, const typename F::Block& b, double stage_cycles, const window::Reach& reach,
                                std::int64_t read_columns, const Rates& rates) {
  Constants& c = f.of(b);
  const auto warps = static_cast<double>(b.warps_m * b.warps_n);
  const double stages = f.depth_taps * c.number(index_of(kWanted, "kKBlocks"));
  const auto blocks = static_cast<double>(window::tiles(f, b, reach) * c[index_of(kWanted, "kNTiles")]) /
                      f.target.multiprocessors;  // of an SM
  const double at_once = std::min(std::ceil(blocks), static_cast<double>(b.blocks_per_sm));
  const double outputs = c.number(index_of(kWanted, "kPositions")) * c.number(index_of(kWanted, "kPhases")) *
                         static_cast<double>(b.block_n);
  const double tile = stages * (stage_cycles * (1 + rates.wait / (warps * at_once)) + rates.stage / at_once) +
                      outputs * output_instructions(f, b, rates) / 128;
  const double kept = c.number(index_of(kWanted, "kResidentBytes")) * at_once;
  return call_seconds(
      f, {.packed_bytes = c.number(index_of(kWanted, "kPackedBytes")),
          .first_cycles = f.factors.mma_gemm_begin + kept / f.target.sm.l2_bytes_per_cycle,
          .waves = std::max(blocks, f.factors.mma_gemm_whole * std::ceil(blocks)),
          .wave_cycles = (b.blocks_per_sm == 1 ? rates.alone : 1) * tile,
          .memory_bytes = memory_bytes(f, b, f.read_bytes / rows_of_read(f), f.written_bytes, read_columns, rates) +
                          (rates.cut_bytes > 0 ? rates.cut_bytes * shared_sectors(f, b) : 0),
          .measured = rates.measured});
}

/// A planner of such a template.
template <typename F, const auto& kWanted>
struct WindowPlanner : VolumePlanner<F, kWanted> {
  static constexpr Features kNeeds = {Feature::kLdmatrix, Feature::kMmaF16K8};  // of f16
  static constexpr std::size_t kMostPlans = 10;
  static constexpr FuseInput kFuseInput = FuseInput::kKeepingZero;

  static Checks checks(const Layer& layer) {
    return {layer.dimensions == 3 ? check_group_channels(layer, kLeastOfVolumes, kLeastOfVolumes)
                                  : check_group_channels(layer),
            window::check_padding(layer, kHeight), window::check_padding(layer, kWidth), check_shifts(layer, kHeight),
            check_shifts(layer, kWidth)};
  }
  static Checks size_checks(const F& f) { return {check_warp_products(f.target, f.layer.compute, kNeeds)}; }
  static bool alike(const typename F::Block& one, const typename F::Block& other) { return are_alike(one, other); }
};

}  // namespace convtgen::mma_window
