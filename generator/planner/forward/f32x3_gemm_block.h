// What a block of `f32x3_gemm` may be, and how long it takes: for generator/planner/forward/f32x3_gemm.cpp alone.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/planner/forward/gemm_block.h"

namespace convtgen::f32x3_gemm {

using gemm::Block;
using gemm::Facts;

/// The template's constants that are asked for besides those of gemm::Constant.
CONVTGEN_MORE_CONSTANTS(Constant, kOwnNames, gemm::kConstantCount, kParts, kConsumersSplit, kFragmentColumns,
                        kKeepsPixels, kMostTerms, kRowTerms, kKBlockTerms, kMostRegisters, kHeldRegisters, kHoldsPairs,
                        kLoadsPairs);
inline constexpr auto kConstants = joined(gemm::kConstants, kOwnNames);

/// Blocks that fit the chip, one for each way to share the work among threads and blocks.
[[nodiscard]] std::vector<Block> blocks(const Facts& facts);

/// Why there are no blocks: which limit even the smallest block breaks.
[[nodiscard]] std::unexpected<Error> why_none(const Facts& facts);

/// How often a tile promotes its accumulators to totals before its end, where all of its input has one scale.
[[nodiscard]] std::int64_t promotions(const Facts& facts, const Block& block);

/// A rough time on an H200 at the sizes.
[[nodiscard]] double predicted_seconds(const Facts& facts, const Block& block);

}  // namespace convtgen::f32x3_gemm
