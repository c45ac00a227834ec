// What planners share of templates whose blocks make whole rows of outputs, of layers that memory bounds
// (templates/output_rows). Their blocks have the members tile_rows and blocks_per_sm.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "generator/planner/search/bounds.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/planner.h"
#include "generator/planner/search/scalar.h"

namespace convtgen::output_rows {

inline constexpr std::int64_t kMostAccumulators = 96;                         // of a thread
inline constexpr std::int64_t kMostThreadsOfSm = 1536, kMostBlocksOfSm = 16;  // that are asked for
inline constexpr double kMostArithmetic = 4;                                  // times the memory's time

/// What the choice depends on.
template <typename Block>
struct RowFacts : FactsOf<Block> {
  std::int64_t phases = phases_with_taps(this->columns);  // of a row
  std::int64_t offsets = offsets_of_taps(this->columns);  // at which the taps of a row read

  /// ceil(output / stride).
  [[nodiscard]] std::int64_t positions(std::size_t axis) const {
    return std::max<std::int64_t>(1, ceil_div(this->shape.out[axis], this->layer.axes[axis].stride));
  }
};

/// Blocks of a call, with what an SM idles at its end: the last blocks take as long as all, unless there are so many
/// that others end before.
template <typename Block>
[[nodiscard]] std::int64_t whole_blocks(const RowFacts<Block>& f, const Block& b, std::int64_t tile_columns,
                                        std::int64_t channel_tiles) {
  const std::int64_t blocks = f.sizes.batch * ceil_div(f.positions(kHeight), b.tile_rows) *
                              ceil_div(f.positions(kWidth), tile_columns) * channel_tiles;
  const std::int64_t at_once = f.target.multiprocessors * b.blocks_per_sm;
  return blocks > 4 * at_once ? blocks + at_once / 10 : ceil_div(blocks, at_once) * at_once;
}

/// Blocks of an SM.
[[nodiscard]] inline std::int64_t choose_blocks(const LayerFacts& f, const BlockNeeds& needs) {
  return std::min(kMostBlocksOfSm, blocks_of_sm(f.target, needs, kMostThreadsOfSm));
}

/// Seconds of a call whose SMs and whose memory take so many.
[[nodiscard]] inline double seconds_of(const LayerFacts& f, double work, double memory) {
  return f.target.launch_seconds + std::max(work, memory) + f.factors.hidden_less * std::min(work, memory);
}

/// Errors: what a rate bounds ("products take") takes much longer than the memory.
[[nodiscard]] inline Result<void> check_memory_bound(const LayerFacts& f, double flops_per_second,
                                                     std::string_view what) {
  const double arithmetic = f.cost.flops / flops_per_second, memory = f.cost.bytes / f.target.bytes_per_second;
  return require(arithmetic <= kMostArithmetic * memory,
                 "{} {:.1f} times as long as the memory; it takes up to {}, since it speeds up stores alone", what,
                 arithmetic / memory, kMostArithmetic);
}

/// Error: a tile with the least shared memory takes so much.
[[nodiscard]] inline std::unexpected<Error> fail_tile(const LayerFacts& f, std::int64_t least_bytes) {
  return fail_shared_memory(
      f.target, fmt::format("{} input channels and {} taps of a tile", f.group_in, tap_count(f.layer)), least_bytes);
}

/// A planner of such a template.
template <typename F, const auto& kWanted>
struct RowPlanner : ScalarPlanner<F, kWanted> {
  using typename ScalarPlanner<F, kWanted>::Block;

  static constexpr bool kNeedsShape = true;

  /// Without tensor cores.
  static Checks size_checks(const F& f) { return {check_memory_bound(f, f.target.f32_flops, "arithmetic takes")}; }
  static Result<void> check_block(const F& f, const Block& b, Constants& c) {
    return check_staged_grid(f.layer, b.tile_rows, c[index_of(kWanted, "kTileColumns")],
                             c[index_of(kWanted, "kChannelTiles")]);
  }
  static Grid grid(const F& f, const Block& b, Constants& c) {
    return staged_grid(f.layer, b.tile_rows, c[index_of(kWanted, "kTileColumns")],
                       c[index_of(kWanted, "kChannelTiles")])
        .grid();
  }
};

}  // namespace convtgen::output_rows
