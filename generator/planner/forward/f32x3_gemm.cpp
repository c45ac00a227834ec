#include <fmt/format.h>

#include <array>
#include <span>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/forward/f32x3_gemm_block.h"

namespace convtgen {
namespace planners::f32x3_gemm {

using convtgen::f32x3_gemm::kConstants;
using gemm::Block;
using gemm::Facts;

struct F32x3Gemm : gemm::GemmPlanner<kConstants> {
  static constexpr std::array kComputes = {Compute::kF32x3};
  static constexpr FuseInput kFuseInput = FuseInput::kKeepingZero;
  static constexpr auto kMembers = std::span(gemm::kAllMembers).first<gemm::kAllMembers.size() - gemm::kShiftMembers>();

  static Blocks blocks(const Facts& f) {
    std::vector<Block> out = convtgen::f32x3_gemm::blocks(f);
    return out.empty() ? Blocks(convtgen::f32x3_gemm::why_none(f)) : out;
  }
  static double seconds(const Facts& f, const Block& b, Constants&) {
    return convtgen::f32x3_gemm::predicted_seconds(f, b);
  }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    const std::int64_t groups = f.problem.layer.groups;
    return {
        gemm::summary_of(f, b),
        fmt::format("tensor cores: three f16 products for each of fp32, of {}, {} stages of {} input channels{}, "
                    "weights {}{}",
                    gemm::products_text(c), b.stages, b.block_k,
                    c[gemm::kFlat] != 0 ? " by bulk copies of whole images"
                    : b.bulk            ? " by bulk copies of rows"
                                        : "",
                    b.resident ? "resident" : "with each stage", groups > 1 ? fmt::format(", {} groups", groups) : ""),
        gemm::grid_of(f, b, c).grid()};
  }
};

}  // namespace planners::f32x3_gemm

CONVTGEN_TEMPLATE(F32x3Gemm, f32x3_gemm);

}  // namespace convtgen
