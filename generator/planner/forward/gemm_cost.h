// How long parts of a block's work take, in cycles of an SM of an H200: what the models of `shift_gemm` and
// `f32x3_gemm` share. The rates are measured ones (docs/kernel-notes.md).
#pragma once

#include <cstdint>

#include "generator/planner/forward/gemm_block.h"

namespace convtgen::gemm {

inline double number(std::int64_t value) {
  return static_cast<double>(value);
}

/// Of a product of 64 positions by n columns, by two warpgroups or by one alone.
[[nodiscard]] double product_cycles(const Facts& facts, std::int64_t n, bool alone);

/// Cycles of the producers for a stage that bulk copies of rows bring, of so many stages of a tile.
[[nodiscard]] double bulk_row_cycles(const Facts& facts, const Block& block, Constants& of_block, double stages);

/// Bytes to load and store everything once. Sectors are counted as often as stores write parts of them: `stores` are
/// the parts of a thread's adjacent outputs.
[[nodiscard]] double memory_bytes(const Facts& facts, const Block& block, Constants& of_block, double stores);

/// The parts in which a thread stores its adjacent outputs.
[[nodiscard]] double thread_stores(const Facts& facts, const Block& block);

}  // namespace convtgen::gemm
