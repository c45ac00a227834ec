// convtgen explain: what would run for a layer, what it costs, and why.
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "cli/architectures.h"
#include "cli/command.h"
#include "cli/explanation.h"
#include "cli/layers.h"
#include "cli/progress.h"
#include "cli/records.h"
#include "cli/shapes.h"
#include "cli/terminal.h"
#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/chip/chip_code.h"
#include "generator/planner/predict.h"
#include "generator/planner/search/cost.h"
#include "generator/specializer/kernel_source.h"
#include "runtime/compile/code_here.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/device/cuda/driver.h"
#include "runtime/make/cubin_maker.h"
#include "runtime/make/shared_store.h"
#include "runtime/records/record.h"

namespace convtgen::cli {
namespace {

struct ExplainOptions {
  LayerSource source;
  std::vector<std::string> architectures{"sm_90a"};
  std::string direction;
  std::string chip;
  bool planned = false;
  InputOption input;
  ExplainDetail detail;
  bool json = false;
  bool no_compile = false;
  std::vector<std::string> diff;  // none, or two

  /// Whether --diff has two architectures; else layers.
  [[nodiscard]] bool compares_architectures() const {
    return diff.size() == 2 &&
           std::ranges::all_of(diff, [](const auto& word) { return target_named(word).has_value(); });
  }
};

std::string registers_text(CubinMaker& maker, const PlannedLayer& layer, bool no_compile) {
  if (no_compile) {
    return "not counted: --no-compile";
  }
  if (!check_nvrtc()) {
    return "not known: NVRTC, which counts them, is not here ('convtgen doctor' says more)";
  }
  Progress progress("compiling with NVRTC");
  const auto made =
      maker.find_or_compile(generated_kernel(layer.problem, layer.plan, layer.source), BinaryKind::kCubin);
  if (!made) {
    return fmt::format("not known; the runtime takes another plan where this one does not compile: {}",
                       made.error().message);
  }
  const std::optional<ResourceUsage> usage = resource_usage(made->binary);
  if (!usage) {
    return "not known: NVRTC's log does not tell them";
  }
  return fmt::format("{} a thread, {}", usage->registers,
                     usage->spill_bytes == 0 ? "none spilled" : fmt::format("{} bytes spilled", usage->spill_bytes));
}

/// "a batch of 16, a height of 256": what is assumed of the sizes that nobody stated.
std::string assumed_text(const Layer& layer) {
  const InputSizes sizes = planned_sizes(layer);
  std::vector<std::string> parts;
  const auto add = [&](const Size& size, std::int64_t assumed, std::string_view name) {
    if (!size) {
      parts.push_back(fmt::format("a {} of {}", name, assumed));
    }
  };
  add(layer.batch, sizes.batch, "batch");
  for (const std::size_t axis : axes_of(layer)) {
    add(layer.axes[axis].extent, sizes.extents[axis], axis_name(layer, axis));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// The least that a call takes where nothing is in a cache; 0 where it is not known.
double floor_of(const Problem& problem, const InputSizes& sizes) {
  const Result<Shape> shape = shape_of(problem.layer, sizes);
  return shape ? cost_of(problem, *shape).floor_seconds : 0;
}

/// At these sizes, at least the floor. Cost models are fitted to measured times, and caches made some of those shorter.
std::optional<double> prediction_of(const Problem& problem, const Plan& plan, const InputSizes& sizes, double floor) {
  const auto seconds = predict(problem, plan, sizes);
  return seconds ? std::optional(std::max(*seconds, floor)) : std::nullopt;
}

/// What the cost model says of a plan at these sizes, what was measured before convtgen shipped, and what tuning has
/// measured here, by chip.
ExplainedPlans explained(const Problem& problem, const Plan& plan, const InputSizes& sizes, double floor,
                         const std::vector<TuningRecord>& records) {
  ExplainedPlans out = {.template_name = plan.template_name,
                        .summary = plan.summary,
                        .predicted_seconds = prediction_of(problem, plan, sizes, floor)};
  if (plan.recorded && plan.recorded->origin == RecordOrigin::kShipped) {
    out.measured.emplace_back(fmt::format("on {}, as shipped", plan.recorded->chip), plan.recorded->seconds);
  }
  for (const TuningRecord& record : records) {
    if (record_key(record).hex() != record_key(problem, record.chip).hex()) {
      continue;
    }
    const auto measured = std::ranges::find(record.measured, plan_json(plan), &Measurement::plan);
    if (measured != record.measured.end()) {
      out.measured.emplace_back(fmt::format("on {}", record.chip), 1e-3 * measured->milliseconds);
    }
  }
  return out;
}

/// Whose records choose the plan: --chip's; else those of this machine's GPU of that architecture; else those of the
/// first chip by name that the store has a record of.
std::string chip_of(const ExplainOptions& options, const std::vector<TuningRecord>& records, const Problem& problem) {
  if (!options.chip.empty()) {
    return options.chip;
  }
  static const Result<CudaDriverInfo> driver = find_cuda_driver();
  for (const CudaDeviceInfo& device : driver ? driver->devices : std::vector<CudaDeviceInfo>()) {
    const Result<Chip> chip = chip_here({.capability = device.capability});
    const Result<Target> target = chip ? target_for(*chip) : std::unexpected(chip.error());
    if (target && target->architecture == problem.target.architecture) {
      return record_name(device.name, *chip);
    }
  }
  return tuned_chips(records, problem).front();
}

std::string text_of_time(const ExplainedPlans& plans) {
  return plans.predicted_seconds ? seconds_text(*plans.predicted_seconds) : "";
}

/// What could run, and why the other templates can't.
void add_candidates(Explanation& to, bool planned, const InputSizes& sizes, double floor,
                    const std::vector<TuningRecord>& records) {
  const Problem& problem = to.planned.problem;
  const Result<Candidates> all = candidates(problem, planned ? Records::kNone : Records::kShipped);
  if (!all) {
    return;  // there would be no planned layer
  }
  const std::string chosen = plan_json(to.planned.plan);
  for (const Plan& each : all->plans) {
    ExplainedPlans line = explained(problem, each, sizes, floor, records);
    line.is_chosen = plan_json(each) == chosen;
    const auto prints_alike = [&](const ExplainedPlans& other) {
      return other.template_name == line.template_name && other.summary == line.summary &&
             other.measured == line.measured && text_of_time(other) == text_of_time(line);
    };
    const auto known = std::ranges::find_if(to.candidates, prints_alike);
    if (known == to.candidates.end()) {
      to.candidates.push_back(std::move(line));
    } else {
      ++known->plans;
      known->is_chosen |= line.is_chosen;
    }
  }
  for (const Refusal& refusal : all->refusals) {
    to.refusals.push_back({std::string(refusal.template_name), refusal.reason});
  }
}

/// What a call takes at these sizes. Errors: there is no such call.
Result<ExplainedCall> call_of(const PlannedLayer& planned, const SizedLayer& sized) {
  const Result<Shape> shape = shape_of(sized.layer, sized.sizes);
  if (!shape) {
    return std::unexpected(shape.error());
  }
  ExplainedCall call = {.shapes = shapes_text(sized.layer, *shape, planned.problem.direction)};
  if (shape->output_elements == 0) {
    return call;
  }
  const Result<std::int64_t> blocks = grid_blocks(planned.problem, planned.plan, *shape);
  if (!blocks) {
    return std::unexpected(blocks.error());
  }
  call.blocks = *blocks;
  call.threads = planned.plan.launch.main().threads;
  call.cost = cost_of(planned.problem, *shape);
  return call;
}

/// Of each layer, direction and architecture. What can't be explained has been printed, and is in `exit`.
std::vector<Explanation> explanations_of(const ExplainOptions& options, Exit& exit) {
  auto layers = load_layers(options.source, exit);
  if (!layers) {
    return {};
  }
  for (NamedLayer& layer : *layers) {
    Result<SizedLayer> sized = apply_input(layer.layer, options.input);
    if (!sized && !options.input.text.empty()) {
      print_layer_error(layer.name, sized.error());
      exit = Exit::kUsage;
      return {};
    }
    if (sized) {
      layer.layer = sized->layer;
    }
  }
  const std::shared_ptr<Store> store = store_of("");
  const std::vector<TuningRecord> records = stored_records(*store);
  const Planner planner = [&](Problem problem) {
    problem.target = planned_for(problem.target, chip_of(options, records, problem));
    return plans_on_chip(*store, problem, options.planned);
  };
  std::vector<PlannedLayer> planned;
  for (const std::string& architecture : options.architectures) {
    auto more = plan_layers(*layers, options.direction, architecture, planner, exit);
    if (!more) {
      return {};
    }
    for (PlannedLayer& each : *more) {
      each.problem.target = planned_for(each.problem.target, chip_of(options, records, each.problem));
    }
    std::ranges::move(*more, std::back_inserter(planned));
  }
  CubinMaker maker(store);
  std::vector<Explanation> explanations;
  for (PlannedLayer& layer : planned) {
    const Result<SizedLayer> given = apply_input(layer.problem.layer, options.input);
    const SizedLayer sized = given ? *given : SizedLayer{layer.problem.layer, planned_sizes(layer.problem.layer)};
    Explanation each;
    each.planned = std::move(layer);
    const PlannedLayer& own = each.planned;
    each.record = record_text(own.plan, options.planned);
    each.assumed = given ? "" : assumed_text(own.problem.layer);
    const double floor = floor_of(own.problem, sized.sizes);
    each.predicted_seconds = prediction_of(own.problem, own.plan, sized.sizes, floor);
    add_candidates(each, options.planned, sized.sizes, floor, records);
    if (options.detail.all || !options.diff.empty() || options.json) {
      each.registers = registers_text(maker, own, options.no_compile);
    }
    if (auto call = call_of(own, sized)) {
      each.call = *std::move(call);
    } else if (given) {
      print_layer_error(own.name, call.error());
      each.call_problem = fmt::format("not known: {}", call.error().message);
      exit = worse(exit, Exit::kWrong);
    } else {  // not an error of the layer
      each.call_problem = fmt::format("not known at the sizes that are assumed: {}", call.error().message);
    }
    explanations.push_back(std::move(each));
  }
  return explanations;
}

/// Whether an explanation is one of the two that are compared.
bool is_of(const Explanation& explanation, const std::string& word) {
  return explanation.planned.layer == word || explanation.planned.problem.target.architecture == word;
}

/// Compares two architectures for each layer and direction, or two layers for each architecture and direction.
Exit print_differences(const ExplainOptions& options, const std::vector<Explanation>& explanations) {
  bool first = true;
  for (const Explanation& one : explanations) {
    for (const Explanation& other : explanations) {
      const Problem& a = one.planned.problem;
      const Problem& b = other.planned.problem;
      const bool alike = options.compares_architectures() ? one.planned.layer == other.planned.layer
                                                          : a.target.architecture == b.target.architecture;
      if (a.direction == b.direction && alike && is_of(one, options.diff[0]) && is_of(other, options.diff[1])) {
        fmt::print("{}", first ? "" : "\n");
        first = false;
        print_difference(one, other, options.detail);
      }
    }
  }
  if (first) {
    print_error(
        fmt::format("--diff: '{}' and '{}' are neither two layers of these files with a direction in common nor "
                    "two architectures",
                    options.diff[0], options.diff[1]));
    return Exit::kUsage;
  }
  return Exit::kOk;
}

Exit explain(ExplainOptions options) {
  if (options.compares_architectures()) {
    options.architectures = options.diff;
  }
  Exit exit = Exit::kOk;
  const std::vector<Explanation> explanations = explanations_of(options, exit);
  if (explanations.empty()) {
    return exit;
  }
  if (!options.diff.empty()) {
    return worse(exit, print_differences(options, explanations));
  }
  if (options.json) {
    fmt::print("{}", json_of(explanations));
    return exit;
  }
  bool first = true;
  for (const Explanation& each : explanations) {
    fmt::print("{}", first ? "" : "\n");
    first = false;
    print_explanation(each, options.detail);
  }
  return exit;
}

}  // namespace

void add_explain(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* verb = app.add_subcommand(
      "explain", "Tell which kernel a layer gets, what it costs, and why; and why not another template's.");
  add_layer_options(*verb, options->source);
  add_architectures_option(*verb, options->architectures, Architectures::kReal);
  add_direction_option(*verb, options->direction);
  verb->add_option("--chip", options->chip,
                   "The GPU, as \"NVIDIA H200\", whose tuning records and rates choose plans; unless given, this "
                   "machine's of that architecture, else the first that the store has a record of.")
      ->type_name("NAME");
  add_planned_option(*verb, options->planned);
  add_input_option(*verb, options->input);
  verb->add_flag("--all", options->detail.all,
                 "Also all candidates, and what the kernel and a call consist of: registers, shared memory, workspace, "
                 "source, shapes, launch, work.");
  verb->add_flag("--parameters", options->detail.parameters, "Also every parameter of the template.");
  CLI::Option* json = verb->add_flag("--json", options->json, "All of it as an array of JSON objects.");
  verb->add_option("--diff", options->diff,
                   "What differs between two architectures, or between two layers of the files.")
      ->expected(2)
      ->type_name("A B")
      ->excludes(json);
  verb->add_flag("--no-compile", options->no_compile,
                 "With --all or --diff: don't compile to count registers, which takes a while.");
  verb->footer(R"(
The plan is the one that the API takes: by a tuning record of the chip in the store, else by one that ships, else as
the planner thinks best.
Of the candidates, '*' marks the one that is taken. Sizes that a layer leaves open are assumed, or given with --input.
Registers are counted by compiling with NVRTC, where it is found; all else needs neither CUDA nor a GPU.
Examples:
  convtgen explain layers.convt --arch sm_80
  convtgen explain layers.convt --layer up --diff sm_80 sm_90a
  convtgen explain layers.convt --layer up --input 8x64x64 --parameters)");
  verb->callback([options, &exit] { exit = explain(*options); });
}

}  // namespace convtgen::cli
