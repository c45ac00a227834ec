#include "runtime/make/choose.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "runtime/records/record.h"
#include "runtime/support/log.h"

namespace convtgen {
namespace {

struct ValueText {
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }
  std::string operator()(std::int64_t number) const { return fmt::format("{}", number); }
  std::string operator()(double number) const { return fmt::format("{}", number); }
  std::string operator()(const TypeName& type) const { return type.spelling; }
  std::string operator()(const std::vector<std::int64_t>& list) const {
    return fmt::format("{{{}}}", fmt::join(list, ", "));
  }
  std::string operator()(const std::vector<double>& list) const { return fmt::format("{{{}}}", fmt::join(list, ", ")); }
};

}  // namespace

std::string plan_text(const Plan& plan) {
  std::string text = fmt::format("template {}: {}\n", plan.template_name, plan.summary);
  text += fmt::format("launch {} threads and {} bytes of dynamic shared memory a block\n", plan.launch.main().threads,
                      plan.launch.main().shared_bytes);
  if (plan.launch.packed_bytes() > 0) {
    text += fmt::format("workspace of {} bytes for a packed copy of the weights\n", plan.launch.packed_bytes());
  }
  for (const auto& [name, value] : plan.parameters) {
    text += fmt::format("{} = {}\n", name, std::visit(ValueText{}, value));
  }
  return text;
}

Outcome<std::vector<Plan>> choose_plans(const Problem& problem, std::string_view record) {
  Result<std::vector<Plan>> plans = plan(problem);
  if (!plans) {
    return fail_with(Status::kUnsupported, plans.error());
  }
  RecordedChoice choice;
  if (!record.empty()) {
    choice = choose_recorded(*plans, record);
    if (!choice.note.empty()) {
      log(LogLevel::kWarning,
          fmt::format("{}; 'convtgen tune' measures anew [layer: {}]", choice.note, canonical_form(problem.layer)));
    }
  }
  const auto chosen = plans->begin() + static_cast<std::ptrdiff_t>(choice.index);
  if (choice.time) {
    chosen->recorded = std::move(choice.time);
  }
  std::rotate(plans->begin(), chosen, chosen + 1);
  return *std::move(plans);
}

void log_passed_over(const Problem& problem, const PassedOver& passed) {
  log(LogLevel::kWarning, fmt::format("{} is passed over: {} [layer: {}]", passed.description, passed.reason,
                                      canonical_form(problem.layer)));
}

}  // namespace convtgen
