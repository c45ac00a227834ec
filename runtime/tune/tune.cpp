#include "runtime/tune/tune.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace convtgen {
namespace {

/// Milliseconds of one call. Errors: those of its steps, and a result that is wrong.
Result<double> measure(Device& device, const Problem& problem, const Plan& plan, const InputSizes& sizes,
                       const LayerInputs& inputs, const TuneOptions& options) {
  auto layer = load_layer(device, problem, plan);
  if (!layer) {
    return std::unexpected(layer.error());
  }
  auto call = make_call(device, *layer, sizes, inputs);
  if (!call) {
    return std::unexpected(call.error());
  }
  if (auto done = run_call(device, *layer, *call); !done) {
    return std::unexpected(done.error());
  }
  const auto verification = verify_call(device, problem.layer, *call, inputs, options.verify);
  if (!verification) {
    return std::unexpected(verification.error());
  }
  if (!verification->comparison.passed()) {
    return fail(fmt::format("its result is wrong: {}", describe(verification->comparison, problem.layer)));
  }
  // More runs tell no more of a device that is made to find faults.
  return time_call(device, *layer, *call, device.kind() == DeviceKind::kHost ? 1 : options.repeats);
}

/// The store's record as far as it was made in the same way, else one with nothing measured.
TuningRecord record_to_go_on_with(const Device& device, Store& store, const Problem& problem, const InputSizes& sizes,
                                  bool again) {
  TuningRecord fresh{.layer = record_layer(problem.layer, problem.direction),
                     .direction = problem.direction,
                     .chip = chip_of(device),
                     .architecture = problem.target.architecture,
                     .sizes = sizes,
                     .version = CONVTGEN_VERSION,
                     .measured = {}};
  const auto entry = again ? std::nullopt : store.find(record_key(fresh));
  if (entry) {
    auto recorded = parse_record(entry->bytes);
    if (recorded && recorded->sizes == fresh.sizes && recorded->version == fresh.version) {
      return *std::move(recorded);
    }
  }
  return fresh;
}

}  // namespace

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

std::string chip_of(const Device& device) {
  return device.kind() == DeviceKind::kHost ? std::string(kHostChip) : device.name();
}

Result<Tuned> tune(Device& device, Store& store, const Problem& problem, const InputSizes& sizes,
                   const TuneOptions& options) {
  auto plans = plan(problem);
  if (!plans) {
    return std::unexpected(plans.error());
  }
  const auto shape = shape_of(problem.layer, sizes);
  if (!shape) {
    return std::unexpected(shape.error());
  }
  if (shape->output_elements == 0) {
    return fail("the batch is empty: there is nothing to measure");
  }
  plans->resize(std::min(plans->size(), std::max<std::size_t>(1, options.candidates)));
  Tuned tuned{record_to_go_on_with(device, store, problem, sizes, options.again), {}, 0};
  std::vector<Measurement> earlier = std::exchange(tuned.record.measured, {});
  for (Plan& each : *plans) {  // what the planner no longer offers is left out
    const auto found = std::ranges::find(earlier, plan_json(each), &Measurement::plan);
    const bool recorded = found != earlier.end();
    if (recorded) {
      tuned.record.measured.push_back(*found);
    }
    tuned.candidates.push_back({std::move(each), recorded ? found->milliseconds : 0, "", recorded});
  }

  std::optional<LayerInputs> inputs;  // made where something is to be measured
  const std::size_t count = tuned.candidates.size();
  for (std::size_t i = 0; i < count; ++i) {
    Candidate& candidate = tuned.candidates[i];
    if (candidate.recorded) {
      continue;
    }
    if (options.stop.stop_requested()) {
      return fail(fmt::format("stopped before candidate {} of {}; those before it are recorded", i + 1, count));
    }
    if (options.progress) {
      options.progress(fmt::format("candidate {} of {}: {}", i + 1, count, candidate.plan.summary),
                       static_cast<double>(i) / static_cast<double>(count));
    }
    if (!inputs) {
      inputs = random_inputs(problem.layer, *shape, options.seed);
    }
    const Result<double> milliseconds = measure(device, problem, candidate.plan, sizes, *inputs, options);
    if (!milliseconds) {
      candidate.problem = milliseconds.error().message;
      continue;
    }
    candidate.milliseconds = *milliseconds;
    tuned.record.measured.push_back({plan_json(candidate.plan), *milliseconds});
    store.insert(record_key(tuned.record), print_record(tuned.record), tuned.record.layer);
  }
  const Measurement* best = best_of(tuned.record);
  if (best == nullptr) {
    return fail(fmt::format("none of {} candidates could be measured; of the first: {}", count,
                            tuned.candidates.front().problem));
  }
  const auto chosen = std::ranges::find(tuned.candidates, best->plan,
                                        [](const Candidate& candidate) { return plan_json(candidate.plan); });
  tuned.best = static_cast<std::size_t>(chosen - tuned.candidates.begin());
  return tuned;
}

}  // namespace convtgen
