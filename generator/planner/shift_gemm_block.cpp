#include "generator/planner/shift_gemm_block.h"
#include "generator/planner/integers.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "generator/planner/cost.h"
#include "generator/planner/tensor_cores.h"

namespace convtgen::shift_gemm {
namespace {

constexpr std::int64_t kConsumers = 256;
constexpr std::int64_t kMostSums = 256;  // of a thread: phases * tiles of 64 positions * columns * sets
constexpr std::int64_t kMostRegisters = 152;
constexpr std::int64_t kMostSplitRegisters = 168;
constexpr std::int64_t kMostRegistersInTurn = 160;  // the same with the words of a run
constexpr std::int64_t kSkewRegisters = 20;         // less where rows begin anywhere
constexpr std::int64_t kMostProducts = 1024;        // in the unrolled body
constexpr std::int64_t kMostTerms = 16;        // products of a sum of f32x3: each addition on tensor cores truncates
constexpr std::int64_t kMostBesideWide = 136;  // registers of f32x3's consumers, beside twice the producers
constexpr std::int64_t kMostSplitChunk = 128;  // input channels of a stage of f32x3
constexpr std::int64_t kMostCluster = 8;
constexpr std::int64_t kLeastPieceBytes = 128;  // of a bulk copy of pixels
constexpr std::int64_t kMostLongProducts = 48;  // of a warpgroup in chunks of eight depths, which are written out
constexpr std::int64_t kPackThreads = 256;      // of a block that packs weights

/// Sums of a thread.
std::int64_t sums(const Facts& f, const Block& b) {
  return f.parts * b.phase_rows * f.columns.stride * (b.run / 2) * b.columns / 2;
}

/// Positions that a thread has operands for.
std::int64_t operand_places(const Facts& f, const Block& b) {
  return b.run - 1 + greatest_offset(f.columns) - least_offset(f.columns);
}

/// As many stages as fit, of at most six; false where not even two do.
bool choose_stages(const Facts& f, Block& b) {
  for (const bool resident : {true, false}) {
    b.resident = resident;
    if (resident && b.cluster > 1) {
      continue;  // a block needs its share of them once
    }
    for (b.stages = 6; b.stages >= 2; --b.stages) {
      if (shared_bytes(f, b) <= f.target.max_shared_bytes) {
        return true;
      }
    }
  }
  return false;
}

/// How input is brought: by the largest copies that rows (or pixels, with channels last) of this many elements allow,
/// and rows also by bulk copies: of 32-bit elements, which consumers read one by one, whatever their width is. So do
/// pixels where a copy has kLeastPieceBytes.
std::vector<Block> with_copies(const Facts& f, Block b) {
  const Size extent = f.channels_last ? Size(f.layer.in_channels) : f.columns.extent;
  std::vector<Block> out;
  for (b.copy_bytes = 16; b.copy_bytes >= 4 && out.empty(); b.copy_bytes /= 2) {
    if (extent ? *extent * f.bytes % b.copy_bytes == 0 : f.bytes == 4 && b.copy_bytes == 4) {
      out.push_back(b);
    }
  }
  if (!out.empty() && (out.front().copy_bytes == 16 || (f.bytes == 4 && !f.channels_last)) &&
      !(f.split && f.channels_last)) {
    out.push_back(out.front());
    out.back().copy_bytes = 16;
    out.back().bulk = true;
    if (f.channels_last && piece_pixels(f, out.back()) * b.chunk * f.bytes < kLeastPieceBytes) {
      out.pop_back();
    }
  }
  // The largest chunks make so few products of each byte that only pieces of many bytes are worth them.
  std::erase_if(out, [&](const Block& each) { return !f.split && b.chunk == 8 * f.depth && !each.bulk; });
  return out;
}

/// Adjacent outputs of a warp in a row.
std::int64_t warp_outputs(const Facts& f, const Block& b) {
  return 8 * b.run * f.columns.stride;
}

/// What the exchange of outputs takes: eight channels of each warp, with the template's pitch.
std::int64_t exchange_bytes(const Facts& f, const Block& b) {
  const std::int64_t outputs = warp_outputs(f, b);
  return b.exchange ? 64 * (outputs + floor_mod(f.pack - outputs, 4 * f.pack)) * f.bytes : 0;
}

/// Chooses how many elements are stored together; false for an exchange where a run is stored in one piece without.
bool choose_store(const Facts& f, Block& b) {
  const Layer& layer = f.layer;
  b.store = f.pack;
  if (f.channels_last) {
    while (b.store > 1 && (b.columns / b.cluster % (4 * b.store) != 0 || layer.out_channels % b.store != 0)) {
      b.store /= 2;
    }
    b.channel_run = b.store;
    return !b.exchange;
  }
  b.channel_run = 2;
  // An open width allows no store of more than one element.
  const std::int64_t out = f.columns.extent ? output_extent(f.columns, *f.columns.extent) : 1;
  const std::int64_t together = b.exchange ? warp_outputs(f, b) / 4 : b.run * f.columns.stride;
  while (b.store > 1 && (together % b.store != 0 || out % b.store != 0)) {
    b.store /= 2;
  }
  return !b.exchange || b.store < std::min(b.run * f.columns.stride, f.pack);
}

/// Positions that a thread holds operands of at a time.
std::int64_t operands(const Facts& f, const Block& b) {
  return f.split ? operand_places(f, b) : std::min(operand_places(f, b), b.run / 2 * f.columns.kernel);
}

/// Registers of a consumer that hold sums and, in two turns, the operands of a run, and how many may: products of more
/// than these are serialised by the assembler (C7512).
struct Registers {
  std::int64_t wanted = 0, most = 0;
};
Registers registers_of(const Facts& f, const Block& b) {
  return {
      .wanted = sums(f, b) + 2 * 4 * operands(f, b),
      .most = (f.split ? kMostSplitRegisters : kMostRegisters) - (!f.split && is_skewed(f, b) ? kSkewRegisters : 0)};
}

/// Of f32x3, the turns are a run's high and low parts; what the low ones are made from waits meanwhile, unless the
/// consumer does. Chooses that, and tells whether the registers suffice.
bool choose_ahead(const Facts& f, Block& b) {
  const std::int64_t waiting = f.split && f.channels_last ? 4 * (operand_places(f, b) + 3) : 0;
  const auto [wanted, most] = registers_of(f, b);
  b.ahead = splits_read(f, b) || wanted + waiting <= most;
  return wanted <= most && (!b.in_turn || wanted + 2 * (operands(f, b) + 1) <= kMostRegistersInTurn);
}

/// Whether there is a producer for each row of a channel that bulk copies bring, of four channels where rows begin
/// anywhere. Twice the producers have registers for no more than 16 copies of a warp's row: CUDA 13.5 keeps the
/// addresses of a loop's.
bool has_producers(const Facts& f, const Block& b) {
  const std::int64_t rows = b.tile_n * staging_of(f, b).image_rows * (is_skewed(f, b) ? 4 : 1);
  const std::int64_t warps = producers(f, b) / 32;
  if (b.bulk && warps > 4 && b.chunk / std::max<std::int64_t>(1, warps / rows) > 16) {
    return false;
  }
  return !b.bulk || f.channels_last || rows <= producers(f, b);
}

/// The tile that is predicted to take least, with the least halo; false where none fits.
bool choose_tile(const Facts& f, Block& b) {
  std::pair<double, std::int64_t> best = {std::numeric_limits<double>::infinity(), 0};
  Block chosen = b;
  const std::int64_t least =
      std::max(b.exchange ? 8 * b.run : b.run, f.channels_last || is_skewed(f, b) ? 1 : b.copy_bytes / f.bytes);
  for (std::int64_t n = 1; n <= (f.split ? 32 : 64); n *= 2) {
    for (std::int64_t w = least; n * w <= positions(b); w *= 2) {
      Block tried = b;
      tried.tile_n = n;
      tried.tile_w = w;
      tried.tile_h = positions(b) / (n * w);
      if ((f.split && is_skewed(f, tried)) || !has_producers(f, tried) || !choose_stages(f, tried)) {
        continue;
      }
      if (const std::pair cost(predicted_seconds(f, tried), staging_of(f, tried).input_bytes); cost < best) {
        best = cost;
        chosen = tried;
      }
    }
  }
  b = chosen;
  return b.tile_h > 0;
}

/// Taps of the phase that has most, along an axis.
std::int64_t taps_of_phase(const Axis& axis) {
  return ceil_div(axis.kernel, axis.stride / std::gcd(axis.stride, axis.dilation));
}

/// Products that a chunk of f32x3 adds to a sum.
std::int64_t terms_of_chunk(const Facts& f, const Block& b) {
  return b.chunk / f.depth * taps_of_phase(f.rows) * taps_of_phase(f.columns);
}

/// Products in the unrolled body.
std::int64_t products(const Facts& f, const Block& b) {
  return tap_count(f.layer) / merged_phases(f.layer) * b.phase_rows / f.rows.stride * (b.chunk / f.depth) *
         (b.run / 2) * (f.split ? 3 : 1);
}

/// The rest of a block whose run, phase rows, columns, chunk, copies and cluster are chosen; nothing where nothing
/// fits.
std::optional<Block> completed(const Facts& f, Block b) {
  if (f.split && b.chunk > f.depth && terms_of_chunk(f, b) > kMostTerms) {
    return std::nullopt;
  }
  const bool is_long = !f.split && b.chunk == 8 * f.depth && products(f, b) > kMostLongProducts;
  if (products(f, b) > kMostProducts || is_long || !choose_ahead(f, b)) {
    return std::nullopt;
  }
  if (b.cluster > 1 && (f.split || chunks(f, b) % b.cluster != 0 || b.columns % (8 * b.cluster) != 0)) {
    return std::nullopt;
  }
  if (!choose_store(f, b) || !choose_tile(f, b) ||
      (b.cluster > 1 && tiles(f, b) * column_tiles(f, b) > f.target.multiprocessors)) {
    return std::nullopt;
  }
  return b;
}

/// Output channels of a block: as many as the registers hold, or a half or a quarter of them.
std::set<std::int64_t> column_counts(const Facts& f, const Block& b) {
  std::set<std::int64_t> counts;
  const std::int64_t all = kMostSums / (f.parts * b.phase_rows * f.columns.stride * (b.run / 2)) / 8 * 8;
  for (std::int64_t most = all; most >= 8 && most >= all / 4; most = most / 2 / 8 * 8) {
    const std::int64_t out = f.layer.out_channels;
    std::int64_t columns = round_up(ceil_div(out, ceil_div(out, most)), 8);
    if (f.channels_last && columns > 16) {
      columns = std::max<std::int64_t>(8, std::min(round_up(columns, 4 * f.pack), round_down(most, 4 * f.pack)));
    }
    counts.insert(columns);
  }
  return counts;
}

/// Rows of taps that f32x3 adds up together; 0 where it does a chunk's all.
std::int64_t rows_added(const Facts& f) {
  const std::int64_t row = taps_of_phase(f.columns);
  return f.split && taps_of_phase(f.rows) * row > kMostTerms ? std::max<std::int64_t>(1, kMostTerms / row) : 0;
}

/// Input channels of a stage.
std::vector<std::int64_t> chunk_sizes(const Facts& f) {
  const Layer& layer = f.layer;
  if (!f.split) {
    std::vector<std::int64_t> sizes = {2 * f.depth};
    if (layer.in_channels > 2 * f.depth) {
      sizes.push_back(4 * f.depth);
    }
    if (f.channels_last && layer.in_channels > 4 * f.depth) {
      sizes.push_back(8 * f.depth);
    }
    return sizes;
  }
  std::vector<std::int64_t> sizes = {f.depth};
  while (sizes.back() < layer.in_channels && sizes.back() < kMostSplitChunk) {
    sizes.push_back(2 * sizes.back());
  }
  return sizes;
}

/// Whether rows of phases can go to different blocks.
bool rows_part(const Layer& layer) {
  const Axis& rows = layer.axes[kHeight];
  return rows.kernel % rows.stride == 0 && rows.dilation == 1;
}

/// How outputs are stored, as they are or through shared memory, by all consumers at once or in turn; and how many
/// blocks share a tile's input channels.
struct Way {
  bool exchange = false, in_turn = false;
  std::int64_t cluster = 1;
};

}  // namespace

Facts facts_of(const Problem& problem) {
  return facts_of(problem, planned_sizes(problem.layer));
}

Facts facts_of(const Problem& problem, const InputSizes& sizes) {
  const Layer& layer = problem.layer;
  const std::int64_t bytes = layer.dtype == Dtype::kF32 ? 4 : 2;
  const bool split = layer.compute == Compute::kF32x3;
  Layer group = layer;
  group.groups = 1;
  group.in_channels /= layer.groups;
  group.out_channels /= layer.groups;
  return {.layer = std::move(group),
          .sizes = sizes,
          .groups = layer.groups,
          .target = problem.target,
          .rows = symmetric(layer.axes[kHeight]),
          .columns = symmetric(layer.axes[kWidth]),
          .bytes = bytes,
          .depth = split ? 16 : 32 / bytes,
          .pack = 16 / bytes,
          .channels_last = layer.layout == Layout::kNhwc,
          .split = split,
          .parts = split ? 2 : 1};
}

std::vector<Block> blocks(const Facts& f) {
  const Layer& layer = f.layer;
  std::vector<Way> ways = {{}};  // consumers of f32x3 have no registers for more
  if (!f.split) {
    ways.insert(ways.end(), {{.exchange = true}, {.in_turn = true}, {.exchange = true, .in_turn = true}});
    for (std::int64_t cluster = 2; cluster <= kMostCluster; cluster *= 2) {
      ways.push_back({.cluster = cluster});
    }
  }
  std::vector<Block> all;
  for (const std::int64_t phase_rows : std::set<std::int64_t>{f.rows.stride, rows_part(layer) ? 1 : f.rows.stride}) {
    for (const std::int64_t run : {2, 4, 8}) {
      Block block;
      block.run = run;
      block.phase_rows = phase_rows;
      for (const std::int64_t columns : column_counts(f, block)) {
        block.columns = columns;
        for (const std::int64_t chunk : chunk_sizes(f)) {
          block.chunk = chunk;
          block.add_rows = rows_added(f);
          for (Block copied : with_copies(f, block)) {
            for (const auto& [exchange, in_turn, cluster] : ways) {
              copied.exchange = exchange;
              copied.in_turn = in_turn;
              copied.cluster = cluster;
              if (const std::optional<Block> fitting = completed(f, copied)) {
                all.push_back(*fitting);
              }
            }
          }
        }
      }
    }
  }
  return all;
}

std::unexpected<Error> why_none(const Facts& f) {
  const Layer& layer = f.layer;
  Block least;
  least.phase_rows = rows_part(layer) ? 1 : f.rows.stride;
  const std::set<std::int64_t> columns = column_counts(f, least);
  if (columns.empty()) {
    return fail(fmt::format("stride {}: a block sums {} phases side by side; at most {}",
                            axes_text(layer, &Axis::stride), least.phase_rows * f.columns.stride,
                            kMostSums / 8 / f.parts));
  }
  least.columns = *columns.begin();
  least.chunk = chunk_sizes(f).front();
  least.add_rows = rows_added(f);
  const std::vector<Block> copied = with_copies(f, least);
  if (copied.empty()) {
    return fail_extent(layer, 4 / f.bytes, 4);
  }
  least = copied.front();
  if (products(f, least) > kMostProducts) {
    return fail(fmt::format("kernel {} takes {} products, each written out; at most {}",
                            axes_text(layer, &Axis::kernel), products(f, least), kMostProducts));
  }
  if (const Registers registers = registers_of(f, least); registers.wanted > registers.most) {
    return fail(
        fmt::format("dilation * (kernel - 1) is {} in width: a row of taps and its accumulators take {} "
                    "registers of a thread; at most {}",
                    f.columns.dilation * (f.columns.kernel - 1), registers.wanted, registers.most));
  }
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
  least.stages = 2;
  for (least.tile_w = f.channels_last ? least.run : std::max(least.run, least.copy_bytes / f.bytes);
       least.tile_w <= positions(least); least.tile_w *= 2) {
    least.tile_h = positions(least) / least.tile_w;
    bytes = std::min(bytes, shared_bytes(f, least));
  }
  return fail_shared_memory(f.target,
                            fmt::format("kernel {}, dilation {}: two stages of input with its halo and weights",
                                        axes_text(layer, &Axis::kernel), axes_text(layer, &Axis::dilation)),
                            bytes);
}

Staging staging_of(const Facts& f, const Block& b) {
  const std::int64_t groups = f.rows.stride / b.phase_rows;
  const std::int64_t run = b.run + greatest_offset(f.columns);
  Staging out;
  const bool skewed = is_skewed(f, b);
  out.vector = f.channels_last ? 1
               : skewed        ? (f.columns.extent && *f.columns.extent % 2 == 0 ? 2 : 1)
               : f.bytes == 2  ? 2
                               : std::min<std::int64_t>(b.run, 4);
  out.offsets_h = groups == 1 ? greatest_offset(f.rows) - least_offset(f.rows) + 1 : f.rows.kernel / groups;
  const std::int64_t align = f.channels_last ? 1 : skewed ? out.vector : std::max(b.copy_bytes / f.bytes, out.vector);
  const std::int64_t first = round_down(least_offset(f.columns), align);
  out.image_rows = b.tile_h + out.offsets_h - 1;
  out.columns = round_up(b.tile_w + greatest_offset(f.columns) - first, f.channels_last && b.bulk ? b.run : align);
  const std::int64_t start = f.channels_last ? first : first + round_down(least_offset(f.columns) - first, out.vector);
  out.run_words = round_up(run - start, out.vector);
  const std::int64_t pitch_of_rows = skewed ? round_up(out.columns + f.pack - out.vector, f.pack) : out.columns;
  const std::int64_t plane = b.tile_n * out.image_rows * pitch_of_rows;
  if (f.channels_last && b.bulk) {
    out.copies = plane / piece_pixels(f, b);
    out.input_bytes = plane / b.run * (b.run * b.chunk * f.bytes + 32);
  } else if (f.channels_last) {
    const std::int64_t words = b.chunk * f.bytes / 4;
    out.input_bytes = plane * 4 *
                      (words + (b.run > 2 ? floor_mod(4 - words, 8)
                                : f.split ? floor_mod(8 - words, 16)
                                          : floor_mod(4 - words, 16)));
  } else {
    const std::int64_t pitch = f.split        ? plane + floor_mod(4 - plane, 16)
                               : f.bytes == 4 ? plane + floor_mod(8 - plane, 32)
                                              : 2 * (plane / 2 + floor_mod(4 - plane / 2, 16));
    out.input_bytes = b.chunk * pitch * f.bytes;
    out.copies = b.bulk ? b.chunk * b.tile_n * out.image_rows : 0;
  }
  out.weight_bytes = tap_count(f.layer) / groups * (b.chunk / f.depth) * b.columns * 32 * f.parts;
  return out;
}

std::int64_t piece_pixels(const Facts& f, const Block& b) {
  return f.groups == 1 && b.chunk == f.layer.in_channels ? b.run : 1;
}

std::int64_t positions(const Block& b) {
  return (b.in_turn ? 32 : 64) * b.run;
}

bool is_flat(const Facts& f, const Block& b) {
  const auto covers = [](const Axis& axis) {
    return least_offset(axis) == 0 && greatest_offset(axis) == 0 &&
           axis.dilation * (axis.kernel - 1) + axis.output_padding + 1 == axis.stride;
  };
  constexpr std::int64_t kMostPositions = 0x3fffffff;
  const Size& height = f.rows.extent;
  const Size& width = f.columns.extent;
  return b.bulk && !f.channels_last && b.tile_h == 1 && !b.exchange && b.cluster == 1 && height && *height > 1 &&
         width && (f.split || *width * f.bytes % 16 != 0) && *width % b.run == 0 &&
         *height <= kMostPositions / *width && *height * *width * f.bytes % 16 == 0 && covers(f.rows) &&
         covers(f.columns);
}

bool is_skewed(const Facts& f, const Block& b) {
  return b.bulk && !f.channels_last && !is_flat(f, b) && !(f.columns.extent && *f.columns.extent * f.bytes % 16 == 0);
}

std::int64_t merged_phases(const Layer& layer) {
  const Axis& axis = layer.axes[kWidth];
  const bool alike = axis.kernel % axis.stride == 0 && axis.dilation == 1;
  return alike ? std::gcd(axis.stride, axis.padding.before % axis.stride) : 1;
}

std::int64_t column_tiles(const Facts& f, const Block& b) {
  return f.groups * ceil_div(f.layer.out_channels, b.columns) * (f.rows.stride / b.phase_rows);
}

std::int64_t tiles(const Facts& f, const Block& b) {
  const Shape shape = shape_of(f.layer, f.sizes).value_or(Shape{});
  const std::int64_t of_image = is_flat(f, b) ? ceil_div(shape.in[kHeight] * shape.in[kWidth], b.tile_w)
                                              : ceil_div(shape.out[kHeight], f.rows.stride * b.tile_h) *
                                                    ceil_div(shape.out[kWidth], f.columns.stride * b.tile_w);
  return ceil_div(shape.batch, b.tile_n) * of_image;
}

std::int64_t chunks(const Facts& f, const Block& b) {
  return ceil_div(f.layer.in_channels, b.chunk);
}

std::int64_t sum_bytes(const Facts& f, const Block& b) {
  return b.phase_rows * f.columns.stride * (b.run / 2) * b.columns / 2 * 4 * kConsumers;
}

std::int64_t producers(const Facts& f, const Block& b) {
  const std::int64_t held = sums(f, b) + 8 * operand_places(f, b) + 4 * staging_of(f, b).run_words;
  const bool gives_back = !b.resident && b.stages <= 3 && b.add_rows == 0;
  return f.split && !splits_read(f, b) && (held <= kMostBesideWide || (gives_back && !b.bulk && !f.channels_last))
             ? 256
             : 128;
}

bool splits_read(const Facts& f, const Block& b) {
  const Staging staging = staging_of(f, b);
  return f.split && staging.offsets_h == 1 && staging.run_words <= 2 * b.run;
}

/// Consumers that split what they read need none where one sum holds all terms: they take sums to another scale.
std::int64_t total_bytes(const Facts& f, const Block& b) {
  const bool has_totals =
      b.add_rows > 0 || (splits_read(f, b) ? chunks(f, b) * terms_of_chunk(f, b) > kMostTerms : chunks(f, b) > 1);
  return f.split && has_totals ? sum_bytes(f, b) : 0;
}

std::int64_t times_added(const Facts& f, const Block& b) {
  if (b.add_rows > 0 && !splits_read(f, b)) {
    return ceil_div(chunks(f, b) * (b.chunk / f.depth) * staging_of(f, b).offsets_h, b.add_rows) - 1;
  }
  return ceil_div(chunks(f, b), std::max<std::int64_t>(1, kMostTerms / terms_of_chunk(f, b))) - 1;
}

std::int64_t scale_bytes(const Facts& f, const Block& b) {
  return !f.split ? 0 : producers(f, b) / 8 * b.tile_n + 16 * ceil_div(b.tile_n, 4);
}

std::int64_t shared_bytes(const Facts& f, const Block& b) {
  const Staging staging = staging_of(f, b);
  const std::int64_t barriers = f.split ? 24 : 16;
  const std::int64_t stage =
      staging.input_bytes + (b.resident ? 0 : staging.weight_bytes) + scale_bytes(f, b) + barriers;
  const std::int64_t staged = (b.resident ? chunks(f, b) * staging.weight_bytes + 8 : 0) + b.stages * stage +
                              total_bytes(f, b) + exchange_bytes(f, b) + (b.in_turn ? 24 : 0) +
                              (f.split ? b.columns * (f.layer.bias ? 12 : 8) : 0);
  // What the blocks of a cluster send to one of them takes the stages' place.
  return b.cluster > 1 ? std::max(staged, sum_bytes(f, b) + b.stages * 16) : staged;
}

std::int64_t packed_bytes(const Facts& f, const Block& b) {
  const std::int64_t scales = f.split ? b.columns * 36 : 0;  // and what they are found by
  return column_tiles(f, b) * (chunks(f, b) * staging_of(f, b).weight_bytes + scales);
}

std::int64_t packed_rows(const Facts& f, const Block& b) {
  const std::int64_t depths = chunks(f, b) * (b.chunk / f.depth);
  if (!f.split) {
    return depths % 4 == 0 ? 4 : 2;
  }
  // A block makes whole columns, as many as pack_columns() in the template says.
  const std::int64_t all = column_tiles(f, b) * b.columns;
  const std::int64_t taps = tap_count(f.layer) * b.phase_rows / f.rows.stride;
  std::int64_t columns = 2;
  while (columns < 8 &&
         (columns * depths * taps < 64 || (depths <= 4 * (128 / (columns * taps)) && all / columns >= 256))) {
    columns *= 2;
  }
  return std::max<std::int64_t>(1, packed_bytes(f, b) / all * columns / (16 * kPackThreads));
}

}  // namespace convtgen::shift_gemm
