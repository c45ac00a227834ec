#include "generator/planner/direct.h"
#include "generator/planner/integers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "generator/layer/phases.h"
#include "generator/planner/layer_parameters.h"

namespace convtgen {
namespace {

constexpr std::int64_t kIntMax = std::numeric_limits<int>::max();
constexpr std::int64_t kMostNumber = kIntMax - 65536;  // of a layer: a tile or a chunk may end behind it
constexpr std::int64_t kChannelThreads = 4;            // of a block: as many threads as this share the staged input
constexpr std::int64_t kMaxPhases = 16;                // of a phase group: what a thread can accumulate side by side
constexpr std::int64_t kMaxChunk = 16;
constexpr std::int64_t kMaxUnrolled = 12288;  // multiply-adds in the unrolled body: bounds code size and compile time
constexpr std::int64_t kMaxStores = 16384;    // phases of a layer, each of which the source stores by a line of its own

/// The size of each part when `total` is cut into as few even parts of at most `most` as possible.
std::int64_t even_part(std::int64_t total, std::int64_t most) {
  return ceil_div(total, ceil_div(total, most));
}

std::int64_t power_of_two_at_least(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
}
std::int64_t power_of_two_at_most(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
}

/// What the choice depends on, in one place.
struct Facts {
  Axis rows, columns;
  std::int64_t taps = 0, group_in = 0, group_out = 0;
  std::int64_t halo_h = 0, halo_w = 0;
  Size positions_h, positions_w;  // ceil(output / stride), where the sizes are known
  std::int64_t sum_bytes = 4;
  std::int64_t max_shared = 0;
};

/// What a block is made for. These values are the planner's first choice, the ones that were fastest on the whole.
struct Aim {
  std::int64_t sums = 64;                // of a thread; half as many in fp64
  std::int64_t channels = 8;             // of a thread, at most
  std::int64_t threads = 256;            // of a block, at most
  std::int64_t threads_per_sm = 512;     // leaves each thread 128 registers
  std::int64_t stage_bytes = 32 * 1024;  // leaves room for several blocks an SM
};

/// What is worth measuring beside the first choice, the most different first.
constexpr std::array kAims = {
    Aim{},
    Aim{.sums = 32, .threads_per_sm = 1024},  // more warps
    Aim{.sums = 128, .threads_per_sm = 256},  // more sums for each load
    Aim{.channels = 16},
    Aim{.channels = 4},
    Aim{.threads = 128},
    Aim{.stage_bytes = 16 * 1024},
    Aim{.stage_bytes = 64 * 1024},
};

/// The block, as the template's parameters of the same names.
struct Block {
  bool operator==(const Block&) const = default;

  std::int64_t threads_x = 1, threads_y = 1, threads_z = 1;
  std::int64_t columns_per_thread = 1, rows_per_thread = 1, channels_per_thread = 1;
  std::int64_t group_phases_h = 1, group_phases_w = 1;
  std::int64_t blocks_per_sm = 1;
  std::int64_t chunk = 1;
  bool staged = true;

