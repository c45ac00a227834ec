#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/grad_weight/grad_bias.h"
#include "generator/planner/grad_weight/launch.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/thin.h"

namespace convtgen {
namespace planners::thin_grad_weight {

constexpr std::int64_t kMostSums = 96;
constexpr std::int64_t kMostSlices = 1024;

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK_AND_FACTS(thin::ThinFacts, (threads_x, 1), (threads_y, 1), (threads_c, 1), (lanes_of_channels, false),
                         (columns_per_thread, 1), (channels_per_thread, 1), (taps_h, 1), (taps_w, 1), (vector, 1),
                         (x_vector, 1), (blocks_per_sm, 1), (slices, 1), (bias_slices, 1));
CONVTGEN_CONSTANTS(kThreads, kSharedBytes, kAlignment, kWeights, kSliceBlocks, kTileRows, kTileColumns, kOuts, kVectors,
                   kWindow, kSums, kRowSums);

std::int64_t tiles_of(const Facts& f, Constants& c) {
  return f.sizes.batch * f.sizes.extents[kDepth] * ceil_div(f.extent(kHeight), c[kTileRows]) *
         ceil_div(f.extent(kWidth), c[kTileColumns]);
}

/// So many that all SMs have two blocks' turns, and that the sums of slices don't take too much memory.
void choose_slices(const Facts& f, Block& b) {
  constexpr std::int64_t kTurns = 2;
  const std::int64_t wanted = ceil_div(kTurns * b.blocks_per_sm * f.target.multiprocessors, f.of(b)[kSliceBlocks]);
  const std::int64_t bytes = f.of(b)[kWeights] * sum_bytes(f.layer);
  const std::int64_t most = std::min({kMostSlices, tiles_of(f, f.of(b)), kMostPartialBytes / bytes});
  b.slices = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, most));
}

struct ThinGradWeight : thin::ThinPlanner<Facts, kConstants, Direction::kGradWeight> {
  /// Kernel rows of a thread: at most 8, each number once.
  static std::vector<std::int64_t> taps_of(std::int64_t kernel) {
    std::vector<std::int64_t> taps = {std::min<std::int64_t>(8, kernel)};
    for (std::int64_t next = power_of_two_at_least(taps.back()) / 2; next > 0; next /= 2) {
      taps.push_back(next);
    }
    return taps;
  }

  /// Whether a thread and shared memory have room for it.
  static bool fits(const Facts& f, Block& b) {
    const Axis& columns = f.layer.axes[kWidth];
    b.x_vector = f.channels_last ? vector_of(f, b.channels_per_thread, f.group_in)
                                 : vector_of(f, b.columns_per_thread, columns.extent);
    const std::int64_t inputs = registers_of(f, b.channels_per_thread * b.columns_per_thread, b.x_vector);
    const std::int64_t windows = windows_registers(f, b.taps_h, f.of(b)[kWindow], b);
    choose_blocks_of_sm(f, f.of(b)[kSums] + inputs + windows, f.of(b)[kThreads], f.of(b)[kSharedBytes], b);
    choose_slices(f, b);
    b.bias_slices = bias_slices(f.problem);
    return f.of(b)[kSums] <= f.most(kMostSums) && f.of(b)[kSharedBytes] <= f.target.max_shared_bytes;
  }

  static Blocks blocks(const Facts& f) {
    return choices(f)
        .each(&Block::taps_h, [&](const Block&) { return taps_of(f.rows.kernel); })
        .keep([&](Block& b) { return fits(f, b); })
        .or_fail("{} taps of a row along {} columns are too many for a thread's window and its sums", f.columns.kernel,
                 f.columns.dilation);
  }
  static Result<void> check_block(const Facts& f, const Block& b, Constants& c) {
    return require(c[kSliceBlocks] <= kIntMax / b.slices,
                   "{} by {} channels need more blocks than a grid can have (2^31 - 1)", f.layer.in_channels,
                   f.layer.out_channels);
  }
  static double seconds(const Facts& f, const Block& b, Constants& c) {
    const auto blocks = static_cast<double>(b.slices * c[kSliceBlocks]);
    const double threads = blocks * static_cast<double>(c[kThreads]);
    const double tiles = std::ceil(static_cast<double>(tiles_of(f, c)) / static_cast<double>(b.slices));
    const std::int64_t inputs = b.channels_per_thread * b.columns_per_thread;
    const double rows = static_cast<double>(b.taps_h);
    // x of NCHW lies in rows of its own for each channel; of channels last lanes along channels read adjacent ones.
    const auto input_loads = static_cast<double>(inputs / b.x_vector);
    const double input_lines = f.channels_last && !b.lanes_of_channels ? 32.0
                               : f.channels_last
                                   ? std::max(1.0, 32.0 / static_cast<double>(b.threads_c))
                                   : std::max(1.0, static_cast<double>(b.columns_per_thread * f.bytes) / 4);
    const double tile = 40 + 6 * input_loads + (f.bytes == 2 ? static_cast<double>(inputs) : 0) +
                        rows * (read_instructions(f, c[kVectors], c[kWindow]) +
                                static_cast<double>(c[kRowSums] * b.columns_per_thread) * f.fma_factor);
    const double turns =
        input_loads * input_lines + rows * static_cast<double>(c[kVectors]) * thin::lines_of_load(f, b);
    const double others = 300 + 20 * static_cast<double>(c[kSums]);
    // The addition of slices is a launch of its own, whose threads wait for each slice.
    const double adding = b.slices == 1 ? 0 : f.target.launch_seconds + 5e-9 * static_cast<double>(b.slices);
    return adding + call_time(f, b, threads, tiles * std::max(tile, 4 * turns) + others, blocks);
  }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    return {
        fmt::format("a block makes {}x{} taps of {} by {} channels from {}x{} positions at a time; {} slices", b.taps_h,
                    b.taps_w, std::min(b.threads_c * b.channels_per_thread, f.layer.in_channels), c[kOuts],
                    c[kTileRows], c[kTileColumns], b.slices),
        fmt::format("{} output channels of a group; a thread sums {} taps of {} channels from {} columns at a "
                    "time, whose windows are read {} at a time",
                    f.group_out, b.taps_h * b.taps_w * c[kOuts], b.channels_per_thread, b.columns_per_thread, b.vector),
        sliced_grid(f.layer, b.slices * c[kSliceBlocks], c[kTileRows], c[kTileColumns])};
  }
  static void add(LaunchPlan& launch, const Facts& f, const Block& b, Constants& c) {
    add_slices(launch, f.layer, {.slices = b.slices, .weights = c[kWeights], .bias_slices = b.bias_slices});
  }
};

}  // namespace planners::thin_grad_weight

CONVTGEN_TEMPLATE(ThinGradWeight, thin_grad_weight);

}  // namespace convtgen
