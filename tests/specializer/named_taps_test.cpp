// The taps that comments of emitted sources name: those whose products stand there, each once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "generator/language/language.h"
#include "generator/layer/phases.h"
#include "generator/planner/candidates.h"
#include "generator/planner/plan/plan.h"
#include "generator/specializer/kernel_source.h"
#include "tests/planner/problems.h"

namespace convtgen {
namespace {

/// A product and the taps that its comment names.
struct Named {
  std::string call;                  // the statement that the comment stands after or above, as one line
  std::vector<std::int64_t> rows;    // of the kernel
  bool after_r = false;              // the rows are counted from the first of the block's phase row
  std::int64_t first = 0, last = 0;  // columns
};

std::vector<Named> named_in(const std::string& text) {
  static const std::regex list(R"(// taps?((?: \([^()]*\))+)$)");
  static const std::regex tap(R"(\((\d+)(?: to (\d+))?( \+ r)?, (\d+)(?: to (\d+))?\))");
  std::vector<Named> all;
  std::string statement;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t trail = line.find("//");
    const std::size_t begin = line.find_first_not_of(' ');
    statement +=
        begin == std::string::npos ? "" : line.substr(begin, trail == std::string::npos ? trail : trail - begin);
    std::smatch found;
    if (trail != std::string::npos && std::regex_search(line, found, list)) {
      Named named;
      named.call = trail == begin ? "" : statement;
      const std::string taps = found[1];
      for (std::sregex_iterator t(taps.begin(), taps.end(), tap), end; t != end; ++t) {
        const auto number = [&](std::size_t group, std::int64_t otherwise) {
          return (*t)[group].matched ? std::stoll((*t)[group]) : otherwise;
        };
        for (std::int64_t row = number(1, 0); row <= number(2, number(1, 0)); ++row) {
          named.rows.push_back(row);
        }
        named.after_r = (*t)[3].matched;
        named.first = number(4, 0);
        named.last = number(5, named.first);
      }
      all.push_back(named);
    }
    if (line.ends_with('{') || line.ends_with('}') || line.find(';') != std::string::npos) {
      if (!all.empty() && all.back().call.empty()) {
        all.back().call = statement;
      }
      statement.clear();
    }
  }
  return all;
}

std::int64_t number_in(const std::string& call, const char* pattern) {
  std::smatch found;
  if (!std::regex_search(call, found, std::regex(pattern))) {
    ADD_FAILURE() << pattern << " is not in " << call;
    return 0;
  }
  return found[1].matched ? std::stoll(found[1]) : 0;
}

/// The same of a call's argument; one that is the same number in all calls stands in the function.
std::int64_t number_of(const std::string& call, const char* pattern, const std::string& text, const char* in_function) {
  return std::regex_search(call, std::regex(pattern)) ? number_in(call, pattern) : number_in(text, in_function);
}

/// Each tap must be named so many times.
void expect_all_taps(const Layer& layer, const std::vector<Named>& named, int times) {
  std::map<std::pair<std::int64_t, std::int64_t>, int> count;
  for (const Named& each : named) {
    for (const std::int64_t row : each.rows) {
      for (std::int64_t kw = each.first; kw <= each.last; ++kw) {
        for (std::int64_t r = 0; r < (each.after_r ? layer.axes[kHeight].stride : 1); ++r) {
          ++count[{row + r, kw}];
        }
      }
    }
  }
  EXPECT_EQ(count.size(), static_cast<std::size_t>(layer.axes[kHeight].kernel * layer.axes[kWidth].kernel));
  for (const auto& [tap, found] : count) {
    EXPECT_TRUE(tap.first < layer.axes[kHeight].kernel && tap.second < layer.axes[kWidth].kernel && found == times)
        << fmt::format("tap ({}, {}) is named {} times", tap.first, tap.second, found);
  }
}

/// A product of `shift_gemm` or `f32x3_gemm`: it accumulates for its taps' phase, takes the fragments at their offset,
/// and their weights, which lie tap by tap. In f32x3_gemm one call may stand for kernel rows of one phase, whose
/// weights a loop moves to, and for the columns of a loop.
void expect_shifted(const Layer& layer, const Plan& plan, const KernelSource& source) {
  const std::vector<Named> named = named_in(source.text);
  const bool parted = integer(plan, "phase_rows") < layer.axes[kHeight].stride;
  ASSERT_EQ(source.text.contains(fmt::format("The block's kernel rows are r, r + {} and so on, r = (its phase "
                                             "row + {}) % {}.",
                                             layer.axes[kHeight].stride, layer.axes[kHeight].padding.before,
                                             layer.axes[kHeight].stride)),
            parted);
  std::optional<std::int64_t> shift, fused, tap_bytes;
  for (const Named& each : named) {
    SCOPED_TRACE(each.call);
    const bool is_loop = each.call.contains("kw");  // over all columns
    const std::int64_t width = is_loop ? 1 : each.last - each.first + 1;
    EXPECT_EQ(fused.value_or(width), width);
    fused = width;
    const std::int64_t moved = number_of(each.call, R"((?:fragments(?:\[\w+\])?|\ba), (\d+)(?:,| - ))", source.text,
                                         R"(acc\[[^;]*, (?:a|fragments)\[(?:2 \* tile \+ )?(\d+)\])") -
                               offset_of_tap(layer.axes[kWidth], each.first);
    EXPECT_EQ(shift.value_or(moved), moved);
    shift = moved;
    const std::int64_t part =
        number_of(each.call, R"(\(acc, (\d+),)", source.text, R"(wgmma_m64\w+\(acc\[(?:high \? )?(\d+))");
    EXPECT_EQ(each.after_r, parted);
    for (const std::int64_t row : each.rows) {
      const std::int64_t phase_row = parted ? 0 : phase_of_tap(layer.axes[kHeight], row);
      EXPECT_EQ(part, (phase_row * layer.axes[kWidth].stride + phase_of_tap(layer.axes[kWidth], each.first)) / width);
    }
    const std::int64_t place =
        (each.rows.front() / (parted ? layer.axes[kHeight].stride : 1) * layer.axes[kWidth].kernel + each.first) /
        width;
    const std::int64_t at = number_in(each.call, R"(weights(?: \+ \(?(\d+))?)");
    if (place > 0) {
      EXPECT_EQ(tap_bytes.value_or(at / place) * place, at);
      tap_bytes = at / place;
    } else {
      EXPECT_EQ(at, 0);
    }
  }
  expect_all_taps(layer, named, 1);
}

/// The first plans whose template has these parameters, and their sources.
std::vector<std::pair<Plan, KernelSource>> sources_of(const Problem& problem, std::vector<const char*> parameters,
                                                      std::size_t most) {
  std::vector<std::pair<Plan, KernelSource>> out;
  const std::vector<Plan> plans = plan(problem).value();
  for (const Plan& each : plans) {
    const auto is_there = [&](const char* name) { return each.parameters.contains(name); };
    if (std::ranges::all_of(parameters, is_there) && out.size() < most) {
      Result<KernelSource> source = specialize(problem, each);
      EXPECT_TRUE(source) << source.error().message;
      if (source) {
        out.emplace_back(each, *std::move(source));
      }
    }
  }
  return out;
}

TEST(NamedTaps, AreThoseOfShiftedProducts) {
  int parted = 0, whole = 0, fused = 0, of_loops = 0;
  for (const char* shape : {"kernel 4x4; stride 2x2; padding 1x1", "kernel 4x4; stride 2x2", "kernel 3x3; stride 2x2",
                            "kernel 6x4; stride 3x1; padding 2x1", "kernel 8x6; stride 4x3; padding 3x0",
                            "kernel 4x6; stride 2x3; padding 1x3; output_padding 1x2", "kernel 3x5; dilation 2x3"}) {
    for (const char* mode : {"compute tf32", "dtype f16; layout nhwc", "compute f32x3", "compute f32x3; layout nhwc"}) {
      const Problem problem = problem_of(fmt::format("conv_transpose2d 64 -> 24; {}; input 4x16x16; {}", shape, mode));
      SCOPED_TRACE(canonical_form(problem.layer));
      for (const auto& [plan, source] : sources_of(problem, {"bulk"}, 4)) {
        expect_shifted(problem.layer, plan, source);
        (integer(plan, "phase_rows") < problem.layer.axes[kHeight].stride ? parted : whole) += 1;
        fused += source.text.contains(" to ") && source.text.contains("// taps") ? 1 : 0;
        of_loops += source.text.contains("weights + kw * ") ? 1 : 0;
      }
    }
  }
  EXPECT_TRUE(parted > 0 && whole > 0 && fused > 0 && of_loops > 0)
      << parted << ' ' << whole << ' ' << fused << ' ' << of_loops;
}

TEST(NamedTaps, AreThoseOfDirectlyAddedProducts) {
  int parted = 0;
  for (const char* shape : {"kernel 3x4; stride 2x3; padding 1x1", "kernel 9x7; stride 5x6; padding 3x2",
                            "kernel 3x3; dilation 2x2; padding 1x0", "kernel 2x3; dilation 200x200; padding 100x200"}) {
    const Problem problem = problem_of(fmt::format("conv_transpose2d 6 -> 5; {}; input 2x29x31", shape));
    SCOPED_TRACE(canonical_form(problem.layer));
    const Layer& layer = problem.layer;
    for (const auto& [plan, source] : sources_of(problem, {"group_phases_h"}, 2)) {
      const std::vector<Named> named = named_in(source.text);
      expect_all_taps(layer, named, 1);
      for (const Named& each : named) {
        const char* place = each.call.contains("unstaged") ? R"( \* \d+(?: \+ (\d+))?\)*(?:, channels)?\);)"
                                                           : R"(weights\[c\]\[(\d+)\])";
        EXPECT_EQ(number_in(each.call, place), each.rows.front() * problem.layer.axes[kWidth].kernel + each.first)
            << each.call;
      }
      for (std::int64_t kh = 0; kh < problem.layer.axes[kHeight].kernel; ++kh) {
        EXPECT_TRUE(source.text.contains(fmt::format("Kernel row {}: output rows of phase {}, input offset {}.", kh,
                                                     phase_of_tap(layer.axes[kHeight], kh),
                                                     offset_of_tap(layer.axes[kHeight], kh))));
      }
      parted += source.text.contains("if (phase_group == 1)") ? 1 : 0;
    }
  }
  EXPECT_GT(parted, 0);
}

/// The products of `roll_gemm`, each with the kernel column that the comment above names.
std::vector<Named> rolling_products(const std::string& text) {
  static const std::regex comment(R"(// taps \(0, (\d+)\))");
  std::vector<Named> all;
  std::int64_t column = -1;  // -1: below another statement
  std::string statement;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (std::smatch found; std::regex_search(line, found, comment)) {
      column = std::stoll(found[1]);
      statement.clear();
      continue;
    }
    statement += line;
    if (line.ends_with(';')) {
      if (column >= 0 && statement.contains("wgmma_m64n")) {
        all.push_back({.call = statement, .rows = {}});
        all.back().first = all.back().last = column;
      } else if (!statement.contains("wgmma_m64n")) {
        column = -1;
      }
      statement.clear();
    }
  }
  return all;
}

