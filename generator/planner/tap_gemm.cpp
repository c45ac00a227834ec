#include "generator/planner/tap_gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/gemm_block.h"
#include "generator/planner/integers.h"
#include "generator/planner/pixel_facts.h"
#include "generator/planner/roofline.h"
#include "generator/planner/scalar.h"
#include "generator/planner/tensor_cores.h"
#include "generator/planner/tensor_maps.h"

namespace convtgen {
namespace {

constexpr std::array kComputes = {Compute::kF16, Compute::kBf16};
constexpr std::int64_t kChannelMultiple = 32;    // of a tile's input channels
constexpr std::int64_t kMostColumns = 256;       // of a product
constexpr std::int64_t kMostAccumulators = 128;  // of a thread
constexpr std::int64_t kOpenAccumulators = 96;   // the same, with places to find among open sizes for two tiles of rows
constexpr std::int64_t kLeastStages = 3, kMostStages = 8;
constexpr std::int64_t kMostBox = 256;                           // elements of an axis that a tensor copy spans
constexpr std::int64_t kMostStep = 8;                            // from an element to the next one that it brings
constexpr std::int64_t kLeastBox = 8;                            // positions: the rows of a swizzle pattern
constexpr std::int64_t kMostBlockBytes = std::int64_t{1} << 30;  // an int's, of the packed weights of a block

/// The block, as the template's parameters of the same names.
struct Block {
  bool operator==(const Block&) const = default;

