#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/thin.h"

namespace convtgen {
namespace planners::thin_grad_input {

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK_AND_FACTS(thin::ThinFacts, (threads_x, 1), (threads_y, 1), (threads_c, 1), (lanes_of_channels, false),
                         (columns_per_thread, 1), (channels_per_thread, 1), (taps_w, 1), (vector, 1), (store, 1),
                         (blocks_per_sm, 1));
CONVTGEN_CONSTANTS(kThreads, kSharedBytes, kAlignment, kTileRows, kTileColumns, kSlotTiles, kWindows, kOuts, kTapTiles,
                   kVectors, kWindow);

constexpr std::int64_t kWeightsAtOnce = 16;  // that a thread has in registers

/// Adjacent elements that a thread makes are stored by vectors of 16 bytes or 8, where no vector is in part outside.
void choose_stored(const Facts& f, Block& b) {
  const std::int64_t adjacent = f.channels_last ? b.channels_per_thread : b.columns_per_thread;
  const Size length = f.channels_last ? Size(f.group_in) : f.layer.axes[kWidth].extent;
  b.store = 1;
  for (const std::int64_t vector : {f.vector / 2, f.vector}) {
    if (f.layer.dtype != Dtype::kF64 && adjacent % vector == 0 && length && *length % vector == 0) {
      b.store = vector;
    }
  }
}

struct ThinGradInput : thin::ThinPlanner<Facts, kConstants, Direction::kGradInput> {
  /// Whether a thread and shared memory have room for it.
  static bool fits(const Facts& f, Block& b) {
    const std::int64_t products = b.channels_per_thread * b.columns_per_thread;
    const std::int64_t run = b.channels_per_thread * b.taps_w;
    const std::int64_t windows = windows_registers(f, 2, f.of(b)[kWindow], b);
    choose_stored(f, b);
    choose_blocks_of_sm(f, products + std::min(run, kWeightsAtOnce) + windows, f.of(b)[kThreads], f.of(b)[kSharedBytes],
                        b);
    return products <= f.most(thin::kMostProducts) && run <= f.most(2 * thin::kMostSpan) &&
           f.of(b)[kSharedBytes] <= f.target.max_shared_bytes;
  }

  static Blocks blocks(const Facts& f) {
    return choices(f)
        .keep([&](Block& b) { return fits(f, b); })
        .or_fail(
            "{} taps of a row along {} columns are too many for a thread's window, or the weights of {} taps for "
            "shared memory",
            f.columns.kernel, f.columns.dilation, tap_count(f.layer));
  }
  static double seconds(const Facts& f, const Block& b, Constants& c) {
    const double blocks =
        static_cast<double>(f.sizes.batch * f.sizes.extents[kDepth] * ceil_div(f.extent(kHeight), c[kTileRows]) *
                            ceil_div(f.extent(kWidth), c[kTileColumns]) * c[kSlotTiles]);
    const double threads = blocks * static_cast<double>(c[kThreads]);
    const auto windows = static_cast<double>(f.layer.axes[kDepth].kernel * f.rows.kernel * c[kWindows] * c[kTapTiles]);
    const auto products = static_cast<double>(b.taps_w * c[kOuts] * b.channels_per_thread * b.columns_per_thread);
    const std::int64_t run = b.taps_w * b.channels_per_thread;
    const bool by_vectors = f.layer.dtype != Dtype::kF64 && (b.channels_per_thread % 4 == 0 || !b.lanes_of_channels);
    const auto weights = static_cast<double>(c[kOuts] * (by_vectors ? ceil_div(run, 4) : run));
    const double instructions =
        windows * (products * f.fma_factor + weights + read_instructions(f, c[kVectors], c[kWindow]));
    const double weight_turns = b.lanes_of_channels && by_vectors ? std::min<double>(4, b.threads_c / 8.0 + 1) : 1;
    const double turns =
        windows * (static_cast<double>(c[kVectors]) * thin::lines_of_load(f, b) + weights * weight_turns);
    // What each thread does besides: its place, weights, and stores.
    const auto made = static_cast<double>(b.channels_per_thread * b.columns_per_thread);
    const double others = 150 + 10 * static_cast<double>(c[kSharedBytes] / 4) / static_cast<double>(c[kThreads]) +
                          4 * made / static_cast<double>(b.store) * (f.channels_last && !b.lanes_of_channels ? 4 : 1);
    return call_time(f, b, threads, std::max(instructions, 4 * turns) + others, blocks, store_seconds(f, b));
  }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    return {fmt::format("a block makes {}x{} inputs of {} channels; {} taps", c[kTileRows], c[kTileColumns],
                        std::min(b.threads_c * b.channels_per_thread, f.layer.in_channels), tap_count(f.layer)),
            fmt::format("{} output channels of a group; a thread makes {} channels of {} columns from windows of "
                        "{} taps, read {} at a time",
                        f.group_out, b.channels_per_thread, b.columns_per_thread, b.taps_w, b.vector),
            by_planes({.axes = {{per(Quantity::kInHeight), c[kTileRows]},
                                {per(Quantity::kInWidth), c[kTileColumns]},
                                {per(Quantity::kBatch), 1}},
                       .blocks_per_tile = c[kSlotTiles],
                       .bounds = staged_bounds(f.layer, c[kTileRows], c[kTileColumns])},
                      f.layer, Quantity::kInDepth)};
  }
};

}  // namespace planners::thin_grad_input

CONVTGEN_TEMPLATE(ThinGradInput, thin_grad_input);

}  // namespace convtgen
