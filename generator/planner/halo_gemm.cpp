#include "generator/planner/halo_gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "generator/planner/cost.h"
#include "generator/planner/integers.h"
#include "generator/planner/layer_parameters.h"
#include "generator/planner/tensor_cores.h"

namespace convtgen {
namespace {

constexpr std::array kComputes = {Compute::kTf32, Compute::kF16, Compute::kBf16};
constexpr std::int64_t kConsumers = 256;
constexpr std::int64_t kMostColumns = 256;        // of a product
constexpr std::int64_t kMostSums = 160;           // of a thread
constexpr std::int64_t kMostProducts = 256;       // in the unrolled body
constexpr std::int64_t kMostPositions = 1 << 30;  // of an image in a sequence, which 32 bits count
constexpr std::size_t kMostPlans = 8;

// What an SM of an H200 does in a cycle, measured.
constexpr double kClock = 1.7e9;
constexpr double kCacheBytes = 40;     // from L2
constexpr double kRegisterBytes = 25;  // from there through registers
constexpr double kSharedBytes = 128;   // of shared memory
constexpr double kCopiedBytes = 16;    // of it that an asynchronous copy fills
// What calls took over what this says of them, in the middle of the benchmark's layers.
constexpr double kRowsMeasured = 3.0;
constexpr double kPixelsMeasured = 1.8;  // with channels last
constexpr double kChunkCycles = 40;      // of barriers, between chunks

/// One axis as the template sees it: positions m = (output + padding) / stride, and the window of taps that serves all
/// phases of a position.
struct Window {
  std::int64_t taps = 1;
  std::int64_t halo = 0;    // inputs that a position reads before its own
  std::int64_t first = 0;   // position that makes an output
  std::int64_t beyond = 0;  // the last such position less the last input
  std::int64_t gap = 0;     // zeros between rows of a sequence of positions
};
Window window_of(const Axis& axis) {
  Window w;
  w.taps = ceil_div(axis.kernel, axis.stride);
  w.halo = (w.taps - 1) * (axis.stride == 1 ? axis.dilation : 1);
  w.first = axis.padding.before / axis.stride;
  w.beyond = floor_div(axis.dilation * (axis.kernel - 1) + axis.output_padding - axis.padding.before, axis.stride);
  w.gap = std::max({std::int64_t{0}, w.beyond, w.halo - w.first});
  return w;
}

/// The block, as the template's parameters of the same names.
struct Block {
  bool flat = false;
  std::int64_t tile_h = 8, tile_w = 8, part_w = 8;
  std::int64_t columns = 8, channel_run = 1, store = 1, phase_rows = 1;
  std::int64_t chunk = 16, stages = 3, ahead = 1, producers = 128, copy_bytes = 16, vector = 1;
  bool joined = true, resident = false, in_turn = false;
};

/// What the choice depends on.
struct Facts {
  const Layer& layer;
  const Target& target;
  Window rows, columns;
  std::int64_t bytes;                  // of an element
  std::int64_t depth;                  // channels of a product
  std::int64_t pack;                   // elements of 16 bytes
  std::int64_t batch, height, width;   // planned for
  double read_seconds, write_seconds;  // to move everything once
  bool can_be_flat;
  bool channels_last;

