#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/forward/direct_block.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/scalar.h"
#include "generator/planner/search/thin.h"

namespace convtgen {
namespace planners::direct_grad_input {

using namespace convtgen::direct;

/// Seconds of the loads of grad_y from shared memory: columns of adjacent threads lie the strides of a thread's columns
/// apart, and those of one bank take turns.
double load_seconds(const Facts& f, const Block& b) {
  const std::int64_t turns = std::min(b.threads_x, std::gcd<std::int64_t>(b.columns_per_thread * f.columns.stride, 32));
  const double loads = f.cost.flops / 2 / static_cast<double>(b.channels_per_thread);
  // An SM loads as many words at a time as it has a quarter of its FMA units, of each two operations.
  return 8 * loads * static_cast<double>(turns) / f.target.f32_flops;
}

struct DirectGradInput : GeneralPlanner<DirectGradInput, Facts, kConstants> {
  static constexpr Direction kDirection = Direction::kGradInput;
  static constexpr auto kAllMembers = Block::members();
  static constexpr auto kMembers = std::span(kAllMembers).first<kAllMembers.size() - kForwardMembers>();

  static Blocks blocks(const Facts& f) { return blocks_of(f, kAims); }
  static Result<void> check_block(const Facts& f, const Block&, Constants& c) {
    return require(f.layer.groups <= kIntMax / c[kChannelTiles],
                   "{} input channels need more blocks than a grid can have (2^31 - 1)", f.layer.in_channels);
  }
  /// Of volumes more than the forward template's (measured: 5 times the memory's time, 22 with channels last); of
  /// groups with few output channels, which loads of shared memory bound, or with channels last stores of single
  /// elements (measured: 2.5 to 3.5 times as long as predicted).
  static double seconds(const Facts& f, const Block& b, Constants& c) {
    double seconds = scalar_seconds(f, chosen(f, b, c).grid);
    constexpr double kVolumes = 2;
    constexpr double kSingleStores = 2.5;
    const double times = kVolumes * (f.channels_last ? f.factors.direct_moves_nhwc : f.factors.direct_moves);
    if (f.group_out <= thin::kMostOuts && seconds > 0) {
      seconds = std::max(seconds * (f.channels_last ? kSingleStores : 1), load_seconds(f, b));
    }
    return f.layer.dimensions < 3 || seconds == 0 ? seconds
                                                  : std::max(seconds, times * f.cost.bytes / f.target.bytes_per_second);
  }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    return {fmt::format("a block makes {}x{} inputs of {} channels; {} taps", c[kTileRows], c[kTileColumns],
                        std::min(c[kTileChannels], f.made), tap_count(f.layer)),
            fmt::format("direct_grad_input takes every layer; each thread accumulates {} x {} x {}, and {}",
                        count_of(b.channels_per_thread, "channel"), count_of(b.rows_per_thread, "row"),
                        count_of(b.columns_per_thread, "column"),
                        b.staged ? fmt::format("{} {} staged at a time", count_of(b.block_k, "output channel"),
                                               b.block_k == 1 ? "is" : "are")
                                 : "the window is too large for shared memory, so grad_y is read where it lies"),
            by_planes({.axes = {{per(Quantity::kInHeight), c[kTileRows]},
                                {per(Quantity::kInWidth), c[kTileColumns]},
                                {per(Quantity::kBatch), 1}},
                       .blocks_per_tile = f.layer.groups * c[kChannelTiles],
                       .bounds = staged_bounds(f.layer, c[kTileRows], c[kTileColumns])},
                      f.layer, Quantity::kInDepth)};
  }
};

}  // namespace planners::direct_grad_input

CONVTGEN_TEMPLATE(DirectGradInput, direct_grad_input);

}  // namespace convtgen
