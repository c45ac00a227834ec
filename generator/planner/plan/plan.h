// A plan: one template and the values of its static parameters, for one problem.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/layer/shape.h"
#include "generator/planner/chip/cost_factors.h"
#include "generator/planner/chip/target.h"
#include "generator/planner/plan/launch_plan.h"
#include "generator/program/parameters.h"
#include "generator/support/error.h"

namespace convtgen {

/// A target with what its plans are predicted and chosen by: facts of the cost models and of a machine, not of the
/// architecture.
struct PlannedTarget : Target {
  PlannedTarget() = default;
  PlannedTarget(Target target) : Target(std::move(target)) {}  // with the fitted factors, for any chip
  CostFactors factors = {};                                    // fitted to what calls took
  std::string chip = {};  // "NVIDIA H200", whose shipped records are preferred; "": any
};

/// A target as plans for a GPU of this name are chosen: by the rates of its class of boards, and by its records.
[[nodiscard]] inline PlannedTarget planned_for(const Target& target, std::string gpu) {
  PlannedTarget planned = target_of_gpu(target, gpu);
  planned.chip = std::move(gpu);
  return planned;
}

/// What a kernel is wanted for.
struct Problem {
  Layer layer;
  Direction direction = Direction::kForward;
  PlannedTarget target = {};
  bool exchanged = false;  // a gradient of the input as a forward layer: input and output are exchanged
};

/// Where a tuning record comes from.
enum class RecordOrigin {
  kShipped,  // with convtgen
  kStore,    // this user's, kept by 'convtgen tune'
  kFile,     // given with --tuned
};

/// What was measured of a plan (tuning_record.h).
struct RecordedTime {
  double seconds = 0;
  std::string chip;  // "NVIDIA H200"
  RecordOrigin origin = RecordOrigin::kShipped;
  std::string file_digest = {};  // SHA-256 of the file in hexadecimal; of kFile alone
  bool operator==(const RecordedTime&) const = default;
};

struct Plan {
  std::string template_name = {};  // "direct"
  Parameters parameters = {};
  LaunchPlan launch = {};      // what a call launches
  bool swapped = false;        // a gradient of the input as a forward layer: input and output are exchanged
  std::int64_t alignment = 0;  // bytes that the addresses of x and y are multiples of; 0: those of an element
  std::optional<double> predicted_seconds = {};  // of a call at the layer's sizes, middling ones where they are open
  std::optional<RecordedTime> recorded = {};     // by a tuning record: it was the layer's fastest there
  std::string summary = {};  // "a block makes 16x64 pixels of 16 channels; 21 taps; 26.1 KiB shared"
  std::string reason = {};   // why this plan
};

}  // namespace convtgen
