#include "generator/planner/table/templates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace convtgen {
namespace {

constexpr std::array kTemplates = {
    &kDirect,        &kDirectRows,        &kMmaRows,        &kShiftGemm,        &kF32x3Gemm,         &kRollGemm,
    &kHaloGemm,      &kOverlapGemm,       &kPatchGemm,      &kPhaseGemm,        &kMmaPhases,         &kMmaGemm,
    &kMmaPixels,     &kF32x3Mma,          &kMmaColumns,     &kDirectGradInput,  &kMmaGradInput,      &kTapGemm,
    &kThinGradInput, &kDirectGradWeight,  &kGradWeightGemm, &kGradWeightPixels, &kGradWeightPatches, &kGradWeightRows,
    &kMmaGradWeight, &kMmaTapsGradWeight, &kThinGradWeight, &kGradBias,
};

}  // namespace

std::span<const Template> templates() {
  static const std::vector<Template> all = [] {
    std::vector<Template> table;
    std::ranges::transform(kTemplates, std::back_inserter(table), [](const Template* known) { return *known; });
    table.insert(table.end(), extra_templates().begin(), extra_templates().end());
    return table;
  }();
  return all;
}

Result<const Template*> template_named(std::string_view name) {
  std::string names;
  for (const Template& known : templates()) {
    if (known.name == name) {
      return &known;
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
  }
  return fail(fmt::format("there is no template '{}'; there are: {}", name, names));
}

const Template& template_of(const Plan& plan) {
  const auto known = template_named(plan.template_name);
  if (!known) {
    throw std::invalid_argument(known.error().message);
  }
  return **known;
}

}  // namespace convtgen
