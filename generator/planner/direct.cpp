#include "generator/planner/direct.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/block_constants.h"
#include "generator/planner/integers.h"
#include "generator/planner/layer_parameters.h"

namespace convtgen {
namespace {

constexpr std::int64_t kIntMax = std::numeric_limits<int>::max();
constexpr std::int64_t kMostNumber = kIntMax - 65536;  // of a layer: a tile or a k-block may end after it
constexpr std::int64_t kChannelThreads = 4;            // of a block: as many threads as this share the staged input
constexpr std::int64_t kMaxPhases = 16;                // of a phase group: what a thread can accumulate side by side
constexpr std::int64_t kMaxBlockK = 16;
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

/// What a block is made for. These values are the planner's first choice, the ones that were fastest on the whole.
struct Aim {
  std::int64_t acc = 64;                 // of a thread; half as many in fp64
  std::int64_t channels = 8;             // of a thread, at most
  std::int64_t threads = 256;            // of a block, at most
  std::int64_t threads_per_sm = 512;     // leaves each thread 128 registers
  std::int64_t stage_bytes = 32 * 1024;  // leaves room for several blocks an SM
};

/// What is worth measuring beside the first choice, the most different first.
constexpr std::array kAims = {
    Aim{},
    Aim{.acc = 32, .threads_per_sm = 1024},  // more warps
    Aim{.acc = 128, .threads_per_sm = 256},  // more accumulators for each load
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
  std::int64_t block_k = 1;
  bool staged = true;
};

constexpr std::array kMembers = {
    BlockMember{"threads_x", &Block::threads_x},
    BlockMember{"threads_y", &Block::threads_y},
    BlockMember{"threads_z", &Block::threads_z},
    BlockMember{"columns_per_thread", &Block::columns_per_thread},
    BlockMember{"rows_per_thread", &Block::rows_per_thread},
    BlockMember{"channels_per_thread", &Block::channels_per_thread},
    BlockMember{"group_phases_h", &Block::group_phases_h},
    BlockMember{"group_phases_w", &Block::group_phases_w},
    BlockMember{"blocks_per_sm", &Block::blocks_per_sm},
    BlockMember{"block_k", &Block::block_k},
    BlockMember{"staged", &Block::staged},
};

/// The template's constants that are wanted, by their names there.
enum Constant : std::size_t {
  kTaps,
  kGroupIn,
  kGroupOut,
  kThreads,
  kTileRows,
  kTileColumns,
  kTileChannels,
  kChannelTiles,
  kPhaseGroups,
  kChannelBytes,
  kSharedBytes,
};
constexpr std::array<std::string_view, 11> kConstants = {
    "kTaps",         "kGroupIn",      "kGroupOut",    "kThreads",      "kTileRows",   "kTileColumns",
    "kTileChannels", "kChannelTiles", "kPhaseGroups", "kChannelBytes", "kSharedBytes"};

/// What the choice depends on, in one place.
struct Facts {
  mutable BlockConstants<Block> constants;  // a cache: holds the block at hand
  Axis rows = {}, columns = {};
  std::int64_t taps = 0, group_in = 0, group_out = 0;
  Size positions_h = {}, positions_w = {};  // ceil(output / stride), where the sizes are known
  bool is_f64 = false;
  std::int64_t max_shared = 0;

