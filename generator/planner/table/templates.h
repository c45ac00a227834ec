// The table of templates, one line for each.
#pragma once

#include <span>
#include <string_view>

#include "generator/planner/plan/plan.h"
#include "generator/planner/search/template.h"

namespace convtgen {

extern const Template kDirect, kDirectRows, kMmaRows, kShiftGemm, kF32x3Gemm, kRollGemm, kHaloGemm, kOverlapGemm,
    kPatchGemm, kPhaseGemm, kMmaPhases, kMmaGemm, kMmaPixels, kF32x3Mma, kMmaColumns;
extern const Template kDirectGradInput, kMmaGradInput, kTapGemm, kThinGradInput;
extern const Template kDirectGradWeight, kGradWeightGemm, kGradWeightPatches, kGradWeightPixels, kGradWeightRows,
    kMmaGradWeight, kMmaTapsGradWeight, kThinGradWeight;
extern const Template kGradBias;

/// What is added to the table: nothing, but in builds with -DCONVTGEN_TEST_TEMPLATES=ON (tests/templates/table.cpp).
[[nodiscard]] std::span<const Template> extra_templates();

/// All of them. The first of each direction takes every legal layer that its numbers can hold.
[[nodiscard]] std::span<const Template> templates();

/// Errors: an unknown name; the message lists the known ones.
[[nodiscard]] Result<const Template*> template_named(std::string_view name);

/// The template of a plan. Throws std::invalid_argument, with the same message, if its template is unknown: no planner
/// makes such a plan.
[[nodiscard]] const Template& template_of(const Plan& plan);

}  // namespace convtgen
