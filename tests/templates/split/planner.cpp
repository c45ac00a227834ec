#include "tests/templates/split/planner.h"

#include <fmt/format.h>

#include "generator/planner/integers.h"
#include "generator/planner/layer_parameters.h"

namespace convtgen {
namespace {

constexpr std::int64_t kThreads = 64;
constexpr std::int64_t kMostColumns = 32;     // accumulators of a thread
constexpr std::int64_t kMostSliceRows = 256;  // of a tensor map's box

/// Input channels of a slice: half of all, or as many as a box has rows for.
std::int64_t slice_of(const Layer& layer) {
  for (std::int64_t slice = ceil_div(layer.in_channels, 2); slice > 1; --slice) {
    if (layer.in_channels % slice == 0 && slice * tap_count(layer) <= kMostSliceRows) {
      return slice;
    }
  }
  return 1;
}

}  // namespace

Result<std::vector<Plan>> plans_split(const Problem& problem) {
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
  if (layer.out_channels > kMostColumns) {
    return fail(fmt::format("{} output channels; at most {}", layer.out_channels, kMostColumns));
  }
  if (tap_count(layer) > kMostSliceRows) {
    return fail(fmt::format("{} taps; at most {}", tap_count(layer), kMostSliceRows));
  }
  Plan plan;
  plan.template_name = "split";
  plan.parameters = layer_parameters(layer);
  for (const char* other : {"channels_last", "fuse_count", "fuse_kind", "fuse_a", "fuse_b"}) {
    plan.parameters.erase(other);
  }
  const std::int64_t columns = round_up(layer.out_channels, 4);
  plan.parameters["columns"] = columns;
  plan.parameters["slice"] = slice_of(layer);
  plan.parameters["threads"] = kThreads;
  plan.parameters["mapped"] = problem.target.capability >= 90;
  plan.threads = kThreads;
  plan.packed_bytes = layer.in_channels * tap_count(layer) * columns * bytes_of(layer.dtype);
  plan.predicted_seconds = 0;
  plan.summary = fmt::format("blocks sum {} input channels of {} pixels", slice_of(layer), kThreads);
  plan.reason = "the layer asks for it";
  return std::vector{plan};
}

TileGrid split_grid(const Problem& problem, const Plan& plan) {
  const Layer& layer = problem.layer;
  return {.stride_h = layer.axes[kHeight].stride,
          .stride_w = layer.axes[kWidth].stride,
          .tile_columns = integer_of(plan, "threads"),
          .blocks_per_tile = layer.out_channels};
}

LaunchPlan split_launch(const Problem& problem, const Plan& plan) {
  const Layer& layer = problem.layer;
  const std::int64_t columns = integer_of(plan, "columns");
  const std::int64_t slices = layer.in_channels / integer_of(plan, "slice");
  const std::int64_t rows = layer.in_channels * tap_count(layer);
  const auto pixels = [](std::int64_t factor) { return Amount{.factor = factor, .per = Quantity::kOutPixels}; };
  LaunchPlan launch;
  launch.tensors = tensors_of(layer, problem.direction, plan.alignment);
  launch.regions = {{.name = "packed",
                     .what = "a packed copy of the weights",
                     .bytes = {.constant = plan.packed_bytes},
                     .kept = true},
                    {.name = "partial", .what = "sums of slices", .bytes = pixels(slices * columns * 4)}};
  MapRecipe map{.name = "rows", .of_region = true, .region = 0};
  map.form.element = TensorMap::Element::kF32;
  map.form.rank = 2;
  map.form.box = {static_cast<std::uint32_t>(columns), static_cast<std::uint32_t>(rows / slices)};
  map.sizes = {Amount{.constant = columns}, Amount{.constant = rows}};
  map.pitches = {Amount{}, Amount{.constant = columns * 4}};
  if (flag_of(plan, "mapped")) {
    launch.maps = {map};
  }
  launch.kernels = {
      {.function = "pack_weights",
       .suffix = "_pack",
       .grid = {.axes = {{{.constant = rows * columns}, 1}}},
       .per_thread = true,
       .once = true},
      {.function = "partial_sums",
       .suffix = "_partial",
       .shared_bytes = 128 + rows / slices * columns * 4 + 8,  // aligned, and an mbarrier
       .grid = {.axes = {{pixels(1), 1}}, .blocks_per_tile = slices},
       .per_thread = true},
      {.function = "split", .suffix = "", .grid = {.axes = {{pixels(layer.out_channels), 1}}}, .per_thread = true}};
  return launch;
}

}  // namespace convtgen
