#include "generator/planner/search/tensor_cores.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace convtgen {

Result<void> check_features(const Target& target, Features needs) {
  const auto lacks = std::find_if(kAllFeatures.rbegin(), kAllFeatures.rend(),
                                  [&](Feature feature) { return needs.has(feature) && !target.features.has(feature); });
  if (lacks == kAllFeatures.rend()) {
    return {};
  }
  std::vector<std::string_view> able;
  for (const Target& known : known_targets()) {
    if (known.features.has_all(needs)) {
      able.push_back(known.architecture);
    }
  }
  return fail(fmt::format("architecture {} has no {}; it takes {}", target.architecture, name_of(*lacks),
                          fmt::join(able, ", ")));
}

Result<void> check_target_and_compute(const Problem& problem, Features needs, std::span<const Compute> computes) {
  if (auto checked = check_features(problem.target, needs); !checked) {
    return checked;
  }
  if (!computes.empty() && std::ranges::find(computes, problem.layer.compute) == computes.end()) {
    std::string names;
    for (const Compute compute : computes) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(compute));
    }
    return fail(fmt::format("compute {}; it takes {}", name_of(problem.layer.compute), names));
  }
  return {};
}

Result<void> check_input_strides(const Layer& layer) {
  for (const std::size_t axis : axes_of(layer)) {
    if (layer.axes[axis].input_stride != 1) {
      return fail(fmt::format("stride {} in {}; as a gradient of the input it takes 1", layer.axes[axis].input_stride,
                              axis_name(layer, axis)));
    }
  }
  return {};
}

Result<void> check_one_group(const Layer& layer) {
  return layer.groups == 1 ? Result<void>() : fail(fmt::format("{} groups; it takes 1", layer.groups));
}

// Of a group, that products are worth.
constexpr std::int64_t kLeastGroupIn = 16;
constexpr std::int64_t kLeastGroupOut = 8;

Result<void> check_group_channels(const Layer& layer) {
  const std::int64_t group_in = layer.in_channels / layer.groups, group_out = layer.out_channels / layer.groups;
  if (layer.groups > 1 && group_in < kLeastGroupIn) {
    return fail(fmt::format("groups of {} input channels; tensor cores want {}", group_in, kLeastGroupIn));
  }
  if (layer.groups > 1 && group_out < kLeastGroupOut) {
    return fail(fmt::format("groups of {} output channels; tensor cores want {}", group_out, kLeastGroupOut));
  }
  return {};
}

Result<void> check_no_dilation(const Layer& layer) {
  for (const std::size_t axis : axes_of(layer)) {
    if (layer.axes[axis].dilation != 1 && layer.axes[axis].kernel != 1) {
      return fail(fmt::format("dilation {} in {}; it takes 1", layer.axes[axis].dilation, axis_name(layer, axis)));
    }
  }
  return {};
}

std::int64_t row_channels(const Layer& layer) {
  return layer.in_channels <= 16 ? 16 : layer.in_channels <= 32 ? 32 : 64;
}

std::int64_t product_type(Dtype dtype) {
  return dtype == Dtype::kF16 ? 0 : dtype == Dtype::kBf16 ? 1 : 2;
}

Parameters with_product_types(Parameters parameters, Dtype dtype) {
  parameters.insert({{"Element", TypeName{dtype == Dtype::kF32 ? "float" : "unsigned short"}},
                     {"Sum", TypeName{"float"}},
                     {"type", product_type(dtype)}});
  return parameters;
}

std::unexpected<Error> fail_extent(const Layer& layer, std::int64_t multiple, std::int64_t bytes) {
  const bool channels_last = layer.layout == Layout::kNhwc;
  const std::string copies = fmt::format("copies of {} bytes take multiples of {}", bytes, multiple);
  return channels_last               ? fail(fmt::format("{} input channels; {}", layer.in_channels, copies))
         : layer.axes[kWidth].extent ? fail(fmt::format("a width of {}; {}", *layer.axes[kWidth].extent, copies))
                                     : fail(fmt::format("an open width; {}", copies));
}

std::unexpected<Error> fail_shared_memory(const Target& target, std::string_view what, std::int64_t bytes) {
  return fail(fmt::format("{} take {:.1f} KiB of shared memory at the least; a block of {} has {:.1f} KiB", what,
                          static_cast<double>(bytes) / 1024, target.architecture,
                          static_cast<double>(target.max_shared_bytes) / 1024));
}

}  // namespace convtgen
