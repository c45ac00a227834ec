// How long a block's work takes, in cycles of an SM of an H200. The rates are measured ones (docs/kernel-notes.md).
#include <algorithm>

#include "generator/planner/f32x3_gemm_block.h"
#include "generator/planner/gemm_cost.h"

namespace convtgen::f32x3_gemm {
namespace {

using gemm::number;

constexpr double kSplitInstructions = 10;  // of a consumer for a pair of values
// Of the producers: instructions of the maximum scan and of agreeing on a scale, for a stage; cycles for four values of
// each thread, which are scanned and split, or scanned alone.
constexpr double kScanInstructions = 30;
constexpr double kAgreeInstructions = 60;
constexpr double kSplitCycles = 135;
constexpr double kScanCycles = 30;
constexpr double kPromoteInstructions = 7;  // for an output
// The same with channels last, fitted to 137 plans of the benchmark's layers: cycles of four values, bytes that copies
// bring to shared memory, and instructions for a copy where a thread doesn't keep the places of its pixels.
constexpr double kPixelSplitCycles = 103;
constexpr double kPixelBytesPerCycle = 26;
constexpr double kFindInstructions = 25;
constexpr std::int64_t kMostKept = 8;
constexpr double kBankConflicts = 2;  // threads that want the same bank when a warp loads a word of each thread
// Of a warpgroup without a prefetch: cycles of an instruction, and of the wait for its products.
constexpr double kStall = 1.3;
constexpr double kWaitCycles = 150;

/// Cycles of the producers for a stage of pixels that they find the places of.
double finding_cycles(const Facts& f, const Block& b, const Staging& staging) {
  const std::int64_t pixels = b.tile_n * staging.image_rows * staging.columns;
  const std::int64_t copies = ceil_div(pixels * b.block_k * f.bytes, b.copy_bytes * producers(f, b));  // of a thread
  const bool kept = copies <= kMostKept && f.rows.extent && f.columns.extent;
  return f.channels_last && !kept ? gemm::kProducerCycles * kFindInstructions * number(copies) : 0;
}

/// Cycles of one tile whose stages keep coming.
double tile_cycles(const Facts& f, const Block& b) {
  const Staging staging = staging_of(f, b);
  const double groups = number(f.rows.stride / b.phase_rows);
  const double steps = number(b.block_k / f.instruction_k);
  const double stages = number(gemm::k_blocks(f, b));
  const std::int64_t fused = gemm::fused_phases(f.layer);
  const double products = number(tap_count(f.layer) / fused) / groups * steps * number(b.thread_positions) * 3;
  const double tensor = products * gemm::product_cycles(fused * b.block_n, false);
  const double rows = steps * number(staging.offsets_h);
  const bool splits = consumers_split(f, b);
  const double threads = number(producers(f, b));

  // Instructions of a scheduler: two warps of consumers and one of producers.
  const double words = number(staging.loaded_columns);
  const double read = 4 * words / number(staging.vector) + 8 * number(gemm::fragment_positions(f, b)) + 16 +
                      (splits ? 4 * words + 2 * words * kSplitInstructions : 0);
  const double copies = b.bulk ? 0.0 : number(staging.input_bytes / b.copy_bytes) / threads;
  const double outputs = number(b.phase_rows * f.columns.stride * b.thread_positions * b.block_n) / 4;  // of a thread
  const double scans = number(staging.input_bytes) / 16 / threads;  // of a thread, four values each
  const double promoted = number(promotions(f, b)) / stages;        // of a stage
  const double issue = 2 * rows * read + products * 4 + (copies * 6 + scans * (splits ? 6 : 27)) * threads / 128 +
                       2 * outputs * kPromoteInstructions * (promoted + 1 / stages);

  // Shared memory gives or takes 128 bytes a cycle, but less of an asynchronous copy: weights, words, and what arrives.
  // Totals are written and read again.
  const double loads = 8 * rows * 2 * words * kBankConflicts;
  const double arriving = number(staging.input_bytes) / (b.bulk            ? 128.0
                                                         : f.channels_last ? kPixelBytesPerCycle
                                                                           : number(b.copy_bytes));
  const double weights = b.resident ? 0 : number(staging.weight_bytes);
  const double shared = products * number(fused * b.block_n) / 4 + loads + arriving +
                        (splits ? 1 : 3) * number(staging.input_bytes) / 128 + weights / 128 + promoted * outputs * 16;

  // A warpgroup without a prefetch leaves the tensor cores to the other one meanwhile.
  const double alone = b.prefetch ? 0 : tensor / 2 + rows * (read * kStall + kWaitCycles);
  const double scan = splits ? gemm::kProducerCycles * kScanInstructions + scans * kScanCycles
                             : gemm::kProducerCycles * (kScanInstructions + kAgreeInstructions) +
                                   scans * (f.channels_last ? kPixelSplitCycles : kSplitCycles);
  const double bulk = b.bulk ? gemm::bulk_row_cycles(f, b, staging, is_flat(f, b), false, producers(f, b), stages) : 0;
  const double producing = bulk + finding_cycles(f, b, staging) + scan;
  // The copies of an empty stage are issued, arrive and are scanned before its products begin.
  const double consumers = std::max({tensor, issue, alone, shared});
  const double arrives = (number(staging.input_bytes) + weights) / gemm::kL2BytesPerCycle;
  const double in_rounds = (consumers + gemm::kLatencyCycles + arrives + producing) / number(b.stages);
  return stages * (std::max({consumers, producing, arrives, in_rounds}) + gemm::kKBlockCycles) +
         2 * outputs * gemm::kEpilogueInstructions;
}

}  // namespace

double predicted_seconds(const Facts& f, const Block& b) {
  const bool flat = is_flat(f, b);
  return gemm::call_seconds(static_cast<double>(gemm::waves(f, b, flat)) * tile_cycles(f, b),
                            gemm::memory_seconds(f, b, flat, gemm::thread_stores(f, b)), packed_bytes(f, b), 1);
}

}  // namespace convtgen::f32x3_gemm
