// The layers of the benchmark as chips without wgmma get them, in all modes and directions, and the committed table of
// their kernels (machine_code_of_chips.txt).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "generator/planner/plan/plan.h"
#include "generator/specializer/kernel_source.h"

namespace convtgen::testing {

/// A chip, as a board of it that is no GeForce: there f32x3 is of tensor cores.
struct BoardOfChip {
  const char* architecture;
  const char* gpu;
};
[[nodiscard]] const std::vector<BoardOfChip>& boards_of_chips();

/// A layer on a chip: what a line of the table is of.
struct ChipCase {
  std::string name;  // "sm_80.forward.kb57.tf32.nchw"
  BoardOfChip board;
  Direction direction;
  Layer layer;
};
/// In the order of the table.
[[nodiscard]] std::vector<ChipCase> chip_cases();

/// The committed table: the NVRTC that made it, and its lines, by the names of their cases.
struct ChipTable {
  std::string nvrtc;
  std::map<std::string, std::string> lines;
};
[[nodiscard]] ChipTable committed_chip_table();
/// Of a line of it, or "" where there is no such line: "direct" of "direct; 96 registers; ...".
[[nodiscard]] std::string template_in_table(const ChipTable& table, const std::string& name);

/// The first plan of a case, and its source.
struct MadeCase {
  Problem problem;
  Plan plan;
  KernelSource source;
};
[[nodiscard]] MadeCase make_case(const ChipCase& one);

}  // namespace convtgen::testing
