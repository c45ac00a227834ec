#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/grad_weight/choices.h"
#include "generator/planner/grad_weight/search.h"
#include "generator/planner/grad_weight/split_scales.h"
#include "generator/planner/grad_weight/staging.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/roofline.h"

namespace convtgen {
namespace planners::f32x3_grad_weight {

using namespace convtgen::grad_weight;

constexpr std::int64_t kPack = 8;        // channels that are loaded together
constexpr std::int64_t kMostSteps = 16;  // k-steps of a stage: those of one promotion
constexpr double kSplitProducts = 3;     // that make one of fp32

inline constexpr auto kMembers =
    joined(kCommonMembers, CONVTGEN_MEMBERS(flat, producers, row_stages, shared_totals, scan_slices));

/// The template's own constants that are wanted.
CONVTGEN_MORE_CONSTANTS(OwnConstant, kOwnNames, RowConstantCount, kPromoteStages, kInputPixels, kWindowPixels,
                        kInputBatches, kWindowBatches, kInputBatch, kWindowBatch, kStageBytes, kScanTiles,
                        kScanSharedBytes, kScannedChannels);
inline constexpr auto kNames = joined(joined(kConstants, kRowNames), kOwnNames);

struct F32x3GradWeight : Produced<F32x3GradWeight, kMembers, kNames> {
  static constexpr std::array kComputes = {Compute::kF32x3};
  static constexpr std::int64_t kMostIn = 96;
  static constexpr bool kSplits = true;

  static Checks checks(const Layer& layer) { return {check_channels_last(layer, kPack)}; }
  static std::vector<Block> warpgroups(const Facts& f, Block b) {
    std::vector<Block> out = producing_warpgroups(f, b);
    for (Block& each : out) {
      each.shared_totals = !fits_registers(f, each, f.of(each));
      each.scan_slices = scan_slices(f.target, f.of(each)[kScanTiles]);
    }
    return out;
  }
  static std::vector<Block> positions(const Facts& f, Block b) {
    return produced_positions(f, b, kMostSteps * f.of(b)[kInstructionK]);
  }
  /// Two sets of accumulators, totals, a step's A fragments of both parts, and 48 for the rest.
  static bool fits_registers(const Facts&, const Block& b, Constants& c) {
    return (b.shared_totals ? 2 : 3) * c[kAccumulators] + 8 * c[kOwnTiles] + 48 <=
           registers_of_thread(round_up(c[kThreads], 128));
  }
  static bool fits_stage(const Facts& f, const Block& b, Constants& c) {
    return c[kKSteps] <= kMostSteps && fits_rows(f, b);
  }
  static double stage_cycles(const Facts& f, const Block& b, Constants& c) {
    // Values that a thread brings: each is loaded, scaled and split.
    const double values = static_cast<double>(kPack) * (c.number(kInputBatches) * c.number(kInputBatch) +
                                                        c.number(kWindowBatches) * c.number(kWindowBatch));
    const Brought brought =
        brought_by_threads(f, b,
                           {.batches = c.number(kInputBatches) + c.number(kWindowBatches),
                            .batch_instructions = values * f.factors.f32x3_grad_weight_value,
                            .elements = c.number(kInputPixels) * static_cast<double>(b.block_in) +
                                        elements_read(f) * c.number(kWindowPixels) * static_cast<double>(b.block_out),
                            .turn_instructions = f.factors.f32x3_grad_weight_turn});
    const double promoted = 2 * c.number(kAccumulators) / c.number(kPromoteStages);  // instructions of a warp
    // Totals in shared memory are read and written.
    const double total_wavefronts =
        b.shared_totals ? 2 * 4 * consumer_warps(b) * c.number(kAccumulators) / c.number(kPromoteStages) : 0;
    return produced_stage_cycles(
        f, brought,
        {.tensor_cycles = kSplitProducts * products(c) * product_cycles(f.target, b.block_in),
         // Fragments of 64 rows are read of both parts; each product reads block_in columns of 32 bytes.
         .shared_wavefronts = products(c) * (32 + kSplitProducts * static_cast<double>(b.block_in) / 4) +
                              (c.number(kStageBytes) + brought.shared_bytes) / f.target.sm.shared_bytes_per_cycle +
                              total_wavefronts,
         .instructions =
             brought.instructions +
             consumer_warps(b) * (steps(c) * c.number(kOwnTiles) * 2 * f.factors.grad_weight_fragment + promoted),
         .l2_bytes = brought.l2_bytes});
  }
  static void bring(LaunchPlan& launch, const Facts& f, const Block& b, Constants& c) {
    add_row_copies(launch, f, b);
    add_scan(launch, b.scan_slices, c[kScanTiles], c[kScanSharedBytes], c[kScannedChannels]);
  }
};

}  // namespace planners::f32x3_grad_weight

CONVTGEN_TEMPLATE(F32x3GradWeight, f32x3_grad_weight);

}  // namespace convtgen
