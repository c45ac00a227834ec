#include "generator/planner/patch_gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

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
constexpr std::int64_t kChannelMultiple = 8;                           // 16 bytes
constexpr std::int64_t kMostColumns = 256;                             // of a product: taps by output channels
constexpr std::array<std::int64_t, 3> kChannelChoices = {64, 32, 16};  // of a block
constexpr double kWavefront = 128;                                     // bytes
constexpr std::int64_t kLeastStages = 2, kMostStages = 8;

/// The block, as the template's parameters of the same names.
struct Block {
  bool operator==(const Block&) const = default;

  std::int64_t block_c = 64, store = 8, block_k = 64, stages = kLeastStages;
};
using Member = BlockMember<Block>;
constexpr std::array kMembers = {Member{"block_c", &Block::block_c}, Member{"store", &Block::store},
                                 Member{"block_k", &Block::block_k}, Member{"stages", &Block::stages}};

/// The template's constants that are asked for.
enum Constant : std::size_t {
  kThreads,
  kKSteps,
  kKBlocks,
  kTilePixels,
  kColumns,
  kNTiles,
  kBoxColumns,
  kStageBytes,
  kWeightBytes,
  kSharedBytes,
  kAlignment,
  kConstantCount,
};
constexpr std::array<std::string_view, kConstantCount> kConstants = {
    "kThreads",    "kKSteps",     "kKBlocks",     "kTilePixels",  "kColumns",  "kNTiles",
    "kBoxColumns", "kStageBytes", "kWeightBytes", "kSharedBytes", "kAlignment"};

using Facts = PixelFacts<Block>;

/// Whether the channels of a tap follow one another.
bool has_turned_weights(const Layer& layer) {
  return layer.weight_layout == WeightLayout::kChannelsLast || tap_count(layer) == 1;
}

Parameters parameters_of(const Layer& layer) {
  Parameters p = layer_parameters(layer);
  p.insert({{"Element", TypeName{"unsigned short"}}, {"Sum", TypeName{"float"}}, {"type", product_type(layer.dtype)}});
  return p;
}

Result<Facts> facts_of(const Problem& problem, const InputSizes& sizes, const ConstantProgram& program) {
  return Facts::make(problem, sizes, program, parameters_of(problem.layer), kMembers, kConstants);
}