  [[nodiscard]] Constants& of(const Block& b) const { return constants.of(b); }
};

Size positions(const Axis& axis) {
  if (!axis.extent) {
    return std::nullopt;
  }
  return ceil_div(output_extent(axis, *axis.extent), axis.stride);
}

/// What a thread makes: first phases, then channels (they share the input), then columns and rows.
void choose_thread_tile(const Facts& f, const Aim& aim, Block& b) {
  b.group_phases_w = even_part(f.columns.stride, kMaxPhases);
  b.group_phases_h = even_part(f.rows.stride, std::max<std::int64_t>(1, kMaxPhases / b.group_phases_w));
  const std::int64_t all_acc = f.is_f64 ? aim.acc / 2 : aim.acc;
  const std::int64_t acc = std::max<std::int64_t>(1, all_acc / (b.group_phases_h * b.group_phases_w));
  b.channels_per_thread = even_part(f.group_out, std::min(aim.channels, acc));
  std::int64_t pixels = power_of_two_at_most(std::max<std::int64_t>(1, acc / b.channels_per_thread));
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
  while (f.of(b)[kChannelBytes] > f.max_shared) {
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
  const std::int64_t most = std::clamp<std::int64_t>(std::min(aim.stage_bytes, f.max_shared) / f.of(b)[kChannelBytes],
                                                     1, std::min(kMaxBlockK, f.group_in));
  b.block_k = even_part(f.group_in, most);
  for (std::int64_t divisor = most; 2 * divisor > most; --divisor) {
    if (f.group_in % divisor == 0) {
      b.block_k = divisor;  // whole k-blocks need no check
      break;
    }
  }
}

/// Whether every offset inside one image, and inside the weights of one group, fits an int.
bool offsets_fit_int(const Layer& layer) {
  const Size& height = layer.axes[kHeight].extent;
  const Size& width = layer.axes[kWidth].extent;
  const std::int64_t group_in = layer.in_channels / layer.groups, group_out = layer.out_channels / layer.groups;
  if (group_in > kIntMax / group_out || group_in * group_out > kIntMax / tap_count(layer) || !height || !width) {
    return false;
  }
  Layer one_image = layer;
  one_image.batch = 1;
  const Result<Shape> shape = shape_of(one_image, {1, {*height, *width}});
  return shape && shape->input_elements <= kIntMax && shape->output_elements <= kIntMax;
}

/// All parameters but the block's.
Parameters parameters_of(const Layer& l) {
  const bool half = l.dtype == Dtype::kF16 || l.dtype == Dtype::kBf16;
  const std::string sum = l.dtype == Dtype::kF64 ? "double" : "float";
  Parameters p = layer_parameters(l);
  p.insert({
      {"groups", l.groups},
      {"Element", TypeName{half ? "unsigned short" : sum}},
      {"Sum", TypeName{sum}},
      {"Offset", TypeName{offsets_fit_int(l) ? "int" : "long long"}},
      {"element_kind", std::int64_t{l.dtype == Dtype::kF16    ? 1
                                    : l.dtype == Dtype::kBf16 ? 2
                                                              : 0}},
  });
  return p;
}

Result<Facts> facts_of(const Problem& problem, const ConstantProgram& program) {
  const Layer& l = problem.layer;
  auto constants = BlockConstants<Block>::make(program, parameters_of(l), kMembers, kConstants);
  if (!constants) {
    return std::unexpected(std::move(constants.error()));
  }
  Facts f{.constants = *std::move(constants), .rows = symmetric(l.axes[kHeight]), .columns = symmetric(l.axes[kWidth])};
  Constants& of_layer = f.of(Block());
  f.taps = of_layer[kTaps];
  f.group_in = of_layer[kGroupIn];
  f.group_out = of_layer[kGroupOut];
  f.positions_h = positions(f.rows);
  f.positions_w = positions(f.columns);
  f.is_f64 = l.dtype == Dtype::kF64;
  f.max_shared = problem.target.max_shared_bytes;
  return f;
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
  block.blocks_per_sm = std::max<std::int64_t>(1, aim.threads_per_sm / facts.of(block)[kThreads]);
  return block;
}

/// The block's own limits: the kernel's coordinates to the end of its last tile, and the grid.
Result<void> check_block(const Layer& layer, const Facts& facts, const Block& block) {
  const auto check = [](std::string_view name, const Axis& axis, std::int64_t tile) -> Result<void> {
    return axis.extent
               ? check_extents(name, *axis.extent, output_extent(axis, *axis.extent), axis.stride, axis.stride * tile)
               : Result<void>();
  };
  if (auto rows = check("height", facts.rows, facts.of(block)[kTileRows]); !rows) {
    return rows;
  }
  if (auto columns = check("width", facts.columns, facts.of(block)[kTileColumns]); !columns) {
    return columns;
  }
  if (layer.groups * facts.of(block)[kChannelTiles] > kIntMax / facts.of(block)[kPhaseGroups]) {
    return fail(fmt::format("{} output channels and a stride of {}x{} need more blocks than a grid can have (2^31 - 1)",
                            layer.out_channels, facts.rows.stride, facts.columns.stride));
  }
  return {};
}

Plan plan_of(const Layer& layer, const Facts& facts, const Block& block) {
  Plan plan;
  plan.template_name = "direct";
  Constants& of_block = facts.of(block);
  plan.parameters = parameters_of(layer);
  add_block<Block>(plan.parameters, block, kMembers);
  plan.threads = static_cast<int>(of_block[kThreads]);
  plan.shared_bytes = of_block[kSharedBytes];
  plan.summary = fmt::format("a block makes {}x{} outputs of {} channels; {} taps; ",
                             of_block[kTileRows] * facts.rows.stride, of_block[kTileColumns] * facts.columns.stride,
                             std::min(of_block[kTileChannels], facts.group_out), facts.taps);
  plan.summary += block.staged ? fmt::format("{:.1f} KiB shared", static_cast<double>(plan.shared_bytes) / 1024.0)
                               : "nothing shared";
  const auto count = [](std::int64_t number, const char* noun) {
    return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
  };
  plan.reason = fmt::format(
      "direct takes every forward layer; each thread accumulates {} x {} x {} x {}, and {}",
      count(block.group_phases_h * block.group_phases_w, "phase"), count(block.channels_per_thread, "channel"),
      count(block.rows_per_thread, "row"), count(block.columns_per_thread, "column"),
      block.staged ? fmt::format("{} {} staged at a time", count(block.block_k, "input channel"),
                                 block.block_k == 1 ? "is" : "are")
                   : std::string("the halo is too large for shared memory, so the input is read where it lies"));
  return plan;
}

/// The program of the template, read once in a process.
const ConstantProgram& own_program() {
  static const ConstantProgram program = ConstantProgram::read(programs::direct()).value();
  return program;
}

}  // namespace

Result<std::vector<Plan>> plans_direct(const Problem& problem, const ConstantProgram& program) {
  const Layer& layer = problem.layer;
  if (auto checked = check_numbers(layer); !checked) {
    return std::unexpected(checked.error());
  }
  const Result<Facts> facts = facts_of(problem, program);
  if (!facts) {
    return std::unexpected(facts.error());
  }
  std::vector<Block> blocks;
  std::vector<Plan> plans;
  for (const Aim& aim : kAims) {
    const Block block = choose_block(*facts, aim);
    if (std::ranges::find(blocks, block) != blocks.end()) {
      continue;
    }
    if (auto checked = check_block(layer, *facts, block); checked) {
      blocks.push_back(block);
      plans.push_back(plan_of(layer, *facts, block));
    } else if (plans.empty()) {
      return std::unexpected(checked.error());
    }
  }
  return plans;
}

Result<std::vector<Plan>> plans_direct(const Problem& problem) {
  return plans_direct(problem, own_program());
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
  constexpr std::array<std::string_view, 4> kNames = {"kTileRows", "kTileColumns", "kChannelTiles", "kPhaseGroups"};
  const std::vector<std::int64_t> values = constants_of(own_program(), plan.parameters, kNames).value();
  return {.stride_h = layer.axes[kHeight].stride,
          .stride_w = layer.axes[kWidth].stride,
          .tile_rows = layer.axes[kHeight].stride * values[0],
          .tile_columns = layer.axes[kWidth].stride * values[1],
          .blocks_per_tile = layer.groups * values[2] * values[3]};
}

}  // namespace convtgen
