// What the cost models say of plans that were measured, for any values of their fitted numbers: for
// fit_cost_model.py.
//
//   predict_plans RECORDS.json...
//
// First prints the measured plans as one line of JSON. Then, for each line of standard input, which is a list of
// name=value (generator/planner/chip/cost_factors.h; an empty line changes none), it prints the predicted seconds of
// all of them as a line of JSON; 0 where nothing is predicted.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/chip/chip_code.h"
#include "generator/planner/predict.h"
#include "generator/planner/records/tuning_record.h"

namespace {

using namespace convtgen;

// A large copy on an H100 with 80 GB, whose SMs are those of an H200.
constexpr double kH100BytesPerSecond = 3.0e12;

struct Measured {
  Problem problem;
  Plan plan;
  InputSizes sizes;
  double milliseconds = 0;
};

/// The memory of the chip that was measured, where it is not its architecture's.
double bytes_per_second(const TuningRecord& record, const Target& target) {
  return record.chip.contains("H100") ? kH100BytesPerSecond : target.bytes_per_second;
}

/// The target of a record: of a chip that ran an older one's kernels, at the rates of that chip.
Result<Target> target_of(const TuningRecord& record) {
  if (!is_of_older_chip(record.chip)) {
    return target_named(record.architecture);
  }
  for (const Target& target : known_targets()) {
    if (record.chip.contains(target.board) || (target.capability == 90 && record.chip.contains("H100"))) {
      return target_for({.capability = target.capability, .as = record.architecture});
    }
  }
  return fail(fmt::format("no target has the rates of {}", record.chip));
}

/// The plan of a record, made from another plan of its template: the planner lists the plans that it thinks are the
/// fastest, not all that were once measured.
std::optional<Plan> plan_like(const std::vector<Plan>& plans, const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text);
  const auto found = std::ranges::find(plans, json.at("template").get<std::string>(), &Plan::template_name);
  if (found == plans.end()) {
    return std::nullopt;
  }
  Plan out = *found;
  for (auto& [name, value] : out.parameters) {
    if (!json.at("parameters").contains(name)) {
      continue;
    }
    const nlohmann::json& recorded = json["parameters"][name];
    if (std::holds_alternative<std::int64_t>(value) && recorded.is_number_integer()) {
      value = recorded.get<std::int64_t>();
    } else if (std::holds_alternative<bool>(value) && recorded.is_boolean()) {
      value = recorded.get<bool>();
    }
  }
  return plan_json(out) == text ? std::optional(std::move(out)) : std::nullopt;
}

/// The plans of a file of records whose parameters are still those of their templates.
Result<std::vector<Measured>> measured_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  const auto records = parse_records(text.str());
  if (!records) {
    return fail(fmt::format("{}: {}", path, records.error().message));
  }
  std::vector<Measured> out;
  for (const TuningRecord& record : *records) {
    const auto layer = parse_layer(record.layer);
    const auto target = target_of(record);
    if (!layer || !target) {
      return fail(fmt::format("{}: a record of no layer or target: {}", path, record.layer));
    }
    Problem problem{*layer, record.direction, *target};
    const auto plans = plan(problem);
    problem.target.bytes_per_second = bytes_per_second(record, *target);
    for (const Measurement& each : record.measured) {
      auto like = plans ? plan_like(*plans, each.plan) : std::nullopt;
      if (like) {
        out.push_back({problem, std::move(*like), record.sizes, each.milliseconds});
      } else {
        fmt::print(stderr, "no such plan any more: {}\n", record.layer);
      }
    }
  }
  return out;
}

void print_measured(const std::vector<Measured>& all) {
  std::string line;
  for (const Measured& each : all) {
    line += fmt::format(
        R"({}{{"template":"{}","compute":"{}","layout":"{}","direction":"{}","layer":"{}","seconds":{:.6e}}})",
        line.empty() ? "" : ",", each.plan.template_name, name_of(each.problem.layer.compute),
        name_of(each.problem.layer.layout), name_of(each.problem.direction), canonical_form(each.problem.layer),
        each.milliseconds * 1e-3);
  }
  fmt::print("[{}]\n", line);
  std::fflush(stdout);
}

/// Sets what a line names. Errors: a name that the table lacks, or no number.
Result<CostFactors> factors_of(const std::string& line) {
  CostFactors factors;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    double value = 0;
    const char* const end = word.data() + word.size();
    const CostFactorName* known = nullptr;
    for (const CostFactorName& each : kCostFactorNames) {
      known = each.name == name ? &each : known;
    }
    if (known == nullptr || equals == std::string::npos ||
        std::from_chars(word.data() + equals + 1, end, value).ptr != end) {
      return fail(fmt::format("'{}' is no NAME=VALUE of the table", word));
    }
    factors.*known->member = value;
  }
  return factors;
}

int run(int count, char** arguments) {
  std::vector<Measured> all;
  for (int i = 1; i < count; ++i) {
    auto measured = measured_of(arguments[i]);
    if (!measured) {
      fmt::print(stderr, "{}\n", measured.error().message);
      return 1;
    }
    all.insert(all.end(), measured->begin(), measured->end());
  }
  print_measured(all);
  for (std::string line; std::getline(std::cin, line);) {
    const auto factors = factors_of(line);
    if (!factors) {
      fmt::print(stderr, "{}\n", factors.error().message);
      return 1;
    }
    std::string out;
    for (Measured& each : all) {
      each.problem.target.factors = *factors;
      out += fmt::format("{}{:.9e}", out.empty() ? "" : ",", predict(each.problem, each.plan, each.sizes).value_or(0));
    }
    fmt::print("[{}]\n", out);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  return run(count, arguments);
}
