#include "runtime/records/record.h"

#include <fmt/core.h>

#include <atomic>
#include <optional>
#include <utility>

#include "runtime/support/log.h"

namespace convtgen {
namespace {

void warn_of_format(int format, const Key& key) {
  static std::atomic<bool> warned = false;
  if (!warned.exchange(true)) {
    log(LogLevel::kWarning,
        fmt::format("tuning records of another format than {} are ignored; the first is of format {}: 'convtgen tune' "
                    "measures anew [layer: {}]",
                    kRecordFormat, format, key.field("layer")));
  }
}

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

std::string stored_record(Store& store, const Key& key) {
  std::optional<Entry> record = store.find(key);
  if (!record) {
    return {};
  }
  if (const auto format = record_format(record->bytes); format && *format != kRecordFormat) {
    warn_of_format(*format, key);
    return {};
  }
  return std::move(record->bytes);
}

std::string stored_record(Store& store, const Problem& problem, std::string_view chip) {
  return stored_record(store, record_key(problem, chip));
}

std::vector<TuningRecord> stored_records(Store& store) {
  std::vector<TuningRecord> records;
  for (const Store::Listed& listed : store.list(EntryKind::kTuningRecord)) {
    if (auto record = parse_record(stored_record(store, Key(listed.head.fields)))) {
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
    return {*index, "", RecordedTime{best->milliseconds / 1e3, parsed->chip, RecordOrigin::kStore}};
  }
  return {0, fmt::format("the tuning record is of convtgen {}, and its plan is no longer offered", parsed->version)};
}

}  // namespace convtgen
