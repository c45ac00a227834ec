#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/forward/direct_block.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
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

/// Operations of the blocks that run, all of their tiles. The last blocks take as long as all SMs' do.
double whole_flops(const Facts& f, Constants& c, std::int64_t blocks) {
  const auto whole = static_cast<double>(ceil_div(blocks, f.target.multiprocessors) * f.target.multiprocessors);
  const double outputs =
      static_cast<double>(c[kTileRows]) * static_cast<double>(c[kTileColumns]) * static_cast<double>(c[kTileChannels]);
  return 2 * whole * outputs * static_cast<double>(f.summed) * static_cast<double>(tap_count(f.layer));
}

/// Seconds in which blocks wait for what they stage. A thread waits for the loads that it issues together: 0.4 to 0.6
/// us were measured on an H200, whatever the block.
double staging_seconds(const Facts& f, const Block& b, Constants& c, std::int64_t blocks) {
  constexpr double kTurn = 0.5e-6;
  const auto turns = [&](std::int64_t places) {
    return b.asynchronous ? 1 : ceil_div(places, c[kThreads] * c[kPlacesOfThread]);
  };
  const std::int64_t at_once =
      std::clamp<std::int64_t>(blocks_by_shared(f.target, c[kSharedBytes]), 1, b.blocks_per_sm) *
      f.target.multiprocessors;
  const std::int64_t k_blocks = f.layer.axes[kDepth].kernel * ceil_div(f.summed, b.block_k);
  return kTurn * static_cast<double>(ceil_div(blocks, at_once)) *
         static_cast<double>(k_blocks * (turns(c[kRowPlaces]) + turns(c[kWeightPlaces])));
}

/// What is worth measuring besides: with few accumulators, for layers that have less work than the chip has threads.
constexpr std::array kSmallAims = {
    Aim{.acc = 16, .threads_per_sm = 1024, .even = true},
    Aim{.acc = 8, .threads_per_sm = 1024, .even = true},
};

/// Multiply-adds and loads of the threads of the SM that has the most, for each tap of an output channel.
double work_of_busiest(const Facts& f, const Block& b) {
  const std::int64_t positions = b.rows_per_thread * b.columns_per_thread;
  const std::int64_t of_thread = b.channels_per_thread * positions + positions + ceil_div(b.channels_per_thread, 2);
  return static_cast<double>(threads_of_busiest(f, b)) * static_cast<double>(of_thread);
}

/// What is tried, the first choice first: where tiles of the usual size leave SMs without work, smaller ones.
std::vector<Aim> aims_of(const Facts& f) {
  constexpr double kWorthwhile = 0.9;
  std::vector<Aim> aims(kAims.begin(), kAims.end());
  std::vector<Aim> even(kEvenAims.begin(), kEvenAims.end());
  even.insert(even.end(), kSmallAims.begin(), kSmallAims.end());
  double least = kWorthwhile * work_of_busiest(f, choose_block(f, aims.front()));
  for (const Aim& aim : even) {
    const double work = work_of_busiest(f, choose_block(f, aim));
    const bool is_better = work < least;
    aims.insert(is_better ? aims.begin() : aims.begin() + 1, aim);
    least = is_better ? kWorthwhile * work : least;
  }
  return aims;
}

struct DirectGradInput : GeneralPlanner<DirectGradInput, Facts, kConstants> {
  static constexpr Direction kDirection = Direction::kGradInput;
  static constexpr auto kAllMembers = Block::members();
  static constexpr auto kMembers = std::span(kAllMembers).first<kAllMembers.size() - kForwardMembers>();

  static Blocks blocks(const Facts& f) { return blocks_of(f, aims_of(f)); }
  static Result<void> check_block(const Facts& f, const Block&, Constants& c) {
    return require(f.layer.groups <= kIntMax / c[kChannelTiles],
                   "{} input channels need more blocks than a grid can have (2^31 - 1)", f.layer.in_channels);
  }
  /// Measured: 2.5 to 11 times as long as its arithmetic or traffic, with channels last, whose elements are stored one
  /// by one, up to 24; of volumes 5 times the memory's time, 22 with channels last. Loads of shared memory bound groups
  /// with few output channels.
  static double seconds(const Facts& f, const Block& b, Constants& c) {
    const Grid grid = chosen(f, b, c).grid;
    const std::int64_t blocks = grid.checked_blocks(quantities_of(f.shape)).value_or(0);
    const double predicted = scalar_seconds(f, grid, whole_flops(f, c, blocks));
    if (predicted == 0) {
      return 0;
    }
    constexpr double kUsual = 2, kSingleStores = 5, kVolumes = 2;
    double seconds = std::max((f.channels_last ? kSingleStores : kUsual) * predicted,
                              b.staged ? staging_seconds(f, b, c, blocks) : 0);
    if (f.group_out <= thin::kMostOuts) {
      seconds = std::max(seconds, load_seconds(f, b));
    }
    if (f.layer.dimensions == 3) {
      const double times = kVolumes * (f.channels_last ? f.factors.direct_moves_nhwc : f.factors.direct_moves);
      seconds = std::max(seconds, times * f.cost.bytes / f.target.bytes_per_second);
    }
    return seconds;
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
