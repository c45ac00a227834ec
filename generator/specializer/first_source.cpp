#include "generator/specializer/first_source.h"

#include <fmt/format.h>

#include <utility>

namespace convtgen {

PassedOver passed_over(std::span<const Plan> plans, std::size_t index, std::string reason) {
  return {
      index,
      fmt::format("plan {} of {} ({}: {})", index + 1, plans.size(), plans[index].template_name, plans[index].summary),
      std::move(reason)};
}

Result<FirstSource> first_source(const Problem& problem, std::span<const Plan> plans, std::size_t from,
                                 const Specializer& specializer) {
  FirstSource out;
  for (out.index = from; out.index < plans.size(); ++out.index) {
    auto source = specializer(problem, plans[out.index]);
    if (source) {
      out.source = *std::move(source);
      return out;
    }
    out.passed_over.push_back(passed_over(plans, out.index, source.error().message));
  }
  return fail(out.passed_over.empty() ? "there is no plan" : out.passed_over.front().reason);
}

}  // namespace convtgen
