#include "generator/planner/gemm_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "generator/planner/layer_parameters.h"
#include "generator/planner/tensor_cores.h"

namespace convtgen::gemm {
namespace {

// Groups of fewer channels make too little of a product.
constexpr std::int64_t kLeastGroupIn = 16;
constexpr std::int64_t kLeastGroupOut = 8;

}  // namespace

void add_parameters(Parameters& parameters, const Block& b) {
  parameters.insert({
      {"tile_n", b.tile_n},
      {"tile_h", b.tile_h},
      {"tile_w", b.tile_w},
      {"thread_positions", b.thread_positions},
      {"block_n", b.block_n},
      {"adjacent_channels", b.adjacent_channels},
      {"store", b.store},
      {"phase_rows", b.phase_rows},
      {"block_k", b.block_k},
      {"stages", b.stages},
      {"copy_bytes", b.copy_bytes},
      {"bulk", b.bulk},
      {"resident", b.resident},
  });
}

void read_parameters(const Plan& plan, Block& b) {
  b = {.tile_n = integer_of(plan, "tile_n"),
       .tile_h = integer_of(plan, "tile_h"),
       .tile_w = integer_of(plan, "tile_w"),
       .thread_positions = integer_of(plan, "thread_positions"),
       .block_n = integer_of(plan, "block_n"),
       .adjacent_channels = integer_of(plan, "adjacent_channels"),
       .store = integer_of(plan, "store"),
       .phase_rows = integer_of(plan, "phase_rows"),
       .block_k = integer_of(plan, "block_k"),
       .stages = integer_of(plan, "stages"),
       .copy_bytes = integer_of(plan, "copy_bytes"),
       .bulk = flag_of(plan, "bulk"),
       .resident = flag_of(plan, "resident")};
}

Facts facts_of(const Problem& problem, const InputSizes& sizes, std::int64_t instruction_k) {
  const Layer& layer = problem.layer;
  const std::int64_t bytes = bytes_of(layer.dtype);
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
          .instruction_k = instruction_k,
          .vector = 16 / bytes,
          .channels_last = layer.layout == Layout::kNhwc};
}

Result<void> check_groups(const Layer& layer) {
  const std::int64_t group_in = layer.in_channels / layer.groups, group_out = layer.out_channels / layer.groups;
  if (layer.groups > 1 && group_in < kLeastGroupIn) {
    return fail(fmt::format("groups of {} input channels; tensor cores want {}", group_in, kLeastGroupIn));
  }
  if (layer.groups > 1 && group_out < kLeastGroupOut) {
    return fail(fmt::format("groups of {} output channels; tensor cores want {}", group_out, kLeastGroupOut));
  }
  return {};
}

std::int64_t fused_phases(const Layer& layer) {
  const Axis& axis = layer.axes[kWidth];
  const bool alike = axis.kernel % axis.stride == 0 && axis.dilation == 1;
  return alike ? std::gcd(axis.stride, axis.padding.before % axis.stride) : 1;
}

bool can_split_phase_rows(const Layer& layer) {
  const Axis& rows = layer.axes[kHeight];
  return rows.kernel % rows.stride == 0 && rows.dilation == 1;
}

std::set<std::int64_t> phase_row_counts(const Facts& f) {
  return {f.rows.stride, can_split_phase_rows(f.layer) ? 1 : f.rows.stride};
}

std::int64_t n_tiles(const Facts& f, const Block& b) {
  return f.groups * ceil_div(f.layer.out_channels, b.block_n) * (f.rows.stride / b.phase_rows);
}

std::int64_t k_blocks(const Facts& f, const Block& b) {
  return ceil_div(f.layer.in_channels, b.block_k);
}

std::int64_t fragment_positions(const Facts& f, const Block& b) {
  return b.thread_positions - 1 + greatest_offset(f.columns) - least_offset(f.columns);
}

std::int64_t accumulators(const Facts& f, const Block& b) {
  return b.phase_rows * f.columns.stride * (b.thread_positions / 2) * b.block_n / 2;
}

std::int64_t accumulator_bytes(const Facts& f, const Block& b) {
  return accumulators(f, b) * 4 * kConsumers;
}

std::int64_t products(const Facts& f, const Block& b) {
  return tap_count(f.layer) / fused_phases(f.layer) * b.phase_rows / f.rows.stride * (b.block_k / f.instruction_k) *
         (b.thread_positions / 2);
}

