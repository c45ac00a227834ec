#include <fmt/format.h>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/search/checks.h"
#include "generator/planner/search/integers.h"
#include "tests/templates/asked.h"
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
using SplitFacts = FactsOf<SplitBlock>;

struct Split : AskedPlanner<SplitFacts, 2> {
  static Checks checks(const Layer& layer) {
    return {check_asked(layer, 2),
            require(layer.out_channels <= kMostSplitColumns, "{} output channels; at most {}", layer.out_channels,
                    kMostSplitColumns),
            require(tap_count(layer) <= kMostSliceRows, "{} taps; at most {}", tap_count(layer), kMostSliceRows)};
  }
  static Blocks blocks(const Facts& f) {
    return std::vector{Block{
        .columns = round_up(f.layer.out_channels, 4), .slice = slice_of(f.layer), .mapped = f.target.capability >= 90}};
  }
  static Chosen chosen(const Facts& f, const Block& b, Constants&) {
    return {fmt::format("blocks sum {} input channels of {} pixels", b.slice, b.threads),
            "the layer asks for it",
            {.axes = {{pixels(f.layer.out_channels), 1}}}};
  }
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
