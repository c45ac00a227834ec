// What planners share of gradients of layers whose groups have few output channels (templates/thin): what a thread has,
// which threads share a block, and what reading grad_y costs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "generator/planner/search/block_choices.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/planner.h"
#include "generator/planner/search/roofline.h"
#include "generator/planner/search/scalar.h"

namespace convtgen::thin {

inline constexpr std::int64_t kMostOuts = 8;       // output channels of a group
inline constexpr std::int64_t kMostSpan = 64;      // elements of a thread's window, without those before the first
inline constexpr std::int64_t kMostProducts = 48;  // accumulators of a thread
inline constexpr std::int64_t kThreadsOfBlock = 256;
inline constexpr std::int64_t kMostThreadsOfSm = 1024;

template <typename Block>
struct ThinFacts : FactsOf<Block> {
  bool is_flat = this->channels_last && this->layer.groups == 1 && !this->layer.y_channels;
  std::int64_t pixel = is_flat ? this->layer.out_channels : 1;  // elements of a column in a window

  /// FMA instructions that one of the layer's type takes as long as.
  double fma_factor = this->layer.dtype == Dtype::kF64 ? this->target.f32_flops / this->target.f64_flops : 1;

  /// Positions of the planned sizes.
  [[nodiscard]] std::int64_t extent(std::size_t axis) const {
    return std::max<std::int64_t>(1, this->sizes.extents[axis]);
  }
  [[nodiscard]] std::int64_t most(std::int64_t of_f32) const {
    return this->layer.dtype == Dtype::kF64 ? of_f32 / 2 : of_f32;
  }
};

/// Elements of a 16-byte vector; 1 where `adjacent` elements, or a row of `length`, are not whole vectors. The vectors
/// of a row of open length are not known to be.
template <typename Facts>
[[nodiscard]] std::int64_t vector_of(const Facts& f, std::int64_t adjacent, const Size& length) {
  const bool is_whole = f.layer.dtype != Dtype::kF64 && length && *length % f.vector == 0;
  return is_whole && adjacent % f.vector == 0 ? f.vector : 1;
}

/// Elements of a row of grad_y where the layer says its width.
template <typename Facts>
[[nodiscard]] Size row_of(const Facts& f) {
  const Axis& columns = f.layer.axes[kWidth];
  if (!columns.extent || (f.channels_last && !f.is_flat)) {
    return std::nullopt;
  }
  return f.shape.out[kWidth] * f.pixel;
}

/// The most taps of a kernel row whose window a thread has room for; false where one is too many.
template <typename Facts>
[[nodiscard]] bool choose_window(const Facts& f, typename Facts::Block& b) {
  const Axis& columns = f.columns;
  const std::int64_t vector = vector_of(f, b.columns_per_thread * columns.stride * f.pixel, row_of(f));
  for (b.taps_w = columns.kernel; b.taps_w >= 1; --b.taps_w) {
    const std::int64_t span =
        ((b.columns_per_thread - 1) * columns.stride + columns.dilation * (b.taps_w - 1) + 1) * f.pixel;
    if (columns.kernel % b.taps_w == 0 && span <= f.most(kMostSpan)) {
      const bool begin_alike = b.taps_w == columns.kernel || columns.dilation * b.taps_w * f.pixel % vector == 0;
      b.vector = begin_alike ? vector : 1;
      return true;
    }
  }
  return false;
}

/// Threads along channels, columns and rows.
template <typename Facts>
void choose_threads(const Facts& f, std::int64_t slots, typename Facts::Block& b) {
  const std::int64_t columns = power_of_two_at_least(ceil_div(f.extent(kWidth), b.columns_per_thread));
  const std::int64_t rows = power_of_two_at_least(f.extent(kHeight));
  if (b.lanes_of_channels) {
    b.threads_c = std::min<std::int64_t>(slots, 32);
    b.threads_x = std::min(columns, power_of_two_at_most(std::max<std::int64_t>(1, kThreadsOfBlock / b.threads_c)));
    b.threads_x = rows > 1 ? std::min<std::int64_t>(b.threads_x, 8) : b.threads_x;
    b.threads_y = std::clamp<std::int64_t>(kThreadsOfBlock / (b.threads_c * b.threads_x), 1, rows);
    return;
  }
  b.threads_x = std::min<std::int64_t>(columns, rows > 1 ? 32 : kThreadsOfBlock);
  // Threads of one group read the same window.
  const std::int64_t shared =
      std::min<std::int64_t>(8, power_of_two_at_least(ceil_div(f.group_in, b.channels_per_thread)));
  b.threads_y = std::clamp<std::int64_t>(kThreadsOfBlock / (b.threads_x * shared), 1, rows);
  b.threads_c = std::clamp<std::int64_t>(kThreadsOfBlock / (b.threads_x * b.threads_y), 1, slots);
}

/// What the threads of one warp read together: lines of 128 bytes of global memory, for one load of each.
template <typename Facts>
[[nodiscard]] double lines_of_load(const Facts& f, const typename Facts::Block& b) {
  const double lanes_c = b.lanes_of_channels ? std::min<double>(32, static_cast<double>(b.threads_c)) : 1;
  const double along = 32 / lanes_c;
  const std::int64_t step = f.channels_last ? f.layer.out_channels : 1;  // of adjacent columns
  const auto bytes = static_cast<double>(b.columns_per_thread * f.columns.stride * step * f.bytes);
  const double read = static_cast<double>(b.vector * f.bytes) * (f.is_flat || !f.channels_last ? 1 : lanes_c);
  // Each line takes a turn, and so do the bytes that are read of them.
  return std::max({1.0, std::min(along, along * bytes / 128) * std::max(1.0, read / 128), along * read / 128});
}

/// The planner of such a template.
template <typename F, const auto& kWanted, Direction kOf>
struct ThinPlanner : ScalarPlanner<F, kWanted> {
  using typename ScalarPlanner<F, kWanted>::Block;