TEST(NamedTaps, AreTheColumnsOfRollingRows) {
  for (const char* text :
       {"conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x32x64; compute tf32",
        "conv_transpose2d 32 -> 24; kernel 2x3; dilation 1x3; input 2x32x65; dtype f16; layout nhwc"}) {
    const Problem problem = problem_of(text);
    SCOPED_TRACE(text);
    const Layer& layer = problem.layer;
    for (const auto& [plan, source] : sources_of(problem, {"thread_positions", "rows"}, 4)) {
      std::map<std::int64_t, std::int64_t> count;
      std::optional<std::int64_t> shift;
      for (const Named& each : rolling_products(source.text)) {
        SCOPED_TRACE(each.call);
        ++count[each.first];
        // One tile's accumulators are no array of tiles.
        const std::int64_t tile = each.call.contains("(acc,") ? 0 : number_in(each.call, R"(acc\[(\d+)\])");
        const std::int64_t moved = number_in(each.call, R"(fragments(?:\[\w+\])*\[(\d+)\],)") - 2 * tile -
                                   offset_of_tap(layer.axes[kWidth], each.first);
        EXPECT_EQ(shift.value_or(moved), moved);
        shift = moved;
      }
      EXPECT_EQ(count.size(), static_cast<std::size_t>(layer.axes[kWidth].kernel));
      for (const auto& [kw, times] : count) {
        EXPECT_EQ(times, integer(plan, "thread_positions") / 2);
      }
    }
  }
}

}  // namespace
}  // namespace convtgen
