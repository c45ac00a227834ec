#include <algorithm>
#include <array>
#include <utility>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/grad_weight/boxes.h"
#include "generator/planner/grad_weight/choices.h"
#include "generator/planner/grad_weight/search.h"
#include "generator/planner/grad_weight/split_scales.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/roofline.h"

namespace convtgen {
namespace planners::f32x3_grad_weight_pixels {

using namespace convtgen::grad_weight;

constexpr std::int64_t kMostSteps = 16;     // k-steps of a stage: those of one promotion
constexpr std::int64_t kSplitProducts = 3;  // that make one of fp32
constexpr std::int64_t kParts = 2;          // of a value
constexpr std::string_view kCopied = "values";
constexpr std::int64_t kMostChunks = 3;  // of the batch, for each of which there are two launches

inline constexpr auto kMembers =
    joined(kCommonMembers, CONVTGEN_MEMBERS(flat, tile_images, shared_totals, chunks, chunk_images, scan_slices));

/// The template's own constants that are wanted.
CONVTGEN_MORE_CONSTANTS(OwnConstant, kOwnNames, BoxConstantCount, kPromoteStages, kScanTiles, kScanSharedBytes,
                        kScannedChannels);
inline constexpr auto kNames = joined(joined(kConstants, kBoxNames), kOwnNames);

struct F32x3GradWeightPixels : Boxes<F32x3GradWeightPixels, kMembers, kNames> {
  static constexpr std::array kComputes = {Compute::kF32x3};
  static constexpr std::int64_t kMostIn = 192;
  static constexpr bool kSplits = true;

  static Checks checks(const Layer& layer) { return {check_boxes(layer), check_copies(layer, kCopied, kMostChunks)}; }
  static std::int64_t copied_bytes(const Layer& layer) { return bytes_of_copies(layer); }
  static std::vector<Block> warpgroups(const Facts& f, Block b) {
    const Chunks chunks = chunks_of_copies(f.layer, kCopied, kMostChunks).value();
    b.chunks = chunks.number;
    b.chunk_images = chunks.images;
    std::vector<Block> out = box_warpgroups(f, b);
    for (Block& each : out) {
      each.shared_totals = !fits_registers(f, each, f.of(each));
      each.scan_slices = scan_slices(f.target, f.of(each)[kScanTiles]);
    }
    return out;
  }
  /// Two sets of accumulators, totals, two steps' A fragments of both parts, and 40 for the rest.
  static bool fits_registers(const Facts&, const Block& b, Constants& c) {
    return (b.shared_totals ? 2 : 3) * c[kAccumulators] + 16 * c[kOwnTiles] + 40 <=
           registers_of_thread(round_up(c[kThreads], 128));
  }
  static bool fits_stage(const Facts& f, const Block& b, Constants& c) {
    return c[kKSteps] <= kMostSteps && kSplitProducts * c[kKSteps] * c[kOwnTiles] <= kMostProducts && fits_boxes(f, b);
  }
  static double stage_cycles(const Facts& f, const Block& b, Constants& c) {
    const double promoted = 2 * c.number(kAccumulators) / c.number(kPromoteStages);  // instructions of a warp
    // Totals in shared memory are read and written.
    const double total_wavefronts =
        b.shared_totals ? 2 * 4 * consumer_warps(b) * c.number(kAccumulators) / c.number(kPromoteStages) : 0;
    return box_stage_cycles(
        f, b,
        {.tensor_cycles = kSplitProducts * products(c) * product_cycles(f.target, b.block_in),
         // Fragments of 64 rows are read of both parts; each product reads block_in columns of 32 bytes.
         .shared_wavefronts = products(c) * (32 + kSplitProducts * static_cast<double>(b.block_in) / 4) +
                              kParts * box_positions_copied(f, b) + total_wavefronts,
         .instructions =
             consumer_warps(b) * (steps(c) * c.number(kOwnTiles) * kParts * f.factors.grad_weight_fragment + promoted),
         .l2_bytes = c.number(kCopiedBytes)});
  }
  static void bring(LaunchPlan& launch, const Facts& f, const Block& b, Constants& c) {
    add_box_maps(launch, f, b, kParts, Dtype::kF16);
    add_copies(launch, f, b,
               {.function = "split_channels_last",
                .suffix = "_split",
                .regions = {"x_parts", "grad_y_parts"},
                .words = {"x, split, with channels last", "grad_y, split, with channels last"}},
               {.number = b.chunks, .images = b.chunk_images});
    add_scan(launch, b.scan_slices, c[kScanTiles], c[kScanSharedBytes], c[kScannedChannels]);
  }
};

}  // namespace planners::f32x3_grad_weight_pixels

CONVTGEN_TEMPLATE(F32x3GradWeightPixels, f32x3_grad_weight_pixels);

}  // namespace convtgen
