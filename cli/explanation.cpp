#include "cli/explanation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "cli/terminal.h"
#include "generator/layer/layer.h"
#include "generator/planner/chip/target.h"

namespace convtgen::cli {
namespace {

constexpr std::size_t kBestOthers = 5;

/// A line; a word that the line before has too is not printed again.
struct Row {
  std::string word;
  std::string key;  // what differs between rows of a word: a template's name
  std::string text;
};
using Rows = std::vector<Row>;

std::string value_text(const ParameterValue& value) {
  struct Printer {
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(std::int64_t number) const { return fmt::format("{}", number); }
    std::string operator()(double number) const { return fmt::format("{}", number); }
    std::string operator()(const TypeName& type) const { return type.spelling; }
    std::string operator()(const std::vector<std::int64_t>& list) const {
      return fmt::format("{{{}}}", fmt::join(list, ", "));
    }
    std::string operator()(const std::vector<double>& list) const {
      return fmt::format("{{{}}}", fmt::join(list, ", "));
    }
  };
  return std::visit(Printer{}, value);
}

/// "26 KiB", "4 KiB for each position of all output images".
std::string amount_text(const Amount& bytes) {
  std::string text = bytes.constant > 0 || bytes.factor == 0 ? bytes_text(static_cast<double>(bytes.constant)) : "";
  if (bytes.factor > 0) {
    text += fmt::format("{}{} times {}", text.empty() ? "" : " and ", bytes_text(static_cast<double>(bytes.factor)),
                        words_of(bytes.per));
  }
  return text;
}

std::string text_of(const ExplainedPlans& plans) {
  std::string text = fmt::format("{} {}: ", plans.is_chosen ? '*' : ' ', plans.template_name);
  if (plans.predicted_seconds) {
    text += fmt::format("{} predicted; ", seconds_text(*plans.predicted_seconds));
  }
  for (const auto& [where, seconds] : plans.measured) {
    text += fmt::format("{} {}; ", seconds_text(seconds), where);
  }
  return text + plans.summary + (plans.plans > 1 ? fmt::format(" ({} plans)", plans.plans) : "");
}

std::string floor_text(const Cost& cost, const Target& target) {
  return fmt::format("{} on {} ({}, {}): {}", seconds_text(cost.floor_seconds), target.architecture, target.board,
                     target.rates == RateSource::kMeasured ? "measured" : "data sheet",
                     cost.memory_bound ? "its tensors, each moved once to or from memory; a cache may save some of that"
                                       : "its arithmetic at the rate that large products reach");
}

std::string prediction_text(const Explanation& explanation) {
  if (!explanation.predicted_seconds) {
    return fmt::format("nothing: {} has no model of its time", explanation.planned.plan.template_name);
  }
  std::string text = seconds_text(*explanation.predicted_seconds);
  if (explanation.call && explanation.call->cost.floor_seconds > 0) {
    text +=
        fmt::format(", {:.3g} times the floor", *explanation.predicted_seconds / explanation.call->cost.floor_seconds);
  }
  return text;
}

/// The plan, why, and what a call takes at least.
Rows plan_rows(const Explanation& explanation) {
  const Problem& problem = explanation.planned.problem;
  const Plan& plan = explanation.planned.plan;
  Rows rows = {
      {"layer", "", canonical_form(problem.layer)},
      {"template", "",
       fmt::format("{}, {}, for {}", plan.template_name, name_of(problem.direction), problem.target.architecture)},
      {"tile", "", plan.summary},
      {"why", "", plan.reason},
      {"record", "", explanation.record}};
  for (const PassedOver& passed : explanation.planned.passed_over) {
    rows.push_back({"passed over", passed.description, fmt::format("{}: {}", passed.description, passed.reason)});
  }
  if (!explanation.assumed.empty()) {
    rows.push_back(
        {"assumed", "", fmt::format("{}, which the layer leaves open; --input says otherwise", explanation.assumed)});
  }
  rows.push_back({"predicted", "", prediction_text(explanation)});
  if (explanation.call) {
    if (explanation.call->blocks > 0) {
      rows.push_back({"floor", "", floor_text(explanation.call->cost, problem.target)});
    }
  } else {
    rows.push_back({"cost", "", explanation.call_problem});
  }
  return rows;
}

/// The best candidates, and the one that is taken; `all` of them if that is asked for.
Rows candidate_rows(const Explanation& explanation, bool all) {
  Rows rows;
  std::size_t others = 0, left_out = 0;
  for (const ExplainedPlans& each : explanation.candidates) {
    others += each.is_chosen ? 0 : 1;
    if (!all && !each.is_chosen && others > kBestOthers) {
      ++left_out;
    } else {
      rows.push_back({"candidates", "", text_of(each)});
    }
  }
  if (left_out > 0) {
    rows.push_back({"candidates", "", fmt::format("  {} more: --all", left_out)});
  }
  return rows;
}

Rows refusal_rows(const Explanation& explanation) {
  Rows rows;
  for (const ExplainedRefusal& each : explanation.refusals) {
    rows.push_back({"refused", each.template_name, fmt::format("{}: {}", each.template_name, each.reason)});
  }
  return rows;
}

/// What the kernel and a call consist of.
Rows kernel_rows(const Explanation& explanation) {
  const KernelSource& source = explanation.planned.source;
  Rows rows;
  if (!explanation.registers.empty()) {
    rows.push_back({"registers", "", explanation.registers});
  }
  rows.push_back(
      {"shared", "", fmt::format("{} a block", bytes_text(static_cast<double>(source.main().shared_bytes)))});
  for (const Region& region : source.recipe.regions) {
    rows.push_back({"workspace", region.what, fmt::format("{} for {}", amount_text(region.bytes), region.what)});
  }
  rows.push_back(
      {"source", "", fmt::format("{} lines, kernel {}", std::ranges::count(source.text, '\n'), source.symbol)});
  if (!explanation.call) {
    return rows;
  }
  const ExplainedCall& call = *explanation.call;
  rows.push_back({"shapes", "", call.shapes});
  if (call.blocks == 0) {
    rows.push_back({"launch", "", "none: the batch is empty"});
    return rows;
  }
  rows.push_back({"launch", "", fmt::format("{} blocks of {} threads", call.blocks, call.threads)});
  rows.push_back({"flops", "", fmt::format("{}flop (a multiply-add is two)", count_text(call.cost.flops))});
  rows.push_back({"bytes", "", fmt::format("{} (each tensor once)", bytes_text(call.cost.bytes))});
  return rows;
}

Rows parameter_rows(const Explanation& explanation) {
  Rows rows;
  for (const auto& [name, value] : explanation.planned.plan.parameters) {
    rows.push_back({"parameters", name, fmt::format("{} = {}", name, value_text(value))});
  }
  return rows;
}

void add(Rows& to, Rows rows) {
  std::ranges::move(rows, std::back_inserter(to));
}

}  // namespace

void print_explanation(const Explanation& explanation, const ExplainDetail& detail) {
  Rows rows = plan_rows(explanation);
  add(rows, candidate_rows(explanation, detail.all));
  add(rows, refusal_rows(explanation));
  if (detail.all) {
    add(rows, kernel_rows(explanation));
  }
  if (detail.parameters) {
    add(rows, parameter_rows(explanation));
  }
  fmt::print("{}\n", bold(stdout, explanation.planned.name));
  std::string_view before;
  for (const Row& row : rows) {
    fmt::print("  {:<11} {}\n", row.word == before ? "" : std::string_view(row.word), row.text);
    before = row.word;
  }
}

void print_difference(const Explanation& first, const Explanation& second, const ExplainDetail& detail) {
  const auto rows_of = [&](const Explanation& explanation) {
    Rows rows = plan_rows(explanation);
    add(rows, refusal_rows(explanation));
    add(rows, kernel_rows(explanation));
    if (detail.parameters) {
      add(rows, parameter_rows(explanation));
    }
    return rows;
  };
  const auto name_in_full = [](const Explanation& explanation) {
    return fmt::format("{} on {}", explanation.planned.name, explanation.planned.problem.target.architecture);
  };
  fmt::print("{}\n", bold(stdout, fmt::format("- {}, + {}", name_in_full(first), name_in_full(second))));
  bool differs = false;
  std::string printed;
  const auto print = [&](char sign, const Row& row) {
    fmt::print("  {:<11} {} {}\n", row.word == printed ? "" : std::string_view(row.word), sign, row.text);
    printed = row.word;
    differs = true;
  };
  // In the order of the first. What the second has alone comes last.
  Rows left = rows_of(second);
  for (const Row& row : rows_of(first)) {
    const auto same =
        std::ranges::find_if(left, [&](const Row& other) { return other.word == row.word && other.key == row.key; });
    const std::string text = same != left.end() ? same->text : "";
    if (text != row.text) {
      print('-', row);
    }
    if (same != left.end()) {
      if (text != row.text) {
        print('+', *same);
      }
      left.erase(same);
    }
  }
  for (const Row& row : left) {
    print('+', row);
  }
  if (!differs) {
    fmt::print("  nothing differs\n");
  }
}

}  // namespace convtgen::cli
