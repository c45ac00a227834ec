// Plans of a template whose program is another than its own.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "generator/planner/direct.h"
#include "generator/planner/direct_rows.h"
#include "generator/planner/f32x3_gemm.h"
#include "generator/planner/f32x3_grad_weight.h"
#include "generator/planner/f32x3_grad_weight_pixels.h"
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
#include "generator/planner/templates.h"
#include "generator/program/constants.h"

namespace convtgen::testing {

/// Throws std::out_of_range for a template whose plans don't depend on its constants.
inline Result<std::vector<Plan>> plans_with(const Template& known, const Problem& problem,
                                            const ConstantProgram& program) {
  using Known = Result<std::vector<Plan>> (*)(const Problem&, const ConstantProgram&);
  static const std::map<std::string_view, Known> all = {
      {"direct", plans_direct},
      {"direct_rows", plans_direct_rows},
      {"f32x3_gemm", plans_f32x3_gemm},
      {"f32x3_grad_weight", plans_f32x3_grad_weight},
      {"f32x3_grad_weight_pixels", plans_f32x3_grad_weight_pixels},
      {"grad_weight_gemm", plans_grad_weight_gemm},
      {"grad_weight_pixels", plans_grad_weight_pixels},
      {"grad_weight_rows", plans_grad_weight_rows},
      {"halo_gemm", plans_halo_gemm},
      {"mma_phases", plans_mma_phases},
      {"mma_rows", plans_mma_rows},
      {"overlap_gemm", plans_overlap_gemm},
      {"patch_gemm", plans_patch_gemm},
      {"phase_gemm", plans_phase_gemm},
      {"roll_gemm", plans_roll_gemm},
      {"shift_gemm", plans_shift_gemm},
      {"tap_gemm", plans_tap_gemm},
  };
  return all.at(known.name)(problem, program);
}

}  // namespace convtgen::testing
