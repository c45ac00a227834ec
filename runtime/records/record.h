// Tuning records in the store: under which key, and which plan the engine takes by one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/planner/records/tuning_record.h"
#include "runtime/store/key.h"
#include "runtime/store/store.h"

namespace convtgen {

/// The chip of records that were made on the host device: their times say which plan costs a CPU less, no more.
inline constexpr std::string_view kHostChip = "host";

/// Where the store keeps the record of a problem on a chip.
[[nodiscard]] Key record_key(const Problem& problem, std::string_view chip);
[[nodiscard]] Key record_key(const TuningRecord& record);

/// The store's record under a key, as text; empty for an unknown key. One of another format counts as missing: it is
/// lost until the layer is tuned again, so a process logs the first one as a warning.
[[nodiscard]] std::string stored_record(Store& store, const Key& key);
/// That of a problem on a chip.
[[nodiscard]] std::string stored_record(Store& store, const Problem& problem, std::string_view chip);
/// Every record of a store on disk. What has another format is left out, as in stored_record().
[[nodiscard]] std::vector<TuningRecord> stored_records(Store& store);

/// The fastest of the candidates that were measured, if the record's fastest is still among them.
struct RecordedChoice {
  std::size_t index = 0;                  // among the candidates; 0 where the record does not help
  std::string note;                       // why it does not
  std::optional<RecordedTime> time = {};  // of the chosen one, where it helps
};
/// `record` is the store's bytes.
[[nodiscard]] RecordedChoice choose_recorded(std::span<const Plan> candidates, std::string_view record);

}  // namespace convtgen
