#include "generator/planner/search/planner.h"

#include <fmt/format.h>

#include <numeric>

#include "generator/planner/search/integers.h"

namespace convtgen {

LayerFacts::LayerFacts(const Problem& of, const InputSizes& at)
    : problem(of),
      layer(of.layer),
      target(of.target),
      factors(of.target.factors),
      rows(symmetric(of.layer.axes[kHeight])),
      columns(symmetric(of.layer.axes[kWidth])),
      sizes(at),
      bytes(bytes_of(of.layer.dtype)),
      vector(16 / bytes),
      group_in(of.layer.in_channels / of.layer.groups),
      group_out(of.layer.out_channels / of.layer.groups),
      adjacent_in(std::gcd(group_in, x_tensor_channels(of.layer))),
      adjacent_out(std::gcd(group_out, y_tensor_channels(of.layer))),
      channels_last(of.layer.layout == Layout::kNhwc) {
  if (auto found = shape_of(layer, sizes)) {
    shape = *found;
    cost = cost_of(problem, shape);
  } else {
    misfit = std::move(found.error());
  }
}

std::int64_t shared_of_block(const Target& target, std::int64_t blocks_per_sm) {
  return blocks_per_sm == 1 ? target.max_shared_bytes
                            : target.shared_bytes_per_sm / blocks_per_sm - target.reserved_shared_bytes;
}

std::int64_t blocks_by_shared(const Target& target, std::int64_t shared_bytes) {
  // Where nothing is reserved, a block may take nothing.
  const std::int64_t of_block = std::max<std::int64_t>(1, shared_bytes + target.reserved_shared_bytes);
  return std::max<std::int64_t>(1, target.shared_bytes_per_sm / of_block);
}

std::int64_t blocks_of_sm(const Target& target, const BlockNeeds& block, std::int64_t most_threads) {
  return std::max<std::int64_t>(
      1, std::min({blocks_by_shared(target, block.shared_bytes), kRegistersOfSm / (block.registers * block.threads),
                   most_threads / block.threads}));
}

std::int64_t registers_of_thread(std::int64_t threads) {
  return std::min<std::int64_t>(255, round_down(kRegistersOfSm / threads, 8));
}

double call_seconds(const LayerFacts& f, CallWork work) {
  work.memory_bytes = work.memory_bytes > 0 ? work.memory_bytes : f.cost.bytes;
  work.hidden_less = f.factors.hidden_less;
  return seconds_of(f.target, work);
}

namespace driver {

std::string shared_text(const Layout& layout) {
  return layout.shared_bytes < 0 ? ""
         : layout.shared_bytes == 0
             ? "; nothing shared"
             : fmt::format("; {:.1f} KiB shared", static_cast<double>(layout.shared_bytes) / 1024.0);
}

Layout layout_of(std::span<const std::string_view> names, Constants& constants) {
  Layout layout;
  for (const auto& [name, member] :
       {std::pair{"kThreads", &Layout::threads}, std::pair{"kSharedBytes", &Layout::shared_bytes},
        std::pair{"kAlignment", &Layout::alignment}, std::pair{"kPackedBytes", &Layout::packed_bytes},
        std::pair{"kPackedRows", &Layout::packed_rows}}) {
    if (const auto found = std::ranges::find(names, name); found != names.end()) {
      layout.*member = constants[static_cast<std::size_t>(found - names.begin())];
    }
  }
  return layout;
}

LaunchPlan launch_of(const Template& of, const Problem& problem, const Layout& layout, std::int64_t cluster,
                     Chosen chosen) {
  LaunchPlan launch = {.tensors = tensors_of(problem.layer, problem.direction, layout.alignment)};
  if (chosen.weight_alignment > 0) {
    align(launch, Role::kWeight, chosen.weight_alignment);
  }
  if (layout.packed_bytes > 0) {
    add_packing(launch, layout.packed_bytes, layout.packed_rows);
  }
  launch.kernels.push_back({.function = std::string(of.name),
                            .suffix = "",
                            .threads = static_cast<int>(layout.threads),
                            .cluster = static_cast<int>(cluster),
                            .shared_bytes = std::max<std::int64_t>(0, layout.shared_bytes),
                            .grid = std::move(chosen.grid)});
  launch.maps = std::move(chosen.maps);
  return launch;
}

}  // namespace driver

}  // namespace convtgen
