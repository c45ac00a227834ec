// A tuning record that makes the engine take a plan with packed weights. (The headers below the API stay out of here:
// they have a Layer too.)
#pragma once

#include <cstdint>
#include <string>

namespace convtgen::api_test {

/// Of this layer, as text, for sm_90a: by a record in the store of this folder the planner's first plan that reads
/// packed weights is the fastest on the chip of this name. Its packed bytes; 0, and no record, where there is none.
[[nodiscard]] std::int64_t record_packed_plan(const std::string& layer, const std::string& chip,
                                              const std::string& folder);

}  // namespace convtgen::api_test
