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
#include "generator/planner/cost_factors.h"
#include "generator/planner/launch_plan.h"
#include "generator/planner/target.h"
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

/// What a kernel is wanted for.
struct Problem {
  Layer layer;
  Direction direction = Direction::kForward;
  PlannedTarget target = {};
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

/// Why a template has no plan for a problem.
struct Refusal {
  std::string_view template_name;
  std::string reason;  // "groups of 4 input channels; tensor cores want 16"
};

struct Candidates {
  std::vector<Plan> plans;        // best first; at least one
  std::vector<Refusal> refusals;  // of the templates that have none of them, in the order of the table
};

/// Which tuning records the planner itself goes by.
enum class Records { kShipped, kNone };

/// Plans of all templates of the direction (templates.h). The first is the one that a record which ships says was the
/// fastest (shipped_records.h), if there is one of this very layer for the target, else what cost models suggest.
/// Without records it is what cost models suggest.
/// Errors: the direction is none of the layer's, the layer breaks a limit, or nothing fits the
/// target.
[[nodiscard]] Result<Candidates> candidates(const Problem& problem, Records records = Records::kShipped);

/// Its plans.
[[nodiscard]] Result<std::vector<Plan>> plan(const Problem& problem, Records records = Records::kShipped);

struct Template;  // templates.h

/// The plans of one template alone, for a problem that plan() takes, best first. Errors: why it has none.
[[nodiscard]] Result<std::vector<Plan>> plans_of(const Template& known, const Problem& problem);

/// Blocks of the launch for a call of this shape (a 1-D grid; 0 when there is nothing to do).
/// Errors: more blocks than a grid can have, or an extent the kernel's 32-bit coordinates can't hold.
[[nodiscard]] Result<std::int64_t> grid_blocks(const Problem& problem, const Plan& plan, const Shape& shape);

/// What a plan of the problem with these parameters launches: plans that planners make have it. Throws
/// std::invalid_argument where there is no template of the plan's name.
[[nodiscard]] LaunchPlan launch_plan_of(const Problem& problem, const Plan& plan);

}  // namespace convtgen
