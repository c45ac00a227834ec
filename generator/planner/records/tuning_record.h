// What was measured of the planner's candidates for a layer on one chip, and its JSON.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/planner/plan/plan.h"
#include "generator/support/error.h"

namespace convtgen {

/// Of a record's JSON. Records of another one are not read; records/migrate.py makes the next of the one before it.
inline constexpr int kRecordFormat = 4;

/// A candidate that gave right results, and its time.
struct Measurement {
  std::string plan;  // plan_json()
  double milliseconds = 0;
  bool operator==(const Measurement&) const = default;
};

struct TuningRecord {
  std::string layer;  // its canonical form, with no other direction than this
  Direction direction = Direction::kForward;
  std::string chip;          // "NVIDIA H200"
  std::string architecture;  // "sm_90a"
  InputSizes sizes;          // of the calls that were measured
  std::string version;       // of convtgen
  std::vector<Measurement> measured;
  bool operator==(const TuningRecord&) const = default;
};

/// The template and its parameters as compact JSON. Equal for equal kernels; words for people are no part of it, nor
/// are what only gradients of the input have (is_forward_value()): records of before there were such remain valid.
[[nodiscard]] std::string plan_json(const Plan& plan);

/// The place of the plan that has this plan_json(), if there is one.
[[nodiscard]] std::optional<std::size_t> find_plan(std::span<const Plan> plans, std::string_view json);

/// The layer as records name it.
[[nodiscard]] std::string record_layer(const Layer& layer, Direction direction);

/// The fastest, or null where nothing was measured.
[[nodiscard]] const Measurement* best_of(const TuningRecord& record);

/// On one line. The same record gives the same bytes.
[[nodiscard]] std::string print_record(const TuningRecord& record);
/// Errors: no JSON, a member that is missing or of another type, an invalid layer or one not in canonical form,
/// another version of the format, an unknown direction or template.
[[nodiscard]] Result<TuningRecord> parse_record(std::string_view text);
/// The format that a text says it is a record of, whatever else it holds; nothing where it says none.
[[nodiscard]] std::optional<int> record_format(std::string_view text);

/// A file of records, each on a line of its own, sorted by chip and layer: the same records give the same bytes in
/// whichever order they come.
[[nodiscard]] std::string print_records(std::span<const TuningRecord> records);
/// Errors: those of parse_record() and a text that is no such file, each with its line: "line 3: ...".
[[nodiscard]] Result<std::vector<TuningRecord>> parse_records(std::string_view text);

}  // namespace convtgen
