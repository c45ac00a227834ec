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

constexpr std::int64_t kRowChannels = 64;       // output channels of a stage: a row of 128 bytes
constexpr std::int64_t kColumnMultiple = 32;    // of a tile's input channels
constexpr std::int64_t kThreeGroups = 192;      // positions of a tile that three warpgroups make
constexpr std::int64_t kMostOfThree = 128;      // its input channels: a thread has 64 accumulators
constexpr std::int64_t kOpenAccumulators = 96;  // the same, with places to find among open sizes for two tiles of rows
constexpr std::int64_t kLeastStages = 3, kMostStages = 8;
constexpr std::int64_t kMostCopiers = 4;                         // blocks of a cluster that share copies
constexpr std::int64_t kLeastBox = 8;                            // positions: the rows of a swizzle pattern
constexpr std::int64_t kSharingBox = 64;                         // positions of a product: depth taps can share it
constexpr std::int64_t kMostBlockBytes = std::int64_t{1} << 30;  // an int's, of the packed weights of a block

/// The block, as the template's parameters of the same names.
CONVTGEN_BLOCK(Block, (block_m, 128), (block_n, 32), (block_k, 64), (box_n, 1), (box_h, 1), (box_w, 8),
               (stages, kLeastStages), (cluster, 1), (sliced, false));
/// The template's constants that are asked for.
CONVTGEN_CONSTANTS(kMostAccumulators, kThreads, kConsumers, kInstructionK, kKSteps, kTileStages, kNTiles, kMTiles,
                   kBoxes, kInputBytes, kSharedWeightBytes, kSharedBytes, kPackedTileBytes, kPackedBytes, kAlignment,
                   kMapRank, kSharers, kMostSharers, kShares, kReach, kFirstTaps, kCopiers, kSlices, kStoredChannels,
                   kReceivedBytes);

struct Facts : FactsOf<Block> {
  /// Whether a box has planes of one image; else it has images.
  bool has_planes = this->of({})[kMapRank] == kMaxTensorRank;
  /// Whether taps of the depth can share what a stage has of grad_y.
  bool may_share = has_planes && this->of({})[kSharers] > 1 && this->of({})[kSharers] <= this->of({})[kMostSharers];
};

/// Boxes of all positions.
std::int64_t all_boxes(const Facts& f, const Block& b) {
  const std::int64_t images =
      f.has_planes ? f.sizes.batch * ceil_div(f.sizes.extents[kDepth], b.box_n) : ceil_div(f.sizes.batch, b.box_n);
  return images * ceil_div(f.sizes.extents[kHeight], b.box_h) * ceil_div(f.sizes.extents[kWidth], b.box_w);
}

/// Clusters of so many blocks that find places at a time: the SMs of a GPC, 16 or 18, are no multiple of four.
std::int64_t clusters_at_once(const Target& target, std::int64_t cluster) {
  const std::int64_t sms = target.multiprocessors;
  return (cluster <= 2 ? sms : sms * 30 / 33) / cluster;
}

/// The boxes, of at most box_w positions, that cover the positions by the fewest rows of stages, of these the largest,
/// and of these the nearest to squares. Strides count in what a copy spans.
void choose_box(const Facts& f, Block& b) {
  const auto spans = [](std::int64_t size, std::int64_t stride) { return (size - 1) * stride + 1 <= kMostBox; };
  const std::int64_t planes_stride = f.has_planes ? f.layer.axes[kDepth].stride : 1;
  std::array<std::int64_t, 3> best = {};
  Block chosen = b;
  const std::int64_t most = b.block_m & -b.block_m;  // a power of two
  for (std::int64_t positions = std::min(most, b.box_w); positions >= kLeastBox; positions /= 2) {
    const std::int64_t count = b.block_m / positions;
    for (std::int64_t n = 1; n <= positions; n *= 2) {
      for (std::int64_t w = 1; n * w <= positions; w *= 2) {
        Block tried = b;
        tried.box_n = n;
        tried.box_w = w;
        tried.box_h = positions / (n * w);
        std::int64_t planes = n, rows = b.block_m;
        if (f.may_share) {
          Constants& c = f.of(tried);
          planes += c[kReach];
          rows = count * planes * tried.box_h * tried.box_w * c[kFirstTaps];
        }
        const std::array cost = {ceil_div(all_boxes(f, tried), count) * rows, count, tried.box_h + tried.box_w};
        if (spans(planes, planes_stride) && spans(w, f.columns.stride) && spans(tried.box_h, f.rows.stride) &&
            (best[1] == 0 || cost < best)) {
          best = cost;
          chosen = tried;
        }
      }
    }
  }
  b = chosen;
}

