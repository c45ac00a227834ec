#include <fmt/format.h>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/integers.h"
#include "generator/planner/planner.h"
#include "tests/templates/table.h"

namespace convtgen {
namespace planners::split {

constexpr std::int64_t kMostSplitColumns = 32;  // accumulators of a thread
constexpr std::int64_t kMostSliceRows = 256;    // of a tensor map's box

/// Input channels of a slice: half of all, or as many as a box has rows for.
std::int64_t slice_of(const Layer& layer) {
  for (std::int64_t slice = ceil_div(layer.in_channels, 2); slice > 1; --slice) {
    if (layer.in_channels % slice == 0 && slice * tap_count(layer) <= kMostSliceRows) {
      return slice;
    }
  }
  return 1;
}

CONVTGEN_BLOCK(SplitBlock, (columns, 4), (slice, 1), (threads, 64), (mapped, false));
inline constexpr std::array<std::string_view, 0> kNoSplitConstants = {};
using SplitFacts = FactsOf<SplitBlock>;

Result<void> check_split(const Problem& problem) {
  const Layer& layer = problem.layer;
  // The identity: only layers of tests have it.
  if (layer.fuse != std::vector(2, Activation{ActivationKind::kScale, 1, 0})) {
    return fail("no 'fuse scale(1), scale(1)', by which tests ask for it");
  }
  if (layer.dtype != Dtype::kF32) {
    return fail(fmt::format("dtype {}; it takes f32", name_of(layer.dtype)));
  }
  if (layer.layout != Layout::kNchw) {
    return fail(fmt::format("layout {}; it takes nchw", name_of(layer.layout)));
  }
  if (layer.groups != 1) {
    return fail(fmt::format("{} groups; it takes 1", layer.groups));
  }
  if (layer.out_channels > kMostSplitColumns) {
    return fail(fmt::format("{} output channels; at most {}", layer.out_channels, kMostSplitColumns));
  }
  if (tap_count(layer) > kMostSliceRows) {
    return fail(fmt::format("{} taps; at most {}", tap_count(layer), kMostSliceRows));
  }
  return {};
}

struct Split : Planner<SplitFacts, kNoSplitConstants, check_split> {
  static Parameters parameters(const Problem& problem) {
    Parameters p = layer_parameters(problem.layer);
    for (const char* other : {"channels_last", "fuse_count", "fuse_kind", "fuse_a", "fuse_b"}) {
      p.erase(other);
    }
    return p;
  }
  static Blocks blocks(const Facts& f) {
    return std::vector{Block{
        .columns = round_up(f.layer.out_channels, 4), .slice = slice_of(f.layer), .mapped = f.target.capability >= 90}};
  }
  static double seconds(const Facts&, const Block&, Constants&) { return 0; }
  static Words words(const Facts&, const Block& b, Constants&) {
    return {fmt::format("blocks sum {} input channels of {} pixels", b.slice, b.threads), "the layer asks for it"};
  }
  static Grid grid(const Facts& f, const Block&, Constants&) { return {.axes = {{pixels(f.layer.out_channels), 1}}}; }
  static void add(LaunchPlan& launch, const Facts& f, const Block& b, Constants&) {
    const std::int64_t slices = f.layer.in_channels / b.slice;
    const std::int64_t rows = f.layer.in_channels * tap_count(f.layer);
    launch.regions = {{.name = "packed",
                       .what = "a packed copy of the weights",
                       .bytes = {.constant = rows * b.columns * f.bytes},
                       .kept = true},
                      {.name = "partial", .what = "sums of slices", .bytes = pixels(slices * b.columns * 4)}};
    MapRecipe map{.name = "rows", .of_region = true, .region = 0};
    map.form.element = TensorMap::Element::kF32;
    map.form.rank = 2;
    map.form.box = {static_cast<std::uint32_t>(b.columns), static_cast<std::uint32_t>(rows / slices)};
    map.sizes = {Amount{.constant = b.columns}, Amount{.constant = rows}};
    map.pitches = {Amount{}, Amount{.constant = b.columns * 4}};
    if (b.mapped) {
      launch.maps = {map};
    }
    launch.kernels.front().per_thread = true;
    launch.kernels.insert(launch.kernels.begin(),
                          {{.function = "pack_weights",
                            .suffix = "_pack",
                            .grid = {.axes = {{{.constant = rows * b.columns}, 1}}},
                            .per_thread = true,
                            .once = true},
                           {.function = "partial_sums",
                            .suffix = "_partial",
                            .shared_bytes = 128 + rows / slices * b.columns * 4 + 8,  // aligned, and an mbarrier
                            .grid = {.axes = {{pixels(1), 1}}, .blocks_per_tile = slices},
                            .per_thread = true}});
  }

 private:
  static Amount pixels(std::int64_t factor) { return {.factor = factor, .per = Quantity::kOutPixels}; }
};

}  // namespace planners::split

CONVTGEN_TEMPLATE(Split, split);

}  // namespace convtgen
