#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/plan/tensor_maps.h"
#include "generator/planner/search/block_choices.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/planner.h"
#include "generator/planner/search/roofline.h"
#include "generator/planner/search/tensor_cores.h"

namespace convtgen {
namespace planners::patch_gemm {

constexpr std::array<std::int64_t, 3> kChannelChoices = {64, 32, 16};  // of a block
constexpr double kWavefront = 128;                                     // bytes
constexpr std::int64_t kLeastStages = 2, kMostStages = 8;

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK_AND_FACTS(FactsOf, (block_c, 64), (store, 8), (block_k, 64), (stages, kLeastStages));
/// The template's constants that are asked for.
CONVTGEN_CONSTANTS(kThreads, kKSteps, kKBlocks, kTilePixels, kColumns, kNTiles, kBoxColumns, kStageBytes, kWeightBytes,
                   kSharedBytes, kAlignment);

/// Whether the channels of a tap follow one another.
bool has_turned_weights(const Layer& layer) {
  return layer.weight_layout == WeightLayout::kChannelsLast || tap_count(layer) == 1;
}

std::vector<Grid::Bound> bounds_of(const Layer& layer, std::int64_t tile_pixels) {
  std::vector<Grid::Bound> bounds = {{.extent = Quantity::kInPixels, .most = kIntMax - tile_pixels},
                                     {.extent = Quantity::kInHeight, .most = kIntMax / layer.axes[kHeight].stride},
                                     {.extent = Quantity::kInWidth, .most = kIntMax / layer.axes[kWidth].stride}};
  if (layer.dimensions == 3) {
    bounds.push_back({.extent = Quantity::kInDepth, .most = kIntMax / layer.axes[kDepth].stride});
  }
  return bounds;
}

/// The map of x: the pixels of all images, rows of input channels.
MapRecipe pixel_rows(const Facts& f, const Block& b, std::int64_t tile_pixels) {
  return input_map(map_form(f.layer.dtype, {b.block_k, tile_pixels}, b.block_k * f.bytes),
                   {Amount{.constant = f.layer.in_channels}, per(Quantity::kInPixels)},
                   {Amount{}, Amount{.constant = x_tensor_channels(f.layer) * f.bytes}});
}

struct PatchGemm : WarpgroupPlanner<Facts, kConstants, kHalfModes> {
  static constexpr bool kTakesDepth = true;

  static Checks checks(const Layer& layer) {
    const std::int64_t taps = tap_count(layer);
    return {
        check_dense_pixels(layer),
        check_patches(layer),
        require(layer.in_channels % kChannelMultiple == 0 && layer.out_channels % kChannelMultiple == 0,
                "{} input and {} output channels; tensor copies and stores need whole 16 bytes, multiples of {}",
                layer.in_channels, layer.out_channels, kChannelMultiple),
        require(taps <= kMostProductColumns / kChannelChoices.back(),
                "{} taps; a product has at most {} columns, {} channels of {} taps", taps, kMostProductColumns,
                kChannelChoices.back(), kMostProductColumns / kChannelChoices.back()),
        require(has_turned_weights(layer) || taps == 4 || taps == 8 || taps == 16,
                "{} taps of contiguous weights; it takes 4, 8 and 16, and others where the channels of a tap follow "
                "one another",
                taps),
        require(layer.out_channels <= kIntMax / taps,
                "{} output channels of {} taps; at most {} weights of an input channel", layer.out_channels, taps,
                kIntMax)};
  }
  static Blocks blocks(const Facts& f) {
    return BlockChoices(Block{.block_k = row_channels(f.layer)})
        .each(&Block::block_c, kChannelChoices)
        .keep([&](Block& b) {
          const bool is_least = b.block_c == kChannelChoices.back();
          b.store = is_least ? 4 : 8;
          return b.block_c * tap_count(f.layer) <= kMostProductColumns &&
                 (is_least || b.block_c / 2 < f.layer.out_channels) &&
                 fit_stages(f, b, kLeastStages, kMostStages, kSharedBytes, f.target.max_shared_bytes);
        })
        .or_fail("{} input channels; the weights of {} channels of {} taps do not fit shared memory",
                 f.layer.in_channels, kChannelChoices.back(), tap_count(f.layer));
  }
  static double seconds(const Facts& f, const Block&, Constants& c) {
    const double pixels = static_cast<double>(f.sizes.batch * f.sizes.extents[kDepth] * f.sizes.extents[kHeight]) *
                          static_cast<double>(f.sizes.extents[kWidth]);
    // Shared memory gives products their operands, 32 bytes deep, and takes the pixels.
    const double wavefronts =
        c.number(kKBlocks) * (c.number(kKSteps) * (16 + c.number(kColumns) / 4) + c.number(kStageBytes) / kWavefront);
    const double tile = std::max({c.number(kKBlocks) * c.number(kKSteps) * product_cycles(f.target, c[kColumns]),
                                  wavefronts * f.factors.patch_wavefront,
                                  c.number(kKBlocks) * c.number(kStageBytes) / f.factors.overlap_l2,
                                  c.number(kKBlocks) * c.number(kTilePixels) * f.factors.overlap_row}) +
                        c.number(kKBlocks) * f.factors.patch_stage;
    const std::int64_t blocks = std::max<std::int64_t>(1, f.target.multiprocessors / c[kNTiles]);  // of the same pixels
    const double tiles = std::ceil(std::ceil(pixels / c.number(kTilePixels)) / static_cast<double>(blocks)) *
                         static_cast<double>(ceil_div(blocks * c[kNTiles], f.target.multiprocessors));
    return call_seconds(f, {.first_cycles = f.factors.overlap_begin +
                                            c.number(kKBlocks) * c.number(kWeightBytes) / f.factors.patch_weights,
                            .waves = tiles,
                            .wave_cycles = tile,
                            .measured = f.factors.patch_measured});
  }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    return {
        fmt::format("a block makes the outputs of {} pixels at a time, of {} channels; {} taps", c[kTilePixels],
                    std::min(b.block_c, f.layer.out_channels), tap_count(f.layer)),
        fmt::format("tensor cores: products of {} pixels x {} taps of channels, from shared memory; {} stages of "
                    "{} input channels, weights resident, warpgroups in turn",
                    c[kTilePixels], c[kColumns], b.stages, b.block_k),
        {.axes = {{per(Quantity::kInPixels), c[kTilePixels]}},
         .blocks_per_tile = c[kNTiles],
         .most_tiles = std::max<std::int64_t>(1, f.target.multiprocessors / c[kNTiles]),
         .bounds = bounds_of(f.layer, c[kTilePixels])},
        {pixel_rows(f, b, c[kTilePixels]), weight_map(f.layer, has_turned_weights(f.layer), c[kBoxColumns], b.block_k)},
        c[kAlignment]};
  }
};

}  // namespace planners::patch_gemm

CONVTGEN_TEMPLATE(PatchGemm, patch_gemm);

}  // namespace convtgen
