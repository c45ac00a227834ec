// What `convtgen explain` reports of one layer, direction and architecture; and how that is printed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/layers.h"
#include "generator/layer/shape.h"
#include "generator/planner/records/tuning_record.h"
#include "generator/planner/search/cost.h"

namespace convtgen::cli {

/// Plans that would print the same line.
struct ExplainedPlans {
  std::string template_name;
  std::string summary;
  std::optional<double> predicted_seconds = {};               // at least the floor
  std::vector<std::pair<std::string, double>> measured = {};  // "on NVIDIA H200" or the like, seconds
  int plans = 1;
  bool is_chosen = false;  // one of them
};

struct ExplainedRefusal {
  std::string template_name;
  std::string reason;
};

/// What a call costs at the sizes that are asked for.
struct ExplainedCall {
  std::string shapes;       // "x 1x4x5x6, weight 4x6x3x3, y 1x6x7x8"
  std::int64_t blocks = 0;  // 0: an empty batch
  int threads = 0;
  Cost cost = {};
};

struct Explanation {
  PlannedLayer planned;
  std::string record;   // which tuning record chose the plan
  std::string assumed;  // the sizes that the layer leaves open, or ""
  std::optional<double> predicted_seconds;
  std::vector<ExplainedPlans> candidates;  // best first
  std::vector<ExplainedRefusal> refusals;
  std::string registers;  // or "", where they were not asked for
  std::optional<ExplainedCall> call;
  std::string call_problem;  // why `call` is missing
};

/// How much is printed.
struct ExplainDetail {
  bool all = false;         // all candidates, and what the kernel and a call consist of
  bool parameters = false;  // every parameter of the template
};

/// Prints it on stdout.
void print_explanation(const Explanation& explanation, const ExplainDetail& detail);
/// Prints what differs between two, each line with '-' for the first and '+' for the second.
void print_difference(const Explanation& first, const Explanation& second, const ExplainDetail& detail);
/// An array with an object for each.
[[nodiscard]] std::string json_of(const std::vector<Explanation>& explanations);

}  // namespace convtgen::cli