double predicted_seconds(const Facts& f, const Block& b) {
  const CostFactors& factors = f.target.factors;
  Constants& c = f.of(b);
  const auto number = [&](std::size_t name) { return static_cast<double>(c[name]); };
  const double pixels =
      static_cast<double>(f.sizes.batch * f.sizes.extents[kHeight]) * static_cast<double>(f.sizes.extents[kWidth]);
  // Shared memory gives products their operands, 32 bytes deep, and takes the pixels.
  const double wavefronts =
      number(kKBlocks) * (number(kKSteps) * (16 + number(kColumns) / 4) + number(kStageBytes) / kWavefront);
  const double tile =
      std::max({number(kKBlocks) * number(kKSteps) * product_cycles(f.target, c[kColumns]),
                wavefronts * factors.patch_wavefront, number(kKBlocks) * number(kStageBytes) / factors.overlap_l2,
                number(kKBlocks) * number(kTilePixels) * factors.overlap_row}) +
      number(kKBlocks) * factors.patch_stage;
  const std::int64_t blocks = std::max<std::int64_t>(1, f.target.multiprocessors / c[kNTiles]);  // of the same pixels
  const double tiles = std::ceil(std::ceil(pixels / number(kTilePixels)) / static_cast<double>(blocks)) *
                       static_cast<double>(ceil_div(blocks * c[kNTiles], f.target.multiprocessors));
  return seconds_of(f.target, {.first_cycles = factors.overlap_begin +
                                               number(kKBlocks) * number(kWeightBytes) / factors.patch_weights,
                               .waves = tiles,
                               .wave_cycles = tile,
                               .memory_bytes = f.memory_bytes,
                               .hidden_less = factors.hidden_less,
                               .measured = factors.patch_measured});
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

std::vector<Block> blocks(const Facts& f) {
  std::vector<Block> out;
  for (const std::int64_t channels : kChannelChoices) {
    const bool is_more_than_all = channels > kChannelChoices.back() && channels / 2 >= f.layer.out_channels;
    if (channels * tap_count(f.layer) > kMostColumns || is_more_than_all) {
      continue;
    }
    Block b{.block_c = channels,
            .store = channels == kChannelChoices.back() ? 4 : 8,
            .block_k = f.layer.in_channels <= 16   ? 16
                       : f.layer.in_channels <= 32 ? 32
                                                   : 64};
    if (choose_stages(f, b)) {
      out.push_back(b);
    }
  }
  return out;
}

Plan plan_of(const Problem& problem, const Facts& f, const Block& b, double seconds) {
  Constants& c = f.of(b);
  Plan plan;
  plan.template_name = "patch_gemm";
  plan.predicted_seconds = seconds;
  plan.parameters = parameters_of(problem.layer);
  add_block<Block>(plan.parameters, b, kMembers);
  plan.threads = static_cast<int>(c[kThreads]);
  plan.shared_bytes = c[kSharedBytes];
  plan.alignment = c[kAlignment];
  plan.summary = fmt::format(
      "a block makes the outputs of {} pixels at a time, of {} channels; {} taps; {:.1f} KiB shared", c[kTilePixels],
      std::min(b.block_c, f.layer.out_channels), tap_count(f.layer), static_cast<double>(plan.shared_bytes) / 1024.0);
  plan.reason = fmt::format(
      "tensor cores: products of {} pixels x {} taps of channels, from shared memory; {} stages of {} input channels, "
      "weights resident, warpgroups in turn",
      c[kTilePixels], c[kColumns], b.stages, b.block_k);
  return plan;
}

std::vector<Grid::Bound> bounds_of(const Layer& layer, std::int64_t tile_pixels) {
  return {{.extent = Quantity::kInPixels, .most = kIntMax - tile_pixels},
          {.extent = Quantity::kInHeight, .most = kIntMax / layer.axes[kHeight].stride},
          {.extent = Quantity::kInWidth, .most = kIntMax / layer.axes[kWidth].stride}};
}

Result<void> check_patches(const Layer& layer) {
  for (const std::size_t number : {kHeight, kWidth}) {
    const Axis& axis = layer.axes[number];
    if (axis.kernel != axis.stride) {
      return fail(
          fmt::format("a kernel of {} and a stride of {} in {}; it takes kernels that are as large as their stride",
                      axis.kernel, axis.stride, axis_name(layer, number)));
    }
    if (axis.padding.before != 0 || axis.padding.after != 0 || axis.output_padding != 0) {
      return fail(fmt::format("padding in {}; it takes none, so that each pixel makes outputs of its own alone",
                              axis_name(layer, number)));
    }
  }
  return {};
}

Result<void> check(const Problem& problem) {
  const Layer& layer = problem.layer;
  if (auto checked = check_tensor_cores(problem, kWarpgroups, kComputes); !checked) {
    return checked;
  }
  if (layer.layout != Layout::kNhwc) {
    return fail("layout nchw; it takes nhwc, whose pixels are rows of channels");
  }
  if (auto checked = check_one_group(layer); !checked) {
    return checked;
  }
  if (auto checked = check_no_dilation(layer); !checked) {
    return checked;
  }
  if (auto checked = check_patches(layer); !checked) {
    return checked;
  }
  if (layer.in_channels % kChannelMultiple != 0 || layer.out_channels % kChannelMultiple != 0) {
    return fail(
        fmt::format("{} input and {} output channels; tensor copies and stores want whole 16 bytes, multiples "
                    "of {}",
                    layer.in_channels, layer.out_channels, kChannelMultiple));
  }
  const std::int64_t taps = tap_count(layer);
  if (taps > kMostColumns / kChannelChoices.back()) {
    return fail(fmt::format("{} taps; a product has at most {} columns, {} channels of {} taps", taps, kMostColumns,
                            kChannelChoices.back(), kMostColumns / kChannelChoices.back()));
  }
  if (!has_turned_weights(layer) && taps != 4 && taps != 8 && taps != 16) {
    return fail(
        fmt::format("{} taps of contiguous weights; it takes 4, 8 and 16, and others where the channels of a "
                    "tap follow one another",
                    taps));
  }
  if (layer.out_channels > kIntMax / taps) {
    return fail(fmt::format("{} output channels of {} taps; at most {} weights of an input channel", layer.out_channels,
                            taps, kIntMax));
  }
  return check_numbers(layer);
}

const ConstantProgram& own_program() {
  static const ConstantProgram program = ConstantProgram::read(programs::patch_gemm()).value();
  return program;
}

/// The map of x: the pixels of all images, rows of input channels.
MapRecipe pixel_rows(const Layer& layer, const Block& b, std::int64_t tile_pixels) {
  const std::int64_t bytes = bytes_of(layer.dtype);
  MapRecipe recipe{.name = "x_map", .role = Role::kX};
  recipe.form = map_form(layer.dtype, {b.block_k, tile_pixels}, b.block_k * bytes);
  recipe.sizes = {Amount{.constant = layer.in_channels}, Amount{.factor = 1, .per = Quantity::kInPixels}};
  recipe.pitches = {Amount{}, Amount{.constant = layer.in_channels * bytes}};
  return recipe;
}

}  // namespace