/// Input channels of a tile. A thread of two warpgroups has 168 registers, of three 128.
std::int64_t most_columns(const Facts& f, std::int64_t block_m) {
  const bool is_open = !f.layer.axes[kDepth].extent || !f.rows.extent || !f.columns.extent;
  if (block_m == kThreeGroups) {
    return kMostOfThree;
  }
  const std::int64_t accumulators = block_m > 128 && is_open ? kOpenAccumulators : f.of({})[kMostAccumulators];
  return std::min(kMostProductColumns, accumulators * 256 / block_m);
}

/// The least input channels of a tile for each number of tiles that have all.
std::set<std::int64_t> block_n_sizes(const Facts& f, std::int64_t block_m) {
  const std::int64_t most = most_columns(f, block_m);
  std::set<std::int64_t> sizes;
  for (std::int64_t size = kColumnMultiple; size <= most; size += kColumnMultiple) {
    sizes.insert(round_up(ceil_div(f.layer.in_channels, ceil_div(f.layer.in_channels, size)), kColumnMultiple));
  }
  return sizes;
}

Result<void> check_whole_vectors(std::string_view name, std::int64_t channels) {
  return require(channels % 8 == 0, "{} {} channels; tensor copies and stores need whole 16 bytes, multiples of 8",
                 channels, name);
}

/// Whether the blocks of a cluster may share a tile: tiles are fewer than SMs, and each block has stages enough and
/// channels to store.
bool may_slice(const Facts& f, const Block& b) {
  Constants& c = f.of(b);
  const std::int64_t blocks = ceil_div(all_boxes(f, b), c[kBoxes]) * c[kNTiles] * b.cluster;
  return !f.has_planes && blocks <= clusters_at_once(f.target, b.cluster) * b.cluster &&
         c[kStoredChannels] % kColumnMultiple == 0 && c[kTileStages] >= 2 * b.cluster * b.stages;
}

struct TapGemm : WarpgroupPlanner<Facts, kConstants, kHalfModes> {
  static constexpr Direction kDirection = Direction::kGradInput;
  static constexpr bool kTakesDepth = true;

