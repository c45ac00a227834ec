#include "runtime/tune/tune.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "generator/planner/candidates.h"
#include "runtime/compile/code_here.h"
#include "runtime/make/compile_ahead.h"
#include "runtime/tune/tune_memory.h"

namespace convtgen {
namespace {

/// What a job's candidates are given and held to, the same for all of them.
struct Trial {
  UploadedInputs inputs;
  Arrays given;  // by the caller
  Reference reference;
};

Result<Trial> make_trial(Device& device, const TuneJob& job, const Shape& shape, const TuneOptions& options) {
  const Layer& layer = job.problem.layer;
  const LayerInputs inputs = random_inputs(layer, shape, options.seed, job.problem.direction);
  const Arrays given = used_arrays(device, options);
  auto uploaded = upload_inputs(device, layer, job.sizes, inputs, job.problem.direction, given);
  if (!uploaded) {
    return std::unexpected(uploaded.error());
  }
  return Trial{*std::move(uploaded), given,
               make_reference(layer, shape, inputs, options.verify, job.problem.direction)};
}

/// Milliseconds of one call. Errors: those of its steps, and a result that is wrong.
Result<double> measure(Device& device, const Problem& problem, const Plan& plan, MadeKernel compiled,
                       const Trial& trial, const TuneOptions& options) {
  auto layer = load_binary(device, problem, plan, std::move(compiled.source), std::move(compiled.binary));
  if (!layer) {
    return std::unexpected(layer.error());
  }
  auto call = make_call(device, *layer, trial.inputs, trial.given);
  if (!call) {
    return std::unexpected(call.error());
  }
  if (auto done = run_call(device, *layer, *call); !done) {
    return std::unexpected(done.error());
  }
  const auto verification = verify_call(device, problem.layer, *call, trial.reference);
  if (!verification) {
    return std::unexpected(verification.error());
  }
  if (!verification->passed()) {
    return fail(fmt::format("its result is wrong: {}", describe(*verification, problem.layer)));
  }
  // More runs tell no more of a device that is made to find faults.
  return time_call(device, *layer, *call, device.kind() == DeviceKind::kHost ? 1 : options.repeats);
}

/// The store's record as far as it was made in the same way, else one with nothing measured.
TuningRecord record_to_go_on_with(Store& store, const Problem& problem, const InputSizes& sizes, bool again) {
  TuningRecord fresh{.layer = record_layer(problem.layer, problem.direction),
                     .direction = problem.direction,
                     .chip = problem.target.chip,
                     .architecture = problem.target.architecture,
                     .sizes = sizes,
                     .version = CONVTGEN_VERSION,
                     .measured = {}};
  if (!again) {
    auto recorded = parse_record(stored_record(store, record_key(fresh)));
    if (recorded && recorded->sizes == fresh.sizes && recorded->version == fresh.version) {
      return *std::move(recorded);
    }
  }
  return fresh;
}

/// A job's candidates, and what an earlier run measured of them.
struct Begun {
  Tuned tuned;
  Shape shape;
  std::size_t open = 0;    // candidates that are to be measured
  TuneMemory memory = {};  // that these take
};

bool is_open(const Candidate& candidate) {
  return !candidate.recorded && candidate.problem.empty();
}

Outcome<Begun> begin(const Device& device, Store& store, const TuneJob& job, const TuneOptions& options) {
  auto plans = candidates_of(job.problem, options.candidates, options.of_each);
  if (!plans) {
    return fail_with(Status::kUnsupported, plans.error());
  }
  const auto shape = shape_of(job.problem.layer, job.sizes);
  if (!shape) {
    return fail_with(Status::kInvalidArgument, shape.error());
  }
  if (shape->output_elements == 0) {
    return fail_with(Status::kInvalidArgument, "the batch is empty: there is nothing to measure");
  }
  Begun begun{{record_to_go_on_with(store, job.problem, job.sizes, options.again), {}, 0}, *shape};
  Tuned& tuned = begun.tuned;
  const std::vector<Measurement> earlier = std::exchange(tuned.record.measured, {});
  std::int64_t workspace = 0;
  for (Plan& each : *plans) {  // what the planner no longer offers is left out
    const auto found = std::ranges::find(earlier, plan_json(each), &Measurement::plan);
    const bool recorded = found != earlier.end();
    if (recorded) {
      tuned.record.measured.push_back(*found);
    }
    const std::int64_t own = workspace_of(each, *shape);
    std::string problem;
    if (!recorded && outgrows_given(own, options)) {
      problem = fmt::format("its workspace needs {} bytes; the one that is given has {}", own,
                            options.buffers.workspace_bytes);
    }
    tuned.candidates.push_back({std::move(each), recorded ? found->milliseconds : 0, std::move(problem), recorded});
    if (is_open(tuned.candidates.back())) {
      ++begun.open;
      workspace = std::max(workspace, own);
    }
  }
  begun.memory = tune_memory(job.problem, *shape, workspace, used_arrays(device, options), options.verify);
  begun.memory.timing = static_cast<std::int64_t>(device.timing_bytes());
  return begun;
}

/// Errors: kOutOfMemory.
Outcome<void> check_room(const Device& device, const Begun& begun, const TuneOptions& options) {
  return begun.open == 0 ? Outcome<void>() : check_memory(device, begun.memory, options);
}

/// Why none of the candidates has a time.
Failure none_measured(Device& device, const Tuned& tuned, const Begun& begun) {
  const Status status = begun.open == 0          ? Status::kOutOfMemory
                        : device.find_compiler() ? Status::kCompileFailed
                                                 : Status::kNoCompiler;
  return {status, fmt::format("none of {} candidates could be measured; of the first: {}", tuned.candidates.size(),
                              tuned.candidates.front().problem)};
}

/// Where a job's candidates are among the kernels that are compiled ahead; nothing for those that are not.
using Places = std::vector<std::optional<std::size_t>>;

/// What all jobs of a call share.
struct Run {
  Device& device;
  Store& store;
  KernelMaker& maker;
  const TuneOptions& options;
  CompileAhead& ahead;
  std::size_t done = 0;  // candidates, over all jobs
};

/// Measures what is to be measured of the job at a place of the list, and says which candidate is the best.
Outcome<Tuned> measure_all(Run& run, std::size_t place, const TuneJob& job, const Places& places) {
  const TuneOptions& options = run.options;
  // Looked at anew: an equal job before this one may have measured it.
  auto begun = begin(run.device, run.store, job, options);
  if (!begun) {
    return std::unexpected(begun.error());
  }
  if (auto room = check_room(run.device, *begun, options); !room) {
    run.done += static_cast<std::size_t>(std::ranges::count_if(places, [](const auto& at) { return at.has_value(); }));
    return std::unexpected(room.error());
  }
  Tuned& tuned = begun->tuned;
  std::optional<Trial> trial;  // made where something is to be measured
  const std::size_t count = tuned.candidates.size();
  for (std::size_t i = 0; i < count; ++i) {
    Candidate& candidate = tuned.candidates[i];
    if (!is_open(candidate)) {
      continue;
    }
    if (options.stop.stop_requested()) {
      return fail_with(Status::kCancelled,
                       fmt::format("stopped before candidate {} of {}; those before it are recorded", i + 1, count));
    }
    const auto tell = [&](TuneStep::Kind kind) {
      if (options.progress) {
        const auto all = static_cast<double>(std::max<std::size_t>(1, run.ahead.count()));
        options.progress({kind, place, i, count, candidate.plan, run.ahead.done(), run.ahead.count(),
                          std::min(1.0, static_cast<double>(run.done) / all)});
      }
    };
    tell(TuneStep::Kind::kCompile);
    // A record that another process took away meanwhile leaves a candidate that nobody compiles ahead.
    Outcome<MadeKernel> compiled = places[i] ? run.ahead.take(*places[i]) : run.maker.make(job.problem, candidate.plan);
    if (!compiled) {
      ++run.done;
      candidate.problem = compiled.error().message;
      continue;
    }
    tell(TuneStep::Kind::kMeasure);
    ++run.done;
    if (!trial) {
      auto made = make_trial(run.device, job, begun->shape, options);
      if (!made) {
        return fail_with(Status::kDriver, made.error());
      }
      trial = *std::move(made);
    }
    const Result<double> milliseconds =
        measure(run.device, job.problem, candidate.plan, *std::move(compiled), *trial, options);
    if (!milliseconds) {
      candidate.problem = milliseconds.error().message;
      continue;
    }
    candidate.milliseconds = *milliseconds;
    tuned.record.measured.push_back({plan_json(candidate.plan), *milliseconds});
    run.store.insert(record_key(tuned.record), print_record(tuned.record), tuned.record.layer);
  }
  const Measurement* best = best_of(tuned.record);
  if (best == nullptr) {
    return std::unexpected(none_measured(run.device, tuned, *begun));
  }
  const auto chosen = std::ranges::find(tuned.candidates, best->plan,
                                        [](const Candidate& candidate) { return plan_json(candidate.plan); });
  tuned.best = static_cast<std::size_t>(chosen - tuned.candidates.begin());
  return std::move(tuned);
}

}  // namespace

Result<PlannedTarget> target_of_device(const Device& device, std::string_view architecture, std::string_view of_host) {
  if (!device.chip()) {
    Result<PlannedTarget> target = host_target_here(architecture, of_host);
    if (target) {
      target->chip = kHostChip;
    }
    return target;
  }
  const Result<Chip> chip = chip_here(*device.chip(), architecture);
  if (!chip) {
    return std::unexpected(chip.error());
  }
  auto code = code_here(*chip);
  if (!code) {
    return fail(std::move(code.error().message));
  }
  return planned_for(code->target, record_name(device.name(), *chip));
}

Result<std::vector<Plan>> candidates_of(const Problem& problem, std::size_t most, std::size_t of_each) {
  auto plans = plan(problem);
  if (plans) {
    std::map<std::string_view, std::size_t> taken;
    std::erase_if(*plans, [&](const Plan& each) { return of_each > 0 && taken[each.template_name]++ >= of_each; });
    plans->resize(std::min(plans->size(), std::max<std::size_t>(1, most)));
  }
  return plans;
}

void tune_all(Device& device, Store& store, KernelMaker& maker, std::span<const TuneJob> jobs,
              const TuneOptions& options,
              const std::function<void(std::size_t job, const Outcome<Tuned>& tuned)>& told) {
  std::vector<PlannedKernel> kernels;
  std::vector<Places> places;
  for (const TuneJob& job : jobs) {
    Places& own = places.emplace_back();
    const auto begun = begin(device, store, job, options);
    // Where memory is short by now, and is there in time after all, kernels are compiled when they are wanted.
    const bool ahead = begun && check_room(device, *begun, options);
    for (const Candidate& candidate : begun ? begun->tuned.candidates : std::vector<Candidate>()) {
      const bool wanted = ahead && is_open(candidate);
      own.push_back(wanted ? std::optional(kernels.size()) : std::nullopt);
      if (wanted) {
        kernels.push_back({job.problem, candidate.plan});
      }
    }
  }
  // With a core of its own the thread that measures puts launches on the device in time.
  const std::size_t cores = std::max(2U, std::thread::hardware_concurrency()) - 1;
  const auto make = [&maker](const Problem& problem, const Plan& plan) { return maker.make(problem, plan); };
  CompileAhead ahead(std::move(kernels), make, options.compile_threads > 0 ? options.compile_threads : cores);
  Run run{device, store, maker, options, ahead};
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    told(i, measure_all(run, i, jobs[i], places[i]));
  }
}

Outcome<Tuned> tune(Device& device, Store& store, KernelMaker& maker, const TuneJob& job, const TuneOptions& options) {
  Outcome<Tuned> outcome = fail_with(Status::kInternal, "nothing was tuned");
  tune_all(device, store, maker, std::span(&job, 1), options,
           [&](std::size_t, const Outcome<Tuned>& tuned) { outcome = tuned; });
  return outcome;
}

}  // namespace convtgen
