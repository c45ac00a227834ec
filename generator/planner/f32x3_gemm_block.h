// What a block of `f32x3_gemm` may be, and how long it takes: for generator/planner/f32x3_gemm.cpp alone.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/planner/gemm_block.h"
#include "generator/planner/plan.h"

namespace convtgen::f32x3_gemm {

using gemm::Facts;
using gemm::Staging;

inline constexpr std::int64_t kParts = 2;  // high and low: operands that an element makes, and sets of accumulators

/// The block, as the template's parameters of the same names.
struct Block : gemm::Block {
  bool prefetch = true;
  std::int64_t promote_rows = 0;
};

/// Refers to the problem's target. Without sizes: those that a layer is planned for.
[[nodiscard]] Facts facts_of(const Problem& problem, const InputSizes& sizes);
[[nodiscard]] Facts facts_of(const Problem& problem);

/// Blocks that fit the chip, one for each way to share the work among threads and blocks.
[[nodiscard]] std::vector<Block> blocks(const Facts& facts);

/// Why there are none: which limit even the smallest block breaks.
[[nodiscard]] std::unexpected<Error> why_none(const Facts& facts);

/// What a block stages and loads, as the template lays it out.
[[nodiscard]] Staging staging_of(const Facts& facts, const Block& block);

/// Whether an image is one row of positions.
[[nodiscard]] bool is_flat(const Facts& facts, const Block& block);

/// Whether the consumers split what they load, not the producers what they stage.
[[nodiscard]] bool consumers_split(const Facts& facts, const Block& block);

/// Threads that bring what is staged.
[[nodiscard]] std::int64_t producers(const Facts& facts, const Block& block);

/// How often a tile promotes its accumulators to totals before its end, where all of its input has one scale.
[[nodiscard]] std::int64_t promotions(const Facts& facts, const Block& block);

/// Shared memory of a block, and the packed weights of the layer, in bytes.
[[nodiscard]] std::int64_t shared_bytes(const Facts& facts, const Block& block);
[[nodiscard]] std::int64_t packed_bytes(const Facts& facts, const Block& block);
/// Rows of 16 bytes of them that a thread makes.
[[nodiscard]] std::int64_t packed_rows(const Facts& facts, const Block& block);

/// A rough time on an H200 at the sizes.
[[nodiscard]] double predicted_seconds(const Facts& facts, const Block& block);

}  // namespace convtgen::f32x3_gemm