  static Checks checks(const Layer& layer) {
    const std::int64_t stride =
        std::max({layer.axes[kDepth].stride, layer.axes[kHeight].stride, layer.axes[kWidth].stride});
    return {require(layer.layout == Layout::kNhwc, "NCHW; tensor copies of a pixel's channels need channels last"),
            check_one_group(layer),
            check_whole_vectors("input", layer.in_channels),
            check_whole_vectors("output", layer.out_channels),
            require(stride > 1,
                    "stride 1; the gradient is a forward layer, whose templates read the input once for all taps"),
            require(stride <= kMostStep, "stride {}; at most {}, which the elements of a tensor copy are apart", stride,
                    kMostStep)};
  }
  static Parameters parameters(const Problem& problem) {
    Parameters p = with_depth(scalar_parameters(problem.layer, Direction::kGradInput), problem.layer);
    for (const std::string_view name : {"Sum", "Offset", "element_kind"}) {
      p.erase(p.find(name));
    }
    p.emplace("type", product_type(problem.layer.dtype));
    return with_store(std::move(p), 8);
  }
  static Blocks blocks(const Facts& f) {
    // Half of a row is worth it where the other half would be zeros.
    const bool is_half = round_up(f.layer.out_channels, kRowChannels) != round_up(f.layer.out_channels, 32);
    return BlockChoices(Block())
        .each(&Block::block_k, is_half ? std::vector{kRowChannels, kRowChannels / 2} : std::vector{kRowChannels})
        .each(&Block::block_m,
              f.has_planes ? std::vector<std::int64_t>{128, 256} : std::vector<std::int64_t>{128, kThreeGroups, 256})
        .each(&Block::block_n, [&](const Block& b) { return block_n_sizes(f, b.block_m); })
        // With planes, clusters gain nothing: within 3 % on an H200.
        .each(&Block::cluster, f.has_planes ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{1, 2, 4, 8})
        .each(&Block::sliced,
              [](const Block& b) {
                return b.cluster == 1             ? std::vector{false}
                       : b.cluster > kMostCopiers ? std::vector{true}
                                                  : std::vector{false, true};
              })
        .each(&Block::box_w, f.may_share ? std::vector{kMostBox, kSharingBox / 2} : std::vector{kMostBox})
        .keep([&](Block& b) {
          choose_box(f, b);
          return fit_stages(f, b, kLeastStages, kMostStages, kSharedBytes, f.target.max_shared_bytes) &&
                 f.of(b)[kPackedTileBytes] <= kMostBlockBytes && (!b.sliced || may_slice(f, b));
        })
        .or_fail("packed weights of more than {} MiB of a block", kMostBlockBytes >> 20);
  }
  /// Boxes of a few positions may be the best of all.
  static bool alike(const Block& one, const Block& other) { return one == other; }
  static double seconds(const Facts& f, const Block& b, Constants& c) {
    const std::int64_t tiles = ceil_div(all_boxes(f, b), c[kBoxes] * c[kCopiers]) * c[kNTiles];
    const std::int64_t blocks = tiles * b.cluster;
    const std::int64_t at_once = clusters_at_once(f.target, b.cluster);
    // Taps of a stage, on average.
    const double taps = static_cast<double>(tap_count(f.layer)) / c.number(kFirstTaps);
    const double groups = c.number(kConsumers) / 128;  // warps of a scheduler, too
    const double products = taps * c.number(kKSteps) * groups * c.number(kMTiles);
    const auto columns = static_cast<double>(b.block_n);
    const double bytes = c.number(kInputBytes) + taps * c.number(kSharedWeightBytes);
    // Where few SMs ask, each gets more, at most twice as much.
    const double asking = std::clamp(
        static_cast<double>(std::min(blocks, at_once * b.cluster)) / static_cast<double>(f.target.multiprocessors), 0.5,
        1.0);
    const double stage = std::max({products * product_cycles(f.target, b.block_n),
                                   // A product reads 64 positions and its columns, of 32 bytes each.
                                   products * (16 + columns / 4) + c.number(kInputBytes) / 128 +
                                       taps * columns * static_cast<double>(b.block_k) / 64,
                                   c.number(kBoxes) * f.factors.tap_copy, bytes * asking / f.factors.tap_l2,
                                   f.factors.gemm_latency / static_cast<double>(b.stages - 1)}) +
                         f.factors.tap_stage;
    const double outputs = c.number(kMTiles) * columns / 2;  // of a thread
    const std::int64_t waves = ceil_div(tiles, at_once);
    const auto stages = static_cast<double>(ceil_div(c[kTileStages], c[kSlices]));
    const double exchange = b.sliced ? reduction_cycles(f.target, c[kReceivedBytes], b.cluster) : 0;
    return call_seconds(
        f, {.packed_bytes = c.number(kPackedBytes),
            .first_cycles = f.factors.tap_begin,
            .waves = static_cast<double>(waves),
            .wave_cycles = stages * stage + exchange + groups * outputs / c.number(kSlices) * f.factors.tap_output,
            .measured = f.factors.tap_measured * (b.block_k < kRowChannels ? f.factors.tap_half_rows : 1)});
  }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    const std::int64_t images = f.has_planes ? 1 : b.box_n;
    // The positions of a box are a stride apart.
    const MapRecipe map =
        pixel_map(f.layer, Role::kGradY, {b.block_k, b.box_w, b.box_h, images}, {f.columns.stride, f.rows.stride});
    // A cluster has several boxes: of few boxes more clusters are launched than have work.
    Grid grid = {.axes = {{per(Quantity::kInHeight), b.box_h},
                          {per(Quantity::kInWidth), b.box_w},
                          {per(Quantity::kBatch), b.box_n},
                          {{.constant = c[kNTiles]}, 1}},
                 .blocks_per_tile = b.cluster,
                 .most_tiles = clusters_at_once(f.target, b.cluster),
                 .bounds = staged_bounds(f.layer, b.box_h, b.box_w)};
    if (f.has_planes) {
      grid.axes.resize(2);
      grid.axes.push_back({{.factor = c[kNTiles], .per = Quantity::kBatch}, 1});
      grid = by_planes(std::move(grid), f.layer, Quantity::kInDepth, b.box_n);
    }
    return {
        fmt::format("a block makes {} inputs of {} channels; {} taps", b.block_m,
                    std::min(b.block_n, f.layer.in_channels), tap_count(f.layer)),
        fmt::format("tensor cores: products of 64x{}x{}, {} a warpgroup, from shared memory; {} stages of {} output "
                    "channels of {}, in boxes of {}x{}x{}{}",
                    b.block_n, c[kInstructionK], c[kMTiles], b.stages, b.block_k,
                    c[kShares] != 0 ? fmt::format("up to {} taps of the depth", c[kSharers]) : "a tap", b.box_n,
                    b.box_h, b.box_w,
                    b.sliced        ? fmt::format(", shared by clusters of {} blocks", b.cluster)
                    : b.cluster > 1 ? fmt::format(", weights copied by clusters of {} blocks", b.cluster)
                                    : ""),
        std::move(grid),
        {f.has_planes ? volume_map(map, f.layer, b.box_n + c[kReach], f.layer.axes[kDepth].stride) : map}};
  }
};

}  // namespace planners::tap_gemm

CONVTGEN_TEMPLATE(TapGemm, tap_gemm);

}  // namespace convtgen
