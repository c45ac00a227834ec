#include "tests/api/packed_record.h"

#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/chip/chip_code.h"
#include "runtime/records/record.h"
#include "runtime/store/store.h"

namespace convtgen::api_test {

namespace {

Problem forward_problem(const std::string& layer, const std::string& architecture) {
  return {parse_layer(layer).value(), Direction::kForward, target_named(architecture).value()};
}

std::string heading_of(const Plan& plan) {
  return "template " + plan.template_name + ": " + plan.summary;
}

void record(const Problem& problem, const Plan& plan, const std::string& chip, const std::string& folder) {
  const TuningRecord record{.layer = record_layer(problem.layer, problem.direction),
                            .direction = problem.direction,
                            .chip = chip,
                            .architecture = problem.target.architecture,
                            .sizes = {1, {1, 1}},
                            .version = "0.1.0",
                            .measured = {{plan_json(plan), 1}}};
  Store(StoreOptions{.folder = folder}).insert(record_key(record), print_record(record));
}

}  // namespace

std::string record_plan(const std::string& layer, const std::string& architecture, std::size_t number,
                        const std::string& chip, const std::string& folder) {
  const Problem problem = forward_problem(layer, architecture);
  const Plan chosen = plan(problem).value().at(number);
  record(problem, chosen, chip, folder);
  return heading_of(chosen);
}

std::string first_plan(const std::string& layer, const std::string& architecture) {
  return heading_of(plan(forward_problem(layer, architecture)).value().front());
}

std::string first_plan_on(int capability, const std::string& layer, const std::string& architecture) {
  Problem problem = forward_problem(layer, architecture);
  problem.target = target_for({.capability = capability, .as = architecture}).value();
  return heading_of(plan(problem).value().front());
}

std::int64_t record_packed_plan(const std::string& layer, const std::string& chip, const std::string& folder) {
  const Problem problem = forward_problem(layer, "sm_90a");
  const std::vector<Plan> plans = plan(problem).value();
  for (const Plan& each : plans) {
    if (each.launch.packed_bytes() == 0) {
      continue;
    }
    record(problem, each, chip, folder);
    return each.launch.packed_bytes();
  }
  return 0;
}

}  // namespace convtgen::api_test
