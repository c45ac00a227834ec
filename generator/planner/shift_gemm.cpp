#include "generator/planner/shift_gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "generator/planner/integers.h"
#include "generator/planner/layer_parameters.h"
#include "generator/planner/shift_gemm_block.h"
#include "generator/planner/tensor_cores.h"

namespace convtgen {
namespace {

using shift_gemm::Block;
using shift_gemm::Facts;

constexpr std::int64_t kConsumers = 256;
constexpr std::size_t kMostPlans = 16;

Parameters parameters_of(const Facts& f, const Block& b) {
  const Layer& l = f.layer;
  Parameters p = layer_parameters(l);
  p.insert({
      {"Element", TypeName{l.dtype == Dtype::kF32 ? "float" : "unsigned short"}},
      {"Sum", TypeName{"float"}},
      {"type", std::int64_t{l.dtype == Dtype::kF16    ? 0
                            : l.dtype == Dtype::kBf16 ? 1
                                                      : 2}},
      {"split", l.compute == Compute::kF32x3},
      {"groups", f.groups},
      {"tile_n", b.tile_n},
      {"tile_h", b.tile_h},
      {"tile_w", b.tile_w},
      {"run", b.run},
      {"columns", b.columns},
      {"channel_run", b.channel_run},
      {"store", b.store},
      {"phase_rows", b.phase_rows},
      {"exchange", b.exchange},
      {"in_turn", b.in_turn},
      {"chunk", b.chunk},
      {"stages", b.stages},
      {"copy_bytes", b.copy_bytes},
      {"bulk", b.bulk},
      {"resident", b.resident},
      {"ahead", b.ahead},
      {"add_rows", b.add_rows},
      {"cluster", b.cluster},
  });
  return p;
}

Plan plan_of(const Facts& f, const Block& b, double seconds) {
  const Layer& layer = f.layer;
  Plan plan;
  plan.template_name = "shift_gemm";
  plan.predicted_seconds = seconds;
  plan.parameters = parameters_of(f, b);
  plan.threads = kConsumers + producers(f, b);
  plan.cluster = static_cast<int>(b.cluster);
  plan.shared_bytes = shared_bytes(f, b);
  plan.packed_bytes = packed_bytes(f, b);
  plan.packed_rows = packed_rows(f, b);
  plan.alignment = std::max(is_skewed(f, b) ? staging_of(f, b).vector * f.bytes : b.copy_bytes, b.store * f.bytes);
  plan.summary = fmt::format("a block makes {}{}x{} outputs of {} channels; {} taps; {:.1f} KiB shared",
                             b.tile_n > 1 ? fmt::format("{}x", b.tile_n) : "", b.tile_h * b.phase_rows,
                             b.tile_w * layer.axes[kWidth].stride, std::min(b.columns, layer.out_channels),
                             tap_count(layer), static_cast<double>(plan.shared_bytes) / 1024.0);
  const std::int64_t merged = shift_gemm::merged_phases(layer);
  plan.reason = fmt::format(
      "tensor cores: {}products of 64 positions x {} columns, {} a warpgroup, {} stages of {} input channels{}, "
      "weights {}{}{}{}{}",
      f.split ? "three f16 for each of fp32; " : "", merged * b.columns,
      b.run / 2 * b.phase_rows * layer.axes[kWidth].stride / merged, b.stages, b.chunk,
      is_flat(f, b)               ? " in one piece"
      : b.bulk && f.channels_last ? " by pixels"
      : b.bulk                    ? " by rows"
                                  : "",
      b.resident ? "resident" : "with each stage", b.in_turn ? ", warpgroups in turn" : "",
      b.exchange ? ", outputs through shared memory" : "",
      b.cluster > 1 ? fmt::format(", channels parted among clusters of {} blocks", b.cluster) : "",
      f.groups > 1 ? fmt::format(", {} groups", f.groups) : "");
  return plan;
}

// Groups of fewer channels make too little of a product.
constexpr std::int64_t kLeastGroupIn = 16;
constexpr std::int64_t kLeastGroupOut = 8;

constexpr std::array kComputes = {Compute::kTf32, Compute::kF32x3, Compute::kF16, Compute::kBf16};

/// What the template asks of a problem, whatever its sizes.
Result<void> check(const Problem& problem) {
  const Layer& layer = problem.layer;
  if (auto checked = check_tensor_cores(problem, kComputes); !checked) {
    return checked;
  }
  const std::int64_t group_in = layer.in_channels / layer.groups, group_out = layer.out_channels / layer.groups;
  if (layer.groups > 1 && group_in < kLeastGroupIn) {
    return fail(fmt::format("groups of {} input channels; tensor cores want {}", group_in, kLeastGroupIn));
  }
  if (layer.groups > 1 && group_out < kLeastGroupOut) {
    return fail(fmt::format("groups of {} output channels; tensor cores want {}", group_out, kLeastGroupOut));
  }
  return {};
}

/// The inverse of parameters_of().
Block block_of(const Plan& plan) {
  return {.tile_n = integer_of(plan, "tile_n"),
          .tile_h = integer_of(plan, "tile_h"),
          .tile_w = integer_of(plan, "tile_w"),
          .run = integer_of(plan, "run"),
          .columns = integer_of(plan, "columns"),
          .channel_run = integer_of(plan, "channel_run"),
          .store = integer_of(plan, "store"),
          .phase_rows = integer_of(plan, "phase_rows"),
          .chunk = integer_of(plan, "chunk"),
          .stages = integer_of(plan, "stages"),
          .copy_bytes = integer_of(plan, "copy_bytes"),
          .bulk = flag_of(plan, "bulk"),
          .resident = flag_of(plan, "resident"),
          .ahead = flag_of(plan, "ahead"),
          .exchange = flag_of(plan, "exchange"),
          .in_turn = flag_of(plan, "in_turn"),
          .add_rows = integer_of(plan, "add_rows"),
          .cluster = integer_of(plan, "cluster")};
}

}  // namespace

Result<std::vector<Plan>> plans_shift_gemm(const Problem& problem) {
  if (auto checked = check(problem); !checked) {
    return std::unexpected(checked.error());
  }
  const Facts facts = shift_gemm::facts_of(problem);
  std::vector<std::pair<double, Block>> ranked;
  for (const Block& block : shift_gemm::blocks(facts)) {
    ranked.emplace_back(predicted_seconds(facts, block), block);
  }
  if (ranked.empty()) {
    return shift_gemm::why_none(facts);
  }
  std::ranges::stable_sort(ranked, {}, [](const auto& entry) { return entry.first; });
  std::vector<Plan> plans;
  for (const auto& [seconds, block] : ranked) {
    if (plans.size() < kMostPlans) {
      plans.push_back(plan_of(facts, block, seconds));
    }
  }
  return plans;
}

std::optional<double> shift_gemm_seconds(const Problem& problem, const Plan& plan, const InputSizes& sizes) {
  return predicted_seconds(shift_gemm::facts_of(problem, sizes), block_of(plan));
}

TileGrid shift_gemm_grid(const Problem& problem, const Plan& plan) {
  const Layer& layer = problem.layer;
  const std::int64_t columns = layer.groups * ceil_div(layer.out_channels / layer.groups, integer_of(plan, "columns")) *
                               (layer.axes[kHeight].stride / integer_of(plan, "phase_rows"));
  const std::int64_t cluster = integer_of(plan, "cluster");
  // Of an image that is one row of positions, a tile has several rows, or about a part of one.
  const bool flat = shift_gemm::is_flat(shift_gemm::facts_of(problem), block_of(plan));
  const std::int64_t rows = flat ? std::max<std::int64_t>(1, integer_of(plan, "tile_w") / *layer.axes[kWidth].extent)
                                 : integer_of(plan, "tile_h");
  return {.stride_h = layer.axes[kHeight].stride,
          .stride_w = layer.axes[kWidth].stride,
          .tile_rows = layer.axes[kHeight].stride * rows,
          .tile_columns = layer.axes[kWidth].stride * integer_of(plan, "tile_w"),
          .tile_images = integer_of(plan, "tile_n"),
          .blocks_per_tile = columns * cluster,
          .most_tiles = cluster > 1 ? 0 : std::max<std::int64_t>(1, problem.target.multiprocessors / columns)};
}

}  // namespace convtgen
