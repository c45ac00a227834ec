// What a block of `shift_gemm` may be, and how long it takes: for generator/planner/shift_gemm.cpp alone.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/planner/gemm_block.h"
#include "generator/planner/plan.h"

namespace convtgen::shift_gemm {

/// The block, as the template's parameters of the same names.
struct Block : gemm::Block {
  bool operator==(const Block&) const = default;

  bool staged_epilogue = false, ping_pong = false;
  std::int64_t cluster = 1;
};
inline constexpr auto kMembers = gemm::members_with(std::array{
    BlockMember<Block>{"staged_epilogue", &Block::staged_epilogue},
    BlockMember<Block>{"ping_pong", &Block::ping_pong},
    BlockMember<Block>{"cluster", &Block::cluster},
});

/// The template's constants that are asked for beside those of gemm::Constant.
enum Constant : std::size_t {
  kTileWarps = gemm::kCommonConstants,
  kCopyPixels,
  kPixelCopies,
  kPixelCopyBytes,
  kWarpOutputs,
  kReceivedBytes,
  kHeldFragments,
  kBatches,
  kLoads,
};
inline constexpr auto kConstants = gemm::constants_with(
    std::array<std::string_view, 9>{"kTileWarps", "kCopyPixels", "kPixelCopies", "kPixelCopyBytes", "kWarpOutputs",
                                    "kReceivedBytes", "kHeldFragments", "kBatches", "kLoads"});

using Facts = gemm::FactsOf<Block>;

/// All parameters except the block's.
[[nodiscard]] Parameters parameters_of(const Problem& problem);

/// Refers to the problem's target. Errors: as BlockConstants::make() has them.
[[nodiscard]] Result<Facts> facts_of(const Problem& problem, const InputSizes& sizes, const ConstantProgram& program);

/// Blocks that fit the chip, one for each way to share the work among threads and blocks.
[[nodiscard]] std::vector<Block> blocks(const Facts& facts);

/// Why there are none: which limit even the smallest block breaks.
[[nodiscard]] std::unexpected<Error> why_none(const Facts& facts);

/// Positions of a tile.
[[nodiscard]] std::int64_t positions(const Facts& facts, const Block& block);

/// A rough time on an H200 at the sizes.
[[nodiscard]] double predicted_seconds(const Facts& facts, const Block& block);

}  // namespace convtgen::shift_gemm
