#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/plan/tensor_maps.h"
#include "generator/planner/search/block_choices.h"
#include "generator/planner/search/bounds.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "generator/planner/search/planner.h"
#include "generator/planner/search/roofline.h"
#include "generator/planner/search/scalar.h"
#include "generator/planner/search/tensor_cores.h"

namespace convtgen {
namespace planners::tap_gemm {

constexpr std::int64_t kColumnMultiple = 32;    // of a tile's input channels
constexpr std::int64_t kOpenAccumulators = 96;  // the same, with places to find among open sizes for two tiles of rows
constexpr std::int64_t kLeastStages = 3, kMostStages = 8;
constexpr std::int64_t kLeastBox = 8;                            // positions: the rows of a swizzle pattern
constexpr std::int64_t kMostBlockBytes = std::int64_t{1} << 30;  // an int's, of the packed weights of a block

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK_AND_FACTS(FactsOf, (block_m, 128), (block_n, 32), (block_k, 64), (box_n, 1), (box_h, 1), (box_w, 8),
                         (stages, kLeastStages), (cluster, 1));
/// The template's constants that are asked for.
CONVTGEN_CONSTANTS(kMostAccumulators, kThreads, kInstructionK, kKSteps, kTileStages, kNTiles, kMTiles, kBoxes,
                   kInputBytes, kSharedWeightBytes, kSharedBytes, kPackedTileBytes, kPackedBytes, kAlignment);

/// Boxes of all positions.
std::int64_t all_boxes(const Facts& f, const Block& b) {
  return ceil_div(f.sizes.batch, b.box_n) * ceil_div(f.sizes.extents[kHeight], b.box_h) *
         ceil_div(f.sizes.extents[kWidth], b.box_w);
}

/// Clusters of so many blocks that find places at a time: the SMs of a GPC, 16 or 18, are no multiple of four.
std::int64_t clusters_at_once(const Target& target, std::int64_t cluster) {
  const std::int64_t sms = target.multiprocessors;
  return (cluster <= 2 ? sms : sms * 30 / 33) / cluster;
}

/// The boxes that cover the positions by the fewest tiles, of these the largest, and of these the nearest to squares.
/// Strides count in what a copy spans.
void choose_box(const Facts& f, Block& b) {
  const auto spans = [](std::int64_t size, std::int64_t stride) { return (size - 1) * stride + 1 <= kMostBox; };
  std::array<std::int64_t, 3> best = {};
  Block chosen = b;
  for (std::int64_t positions = b.block_m; positions >= kLeastBox; positions /= 2) {
    const std::int64_t count = b.block_m / positions;
    for (std::int64_t n = 1; n <= positions; n *= 2) {
      for (std::int64_t w = 1; n * w <= positions; w *= 2) {
        Block tried = b;
        tried.box_n = n;
        tried.box_w = w;
        tried.box_h = positions / (n * w);
        const std::array cost = {ceil_div(all_boxes(f, tried), count), count, tried.box_h + tried.box_w};
        if (spans(w, f.columns.stride) && spans(tried.box_h, f.rows.stride) && (best[1] == 0 || cost < best)) {
          best = cost;
          chosen = tried;
        }
      }
    }
  }
  b = chosen;
}

/// Of a thread, which has 168 registers.
std::int64_t most_accumulators(const Facts& f, std::int64_t block_m) {
  const bool is_open = !f.rows.extent || !f.columns.extent;
  return block_m > 128 && is_open ? kOpenAccumulators : f.of({})[kMostAccumulators];
}

/// The least input channels of a tile for each number of tiles that have all.
std::set<std::int64_t> block_n_sizes(const Facts& f, std::int64_t block_m) {
  const std::int64_t most = std::min(kMostProductColumns, most_accumulators(f, block_m) * 256 / block_m);
  std::set<std::int64_t> sizes;
  for (std::int64_t size = kColumnMultiple; size <= most; size += kColumnMultiple) {
    sizes.insert(round_up(ceil_div(f.layer.in_channels, ceil_div(f.layer.in_channels, size)), kColumnMultiple));
  }
  return sizes;
}

Result<void> check_whole_vectors(std::string_view name, std::int64_t channels) {
  return require(channels % 8 == 0, "{} {} channels; tensor copies and stores want whole 16 bytes, multiples of 8",
                 channels, name);
}

struct TapGemm : WarpgroupPlanner<Facts, kConstants, kHalfModes> {
  static constexpr Direction kDirection = Direction::kGradInput;