  static constexpr Direction kDirection = kOf;
  static constexpr bool kTakesDepth = true;
  static constexpr bool kNeedsShape = true;

  static Checks checks(const Layer& layer) {
    const std::int64_t outs = layer.out_channels / layer.groups;
    return {require(outs <= kMostOuts, "groups of {} output channels; at most {}, whose windows a thread reads", outs,
                    kMostOuts)};
  }

  /// Blocks with each number of channels and columns of a thread, and their windows and threads.
  static BlockChoices<Block> choices(const F& f) {
    return BlockChoices(Block{})
        .each(&Block::channels_per_thread, {8, 4, 2, 1})
        .keep([&](Block& b) {
          b.channels_per_thread = std::min(b.channels_per_thread, f.group_in);
          return true;
        })
        .distinct()
        .each(&Block::columns_per_thread, {8, 4, 2, 1})
        .keep([&](const Block& b) { return b.columns_per_thread == 1 || b.columns_per_thread < 2 * f.extent(kWidth); })
        .each(&Block::lanes_of_channels, {false, true})
        .keep([&](Block& b) { return (f.channels_last || !b.lanes_of_channels) && choose_window(f, b); })
        .keep([&](Block& b) {
          choose_threads(f, f.layer.groups * ceil_div(f.group_in, b.channels_per_thread), b);
          return true;
        });
  }

  /// Instructions of a thread for one window of grad_y, and the turns of L1, each as long as four instructions.
  static double read_instructions(const F& f, std::int64_t vectors, std::int64_t window) {
    return static_cast<double>(6 * vectors + (f.bytes == 2 ? window : 0)) + 12;
  }

  /// Registers of so many elements that were read by vectors or one by one: two of 16 bits share one until they are
  /// used.
  static std::int64_t registers_of(const F& f, std::int64_t elements, std::int64_t vector) {
    return f.bytes == 2 && vector > 1 ? ceil_div(elements, 2) : elements;
  }
  /// The same of the windows of so many kernel rows: those of vectors are read two rows ahead.
  static std::int64_t windows_registers(const F& f, std::int64_t rows, std::int64_t window, const Block& b) {
    return registers_of(f, (b.vector > 1 ? std::min<std::int64_t>(2, rows) : 1) * window, b.vector);
  }
  /// As many blocks an SM as leave a thread registers for these and others. Warps are shared out to four schedulers.
  static void choose_blocks_of_sm(const F& f, std::int64_t values, std::int64_t threads, std::int64_t shared_bytes,
                                  Block& b) {
    const std::int64_t words = f.layer.dtype == Dtype::kF64 ? 2 : 1;
    constexpr std::int64_t kOthers = 28, kSchedulers = 4;
    const std::int64_t most_threads = std::min<std::int64_t>(kMostThreadsOfSm, f.target.max_threads_per_sm);
    const std::int64_t wanted = values * words + kOthers;
    b.blocks_per_sm = std::max<std::int64_t>(
        1, std::min({std::int64_t{16}, most_threads / threads, blocks_by_shared(f.target, shared_bytes)}));
    const auto registers = [&](std::int64_t blocks) {
      return kRegistersOfSm / (kSchedulers * 32 * ceil_div(blocks * threads / 32, kSchedulers)) / 8 * 8;
    };
    while (b.blocks_per_sm > 1 && registers(b.blocks_per_sm) < wanted) {
      --b.blocks_per_sm;
    }
  }

  /// Seconds in which inputs are stored to planes: lanes store as far apart as a thread has columns, so that one
  /// instruction fills sectors in part.
  static double store_seconds(const F& f, const Block& b) {
    const std::int64_t lanes_of_sector = std::max<std::int64_t>(1, 32 / (b.columns_per_thread * f.bytes));
    const std::int64_t bytes = f.layer.groups * f.shape.input_elements * f.bytes;
    return f.channels_last ? 0
                           : piece_seconds(f.target, static_cast<double>(bytes), lanes_of_sector * b.store * f.bytes);
  }

  /// Seconds of so many threads' instructions, which overlap with memory, or with stores that take longer. Blocks that
  /// end alone idle what is left.
  static double call_time(const F& f, const Block& b, double threads, double instructions, double blocks,
                          double stores = 0) {
    const auto at_once = static_cast<double>(f.target.multiprocessors * b.blocks_per_sm);
    const double waves = blocks / at_once;
    const double idle = waves >= 4 ? 1.05 : std::ceil(waves) / std::max(waves, 1e-9);
    const double warps = threads / blocks / 32 * static_cast<double>(b.blocks_per_sm);
    const double wait = b.vector > 1 ? 6 : 12;  // warps whose time a warp waits for loads
    const double work = 2 * threads * instructions * idle * (1 + wait / warps) / f.target.f32_flops;
    const double memory = std::max(stores, f.cost.bytes / f.target.bytes_per_second);
    return f.target.launch_seconds + std::max(work, memory) + f.factors.hidden_less * std::min(work, memory);
  }
};

}  // namespace convtgen::thin
