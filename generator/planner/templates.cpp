#include "generator/planner/templates.h"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/direct.h"
#include "generator/planner/direct_grad_input.h"
#include "generator/planner/direct_grad_weight.h"
#include "generator/planner/direct_rows.h"
#include "generator/planner/f32x3_gemm.h"
#include "generator/planner/f32x3_grad_weight.h"
#include "generator/planner/f32x3_grad_weight_pixels.h"
#include "generator/planner/grad_bias.h"
#include "generator/planner/grad_weight_gemm.h"
#include "generator/planner/grad_weight_pixels.h"
#include "generator/planner/grad_weight_rows.h"
#include "generator/planner/halo_gemm.h"
#include "generator/planner/mma_phases.h"
#include "generator/planner/mma_rows.h"
#include "generator/planner/overlap_gemm.h"
#include "generator/planner/patch_gemm.h"
#include "generator/planner/phase_gemm.h"
#include "generator/planner/roll_gemm.h"
#include "generator/planner/shift_gemm.h"
#include "generator/planner/tap_gemm.h"

namespace convtgen {
namespace {

using enum Direction;

constexpr std::array kTemplates = {
    Template{"direct", kForward, programs::direct, plans_direct, direct_grid, nullptr, nullptr},
    Template{"direct_rows", kForward, programs::direct_rows, plans_direct_rows, direct_rows_grid, nullptr,
             direct_rows_seconds, false},
    Template{"mma_rows", kForward, programs::mma_rows, plans_mma_rows, mma_rows_grid, nullptr, mma_rows_seconds, false},
    Template{"shift_gemm", kForward, programs::shift_gemm, plans_shift_gemm, shift_gemm_grid, nullptr,
             shift_gemm_seconds},
    Template{"f32x3_gemm", kForward, programs::f32x3_gemm, plans_f32x3_gemm, f32x3_gemm_grid, nullptr,
             f32x3_gemm_seconds},
    Template{"roll_gemm", kForward, programs::roll_gemm, plans_roll_gemm, roll_gemm_grid, nullptr, roll_gemm_seconds},
    Template{"halo_gemm", kForward, programs::halo_gemm, plans_halo_gemm, halo_gemm_grid, nullptr, halo_gemm_seconds},
    Template{"overlap_gemm", kForward, programs::overlap_gemm, plans_overlap_gemm, nullptr, overlap_gemm_launch,
             overlap_gemm_seconds, false},
    Template{"patch_gemm", kForward, programs::patch_gemm, plans_patch_gemm, nullptr, patch_gemm_launch,
             patch_gemm_seconds, false},
    Template{"phase_gemm", kForward, programs::phase_gemm, plans_phase_gemm, nullptr, phase_gemm_launch,
             phase_gemm_seconds, false},
    Template{"mma_phases", kForward, programs::mma_phases, plans_mma_phases, nullptr, mma_phases_launch,
             mma_phases_seconds, false},
    Template{"direct_grad_input", kGradInput, programs::direct_grad_input, plans_direct_grad_input, nullptr,
             direct_grad_input_launch, nullptr},
    Template{"tap_gemm", kGradInput, programs::tap_gemm, plans_tap_gemm, nullptr, tap_gemm_launch, tap_gemm_seconds},
    Template{"direct_grad_weight", kGradWeight, programs::direct_grad_weight, plans_direct_grad_weight, nullptr,
             direct_grad_weight_launch, nullptr},
    Template{"grad_weight_gemm", kGradWeight, programs::grad_weight_gemm, plans_grad_weight_gemm, nullptr,
             grad_weight_gemm_launch, grad_weight_gemm_seconds},
    Template{"grad_weight_pixels", kGradWeight, programs::grad_weight_pixels, plans_grad_weight_pixels, nullptr,
             grad_weight_pixels_launch, grad_weight_pixels_seconds},
    Template{"grad_weight_rows", kGradWeight, programs::grad_weight_rows, plans_grad_weight_rows, nullptr,
             grad_weight_rows_launch, grad_weight_rows_seconds},
    Template{"f32x3_grad_weight", kGradWeight, programs::f32x3_grad_weight, plans_f32x3_grad_weight, nullptr,
             f32x3_grad_weight_launch, f32x3_grad_weight_seconds},
    Template{"f32x3_grad_weight_pixels", kGradWeight, programs::f32x3_grad_weight_pixels,
             plans_f32x3_grad_weight_pixels, nullptr, f32x3_grad_weight_pixels_launch,
             f32x3_grad_weight_pixels_seconds},
    Template{"grad_bias", kGradBias, programs::grad_bias, plans_grad_bias, nullptr, grad_bias_launch, nullptr},
};

}  // namespace

std::span<const Template> templates() {
  static const std::vector<Template> all = [] {
    std::vector<Template> table(kTemplates.begin(), kTemplates.end());
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
