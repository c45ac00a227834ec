#include "tests/templates/two_columns/planner.h"

#include <fmt/format.h>

#include "generator/planner/layer_parameters.h"

namespace convtgen {
namespace {

constexpr std::int64_t kThreads = 64;
constexpr std::int64_t kColumns = 2;  // outputs of a thread

}  // namespace

Result<std::vector<Plan>> plans_two_columns(const Problem& problem) {
  const Layer& layer = problem.layer;
  // The identity: only layers of tests have it.
  if (layer.fuse != std::vector(3, Activation{ActivationKind::kScale, 1, 0})) {
    return fail("no 'fuse scale(1), scale(1), scale(1)', by which tests ask for it");
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
  Plan plan;
  plan.template_name = "two_columns";
  plan.parameters = layer_parameters(layer);
  for (const char* other : {"channels_last", "fuse_count", "fuse_kind", "fuse_a", "fuse_b"}) {
    plan.parameters.erase(other);
  }
  plan.parameters["threads"] = kThreads;
  plan.threads = kThreads;
  plan.predicted_seconds = 0;
  plan.summary = fmt::format("a block makes {} outputs of a row", kColumns * kThreads);
  plan.reason = "the layer asks for it";
  return std::vector{plan};
}

TileGrid two_columns_grid(const Problem& problem, const Plan& plan) {
  const Layer& layer = problem.layer;
  return {.stride_h = layer.axes[kHeight].stride,
          .stride_w = layer.axes[kWidth].stride,
          .tile_columns = kColumns * integer_of(plan, "threads"),
          .blocks_per_tile = layer.out_channels};
}

}  // namespace convtgen
