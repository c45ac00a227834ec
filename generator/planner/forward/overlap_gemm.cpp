#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/plan/tensor_maps.h"
#include "generator/planner/search/block_choices.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/planner.h"
#include "generator/planner/search/roofline.h"
#include "generator/planner/search/tensor_cores.h"

namespace convtgen {
namespace planners::overlap_gemm {

constexpr std::int64_t kPixelMultiple = 8;    // of an image in NCHW: 16 bytes
constexpr std::int64_t kMostPixels = 256;     // of a tile
constexpr std::int64_t kOtherRegisters = 36;  // of a thread, besides accumulators
constexpr std::int64_t kLeastRegisters = 64;  // of a thread, for its outputs
constexpr std::int64_t kMostOverlap = 16;     // taps that an output adds up, which are unrolled
constexpr std::int64_t kTriedRows = 8;        // of tiles in NCHW: one of eight is a multiple of eight
constexpr std::int64_t kLeastStages = 3, kMostStages = 6;
constexpr std::int64_t kMostAhead = 3;       // tiles of a block that have stages at a time
constexpr std::int64_t kMostBlocksOfSm = 3;  // that are asked for
constexpr std::int64_t kThreadsOfSm = 2048;

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK_AND_FACTS(FactsOf, (tile_n, 1), (tile_h, 1), (tile_w, 1), (warpgroups, 1), (thread_tiles, 1),
                         (block_c, 8), (store, 1), (block_k, 64), (stages, kLeastStages), (blocks_per_sm, 1),
                         (copied_weights, true));
/// The template's constants that are asked for.
CONVTGEN_CONSTANTS(kMostAccumulators, kThreads, kKSteps, kKBlocks, kColumns, kInstructionN, kNTiles, kPixels, kBlockM,
                   kReachH, kReachW, kStepH, kStepW, kFirstH, kFirstW, kBeyondH, kBeyondW, kOutRows, kOutColumns,
                   kBoxColumns, kRowBytes, kRowPixels, kCommonRows, kCopiedInputBytes, kWeightBytes, kLoops,
                   kSharedBytes, kAlignment);

bool is_nhwc(const Layer& layer) {
  return layer.layout == Layout::kNhwc;
}

/// Whether the channels of a tap follow one another.
bool has_turned_weights(const Layer& layer) {
  return layer.weight_layout == WeightLayout::kChannelsLast && tap_count(layer) > 1 && layer.out_channels > 1;
}

bool is_whole(const Axis& axis, std::int64_t tile) {
  return axis.extent && *axis.extent == tile;
}

/// Tiles along an axis.
std::int64_t tiles_of(const Axis& axis, std::int64_t tile, std::int64_t size, std::int64_t positions,
                      std::int64_t step) {
  return is_whole(axis, tile) ? 1 : ceil_div(size + positions, step);
}

/// Tiles of all pixels.
std::int64_t tiles(const Facts& f, const Block& b) {
  Constants& c = f.of(b);
  return ceil_div(f.sizes.batch, b.tile_n) *
         tiles_of(f.rows, b.tile_h, f.sizes.extents[kHeight], c[kBeyondH] - c[kFirstH], c[kStepH]) *
         tiles_of(f.columns, b.tile_w, f.sizes.extents[kWidth], c[kBeyondW] - c[kFirstW], c[kStepW]);
}

/// Registers of a thread for its accumulators and all else.
std::int64_t wanted_registers(const Facts& f, const Block& b) {
  return round_up(b.thread_tiles * f.of(b)[kInstructionN] / 2 + kOtherRegisters, 8);
}

/// Blocks that an SM has at a time, which may be more than the plan asks for; of those that go on to other tiles there
/// are no more.
std::int64_t blocks_at_once(const Facts& f, const Block& b) {
  if (f.of(b)[kLoops] != 0) {
    return b.blocks_per_sm;
  }
  return blocks_of_sm(f.target,
                      {.threads = f.of(b)[kThreads],
                       .registers = std::max(kLeastRegisters, wanted_registers(f, b)),
                       .shared_bytes = f.of(b)[kSharedBytes]},
                      kThreadsOfSm);
}

/// NCHW: columns that are stored together, of rows that all exist. As many as a position has make adjacent threads read
/// adjacent products.
std::int64_t columns_stored(const Facts& f, const Block& b) {
  const std::int64_t run = output_extent(f.columns, *f.columns.extent) *
                           (is_whole(f.rows, b.tile_h) ? output_extent(f.rows, *f.rows.extent) : 1);
  return halved_until(std::clamp<std::int64_t>(power_of_two_at_most(f.columns.stride), 2, 8),
                      [&](std::int64_t store) { return run % store == 0; });
}

/// Elements that are stored together: channels of a pixel, or where a tile has all channels adjacent elements of a row.
std::int64_t store_of(const Facts& f, const Block& b) {
  if (!f.channels_last) {
    return columns_stored(f, b);
  }
  const std::int64_t channels = f.layer.out_channels;
  const auto is_of_row = [&](std::int64_t store) {
    const std::int64_t row = output_extent(f.layer.axes[kWidth], *f.columns.extent) * channels;
    const std::int64_t first = (f.of(b)[kFirstW] * f.columns.stride - f.columns.padding.before) * channels;
    const std::int64_t step = f.of(b)[kStepW] * f.columns.stride * channels;
    return row % store == 0 && (is_whole(f.columns, b.tile_w) || (first % store == 0 && step % store == 0));
  };
  // Threads that have the phases of one position read products of adjacent ones.
  return halved_until(channels == 1 && f.columns.stride == 4 ? 4 : 8, [&](std::int64_t store) {
    return (b.block_c % store == 0 && channels % store == 0) ||
           (b.block_c == channels && f.columns.extent && is_of_row(store));
  });
}

/// Rows and columns of tiles of at most so many pixels. NCHW: whole rows, in multiples of what tensor copies bring.
std::vector<std::array<std::int64_t, 2>> tile_sizes(const Facts& f, std::int64_t pixels) {
  const std::int64_t most_rows = std::min(kMostBox, f.rows.extent.value_or(kMostBox));
  std::vector<std::array<std::int64_t, 2>> out;
  if (!f.channels_last) {
    const std::int64_t width = *f.columns.extent;
    for (std::int64_t rows = std::min(pixels / width, most_rows); rows > 0 && std::ssize(out) < kTriedRows; --rows) {
      out.push_back({rows, width});
    }
    return out;
  }
  for (std::int64_t width = 1; width <= pixels; width *= 2) {
    out.push_back({std::min(pixels / width, most_rows), width});
  }
  if (f.columns.extent && *f.columns.extent <= pixels) {
    out.push_back({std::min(pixels / *f.columns.extent, most_rows), *f.columns.extent});
  }
  return out;
}

/// Whether a tile has positions, and what tensor copies bring of it begins at whole vectors.
bool is_tile(const Facts& f, const Block& b) {
  const bool whole_h = is_whole(f.rows, b.tile_h);
  const bool has_rows = whole_h || b.tile_h >= ceil_div(f.rows.kernel, f.rows.stride);
  const bool has_columns = is_whole(f.columns, b.tile_w) || b.tile_w >= ceil_div(f.columns.kernel, f.columns.stride);
  return has_rows && has_columns && b.tile_w <= kMostBox &&
         (f.channels_last || f.of(b)[kCommonRows] * b.tile_w % f.of(b)[kRowPixels] == 0);
}

/// The tile of at most so many pixels that makes all outputs by the fewest blocks, of these the one whose pixels take
/// the fewest copies, and what it stores together; false where none has positions.
bool choose_tile(const Facts& f, std::int64_t pixels, Block& b) {
  std::optional<std::tuple<std::int64_t, std::int64_t, std::int64_t>> best;
  Block chosen = b;
  for (const auto& [rows, columns] : tile_sizes(f, pixels)) {
    Block tried = b;
    tried.tile_h = rows;
    tried.tile_w = columns;
    tried.tile_n = 1;
    if (!is_tile(f, tried)) {
      continue;
    }
    if (is_whole(f.rows, rows) && is_whole(f.columns, columns)) {
      tried.tile_n =
          std::clamp<std::int64_t>(pixels / (rows * columns), 1, std::clamp<std::int64_t>(f.sizes.batch, 1, kMostBox));
    }
    tried.store = store_of(f, tried);
    // Less than a sector of four threads, or of eight whose vectors are adjacent, takes twice as long.
    const std::int64_t stores = tried.store * bytes_of(f.layer.dtype) < (f.channels_last ? 8 : 4) ? 2 : 1;
    const std::int64_t copied = tried.tile_n * rows * columns / f.of(tried)[kRowPixels];
    const std::tuple cost = {tiles(f, tried) * stores, copied, rows + columns};
    if (!best || cost < *best) {
      best = cost;
      chosen = tried;
    }
  }
  b = chosen;
  return best.has_value();
}

/// As many stages as fit; false where too few do. Where weights are resident, of whole tiles, if one fits.
bool choose_stages(const Facts& f, Block& b) {
  const std::int64_t all = f.of(b)[kKBlocks];
  const std::int64_t most = shared_of_block(f.target, b.blocks_per_sm);
  for (std::int64_t ahead = b.copied_weights ? 0 : kMostAhead; ahead > 0; --ahead) {
    if (fit_stages(f, b, ahead * all, ahead * all, kSharedBytes, most)) {
      return true;
    }
  }
  return fit_stages(f, b, std::min(all, kLeastStages), std::min(all, kMostStages), kSharedBytes, most);
}

/// Output channels of a tile: all, or as many whole vectors of them as a product has columns for, or fewer that share
/// all of them evenly.
std::vector<std::int64_t> channel_choices(const Facts& f) {
  const std::int64_t all = f.layer.out_channels;
  std::vector<std::int64_t> out;
  if (all * tap_count(f.layer) <= kMostProductColumns) {
    out.push_back(all);
  }
  const bool boxes = has_turned_weights(f.layer);
  for (std::int64_t channels = kMostProductColumns / tap_count(f.layer) / 8 * 8; channels >= 8 && out.size() < 3;
       channels -= 8) {
    const bool is_box = channels == 8 || channels == 16 || channels == 32 || channels == 64;
    const bool is_even = all % channels == 0 || out.empty();
    if (channels < all && all % 8 == 0 && is_even && (!boxes || is_box)) {
      out.push_back(channels);
    }
  }
  return out;
}

/// Whether tensor copies bring the weights, whose rows begin at whole vectors.
bool may_copy(const Facts& f, std::int64_t channels) {
  return f.layer.out_channels * tap_count(f.layer) % 8 == 0 &&
         (channels == f.layer.out_channels || channels * tap_count(f.layer) % 8 == 0);
}

/// Whether a thread's accumulators suffice for the block's channels, of a tile that it chooses.
bool choose_copied_tile(const Facts& f, Block& b) {
  b.copied_weights = may_copy(f, b.block_c);
  return b.thread_tiles * f.of(b)[kInstructionN] / 2 <= f.of(b)[kMostAccumulators] &&
         choose_tile(f, 64 * b.warpgroups * b.thread_tiles, b);
}

/// Whether so many blocks of an SM have registers, and shared memory for stages.
bool fits_sm(const Facts& f, Block& b) {
  return wanted_registers(f, b) <= registers_of_thread(128 * b.warpgroups * b.blocks_per_sm) && choose_stages(f, b);
}

/// What tensor copies of NCHW need: rows of pixels that are whole vectors.
Result<void> check_planes(const Axis& rows, const Axis& columns) {
  if (!rows.extent || !columns.extent) {
    return fail("NCHW of a size that the layer leaves open; copies of adjacent pixels need it");
  }
  const std::int64_t height = *rows.extent, width = *columns.extent;
  const std::int64_t out_width = std::max<std::int64_t>(1, output_extent(columns, width));
  return first_error({require(width <= kMostPixels, "NCHW with {} columns; at most {}, since a tile has whole rows",
                              width, kMostPixels),
                      require(height * width % kPixelMultiple == 0,
                              "NCHW with images of {}x{} pixels; tensor copies need whole 16 bytes, multiples of {}",
                              height, width, kPixelMultiple),
                      require(output_extent(rows, height) <= kIntMax / out_width && height <= kIntMax / kMostPixels,
                              "NCHW with {} rows; at most {} outputs of an image and {} rows of its input", height,
                              kIntMax, kIntMax / kMostPixels)});
}

/// The map of x in NCHW: runs of adjacent pixels, by input channels, by what follows in an image, by images.
MapRecipe plane_map(const Facts& f, const Block& b, std::int64_t run) {
  const std::int64_t plane = *f.rows.extent * *f.columns.extent;
  return input_map(
      map_form(f.layer.dtype, {run, b.block_k, b.tile_h * b.tile_w / run, b.tile_n}, run > 8 ? run * f.bytes : 0),
      {Amount{.constant = run}, Amount{.constant = f.layer.in_channels}, Amount{.constant = plane / run},
       per(Quantity::kBatch)},
      {Amount{}, Amount{.constant = plane * f.bytes}, Amount{.constant = run * f.bytes},
       Amount{.constant = x_tensor_channels(f.layer) * plane * f.bytes}});
}

struct OverlapGemm : WarpgroupPlanner<Facts, kConstants, kHalfModes> {
  static Checks checks(const Layer& layer) {
    const Axis rows = symmetric(layer.axes[kHeight]), columns = symmetric(layer.axes[kWidth]);
    const std::int64_t taps = tap_count(layer), weights = layer.in_channels * layer.out_channels * taps;
    const std::int64_t overlap = ceil_div(rows.kernel, rows.stride) * ceil_div(columns.kernel, columns.stride);
    const std::int64_t least = layer.out_channels % 8 == 0 ? 8 : layer.out_channels;
    return {
        check_one_group(layer),
        is_nhwc(layer) ? check_whole("y_channels", layer.y_channels) : Result<void>(),
        require(!is_nhwc(layer) || layer.in_channels % kChannelMultiple == 0,
                "{} input channels; tensor copies need whole 16 bytes, multiples of {}", layer.in_channels,
                kChannelMultiple),
        check_no_dilation(layer),
        is_nhwc(layer) ? Result<void>() : check_planes(rows, columns),
        require(overlap <= kMostOverlap, "{} taps of an output; at most {}, which are unrolled", overlap, kMostOverlap),
        require(taps <= kMostProductColumns / least, "{} taps of {} output channels; a product has at most {} columns",
                taps, least, kMostProductColumns),
        require(layer.out_channels <= kIntMax / taps,
                "{} output channels of {} taps; at most {} weights of an input channel", layer.out_channels, taps,
                kIntMax),
        require(weights % 8 == 0, "{} weights; they are read as whole 16 bytes, multiples of 8", weights)};
  }
  static Blocks blocks(const Facts& f) {
    return BlockChoices(Block{.block_k = row_channels(f.layer)})
        .each(&Block::block_c, channel_choices(f))
        .each(&Block::warpgroups, &Block::thread_tiles, {{1, 1}, {2, 1}, {3, 1}, {4, 1}, {2, 2}})
        .keep([&](Block& b) { return choose_copied_tile(f, b); })
        .up_to(&Block::blocks_per_sm, kMostBlocksOfSm)
        .keep([&](Block& b) { return fits_sm(f, b); })
        .or_fail("{} taps, {}x{} for an output, and {} input channels: no tile fits registers and shared memory",
                 tap_count(f.layer), ceil_div(f.rows.kernel, f.rows.stride),
                 ceil_div(f.columns.kernel, f.columns.stride), f.layer.in_channels);
  }
  static double seconds(const Facts& f, const Block& b, Constants& c) {
    const double products = c.number(kKSteps) * c.number(kBlockM) / 64;
    const double weight_bytes = b.copied_weights ? c.number(kWeightBytes) : 0;
    // That tensor copies bring.
    const double rows = (f.channels_last ? c.number(kPixels)
                                         : c.number(kPixels) / c.number(kRowPixels) * static_cast<double>(b.block_k)) +
                        weight_bytes / c.number(kRowBytes);
    const double stage =
        std::max({products * product_cycles(f.target, c[kInstructionN]),
                  products * (16 + c.number(kInstructionN) / 4),  // both operands, 32 bytes deep
                  (c.number(kCopiedInputBytes) + weight_bytes) / f.factors.overlap_l2, rows * f.factors.overlap_row}) +
        f.factors.overlap_stage;
    // Products are written, and read by the outputs that add them up.
    const double outputs = static_cast<double>(b.tile_n * std::min(b.block_c, f.layer.out_channels)) *
                           c.number(kOutRows) * c.number(kOutColumns);
    const double epilogue = c.number(kBlockM) * c.number(kInstructionN) * f.factors.overlap_product +
                            outputs * c.number(kReachH) * c.number(kReachW) * f.factors.overlap_tap;
    const double weights =
        b.copied_weights ? 0 : c.number(kKBlocks) * c.number(kWeightBytes) * f.factors.overlap_weight;
    // Blocks of an SM hide what each of them waits for. Those that go on to other tiles load their weights once.
    const std::int64_t of_sm = ceil_div(tiles(f, b) * c[kNTiles], f.target.multiprocessors);
    const std::int64_t at_once = blocks_at_once(f, b);
    const double loaded = static_cast<double>(c[kLoops] != 0 ? std::min(of_sm, at_once) : of_sm);
    return call_seconds(
        f, {.first_cycles = loaded * weights + static_cast<double>(ceil_div(of_sm, at_once)) * f.factors.overlap_begin,
            .waves = static_cast<double>(of_sm),
            .wave_cycles = c.number(kKBlocks) * stage + epilogue,
            .measured = f.factors.overlap_measured});
  }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    // Positions that tiles make are as many as inputs, and some beyond them.
    const auto positions = [&](const Axis& axis, std::int64_t tile, Quantity quantity, std::int64_t more) {
      return is_whole(axis, tile) ? Amount{.constant = 1} : per(quantity, more);
    };
    std::vector<MapRecipe> maps = {f.channels_last
                                       ? pixel_map(f.layer, Role::kX, {b.block_k, b.tile_w, b.tile_h, b.tile_n}, {1, 1})
                                       : plane_map(f, b, c[kRowPixels])};
    if (b.copied_weights) {
      const bool by_taps = has_turned_weights(f.layer) && b.block_c < f.layer.out_channels;
      maps.push_back(weight_map(f.layer, by_taps, c[kBoxColumns], b.block_k));
    }
    return {fmt::format("a block makes {}x{} outputs of {} channels{}; {} taps", c[kOutRows], c[kOutColumns], b.block_c,
                        b.tile_n > 1 ? fmt::format(" of {} images", b.tile_n) : "", tap_count(f.layer)),
            fmt::format("tensor cores: products of 64 pixels x {} taps of channels, {} a block, from shared memory; an "
                        "output adds up {} of them; {} stages of {} input channels, weights {}",
                        c[kInstructionN], c[kBlockM] / 64, c[kReachH] * c[kReachW], b.stages, b.block_k,
                        b.copied_weights ? "as they lie" : "through registers"),
            {.axes = {{per(Quantity::kBatch), b.tile_n},
                      {positions(f.rows, b.tile_h, Quantity::kInHeight, c[kBeyondH] - c[kFirstH]), c[kStepH]},
                      {positions(f.columns, b.tile_w, Quantity::kInWidth, c[kBeyondW] - c[kFirstW]), c[kStepW]},
                      {{.constant = c[kNTiles]}, 1}},
             .most_tiles = c[kLoops] != 0 ? f.target.multiprocessors * b.blocks_per_sm : 0,
             .bounds = staged_bounds(f.layer, b.tile_h, b.tile_w)},
            std::move(maps),
            c[kAlignment]};
  }
};

}  // namespace planners::overlap_gemm

CONVTGEN_TEMPLATE(OverlapGemm, overlap_gemm);

}  // namespace convtgen
