// What a block of `shift_gemm` may be, and how long it takes: for generator/planner/shift_gemm.cpp alone.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/planner/gemm_block.h"
#include "generator/planner/plan.h"

namespace convtgen::shift_gemm {

using gemm::Facts;
using gemm::Staging;

/// The block, as the template's parameters of the same names.
struct Block : gemm::Block {
  bool staged_epilogue = false, ping_pong = false;
  std::int64_t cluster = 1;
};

/// Refers to the problem's target. Without sizes: those that a layer is planned for.
[[nodiscard]] Facts facts_of(const Problem& problem, const InputSizes& sizes);
[[nodiscard]] Facts facts_of(const Problem& problem);

/// Blocks that fit the chip, one for each way to share the work among threads and blocks.
[[nodiscard]] std::vector<Block> blocks(const Facts& facts);

/// Why there are none: which limit even the smallest block breaks.
[[nodiscard]] std::unexpected<Error> why_none(const Facts& facts);

/// Positions of a tile.
[[nodiscard]] std::int64_t positions(const Block& block);

/// What a block stages and loads, as the template lays it out.
[[nodiscard]] Staging staging_of(const Facts& facts, const Block& block);

/// Adjacent pixels that one bulk copy brings, with channels last.
[[nodiscard]] std::int64_t copy_pixels(const Facts& facts, const Block& block);

/// Whether an image is one row of positions.
[[nodiscard]] bool is_flat(const Facts& facts, const Block& block);

/// Whether rows come by bulk copies though they are not whole 16-byte vectors: each begins anywhere in one.
[[nodiscard]] bool is_skewed(const Facts& facts, const Block& block);

/// Threads that bring what is staged.
inline constexpr std::int64_t kProducers = 128;

/// Shared memory of a block, and the packed weights of the layer, in bytes.
[[nodiscard]] std::int64_t shared_bytes(const Facts& facts, const Block& block);
[[nodiscard]] std::int64_t packed_bytes(const Facts& facts, const Block& block);
/// Rows of 16 bytes of them that a thread makes.
[[nodiscard]] std::int64_t packed_rows(const Facts& facts, const Block& block);

/// A rough time on an H200 at the sizes.
[[nodiscard]] double predicted_seconds(const Facts& facts, const Block& block);

}  // namespace convtgen::shift_gemm
