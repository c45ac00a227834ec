// explain --json.
#include <nlohmann/json.hpp>

#include <algorithm>

#include "cli/explanation.h"
#include "generator/planner/records/tuning_record.h"

namespace convtgen::cli {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& seconds) {
  return seconds ? Json(*seconds) : Json();
}

Json json_of(const ExplainedPlans& plans) {
  Json measured = Json::array();
  for (const auto& [where, seconds] : plans.measured) {
    measured.push_back({{"where", where}, {"seconds", seconds}});
  }
  return {{"template", plans.template_name},
          {"summary", plans.summary},
          {"predicted_seconds", or_null(plans.predicted_seconds)},
          {"measured", std::move(measured)},
          {"plans", plans.plans},
          {"chosen", plans.is_chosen}};
}

Json json_of(const ExplainedCall& call) {
  return {{"shapes", call.shapes},
          {"blocks", call.blocks},
          {"threads", call.threads},
          {"flops", call.cost.flops},
          {"bytes", call.cost.bytes},
          {"floor_seconds", call.cost.floor_seconds},
          {"memory_bound", call.cost.memory_bound}};
}

Json json_of(const Explanation& explanation) {
  const Problem& problem = explanation.planned.problem;
  const KernelSource& source = explanation.planned.source;
  Json json = {{"name", explanation.planned.name},
               {"layer", canonical_form(problem.layer)},
               {"direction", name_of(problem.direction)},
               {"architecture", problem.target.architecture},
               {"plan", Json::parse(plan_json(explanation.planned.plan))},
               {"tile", explanation.planned.plan.summary},
               {"why", explanation.planned.plan.reason},
               {"record", explanation.record},
               {"assumed", explanation.assumed},
               {"predicted_seconds", or_null(explanation.predicted_seconds)},
               {"candidates", Json::array()},
               {"refused", Json::array()},
               {"passed_over", Json::array()}};
  for (const ExplainedPlans& each : explanation.candidates) {
    json["candidates"].push_back(json_of(each));
  }
  for (const ExplainedRefusal& each : explanation.refusals) {
    json["refused"].push_back({{"template", each.template_name}, {"reason", each.reason}});
  }
  for (const PassedOver& each : explanation.planned.passed_over) {
    json["passed_over"].push_back({{"plan", each.description}, {"reason", each.reason}});
  }
  json["registers"] = explanation.registers.empty() ? Json() : Json(explanation.registers);
  json["shared_bytes"] = source.main().shared_bytes;
  json["source_lines"] = std::ranges::count(source.text, '\n');
  json["kernel"] = source.symbol;
  json["call"] = explanation.call ? json_of(*explanation.call) : Json();
  json["call_problem"] = explanation.call_problem;
  return json;
}

}  // namespace

std::string json_of(const std::vector<Explanation>& explanations) {
  Json all = Json::array();
  for (const Explanation& each : explanations) {
    all.push_back(json_of(each));
  }
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace convtgen::cli
