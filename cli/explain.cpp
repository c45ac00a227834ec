// convtgen explain: what would run for a layer, what it costs, and why.
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "cli/architectures.h"
#include "cli/command.h"
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
  bool parameters = false;
  bool no_compile = false;
};

void print_row(std::string_view word, std::string_view text) {
  fmt::print("  {:<11} {}\n", word, text);
}

std::string value_text(const ParameterValue& value) {
  struct Printer {
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(std::int64_t number) const { return fmt::format("{}", number); }
    std::string operator()(double number) const { return fmt::format("{}", number); }
    std::string operator()(const TypeName& type) const { return type.spelling; }
    std::string operator()(const std::vector<std::int64_t>& list) const {
      return fmt::format("{{{}}}", fmt::join(list, ", "));
    }
    std::string operator()(const std::vector<double>& list) const {
      return fmt::format("{{{}}}", fmt::join(list, ", "));
    }
  };
  return std::visit(Printer{}, value);
}

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

/// One printed line; plans that would print the same line share it.
struct CandidateLine {
  std::string text;
  int plans = 1;
  bool is_chosen = false;  // one of them
};

/// The least that a call takes where nothing is in a cache; 0 where it is not known.
double floor_of(const Problem& problem, const InputSizes& sizes) {
  const Result<Shape> shape = shape_of(problem.layer, sizes);
  return shape ? cost_of(problem, *shape).floor_seconds : 0;
}