  static Checks checks(const Layer& layer) {
    const std::int64_t stride = std::max(layer.axes[kHeight].stride, layer.axes[kWidth].stride);
    return {require(layer.layout == Layout::kNhwc, "NCHW; tensor copies of a pixel's channels want channels last"),
            check_one_group(layer),
            check_whole_vectors("input", layer.in_channels),
            check_whole_vectors("output", layer.out_channels),
            require(stride > 1,
                    "stride 1; the gradient is a forward layer, whose templates read the input once for all taps"),
            require(stride <= kMostStep, "stride {}; at most {}, which the elements of a tensor copy are apart", stride,
                    kMostStep)};
  }
  static Parameters parameters(const Problem& problem) {
    Parameters p = scalar_parameters(problem.layer, Direction::kGradInput);
    for (const std::string_view name : {"Sum", "Offset", "element_kind"}) {
      p.erase(p.find(name));
    }
    p.emplace("type", product_type(problem.layer.dtype));
    return with_store(std::move(p), 8);
  }
  static Blocks blocks(const Facts& f) {
    // Half of a row is worth it where the other half would be zeros.
    const bool is_half = round_up(f.layer.out_channels, 64) != round_up(f.layer.out_channels, 32);
    return BlockChoices(Block())
        .each(&Block::block_k, is_half ? std::vector{64, 32} : std::vector{64})
        .each(&Block::block_m, {128, 256})
        .each(&Block::block_n, [&](const Block& b) { return block_n_sizes(f, b.block_m); })
        .each(&Block::cluster, {1, 2, 4})
        .keep([&](Block& b) {
          choose_box(f, b);
          return fit_stages(f, b, kLeastStages, kMostStages, kSharedBytes, f.target.max_shared_bytes) &&
                 f.of(b)[kPackedTileBytes] <= kMostBlockBytes;
        })
        .or_fail("packed weights of more than {} MiB of a block", kMostBlockBytes >> 20);
  }
  static double seconds(const Facts& f, const Block& b, Constants& c) {
    const std::int64_t tiles = ceil_div(all_boxes(f, b), c[kBoxes] * b.cluster) * c[kNTiles];
    const std::int64_t blocks = tiles * b.cluster;
    const std::int64_t at_once = clusters_at_once(f.target, b.cluster);
    const double products = c.number(kKSteps) * 2 * c.number(kMTiles);
    const auto columns = static_cast<double>(b.block_n);
    const double bytes = c.number(kInputBytes) + c.number(kSharedWeightBytes);
    // Where few SMs ask, each gets more, at most twice as much.
    const double asking = std::clamp(
        static_cast<double>(std::min(blocks, at_once * b.cluster)) / static_cast<double>(f.target.multiprocessors), 0.5,
        1.0);
    const double stage = std::max({products * product_cycles(f.target, b.block_n),
                                   // A product reads 64 positions and its columns, of 32 bytes each.
                                   products * (16 + columns / 4) +
                                       static_cast<double>(b.block_m + b.block_n) * static_cast<double>(b.block_k) / 64,
                                   c.number(kBoxes) * f.factors.tap_copy, bytes * asking / f.factors.tap_l2,
                                   f.factors.gemm_latency / static_cast<double>(b.stages - 1)}) +
                         f.factors.tap_stage;
    const double outputs = c.number(kMTiles) * columns / 2;  // of a thread; a scheduler has two warps
    const std::int64_t waves = ceil_div(tiles, at_once);
    return call_seconds(f, {.packed_bytes = c.number(kPackedBytes),
                            .first_cycles = f.factors.tap_begin,
                            .waves = static_cast<double>(waves),
                            .wave_cycles = c.number(kTileStages) * stage + 2 * outputs * f.factors.tap_output,
                            .measured = f.factors.tap_measured});
  }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    // A cluster has several boxes: of few boxes more clusters are launched than have work. The positions of a box are a
    // stride apart.
    return {
        fmt::format("a block makes {} inputs of {} channels; {} taps", b.block_m,
                    std::min(b.block_n, f.layer.in_channels), tap_count(f.layer)),
        fmt::format("tensor cores: products of 64x{}x{}, {} a warpgroup, from shared memory; {} stages of {} output "
                    "channels of a tap, in boxes of {}x{}x{}{}",
                    b.block_n, c[kInstructionK], c[kMTiles], b.stages, b.block_k, b.box_n, b.box_h, b.box_w,
                    b.cluster > 1 ? fmt::format(", weights copied by clusters of {} blocks", b.cluster) : ""),
        {.axes = {{per(Quantity::kInHeight), b.box_h},
                  {per(Quantity::kInWidth), b.box_w},
                  {per(Quantity::kBatch), b.box_n},
                  {{.constant = c[kNTiles]}, 1}},
         .blocks_per_tile = b.cluster,
         .most_tiles = clusters_at_once(f.target, b.cluster),
         .bounds = staged_bounds(f.layer, b.box_h, b.box_w)},
        {pixel_map(f.layer, Role::kGradY, {b.block_k, b.box_w, b.box_h, b.box_n}, {f.columns.stride, f.rows.stride})}};
  }
};

}  // namespace planners::tap_gemm

CONVTGEN_TEMPLATE(TapGemm, tap_gemm);

}  // namespace convtgen
