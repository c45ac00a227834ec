// A block of `mma_grad_weight`, and how long it takes: for generator/planner/grad_weight/mma_grad_weight.cpp alone.
#pragma once

#include <cstdint>

#include "generator/planner/grad_weight/search.h"
#include "generator/planner/search/planner.h"

namespace convtgen::planners::mma_grad_weight {

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK_AND_FACTS(FactsOf, (taps_h, 1), (taps_w, 1), (block_in, 16), (block_out, 8), (warps_in, 1),
                         (warps_out, 1), (warps_taps, 1), (warps_k, 1), (blocks_per_sm, 1), (tile_rows, 1),
                         (tile_columns, 16), (strip, 1), (along_row, false), (stages, 2), (copy_bytes, 16),
                         (copies_in, true), (copies_out, true), (wide_in, false), (wide_out, false), (span, 1),
                         (slices, 1), (promote_stages, 0), (scan_slices, 1), (bias_slices, 1), (sums_bias, false));

/// The template's constants that are wanted, by their names there.
CONVTGEN_CONSTANTS(kMostAccumulators, kThreads, kInstructionK, kWeights, kSliceBlocks, kHaloH, kPeriodW, kOuterTaps,
                   kWarpTapsW, kWarpInTiles, kWarpOutTiles, kWarpOutLoads, kAccumulators, kTotals, kKSteps, kStrips,
                   kOwnStrips, kStripProducts, kStripLoads, kInnerPlanes, kPlaneLoads, kInputBytes, kWindowBytes,
                   kStageBytes, kSpans, kInputTurns, kWindowTurns, kBatchWords, kTaps, kSharedBytes, kAlignment,
                   kVector, kParts, kInputSpan, kWindowSpan, kInputIsEven, kWindowIsEven, kSpannedColumns, kScanTiles,
                   kScanSharedBytes, kScannedChannels, kTapGroups, kRowsAreWhole, kPlanar, kInputRun, kWindowRun);

inline double products_of_value(const Facts& f) {
  return splits(f.layer) ? grad_weight::kSplitProducts : 1;
}

/// Whether copies bring rows of NCHW of 16 bits as they lie.
inline bool has_whole_rows(const Facts& f, const Block& b) {
  return !f.channels_last && f.bytes == 2 && b.copy_bytes > 0;
}

/// Tiles of all positions.
[[nodiscard]] std::int64_t tiles_of(const Facts& f, const Block& b);

/// A rough time at the sizes.
[[nodiscard]] double seconds_of(const Facts& f, const Block& b, Constants& c);

}  // namespace convtgen::planners::mma_grad_weight
