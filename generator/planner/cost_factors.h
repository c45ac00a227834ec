// The fitted numbers of the cost models, in one table. benchmarks/fit_cost_model.py reads the table's lines, and
// writes their values, from what calls took (benchmarks/results, records/). What a chip does in a cycle is no fitted
// number: target.h has it.
#pragma once

#include <array>
#include <string_view>

namespace convtgen {

// clang-format off
// FACTOR(name, value, meaning). Times are cycles of an SM where nothing else is said; of templates by their names.
#define CONVTGEN_COST_FACTORS(FACTOR) \
  FACTOR(hidden_less, 0.2, "share of the shorter of an SM's and the memory's time that the longer one does not hide") \
  FACTOR(direct_reaches, 0.3, "share of the ceiling of its arithmetic that direct's first plan reaches") \
  FACTOR(direct_moves, 4, "times as long as moving everything once that direct takes at the least, NCHW") \
  FACTOR(direct_moves_nhwc, 10, "the same with channels last") \
  FACTOR(halo_launches, 0, "launches of a call: 0 where halo_measured has their time too") \
  FACTOR(halo_measured, 3.0, "median of measured / predicted, NCHW") \
  FACTOR(halo_measured_nhwc, 1.8, "the same with channels last") \
  FACTOR(halo_l2_copies, 0.6, "share of the L2 bytes' time that weights and asynchronous copies take") \
  FACTOR(halo_l2_registers, 0.96, "the same of input that comes through registers") \
  FACTOR(halo_stage, 40, "of barriers, between stages") \
  FACTOR(halo_begin, 2000, "until the first stage is asked for") \
  FACTOR(halo_epilogue, 300, "of a tile's epilogue, whatever it stores") \
  FACTOR(halo_epilogue_outputs, 6, "of a tile's epilogue, for each output of a thread") \
  FACTOR(halo_epilogue_shown, 0.3, "share of the epilogue that products do not hide, with ping-pong consumers") \
  FACTOR(halo_narrow_stores, 1.5, "times as long as a store of 16 bytes that narrower ones take") \
  FACTOR(roll_row, 250, "behind an input row: outputs are stored, the accumulators move up") \
  FACTOR(roll_exchange, 100, "of a row's outputs through shared memory") \
  FACTOR(roll_alone, 500, "of storing that no products hide, where one row is staged and not two") \
  FACTOR(roll_part_of_sector, 5, "in which the cache takes a part of a sector of 32 bytes; a whole one: 1") \
  FACTOR(roll_tile, 1500, "until a tile's first row has come") \
  FACTOR(roll_tile_nhwc, 200, "with channels last, where it comes while the tile before is multiplied") \
  FACTOR(roll_once, 40, "of a step whose fragments wait for those of the one before") \
  FACTOR(roll_store_nhwc, 2, "with channels last: of a warp's store, on top of what the cache takes")
// clang-format on

struct CostFactors {
#define CONVTGEN_MEMBER(name, value, meaning) double name = value;
  CONVTGEN_COST_FACTORS(CONVTGEN_MEMBER)
#undef CONVTGEN_MEMBER
};

struct CostFactorName {
  std::string_view name;
  double CostFactors::* member;
};

/// By name, in the order of the table.
inline constexpr std::array kCostFactorNames = {
#define CONVTGEN_NAME(name, value, meaning) CostFactorName{#name, &CostFactors::name},
    CONVTGEN_COST_FACTORS(CONVTGEN_NAME)
#undef CONVTGEN_NAME
};

}  // namespace convtgen
