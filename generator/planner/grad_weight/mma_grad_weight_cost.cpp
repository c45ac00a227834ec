#include "generator/planner/grad_weight/mma_grad_weight_block.h"

#include <algorithm>
#include <cmath>

#include "generator/planner/search/integers.h"
#include "generator/planner/search/roofline.h"

namespace convtgen::planners::mma_grad_weight {
namespace {

constexpr double kShortCopy = 3;                       // wavefronts of a warp's copies of less than 16 bytes
constexpr double kRunInstructions = 40, kRunCopy = 2;  // of a turn of planar stages, and of each of its copies

/// What turns bring, of x or of grad_y.
struct Brought {
  double turns = 0;         // of warps
  double copied_bytes = 0;  // by asynchronous copies; 0: through registers
  std::int64_t run = 0;     // copies of a turn of planar stages, each of a span
  bool is_wide = false;
  std::int64_t span = 1;          // positions of a turn
  bool is_even = false;           // whether a span is one load of a channel
  std::int64_t row_elements = 1;  // from the first position of a row to the last one of a tile
  bool is_whole = false;          // whole rows of images, which follow one another in memory
  double apart = 1;               // elements from a position to the next one
};

/// What that takes.
struct BroughtWork {
  double wavefronts = 0;
  double waste = 1;  // bytes of whole sectors, for each that is wanted
  double instructions = 0;
};

/// What a warp's loads or copies of adjacent positions of one channel touch: runs of bytes that follow one another, and
/// lines of memory, of 128 bytes.
struct Touched {
  double run_bytes = 0, lines = 0;
};
Touched touched_of(const Facts& f, const Brought& b) {
  const double elements = 32 * static_cast<double>(b.span) * b.apart;
  const double run = b.is_whole ? elements : std::min(elements, static_cast<double>(b.row_elements));
  const double bytes = run * static_cast<double>(f.bytes);
  return {bytes, elements / run * std::max(1.0, bytes / 128)};
}

BroughtWork work_of(const Facts& f, const Brought& b, Constants& c) {
  if (b.run > 0) {
    // Copies of less than 16 bytes take more than their bytes. Lines are found before anything is written.
    const double copies = b.turns * static_cast<double>(b.run);
    const double of_copies = b.span * f.bytes < 16 ? kShortCopy * copies : 0;
    const double bytes = static_cast<double>(b.row_elements * f.bytes);
    return {.wavefronts = f.factors.mma_grad_weight_line * touched_of(f, b).lines * copies +
                          std::max(of_copies, b.copied_bytes / f.factors.mma_grad_weight_copied),
            .waste = std::max(32.0, bytes) / (bytes / b.apart),
            .instructions = b.turns * kRunInstructions + copies * kRunCopy};
  }
  if (b.copied_bytes > 0) {
    // 16 bytes of each lane are copied, and written again where they are rounded.
    const double rounded = f.layer.compute == Compute::kTf32 ? 1 : 0;
    return {.wavefronts = (1 + 2 * rounded) * b.copied_bytes / f.factors.mma_grad_weight_copied,
            .instructions = b.turns * f.factors.mma_grad_weight_copy * (1 + rounded)};
  }
  const auto span = static_cast<double>(b.span);
  const double stored = 4 * c.number(kParts) * span;
  const double one = splits(f.layer) ? f.factors.mma_grad_weight_split : f.factors.mma_grad_weight_turn;
  const double of_turn =
      b.is_wide ? f.factors.mma_grad_weight_wide : one * (1 + (span - 1) * f.factors.mma_grad_weight_span);
  BroughtWork work = {.instructions = b.turns * of_turn};
  if (f.channels_last) {
    work.wavefronts = b.turns * ((b.is_wide ? 4 : c.number(kVector)) + stored);
    return work;
  }
  // 32 lanes load adjacent positions of one channel: their lines of memory, and sectors.
  const Touched touched = touched_of(f, b);
  const double loads = c.number(kVector) * (b.span > 1 && !b.is_even ? 2 : 1);
  work.wavefronts = b.turns * (f.factors.mma_grad_weight_line * touched.lines * loads + stored);
  work.waste = std::max(32.0, touched.run_bytes) / (touched.run_bytes / b.apart);
  return work;
}

/// Sectors that a block's results are written to: those of single taps are 4 bytes (sums of slices) of one.
double stored_sectors(const Facts& f, const Block& b, double outputs) {
  const bool together = f.layer.weight_layout == WeightLayout::kChannelsLast || f.rows.kernel * f.columns.kernel == 1;
  const bool whole = together || (b.taps_h == f.rows.kernel && b.taps_w == f.columns.kernel);
  const double bytes = b.slices > 1 ? 4 : static_cast<double>(f.bytes);
  return outputs * (whole ? bytes : std::max(bytes, 32 / static_cast<double>(b.taps_w))) / 32;
}

}  // namespace

std::int64_t tiles_of(const Facts& f, const Block& b) {
  const std::int64_t all_rows = f.sizes.batch * f.sizes.extents[kDepth] * (f.sizes.extents[kHeight] + f.of(b)[kHaloH]);
  return ceil_div(all_rows, b.tile_rows) * ceil_div(f.sizes.extents[kWidth], b.tile_columns);
}

double seconds_of(const Facts& f, const Block& b, Constants& c) {
  const auto warps = static_cast<double>(b.warps_in * b.warps_out * b.warps_taps * b.warps_k);
  const double strips = c.number(kOwnStrips) * warps;  // of all warps, in a stage
  const double products = products_of_value(f) * strips * c.number(kStripProducts);
  // Vectors of 16 bytes that products load, by eights.
  const double loads = c.number(kParts) * strips * 4 *
                       (static_cast<double>(b.strip) * c.number(kWarpInTiles) +
                        c.number(kOuterTaps) * c.number(kStripLoads) * c.number(kWarpOutTiles) / 2);
  const bool tf32 = f.layer.compute == Compute::kTf32, planar = c[kPlanar] != 0, whole_rows = has_whole_rows(f, b);
  // Of whole rows B fragments are put together from words. Where positions have a stride, lanes find two of these in
  // one bank; less often where a warp has all columns of taps.
  const double pairs =
      whole_rows ? strips * c.number(kOuterTaps) * c.number(kStripLoads) * c.number(kWarpOutTiles) * 2 : 0;
  const double more_wavefronts = pairs * (f.columns.stride == 1 ? 0.5 : b.warps_taps == 1 ? 1.5 : 3);
  const double of_load = tf32 ? (planar ? 2 : 1) : 0.25;  // instructions; words of planes are rounded
  // Of images that are read by columns of tiles each row is a run of its own.
  const bool whole = b.tile_columns >= f.sizes.extents[kWidth];
  const bool spanned = c[kRowsAreWhole] != 0;
  const BroughtWork input = work_of(f,
                                    {.turns = c.number(kInputTurns) * warps,
                                     .copied_bytes = b.copy_bytes > 0 && b.copies_in ? c.number(kInputBytes) : 0,
                                     .run = planar ? c[kInputRun] : 0,
                                     .is_wide = b.wide_in,
                                     .span = c[kInputSpan],
                                     .is_even = c[kInputIsEven] != 0,
                                     .row_elements = b.tile_columns,
                                     .is_whole = whole},
                                    c);
  const BroughtWork window =
      work_of(f,
              {.turns = c.number(kWindowTurns) * warps,
               .copied_bytes = b.copy_bytes > 0 && b.copies_out ? c.number(kWindowBytes) : 0,
               .run = planar ? c[kWindowRun] : 0,
               .is_wide = b.wide_out,
               .span = c[kWindowSpan],
               .is_even = c[kWindowIsEven] != 0,
               .row_elements = spanned ? c[kSpannedColumns] : b.tile_columns * f.columns.stride,
               .is_whole = whole && (!spanned || f.rows.stride == 1),
               .apart = spanned ? 1 : static_cast<double>((whole ? f.rows.stride : 1) * f.columns.stride)},
              c);
  // Where channels come first, sectors are read whole, those of grad_y for each plane; and lines of memory by halves.
  const bool narrow = !f.channels_last && b.tile_columns < f.sizes.extents[kWidth];
  const double memory_waste = narrow ? std::max(1.0, 64 / static_cast<double>(b.tile_columns * f.bytes)) : 1;
  // Totals of values that are split: three instructions for an accumulator each 16 steps.
  const double promoted = splits(f.layer) ? warps * c.number(kAccumulators) * 3 * c.number(kKSteps) / 16 : 0;
  // B fragments of as many taps as a plane of the stride has are added up: in tf32 by two instructions, else by
  // products with ones.
  const double summed = b.sums_bias ? c.number(kOwnStrips) * static_cast<double>(b.strip * b.warps_out * b.warps_k) *
                                          c.number(kWarpOutTiles) * c.number(kParts) *
                                          static_cast<double>(f.rows.stride * f.columns.stride)
                                    : 0;
  const auto slices = static_cast<double>(b.slices);
  const double blocks = c.number(kSliceBlocks) * slices / f.target.multiprocessors;  // of an SM
  const double at_once = std::min(std::ceil(blocks), static_cast<double>(b.blocks_per_sm));
  // Four schedulers share the warps; the one with the most is the last.
  const double uneven = std::ceil(warps * at_once / 4) * 4 / (warps * at_once);
  const StageWork stage = {
      .tensor_cycles = uneven * (products + (tf32 ? 0 : summed)) * f.target.sm.mma_cycles,
      .shared_wavefronts =
          loads * 128 / f.target.sm.shared_bytes_per_cycle + more_wavefronts + input.wavefronts + window.wavefronts,
      .instructions = uneven *
                      (products + loads * of_load + input.instructions + window.instructions + promoted + pairs * 3.5 +
                       summed * (tf32 ? 2 : 1) + std::ceil(c.number(kSpans) / 32) * f.factors.mma_grad_weight_pixel) /
                      4,
      .l2_bytes = input.waste * c.number(kInputBytes) + std::min(window.waste, 8.0) * c.number(kWindowBytes)};
  const double stages = std::ceil(static_cast<double>(tiles_of(f, b)) / static_cast<double>(b.slices));
  const double waited = b.copy_bytes > 0 ? 0 : f.factors.mma_grad_weight_latency * c.number(kOwnStrips);
  const double outputs = c.number(kTaps) * static_cast<double>(b.block_in * b.block_out);
  const double hidden = b.copy_bytes > 0 && b.stages == 2 ? f.factors.mma_grad_weight_two_stages : 1;
  const double block = stages * hidden *
                           (cycles_of(f.target, stage) * (1 + f.factors.mma_grad_weight_wait / (warps * at_once)) +
                            (f.factors.mma_grad_weight_stage + waited) / at_once) +
                       outputs * f.factors.mma_grad_weight_output / 128 +
                       stored_sectors(f, b, outputs) * 32 / f.target.sm.l2_bytes_per_cycle;
  const double sum_bytes = b.slices > 1 ? 8 * slices * c.number(kWeights) : 0;  // written and read again
  // Without sums another kernel reads grad_y once more for the gradient of the bias.
  const double bias_seconds =
      f.layer.bias && !b.sums_bias
          ? static_cast<double>(f.shape.output_elements * f.bytes) / f.target.bytes_per_second + f.target.launch_seconds
          : 0;
  return bias_seconds +
         call_seconds(f, {.launches = (b.slices > 1 ? 2.0 : 1.0) + (splits(f.layer) ? 1 : 0),
                          .first_cycles = f.factors.mma_grad_weight_begin * std::ceil(blocks / at_once),
                          .waves = std::ceil(blocks),
                          .wave_cycles = block,
                          .memory_bytes = f.cost.bytes * (splits(f.layer) ? 2 : 1) * memory_waste + sum_bytes / 2,
                          .measured = f.target.features.has(Feature::kWgmma) && f.layer.dimensions < 3
                                          ? f.factors.mma_grad_weight_beside_wgmma
                                          : f.factors.mma_grad_weight_measured});
}

}  // namespace convtgen::planners::mma_grad_weight
