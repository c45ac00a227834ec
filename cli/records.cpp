#include "cli/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/files.h"
#include "cli/terminal.h"
#include "generator/planner/candidates.h"
#include "generator/planner/chip/chip_code.h"
#include "generator/planner/records/shipped_records.h"
#include "runtime/make/choose.h"
#include "runtime/records/record.h"
#include "runtime/store/digest.h"

namespace convtgen::cli {
namespace {

/// Records of a file, by which plans are chosen.
struct TunedFile {
  std::string name;
  std::string digest;  // SHA-256 in hexadecimal
  std::vector<TuningRecord> records;
};

Result<std::vector<Plan>> plans_of_file(const TunedFile& file, const Problem& problem) {
  auto plans = plan(problem);
  const auto record = std::ranges::find_if(file.records, [&](const TuningRecord& each) {
    return record_key(each).hex() == record_key(problem, each.chip).hex();
  });
  if (plans && record != file.records.end() && !prefer_recorded(*plans, *record, RecordOrigin::kFile, file.digest)) {
    print_warning(
        fmt::format("{}: the record of '{}' for {} on {} is by convtgen {}, and its plan is no longer offered: "
                    "it is not used; 'convtgen tune' measures anew",
                    file.name, record->layer, record->architecture, record->chip, record->version));
  }
  return plans;
}

}  // namespace

void add_tuned_option(CLI::App& verb, std::string& file) {
  verb.add_option("--tuned", file,
                  "A file that 'convtgen tune --export' made: its records choose plans, before those that ship. Of "
                  "records of several chips for one layer and architecture the first counts.")
      ->type_name("FILE");
}

std::optional<Planner> planner_of_file(const std::string& file, Exit& exit) {
  if (file.empty()) {
    return [](const Problem& problem) { return plan(problem); };
  }
  const Result<std::string> text = read_file(file);
  if (!text) {
    print_error(text.error().message);
    exit = Exit::kUsage;
    return std::nullopt;
  }
  auto records = parse_records(*text);
  if (!records) {
    print_error(fmt::format("{}: {}", file, records.error().message));
    exit = Exit::kWrong;
    return std::nullopt;
  }
  // A chip's own records count before those of newer chips that ran its kernels.
  std::ranges::stable_partition(*records, [](const TuningRecord& record) { return !is_of_older_chip(record.chip); });
  return [tuned = TunedFile{file, hex_of(digest_of(*text)), *std::move(records)}](const Problem& problem) {
    return plans_of_file(tuned, problem);
  };
}

std::vector<std::string> inputs_of_tuned(const std::string& file) {
  return file.empty() || file == "-" ? std::vector<std::string>() : std::vector{file};
}

void add_planned_option(CLI::App& verb, bool& planned) {
  verb.add_flag("--planned", planned, "The planner's own first plan, whatever tuning records say.");
}

Result<std::vector<Plan>> plans_on_chip(Store& store, const Problem& problem, bool planned) {
  if (planned) {
    return plan(problem, Records::kNone);
  }
  auto plans = choose_plans(problem, stored_record(store, problem, problem.target.chip));
  return plans ? Result<std::vector<Plan>>(*std::move(plans)) : fail(plans.error().message);
}

std::vector<std::string> tuned_chips(const std::vector<TuningRecord>& records, const Problem& problem) {
  std::vector<std::string> chips;
  for (const TuningRecord& record : records) {
    if (record.chip != kHostChip && !is_of_older_chip(record.chip) &&
        record_key(record).hex() == record_key(problem, record.chip).hex()) {
      chips.push_back(record.chip);
    }
  }
  std::ranges::sort(chips);
  return chips.empty() ? std::vector<std::string>{""} : chips;
}

std::string record_text(const Plan& plan, bool planned) {
  if (planned) {
    return "not looked for: --planned takes the planner's first plan";
  }
  if (!plan.recorded) {
    return "none: the planner's first plan";
  }
  return fmt::format(
      "of {}, {}: {} there", plan.recorded->chip,
      plan.recorded->origin == RecordOrigin::kStore ? "from the store ('convtgen tune')" : "which ships with convtgen",
      seconds_text(plan.recorded->seconds));
}

}  // namespace convtgen::cli
