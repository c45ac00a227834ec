// How long a block's work takes, in cycles of an SM of an H200. The rates are measured ones (docs/kernel-notes.md).
#include <algorithm>

#include "generator/planner/gemm_cost.h"
#include "generator/planner/shift_gemm_block.h"

namespace convtgen::shift_gemm {
namespace {

using gemm::number;

constexpr double kSmallCopyCycles = 0.5;  // of an asynchronous copy of 4 bytes
constexpr double kBulkPixelCycles = 15;   // of one bulk copy of pixels, however small
// Rows of an odd width, whose words are loaded one by one: bytes from L2, and the share of the latency from load to
// product that earlier stages do not hide. Fitted to 160 plans of the layers of benchmarks/outside.convt. Other widths
// have no term for that latency.
constexpr double kOddL2BytesPerCycle = 36;
constexpr double kOddRound = 0.8;
// Median of measured / predicted: of odd widths by bulk copies, and by asynchronous ones; of other rows; of pixels by
// asynchronous copies, and by bulk copies.
constexpr double kOddRowsMeasured = 1.2;
constexpr double kOddCopiesMeasured = 1.4;
constexpr double kRowsMeasured = 1.25;
constexpr double kPixelsMeasured = 0.85;
constexpr double kBulkPixelsMeasured = 1.0;
constexpr double kClusterSyncCycles = 4000;        // of a cluster whose blocks wait for one another
constexpr double kSentBytesPerCycle = 12;          // to other SMs
constexpr double kStagedEpilogueInstructions = 6;  // for an output, through shared memory

/// Whether rows of 32-bit elements have an odd width.
bool is_odd(const Facts& f) {
  return !f.channels_last && f.bytes == 4 && f.columns.extent && *f.columns.extent % 2 != 0;
}

/// How many threads want the same bank when a warp loads a word of each thread. Skewed rows of adjacent channels lie
/// apart by what a plane exceeds whole 16-byte vectors by.
double bank_conflicts(const Facts& f, const Block& b) {
  if (f.channels_last) {
    return b.bulk ? 1 : 2;
  }
  if (!is_skewed(f, b)) {
    return 1;
  }
  const bool is_known = f.columns.extent && f.rows.extent;
  const std::int64_t plane = is_known ? *f.columns.extent * *f.rows.extent : 2;
  return plane % 2 != 0 ? 1 : plane % 4 != 0 ? 2 : 4;
}

/// Of the reduction over the blocks of a cluster, and of a pipeline that fills for one tile.
double cluster_cycles(const Facts& f, const Block& b) {
  if (b.cluster == 1) {
    return 0;
  }
  const auto bytes = static_cast<double>(gemm::accumulator_bytes(f, b));
  const double sent = bytes * static_cast<double>(b.cluster - 1) / static_cast<double>(b.cluster);
  return kClusterSyncCycles + sent / kSentBytesPerCycle + bytes / 128;
}

/// SMs on which clusters of so many blocks find places: the SMs of a GPC, 16 or 18, are no multiple of the larger ones.
std::int64_t usable(const Facts& f, const Block& b) {
  const std::int64_t sms = f.target.multiprocessors;
  return b.cluster <= 2 ? sms : b.cluster == 4 ? sms * 30 / 33 : sms * 10 / 11;
}

/// Cycles of one tile whose stages keep coming.
double tile_cycles(const Facts& f, const Block& b) {
  const Staging staging = staging_of(f, b);
  const double groups = number(f.rows.stride / b.phase_rows);
  const double steps = number(b.block_k / f.instruction_k);
  const double stages = number(gemm::k_blocks(f, b)) / number(b.cluster);
  const std::int64_t fused = gemm::fused_phases(f.layer);
  const double products = number(tap_count(f.layer) / fused) / groups * steps * number(positions(b)) / 64;
  const double tensor = products * gemm::product_cycles(fused * b.block_n, b.ping_pong);
  const double warps = b.ping_pong ? 4 : 8;  // that make a tile

  // Instructions of a scheduler: two warps of consumers and one of producers.
  const double words = number(staging.loaded_columns);
  const double read = 2 * words / number(staging.vector) + 4 * words + 4 * number(gemm::fragment_positions(f, b)) + 8;
  const double copies = b.bulk ? 0.0 : number(staging.input_bytes / b.copy_bytes) / number(kProducers);
  const double issue =
      warps / 4 * steps * number(staging.offsets_h) * read + products * 4 + copies * 6 * number(kProducers) / 128;

  // Shared memory gives or takes 128 bytes a cycle, but 16 of an asynchronous copy: weights, words, and what arrives.
  const double outputs = number(b.phase_rows * f.columns.stride * b.thread_positions * b.block_n) / 4;  // of a thread
  const double loads = warps * steps * number(staging.offsets_h) * 2 * words * bank_conflicts(f, b);
  const double arriving =
      number(staging.input_bytes) / (b.bulk ? 128.0 : std::min(16.0, number(b.copy_bytes) / kSmallCopyCycles));
  const double shared = products * number(fused * b.block_n) / 4 + loads + arriving;

  const double bytes = number(staging.input_bytes) + (b.resident ? 0 : number(staging.weight_bytes));
  const double producers = b.bulk && !f.channels_last ? gemm::bulk_row_cycles(f, b, staging, is_flat(f, b),
                                                                              is_skewed(f, b), kProducers, stages)
                                                      : number(staging.copies) * kBulkPixelCycles;
  // The copies of an empty stage are issued and arrive before its products begin.
  const double consumers = std::max({tensor, issue, shared});
  const double arrives = bytes / (is_odd(f) ? kOddL2BytesPerCycle : gemm::kL2BytesPerCycle);
  const double round = consumers + gemm::kLatencyCycles + arrives + producers;
  const double in_rounds = (is_odd(f) ? kOddRound : 0) * round / number(b.stages);
  const double multiplied =
      stages * (std::max({consumers, producers, arrives, in_rounds}) + (is_odd(f) ? 0 : gemm::kKBlockCycles));
  const double stored =
      2 * outputs * (b.staged_epilogue ? kStagedEpilogueInstructions : gemm::kEpilogueInstructions) / number(b.cluster);
  return b.ping_pong ? std::max(multiplied, (multiplied + stored) / 2) : multiplied + stored + cluster_cycles(f, b);
}

}  // namespace

double predicted_seconds(const Facts& f, const Block& b) {
  const bool flat = is_flat(f, b);
  const std::int64_t waves = b.cluster > 1
                                 ? ceil_div(gemm::tiles(f, b, flat) * gemm::n_tiles(f, b) * b.cluster, usable(f, b))
                                 : gemm::waves(f, b, flat);
  const double measured = is_odd(f)         ? (b.bulk ? kOddRowsMeasured : kOddCopiesMeasured)
                          : f.channels_last ? (b.bulk ? kBulkPixelsMeasured : kPixelsMeasured)
                                            : kRowsMeasured;
  const double stores = b.staged_epilogue ? 1 : gemm::thread_stores(f, b);
  return gemm::call_seconds(static_cast<double>(waves) * tile_cycles(f, b), gemm::memory_seconds(f, b, flat, stores),
                            packed_bytes(f, b), measured);
}

}  // namespace convtgen::shift_gemm
