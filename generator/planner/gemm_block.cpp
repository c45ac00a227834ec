#include "generator/planner/gemm_block.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/planner/layer_parameters.h"
#include "generator/planner/tensor_cores.h"

namespace convtgen::gemm {
namespace {

// Groups of fewer channels make too little of a product.
constexpr std::int64_t kLeastGroupIn = 16;
constexpr std::int64_t kLeastGroupOut = 8;

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
  Parameters p = product_parameters(group_of(layer));
  p.insert({{"groups", layer.groups},
            {"input_stride_h", layer.axes[kHeight].input_stride},
            {"input_stride_w", layer.axes[kWidth].input_stride}});
  return p;
}

Facts facts_of(const Problem& problem, const InputSizes& sizes) {
  const Layer& layer = problem.layer;
  const Layer group = group_of(layer);
  const std::int64_t bytes = bytes_of(layer.dtype);
  return {.layer = group,
          .shape = shape_of(group, sizes).value_or(Shape{}),
          .groups = layer.groups,
          .target = problem.target,
          .rows = symmetric(layer.axes[kHeight]),
          .columns = symmetric(layer.axes[kWidth]),
          .bytes = bytes,
          .vector = 16 / bytes,
          .channels_last = layer.layout == Layout::kNhwc};
}

Result<void> check(const Problem& problem, std::span<const Compute> computes) {
  if (auto checked = check_tensor_cores(problem, kWarpgroups, computes); !checked) {
    return checked;
  }
  const Layer& layer = problem.layer;
  const std::int64_t group_in = layer.in_channels / layer.groups, group_out = layer.out_channels / layer.groups;
  if (layer.groups > 1 && group_in < kLeastGroupIn) {
    return fail(fmt::format("groups of {} input channels; tensor cores want {}", group_in, kLeastGroupIn));
  }
  if (layer.groups > 1 && group_out < kLeastGroupOut) {
    return fail(fmt::format("groups of {} output channels; tensor cores want {}", group_out, kLeastGroupOut));
  }
  return {};
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
  const Size extent = f.channels_last ? Size(f.layer.in_channels) : f.columns.extent;
  for (std::int64_t bytes = 16; bytes >= 4; bytes /= 2) {
    if (extent ? *extent * f.bytes % bytes == 0 : f.bytes == 4 && bytes == 4) {
      return bytes;
    }
  }
  return std::nullopt;
}

void choose_store(const Facts& f, Block& b, std::int64_t channels, std::int64_t outputs) {
  b.store = f.vector;
  if (f.channels_last) {
    while (b.store > 1 && (channels % (4 * b.store) != 0 || f.layer.out_channels % b.store != 0)) {
      b.store /= 2;
    }
    b.adjacent_channels = b.store;
    return;
  }
  b.adjacent_channels = 2;
  // An open width allows no store of more than one element.
  const std::int64_t out = f.columns.extent ? output_extent(f.columns, *f.columns.extent) : 1;
  while (b.store > 1 && (outputs % b.store != 0 || out % b.store != 0)) {
    b.store /= 2;
  }
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

void give_layout(Plan& plan, const Facts& f, const Block& b, Constants& of_block) {
  plan.threads = static_cast<int>(of_block[kThreads]);
  plan.shared_bytes = of_block[kSharedBytes];
  plan.packed_bytes = of_block[kPackedBytes];
  plan.packed_rows = of_block[kPackedRows];
  plan.alignment = of_block[kAlignment];
  plan.summary = fmt::format("a block makes {}{}x{} outputs of {} channels; {} taps; {:.1f} KiB shared",
                             b.tile_n > 1 ? fmt::format("{}x", b.tile_n) : "", b.tile_h * b.phase_rows,
                             b.tile_w * f.columns.stride, std::min(b.block_n, f.layer.out_channels), tap_count(f.layer),
                             static_cast<double>(plan.shared_bytes) / 1024.0);
}

std::string products_text(Constants& of_block) {
  return fmt::format("64x{}x{}, {} a warpgroup", of_block[kInstructionN], of_block[kInstructionK],
                     of_block[kMTiles] * of_block[kPhases] / of_block[kFusedPhases]);
}

TileGrid grid_of(const Problem& problem, const Plan& plan, const ConstantProgram& program) {
  const Layer& layer = problem.layer;
  constexpr std::array<std::string_view, 2> kNames = {"kNTiles", "kFlat"};
  const std::vector<std::int64_t> values = constants_of(program, plan.parameters, kNames).value();
  const std::int64_t blocks = values[0];
  // Of an image that is one row of positions, a tile has several rows, or about a part of one.
  const std::int64_t tile_w = integer_of(plan, "tile_w");
  const std::int64_t rows =
      values[1] != 0 ? std::max<std::int64_t>(1, tile_w / *layer.axes[kWidth].extent) : integer_of(plan, "tile_h");
  // Input positions of a tile, with the halo, to which no image need extend.
  const auto beyond = [&](std::size_t axis, std::int64_t tile) {
    const Axis& a = layer.axes[axis];
    return a.input_stride == 1 ? 0 : tile * a.input_stride + 2 * a.dilation * (a.kernel - 1);
  };
  return {.stride_h = layer.axes[kHeight].stride,
          .stride_w = layer.axes[kWidth].stride,
          .beyond_rows = beyond(kHeight, rows),
          .beyond_columns = beyond(kWidth, tile_w),
          .tile_rows = layer.axes[kHeight].stride * rows,
          .tile_columns = layer.axes[kWidth].stride * tile_w,
          .tile_images = integer_of(plan, "tile_n"),
          .blocks_per_tile = blocks,
          .most_tiles = std::max<std::int64_t>(1, problem.target.multiprocessors / blocks)};
}

}  // namespace convtgen::gemm
