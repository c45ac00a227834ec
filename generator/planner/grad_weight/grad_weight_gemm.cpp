#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/grad_weight/choices.h"
#include "generator/planner/grad_weight/search.h"
#include "generator/planner/grad_weight/staging.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/roofline.h"

namespace convtgen {
namespace planners::grad_weight_gemm {

using namespace convtgen::grad_weight;

constexpr std::array kModes = {Compute::kTf32, Compute::kF16, Compute::kBf16, Compute::kF32x3};
constexpr std::int64_t kMostPositions = 160;  // of a stage
constexpr std::int64_t kMostTurned = 256;     // of one of rows that are turned
constexpr double kSplitMore = 6;              // instructions for a value of x that is split in parts of tf32

inline constexpr auto kMembers = joined(kCommonMembers, CONVTGEN_MEMBERS(flat, producers, row_stages, promote_stages,
                                                                         shared_totals, scan_slices, type, splits));

/// The template's own constants that are wanted.
CONVTGEN_MORE_CONSTANTS(OwnConstant, kOwnNames, RowConstantCount, kVector, kInputPixels, kWindowPixels, kWords,
                        kInputBatches, kWindowBatches, kInputBatch, kWindowBatch, kStageBytes, kPromoteStages,
                        kScanTiles, kScanSharedBytes, kScannedChannels);
inline constexpr auto kNames = joined(joined(kConstants, kRowNames), kOwnNames);

/// What a thread does to bring a stage.
Bringing bringing(const Facts& f, const Block& b, Constants& c) {
  const bool tf32 = f.layer.compute == Compute::kTf32 || b.splits, split = splits(f.layer) && !b.splits;
  const double input = c.number(kInputPixels) * static_cast<double>(b.block_in);
  const double window = c.number(kWindowPixels) * static_cast<double>(b.block_out);
  const double more = b.splits ? kSplitMore * input / (input + window) : 0;  // for a value, since x is split
  // Words that a thread brings. Each is loaded and stored alone, except where channels are adjacent in memory. Values
  // that are split are also scaled.
  const double words = c.number(kWords) * (c.number(kInputBatches) * c.number(kInputBatch) +
                                           c.number(kWindowBatches) * c.number(kWindowBatch));
  return {.batches = c.number(kInputBatches) + c.number(kWindowBatches),
          .batch_instructions = words * (more + (split  ? f.factors.grad_weight_split_word
                                                 : tf32 ? f.factors.grad_weight_word_tf32
                                                        : f.factors.grad_weight_word)),
          .elements = input + elements_read(f) * window,
          .turn_instructions = 2 * more + (split  ? f.factors.grad_weight_split_turn
                                           : tf32 ? f.factors.grad_weight_turn_tf32
                                                  : f.factors.grad_weight_turn)};
}

struct GradWeightGemm : Produced<GradWeightGemm, kMembers, kNames> {
  static constexpr auto& kComputes = kModes;
  static constexpr std::int64_t kMostSplitIn = 128;
  static constexpr bool kScans = true;

  static Checks checks(const Layer& layer) {
    return {check_channels_last(layer, layer.compute == Compute::kTf32 ? 4 : 8)};
  }
  static Parameters parameters(const Problem& problem) {
    Parameters p = word_parameters_of(problem);
    p.erase("type");  // the block's
    return p;
  }
  /// Values of NCHW are split in parts of f16 or of tf32.
  static std::vector<Block> warpgroups(const Facts& f, Block b) {
    std::vector<Block> out = producing_warpgroups(f, b);
    if (splits(f.layer) && !f.channels_last) {
      b.type = product_type(Dtype::kF32);
      b.splits = true;
      std::ranges::copy(producing_warpgroups(f, b), std::back_inserter(out));
    }
    return out;
  }
  static std::vector<Block> positions(const Facts& f, Block b) {
    return produced_positions(f, b,
                              splits(f.layer)    ? kMostSplitSteps * f.of(b)[kInstructionK]
                              : b.row_stages > 0 ? kMostTurned
                                                 : kMostPositions);
  }
  /// Whether a thread has registers for its accumulators and fragments. The assembler counts those that each thread has
  /// when the block starts, 168 of 384 threads and 128 of 512. Besides accumulators and fragments it needs 20, or 32
  /// where the template issues products one by one. With split values there are two sets of accumulators, totals, a
  /// step's A fragments of both parts, and 48 for the rest.
  static bool fits_registers(const Facts& f, const Block& b, Constants& c) {
    const std::int64_t together = c[kAccumulators] + 8 * c[kOwnTiles];
    if (b.splits) {
      return 2 * together + (b.consumer_groups == 2 && b.producers == 128 ? 28 : 40) <=
             registers_of_thread(round_up(c[kThreads], 128));
    }
    if (splits(f.layer)) {
      return (b.shared_totals ? 1 : 2) * c[kAccumulators] + together + 48 <=
             registers_of_thread(round_up(c[kThreads], 128));
    }
    return b.consumer_groups == 2 && b.producers == 128 ? together <= 148 : together <= 112 && c[kAccumulators] <= 88;
  }
  static bool fits_stage(const Facts& f, const Block& b, Constants& c) {
    return (b.splits          ? c[kKSteps] * c[kOwnTiles] * kSplitProducts <= kMostProducts
            : splits(f.layer) ? c[kKSteps] <= kMostSplitSteps
                              : c[kKSteps] * c[kOwnTiles] <= kMostProducts) &&
           fits_rows(f, b);
  }
  static double stage_cycles(const Facts& f, const Block& b, Constants& c) {
    const Brought brought = brought_by_threads(f, b, bringing(f, b, c));
    StageWork work = multiplied(f, b, c, c.number(kPromoteStages));
    work.shared_wavefronts += (c.number(kStageBytes) + brought.shared_bytes) / f.target.sm.shared_bytes_per_cycle;
    work.instructions += brought.instructions;
    work.l2_bytes = brought.l2_bytes;
    return produced_stage_cycles(f, brought, work);
  }
};

}  // namespace planners::grad_weight_gemm

CONVTGEN_TEMPLATE(GradWeightGemm, grad_weight_gemm);

}  // namespace convtgen
