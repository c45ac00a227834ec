#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/grad_weight/boxes.h"
#include "generator/planner/grad_weight/choices.h"
#include "generator/planner/grad_weight/search.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/roofline.h"
#include "generator/planner/search/tensor_cores.h"

namespace convtgen {
namespace planners::grad_weight_pixels {

using namespace convtgen::grad_weight;

inline constexpr auto kMembers = joined(kCommonMembers, CONVTGEN_MEMBERS(flat, tile_images, promote_stages));
inline constexpr auto kNames = joined(kConstants, kBoxNames);

struct GradWeightPixels : Boxes<GradWeightPixels, kMembers, kNames> {
  static constexpr auto& kComputes = kHalfModes;

  static Checks checks(const Layer& layer) {
    return {check_boxes(layer), layer.layout == Layout::kNhwc ? Result<void>() : check_copies(layer, "NCHW", 1)};
  }
  static std::int64_t copied_bytes(const Layer& layer) {
    return layer.layout != Layout::kNhwc ? bytes_of_copies(layer) : 0;
  }
  /// Whether a thread has registers for its accumulators, two steps' A fragments and its places: of 256 threads each
  /// has 255, of 384 threads 168.
  static bool fits_registers(const Facts&, const Block& b, Constants& c) {
    return c[kAccumulators] + 9 * c[kOwnTiles] <= (b.consumer_groups == 2 ? 220 : 124);
  }
  static bool fits_stage(const Facts& f, const Block& b, Constants& c) {
    return c[kKSteps] * c[kOwnTiles] <= kMostProducts && fits_boxes(f, b);
  }
  static double stage_cycles(const Facts& f, const Block& b, Constants& c) {
    return box_stage_cycles(
        f, b,
        {.tensor_cycles = products(c) * product_cycles(f.target, b.block_in),
         // A product reads fragments of 64 rows, and block_in columns of 32 bytes.
         .shared_wavefronts = products(c) * (16 + static_cast<double>(b.block_in) / 4) + box_positions_copied(f, b),
         .instructions = steps(c) * c.number(kOwnTiles) * consumer_warps(b) * f.factors.grad_weight_fragment,
         .l2_bytes = c.number(kCopiedBytes)});
  }
  static void bring(LaunchPlan& launch, const Facts& f, const Block& b, Constants&) {
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
