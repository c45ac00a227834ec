#include "runtime/records/record.h"

#include <fmt/core.h>

#include <optional>
#include <utility>

namespace convtgen {
namespace {

Key key_of(std::string layer, Direction direction, std::string_view chip, std::string_view architecture) {
  return {EntryKind::kTuningRecord,
          {{"layer", std::move(layer)},
           {"direction", std::string(name_of(direction))},
           {"chip", std::string(chip)},
           {"architecture", std::string(architecture)}}};
}

}  // namespace

Key record_key(const Problem& problem, std::string_view chip) {
  return key_of(record_layer(problem.layer, problem.direction), problem.direction, chip, problem.target.architecture);
}

Key record_key(const TuningRecord& record) {
  return key_of(record.layer, record.direction, record.chip, record.architecture);
}

std::string stored_record(Store& store, const Problem& problem, std::string_view chip) {
  const std::optional<Entry> record = store.find(record_key(problem, chip));
  return record ? record->bytes : std::string();
}

std::vector<TuningRecord> stored_records(Store& store) {
  std::vector<TuningRecord> records;
  for (const Store::Listed& listed : store.list()) {
    const Key key(listed.head.fields);
    if (key.field("kind") != name_of(EntryKind::kTuningRecord)) {
      continue;
    }
    const auto entry = store.find(key);
    if (auto record = parse_record(entry ? entry->bytes : std::string())) {
      records.push_back(*std::move(record));
    }
  }
  return records;
}

RecordedChoice choose_recorded(std::span<const Plan> candidates, std::string_view record) {
  const auto parsed = parse_record(record);
  if (!parsed) {
    return {0, fmt::format("the tuning record can't be read: {}", parsed.error().message)};
  }
  const Measurement* best = best_of(*parsed);
  if (best == nullptr) {
    return {0, "the tuning record is empty"};
  }
  if (const auto index = find_plan(candidates, best->plan)) {
    return {*index, ""};
  }
  return {0, fmt::format("the tuning record is of convtgen {}, and its plan is no longer offered", parsed->version)};
}

}  // namespace convtgen
