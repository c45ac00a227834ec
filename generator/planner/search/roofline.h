// Seconds of counts of work: the one model of a chip that all templates for tensor cores are predicted by. A template
// counts; target.h has the chip's rates, cost_factors.h what was fitted.
#pragma once

#include <cstdint>

#include "generator/planner/plan/plan.h"

namespace convtgen {

/// What a stage of a block's pipeline, or any part of its work that repeats, takes of an SM while the next ones come.
struct StageWork {
  double tensor_cycles = 0;
  double shared_wavefronts = 0;  // of 128 bytes: what shared memory gives or takes in a cycle
  double instructions = 0;       // issued by a scheduler
  double l2_bytes = 0;
};

/// Cycles of an SM: of what takes longest.
[[nodiscard]] double cycles_of(const Target& target, const StageWork& work);

/// What a call takes. Weights that a launch packs are counted though calls with the same weights do without.
struct CallWork {
  double launches = 1;
  double packed_bytes = 0;  // of weights
  double first_cycles = 0;  // before the first wave
  double waves = 0;         // of tiles that the SMs make at a time
  double wave_cycles = 0;
  double memory_bytes = 0;  // from and to device memory
  double hidden_less = 0;   // share of the shorter of the SMs' and the memory's time that the longer does not hide
  double measured = 1;      // median of measured / predicted
};

[[nodiscard]] double seconds_of(const Target& target, const CallWork& work);

/// Seconds in which `bytes` of outputs are stored in pieces of sectors, each by an instruction of a warp: a piece costs
/// what a sector does. 0 of whole sectors, whose time is memory's.
[[nodiscard]] double piece_seconds(const PlannedTarget& target, double bytes, std::int64_t piece_bytes);

/// Tensor-core cycles of one product of 64 positions x `columns` where two warpgroups keep an SM's tensor cores busy.
[[nodiscard]] double product_cycles(const Target& target, std::int64_t columns);

/// Cycles in which the blocks of a cluster add up what each accumulated, `bytes` of each, and of a pipeline that fills
/// for one tile.
[[nodiscard]] double reduction_cycles(const PlannedTarget& target, std::int64_t bytes, std::int64_t cluster);

/// Waves of blocks that the SMs need: `tiles` times `blocks` blocks each. As many tiles run at a time as have
/// all their blocks on the chip.
[[nodiscard]] std::int64_t waves_of(const Target& target, std::int64_t tiles, std::int64_t blocks);

}  // namespace convtgen
