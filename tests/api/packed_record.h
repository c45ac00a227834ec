// Tuning records that make the engine take a plan, such as one with packed weights. (The headers below the API stay out
// of here: they have a Layer too.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace convtgen::api_test {

/// Of this layer, as text, for sm_90a: by a record in the store of this folder the planner's first plan that reads
/// packed weights is the fastest on the chip of this name. Its packed bytes; 0, and no record, if no plan packs.
[[nodiscard]] std::int64_t record_packed_plan(const std::string& layer, const std::string& chip,
                                              const std::string& folder);

/// The same for the planner's plan of this number, for an architecture. The heading of its text, "template direct:
/// ...".
[[nodiscard]] std::string record_plan(const std::string& layer, const std::string& architecture, std::size_t number,
                                      const std::string& chip, const std::string& folder);
/// That heading alone, of the planner's first plan.
[[nodiscard]] std::string first_plan(const std::string& layer, const std::string& architecture);
/// The same on a newer chip that runs kernels of that architecture.
[[nodiscard]] std::string first_plan_on(int capability, const std::string& layer, const std::string& architecture);

}  // namespace convtgen::api_test
