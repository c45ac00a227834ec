#include <fmt/format.h>

#include <array>
#include <span>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/forward/shift_gemm_block.h"

namespace convtgen {
namespace planners::shift_gemm {

using convtgen::shift_gemm::kConstants;
using gemm::Block;
using gemm::Facts;

struct ShiftGemm : gemm::GemmPlanner<kConstants> {
  static constexpr bool kStreams = true;
  static constexpr FuseInput kFuseInput = FuseInput::kKeepingZero;
  static constexpr auto kMembers = std::span(gemm::kAllMembers).last<gemm::kAllMembers.size() - gemm::kF32x3Members>();

  static Blocks blocks(const Facts& f) {
    std::vector<Block> out = convtgen::shift_gemm::blocks(f);
    return out.empty() ? Blocks(convtgen::shift_gemm::why_none(f)) : out;
  }
  static double seconds(const Facts& f, const Block& b, Constants&) {
    return convtgen::shift_gemm::predicted_seconds(f, b);
  }
  static Chosen chosen(const Facts& f, const Block& b, Constants& c) {
    const std::int64_t groups = f.problem.layer.groups;
    TileGrid grid = gemm::grid_of(f, b, c);
    if (b.cluster > 1) {
      grid.blocks_per_tile *= b.cluster;
      grid.most_tiles = 0;
    }
    return {gemm::summary_of(f, b),
            fmt::format("tensor cores: products of {}, {} stages of {} input channels{}, weights {}{}{}{}{}",
                        gemm::products_text(c), b.stages, b.block_k,
                        c[gemm::kFlat] != 0         ? " by bulk copies of whole images"
                        : b.bulk && f.channels_last ? " by bulk copies of pixels"
                        : b.bulk                    ? " by bulk copies of rows"
                                                    : "",
                        b.resident ? "resident" : "with each stage", b.ping_pong ? ", ping-pong warpgroups" : "",
                        b.staged_epilogue ? ", outputs through shared memory" : "",
                        b.cluster > 1 ? fmt::format(", channels shared by clusters of {} blocks", b.cluster) : "",
                        groups > 1 ? fmt::format(", {} groups", groups) : ""),
            grid.grid()};
  }
};

}  // namespace planners::shift_gemm

CONVTGEN_TEMPLATE(ShiftGemm, shift_gemm);

}  // namespace convtgen
