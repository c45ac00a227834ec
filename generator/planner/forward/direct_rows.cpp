#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <vector>

#include "convtgen_template_programs_embedded.h"
#include "generator/layer/phases.h"
#include "generator/planner/forward/output_rows.h"
#include "generator/planner/search/block_choices.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/planner.h"

namespace convtgen {
namespace planners::direct_rows {

constexpr std::int64_t kMostOutputs = 128;    // of a thread in a row, those of phases without taps too
constexpr std::int64_t kMostUnrolled = 1024;  // multiply-adds in the unrolled body
constexpr std::int64_t kMostWarps = 8;

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK_AND_FACTS(output_rows::RowFacts, (warps_x, 1), (warps_c, 1), (warps_y, 1), (lanes_c, 1), (lanes_x, 32),
                         (channels_per_thread, 1), (columns_per_thread, 1), (tile_rows, 1), (blocks_per_sm, 1),
                         (vector, 0), (asynchronous, false));
/// The template's constants that are asked for.
CONVTGEN_CONSTANTS(kThreads, kTileColumns, kTileChannels, kChannelTiles, kInputs, kPlane, kWeights, kSharedBytes,
                   kAlignment);

/// Whether each channel of a thread has its own input: depthwise, a vector of a pixel.
bool has_own_inputs(const Facts& f, std::int64_t channels) {
  return channels == f.vector && f.channels_last && f.bytes == 2 && f.group_in == 1 && f.group_out == 1 &&
         f.layer.out_channels % (2 * f.vector) == 0 && x_tensor_channels(f.layer) % f.vector == 0;
}

std::int64_t outputs_of_thread(const Facts& f, const Block& b) {
  return b.channels_per_thread * b.columns_per_thread * f.columns.stride;
}

/// Instructions and wavefronts of shared memory, of all lanes of a call, at the rate of instructions.
double lane_work(const Facts& f, const Block& b, Constants& of_block) {
  const auto threads = static_cast<double>(of_block[kThreads]);
  const double f64_factor = f.layer.dtype == Dtype::kF64 ? f.target.f32_flops / f.target.f64_flops : 1;
  // Of a thread, for a row of positions.
  const auto taps = static_cast<double>(f.rows.kernel * f.columns.kernel * f.group_in);
  const auto products = static_cast<double>(b.channels_per_thread * b.columns_per_thread);
  const bool has_vectors = b.channels_per_thread % 4 == 0;
  const double weight_loads = taps * static_cast<double>(b.channels_per_thread) / (has_vectors ? 4 : 1);
  // Channels last, a thread's columns are adjacent.
  const std::int64_t row_loads =
      f.channels_last ? ceil_div(b.columns_per_thread + f.offsets - 1, b.columns_per_thread % 4 == 0 ? 4 : 1)
                      : b.columns_per_thread * f.offsets;
  const std::int64_t inputs = has_own_inputs(f, b.channels_per_thread) ? b.channels_per_thread : f.group_in;
  const auto input_loads = static_cast<double>(f.rows.kernel * inputs * row_loads);
  const double outputs = static_cast<double>(f.rows.stride * outputs_of_thread(f, b));
  const double epilogue = outputs * (b.vector > 0 ? f.factors.rows_stored : f.factors.rows_exchanged);
  const double instructions = taps * products * f64_factor + weight_loads + input_loads + epilogue;
  // A scheduler issues while shared memory serves all four of them.
  const double wavefronts = 4 * (weight_loads * (has_vectors ? f.factors.rows_weight_wavefronts : 1) + input_loads +
                                 (b.vector > 0 ? 0 : 2 * outputs));
  const double rows = static_cast<double>(b.tile_rows) / static_cast<double>(b.warps_y);
  const double staged = static_cast<double>(of_block[kInputs] * of_block[kPlane] + of_block[kWeights]) / threads;
  // Other blocks' products hide what a block waits for when it stages, and other warps what a warp waits for.
  const double warps = threads / 32 * static_cast<double>(b.blocks_per_sm);
  const double thread = (1 + f.factors.rows_wait / warps) * rows * std::max(instructions, wavefronts) +
                        staged * (b.asynchronous ? f.factors.rows_staged : f.factors.rows_staged_registers) *
                            (b.blocks_per_sm == 1 ? 2 : 1);
  return static_cast<double>(output_rows::whole_blocks(f, b, of_block[kTileColumns], of_block[kChannelTiles])) *
         threads * thread;
}

/// The lanes of a warp and its channels; false where a tile would have parts of several groups.
bool choose_lanes(const Facts& f, Block& b) {
  const std::int64_t all = f.layer.out_channels / b.channels_per_thread;
  const bool is_own = has_own_inputs(f, b.channels_per_thread);
  const std::int64_t of_group = is_own ? 1 : f.group_out / b.channels_per_thread;
  if (!f.channels_last) {
    // A narrow image leaves lanes to other channels.
    const std::int64_t wanted = power_of_two_at_least(ceil_div(f.positions(kWidth), b.columns_per_thread));
    b.lanes_x = std::min<std::int64_t>(32, wanted);
    b.lanes_c = std::min(32 / b.lanes_x, power_of_two_at_most(of_group));
    return true;
  }
  const auto is_whole = [&](std::int64_t lanes) { return lanes <= of_group || lanes % of_group == 0; };
  if (all <= 32) {
    b.lanes_c = all;
  } else {
    b.lanes_c = 32;
    // Whole sectors of 32 bytes do; a warp with fewer channels has more columns.
    const std::int64_t sector = std::max<std::int64_t>(1, 8 * f.vector / b.channels_per_thread);
    if (b.vector > 0 && (is_own || of_group % 2 == 0)) {
      b.lanes_c = std::min<std::int64_t>(32, power_of_two_at_least(sector));
    }
    while (b.lanes_c > 1 && !is_whole(b.lanes_c)) {
      --b.lanes_c;
    }
  }
  b.lanes_x = 32 / b.lanes_c;
  return is_whole(b.lanes_c);
}

/// Warps along channels, which share the staged input, then columns, then rows.
void choose_warps(const Facts& f, std::int64_t most_warps, Block& b) {
  const std::int64_t warp_channels = b.lanes_c * b.channels_per_thread;
  const bool has_whole_groups = warp_channels >= f.group_out && f.layer.groups > 1;
  const std::int64_t in_reach = has_whole_groups && f.channels_last ? f.layer.out_channels : f.group_out;
  b.warps_c = std::min(most_warps / 2, power_of_two_at_most(ceil_div(in_reach, warp_channels)));
  b.warps_c = std::max<std::int64_t>(1, b.warps_c);
  if (warp_channels < f.group_out && f.layer.groups > 1) {
    while (b.warps_c > 1 && b.warps_c * warp_channels >= f.group_out && b.warps_c * warp_channels % f.group_out != 0) {
      b.warps_c /= 2;
    }
  }
  const std::int64_t columns = ceil_div(f.positions(kWidth), b.lanes_x * b.columns_per_thread);
  b.warps_x =
      std::clamp<std::int64_t>(power_of_two_at_most(columns), 1, std::max<std::int64_t>(1, most_warps / b.warps_c / 2));
  const std::int64_t rows = power_of_two_at_least(f.positions(kHeight));
  b.warps_y = std::min(rows, most_warps / (b.warps_c * b.warps_x));
  // NCHW: where columns and rows are few, the other warps make other groups.
  if (has_whole_groups && !f.channels_last) {
    b.warps_c = std::min(most_warps / (b.warps_x * b.warps_y),
                         power_of_two_at_most(ceil_div(f.layer.out_channels, warp_channels)));
  }
}

/// Registers of a thread and blocks of an SM.
void choose_blocks(const Facts& f, Block& b) {
  constexpr std::int64_t kOthers = 44;  // registers besides accumulators
  const std::int64_t accumulators =
      b.channels_per_thread * b.columns_per_thread * f.phases * (f.layer.dtype == Dtype::kF64 ? 2 : 1);
  const std::int64_t registers = std::min<std::int64_t>(255, ceil_div(accumulators + kOthers, 8) * 8);
  b.blocks_per_sm = output_rows::choose_blocks(f, {f.of(b)[kThreads], registers, f.of(b)[kSharedBytes]});
}

/// The block with each number of rows that fits shared memory, which is less for large ones; none where not one row
/// does. `least_bytes` gets the shared memory of the smallest that was tried.
void add_rows(const Facts& f, Block b, std::vector<Block>& out, std::int64_t& least_bytes) {
  const std::int64_t rows = f.positions(kHeight);
  for (const std::int64_t of_warp : {1, 2, 4, 8}) {
    b.tile_rows = b.warps_y * of_warp;
    least_bytes = std::min(least_bytes, f.of(b)[kSharedBytes]);
    if ((of_warp > 1 && (of_warp - 1) * b.warps_y >= rows) || f.of(b)[kSharedBytes] > f.target.max_shared_bytes) {
      return;
    }
    choose_blocks(f, b);
    out.push_back(b);
  }
}

/// Elements that a thread stores as one vector; 0 where its channels are no vector, or parts of sectors.
std::int64_t vector_of(const Facts& f, std::int64_t channels) {
  if (!f.channels_last) {
    return 0;
  }
  for (const std::int64_t vector : {f.vector, f.vector / 2}) {
    // Vectors of 8 bytes at the least; whole sectors of a pixel.
    if (vector * f.bytes >= 8 && f.layer.dtype != Dtype::kF64 && channels % vector == 0 &&
        f.layer.out_channels % (2 * f.vector) == 0) {
      return vector;
    }
  }
  return 0;
}

/// Columns of a thread. Depthwise rows of channels: also as many as a warp makes a whole row with, besides
/// powers of two.
std::vector<std::int64_t> columns_of_thread(const Facts& f) {
  std::vector<std::int64_t> columns = {8, 4, 2, 1};
  const std::int64_t of_row = ceil_div(f.positions(kWidth), 32);
  if (!f.channels_last && f.group_in == 1 && f.group_out == 1 && of_row <= 12) {
    columns.insert(columns.begin(), of_row);
  }
  return columns;
}

std::int64_t most_accumulators(const Layer& layer) {
  return layer.dtype == Dtype::kF64 ? output_rows::kMostAccumulators / 2 : output_rows::kMostAccumulators;
}

/// Whether a thread may have so many channels: their own inputs, or even parts of a group, of one only where four don't
/// divide it.
bool shares_group(const Facts& f, const Block& b) {
  const std::int64_t channels = b.channels_per_thread;
  const bool is_wanted = channels == 8 || channels == 4 || channels <= 2 || channels == f.group_out;
  return has_own_inputs(f, channels) ||
         (f.group_out % channels == 0 && is_wanted && (channels > 1 || f.group_out % 4 != 0));
}

/// How a thread with so many channels and columns stores, and the lanes of its warp; false where it has too many.
bool choose_thread(const Facts& f, Block& b) {
  const std::int64_t products = b.channels_per_thread * b.columns_per_thread;
  b.vector = vector_of(f, b.channels_per_thread);
  return products * f.phases <= most_accumulators(f.layer) && outputs_of_thread(f, b) <= kMostOutputs &&
         products * f.columns.kernel <= kMostUnrolled &&
         (b.columns_per_thread == 1 || b.columns_per_thread <= f.positions(kWidth)) && choose_lanes(f, b);
}

struct DirectRows : output_rows::RowPlanner<Facts, kConstants> {
  static constexpr bool kStreams = true;
  static constexpr FuseInput kFuseInput = FuseInput::kAny;
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

