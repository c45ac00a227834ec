#include "generator/planner/gemm_cost.h"

#include <algorithm>

namespace convtgen::gemm {
namespace {

// Cycles for a bulk copy where lanes issue one after the other, and where one lane issues all; and instructions of a
// producer warp for a stage, for a tile, and to write the zeros of a stage.
constexpr double kLaneCopyCycles = 75;
constexpr double kWarpCopyCycles = 30;
constexpr double kStageInstructions = 35;
constexpr double kTileInstructions = 120;
constexpr double kZeroPadInstructions = 80;
constexpr double kLaunchSeconds = 3e-6;  // and the first loads
constexpr double kPackBytesPerSecond = 1e12;

/// The share of the tiles that have rows or columns outside the image, where rows come by bulk copies.
double padded_share(const Facts& f, const Block& b, const Staging& staging, bool flat, bool skewed) {
  const Shape shape = shape_of(f.layer, f.sizes).value_or(Shape{});
  const auto within = [](std::int64_t extent, std::int64_t tile, bool has_halo) {
    const double count = number(ceil_div(extent, tile));
    return has_halo ? std::max(0.0, count - 2) / count : extent % tile != 0 ? (count - 1) / count : 1.0;
  };
  if (flat) {
    return 1 - within(shape.in[kHeight] * shape.in[kWidth], b.tile_w, false);
  }
  return 1 - within(shape.in[kHeight], b.tile_h, staging.offsets_h > 1) *
                 (skewed ? 1.0 : within(shape.in[kWidth], b.tile_w, staging.columns > b.tile_w));
}

/// Sectors of 32 bytes that rows of `elements` adjacent ones touch, over those that they would fill.
double row_waste(const Facts& f, std::int64_t elements, std::int64_t extent) {
  const auto bytes = static_cast<double>(elements * f.bytes);
  const bool aligned = extent * f.bytes % 32 == 0 && elements * f.bytes % 32 == 0;
  return (static_cast<double>(ceil_div(elements * f.bytes, 32) * 32) + (aligned ? 0.0 : 32.0)) / bytes;
}

}  // namespace

double product_cycles(std::int64_t n, bool alone) {
  return alone ? std::max(24.0, number(n) / 2 + 5) : std::max(17.0, number(n) / 2 + (n < 64 ? 2.0 : 0.5));
}

double bulk_row_cycles(const Facts& f, const Block& b, const Staging& staging, bool flat, bool skewed,
                       std::int64_t producers, double stages) {
  const double padded = padded_share(f, b, staging, flat, skewed) * std::min(1.0, number(b.stages) / stages);
  return kProducerCycles * (kStageInstructions + kTileInstructions / stages + padded * kZeroPadInstructions) +
         number(staging.copies) * 32 / number(producers) *
             (copies_by_warps(b, staging, skewed) ? kWarpCopyCycles : kLaneCopyCycles);
}

std::int64_t waves(const Facts& f, const Block& b, bool flat) {
  const std::int64_t blocks = n_tiles(f, b);  // of a tile
  const std::int64_t sms = f.target.multiprocessors;
  const std::int64_t count = tiles(f, b, flat);
  const std::int64_t at_once = std::max<std::int64_t>(1, std::min(count, sms / blocks));
  return ceil_div(count, at_once) * ceil_div(blocks * at_once, sms);
}

double memory_seconds(const Facts& f, const Block& b, bool flat, double stores) {
  const Shape shape = shape_of(f.layer, f.sizes).value_or(Shape{});
  const std::int64_t in_row = flat ? shape.in[kHeight] * shape.in[kWidth] : shape.in[kWidth];
  // A sector is written as often as there are stores with a part of it: parts of a thread's outputs with others between
  // them, and the ends of what a warp stores where rows begin anywhere.
  const std::int64_t together = std::min(b.tile_w, 8 * b.thread_positions) * f.columns.stride;
  const double read_waste = f.channels_last ? 1.0 : row_waste(f, std::min(b.tile_w, in_row), in_row);
  const double write_waste =
      f.channels_last ? 1.0 : row_waste(f, std::min(together, shape.out[kWidth]), shape.out[kWidth]);
  const double moved = number(f.groups) * (static_cast<double>(shape.input_elements) * read_waste +
                                           static_cast<double>(shape.weight_elements) +
                                           static_cast<double>(shape.output_elements) * std::max(write_waste, stores));
  return moved * static_cast<double>(f.bytes) / f.target.bytes_per_second;
}

double thread_stores(const Facts& f, const Block& b) {
  const std::int64_t outputs = std::min(b.thread_positions * f.columns.stride, 32 / f.bytes);
  return f.channels_last ? 1 : number(std::max<std::int64_t>(1, outputs / b.store));
}

double call_seconds(double cycles, double memory, std::int64_t packed_bytes, double measured) {
  // What is limited by both is slower than either limit.
  const double seconds = cycles / kClock;
  const double both = std::max(seconds, memory) + 0.2 * std::min(seconds, memory);
  return kLaunchSeconds + static_cast<double>(packed_bytes) / kPackBytesPerSecond + both * measured;
}

}  // namespace convtgen::gemm