  std::int64_t block_m = 128, block_n = 32, block_k = 64;
  std::int64_t box_n = 1, box_h = 1, box_w = 8;
  std::int64_t stages = kLeastStages, cluster = 1;
};
using Member = BlockMember<Block>;
constexpr std::array kMembers = {Member{"block_m", &Block::block_m}, Member{"block_n", &Block::block_n},
                                 Member{"block_k", &Block::block_k}, Member{"box_n", &Block::box_n},
                                 Member{"box_h", &Block::box_h},     Member{"box_w", &Block::box_w},
                                 Member{"stages", &Block::stages},   Member{"cluster", &Block::cluster}};

/// The template's constants that are asked for.
enum Constant : std::size_t {
  kThreads,
  kInstructionK,
  kKSteps,
  kTileStages,
  kNTiles,
  kMTiles,
  kBoxes,
  kInputBytes,
  kSharedWeightBytes,
  kSharedBytes,
  kPackedTileBytes,
  kPackedBytes,
  kAlignment,
  kConstantCount,
};
constexpr std::array<std::string_view, kConstantCount> kConstants = {
    "kThreads",    "kInstructionK",      "kKSteps",      "kTileStages",      "kNTiles",      "kMTiles",   "kBoxes",
    "kInputBytes", "kSharedWeightBytes", "kSharedBytes", "kPackedTileBytes", "kPackedBytes", "kAlignment"};

using Facts = PixelFacts<Block>;

Parameters parameters_of(const Layer& layer) {
  Parameters p = scalar_parameters(layer, Direction::kGradInput);
  for (const std::string_view name : {"Sum", "Offset", "element_kind"}) {
    p.erase(p.find(name));
  }
  p.insert({{"type", product_type(layer.dtype)}, {"store", std::int64_t{8}}});
  return p;
}

Result<Facts> facts_of(const Problem& problem, const InputSizes& sizes, const ConstantProgram& program) {
  return Facts::make(problem, sizes, program, parameters_of(problem.layer), kMembers, kConstants);
}

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

double predicted_seconds(const Facts& f, const Block& b) {
  const CostFactors& factors = f.target.factors;
  Constants& of_block = f.of(b);
  const auto number = [&](std::size_t name) { return static_cast<double>(of_block[name]); };
  const std::int64_t tiles = ceil_div(all_boxes(f, b), of_block[kBoxes] * b.cluster) * of_block[kNTiles];
  const std::int64_t blocks = tiles * b.cluster;
  const std::int64_t at_once = clusters_at_once(f.target, b.cluster);
  const double products = number(kKSteps) * 2 * number(kMTiles);
  const auto columns = static_cast<double>(b.block_n);
  const double bytes = number(kInputBytes) + number(kSharedWeightBytes);
  // Where few SMs ask, each gets more, at most twice as much.
  const double asking = std::clamp(
      static_cast<double>(std::min(blocks, at_once * b.cluster)) / static_cast<double>(f.target.multiprocessors), 0.5,
      1.0);
  const double stage = std::max({products * product_cycles(f.target, b.block_n),
                                 // A product reads 64 positions and its columns, of 32 bytes each.
                                 products * (16 + columns / 4) +
                                     static_cast<double>(b.block_m + b.block_n) * static_cast<double>(b.block_k) / 64,
                                 number(kBoxes) * factors.tap_copy, bytes * asking / factors.tap_l2,
                                 factors.gemm_latency / static_cast<double>(b.stages - 1)}) +
                       factors.tap_stage;
  const double outputs = number(kMTiles) * columns / 2;  // of a thread; a scheduler has two warps
  const std::int64_t waves = ceil_div(tiles, at_once);
  return seconds_of(f.target, {.packed_bytes = number(kPackedBytes),
                               .first_cycles = factors.tap_begin,
                               .waves = static_cast<double>(waves),
                               .wave_cycles = number(kTileStages) * stage + 2 * outputs * factors.tap_output,
                               .memory_bytes = f.memory_bytes,
                               .hidden_less = factors.hidden_less,
                               .measured = factors.tap_measured});
}

/// As many stages as fit; false where too few do.
bool choose_stages(const Facts& f, Block& b) {
  for (b.stages = kMostStages; b.stages >= kLeastStages; --b.stages) {
    if (f.of(b)[kSharedBytes] <= f.target.max_shared_bytes) {
      return true;
    }
  }
  return false;
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
  return block_m > 128 && is_open ? kOpenAccumulators : kMostAccumulators;
}

/// The least input channels of a tile for each number of tiles that have all.
std::set<std::int64_t> block_n_sizes(const Facts& f, std::int64_t most) {
  std::set<std::int64_t> sizes;
  for (std::int64_t size = kChannelMultiple; size <= most; size += kChannelMultiple) {
    sizes.insert(round_up(ceil_div(f.layer.in_channels, ceil_div(f.layer.in_channels, size)), kChannelMultiple));
  }
  return sizes;
}

std::vector<Block> blocks(const Facts& f) {
  std::vector<Block> out;
  for (const std::int64_t block_k : {64, 32}) {
    // Half of a row is worth it where the other half would be zeros.
    if (block_k == 32 && round_up(f.layer.out_channels, 64) == round_up(f.layer.out_channels, 32)) {
      continue;
    }
    for (const std::int64_t block_m : {128, 256}) {
      const std::int64_t most = std::min(kMostColumns, most_accumulators(f, block_m) * 256 / block_m);
      for (const std::int64_t block_n : block_n_sizes(f, most)) {
        for (const std::int64_t cluster : {1, 2, 4}) {
          Block b{.block_m = block_m, .block_n = block_n, .block_k = block_k, .cluster = cluster};
          choose_box(f, b);
          if (choose_stages(f, b)) {
            out.push_back(b);
          }
        }
      }
    }
  }
  return out;
}

Plan plan_of(const Problem& problem, const Facts& f, const Block& b, double seconds) {
  Constants& of_block = f.of(b);
  Plan plan;
  plan.template_name = "tap_gemm";
  plan.predicted_seconds = seconds;
  plan.parameters = parameters_of(problem.layer);
  add_block<Block>(plan.parameters, b, kMembers);
  plan.threads = static_cast<int>(of_block[kThreads]);
  plan.cluster = static_cast<int>(b.cluster);
  plan.shared_bytes = of_block[kSharedBytes];
  plan.packed_bytes = of_block[kPackedBytes];
  plan.alignment = of_block[kAlignment];
  plan.summary = fmt::format("a block makes {} inputs of {} channels; {} taps; {:.1f} KiB shared", b.block_m,
                             std::min(b.block_n, f.layer.in_channels), tap_count(f.layer),
                             static_cast<double>(plan.shared_bytes) / 1024.0);
  plan.reason = fmt::format(
      "tensor cores: products of 64x{}x{}, {} a warpgroup, from shared memory; {} stages of {} output channels of a "
      "tap, in boxes of {}x{}x{}{}",
      b.block_n, of_block[kInstructionK], of_block[kMTiles], b.stages, b.block_k, b.box_n, b.box_h, b.box_w,
      b.cluster > 1 ? fmt::format(", weights copied by clusters of {} blocks", b.cluster) : "");
  return plan;
}

Result<void> check(const Problem& problem) {
  const Layer& layer = problem.layer;
  if (auto checked = check_tensor_cores(problem, kWarpgroups, kComputes); !checked) {
    return checked;
  }
  if (layer.layout != Layout::kNhwc) {
    return fail("NCHW; tensor copies of a pixel's channels want channels last");
  }
  if (auto checked = check_one_group(layer); !checked) {
    return checked;
  }
  for (const auto& [name, channels] :
       {std::pair{"input", layer.in_channels}, std::pair{"output", layer.out_channels}}) {
    if (channels % 8 != 0) {
      return fail(
          fmt::format("{} {} channels; tensor copies and stores want whole 16 bytes, multiples of 8", channels, name));
    }
  }
  const std::int64_t rows = layer.axes[kHeight].stride, columns = layer.axes[kWidth].stride;
  if (rows == 1 && columns == 1) {
    return fail("stride 1; the gradient is a forward layer, whose templates read the input once for all taps");
  }
  if (const std::int64_t stride = std::max(rows, columns); stride > kMostStep) {
    return fail(fmt::format("stride {}; at most {}, which the elements of a tensor copy are apart", stride, kMostStep));
  }
  return check_numbers(layer);
}

const ConstantProgram& own_program() {
  static const ConstantProgram program = ConstantProgram::read(programs::tap_gemm()).value();
  return program;
}

}  // namespace

Result<std::vector<Plan>> plans_tap_gemm(const Problem& problem, const ConstantProgram& program) {
  if (auto checked = check(problem); !checked) {
    return std::unexpected(checked.error());
  }
  const Result<Facts> facts = facts_of(problem, planned_sizes(problem.layer), program);
  if (!facts) {
    return std::unexpected(facts.error());
  }
  std::vector<Block> all = blocks(*facts);
  for (const Block& b : all) {
    if (auto checked = check_bounds(problem.layer, staged_bounds(problem.layer, b.box_h, b.box_w)); !checked) {
      return std::unexpected(checked.error());
    }
  }
  if (std::erase_if(all, [&](const Block& b) { return facts->of(b)[kPackedTileBytes] > kMostBlockBytes; }) > 0 &&
      all.empty()) {
    return fail(fmt::format("packed weights of more than {} MiB of a block", kMostBlockBytes >> 20));
  }
  return gemm::fastest_plans(
      all, [&](const Block& block) { return predicted_seconds(*facts, block); },
      [&](const Block& block, double seconds) { return plan_of(problem, *facts, block, seconds); });
}

Result<std::vector<Plan>> plans_tap_gemm(const Problem& problem) {
  if (auto checked = check(problem); !checked) {  // before the program is read
    return std::unexpected(checked.error());
  }
  return plans_tap_gemm(problem, own_program());
}

LaunchPlan tap_gemm_launch(const Problem& problem, const Plan& plan) {
  constexpr std::array<std::string_view, 1> kNames = {"kNTiles"};
  const std::vector<std::int64_t> values = constants_of(own_program(), plan.parameters, kNames).value();
  const Layer& layer = problem.layer;
  const Block b = block_of<Block>(plan, kMembers);
  const auto per = [](Quantity quantity) { return Amount{.factor = 1, .per = quantity}; };
  LaunchPlan launch;
  launch.tensors = tensors_of(layer, problem.direction, plan.alignment);
  // A cluster has several boxes: of few boxes more clusters are launched than have work.
  launch.kernels.push_back({.function = "tap_gemm",
                            .suffix = "",
                            .threads = plan.threads,
                            .cluster = plan.cluster,
                            .shared_bytes = plan.shared_bytes,
                            .grid = {.axes = {{per(Quantity::kInHeight), b.box_h},
                                              {per(Quantity::kInWidth), b.box_w},
                                              {per(Quantity::kBatch), b.box_n},
                                              {{.constant = values[0]}, 1}},
                                     .blocks_per_tile = b.cluster,
                                     .most_tiles = clusters_at_once(problem.target, b.cluster),
                                     .bounds = staged_bounds(layer, b.box_h, b.box_w)}});
  add_packing(launch, plan);
  // The positions of a box are a stride apart.
  launch.maps = {pixel_map(layer, Role::kGradY, {b.block_k, b.box_w, b.box_h, b.box_n},
                           {symmetric(layer.axes[kWidth]).stride, symmetric(layer.axes[kHeight]).stride})};
  return launch;
}

std::optional<double> tap_gemm_seconds(const Problem& problem, const Plan& plan, const InputSizes& sizes) {
  const Result<Facts> facts = facts_of(problem, sizes, own_program());
  return facts ? std::optional(predicted_seconds(*facts, block_of<Block>(plan, kMembers))) : std::nullopt;
}

}  // namespace convtgen
