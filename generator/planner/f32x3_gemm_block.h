// What a block of `f32x3_gemm` may be, and how long it takes: for generator/planner/f32x3_gemm.cpp alone.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/planner/gemm_block.h"
#include "generator/planner/plan.h"

namespace convtgen::f32x3_gemm {

/// The block, as the template's parameters of the same names.
struct Block : gemm::Block {
  bool operator==(const Block&) const = default;

  bool prefetch = true;
  std::int64_t promote_rows = 0;
};
inline constexpr auto kMembers = gemm::members_with(std::array{
    BlockMember<Block>{"prefetch", &Block::prefetch},
    BlockMember<Block>{"promote_rows", &Block::promote_rows},
});

/// The template's constants that are asked for beside those of gemm::Constant.
enum Constant : std::size_t {
  kParts = gemm::kCommonConstants,
  kConsumersSplit,
  kFragmentColumns,
  kKeepsPixels,
  kMostTerms,
  kRowTerms,
  kKBlockTerms,
  kMostRegisters,
  kHeldRegisters,
  kHoldsPairs,
  kLoadsPairs,
};
inline constexpr auto kConstants = gemm::constants_with(std::array<std::string_view, 11>{
    "kParts", "kConsumersSplit", "kFragmentColumns", "kKeepsPixels", "kMostTerms", "kRowTerms", "kKBlockTerms",
    "kMostRegisters", "kHeldRegisters", "kHoldsPairs", "kLoadsPairs"});

using Facts = gemm::FactsOf<Block>;

/// All parameters except the block's.
[[nodiscard]] Parameters parameters_of(const Problem& problem);

/// Refers to the problem's target. Errors: as BlockConstants::make() has them.
[[nodiscard]] Result<Facts> facts_of(const Problem& problem, const InputSizes& sizes, const ConstantProgram& program);

/// Blocks that fit the chip, one for each way to share the work among threads and blocks.
[[nodiscard]] std::vector<Block> blocks(const Facts& facts);

/// Why there are none: which limit even the smallest block breaks.
[[nodiscard]] std::unexpected<Error> why_none(const Facts& facts);

/// How often a tile promotes its accumulators to totals before its end, where all of its input has one scale.
[[nodiscard]] std::int64_t promotions(const Facts& facts, const Block& block);

/// A rough time on an H200 at the sizes.
[[nodiscard]] double predicted_seconds(const Facts& facts, const Block& block);

}  // namespace convtgen::f32x3_gemm
