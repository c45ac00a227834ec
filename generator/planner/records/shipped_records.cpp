#include "generator/planner/records/shipped_records.h"

#include <algorithm>

#include "convtgen_planner_embedded.h"

namespace convtgen {
namespace {

constexpr std::string_view kLayer = R"("layer":")";

/// The line without the end that joins it to the next.
std::string_view cut_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

std::optional<TuningRecord> find_record(std::string_view file, const Problem& problem) {
  const std::string layer = record_layer(problem.layer, problem.direction) + '"';  // whose words need no escapes
  while (!file.empty()) {
    std::string_view line = cut_line(file);
    const std::size_t at = line.find(kLayer);
    if (at == std::string_view::npos || !line.substr(at + kLayer.size()).starts_with(layer)) {
      continue;
    }
    line.remove_prefix(line.find('{'));
    const auto record = parse_record(line);
    if (record && record->direction == problem.direction && record->architecture == problem.target.architecture) {
      return *record;
    }
  }
  return std::nullopt;
}

bool prefer_recorded(std::vector<Plan>& plans, const TuningRecord& record, RecordOrigin origin,
                     const std::string& file_digest) {
  const Measurement* best = best_of(record);
  const auto index = best != nullptr ? find_plan(plans, best->plan) : std::nullopt;
  if (!index) {
    return false;
  }
  const auto plan = plans.begin() + static_cast<std::ptrdiff_t>(*index);
  plan->recorded = {
      .seconds = best->milliseconds / 1e3, .chip = record.chip, .origin = origin, .file_digest = file_digest};
  std::rotate(plans.begin(), plan, plan + 1);
  return true;
}

std::vector<std::string_view> shipped_files() {
  return {records::h200(), records::h100()};
}

std::optional<TuningRecord> shipped_record(const Problem& problem) {
  std::optional<TuningRecord> first;
  for (const std::string_view file : shipped_files()) {
    auto record = find_record(file, problem);
    if (record && (!first || record->chip == problem.target.chip)) {
      first = std::move(record);
    }
  }
  return first;
}

}  // namespace convtgen
