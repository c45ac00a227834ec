#include "runtime/jit/choose.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace convtgen::jit {
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
  text +=
      fmt::format("launch {} threads and {} bytes of dynamic shared memory a block\n", plan.threads, plan.shared_bytes);
  for (const auto& [name, value] : plan.parameters) {
    text += fmt::format("{} = {}\n", name, std::visit(ValueText{}, value));
  }
  return text;
}

Outcome<Plan> choose_plan(const Problem& problem, std::string_view record) {
  Result<std::vector<Plan>> plans = plan(problem);
  if (!plans) {
    return fail_with(Status::kUnsupported, plans.error());
  }
  if (!record.empty()) {
    for (Plan& candidate : *plans) {
      if (plan_text(candidate) == record) {
        return std::move(candidate);
      }
    }
  }
  return std::move(plans->front());
}

}  // namespace convtgen::jit