  static Checks checks(const Layer& layer) {
    const Axis& columns = layer.axes[kWidth];
    return {require(columns.stride <= kMostOutputs, "stride {} along columns; at most {}, the phases of a thread",
                    columns.stride, kMostOutputs),
            require(columns.kernel <= kMostUnrolled, "{} kernel columns; at most {}, which are unrolled",
                    columns.kernel, kMostUnrolled)};
  }
  static Blocks blocks(const Facts& f) {
    std::int64_t least_bytes = kNone;
    // What has been copied is activated with the zeros outside of the image, so these must stay.
    const bool stays_zero = std::ranges::all_of(f.layer.fuse_input, keeps_zero);
    return BlockChoices(Block{.asynchronous = f.target.features.has(Feature::kCpAsync) && f.bytes >= 4 && stays_zero})
        .each(&Block::channels_per_thread, {8, 7, 6, 5, 4, 3, 2, 1})
        .keep([&](const Block& b) { return shares_group(f, b); })
        .each(&Block::columns_per_thread, columns_of_thread(f))
        .keep([&](Block& b) { return choose_thread(f, b); })
        .into([&](Block b, std::vector<Block>& out) {
          for (const std::int64_t warps : {kMostWarps, kMostWarps / 2}) {
            choose_warps(f, warps, b);
            add_rows(f, b, out, least_bytes);
          }
        })
        .distinct()
        .or_fail([&] {
          return least_bytes == kNone
                     ? fail(fmt::format("{} column phases, {} of them with taps; a thread makes at most {} outputs "
                                        "of a row, of {} accumulators",
                                        f.columns.stride, f.phases, kMostOutputs, most_accumulators(f.layer)))
                     : output_rows::fail_tile(f, least_bytes);
        });
  }
  static double seconds(const Facts& f, const Block& b, Constants& c) {
    return output_rows::seconds_of(f, 2 * lane_work(f, b, c) / f.target.f32_flops,
                                   f.cost.bytes / f.target.bytes_per_second);
  }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    return {
        fmt::format("a block makes {}x{} outputs of {} channels; {} taps", b.tile_rows * f.rows.stride,
                    c[kTileColumns] * f.columns.stride, std::min(c[kTileChannels], f.layer.out_channels),
                    tap_count(f.layer)),
        fmt::format("memory's time: a tile has all {} input channels; a thread makes {} channels of {} columns in {} "
                    "phases; {}",
                    f.group_in, b.channels_per_thread, b.columns_per_thread, f.phases,
                    b.vector > 0 ? fmt::format("stores {} channels together", b.vector)
                                 : "a warp stores adjacent outputs together, through shared memory"),
        grid(f, b, c)};
  }
};

}  // namespace planners::direct_rows

CONVTGEN_TEMPLATE(DirectRows, direct_rows);

}  // namespace convtgen
