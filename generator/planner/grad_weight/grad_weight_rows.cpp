#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/grad_weight/choices.h"
#include "generator/planner/grad_weight/search.h"
#include "generator/planner/grad_weight/staging.h"
#include "generator/planner/plan/tensor_maps.h"
#include "generator/planner/search/block_choices.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/roofline.h"
#include "generator/planner/search/tensor_cores.h"

namespace convtgen {
namespace planners::grad_weight_rows {

using namespace convtgen::grad_weight;

constexpr std::array kModes = {Compute::kTf32, Compute::kF16, Compute::kBf16, Compute::kF32x3};
constexpr std::int64_t kMostPositions = 256;     // of a stage
constexpr std::int64_t kMostRowPositions = 128;  // of a row of them
constexpr std::int64_t kHalfK = 16;              // positions of a product in 16 bits
constexpr double kSplitMeasured = 1.8;           // the same of split values through registers (docs/kernel-notes.md)

inline constexpr auto kMembers = joined(
    kCommonMembers, CONVTGEN_MEMBERS(rows_in_columns, swizzle, producers, input_copies, window_copies, promote_stages));

/// The template's own constants that are wanted.
CONVTGEN_MORE_CONSTANTS(OwnConstant, kOwnNames, kConstantCount, kBoxRows, kInputBytes, kBoxesBytes, kWindowBytes,
                        kWindowPitch, kWindowRows, kInputBatches, kWindowBatches, kInputTurn, kWindowTurn, kInputLoads,
                        kWindowLoads, kPairedTaps, kSumsRows, kBiasParts, kRowSums, kFlat);
inline constexpr auto kNames = joined(kConstants, kOwnNames);

/// Rows of all positions; a stage has tile_rows.
std::int64_t rows_of_positions(const Facts& f, Block b) {
  return b.rows_in_columns ? output_extent(f.rows, f.sizes.extents[kHeight]) : f.sizes.extents[kHeight];
}

/// Positions of a row in whole boxes of a swizzle. A wider one does as well where it divides the row.
std::vector<std::int64_t> row_choices(const Facts& f, std::int64_t swizzle) {
  const std::int64_t box = swizzle / f.bytes;
  std::vector<std::int64_t> choices;
  for (std::int64_t boxes = 1; boxes * box <= kMostRowPositions && (boxes - 1) * box < f.sizes.extents[kWidth];
       boxes += swizzle < 128 ? 2 : 1) {
    choices.push_back(boxes * box);
  }
  return choices;
}

/// Whether an image of x can be copied as one row, and is not by its own ones.
bool is_flat_image(const Facts& f) {
  const std::int64_t width = *f.columns.extent;
  return f.rows.extent && width % 2 == 0 && 2 * width >= kHalfK && width * f.bytes % 16 != 0 &&
         *f.rows.extent * width * f.bytes % 16 == 0;
}

Result<void> check_words(std::string_view name, std::int64_t width, std::int64_t bytes) {
  return require(width * bytes % 4 == 0, "{} {}; it takes rows of whole words, of even widths", name, width);
}

struct GradWeightRows : Search<GradWeightRows, kMembers, kNames> {
  static constexpr Block kSmallest = {.producers = 32, .tile_columns = 16, .swizzle = 32};
  static constexpr std::int64_t kMostStages = 8, kLeastSplitStages = 3;
  static constexpr std::int64_t kMostSplitIn = 128;
  static constexpr auto& kComputes = kModes;