Result<std::vector<Plan>> plans_patch_gemm(const Problem& problem, const ConstantProgram& program) {
  if (auto checked = check(problem); !checked) {
    return std::unexpected(checked.error());
  }
  const Result<Facts> facts = facts_of(problem, planned_sizes(problem.layer), program);
  if (!facts) {
    return std::unexpected(facts.error());
  }
  const std::vector<Block> all = blocks(*facts);
  if (all.empty()) {
    return fail(fmt::format("{} input channels; the weights of {} channels of {} taps do not fit shared memory",
                            problem.layer.in_channels, kChannelChoices.back(), tap_count(problem.layer)));
  }
  const std::int64_t tile_pixels = facts->of(all.front())[kTilePixels];
  if (auto checked = check_bounds(problem.layer, bounds_of(problem.layer, tile_pixels)); !checked) {
    return std::unexpected(checked.error());
  }
  return gemm::fastest_plans(
      all, [&](const Block& block) { return predicted_seconds(*facts, block); },
      [&](const Block& block, double seconds) { return plan_of(problem, *facts, block, seconds); });
}

Result<std::vector<Plan>> plans_patch_gemm(const Problem& problem) {
  if (auto checked = check(problem); !checked) {  // before the program is read
    return std::unexpected(checked.error());
  }
  return plans_patch_gemm(problem, own_program());
}

LaunchPlan patch_gemm_launch(const Problem& problem, const Plan& plan) {
  const Layer& layer = problem.layer;
  const Block b = block_of<Block>(plan, kMembers);
  const std::vector<std::int64_t> c = constants_of(own_program(), plan.parameters, kConstants).value();
  LaunchPlan launch;
  launch.tensors = tensors_of(layer, problem.direction, plan.alignment);
  std::ranges::find(launch.tensors, Role::kWeight, &Tensor::role)->alignment = plan.alignment;
  launch.kernels.push_back(
      {.function = "patch_gemm",
       .suffix = "",
       .threads = plan.threads,
       .shared_bytes = plan.shared_bytes,
       .grid = {.axes = {{{.factor = 1, .per = Quantity::kInPixels}, c[kTilePixels]}},
                .blocks_per_tile = c[kNTiles],
                .most_tiles = std::max<std::int64_t>(1, problem.target.multiprocessors / c[kNTiles]),
                .bounds = bounds_of(layer, c[kTilePixels])}});
  launch.maps = {pixel_rows(layer, b, c[kTilePixels]),
                 weight_map(layer, has_turned_weights(layer), c[kBoxColumns], b.block_k)};
  return launch;
}

std::optional<double> patch_gemm_seconds(const Problem& problem, const Plan& plan, const InputSizes& sizes) {
  const Result<Facts> facts = facts_of(problem, sizes, own_program());
  return facts ? std::optional(predicted_seconds(*facts, block_of<Block>(plan, kMembers))) : std::nullopt;
}

}  // namespace convtgen
