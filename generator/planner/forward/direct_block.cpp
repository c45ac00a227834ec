#include "generator/planner/forward/direct_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "generator/layer/phases.h"
#include "generator/planner/search/integers.h"

namespace convtgen::direct {
namespace {

constexpr std::int64_t kChannelThreads = 4;  // of a block: as many threads as this share the staged input
constexpr std::int64_t kMaxPhases = 16;      // of a phase group: what a thread can accumulate side by side
constexpr std::int64_t kMaxBlockK = 16;
constexpr std::int64_t kMaxUnrolled = 12288;  // multiply-adds in the unrolled body: bounds code size and compile time

/// Which phases of an axis have taps.
std::vector<bool> which_have_taps(const Axis& axis) {
  std::vector<bool> has_taps(static_cast<std::size_t>(axis.stride));
  const std::int64_t apart = std::gcd(axis.stride, axis.dilation);
  for (std::int64_t k = 0; k < std::min(axis.kernel, axis.stride / apart); ++k) {  // later taps have the same phases
    has_taps[static_cast<std::size_t>(phase_of_tap(axis, k))] = true;
  }
  return has_taps;
}

/// The most phases with taps among those of a group of `size` neighbours. Phases without taps need no accumulators.
std::int64_t most_with_taps(const std::vector<bool>& has_taps, std::int64_t size) {
  std::int64_t most = 1;
  for (auto group = has_taps.begin(); group != has_taps.end();) {
    const auto end = group + std::min<std::ptrdiff_t>(size, has_taps.end() - group);
    most = std::max<std::int64_t>(most, std::count(group, end, true));
    group = end;
  }
  return most;
}

/// As many neighbouring phases as have taps in at most `most`, in groups of about one size.
std::int64_t phases_of_group(const std::vector<bool>& has_taps, std::int64_t most) {
  const auto phases = std::ssize(has_taps);
  std::int64_t groups = std::max<std::int64_t>(1, ceil_div(std::ranges::count(has_taps, true), most));
  while (most_with_taps(has_taps, ceil_div(phases, groups)) > most) {
    ++groups;
  }
  return ceil_div(phases, groups);
}

/// What a thread makes: first phases, then channels (they share the input), then columns and rows.
void choose_thread_tile(const Facts& f, const Aim& aim, Block& b) {
  b.group_phases_w = phases_of_group(f.phases_w, kMaxPhases);
  const std::int64_t with_taps_w = most_with_taps(f.phases_w, b.group_phases_w);
  b.group_phases_h = phases_of_group(f.phases_h, std::max<std::int64_t>(1, kMaxPhases / with_taps_w));
  const std::int64_t with_taps = with_taps_w * most_with_taps(f.phases_h, b.group_phases_h);
  const std::int64_t all_acc = f.layer.dtype == Dtype::kF64 ? aim.acc / 2 : aim.acc;
  const std::int64_t acc = std::max<std::int64_t>(1, all_acc / with_taps);
  b.channels_per_thread = even_part(f.made, std::min(aim.channels, acc));
  std::int64_t pixels = power_of_two_at_most(std::max<std::int64_t>(1, acc / b.channels_per_thread));
  // With a narrow image, more threads come before more pixels for each.
  const std::int64_t widest = f.positions_w ? std::max<std::int64_t>(1, power_of_two_at_most(*f.positions_w) / 8) : 4;
  b.columns_per_thread = std::min<std::int64_t>({4, pixels, widest});
  pixels /= b.columns_per_thread;
  const std::int64_t highest = f.positions_h ? std::max<std::int64_t>(1, power_of_two_at_most(*f.positions_h) / 8) : 4;
  b.rows_per_thread = std::min<std::int64_t>({4, pixels, highest});
  for (std::int64_t* part : {&b.rows_per_thread, &b.columns_per_thread, &b.channels_per_thread}) {
    while (*part > 1 &&
           f.written_taps * b.rows_per_thread * b.columns_per_thread * b.channels_per_thread > kMaxUnrolled) {
      *part /= 2;
    }
  }
}

/// Threads along channels, columns and rows: whole warps, no more than the group and the image can use.
void choose_threads(const Facts& f, const Aim& aim, Block& b) {
  const auto wanted = [](const Size& extent, std::int64_t each, std::int64_t most) {
    return extent ? std::min(most, power_of_two_at_least(ceil_div(*extent, each))) : most;
  };
  const std::int64_t channel_threads = ceil_div(f.made, b.channels_per_thread);
  const std::int64_t pixel_threads = aim.threads / power_of_two_at_least(std::min(channel_threads, kChannelThreads));
  const bool flat = f.positions_h && *f.positions_h == 1;
  b.threads_x = wanted(f.positions_w, b.columns_per_thread, flat ? pixel_threads : 16);
  b.threads_y = wanted(f.positions_h, b.rows_per_thread, pixel_threads / b.threads_x);
  b.threads_z = even_part(channel_threads, aim.threads / (b.threads_x * b.threads_y));
  if (b.threads_x * b.threads_y < 32) {
    const std::int64_t whole_warps = 32 / (b.threads_x * b.threads_y);
    b.threads_z = ceil_div(b.threads_z, whole_warps) * whole_warps;
  }
}

/// Blocks of an SM that registers must leave room for.
std::int64_t blocks_of_sm(const Facts& f, const Aim& aim, const Block& b) {
  return std::max<std::int64_t>(1, aim.threads_per_sm / f.of(b)[kThreads]);
}

/// Takes other threads where these leave SMs less work than others. Of those that are as good, the ones that stage the
/// least.
void choose_even_threads(const Facts& f, const Aim& aim, Block& b) {
  constexpr std::int64_t kLeastThreads = 64;
  constexpr double kWorthwhile = 0.97;
  const auto staged = [&](const Block& block) {
    Constants& of_block = f.of(block);
    return static_cast<double>(of_block[kChannelBytes]) / static_cast<double>(of_block[kThreads]);
  };
  const std::int64_t channel_threads = ceil_div(f.made, b.channels_per_thread);
  auto most = static_cast<std::int64_t>(kWorthwhile * static_cast<double>(threads_of_busiest(f, b)));
  for (std::int64_t x = 8; x <= 32; x *= 2) {
    for (std::int64_t y = 32 / x; x * y <= aim.threads; y *= 2) {
      Block other = b;
      other.threads_x = x;
      other.threads_y = y;
      other.threads_z = even_part(channel_threads, aim.threads / (x * y));
      const std::int64_t busiest = threads_of_busiest(f, other);
      if (f.of(other)[kThreads] >= kLeastThreads && f.of(other)[kChannelBytes] <= f.target.max_shared_bytes &&
          (busiest < most || (busiest == most && staged(other) < staged(b)))) {
        most = busiest;
        b = other;
      }
    }
  }
}

/// Makes the block smaller until one channel fits in shared memory; a halo that never fits is read where it lies.
void choose_stage(const Facts& f, const Aim& aim, Block& b) {
  while (f.of(b)[kChannelBytes] > f.target.max_shared_bytes) {
    if (b.threads_z > 1 && b.threads_x * b.threads_y * (b.threads_z / 2) % 32 == 0) {
      b.threads_z /= 2;
    } else if (b.rows_per_thread > 1) {
      b.rows_per_thread /= 2;
    } else if (b.threads_y > 1 && f.of(b)[kThreads] / 2 % 32 == 0) {
      b.threads_y /= 2;
    } else if (b.columns_per_thread > 1) {
      b.columns_per_thread /= 2;
    } else {
      b.staged = false;
      b.block_k = 1;
      return;
    }
  }
  std::int64_t buffer_bytes = std::min<std::int64_t>(aim.stage_bytes, f.target.max_shared_bytes);
  b.asynchronous = aim.asynchronous && f.can_copy && 2 * f.of(b)[kChannelBytes] <= f.target.max_shared_bytes;
  if (b.asynchronous) {
    // Two buffers must not cost an SM blocks.
    const std::int64_t of_block =
        f.target.shared_bytes_per_sm / blocks_of_sm(f, aim, b) - f.target.reserved_shared_bytes;
    buffer_bytes = std::min(buffer_bytes, std::min<std::int64_t>(f.target.max_shared_bytes, of_block) / 2);
  }
  const std::int64_t most =
      std::clamp<std::int64_t>(buffer_bytes / f.of(b)[kChannelBytes], 1, std::min(kMaxBlockK, f.summed));
  b.block_k = even_part(f.summed, most);
  for (std::int64_t divisor = most; 2 * divisor > most; --divisor) {
    if (f.summed % divisor == 0) {
      b.block_k = divisor;  // whole k-blocks need no check
      break;
    }
  }
}

}  // namespace

Facts::Facts(FactsOf facts) : FactsOf(std::move(facts)), written_taps(of({})[kWrittenTaps]) {
  // Copies of rows are activated afterwards, pixels on their way.
  can_copy = target.features.has(Feature::kCpAsync) && bytes >= 4 && (layer.fuse_input.empty() || !channels_last);
  if (problem.direction != Direction::kForward) {
    made = group_in;
    summed = group_out;
    planes = layer.axes[kDepth].extent;
    positions_h = rows.extent;
    positions_w = columns.extent;
    return;
  }
  // ceil(output / stride).
  const auto positions = [](const Axis& axis) {
    return axis.extent ? Size(ceil_div(output_extent(axis, *axis.extent), axis.stride)) : axis.extent;
  };
  made = group_out;
  summed = group_in;
  planes = layer.axes[kDepth].extent ? Size(output_extent(layer.axes[kDepth], *layer.axes[kDepth].extent)) : Size();
  positions_h = positions(rows);
  positions_w = positions(columns);
  Constants& c = of({});
  const bool all_have_taps = c[kSplitsEmpty] != 0;
  const auto all = [](std::int64_t phases) { return std::vector<bool>(static_cast<std::size_t>(phases), true); };
  phases_h = all_have_taps ? all(c[kGroupedPhasesH]) : which_have_taps(rows);
  phases_w = all_have_taps ? all(c[kGroupedPhasesW]) : which_have_taps(columns);
}

Block choose_block(const Facts& facts, const Aim& aim) {
  Block block;
  choose_thread_tile(facts, aim, block);
  choose_threads(facts, aim, block);
  if (aim.even) {
    choose_even_threads(facts, aim, block);
  }
  choose_stage(facts, aim, block);
  // A block that shared memory leaves alone on an SM may have all registers. Records of chips with wgmma have plans
  // that were measured without this.
  const bool is_alone =
      !facts.target.features.has(Feature::kWgmma) && blocks_by_shared(facts.target, facts.of(block)[kSharedBytes]) == 1;
  block.blocks_per_sm = is_alone ? 1 : blocks_of_sm(facts, aim, block);
  return block;
}

std::int64_t threads_of_busiest(const Facts& f, const Block& b) {
  if (!f.layer.batch || !f.planes || !f.positions_h || !f.positions_w) {
    return 0;
  }
  Constants& of_block = f.of(b);
  const double blocks = static_cast<double>(*f.layer.batch) * static_cast<double>(*f.planes) *
                        static_cast<double>(ceil_div(*f.positions_h, of_block[kTileRows])) *
                        static_cast<double>(ceil_div(*f.positions_w, of_block[kTileColumns])) *
                        static_cast<double>(f.layer.groups * of_block[kChannelTiles]) *
                        static_cast<double>(f.problem.direction == Direction::kForward ? of_block[kPhaseGroups] : 1);
  const double of_sm = std::ceil(blocks / static_cast<double>(f.target.multiprocessors));
  return static_cast<std::int64_t>(std::min(of_sm, 1e12)) * of_block[kThreads];
}

std::string count_of(std::int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

}  // namespace convtgen::direct
