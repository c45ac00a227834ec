#include "tests/api/packed_record.h"

#include <vector>

#include "generator/language/language.h"
#include "runtime/records/record.h"
#include "runtime/store/store.h"

namespace convtgen::api_test {

std::int64_t record_packed_plan(const std::string& layer, const std::string& chip, const std::string& folder) {
  const Problem problem{parse_layer(layer).value(), Direction::kForward, target_named("sm_90a").value()};
  const std::vector<Plan> plans = plan(problem).value();
  for (const Plan& each : plans) {
    if (each.launch.packed_bytes() == 0) {
      continue;
    }
    const TuningRecord record{.layer = record_layer(problem.layer, problem.direction),
                              .direction = problem.direction,
                              .chip = chip,
                              .architecture = problem.target.architecture,
                              .sizes = {1, {1, 1}},
                              .version = "0.1.0",
                              .measured = {{plan_json(each), 1}}};
    Store(StoreOptions{.folder = folder}).insert(record_key(record), print_record(record));
    return each.launch.packed_bytes();
  }
  return 0;
}

}  // namespace convtgen::api_test
