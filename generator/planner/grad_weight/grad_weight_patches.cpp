#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/grad_weight/search.h"
#include "generator/planner/plan/tensor_maps.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/roofline.h"
#include "generator/planner/search/tensor_cores.h"

namespace convtgen {
namespace planners::grad_weight_patches {

using namespace convtgen::grad_weight;

constexpr std::int64_t kMostOfStage = 256;       // positions
constexpr std::int64_t kMostAccumulators = 128;  // of a thread, of 384
constexpr double kWavefront = 128;               // bytes

inline constexpr auto kMembers = joined(kCommonMembers, CONVTGEN_MEMBERS(flat, promote_stages));

/// The template's own constants that are wanted.
CONVTGEN_MORE_CONSTANTS(OwnConstant, kOwnNames, kConstantCount, kInBox, kRowBox, kCopiedBytes, kBiasParts, kSumLanes,
                        kAddParts, kAddSharedBytes);
inline constexpr auto kNames = joined(kConstants, kOwnNames);

/// The planes of all images, where their number is known.
std::optional<std::int64_t> known_planes(const Layer& layer) {
  const std::optional<std::int64_t> depth = layer.dimensions == 3 ? layer.axes[kDepth].extent : 1;
  return layer.batch && depth ? std::optional(*layer.batch * *depth) : std::nullopt;
}
/// The rows of all images as one sequence.
std::optional<std::int64_t> all_rows(const Layer& layer) {
  const std::optional<std::int64_t> planes = known_planes(layer);
  const std::optional<std::int64_t> rows = symmetric(layer.axes[kHeight]).extent;
  if (layer.axes[kDepth].kernel > 1 || !planes || !rows || *planes == 0 || *rows > kIntMax / 2 / *planes) {
    return std::nullopt;
  }
  return *planes * *rows;
}

/// Rows of a plane and planes, as tensor maps count them. A copy is of one plane, never past the last: maps of
/// volumes of an open size may have more than there are, as many as positions.
std::array<Amount, 2> rows_and_planes(const Facts& f, const Block& b) {
  if (b.flat) {
    return {Amount{.constant = *all_rows(f.layer)}, Amount{.constant = 1}};
  }
  const std::optional<std::int64_t> planes = known_planes(f.layer);
  return {per(Quantity::kInHeight), f.layer.dimensions < 3 ? per(Quantity::kBatch)
                                    : planes               ? Amount{.constant = *planes}
                                                           : per(Quantity::kInPixels)};
}

/// The map of x: rows of channels, positions, rows and planes.
MapRecipe map_of_input(const Facts& f, const Block& b, Constants& c) {
  const std::int64_t pixel = x_tensor_channels(f.layer) * f.bytes;
  const auto [rows, planes] = rows_and_planes(f, b);
  return input_map(map_form(f.layer.dtype, {c[kInBox], b.tile_columns, b.tile_rows, 1}, c[kInBox] * f.bytes),
                   {Amount{.constant = f.layer.in_channels}, per(Quantity::kInWidth), rows, planes},
                   {Amount{}, Amount{.constant = pixel}, Amount{.factor = pixel, .per = Quantity::kInWidth},
                    Amount{.factor = pixel, .per = Quantity::kInPlane}});
}
/// The map of grad_y: taps of a row by channels, positions, rows of taps, rows, and planes.
MapRecipe map_of_patches(const Facts& f, const Block& b, Constants& c) {
  const std::int64_t all = y_tensor_channels(f.layer), pixel = all * f.bytes;
  const std::int64_t kd = f.layer.axes[kDepth].kernel, kh = f.rows.kernel, kw = f.columns.kernel;
  const auto [rows, planes] = rows_and_planes(f, b);
  const Amount all_planes = {.constant = planes.constant * kd, .factor = planes.factor * kd, .per = planes.per};
  return {.name = "grad_y_map",
          .role = Role::kGradY,
          .form = map_form(f.layer.dtype, {c[kRowBox], b.tile_columns, 1, b.tile_rows, 1}, c[kRowBox] * f.bytes),
          .sizes = {Amount{.constant = all * (kw - 1) + f.layer.out_channels}, per(Quantity::kInWidth),
                    Amount{.constant = kh}, rows, all_planes},
          .pitches = {Amount{}, Amount{.constant = pixel * kw}, Amount{.factor = pixel, .per = Quantity::kOutWidth},
                      Amount{.factor = pixel * kh, .per = Quantity::kOutWidth},
                      Amount{.factor = pixel, .per = Quantity::kOutPlane}}};
}

struct GradWeightPatches : Search<GradWeightPatches, kMembers, kNames> {
  static constexpr auto& kComputes = kHalfModes;
  static constexpr bool kTakesDepth = true;
  static constexpr Block kSmallest = {.block_in = 16};
  static constexpr std::string_view kSmallestStages = "two stages of 16 positions";
  static constexpr std::int64_t kInMultiple = 16, kMostStages = 8;

  static Checks checks(const Layer& layer) {
    return {check_dense_pixels(layer), check_patches(layer),
            require(layer.in_channels % kChannelMultiple == 0 && layer.out_channels % kChannelMultiple == 0,
                    "{} input and {} output channels; tensor copies need whole 16 bytes, multiples of {}",
                    layer.in_channels, layer.out_channels, kChannelMultiple)};
  }
  static constexpr double CostFactors::* kMeasured = &CostFactors::grad_weight_patch_measured;

