// How long a block's work takes, in cycles of an SM of an H200. The rates are measured ones (docs/kernel-notes.md).
#include <algorithm>

#include "generator/planner/forward/f32x3_gemm_block.h"
#include "generator/planner/forward/gemm_cost.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/roofline.h"

namespace convtgen::f32x3_gemm {
namespace {

using gemm::number;

/// Cycles of the producers for a stage of pixels that they find the places of.
double finding_cycles(const Facts& f, const Block& b, Constants& of_block) {
  if (!f.channels_last || of_block[kKeepsPixels] != 0) {
    return 0;
  }
  const std::int64_t pixels = b.tile_n * of_block[gemm::kStagedRows] * of_block[gemm::kStagedColumns];
  const std::int64_t copies =  // of a thread
      ceil_div(pixels * b.block_k * f.bytes, b.copy_bytes * of_block[gemm::kProducers]);
  return f.factors.gemm_producer * f.factors.f32x3_find * number(copies);
}

/// What a consumer does for a row of taps before its products: instructions, and words that it loads, each as often as
/// its load is repeated for threads that need the same bank.
struct Reads {
  double instructions = 0, wavefronts = 0;
};

Reads reads_of_row(const Facts& f, const Block& b, Constants& of_block) {
  const auto of = [&](std::size_t constant) { return number(of_block[constant]); };
  if (of_block[kHoldsPairs] != 0) {  // each word is loaded for one fragment, and moved there from a vector
    const std::int64_t words = 4 * b.thread_positions * f.columns.kernel;
    const std::int64_t vector = f.channels_last ? 4 : of_block[kLoadsPairs] != 0 ? 2 : 1;
    const std::int64_t between = b.thread_positions * f.columns.input_stride;  // words from a thread to the next one
    const std::int64_t conflicts = f.channels_last    ? (between % 8 == 4 ? 1 : 2)
                                   : vector == 2      ? 2
                                   : between % 4 == 0 ? 4
                                                      : 2;
    return {.instructions = number(words / vector + (vector > 1 ? words : 0) + 4 * f.columns.kernel),
            .wavefronts = number(words * conflicts)};
  }
  const double columns = of(gemm::kLoadedColumns);
  return {
      .instructions = 4 * columns / of(gemm::kLoadVector) + 8 * of(kFragmentColumns) + 16 +
                      (of_block[kConsumersSplit] != 0 ? 4 * columns + 2 * columns * f.factors.f32x3_consumer_split : 0),
      .wavefronts = 2 * columns * f.factors.f32x3_bank_conflicts};
}

/// Cycles of one tile whose stages keep coming.
double tile_cycles(const Facts& f, const Block& b) {
  Constants& of_block = f.of(b);
  const auto of = [&](std::size_t constant) { return number(of_block[constant]); };
  const double steps = of(gemm::kKSteps);
  const double stages = of(gemm::kKBlocks);
  const double products = of(gemm::kProducts) * steps * number(b.thread_positions) * 3;
  const double tensor = products * gemm::product_cycles(f, of_block[gemm::kInstructionN], false);
  const double rows = steps * of(gemm::kOffsetsH);
  const bool splits = of_block[kConsumersSplit] != 0;
  const double threads = of(gemm::kProducers);
  const double input = of(gemm::kInputBytes);

  // Instructions of a scheduler: two warps of consumers and one of producers.
  const auto [read, wavefronts] = reads_of_row(f, b, of_block);
  const double copies = b.bulk ? 0.0 : number(of_block[gemm::kInputBytes] / b.copy_bytes) / threads;
  const double outputs = number(b.phase_rows * f.columns.stride * b.thread_positions * b.block_n) / 4;  // of a thread
  const double scans = input / 16 / threads;                  // of a thread, four values each
  const double promoted = number(promotions(f, b)) / stages;  // of a stage
  const double issue = 2 * rows * read + products * 4 + (copies * 6 + scans * (splits ? 6 : 27)) * threads / 128 +
                       2 * outputs * f.factors.f32x3_promote * (promoted + 1 / stages);

  // Shared memory gives or takes 128 bytes a cycle, but less of an asynchronous copy: weights, words, and what arrives.
  // Totals are written and read again.
  const double loads = 8 * rows * wavefronts;
  const double arriving = input / (b.bulk            ? f.target.sm.shared_bytes_per_cycle
                                   : f.channels_last ? f.factors.f32x3_copied_nhwc
                                                     : number(b.copy_bytes));
  const double weights = b.resident ? 0 : of(gemm::kKBlockWeightBytes);
  const double shared = products * of(gemm::kInstructionN) / 4 + loads + arriving + (splits ? 1 : 3) * input / 128 +
                        weights / 128 + promoted * outputs * 16;

  // A warpgroup without a prefetch leaves the tensor cores to the other one meanwhile.
  const double alone = b.prefetch ? 0 : tensor / 2 + rows * (read * f.factors.f32x3_stall + f.factors.f32x3_wait);
  const double scan =
      splits ? f.factors.gemm_producer * f.factors.f32x3_scan + scans * f.factors.f32x3_scan_four
             : f.factors.gemm_producer * (f.factors.f32x3_scan + f.factors.f32x3_agree) +
                   scans * (f.channels_last ? f.factors.f32x3_split_four_nhwc : f.factors.f32x3_split_four);
  const double bulk = b.bulk ? gemm::bulk_row_cycles(f, b, of_block, stages) : 0;
  const double producing = bulk + finding_cycles(f, b, of_block) + scan;
  // The copies of an empty stage are issued, arrive and are scanned before its products begin.
  const double consumers = std::max({tensor, issue, alone, shared});
  const double arrives = (input + weights) / f.target.sm.l2_bytes_per_cycle;
  const double in_rounds = (consumers + f.factors.gemm_latency + arrives + producing) / number(b.stages);
  return stages * (std::max({consumers, producing, arrives, in_rounds}) + f.factors.gemm_k_block) +
         2 * outputs * f.factors.gemm_epilogue;
}

}  // namespace

double predicted_seconds(const Facts& f, const Block& b) {
  Constants& of_block = f.of(b);
  return seconds_of(f.target,
                    {.packed_bytes = number(of_block[gemm::kPackedBytes]),
                     .waves = number(waves_of(f.target, gemm::tiles(f, b, of_block), of_block[gemm::kNTiles])),
                     .wave_cycles = tile_cycles(f, b),
                     .memory_bytes = gemm::memory_bytes(f, b, of_block, gemm::thread_stores(f, b)),
                     .hidden_less = f.factors.hidden_less});
}

}  // namespace convtgen::f32x3_gemm