  [[nodiscard]] std::int64_t phases(const Block& b) const { return b.phase_rows * layer.axes[kWidth].stride; }
  [[nodiscard]] std::int64_t product_columns(const Block& b) const { return (b.joined ? phases(b) : 1) * b.columns; }
  /// Products of a block for each part of 64 positions and its depth of channels.
  [[nodiscard]] std::int64_t taps(const Block& b) const {
    return b.joined
               ? rows.taps * columns.taps
               : layer.axes[kHeight].kernel * b.phase_rows / layer.axes[kHeight].stride * layer.axes[kWidth].kernel;
  }
  [[nodiscard]] std::int64_t column_tiles(const Block& b) const {
    return layer.axes[kHeight].stride / b.phase_rows * ceil_div(layer.out_channels, b.columns);
  }
  [[nodiscard]] std::int64_t chunks(const Block& b) const { return ceil_div(layer.in_channels, b.chunk); }
};

std::int64_t positions(const Block& b) {
  return b.tile_h * b.tile_w;
}

/// Shared memory of a block as the template lays it out, in bytes.
struct Bytes {
  std::int64_t input = 0;    // of a stage
  std::int64_t weights = 0;  // of a chunk
};
Bytes bytes_of(const Facts& f, const Block& b) {
  const std::int64_t align = f.channels_last ? 1 : b.vector;
  const std::int64_t skew = floor_mod(f.columns.first - f.columns.halo, align);
  const std::int64_t pixels = b.flat ? positions(b) + f.rows.halo * (f.width + f.columns.gap) + f.columns.halo
                                     : (b.tile_h + f.rows.halo) * round_up(skew + b.tile_w + f.columns.halo, align);
  const std::int64_t units = b.chunk / f.pack;
  return {.input = units * 16 * (pixels + floor_mod((units < 8 ? 8 / units : 1) - pixels, 8)),
          .weights = f.taps(b) * (b.chunk / f.depth) * f.product_columns(b) * 32};
}

std::int64_t shared_bytes(const Facts& f, const Block& b) {
  const Bytes bytes = bytes_of(f, b);
  return (b.resident ? f.chunks(b) * bytes.weights + 8 : 0) +
         b.stages * (bytes.input + (b.resident ? 0 : bytes.weights) + 16) + (f.layer.bias ? b.columns * 4 : 0);
}

/// As many stages as fit, of at most six; false where too few do. Warpgroups in turn need more of them than a tile has
/// chunks (the template says why).
bool choose_stages(const Facts& f, Block& b) {
  const std::int64_t least = std::max<std::int64_t>(b.copy_bytes > 0 ? 3 : 2, b.in_turn ? f.chunks(b) + 1 : 0);
  for (b.stages = 6; b.stages >= least; --b.stages) {
    if (shared_bytes(f, b) <= f.target.max_shared_bytes) {
      b.ahead = b.copy_bytes > 0 ? std::min<std::int64_t>(b.stages - 2, 2) : 0;
      return true;
    }
  }
  return false;
}

/// How input is brought: by the largest asynchronous copies that the pixels' channels allow, or through registers where
/// they allow none, where channels come first, for tf32, which they round on the way, and by whole units, which shared
/// memory takes eight times as fast as asynchronous copies.
std::vector<Block> with_copies(const Facts& f, Block b) {
  std::vector<Block> out;
  for (std::int64_t bytes = 16; bytes >= 4 && f.channels_last && out.empty(); bytes /= 2) {
    if (f.layer.in_channels * f.bytes % bytes == 0) {
      b.copy_bytes = bytes;
      out.push_back(b);
    }
  }
  if (out.empty() || f.bytes == 4 || f.layer.in_channels % f.pack == 0) {
    b.copy_bytes = 0;
    out.push_back(b);
  }
  return out;
}

/// Elements that are loaded to registers together.
std::int64_t vector_of(const Facts& f, const Block& b) {
  if (f.channels_last) {
    return b.copy_bytes == 0 && f.layer.in_channels % f.pack == 0 ? f.pack : 1;
  }
  if (f.bytes == 4) {
    return 1;
  }
  const Size& width = f.layer.axes[kWidth].extent;
  const bool dense = f.rows.halo + f.rows.gap + f.columns.halo + f.columns.gap == 0;
  return width && *width % 2 == 0 && (!b.flat || dense) ? 2 : 1;
}

void choose_store(const Facts& f, Block& b) {
  b.store = f.pack;
  const Layer& layer = f.layer;
  if (f.channels_last) {
    while (b.store > 1 && (b.columns % (4 * b.store) != 0 || layer.out_channels % b.store != 0)) {
      b.store /= 2;
    }
    b.channel_run = b.store;
    return;
  }
  // A thread's adjacent outputs are the phases of one position. An open width allows no store of more than one.
  b.channel_run = 2;
  const Axis& axis = layer.axes[kWidth];
  const std::int64_t out = axis.extent ? output_extent(axis, *axis.extent) : 1;
  while (b.store > 1 && (axis.stride % b.store != 0 || axis.padding.before % b.store != 0 || out % b.store != 0)) {
    b.store /= 2;
  }
}

/// Tiles of all images.
std::int64_t tiles(const Facts& f, const Block& b) {
  if (b.flat) {
    return ceil_div(f.batch * (f.height + f.rows.gap) * (f.width + f.columns.gap), positions(b));
  }
  return f.batch * ceil_div(f.height + f.rows.beyond - f.rows.first, b.tile_h) *
         ceil_div(f.width + f.columns.beyond - f.columns.first, b.tile_w);
}

/// How many times as long as whole sectors of 32 bytes take the stores of a block do: adjacent channels of all its
/// columns, or what eight or sixteen adjacent positions of a warp make.
double store_factor(const Facts& f, const Block& b) {
  if (f.channels_last) {
    const auto adjacent = static_cast<double>(std::min(b.columns, f.layer.out_channels) * f.bytes);
    return f.column_tiles(b) > 1 ? std::max(1.0, 32 / adjacent) : 1.0;
  }
  const auto adjacent = static_cast<double>((b.part_w == 8 ? 8 : 16) * f.layer.axes[kWidth].stride * f.bytes);
  return std::max(1.0, 32 / adjacent) * (b.store < std::min(f.layer.axes[kWidth].stride, f.pack) ? 1.5 : 1.0);
}

/// The time of a call, in seconds. Products take N / 2 cycles, or as long as shared memory takes to give both operands
/// and to take what is staged; weights and input come from L2 beside them; what is stored is made ready while no
/// products run, unless warpgroups take turns.
double predicted(const Facts& f, const Block& b) {
  const Bytes bytes = bytes_of(f, b);
  const auto number = [](std::int64_t n) { return static_cast<double>(n); };
  const double n = number(f.product_columns(b));
  const double chunks = number(f.chunks(b));
  const double count = number(f.taps(b) * (b.chunk / f.depth) * positions(b) / 64);
  const double staging = number(bytes.input) / (b.copy_bytes > 0 ? kCopiedBytes : kSharedBytes);
  const double products = std::max(count * n / 2, count * (16 + n / 4) + staging);
  const double arriving = number(bytes.input) / (b.copy_bytes > 0 ? kCacheBytes : kRegisterBytes) +
                          (b.resident ? 0 : number(bytes.weights) / kCacheBytes);
  const double epilogue = 300 + 6 * number(positions(b) * f.phases(b) * b.columns) / 256;
  const double tile = chunks * (std::max(products, arriving) + kChunkCycles) + (b.in_turn ? 0.3 : 1.0) * epilogue;
  const std::int64_t at_once = std::max<std::int64_t>(1, f.target.multiprocessors / f.column_tiles(b));
  const std::int64_t rounds = ceil_div(tiles(f, b), at_once) * ceil_div(f.column_tiles(b), f.target.multiprocessors);
  const double begin = 2000 + arriving + (b.resident ? chunks * number(bytes.weights) / kCacheBytes : 0);
  const double seconds = (begin + number(rounds) * tile) / kClock;
  // What is limited by both is slower than either limit.
  const double memory = f.read_seconds + f.write_seconds * store_factor(f, b);
  return (std::max(seconds, memory) + 0.2 * std::min(seconds, memory)) *
         (f.channels_last ? kPixelsMeasured : kRowsMeasured);
}

Parameters parameters_of(const Layer& l, const Block& b) {
  Parameters p = layer_parameters(l);
  p.insert({
      {"Element", TypeName{l.dtype == Dtype::kF32 ? "float" : "unsigned short"}},
      {"Sum", TypeName{"float"}},
      {"type", std::int64_t{l.dtype == Dtype::kF16    ? 0
                            : l.dtype == Dtype::kBf16 ? 1
                                                      : 2}},
      {"flat", b.flat},
      {"tile_h", b.tile_h},
      {"tile_w", b.tile_w},
      {"part_w", b.part_w},
      {"columns", b.columns},
      {"channel_run", b.channel_run},
      {"store", b.store},
      {"phase_rows", b.phase_rows},
      {"joined", b.joined},
      {"chunk", b.chunk},
      {"stages", b.stages},
      {"ahead", b.ahead},
      {"producers", b.producers},
      {"copy_bytes", b.copy_bytes},
      {"vector", b.vector},
      {"resident", b.resident},
      {"in_turn", b.in_turn},
  });
  return p;
}

/// Whether each phase has as many taps as the others.
bool divides(const Layer& layer) {
  const auto divides_axis = [](const Axis& axis) { return axis.kernel % axis.stride == 0; };
  return divides_axis(layer.axes[kHeight]) && divides_axis(layer.axes[kWidth]);
}

Plan plan_of(const Facts& f, const Block& b, double seconds) {
  const Layer& layer = f.layer;
  Plan plan;
  plan.template_name = "halo_gemm";
  plan.predicted_seconds = seconds;
  plan.parameters = parameters_of(layer, b);
  plan.threads = static_cast<int>(kConsumers + b.producers);
  plan.shared_bytes = shared_bytes(f, b);
  plan.alignment = std::max({b.copy_bytes, b.vector * f.bytes, b.store * f.bytes});
  plan.packed_bytes = f.column_tiles(b) * f.chunks(b) * bytes_of(f, b).weights;
  plan.summary = fmt::format(
      "a block makes {} outputs of {} channels; {} taps; {:.1f} KiB shared",
      b.flat ? fmt::format("{}", positions(b) * f.phases(b))
             : fmt::format("{}x{}", b.tile_h * b.phase_rows, b.tile_w * layer.axes[kWidth].stride),
      std::min(b.columns, layer.out_channels), tap_count(layer), static_cast<double>(plan.shared_bytes) / 1024.0);
  plan.reason = fmt::format(
      "tensor cores: products of 64 positions x {}, {} taps; {} stages of {} input channels{}, weights {}{}",
      b.joined && f.phases(b) > 1 ? fmt::format("{} phases of {} channels{}", f.phases(b), b.columns,
                                                divides(f.layer) ? "" : " joined by weights of zero")
                                  : fmt::format("{} channels", b.columns),
      f.taps(b), b.stages, b.chunk, b.copy_bytes > 0 ? "" : " through registers",
      b.resident ? "resident" : "with each stage", b.in_turn ? ", warpgroups in turn" : "");
  return plan;
}

/// What the template asks of a problem, whatever its sizes.
Result<void> check(const Problem& problem) {
  const Layer& layer = problem.layer;
  if (auto checked = check_tensor_cores(problem, kComputes); !checked) {
    return checked;
  }
  if (layer.groups != 1) {
    return fail(fmt::format("{} groups; it takes 1", layer.groups));
  }
  for (const std::size_t axis : axes_of(layer)) {
    if (const Axis& a = layer.axes[axis]; a.stride != 1 && a.dilation != 1 && a.kernel != 1) {
      return fail(fmt::format("stride {} and dilation {} in {}; one of them must be 1", a.stride, a.dilation,
                              axis_name(layer, axis)));
    }
  }
  return {};
}

Facts facts_of(const Problem& problem, const InputSizes& sizes) {
  const Layer& layer = problem.layer;
  const std::int64_t bytes = layer.dtype == Dtype::kF32 ? 4 : 2;
  Facts f{.layer = layer,
          .target = problem.target,
          .rows = window_of(symmetric(layer.axes[kHeight])),
          .columns = window_of(symmetric(layer.axes[kWidth])),
          .bytes = bytes,
          .depth = 32 / bytes,
          .pack = 16 / bytes,
          .batch = sizes.batch,
          .height = sizes.extents[kHeight],
          .width = sizes.extents[kWidth],
          .read_seconds = 0,
          .write_seconds = 0,
          .can_be_flat = false,
          .channels_last = layer.layout == Layout::kNhwc};
  if (const auto shape = shape_of(layer, sizes)) {
    f.write_seconds = static_cast<double>(shape->output_elements * bytes) / problem.target.bytes_per_second;
    f.read_seconds = cost_of(problem, *shape).bytes / problem.target.bytes_per_second - f.write_seconds;
  }
  const bool one_row = layer.axes[kHeight].extent && *layer.axes[kHeight].extent + f.rows.gap == 1;
  const bool known =
      layer.axes[kHeight].extent && layer.axes[kWidth].extent &&
      *layer.axes[kHeight].extent + f.rows.gap <= kMostPositions / (*layer.axes[kWidth].extent + f.columns.gap);
  f.can_be_flat = one_row || known;
  return f;
}

/// Output channels of a block: numbers that share all of them evenly.
std::vector<std::int64_t> column_choices(const Facts& f, const Block& b) {
  const std::int64_t most = std::min(b.joined ? kMostColumns / f.phases(b) : kMostColumns, 2 * kMostSums / f.phases(b));
  std::vector<std::int64_t> out;
  for (std::int64_t parts = 1; parts <= ceil_div(f.layer.out_channels, 8) && out.size() < 4; ++parts) {
    std::int64_t columns = round_up(ceil_div(f.layer.out_channels, parts), 8);
    if (columns > 16 && round_up(columns, 4 * f.pack) <= most) {
      columns = round_up(columns, 4 * f.pack);  // stored in whole vectors
    }
    if (columns <= most && (out.empty() || out.back() != columns)) {
      out.push_back(columns);
    }
  }
  return out;
}

/// Tiles of this many parts of 64 positions: 8x8 each or, so that NCHW is stored in longer pieces, 1x64.
std::vector<Block> with_tiles(const Facts& f, const Block& b, std::int64_t parts) {
  std::vector<Block> out;
  const auto add = [&](bool flat, std::int64_t part_w, std::int64_t across) {
    Block tiled = b;
    tiled.flat = flat;
    tiled.part_w = part_w;
    tiled.tile_h = 64 / part_w * parts / across;
    tiled.tile_w = part_w * across;
    tiled.vector = vector_of(f, tiled);
    out.push_back(tiled);
  };
  for (std::int64_t across = 1; across <= parts; across *= 2) {
    add(false, 8, across);
    if (!f.channels_last) {
      add(false, 64, across);
    }
  }
  if (f.can_be_flat) {
    add(true, 64, parts);
  }
  return out;
}

struct Candidate {
  Block block;
  double seconds = 0;
};

/// The least that any block asks for, of what there is too little of where there are no candidates.
struct Least {
  std::int64_t products = std::numeric_limits<std::int64_t>::max();  // in the unrolled body
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();     // of shared memory, where products are few enough
};

/// Adds what can be made of a block with a tile: all chunks, with weights resident or not.
void add_pipelines(const Facts& f, Block b, std::vector<Candidate>& out, Least& least) {
  for (const std::int64_t depths : {4, 2, 1}) {
    b.chunk = depths * f.depth;
    const std::int64_t products = f.taps(b) * depths * positions(b) / (b.in_turn ? 64 : 128);
    if (depths > 1 && b.chunk >= 2 * f.layer.in_channels) {
      continue;
    }
    least.products = std::min(least.products, products);
    for (const bool resident : {true, false}) {
      b.resident = resident;
      if ((resident || !b.in_turn) && products <= kMostProducts) {
        if (choose_stages(f, b)) {
          out.push_back({b, predicted(f, b)});
        } else {  // with the fewest that it tried, and one less
          ++b.stages;
          least.bytes = std::min(least.bytes, shared_bytes(f, b));
        }
      }
    }
  }
}

/// Which phases a block makes, and whether products serve all of them.
std::vector<Block> with_phases(const Layer& layer, const Block& b) {
  const bool divides_h = layer.axes[kHeight].kernel % layer.axes[kHeight].stride == 0;
  std::vector<Block> out;
  for (const std::int64_t phase_rows : {layer.axes[kHeight].stride, std::int64_t{1}}) {
    for (const bool joined : {true, false}) {
      if ((joined || !divides(layer)) && (joined || divides_h || phase_rows == layer.axes[kHeight].stride)) {
        out.push_back(b);
        out.back().phase_rows = phase_rows;
        out.back().joined = joined;
      }
    }
    if (layer.axes[kHeight].stride == 1) {
      break;
    }
  }
  return out;
}

std::vector<Candidate> candidates(const Facts& f, Least& least) {
  std::vector<Candidate> out;
  for (Block& phased : with_phases(f.layer, Block())) {
    for (const std::int64_t columns : column_choices(f, phased)) {
      phased.columns = columns;
      choose_store(f, phased);
      for (const std::int64_t parts : {1, 2, 4}) {  // of a warpgroup
        if (parts * f.phases(phased) * columns / 2 > kMostSums) {
          continue;
        }
        for (const bool in_turn : {false, true}) {
          phased.in_turn = in_turn;
          for (const Block& copied : with_copies(f, phased)) {
            for (const Block& tiled : with_tiles(f, copied, in_turn ? parts : 2 * parts)) {
              add_pipelines(f, tiled, out, least);
            }
          }
        }
      }
    }
  }
  return out;
}

/// Why candidates() has none: which limit even the smallest block breaks.
std::unexpected<Error> why_none(const Facts& f, const Least& least) {
  const Layer& layer = f.layer;
  constexpr auto kNone = std::numeric_limits<std::int64_t>::max();
  if (least.products == kNone) {  // of eight channels
    return fail(fmt::format("stride {} in width: a product makes that many phases; at most {}",
                            layer.axes[kWidth].stride, kMostColumns / 8));
  }
  if (least.products > kMostProducts) {
    return fail(fmt::format("kernel {} takes {} products, each written out; at most {}",
                            axes_text(layer, &Axis::kernel), least.products, kMostProducts));
  }
  return fail_shared_memory(
      f.target, fmt::format("kernel {}: stages of input with its halo and weights", axes_text(layer, &Axis::kernel)),
      least.bytes);
}

/// The first of candidates that differ in their pipelines alone.
std::vector<Candidate> one_of_each_block(std::vector<Candidate> sorted) {
  const auto block = [](const Block& b) {
    return std::tuple(b.flat, b.tile_h, b.tile_w, b.part_w, b.copy_bytes, b.columns, b.phase_rows, b.joined, b.resident,
                      b.in_turn);
  };
  std::vector<Candidate> out;
  for (const Candidate& candidate : sorted) {
    if (std::ranges::none_of(out,
                             [&](const Candidate& other) { return block(other.block) == block(candidate.block); })) {
      out.push_back(candidate);
    }
  }
  return out;
}

/// The inverse of parameters_of().
Block block_of(const Plan& plan) {
  return {.flat = flag_of(plan, "flat"),
          .tile_h = integer_of(plan, "tile_h"),
          .tile_w = integer_of(plan, "tile_w"),
          .part_w = integer_of(plan, "part_w"),
          .columns = integer_of(plan, "columns"),
          .channel_run = integer_of(plan, "channel_run"),
          .store = integer_of(plan, "store"),
          .phase_rows = integer_of(plan, "phase_rows"),
          .chunk = integer_of(plan, "chunk"),
          .stages = integer_of(plan, "stages"),
          .ahead = integer_of(plan, "ahead"),
          .producers = integer_of(plan, "producers"),
          .copy_bytes = integer_of(plan, "copy_bytes"),
          .vector = integer_of(plan, "vector"),
          .joined = flag_of(plan, "joined"),
          .resident = flag_of(plan, "resident"),
          .in_turn = flag_of(plan, "in_turn")};
}

}  // namespace

Result<std::vector<Plan>> plans_halo_gemm(const Problem& problem) {
  if (auto checked = check(problem); !checked) {
    return std::unexpected(checked.error());
  }
  const Facts facts = facts_of(problem, planned_sizes(problem.layer));
  Least least;
  std::vector<Candidate> found = candidates(facts, least);
  if (found.empty()) {
    return why_none(facts, least);
  }
  std::ranges::stable_sort(found, {}, &Candidate::seconds);
  found = one_of_each_block(std::move(found));
  found.resize(std::min(found.size(), kMostPlans));
  std::vector<Plan> plans;
  for (const Candidate& candidate : found) {
    plans.push_back(plan_of(facts, candidate.block, candidate.seconds));
  }
  return plans;
}

std::optional<double> halo_gemm_seconds(const Problem& problem, const Plan& plan, const InputSizes& sizes) {
  return predicted(facts_of(problem, sizes), block_of(plan));
}

TileGrid halo_gemm_grid(const Problem& problem, const Plan& plan) {
  const Layer& layer = problem.layer;
  const std::int64_t columns = ceil_div(layer.out_channels, integer_of(plan, "columns")) *
                               (layer.axes[kHeight].stride / integer_of(plan, "phase_rows"));
  // Tiles begin up to stride - 1 outputs before the first one.
  return {.stride_h = layer.axes[kHeight].stride,
          .stride_w = layer.axes[kWidth].stride,
          .tile_rows = layer.axes[kHeight].stride * (integer_of(plan, "tile_h") - 1) + 1,
          .tile_columns = layer.axes[kWidth].stride * (integer_of(plan, "tile_w") - 1) + 1,
          .blocks_per_tile = columns,
          .most_tiles = std::max<std::int64_t>(1, problem.target.multiprocessors / columns)};
}

}  // namespace convtgen
