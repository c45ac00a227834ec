#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/grad_weight/choices.h"
#include "generator/planner/grad_weight/search.h"
#include "generator/planner/grad_weight/staging.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/roofline.h"

namespace convtgen {
namespace planners::grad_weight_gemm {

using namespace convtgen::grad_weight;

constexpr std::int64_t kMostPositions = 160;  // of a stage
constexpr std::int64_t kMostTurned = 256;     // of one of rows that are turned

inline constexpr auto kMembers = joined(kCommonMembers, CONVTGEN_MEMBERS(flat, producers, row_stages, promote_stages));

/// The template's own constants that are wanted.
CONVTGEN_MORE_CONSTANTS(OwnConstant, kOwnNames, RowConstantCount, kVector, kInputPixels, kWindowPixels, kWords,
                        kInputBatches, kWindowBatches, kInputBatch, kWindowBatch, kStageBytes);
inline constexpr auto kNames = joined(joined(kConstants, kRowNames), kOwnNames);

struct GradWeightGemm : Produced<GradWeightGemm, kMembers, kNames> {
  static Checks checks(const Layer& layer) { return {check_channels_last(layer, layer.dtype == Dtype::kF32 ? 4 : 8)}; }
  static std::vector<Block> positions(const Facts& f, Block b) {
    return produced_positions(f, b, b.row_stages > 0 ? kMostTurned : kMostPositions);
  }
  /// Whether a thread has registers for its accumulators and fragments. The assembler counts those that each thread has
  /// when the block starts, 168 of 384 threads and 128 of 512. Beside accumulators and fragments it wants 20, or 32
  /// where the template issues products one by one.
  static bool fits_registers(const Facts&, const Block& b, Constants& c) {
    const std::int64_t together = c[kAccumulators] + 8 * c[kOwnTiles];
    return b.consumer_groups == 2 && b.producers == 128 ? together <= 148 : together <= 112 && c[kAccumulators] <= 88;
  }
  static bool fits_stage(const Facts& f, const Block& b, Constants& c) {
    return c[kKSteps] * c[kOwnTiles] <= kMostProducts && fits_rows(f, b);
  }
  static double stage_cycles(const Facts& f, const Block& b, Constants& c) {
    const bool tf32 = c[kVector] == 4;
    // Words that a thread brings. Each is loaded and stored alone, except where channels are adjacent in memory.
    const double words = c.number(kWords) * (c.number(kInputBatches) * c.number(kInputBatch) +
                                             c.number(kWindowBatches) * c.number(kWindowBatch));
    const Brought brought = brought_by_threads(
        f, b,
        {.batches = c.number(kInputBatches) + c.number(kWindowBatches),
         .batch_instructions = words * (tf32 ? f.factors.grad_weight_word_tf32 : f.factors.grad_weight_word),
         .elements = c.number(kInputPixels) * static_cast<double>(b.block_in) +
                     elements_read(f) * c.number(kWindowPixels) * static_cast<double>(b.block_out),
         .turn_instructions = tf32 ? f.factors.grad_weight_turn_tf32 : f.factors.grad_weight_turn});
    return produced_stage_cycles(
        f, brought,
        {.tensor_cycles = products(c) * product_cycles(f.target, b.block_in),
         // A product reads fragments of 64 rows, and block_in columns of 32 bytes.
         .shared_wavefronts = products(c) * (16 + static_cast<double>(b.block_in) / 4) +
                              (c.number(kStageBytes) + brought.shared_bytes) / f.target.sm.shared_bytes_per_cycle,
         .instructions =
             brought.instructions + steps(c) * c.number(kOwnTiles) * consumer_warps(b) * f.factors.grad_weight_fragment,
         .l2_bytes = brought.l2_bytes});
  }
};

}  // namespace planners::grad_weight_gemm

CONVTGEN_TEMPLATE(GradWeightGemm, grad_weight_gemm);

}  // namespace convtgen
