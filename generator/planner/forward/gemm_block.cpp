#include "generator/planner/forward/gemm_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "generator/planner/plan/layer_parameters.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"

namespace convtgen::gemm {
namespace {

// Groups of fewer channels make too little of a product.

/// One group of a layer, as if it were all.
Layer group_of(const Layer& layer) {
  Layer group = layer;
  group.groups = 1;
  group.in_channels /= layer.groups;
  group.out_channels /= layer.groups;
  return group;
}

}  // namespace

Parameters group_parameters(const Layer& layer) {
  return with(product_parameters(group_of(layer)), {{"groups", layer.groups},
                                                    {"input_stride_h", layer.axes[kHeight].input_stride},
                                                    {"input_stride_w", layer.axes[kWidth].input_stride}});
}

Facts::Facts(FactsOf facts) : FactsOf(std::move(facts)), instruction_k(of({})[kInstructionK]) {
  layer = group_of(problem.layer);
  shape = shape_of(layer, sizes).value_or(Shape{});
}

bool has_input_strides(const Facts& f) {
  return f.rows.input_stride > 1 || f.columns.input_stride > 1;
}

std::set<std::int64_t> phase_row_counts(const Facts& f) {
  // Rows of phases can go to different blocks where each has as many rows of taps.
  const bool can_split = f.rows.kernel % f.rows.stride == 0 && f.rows.dilation == 1;
  return {f.rows.stride, can_split ? 1 : f.rows.stride};
}

std::int64_t fragment_positions(const Block& b, Constants& of_block) {
  return b.thread_positions - 1 + of_block[kMostOffsetW] - of_block[kLeastOffsetW];
}

std::int64_t accumulators(const Block& b, Constants& of_block) {
  return of_block[kPhases] * of_block[kMTiles] * b.block_n / 2;
}

std::int64_t products(Constants& of_block) {
  return of_block[kProducts] * of_block[kKSteps] * of_block[kMTiles];
}

std::int64_t row_copies(const Block& b, Constants& of_block) {
  return b.block_k * b.tile_n * of_block[kStagedRows];
}

std::int64_t tiles(const Facts& f, const Block& b, Constants& of_block) {
  const Shape& shape = f.shape;
  const std::int64_t of_image = of_block[kFlat] != 0 ? ceil_div(shape.in[kHeight] * shape.in[kWidth], b.tile_w)
                                                     : ceil_div(shape.out[kHeight], f.rows.stride * b.tile_h) *
                                                           ceil_div(shape.out[kWidth], f.columns.stride * b.tile_w);
  return ceil_div(shape.batch, b.tile_n) * of_image;
}

std::set<std::int64_t> block_n_sizes(const Facts& f, const Block& b, std::int64_t most_accumulators) {
  std::set<std::int64_t> sizes;
  const std::int64_t all = most_accumulators / (b.phase_rows * f.columns.stride * (b.thread_positions / 2)) / 8 * 8;
  for (std::int64_t most = all; most >= 8 && most >= all / 4; most = most / 2 / 8 * 8) {
    const std::int64_t out = f.layer.out_channels;
    std::int64_t size = round_up(ceil_div(out, ceil_div(out, most)), 8);
    if (f.channels_last && size > 16) {
      size = std::max<std::int64_t>(8, std::min(round_up(size, 4 * f.vector), round_down(most, 4 * f.vector)));
    }
    sizes.insert(size);
  }
  return sizes;
}

std::optional<std::int64_t> widest_copy(const Facts& f) {
  const Size extent = f.channels_last ? Size(f.adjacent_in) : f.columns.extent;
  for (std::int64_t bytes = 16; bytes >= 4; bytes /= 2) {
    if (extent ? *extent * f.bytes % bytes == 0 : f.bytes == 4 && bytes == 4) {
      return bytes;
    }
  }
  return std::nullopt;
}

void choose_store(const Facts& f, Block& b, std::int64_t channels, std::int64_t outputs) {
  if (f.channels_last) {
    b.store = b.adjacent_channels = halved_until(
        f.vector, [&](std::int64_t store) { return channels % (4 * store) == 0 && f.adjacent_out % store == 0; });
    return;
  }
  b.adjacent_channels = 2;
  // An open width allows no store of more than one element.
  const std::int64_t out = f.columns.extent ? output_extent(f.columns, *f.columns.extent) : 1;
  b.store = halved_until(f.vector, [&](std::int64_t store) { return outputs % store == 0 && out % store == 0; });
}

bool choose_stages(const Facts& f, Block& b, bool may_be_resident) {
  const auto fits = [&](std::int64_t stages) {
    b.stages = stages;
    return f.of(b)[kSharedBytes] <= f.target.max_shared_bytes;
  };
  for (const bool resident : {true, false}) {
    b.resident = resident;
    if ((resident && !may_be_resident) || !fits(2)) {  // most tiles that are tried are too large
      continue;
    }
    for (const std::int64_t stages : {6, 5, 4, 3}) {
      if (fits(stages)) {
        return true;
      }
    }
    return fits(2);
  }
  return false;
}

std::int64_t least_shared_bytes(const Facts& f, Block b, std::int64_t positions) {
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
  b.stages = 2;
  for (b.tile_w = f.channels_last ? b.thread_positions : std::max(b.thread_positions, b.copy_bytes / f.bytes);
       b.tile_w <= positions; b.tile_w *= 2) {
    b.tile_h = positions / b.tile_w;
    bytes = std::min(bytes, f.of(b)[kSharedBytes]);
  }
  return bytes;
}

std::unexpected<Error> fail_phases(const Layer& layer, std::int64_t phases, std::int64_t most) {
  return fail(fmt::format("stride {}: a block accumulates {} phases at once; at most {}",
                          axes_text(layer, &Axis::stride), phases, most));
}

std::unexpected<Error> fail_products(const Layer& layer, std::int64_t count, std::int64_t most) {
  return fail(fmt::format("kernel {} takes {} products, each written out; at most {}", axes_text(layer, &Axis::kernel),
                          count, most));
}

std::unexpected<Error> fail_registers(const Facts& f, std::int64_t wanted, std::int64_t most) {
  return fail(
      fmt::format("dilation * (kernel - 1) is {} in width: a row of taps and its accumulators take {} "
                  "registers of a thread; at most {}",
                  f.columns.dilation * (f.columns.kernel - 1), wanted, most));
}

std::unexpected<Error> fail_stages(const Facts& f, std::int64_t bytes) {
  return fail_shared_memory(f.target,
                            fmt::format("kernel {}, dilation {}: two stages of input with its halo and weights",
                                        axes_text(f.layer, &Axis::kernel), axes_text(f.layer, &Axis::dilation)),
                            bytes);
}

std::string summary_of(const Facts& f, const Block& b) {
  return fmt::format("a block makes {}{}x{} outputs of {} channels; {} taps",
                     b.tile_n > 1 ? fmt::format("{}x", b.tile_n) : "", b.tile_h * b.phase_rows,
                     b.tile_w * f.columns.stride, std::min(b.block_n, f.layer.out_channels), tap_count(f.layer));
}

std::string products_text(Constants& of_block) {
  return fmt::format("64x{}x{}, {} a warpgroup", of_block[kInstructionN], of_block[kInstructionK],
                     of_block[kMTiles] * of_block[kPhases] / of_block[kFusedPhases]);
}

TileGrid grid_of(const Facts& f, const Block& b, Constants& of_block) {
  const std::int64_t blocks = of_block[kNTiles];
  // Of an image that is one row of positions, a tile has several rows, or about a part of one.
  const std::int64_t rows = of_block[kFlat] != 0 ? std::max<std::int64_t>(1, b.tile_w / *f.columns.extent) : b.tile_h;
  // Input positions of a tile, with the halo, to which no image need extend.
  const auto beyond = [](const Axis& a, std::int64_t tile) {
    return a.input_stride == 1 ? 0 : tile * a.input_stride + 2 * a.dilation * (a.kernel - 1);
  };
  return {.stride_h = f.rows.stride,
          .stride_w = f.columns.stride,
          .beyond_rows = beyond(f.rows, rows),
          .beyond_columns = beyond(f.columns, b.tile_w),
          .tile_rows = f.rows.stride * rows,
          .tile_columns = f.columns.stride * b.tile_w,
          .tile_images = b.tile_n,
          .blocks_per_tile = blocks,
          .most_tiles = std::max<std::int64_t>(1, f.target.multiprocessors / blocks)};
}

}  // namespace convtgen::gemm
