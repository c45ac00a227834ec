// Which of the planner's candidates is the fastest on this machine: measured, each one only after its result was right.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/reference/run_layer.h"
#include "runtime/store/store.h"
#include "runtime/tune/record.h"

namespace convtgen {

struct TuneOptions {
  std::size_t candidates = 8;  // at most, the planner's first ones
  int repeats = 20;            // timed runs of each on a GPU; on the host device it is one
  std::uint64_t seed = 1;      // of the inputs and of the outputs that are checked
  bool again = false;          // measure what the store's record has already
  VerifyOptions verify = {
      .most_for_all = std::int64_t{1} << 26, .samples = {.random = 50'000, .most_borders = 50'000}, .progress = {}};
  /// Told before each step, what it does and which part of all steps is done, from 0 to 1. May be empty.
  std::function<void(std::string_view doing, double fraction)> progress = {};
  std::stop_token stop = {};
};

struct Candidate {
  Plan plan;
  double milliseconds = 0;  // of a call with weights: packing them is part of it; 0 where there is a problem
  std::string problem;      // why it was not measured: it did not compile, or run, or gave wrong results
  bool recorded = false;    // an earlier run measured it
};

struct Tuned {
  TuningRecord record;                // as the store has it now
  std::vector<Candidate> candidates;  // in the planner's order
  std::size_t best = 0;               // of them
};

/// Every record of a store on disk. What is none of this version is left out.
[[nodiscard]] std::vector<TuningRecord> stored_records(Store& store);

/// The name of a device in records: the GPU's, or kHostChip.
[[nodiscard]] std::string chip_of(const Device& device);

/// Measures the candidates for a problem in calls of these sizes. Each one is stored when it is measured, so that a run
/// that was ended goes on in the next; a record of other sizes or of another version of convtgen is begun anew. The
/// engine takes the fastest from then on (runtime/jit/choose.h).
/// Errors: no plan, sizes that don't go with the layer or leave nothing to compute, no candidate that could be
/// measured, a stop; what was measured before stays stored.
[[nodiscard]] Result<Tuned> tune(Device& device, Store& store, const Problem& problem, const InputSizes& sizes,
                                 const TuneOptions& options = {});

}  // namespace convtgen
