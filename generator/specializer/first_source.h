// The source that a kernel is made from: of the first plan that its template takes.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "generator/specializer/kernel_source.h"

namespace convtgen {

/// A plan in whose place a later one was taken.
struct PassedOver {
  std::size_t index = 0;    // among the plans
  std::string description;  // "plan 1 of 14 (roll_gemm: a block makes ...)"
  std::string reason;
};

struct FirstSource {
  std::size_t index = 0;  // of its plan, among the plans
  KernelSource source;
  std::vector<PassedOver> passed_over;  // the plans before it, in order
};

/// As specialize(): makes the source of a plan.
using Specializer = std::function<Result<KernelSource>(const Problem& problem, const Plan& plan)>;

/// The source of the first of the plans, beginning with the one at `from`, that can be specialised. This is what all
/// uses of the generator take, so that they take the same plan.
/// Errors: there is no such plan; the message is that of the first one tried.
[[nodiscard]] Result<FirstSource> first_source(const Problem& problem, std::span<const Plan> plans,
                                               std::size_t from = 0, const Specializer& specializer = specialize);

/// What is said of the plan at `index` where it is passed over.
[[nodiscard]] PassedOver passed_over(std::span<const Plan> plans, std::size_t index, std::string reason);

}  // namespace convtgen
