// How long a block's work takes, in cycles of an SM of an H200. The rates are measured ones (docs/kernel-notes.md).
#include <algorithm>

#include "generator/planner/forward/gemm_cost.h"
#include "generator/planner/forward/shift_gemm_block.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/roofline.h"

namespace convtgen::shift_gemm {
namespace {

using gemm::number;

/// Whether rows of 32-bit elements have an odd width.
bool is_odd(const Facts& f) {
  return !f.channels_last && f.bytes == 4 && f.columns.extent && *f.columns.extent % 2 != 0;
}

/// How many threads need the same bank when a warp loads a word of each thread. With an input stride, threads read that
/// many times their positions apart. Skewed rows of adjacent channels lie apart by what a plane exceeds whole 16-byte
/// vectors by.
double bank_conflicts(const Facts& f, const Block& b) {
  if (f.channels_last) {
    return b.bulk ? 1 : 2;
  }
  if (f.columns.input_stride > 1) {
    const std::int64_t vectors = b.thread_positions * f.columns.input_stride / f.of(b)[gemm::kLoadVector];
    return number(std::max<std::int64_t>(1, vectors & -vectors));
  }
  if (f.of(b)[gemm::kSkewed] == 0) {
    return 1;
  }
  const bool is_known = f.columns.extent && f.rows.extent;
  const std::int64_t plane = is_known ? *f.columns.extent * *f.rows.extent : 2;
  return plane % 2 != 0 ? 1 : plane % 4 != 0 ? 2 : 4;
}

/// Of the reduction over the blocks of a cluster, and of a pipeline that fills for one tile.
double cluster_cycles(const Facts& f, const Block& b) {
  return b.cluster == 1 ? 0 : reduction_cycles(f.target, f.of(b)[kReceivedBytes], b.cluster);
}

/// SMs on which clusters of so many blocks find places: the SMs of a GPC, 16 or 18, are no multiple of the larger ones.
std::int64_t usable(const Facts& f, const Block& b) {
  const std::int64_t sms = f.target.multiprocessors;
  return b.cluster <= 2 ? sms : b.cluster == 4 ? sms * 30 / 33 : sms * 10 / 11;
}

/// Cycles of one tile whose stages keep coming.
double tile_cycles(const Facts& f, const Block& b) {
  Constants& of_block = f.of(b);
  const auto of = [&](std::size_t constant) { return number(of_block[constant]); };
  const double steps = of(gemm::kKSteps);
  const double stages = of(gemm::kKBlocks) / number(b.cluster);
  const double warps = of(kTileWarps);
  const double products = of(gemm::kProducts) * steps * (8 * warps * number(b.thread_positions)) / 64;
  const double tensor = products * gemm::product_cycles(f, of_block[gemm::kInstructionN], b.ping_pong);
  const double input = of(gemm::kInputBytes);
  const double offsets = of(gemm::kOffsetsH);
  const double producer_threads = of(gemm::kProducers);

  // Instructions of a scheduler: two warps of consumers and one of producers.
  const double words = of(kLoads) * of(gemm::kLoadVector);
  const double copied = f.columns.input_stride > 1 ? of(gemm::kMTiles) * number(f.columns.kernel)
                                                   : number(gemm::fragment_positions(b, of_block));  // to fragments
  const double read = 2 * of(kLoads) + 4 * words + 4 * copied + 8;
  const double copies = b.bulk ? 0.0 : number(of_block[gemm::kInputBytes] / b.copy_bytes) / producer_threads;
  const double issue = warps / 4 * steps * offsets * read + products * 4 + copies * 6 * producer_threads / 128;

  // Shared memory gives or takes 128 bytes a cycle, but 16 of an asynchronous copy: weights, words, and what arrives.
  const double outputs = number(b.phase_rows * f.columns.stride * b.thread_positions * b.block_n) / 4;  // of a thread
  const double loads = warps * steps * offsets * 2 * words * bank_conflicts(f, b);
  const double arriving = input / (b.bulk ? f.target.sm.shared_bytes_per_cycle
                                          : std::min(f.target.sm.copied_bytes_per_cycle,
                                                     number(b.copy_bytes) / f.factors.shift_small_copy));
  const double shared = products * of(gemm::kInstructionN) / 4 + loads + arriving;

  const double weights = b.resident ? 0 : of(gemm::kKBlockWeightBytes);
  const double producers = !b.bulk           ? 0
                           : f.channels_last ? of(kPixelCopies) * f.factors.shift_bulk_pixel
                                             : gemm::bulk_row_cycles(f, b, of_block, stages);
  // The copies of an empty stage are issued and arrive before its products begin.
  const double consumers = std::max({tensor, issue, shared});
  const double arrives = input / (is_odd(f) ? f.factors.shift_odd_l2 : f.target.sm.l2_bytes_per_cycle) +
                         weights / f.factors.shift_weights_l2;
  const double round = consumers + f.factors.gemm_latency + arrives + producers;
  const double in_rounds = (is_odd(f) ? f.factors.shift_odd_round : f.factors.shift_round) * round / number(b.stages);
  const double multiplied =
      stages * (std::max({consumers, producers, arrives, in_rounds}) + (is_odd(f) ? 0 : f.factors.gemm_k_block));
  const double stored =
      2 * outputs * (b.staged_epilogue ? f.factors.shift_staged_epilogue : f.factors.gemm_epilogue) / number(b.cluster);
  return b.ping_pong ? std::max(multiplied, (multiplied + stored) / 2) : multiplied + stored + cluster_cycles(f, b);
}

/// Seconds in which outputs are written where a block makes one sector of a pixel, or less, or where a warp's
/// instruction stores a piece of one.
double narrow_seconds(const Facts& f, const Block& b) {
  if (!f.channels_last || b.staged_epilogue) {
    return 0;
  }
  const double outputs = number(f.problem.layer.groups * f.shape.output_elements);
  const std::int64_t pixel_bytes = b.block_n * f.bytes;
  // Four lanes have adjacent channels of a pixel.
  const double pieces =
      piece_seconds(f.target, outputs * number(f.bytes), std::min(4 * b.store, f.layer.out_channels) * f.bytes);
  const bool is_whole_pixel = f.problem.layer.groups == 1 && b.block_n >= f.layer.out_channels;
  if (is_whole_pixel || pixel_bytes > 32) {
    return pieces;
  }
  const double rate = pixel_bytes == 32 ? f.factors.shift_sectors : f.factors.shift_part_sectors;
  return std::max(pieces, outputs / number(b.block_n) / (rate * 1e9));
}

}  // namespace

double predicted_seconds(const Facts& f, const Block& b) {
  Constants& of_block = f.of(b);
  const std::int64_t waves =
      b.cluster > 1 ? ceil_div(gemm::tiles(f, b, of_block) * of_block[gemm::kNTiles] * b.cluster, usable(f, b))
                    : waves_of(f.target, gemm::tiles(f, b, of_block), of_block[gemm::kNTiles]);
  const double measured = is_odd(f) ? (b.bulk ? f.factors.shift_odd_rows_measured : f.factors.shift_odd_copies_measured)
                          : f.channels_last
                              ? (b.bulk ? f.factors.shift_bulk_pixels_measured : f.factors.shift_pixels_measured)
                              : f.factors.shift_rows_measured;
  const double stores = b.staged_epilogue ? 1 : gemm::thread_stores(f, b);
  return call_seconds(f, {.packed_bytes = number(of_block[gemm::kPackedBytes]),
                          .waves = number(waves),
                          .wave_cycles = tile_cycles(f, b),
                          .memory_bytes = std::max(gemm::memory_bytes(f, b, of_block, stores),
                                                   narrow_seconds(f, b) * f.target.bytes_per_second),
                          .measured = measured});
}

}  // namespace convtgen::shift_gemm
