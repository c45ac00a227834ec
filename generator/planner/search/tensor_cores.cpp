#include "generator/planner/search/tensor_cores.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "generator/planner/plan/layer_parameters.h"
#include "generator/planner/search/checks.h"

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

Result<void> check_split_products(const Target& target, Compute of) {
  constexpr double kProducts = 3;
  const double multiply_adds = 16 * 8 * (of == Compute::kF16 ? 16 : 8);      // of a warp's product
  const double products = kProducts * target.sm.mma_cycles / multiply_adds;  // cycles of an SM for a multiply-add
  const double others = 2 * target.multiprocessors * target.sm.clock_hz / target.f32_flops;
  return require(products < others,
                 "three products of {} take {:.2f} times as long as one of f32 without tensor cores; at most 1",
                 name_of(of), products / others);
}

Result<void> check_warp_products(const Target& target, Compute compute, Features needs) {
  if (compute == Compute::kF32x3) {
    return first_error({check_features(target, needs), check_split_products(target, Compute::kF16)});
  }
  return check_features(target, compute == Compute::kTf32   ? needs + Features{Feature::kMmaTf32}
                                : compute == Compute::kBf16 ? needs + Features{Feature::kMmaBf16}
                                                            : needs);
}

std::int64_t row_channels(const Layer& layer) {
  return layer.in_channels <= 16 ? 16 : layer.in_channels <= 32 ? 32 : 64;
}

std::int64_t product_type(Dtype dtype) {
  return dtype == Dtype::kF16 ? 0 : dtype == Dtype::kBf16 ? 1 : 2;
}

Parameters with_product_types(Parameters parameters, const Layer& layer) {
  parameters.emplace("Sum", TypeName{"float"});
  return layer.compute == Compute::kF32x3
             ? std::move(parameters)
             : with(std::move(parameters),
                    {{"Element", TypeName{layer.dtype == Dtype::kF32 ? "float" : "unsigned short"}},
                     {"type", product_type(layer.dtype)}});
}

}  // namespace convtgen