  static std::vector<Block> warpgroups(const Facts& f, Block only) {
    only.flat = all_rows(f.layer).has_value();
    const bool parts_plane = f.layer.axes[kDepth].kernel > 1 && f.rows.kernel % only.taps_h != 0;
    return std::vector<Block>(parts_plane ? 0 : 1, only);
  }
  /// Whole rows and parts of them. After them a stage has zeros, at most an eighth of it.
  static std::vector<Block> positions(const Facts& f, Block tile) {
    const std::int64_t width = f.sizes.extents[kWidth], k = f.of(tile)[kInstructionK];
    std::vector<std::int64_t> columns = {8, k, 2 * k, 3 * k, 4 * k, 5 * k, 8 * k};
    if (width < 4 * k) {
      columns.insert(columns.end(), {ceil_div(width, 2), ceil_div(width, 3)});
    }
    std::erase_if(columns, [&](std::int64_t each) { return each >= width; });
    columns.push_back(f.columns.extent ? width : round_up(width, k));
    std::ranges::sort(columns);
    columns.erase(std::ranges::unique(columns).begin(), columns.end());
    const std::int64_t all = tile.flat ? *all_rows(f.layer) : f.sizes.extents[kHeight];
    std::vector<Block> tiles;
    for (const std::int64_t each : columns) {
      tile.tile_columns = each;
      for (std::int64_t rows = 1; rows * each <= kMostOfStage && rows < 2 * all; rows *= 2) {
        tile.tile_rows = rows;
        if (round_up(rows * each, k) * 7 <= rows * each * 8 || rows >= all) {
          tiles.push_back(tile);
        }
      }
    }
    return tiles;
  }
  static bool fits_registers(const Facts&, const Block&, Constants& c) { return c[kAccumulators] <= kMostAccumulators; }
  static bool fits_stage(const Facts& f, const Block& b, Constants& c) {
    const bool sums_rows = !f.layer.bias || c[kSumLanes] > 0;  // a thread sums up one vector of rows
    // Whole rows of taps are adjacent channels where grad_y has no others between them.
    const bool are_adjacent = !f.layer.y_channels || b.taps_w < f.columns.kernel || f.columns.kernel == 1 ||
                              b.block_out < f.layer.out_channels;
    return are_adjacent && c[kKSteps] * c[kOwnTiles] <= kMostProducts && b.tile_columns <= kMostBox &&
           b.tile_rows <= kMostBox && sums_rows;
  }
  static std::int64_t tiles(const Facts& f, const Block& b) {
    const std::int64_t rows =
        b.flat ? ceil_div(*all_rows(f.layer), b.tile_rows)
               : f.sizes.batch * f.sizes.extents[kDepth] * ceil_div(f.sizes.extents[kHeight], b.tile_rows);
    return rows * ceil_div(f.sizes.extents[kWidth], b.tile_columns);
  }
  static double stage_cycles(const Facts& f, const Block& b, Constants& c) {
    StageWork work = multiplied(f, b, c, 1);
    work.instructions = 0;  // operands come from shared memory
    work.shared_wavefronts += c.number(kCopiedBytes) / kWavefront;
    const double copied = c.number(kCopiedBytes) / f.factors.grad_weight_patch_l2;
    const double cycles = std::max(cycles_of(f.target, work), copied) + f.factors.grad_weight_patch_stage;
    // A stage's place has its copies, and then its products.
    const double turn = f.factors.grad_weight_patch_latency + copied + cycles;
    return std::max(cycles, turn / static_cast<double>(b.stages));
  }
  /// Slices are stored element by element. Those of some of a channel's taps are pieces of sectors.
  static double more_seconds(const Facts& f, const Block& b, Constants& c) {
    constexpr std::int64_t kSectorSums = 8;
    const std::int64_t adjacent = f.layer.weight_layout == WeightLayout::kChannelsLast           ? b.block_out
                                  : b.taps_w != f.columns.kernel                                 ? b.taps_w
                                  : b.taps_h != f.rows.kernel || f.layer.axes[kDepth].kernel > 1 ? b.taps_h * b.taps_w
                                                                                                 : kSectorSums;
    const double count = static_cast<double>(b.slices) * c.number(kWeights);
    return b.slices == 1 || adjacent >= kSectorSums
               ? 0
               : count / static_cast<double>(adjacent) / (f.factors.grad_weight_patch_pieces * 1e9);
  }
  static std::string positions_text(const Block& b) {
    return fmt::format("{}x{} positions", b.tile_rows, b.tile_columns);
  }
  /// Each block sums up some of its slice's grad_y.
  static Blocks blocks(const Facts& f) {
    Blocks all = blocks_of(traits(f.layer), f);
    if (all && f.layer.bias) {
      for (Block& b : *all) {
        b.bias_slices = b.slices * f.of(b)[kBiasParts];
      }
    }
    return all;
  }
  static void change(AddedSlices& added, Constants& c) {
    added.sums_channels = false;
    added.add_parts = c[kAddParts];
    added.add_shared_bytes = c[kAddSharedBytes];
  }
  static void bring(LaunchPlan& launch, const Facts& f, const Block& b, Constants& c) {
    launch.maps = {map_of_input(f, b, c), map_of_patches(f, b, c)};
    if (f.layer.dimensions == 3) {
      launch.kernels.front().grid.bounds.push_back(
          {.extent = Quantity::kInPixels, .most = kIntMax / f.layer.axes[kDepth].kernel});
    }
  }
};

}  // namespace planners::grad_weight_patches

CONVTGEN_TEMPLATE(GradWeightPatches, grad_weight_patches);

}  // namespace convtgen
