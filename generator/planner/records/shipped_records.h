// Tuning records that ship with convtgen: what was measured on known chips, the fastest plan of each layer.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "generator/planner/records/tuning_record.h"

namespace convtgen {

/// The record of the problem's layer, direction and architecture in a file as print_records() makes it; the first where
/// there are several. Quick: it reads no other record. Nothing where that one can't be read.
[[nodiscard]] std::optional<TuningRecord> find_record(std::string_view file, const Problem& problem);

/// Puts the record's fastest plan first and notes its time there, and where the record comes from. False where it is
/// not among the plans.
bool prefer_recorded(std::vector<Plan>& plans, const TuningRecord& record, RecordOrigin origin = RecordOrigin::kShipped,
                     const std::string& file_digest = {});

/// The files that ship, as they stand.
[[nodiscard]] std::vector<std::string_view> shipped_files();

/// That of the target's chip, else the first in these files: chips of one architecture need much the same plans.
[[nodiscard]] std::optional<TuningRecord> shipped_record(const Problem& problem);

}  // namespace convtgen