/// What the cost model says of a plan at these sizes, what was measured before convtgen shipped, and what tuning has
/// measured here, by chip.
std::string candidate_text(const Problem& problem, const Plan& plan, const InputSizes& sizes,
                           const std::vector<TuningRecord>& records) {
  std::string times;
  if (const auto seconds = predict(problem, plan, sizes)) {
    // Cost models are fitted to measured times, some of which caches have made shorter than the floor.
    times += fmt::format("{} predicted; ", seconds_text(std::max(*seconds, floor_of(problem, sizes))));
  }
  if (plan.recorded && plan.recorded->origin == RecordOrigin::kShipped) {
    times += fmt::format("{} on {}, as shipped; ", seconds_text(plan.recorded->seconds), plan.recorded->chip);
  }
  for (const TuningRecord& record : records) {
    if (record_key(record).hex() != record_key(problem, record.chip).hex()) {
      continue;
    }
    const auto measured = std::ranges::find(record.measured, plan_json(plan), &Measurement::plan);
    if (measured != record.measured.end()) {
      times += fmt::format("{} on {}; ", seconds_text(1e-3 * measured->milliseconds), record.chip);
    }
  }
  return fmt::format("{}: {}{}", plan.template_name, times, plan.summary);
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

/// What could run, and why the other templates can't.
void print_candidates(const ExplainOptions& options, const PlannedLayer& planned, const InputSizes& sizes,
                      const std::vector<TuningRecord>& records) {
  const Result<Candidates> all = candidates(planned.problem, options.planned ? Records::kNone : Records::kShipped);
  if (!all) {
    return;  // there would be no planned layer
  }
  std::vector<CandidateLine> lines;
  for (const Plan& each : all->plans) {
    std::string text = candidate_text(planned.problem, each, sizes, records);
    auto line = std::ranges::find(lines, text, &CandidateLine::text);
    if (line == lines.end()) {
      line = lines.insert(line, {.text = std::move(text)});
    } else {
      ++line->plans;
    }
    line->is_chosen |= plan_json(each) == plan_json(planned.plan);
  }
  std::string_view word = "candidates";
  for (const CandidateLine& line : lines) {
    print_row(word, fmt::format("{} {}{}", line.is_chosen ? '*' : ' ', line.text,
                                line.plans > 1 ? fmt::format(" ({} plans)", line.plans) : ""));
    word = "";
  }
  word = "refused";
  for (const Refusal& refusal : all->refusals) {
    print_row(word, fmt::format("{}: {}", refusal.template_name, refusal.reason));
    word = "";
  }
}

/// What a call costs at these sizes.
Exit print_cost(const PlannedLayer& planned, const SizedLayer& sized, bool is_assumed) {
  const auto failed = [&](const Error& error) {
    if (is_assumed) {  // not an error of the layer
      print_row("cost", fmt::format("not known at the sizes that are assumed: {}", error.message));
      return Exit::kOk;
    }
    print_layer_error(planned.name, error);
    return Exit::kWrong;
  };
  const Result<Shape> shape = shape_of(sized.layer, sized.sizes);
  if (!shape) {
    return failed(shape.error());
  }
  print_row("shapes",
            shapes_text(sized.layer, *shape, planned.problem.direction));
  if (shape->output_elements == 0) {
    print_row("launch", "none: the batch is empty");
    return Exit::kOk;
  }
  const Result<std::int64_t> blocks = grid_blocks(planned.problem, planned.plan, *shape);
  if (!blocks) {
    return failed(blocks.error());
  }
  print_row("launch", fmt::format("{} blocks of {} threads", *blocks, planned.plan.launch.main().threads));
  const Cost cost = cost_of(planned.problem, *shape);
  print_row("flops", fmt::format("{}flop (a multiply-add is two)", count_text(cost.flops)));
  print_row("bytes", fmt::format("{} (each tensor once)", bytes_text(cost.bytes)));
  const Target& target = planned.problem.target;
  print_row("floor", fmt::format("{} on {} ({}, {}): {}", seconds_text(cost.floor_seconds), target.architecture,
                                 target.board, target.rates == RateSource::kMeasured ? "measured" : "data sheet",
                                 cost.memory_bound
                                     ? "its tensors, each moved once to or from memory; a cache may save some of that"
                                     : "its arithmetic at the rate that large products reach"));
  return Exit::kOk;
}

/// "26 KiB", "4 KiB for each position of all output images".
std::string amount_text(const Amount& bytes) {
  std::string text = bytes.constant > 0 || bytes.factor == 0 ? bytes_text(static_cast<double>(bytes.constant)) : "";
  if (bytes.factor > 0) {
    text += fmt::format("{}{} times {}", text.empty() ? "" : " and ", bytes_text(static_cast<double>(bytes.factor)),
                        words_of(bytes.per));
  }
  return text;
}

Exit explain(const ExplainOptions& options) {
  Exit exit = Exit::kOk;
  auto layers = load_layers(options.source, exit);
  if (!layers) {
    return exit;
  }
  for (NamedLayer& layer : *layers) {
    Result<SizedLayer> sized = apply_input(layer.layer, options.input);
    if (!sized && !options.input.text.empty()) {
      print_layer_error(layer.name, sized.error());
      return Exit::kUsage;
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
      return exit;
    }
    for (PlannedLayer& each : *more) {
      each.problem.target = planned_for(each.problem.target, chip_of(options, records, each.problem));
    }
    std::ranges::move(*more, std::back_inserter(planned));
  }
  CubinMaker maker(store);
  bool first = true;
  for (const PlannedLayer& layer : planned) {
    if (!first) {
      fmt::print("\n");
    }
    first = false;
    fmt::print("{}\n", bold(stdout, layer.name));
    print_row("layer", canonical_form(layer.problem.layer));
    print_row("template", fmt::format("{}, {}, for {}", layer.plan.template_name, name_of(layer.problem.direction),
                                      layer.problem.target.architecture));
    print_row("tile", layer.plan.summary);
    print_row("why", layer.plan.reason);
    print_row("record", record_text(layer.plan, options.planned));
    for (const PassedOver& passed : layer.passed_over) {
      print_row("passed over", fmt::format("{}: {}", passed.description, passed.reason));
    }
    const Result<SizedLayer> given = apply_input(layer.problem.layer, options.input);
    const SizedLayer sized = given ? *given : SizedLayer{layer.problem.layer, planned_sizes(layer.problem.layer)};
    if (!given) {
      print_row("assumed", fmt::format("{}, which the layer leaves open; --input says otherwise",
                                       assumed_text(layer.problem.layer)));
    }
    print_candidates(options, layer, sized.sizes, records);
    print_row("registers", registers_text(maker, layer, options.no_compile));
    print_row("shared", fmt::format("{} a block", bytes_text(static_cast<double>(layer.source.main().shared_bytes))));
    for (const Region& region : layer.source.recipe.regions) {
      print_row("workspace", fmt::format("{} for {}", amount_text(region.bytes), region.what));
    }
    print_row("source",
              fmt::format("{} lines, kernel {}", std::ranges::count(layer.source.text, '\n'), layer.source.symbol));
    exit = worse(exit, print_cost(layer, sized, !given));
    if (options.parameters) {
      for (const auto& [name, value] : layer.plan.parameters) {
        print_row("", fmt::format("{} = {}", name, value_text(value)));
      }
    }
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
  verb->add_flag("--parameters", options->parameters, "Also every parameter of the template.");
  verb->add_flag("--no-compile", options->no_compile, "Don't compile to count registers, which takes a while.");
  verb->footer(R"(
The plan is the one that the API takes: by a tuning record of the chip in the store, else by one that ships, else as
the planner thinks best.
Of the candidates, '*' marks the one that is taken. Sizes that a layer leaves open are assumed, or given with --input.
Registers are counted by compiling with NVRTC, where it is found; all else needs neither CUDA nor a GPU.
Examples:
  convtgen explain layers.convt --arch sm_80
  convtgen explain layers.convt --layer up --input 8x64x64 --parameters)");
  verb->callback([options, &exit] { exit = explain(*options); });
}

}  // namespace convtgen::cli
