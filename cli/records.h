// Which tuning records choose the plans of a verb, and how that is printed.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "generator/planner/plan/plan.h"
#include "generator/planner/records/tuning_record.h"
#include "runtime/store/store.h"

namespace convtgen::cli {

/// The plans of a problem, the one to take first.
using Planner = std::function<Result<std::vector<Plan>>(const Problem& problem)>;

/// --tuned of the verbs whose files are the same everywhere: a file of records, or empty.
void add_tuned_option(CLI::App& verb, std::string& file);

/// By the file's records, then by those that ship. Without a file by those that ship alone. A record whose plan is no
/// longer offered is passed over with a warning. If it is nullopt, the error has been printed and `exit` is set.
[[nodiscard]] std::optional<Planner> planner_of_file(const std::string& file, Exit& exit);

/// What files depend on besides the layers, for write_products().
[[nodiscard]] std::vector<std::string> inputs_of_tuned(const std::string& file);

/// --planned of the verbs that show what runs here.
void add_planned_option(CLI::App& verb, bool& planned);

/// As the API plans on a chip: by the store's records, then by those that ship; `planned`: by none.
[[nodiscard]] Result<std::vector<Plan>> plans_on_chip(Store& store, const Problem& problem, bool planned);

/// The GPUs whose tuning records choose this problem's plan, by their names; "" alone without records. Records of
/// newer chips that ran an older one's kernels are left out.
[[nodiscard]] std::vector<std::string> tuned_chips(const std::vector<TuningRecord>& records, const Problem& problem);

/// "of NVIDIA H200, which ships with convtgen: 0.25 ms there", "none: the planner's first plan".
[[nodiscard]] std::string record_text(const Plan& plan, bool planned);

}  // namespace convtgen::cli