  static Checks checks(const Layer& layer) {
    const Axis columns = symmetric(layer.axes[kWidth]);
    const std::int64_t width = columns.extent.value_or(0), bytes = bytes_of(layer.dtype);
    return {require(layer.layout == Layout::kNchw, "channels last; it takes NCHW"),
            require(columns.extent.has_value(), "an open width; it takes rows of a known size"),
            check_words("width", width, bytes), check_words("output width", output_extent(columns, width), bytes)};
  }
  static Parameters parameters(const Problem& problem) {
    Parameters p = parameters_of(problem);
    p.insert_or_assign("type", product_type(problem.layer.dtype));
    return with(std::move(p), {{"splits", splits(problem.layer)}});
  }
  /// Tensor copies bring rows that are whole 16 bytes; a warpgroup brings others, or splits x: not both. Kernel rows
  /// are in the rows of the products or in their columns.
  static std::vector<Block> warpgroups(const Facts& f, Block b) {
    const std::int64_t bytes = f.bytes;
    const bool may_be_flat = f.of(b)[kPairedTaps] != 0 && is_flat_image(f);
    b.input_copies = *f.columns.extent * bytes % 16 == 0;
    b.window_copies = output_extent(f.columns, *f.columns.extent) * bytes % 16 == 0;
    const bool split = splits(f.layer);
    b.input_copies = b.input_copies && (b.window_copies || !split);
    b.producers = b.input_copies && b.window_copies && !split ? 32 : 128;
    const bool may_be_columns =
        f.rows.stride == 1 && f.rows.dilation == 1 && b.taps_h > 1 && b.taps_h * b.block_in <= kMostProductColumns;
    return BlockChoices(b)
        .each(&Block::rows_in_columns, {false, true})
        .keep([&](const Block& each) { return !each.rows_in_columns || may_be_columns; })
        .each(&Block::consumer_groups, {2, 3})
        .each(&Block::flat, {false, true})
        .keep([&](Block& each) {
          if (each.flat) {
            each.input_copies = true;
            each.producers = split ? 128 : 32;
          }
          return !each.flat || (may_be_flat && each.window_copies && !each.rows_in_columns);
        });
  }
  static std::vector<Block> positions(const Facts& f, Block b) {
    const std::int64_t all_rows = rows_of_positions(f, b);
    if (b.flat) {
      b.tile_columns = *f.columns.extent;
      return BlockChoices(b)
          .each(&Block::swizzle, {128, 64, 32})
          .each(&Block::tile_rows, {1, 2, 4, 8, 16, 32})
          .keep([&](const Block& each) {
            const std::int64_t count = each.tile_rows * each.tile_columns;
            return count <= kMostPositions && count % f.of(each)[kInstructionK] == 0 && each.tile_rows < 2 * all_rows;
          });
    }
    return BlockChoices(b)
        .each(&Block::swizzle, {128, 64, 32})
        .each(&Block::tile_columns, [&](const Block& each) { return row_choices(f, each.swizzle); })
        .each(&Block::tile_rows, {1, 2, 4, 8, 16, 32})
        .keep([&](Block& each) {
          const bool is_kept = each.tile_rows * each.tile_columns <= kMostPositions && each.tile_rows < 2 * all_rows;
          each.tile_rows = std::min(each.tile_rows, all_rows);
          return is_kept;
        });
  }
  /// Whether a thread has registers for its accumulators, fragments and places. The assembler counts those that each
  /// thread has when the block starts: 168 of up to 384 threads, 128 of up to 512. There products with 96 accumulators
  /// were serialised. With split values there are totals, and fragments of both parts of two steps.
  static bool fits_registers(const Facts& f, const Block& b, Constants& c) {
    if (splits(f.layer)) {
      const std::int64_t others = b.consumer_groups == 2 ? 24 : b.input_copies ? 32 : 40;
      return (b.consumer_groups == 2 || c[kMTiles] >= b.consumer_groups) &&
             2 * c[kAccumulators] + 16 * c[kOwnTiles] + others <= registers_of_thread(round_up(c[kThreads], 128));
    }
    const bool copies_alone = b.producers == 32;
    const std::int64_t most = b.consumer_groups == 2 ? (copies_alone ? 160 : 148) : (copies_alone ? 112 : 96);
    const std::int64_t place = f.layer.dtype == Dtype::kF32 || c[kPairedTaps] != 0 ? 1 : 4;
    const std::int64_t sums = c[kSumsRows] == 0 ? 0 : c[kRowSums];
    return c[kAccumulators] + (8 + place + sums) * c[kOwnTiles] <= most &&
           (b.consumer_groups == 2 || c[kAccumulators] <= 88);
  }
  static bool fits_stage(const Facts& f, const Block&, Constants& c) {
    return c[kKSteps] * c[kOwnTiles] * products_of_value(f) <= kMostProducts && c[kWindowPitch] <= kMostBox &&
           c[kWindowRows] <= kMostBox;
  }
  static std::string why_none(const Facts& f, const Block& smallest) {
    return fmt::format("{} positions of a row reach {} columns of grad_y; at most {}, which a tensor copy brings",
                       smallest.tile_columns, f.of(smallest)[kWindowPitch], kMostBox);
  }
  static std::int64_t tiles(const Facts& f, const Block& b) {
    return f.sizes.batch * ceil_div(rows_of_positions(f, b), b.tile_rows) *
           ceil_div(f.sizes.extents[kWidth], b.tile_columns);
  }
  static std::int64_t products_of_value(const Facts& f) { return splits(f.layer) ? kSplitProducts : 1; }
  static double stage_cycles(const Facts& f, const Block& b, Constants& c) {
    const bool half = f.bytes == 2;
    // Lanes whose words are in the same bank when a warp loads fragments of rows with a stride.
    const double conflicts = std::clamp<double>(static_cast<double>(f.columns.stride), 1, 4);
    // Wavefronts of a warp's fragment. Loads of pairs of taps leave nothing out with a stride of 2.
    const double loads = c[kPairedTaps] == 0            ? (half ? 8 : 4) * conflicts
                         : half && f.columns.stride > 2 ? 4 * conflicts
                                                        : 2 * conflicts;
    const auto made = static_cast<double>(products_of_value(f));
    StageWork work = {
        .tensor_cycles = made * products(c) * product_cycles(f.target, c[kColumns]),
        .shared_wavefronts = products(c) * (4 * loads + made * c.number(kColumns) / 4) +
                             (c.number(kInputBytes) + c.number(kWindowBytes)) / f.target.sm.shared_bytes_per_cycle,
        .instructions = steps(c) * c.number(kOwnTiles) * consumer_warps(b) *
                        (half ? f.factors.grad_weight_half_fragment : f.factors.grad_weight_fragment),
        .l2_bytes = c.number(kBoxesBytes) + c.number(kWindowBytes)};
    if (splits(f.layer)) {
      // Fragments are split by those who load them, and x by others, who read it after copies have written it. A
      // scheduler has a quarter of a warpgroup's threads.
      work.shared_wavefronts += 2 * c.number(kBoxesBytes) / f.target.sm.shared_bytes_per_cycle;
      work.instructions += split_instructions(b, c) + c.number(kBoxesBytes) / 16 / 128 * kSplitInstructions;
    }
    // Words that come through registers: each takes as long as a thread needs for it.
    const double batches = c.number(kInputBatches) + c.number(kWindowBatches);
    const double words = c.number(kInputBatches) * c.number(kInputTurn) * c.number(kInputLoads) +
                         c.number(kWindowBatches) * c.number(kWindowTurn) * c.number(kWindowLoads);
    const double brought = batches * f.factors.grad_weight_latency + words * f.factors.grad_weight_row_word;
    const double cycles = std::max(cycles_of(f.target, work), brought) + f.factors.grad_weight_stage;
    return batches > 0 ? f.factors.grad_weight_row_measured * (splits(f.layer) ? kSplitMeasured : 1) * cycles : cycles;
  }
  static double more_seconds(const Facts& f, const Block&, Constants& c) {
    return c[kSumsRows] != 0 ? 0 : bias_seconds(f);
  }
  static std::string positions_text(const Block& b) {
    return fmt::format("{}x{} positions", b.tile_rows, b.tile_columns);
  }
  /// A stage that is split is not on its way nor multiplied meanwhile.
  static Traits traits(const Layer& layer) {
    Traits of = Search::traits(layer);
    of.least_stages = splits(layer) ? kLeastSplitStages : of.least_stages;
    return of;
  }
  /// Each block sums up its part of grad_y, where fragments have each element once.
  static Blocks blocks(const Facts& f) {
    Blocks all = blocks_of(traits(f.layer), f);
    if (all && f.layer.bias) {
      for (Block& b : *all) {
        if (f.of(b)[kSumsRows] != 0) {
          b.bias_slices = b.slices * f.of(b)[kBiasParts];
        }
      }
    }
    return all;
  }
  static void change(AddedSlices& added, Constants& c) { added.sums_channels = c[kSumsRows] == 0; }
  static void bring(LaunchPlan& launch, const Facts& f, const Block& b, Constants& c) {
    // Elements of a row, channels, rows, images: the channels of a row follow one another in a box.
    const auto map = [&](std::string name, Role role, std::int64_t width, std::int64_t channels,
                         std::int64_t all_channels, Quantity height, Quantity image,
                         std::initializer_list<std::int64_t> box, std::int64_t swizzle) {
      MapRecipe recipe{.name = std::move(name), .role = role, .form = map_form(f.layer.dtype, box, swizzle)};
      recipe.sizes = {Amount{.constant = width}, Amount{.constant = channels}, per(height), per(Quantity::kBatch)};
      recipe.pitches = {Amount{}, Amount{.factor = f.bytes, .per = image}, Amount{.constant = width * f.bytes},
                        Amount{.factor = all_channels * f.bytes, .per = image}};
      return recipe;
    };
    const std::int64_t width = *f.columns.extent;
    if (c[kFlat] != 0) {
      launch.maps.push_back(map("x_map", Role::kX, width * *f.rows.extent, f.layer.in_channels,
                                x_tensor_channels(f.layer), Quantity::kOne, Quantity::kInImage,
                                {b.swizzle / f.bytes, b.block_in, 1, 1}, b.swizzle));
    } else if (b.input_copies) {
      launch.maps.push_back(map("x_map", Role::kX, width, f.layer.in_channels, x_tensor_channels(f.layer),
                                Quantity::kInHeight, Quantity::kInImage,
                                {b.swizzle / f.bytes, b.block_in, c[kBoxRows], 1}, b.swizzle));
    }
    if (b.window_copies) {
      launch.maps.push_back(map("grad_y_map", Role::kGradY, output_extent(f.columns, width), f.layer.out_channels,
                                y_tensor_channels(f.layer), Quantity::kOutHeight, Quantity::kOutImage,
                                {c[kWindowPitch], b.block_out, c[kWindowRows], 1}, 0));
      if (c[kSumsRows] != 0 && f.layer.dtype == Dtype::kF32) {
        launch.maps.back().form.element = TensorMap::Element::kF32;  // sums take what is not rounded
      }
    }
    if (splits(f.layer)) {
      for (MapRecipe& recipe : launch.maps) {
        recipe.form.element = TensorMap::Element::kF32;  // nothing is rounded
      }
    }
  }
};

}  // namespace planners::grad_weight_rows

CONVTGEN_TEMPLATE(GradWeightRows, grad_weight_rows);

}  // namespace convtgen
