#include "tests/end_to_end/chip_cases.h"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <sstream>
#include <utility>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"

namespace convtgen::testing {
namespace {

struct ChipMode {
  Dtype dtype;
  Compute compute;
  Layout layout;
};
constexpr std::array kChipModes = {
    ChipMode{Dtype::kF32, Compute::kTf32, Layout::kNchw}, ChipMode{Dtype::kF32, Compute::kF32x3, Layout::kNchw},
    ChipMode{Dtype::kF16, Compute::kF16, Layout::kNchw}, ChipMode{Dtype::kF16, Compute::kF16, Layout::kNhwc},
    ChipMode{Dtype::kBf16, Compute::kBf16, Layout::kNhwc}};

std::string text_in(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

const std::vector<BoardOfChip>& boards_of_chips() {
  static const std::vector<BoardOfChip> boards = {
      {"sm_75", "Tesla T4"},     {"sm_80", "NVIDIA A100-SXM4-80GB"},
      {"sm_86", "NVIDIA A10"},   {"sm_89", "NVIDIA L40S"},
      {"sm_100", "NVIDIA B200"}, {"sm_120", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition"}};
  return boards;
}

std::vector<ChipCase> chip_cases() {
  std::vector<ChipCase> out;
  const std::vector<NamedLayer> layers = parse_file(text_in(CONVTGEN_BENCHMARK_LAYERS)).value();
  for (const BoardOfChip& board : boards_of_chips()) {
    for (const Direction direction : {Direction::kForward, Direction::kGradInput, Direction::kGradWeight}) {
      for (const NamedLayer& named : layers) {
        for (const ChipMode& mode : kChipModes) {
          Layer layer = named.layer;
          layer.dtype = mode.dtype;
          layer.compute = mode.compute;
          layer.layout = mode.layout;
          layer.directions = {direction};
          out.push_back({fmt::format("{}.{}.{}.{}.{}", board.architecture, name_of(direction), named.name,
                                     name_of(mode.compute), name_of(mode.layout)),
                         board, direction, std::move(layer)});
        }
      }
    }
  }
  return out;
}

ChipTable committed_chip_table() {
  ChipTable table;
  std::istringstream text(text_in(CONVTGEN_CHIPS_TABLE));
  std::getline(text, table.nvrtc);
  for (std::string line; std::getline(text, line);) {
    const std::size_t colon = line.find(": ");
    table.lines[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return table;
}

std::string template_in_table(const ChipTable& table, const std::string& name) {
  const auto line = table.lines.find(name);
  return line == table.lines.end() ? "" : line->second.substr(0, line->second.find(';'));
}

MadeCase make_case(const ChipCase& one) {
  Problem problem{one.layer, one.direction, planned_for(target_named(one.board.architecture).value(), one.board.gpu)};
  Plan first = plan(problem).value().front();
  KernelSource source = specialize(problem, first).value();
  return {std::move(problem), std::move(first), std::move(source)};
}

}  // namespace convtgen::testing
