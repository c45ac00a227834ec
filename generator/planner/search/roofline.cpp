#include "generator/planner/search/roofline.h"

#include <algorithm>

#include "generator/planner/search/integers.h"

namespace convtgen {

double cycles_of(const Target& target, const StageWork& work) {
  return std::max(
      {work.tensor_cycles, work.shared_wavefronts, work.instructions, work.l2_bytes / target.sm.l2_bytes_per_cycle});
}

double seconds_of(const Target& target, const CallWork& work) {
  const double cycles = work.first_cycles + work.waves * work.wave_cycles;
  const double seconds = cycles / target.sm.clock_hz;
  const double memory = work.memory_bytes / target.bytes_per_second;
  const double both = std::max(seconds, memory) + work.hidden_less * std::min(seconds, memory);
  return work.launches * target.launch_seconds + work.packed_bytes / target.packed_bytes_per_second +
         both * work.measured;
}

double piece_seconds(const PlannedTarget& target, double bytes, std::int64_t piece_bytes) {
  constexpr std::int64_t kSectorBytes = 32;
  return piece_bytes < kSectorBytes ? bytes / static_cast<double>(piece_bytes) / (target.factors.stored_pieces * 1e9)
                                    : 0;
}

double product_cycles(const Target& target, std::int64_t columns) {
  const SmRates& sm = target.sm;
  const double busy = static_cast<double>(columns) / sm.tensor_columns_per_cycle;
  return std::max(sm.least_product_cycles, busy + (columns < 64 ? 2.0 : 0.5));
}

double reduction_cycles(const PlannedTarget& target, std::int64_t bytes, std::int64_t cluster) {
  const auto all = static_cast<double>(bytes);
  const double sent = all * static_cast<double>(cluster - 1) / static_cast<double>(cluster);
  return target.factors.shift_cluster_sync + sent / target.factors.shift_sent + all / target.sm.shared_bytes_per_cycle;
}

std::int64_t waves_of(const Target& target, std::int64_t tiles, std::int64_t blocks) {
  const std::int64_t at_once = std::max<std::int64_t>(1, target.multiprocessors / blocks);
  return ceil_div(tiles, at_once) * ceil_div(blocks, target.multiprocessors);
}

}  // namespace convtgen
