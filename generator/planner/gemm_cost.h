// How long parts of a block's work take, in cycles of an SM of an H200: what the models of `shift_gemm` and
// `f32x3_gemm` share. The rates are measured ones (docs/kernel-notes.md).
#pragma once

#include <cstdint>

#include "generator/planner/gemm_block.h"

namespace convtgen::gemm {

inline constexpr double kClock = 1.7e9;             // under load
inline constexpr double kL2BytesPerCycle = 24;      // of an SM while all of them load
inline constexpr double kProducerCycles = 8;        // of a producer warp for an instruction, with two consumer warps
inline constexpr double kKBlockCycles = 150;        // of barriers, and of a pipeline that fills
inline constexpr double kLatencyCycles = 1000;      // until a first byte arrives, under load
inline constexpr double kEpilogueInstructions = 4;  // for an output: bias, address, store

inline double number(std::int64_t value) {
  return static_cast<double>(value);
}

/// Of a product of 64 positions by two warpgroups, or by one alone.
[[nodiscard]] double product_cycles(std::int64_t n, bool alone);

/// Cycles of the producers for a stage that bulk copies of rows bring, of so many stages of a tile.
[[nodiscard]] double bulk_row_cycles(const Facts& facts, const Block& block, const Staging& staging, bool flat,
                                     bool skewed, std::int64_t producers, double stages);

/// Waves of blocks that a layer takes, without clusters.
[[nodiscard]] std::int64_t waves(const Facts& facts, const Block& block, bool flat);

/// Seconds to load and store everything once. Sectors are counted as often as stores write parts of them: `stores` are
/// the parts of a thread's adjacent outputs.
[[nodiscard]] double memory_seconds(const Facts& facts, const Block& block, bool flat, double stores);

/// The parts in which a thread stores its adjacent outputs.
[[nodiscard]] double thread_stores(const Facts& facts, const Block& block);

/// Seconds of a call: launch, packing, and both limits, `measured` times as long as they say.
[[nodiscard]] double call_seconds(double cycles, double memory, std::int64_t packed_bytes, double measured);

}  // namespace convtgen::gemm