bool can_be_one_row(const Facts& f, const Block& b) {
  const auto covers = [](const Axis& axis) {
    return least_offset(axis) == 0 && greatest_offset(axis) == 0 &&
           axis.dilation * (axis.kernel - 1) + axis.output_padding + 1 == axis.stride;
  };
  constexpr std::int64_t kMostPositions = 0x3fffffff;
  const Size& height = f.rows.extent;
  const Size& width = f.columns.extent;
  return b.bulk && !f.channels_last && b.tile_h == 1 && height && *height > 1 && width &&
         *width % b.thread_positions == 0 && *height <= kMostPositions / *width &&
         *height * *width * f.bytes % 16 == 0 && covers(f.rows) && covers(f.columns);
}

std::int64_t tiles(const Facts& f, const Block& b, bool flat) {
  const Shape shape = shape_of(f.layer, f.sizes).value_or(Shape{});
  const std::int64_t of_image = flat ? ceil_div(shape.in[kHeight] * shape.in[kWidth], b.tile_w)
                                     : ceil_div(shape.out[kHeight], f.rows.stride * b.tile_h) *
                                           ceil_div(shape.out[kWidth], f.columns.stride * b.tile_w);
  return ceil_div(shape.batch, b.tile_n) * of_image;
}

Staging staged_halo(const Facts& f, const Block& b, std::int64_t vector, std::int64_t align,
                    std::int64_t columns_align) {
  const std::int64_t groups = f.rows.stride / b.phase_rows;
  const std::int64_t first = round_down(least_offset(f.columns), align);
  const std::int64_t start = f.channels_last ? first : first + round_down(least_offset(f.columns) - first, vector);
  Staging out;
  out.vector = vector;
  out.offsets_h = groups == 1 ? greatest_offset(f.rows) - least_offset(f.rows) + 1 : f.rows.kernel / groups;
  out.image_rows = b.tile_h + out.offsets_h - 1;
  out.columns = round_up(b.tile_w + greatest_offset(f.columns) - first, columns_align);
  out.loaded_columns = round_up(b.thread_positions + greatest_offset(f.columns) - start, vector);
  return out;
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

bool copies_by_warps(const Block& b, const Staging& staging, bool skewed) {
  return b.tile_n == 1 && (staging.image_rows == 1 || (!skewed && staging.image_rows <= 16));
}

std::unexpected<Error> fail_phases(const Layer& layer, std::int64_t phases, std::int64_t most) {
  return fail(fmt::format("stride {}: a block accumulates {} phases at once; at most {}",
                          axes_text(layer, &Axis::stride), phases, most));
}

std::unexpected<Error> fail_products(const Layer& layer, std::int64_t count) {
  return fail(fmt::format("kernel {} takes {} products, each written out; at most {}", axes_text(layer, &Axis::kernel),
                          count, kMostProducts));
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

std::string summary_of(const Facts& f, const Block& b, std::int64_t shared_bytes) {
  return fmt::format("a block makes {}{}x{} outputs of {} channels; {} taps; {:.1f} KiB shared",
                     b.tile_n > 1 ? fmt::format("{}x", b.tile_n) : "", b.tile_h * b.phase_rows,
                     b.tile_w * f.columns.stride, std::min(b.block_n, f.layer.out_channels), tap_count(f.layer),
                     static_cast<double>(shared_bytes) / 1024.0);
}

std::string products_text(const Facts& f, const Block& b) {
  const std::int64_t fused = fused_phases(f.layer);
  return fmt::format("64x{}x{}, {} a warpgroup", fused * b.block_n, f.instruction_k,
                     b.thread_positions / 2 * b.phase_rows * f.columns.stride / fused);
}

TileGrid grid_of(const Problem& problem, const Block& b, bool flat) {
  const Layer& layer = problem.layer;
  const std::int64_t blocks = layer.groups * ceil_div(layer.out_channels / layer.groups, b.block_n) *
                              (layer.axes[kHeight].stride / b.phase_rows);
  // Of an image that is one row of positions, a tile has several rows, or about a part of one.
  const std::int64_t rows = flat ? std::max<std::int64_t>(1, b.tile_w / *layer.axes[kWidth].extent) : b.tile_h;
  return {.stride_h = layer.axes[kHeight].stride,
          .stride_w = layer.axes[kWidth].stride,
          .tile_rows = layer.axes[kHeight].stride * rows,
          .tile_columns = layer.axes[kWidth].stride * b.tile_w,
          .tile_images = b.tile_n,
          .blocks_per_tile = blocks,
          .most_tiles = std::max<std::int64_t>(1, problem.target.multiprocessors / blocks)};
}

}  // namespace convtgen::gemm
