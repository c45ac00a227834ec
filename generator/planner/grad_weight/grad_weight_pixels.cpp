#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/grad_weight/boxes.h"
#include "generator/planner/grad_weight/choices.h"
#include "generator/planner/grad_weight/search.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/roofline.h"
#include "generator/planner/search/tensor_cores.h"

namespace convtgen {
namespace planners::grad_weight_pixels {

using namespace convtgen::grad_weight;

constexpr std::array kModes = {Compute::kF16, Compute::kBf16, Compute::kF32x3};
constexpr std::int64_t kMostChunks = 3;  // of the batch where values are split; two launches each

inline constexpr auto kMembers =
    joined(kCommonMembers,
           CONVTGEN_MEMBERS(flat, tile_images, promote_stages, shared_totals, chunks, chunk_images, scan_slices));

/// The template's own constants that are wanted.
CONVTGEN_MORE_CONSTANTS(OwnConstant, kOwnNames, BoxConstantCount, kPromoteStages, kScanTiles, kScanSharedBytes,
                        kScannedChannels);
inline constexpr auto kNames = joined(joined(kConstants, kBoxNames), kOwnNames);

/// Whether another kernel makes what tensor copies bring.
bool copies(const Layer& layer) {
  return splits(layer) || layer.layout != Layout::kNhwc;
}
/// The chunks of what it makes. Errors: those of chunks_of_copies().
Result<Chunks> chunks_of(const Layer& layer) {
  return splits(layer) ? chunks_of_copies(layer, "values", kMostChunks) : chunks_of_copies(layer, "NCHW", 1);
}

struct GradWeightPixels : Boxes<GradWeightPixels, kMembers, kNames> {
  static constexpr auto& kComputes = kModes;
  static constexpr std::int64_t kMostSplitIn = 192;
  static constexpr bool kScans = true;

  static Checks checks(const Layer& layer) {
    const auto chunks = copies(layer) ? chunks_of(layer) : Chunks();
    return {check_slices(layer, !copies(layer)), check_boxes(layer),
            chunks ? Result<void>() : std::unexpected(chunks.error())};
  }
  static std::int64_t copied_bytes(const Layer& layer) { return copies(layer) ? bytes_of_copies(layer) : 0; }
  static std::vector<Block> warpgroups(const Facts& f, Block b) {
    if (splits(f.layer)) {
      const Chunks chunks = chunks_of(f.layer).value();
      b.chunks = chunks.number;
      b.chunk_images = chunks.images;
    }
    return box_warpgroups(f, b);
  }
  /// Whether a thread has registers for its accumulators, two steps' A fragments and its places: of 256 threads each
  /// has 255, of 384 threads 168. With split values there are two sets of accumulators, totals, two steps' A fragments
  /// of both parts, and 40 for the rest.
  static bool fits_registers(const Facts& f, const Block& b, Constants& c) {
    if (splits(f.layer)) {
      return (b.shared_totals ? 2 : 3) * c[kAccumulators] + 16 * c[kOwnTiles] + 40 <=
             registers_of_thread(round_up(c[kThreads], 128));
    }
    return c[kAccumulators] + 9 * c[kOwnTiles] <= (b.consumer_groups == 2 ? 220 : 124);
  }
  static bool fits_stage(const Facts& f, const Block& b, Constants& c) {
    const std::int64_t products = c[kKSteps] * c[kOwnTiles];
    return (splits(f.layer) ? c[kKSteps] <= kMostSplitSteps && kSplitProducts * products <= kMostProducts
                            : products <= kMostProducts) &&
           fits_boxes(f, b);
  }
  static double stage_cycles(const Facts& f, const Block& b, Constants& c) {
    StageWork work = multiplied(f, b, c, c.number(kPromoteStages));
    work.shared_wavefronts += (splits(f.layer) ? kSplitParts : 1) * box_positions_copied(f, b);
    work.l2_bytes = c.number(kCopiedBytes);
    return box_stage_cycles(f, b, work);
  }
  static void bring(LaunchPlan& launch, const Facts& f, const Block& b, Constants&) {
    if (splits(f.layer)) {
      add_box_maps(launch, f, b, kSplitParts, Dtype::kF16);
      add_copies(launch, f, b,
                 {.function = "split_channels_last",
                  .suffix = "_split",
                  .regions = {"x_parts", "grad_y_parts"},
                  .words = {"x, split, with channels last", "grad_y, split, with channels last"}},
                 {.number = b.chunks, .images = b.chunk_images});
      return;
    }
    add_box_maps(launch, f, b, 1, f.layer.dtype);
    if (!f.channels_last) {
      add_copies(launch, f, b,
                 {.function = "to_channels_last",
                  .suffix = "_copy",
                  .regions = {"x_pixels", "grad_y_pixels"},
                  .words = {"x with channels last", "grad_y with channels last"}},
                 {.number = 1, .images = *f.layer.batch});
    }
  }
};

}  // namespace planners::grad_weight_pixels

CONVTGEN_TEMPLATE(GradWeightPixels, grad_weight_pixels);

}  // namespace convtgen
