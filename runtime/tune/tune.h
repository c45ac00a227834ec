// Which of the planner's candidates is the fastest on this machine: measured, each one only after its result was right.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/make/kernel_maker.h"
#include "runtime/records/record.h"
#include "runtime/reference/run_layer.h"
#include "runtime/store/store.h"
#include "runtime/support/failure.h"

namespace convtgen {

/// The next step of tuning.
struct TuneStep {
  enum class Kind { kCompile, kMeasure };
  Kind kind = Kind::kMeasure;  // kCompile: it waits for the candidate's binary
  std::size_t job = 0;         // of the list
  std::size_t candidate = 0;   // of the job
  std::size_t candidates = 0;  // of the job
  const Plan& plan;
  std::size_t compiled = 0;  // of those that are to be measured, over all jobs
  std::size_t to_compile = 0;
  double fraction = 0;  // of all jobs' candidates, from 0 to 1
};

struct TuneOptions {
  std::size_t candidates = 8;  // at most, the planner's first ones
  std::size_t of_each = 0;     // at most of each template; 0: as many as there are
  int repeats = 20;            // timed runs of each on a GPU; on the host device it is one
  std::uint64_t seed = 1;      // of the inputs and of the outputs that are checked
  bool again = false;          // measure what the store's record has already
  VerifyOptions verify = {.most_for_all = std::int64_t{1} << 26,
                          .samples = {.random = 50'000, .most_borders = 50'000, .most_terms = std::int64_t{1} << 28},
                          .progress = {}};
  /// Bytes on the device that a job may allocate at a time; 0: what is free there when the job begins. A job that needs
  /// more is skipped: nothing is allocated, nothing measured.
  std::int64_t memory_limit = 0;
  /// The caller's, on the device and not in use, as large as the job's sizes make them: tuning overwrites them, and
  /// allocates what is null. Plans that need more than `workspace_bytes` are skipped. The host device makes checked
  /// buffers of its own all the same, and uses only `workspace_bytes`.
  Arrays buffers = {};
  /// Threads that compile; 0: one for each core except the one that measures.
  std::size_t compile_threads = 0;
  /// Called before each step, from the calling thread. May be empty.
  std::function<void(const TuneStep&)> progress = {};
  std::stop_token stop = {};
};

struct Candidate {
  Plan plan;
  double milliseconds = 0;  // of a call with weights: packing them is part of it; 0 where there is a problem
  std::string problem;      // why it was not measured: no room in the workspace, no compile, no run, wrong results
  bool recorded = false;    // an earlier run measured it
};

struct Tuned {
  TuningRecord record;                // as the store has it now
  std::vector<Candidate> candidates;  // in the planner's order
  std::size_t best = 0;               // of them
};

/// What kernels on a device are planned for, with the device's name in records. On a GPU what code_here() says of it
/// for an architecture as chip_here() takes it; on the host device host_target_here(), `of_host` if nothing names one.
/// Errors: there is no code for the chip; no such target; it does not run there.
[[nodiscard]] Result<PlannedTarget> target_of_device(const Device& device, std::string_view architecture,
                                                     std::string_view of_host);

/// A problem to tune, in calls of these sizes.
struct TuneJob {
  Problem problem;
  InputSizes sizes;
};

/// The planner's first `most` plans, at least one, without those of a template beyond its first `of_each`, unless that
/// is 0. Errors: those of plan().
[[nodiscard]] Result<std::vector<Plan>> candidates_of(const Problem& problem, std::size_t most,
                                                      std::size_t of_each = 0);

/// Measures the candidates of each job, one at a time on the device. Their kernels are compiled meanwhile, those of
/// later jobs too, on other threads. What is measured is stored at once, so that a run that was ended goes on in the
/// next; a record of other sizes or of another version of convtgen is begun anew. From then on the engine uses the
/// fastest (runtime/make/choose.h). `told` gets each job's outcome when that is known.
/// Errors: kUnsupported, no plan; kInvalidArgument, sizes that don't fit the layer or leave nothing to compute;
/// kOutOfMemory, there is too little for what is to be measured (tune_memory.h); kNoCompiler or kCompileFailed, no
/// candidate that could be measured; kDriver, inputs that can't be uploaded; kCancelled, a stop. What was measured
/// before stays stored.
void tune_all(Device& device, Store& store, KernelMaker& maker, std::span<const TuneJob> jobs,
              const TuneOptions& options,
              const std::function<void(std::size_t job, const Outcome<Tuned>& tuned)>& told);

/// The same for one job.
[[nodiscard]] Outcome<Tuned> tune(Device& device, Store& store, KernelMaker& maker, const TuneJob& job,
                                  const TuneOptions& options = {});

}  // namespace convtgen
