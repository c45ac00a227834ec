#include "generator/planner/forward/gemm_cost.h"

#include <algorithm>

#include "generator/planner/search/integers.h"
#include "generator/planner/search/roofline.h"

namespace convtgen::gemm {
namespace {

/// The share of the tiles that have rows or columns outside the image, where rows come by bulk copies.
double padded_share(const Facts& f, const Block& b, Constants& of_block) {
  const Shape& shape = f.shape;
  const auto within = [](std::int64_t extent, std::int64_t tile, bool has_halo) {
    const double count = number(ceil_div(extent, tile));
    return has_halo ? std::max(0.0, count - 2) / count : extent % tile != 0 ? (count - 1) / count : 1.0;
  };
  if (of_block[kFlat] != 0) {
    return 1 - within(shape.in[kHeight] * shape.in[kWidth], b.tile_w, false);
  }
  const std::int64_t width = b.tile_w * f.columns.input_stride;
  return 1 - within(shape.in[kHeight], b.tile_h * f.rows.input_stride, of_block[kOffsetsH] > 1) *
                 (of_block[kSkewed] != 0 ? 1.0 : within(shape.in[kWidth], width, of_block[kStagedColumns] > width));
}

/// Sectors of 32 bytes that rows of `elements` adjacent ones touch, over those that they would fill.
double row_waste(const Facts& f, std::int64_t elements, std::int64_t extent) {
  const auto bytes = static_cast<double>(elements * f.bytes);
  const bool aligned = extent * f.bytes % 32 == 0 && elements * f.bytes % 32 == 0;
  return (static_cast<double>(ceil_div(elements * f.bytes, 32) * 32) + (aligned ? 0.0 : 32.0)) / bytes;
}

}  // namespace

double product_cycles(const Facts& f, std::int64_t n, bool alone) {
  if (!alone) {
    return convtgen::product_cycles(f.target, n);
  }
  const double busy = number(n) / f.target.sm.tensor_columns_per_cycle;
  return std::max(f.factors.gemm_alone_least, busy + f.factors.gemm_alone_more);
}

double bulk_row_cycles(const Facts& f, const Block& b, Constants& of_block, double stages) {
  const double padded = padded_share(f, b, of_block) * std::min(1.0, number(b.stages) / stages);
  return f.factors.gemm_producer *
             (f.factors.gemm_row_stage + f.factors.gemm_row_tile / stages + padded * f.factors.gemm_row_zeros) +
         number(row_copies(b, of_block)) * 32 / number(of_block[kProducers]) *
             (of_block[kByWarps] != 0 ? f.factors.gemm_warp_copy : f.factors.gemm_lane_copy);
}

double memory_bytes(const Facts& f, const Block& b, Constants& of_block, double stores) {
  const Shape& shape = f.shape;
  const std::int64_t in_row = of_block[kFlat] != 0 ? shape.in[kHeight] * shape.in[kWidth] : shape.in[kWidth];
  // A sector is written as often as there are stores with a part of it: parts of a thread's outputs with others between
  // them, and the ends of what a warp stores where rows begin anywhere.
  const std::int64_t together = std::min(b.tile_w, 8 * b.thread_positions) * f.columns.stride;
  const double read_waste =
      f.channels_last ? 1.0 : row_waste(f, std::min(b.tile_w * f.columns.input_stride, in_row), in_row);
  const double write_waste =
      f.channels_last ? 1.0 : row_waste(f, std::min(together, shape.out[kWidth]), shape.out[kWidth]);
  const double moved =
      number(f.problem.layer.groups) *
      (static_cast<double>(shape.input_elements) * read_waste + static_cast<double>(shape.weight_elements) +
       static_cast<double>(shape.output_elements) * std::max(write_waste, stores));
  return moved * static_cast<double>(f.bytes);
}

double thread_stores(const Facts& f, const Block& b) {
  const std::int64_t outputs = std::min(b.thread_positions * f.columns.stride, 32 / f.bytes);
  return f.channels_last ? 1 : number(std::max<std::int64_t>(1, outputs / b.store));
}

}  // namespace convtgen::gemm