  [[nodiscard]] std::int64_t threads() const { return threads_x * threads_y * threads_z; }
  [[nodiscard]] std::int64_t tile_rows() const { return threads_y * rows_per_thread; }
  [[nodiscard]] std::int64_t tile_columns() const { return threads_x * columns_per_thread; }
  [[nodiscard]] std::int64_t tile_channels() const { return threads_z * channels_per_thread; }
};

Size positions(const Axis& axis) {
  if (!axis.extent) {
    return std::nullopt;
  }
  return ceil_div(output_extent(axis, *axis.extent), axis.stride);
}

Facts facts_of(const Problem& problem) {
  const Layer& l = problem.layer;
  Facts f;
  f.rows = symmetric(l.axes[kHeight]);
  f.columns = symmetric(l.axes[kWidth]);
  f.taps = tap_count(l);
  f.group_in = l.in_channels / l.groups;
  f.group_out = l.out_channels / l.groups;
  f.halo_h = greatest_offset(f.rows) - least_offset(f.rows);
  f.halo_w = greatest_offset(f.columns) - least_offset(f.columns);
  f.positions_h = positions(f.rows);
  f.positions_w = positions(f.columns);
  f.sum_bytes = l.dtype == Dtype::kF64 ? 8 : 4;
  f.max_shared = problem.target.max_shared_bytes;
  return f;
}

/// Bytes of one staged input channel: its rows with the halo, and its weights (struct Stage of the template).
std::int64_t channel_bytes(const Facts& f, const Block& b) {
  if (std::max(f.halo_h, f.halo_w) > f.max_shared) {
    return std::numeric_limits<std::int64_t>::max();  // never fits, and the product of two such may not fit 64 bits
  }
  const std::int64_t pitch = ceil_div(b.tile_columns() + f.halo_w, 4) * 4;
  return f.sum_bytes * ((b.tile_rows() + f.halo_h) * pitch + f.taps * b.tile_channels());
}

/// What a thread makes: first phases, then channels (they share the input), then columns and rows.
void choose_thread_tile(const Facts& f, const Aim& aim, Block& b) {
  b.group_phases_w = even_part(f.columns.stride, kMaxPhases);
  b.group_phases_h = even_part(f.rows.stride, std::max<std::int64_t>(1, kMaxPhases / b.group_phases_w));
  const std::int64_t all_sums = f.sum_bytes == 8 ? aim.sums / 2 : aim.sums;
  const std::int64_t sums = std::max<std::int64_t>(1, all_sums / (b.group_phases_h * b.group_phases_w));
  b.channels_per_thread = even_part(f.group_out, std::min(aim.channels, sums));
  std::int64_t pixels = power_of_two_at_most(std::max<std::int64_t>(1, sums / b.channels_per_thread));
  // A narrow image wants threads before it wants pixels for each.
  const std::int64_t widest = f.positions_w ? std::max<std::int64_t>(1, power_of_two_at_most(*f.positions_w) / 8) : 4;
  b.columns_per_thread = std::min<std::int64_t>({4, pixels, widest});
  pixels /= b.columns_per_thread;
  const std::int64_t highest = f.positions_h ? std::max<std::int64_t>(1, power_of_two_at_most(*f.positions_h) / 8) : 4;
  b.rows_per_thread = std::min<std::int64_t>({4, pixels, highest});
  for (std::int64_t* part : {&b.rows_per_thread, &b.columns_per_thread, &b.channels_per_thread}) {
    while (*part > 1 && f.taps * b.rows_per_thread * b.columns_per_thread * b.channels_per_thread > kMaxUnrolled) {
      *part /= 2;
    }
  }
}

/// Threads along channels, columns and rows: whole warps, no more than the group and the image can use.
void choose_threads(const Facts& f, const Aim& aim, Block& b) {
  const auto wanted = [](const Size& extent, std::int64_t each, std::int64_t most) {
    return extent ? std::min(most, power_of_two_at_least(ceil_div(*extent, each))) : most;
  };
  const std::int64_t channel_threads = ceil_div(f.group_out, b.channels_per_thread);
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

/// Makes the block smaller until one channel fits in shared memory; a halo that never fits is read where it lies.
void choose_stage(const Facts& f, const Aim& aim, Block& b) {
  while (channel_bytes(f, b) > f.max_shared) {
    if (b.threads_z > 1 && b.threads_x * b.threads_y * (b.threads_z / 2) % 32 == 0) {
      b.threads_z /= 2;
    } else if (b.rows_per_thread > 1) {
      b.rows_per_thread /= 2;
    } else if (b.threads_y > 1 && b.threads() / 2 % 32 == 0) {
      b.threads_y /= 2;
    } else if (b.columns_per_thread > 1) {
      b.columns_per_thread /= 2;
    } else {
      b.staged = false;
      b.chunk = 1;
      return;
    }
  }
  const std::int64_t most = std::clamp<std::int64_t>(std::min(aim.stage_bytes, f.max_shared) / channel_bytes(f, b), 1,
                                                     std::min(kMaxChunk, f.group_in));
  b.chunk = even_part(f.group_in, most);
  for (std::int64_t divisor = most; 2 * divisor > most; --divisor) {
    if (f.group_in % divisor == 0) {
      b.chunk = divisor;  // whole chunks need no check
      break;
    }
  }
}

/// Whether every offset inside one image, and inside the weights of one group, fits an int.
bool offsets_fit_int(const Layer& layer, const Facts& f) {
  if (f.group_in > kIntMax / f.group_out || f.group_in * f.group_out > kIntMax / f.taps || !f.rows.extent ||
      !f.columns.extent) {
    return false;
  }
  Layer one_image = layer;
  one_image.batch = 1;
  const Result<Shape> shape = shape_of(one_image, {1, {*f.rows.extent, *f.columns.extent}});
  return shape && shape->input_elements <= kIntMax && shape->output_elements <= kIntMax;
}

Parameters parameters_of(const Layer& l, const Facts& f, const Block& b) {
  const bool half = l.dtype == Dtype::kF16 || l.dtype == Dtype::kBf16;
  const std::string sum = l.dtype == Dtype::kF64 ? "double" : "float";
  Parameters p = layer_parameters(l);
  p.insert({
      {"groups", l.groups},
      {"Element", TypeName{half ? "unsigned short" : sum}},
      {"Sum", TypeName{sum}},
      {"Offset", TypeName{offsets_fit_int(l, f) ? "int" : "long long"}},
      {"element_kind", std::int64_t{l.dtype == Dtype::kF16    ? 1
                                    : l.dtype == Dtype::kBf16 ? 2
                                                              : 0}},
      {"threads_x", b.threads_x},
      {"threads_y", b.threads_y},
      {"threads_z", b.threads_z},
      {"columns_per_thread", b.columns_per_thread},
      {"rows_per_thread", b.rows_per_thread},
      {"channels_per_thread", b.channels_per_thread},
      {"group_phases_h", b.group_phases_h},
      {"group_phases_w", b.group_phases_w},
      {"blocks_per_sm", b.blocks_per_sm},
      {"chunk", b.chunk},
      {"staged", b.staged},
  });
  return p;
}

/// What the kernel computes in an int on one axis, whatever the sizes.
Result<void> check_axis(std::string_view name, const Axis& axis) {
  const std::int64_t reach = axis.dilation * (axis.kernel - 1) + axis.output_padding + 1;
  const auto [before, after] = axis.padding;
  for (const auto& [words, value] :
       {std::pair{"dilation * (kernel - 1) + output_padding + 1", reach}, std::pair{"2 * padding", 2 * before},
        std::pair{"stride + padding", axis.stride + before},
        // Where the ends differ, the kernel takes the difference for output_padding.
        std::pair{"padding before + after", before + after},
        std::pair{"dilation * (kernel - 1) + output_padding + 1 + padding before - after", reach + before - after}}) {
    if (value > kMostNumber) {
      return fail(fmt::format("{}: {} is {}; at most {} is supported", name, words, value, kMostNumber));
    }
  }
  return {};
}

/// The numbers of a layer that the kernel's 32-bit coordinates, its source and its grid must be able to hold.
Result<void> check_numbers(const Layer& layer) {
  const Axis& rows = layer.axes[kHeight];
  const Axis& columns = layer.axes[kWidth];
  if (auto checked = check_axis("height", rows); !checked) {
    return checked;
  }
  if (auto checked = check_axis("width", columns); !checked) {
    return checked;
  }
  if (rows.stride > kMaxStores / columns.stride) {
    return fail(fmt::format("stride {}x{} has {} phases; at most {} are supported", rows.stride, columns.stride,
                            rows.stride * columns.stride, kMaxStores));
  }
  for (const auto& [name, channels] :
       {std::pair{"in_channels", layer.in_channels}, std::pair{"out_channels", layer.out_channels}}) {
    if (channels > kMostNumber) {
      return fail(fmt::format("{} {} is too large: at most {} is supported", name, channels, kMostNumber));
    }
  }
  return {};
}

/// The kernel's coordinates on one axis, up to the end of the last tile of `tile` outputs.
Result<void> check_extents(std::string_view axis, std::int64_t in, std::int64_t out, std::int64_t stride,
                           std::int64_t tile) {
  if (out > kIntMax - tile) {
    return fail(fmt::format("output {} {} is too large for the kernel's 32-bit coordinates; at most {}", axis, out,
                            kIntMax - tile));
  }
  if (in - 1 > (kIntMax - tile) / stride) {  // also where the padding takes it away again
    return fail(fmt::format("input {} {} is too large for the kernel's 32-bit coordinates; at most {}", axis, in,
                            (kIntMax - tile) / stride + 1));
  }
  return {};
}

Block choose_block(const Facts& facts, const Aim& aim) {
  Block block;
  choose_thread_tile(facts, aim, block);
  choose_threads(facts, aim, block);
  choose_stage(facts, aim, block);
  block.blocks_per_sm = std::max<std::int64_t>(1, aim.threads_per_sm / block.threads());
  return block;
}

/// The block's own limits: the kernel's coordinates to the end of its last tile, and the grid.
Result<void> check_block(const Layer& layer, const Facts& facts, const Block& block) {
  const auto check = [](std::string_view name, const Axis& axis, std::int64_t tile) -> Result<void> {
    return axis.extent
               ? check_extents(name, *axis.extent, output_extent(axis, *axis.extent), axis.stride, axis.stride * tile)
               : Result<void>();
  };
  if (auto rows = check("height", facts.rows, block.tile_rows()); !rows) {
    return rows;
  }
  if (auto columns = check("width", facts.columns, block.tile_columns()); !columns) {
    return columns;
  }
  const std::int64_t phase_groups =
      ceil_div(facts.rows.stride, block.group_phases_h) * ceil_div(facts.columns.stride, block.group_phases_w);
  const std::int64_t channel_tiles = layer.groups * ceil_div(facts.group_out, block.tile_channels());
  if (channel_tiles > kIntMax / phase_groups) {
    return fail(fmt::format("{} output channels and a stride of {}x{} need more blocks than a grid can have (2^31 - 1)",
                            layer.out_channels, facts.rows.stride, facts.columns.stride));
  }
  return {};
}

Plan plan_of(const Layer& layer, const Facts& facts, const Block& block) {
  Plan plan;
  plan.template_name = "direct";
  plan.parameters = parameters_of(layer, facts, block);
  plan.threads = static_cast<int>(block.threads());
  plan.shared_bytes = block.staged ? block.chunk * channel_bytes(facts, block) : 0;
  plan.summary = fmt::format("a block makes {}x{} outputs of {} channels; {} taps; ",
                             block.tile_rows() * facts.rows.stride, block.tile_columns() * facts.columns.stride,
                             std::min(block.tile_channels(), facts.group_out), facts.taps);
  plan.summary += block.staged ? fmt::format("{:.1f} KiB shared", static_cast<double>(plan.shared_bytes) / 1024.0)
                               : "nothing shared";
  const auto count = [](std::int64_t number, const char* noun) {
    return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
  };
  plan.reason = fmt::format(
      "direct takes every forward layer; each thread accumulates {} x {} x {} x {}, and {}",
      count(block.group_phases_h * block.group_phases_w, "phase"), count(block.channels_per_thread, "channel"),
      count(block.rows_per_thread, "row"), count(block.columns_per_thread, "column"),
      block.staged
          ? fmt::format("{} {} staged at a time", count(block.chunk, "input channel"), block.chunk == 1 ? "is" : "are")
          : std::string("the halo is too large for shared memory, so the input is read where it lies"));
  return plan;
}

}  // namespace

Result<std::vector<Plan>> plans_direct(const Problem& problem) {
  const Layer& layer = problem.layer;
  if (auto checked = check_numbers(layer); !checked) {
    return std::unexpected(checked.error());
  }
  const Facts facts = facts_of(problem);
  std::vector<Block> blocks;
  std::vector<Plan> plans;
  for (const Aim& aim : kAims) {
    const Block block = choose_block(facts, aim);
    if (std::ranges::find(blocks, block) != blocks.end()) {
      continue;
    }
    if (auto checked = check_block(layer, facts, block); checked) {
      blocks.push_back(block);
      plans.push_back(plan_of(layer, facts, block));
    } else if (plans.empty()) {
      return std::unexpected(checked.error());
    }
  }
  return plans;
}

Result<Plan> plan_direct(const Problem& problem) {
  auto plans = plans_direct(problem);
  if (!plans) {
    return std::unexpected(plans.error());
  }
  return std::move(plans->front());
}

TileGrid direct_grid(const Problem& problem, const Plan& plan) {
  const Layer& layer = problem.layer;
  const std::int64_t tile_channels = integer_of(plan, "threads_z") * integer_of(plan, "channels_per_thread");
  const std::int64_t channel_tiles = layer.groups * ceil_div(layer.out_channels / layer.groups, tile_channels);
  const std::int64_t phase_groups = ceil_div(layer.axes[kHeight].stride, integer_of(plan, "group_phases_h")) *
                                    ceil_div(layer.axes[kWidth].stride, integer_of(plan, "group_phases_w"));
  return {.stride_h = layer.axes[kHeight].stride,
          .stride_w = layer.axes[kWidth].stride,
          .tile_rows = layer.axes[kHeight].stride * integer_of(plan, "threads_y") * integer_of(plan, "rows_per_thread"),
          .tile_columns =
              layer.axes[kWidth].stride * integer_of(plan, "threads_x") * integer_of(plan, "columns_per_thread"),
          .blocks_per_tile = channel_tiles * phase_groups};
}

}  // namespace convtgen
