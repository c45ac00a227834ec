// convtgen tune: which of the planner's candidates is the fastest here; kept for every later process.
#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "cli/architectures.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/layers.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "cli/tune_compile.h"
#include "cli/tune_report.h"
#include "runtime/device/open/device_name.h"
#include "runtime/device/open/open.h"
#include "runtime/make/device_maker.h"
#include "runtime/records/record.h"
#include "runtime/tune/tune_memory.h"

namespace convtgen::cli {
namespace {

struct TuneVerb {
  LayerSource source;
  InputOption input;
  std::string direction;
  std::string device = "cuda";
  std::size_t candidates = 8;
  std::size_t of_each = 0;
  int repeats = 20;
  std::uint64_t seed = 1;
  bool again = false, best = false;
  std::string import_file, export_file, chip;
  std::string json;
  std::size_t jobs = 0;
  std::string memory_limit;  // parse_size()
  bool compile_only = false;
  std::vector<std::string> architectures{};  // none: the device's own; with --compile-only sm_90a
};

Exit import_records(const TuneVerb& options, Store& store) {
  const Result<std::string> text = read_file(options.import_file);
  if (!text) {
    print_error(text.error().message);
    return Exit::kUsage;
  }
  const auto records = parse_records(*text);
  if (!records) {
    print_error(fmt::format("{}: {}", options.import_file, records.error().message));
    return Exit::kWrong;
  }
  std::size_t kept = 0;
  for (const TuningRecord& record : *records) {
    if (!options.again && !stored_record(store, record_key(record)).empty()) {
      ++kept;
    } else {
      store.insert(record_key(record), print_record(record), record.layer);
    }
  }
  fmt::print("{}: {} of {} records taken{}\n", options.import_file, records->size() - kept, records->size(),
             kept == 0 ? "" : "; there were records of the others already (--again replaces them)");
  return Exit::kOk;
}

Exit export_records(const TuneVerb& options, Store& store) {
  if (const std::string problem = store.problem(); !problem.empty()) {
    print_error(fmt::format("there is no store to export from: {}", problem));
    return Exit::kUsage;
  }
  std::vector<TuningRecord> records = stored_records(store);
  if (!options.chip.empty()) {
    std::erase_if(records, [&](const TuningRecord& record) { return record.chip != options.chip; });
  }
  for (TuningRecord& record : records) {
    if (const Measurement* best = best_of(record); options.best && best != nullptr) {
      record.measured = {*best};
    }
  }
  if (auto written = write_file(options.export_file, print_records(records)); !written) {
    print_error(written.error().message);
    return Exit::kUsage;
  }
  std::map<std::string, std::size_t> chips;
  for (const TuningRecord& record : records) {
    ++chips[record.chip];
  }
  std::string of_chips;
  for (const auto& [chip, number] : chips) {
    of_chips += fmt::format("{}{} of {}", of_chips.empty() ? "" : ", ", number, chip);
  }
  fmt::print("{}: {} records{}\n", options.export_file, records.size(),
             of_chips.empty() ? "" : fmt::format(" ({})", of_chips));
  return Exit::kOk;
}

void print_tuned(const std::string& name, const Device& device, const Tuned& tuned) {
  const Candidate& best = tuned.candidates[tuned.best];
  const Candidate& first = tuned.candidates.front();
  std::string gain;
  if (tuned.best == 0) {
    gain = ", by the planner's first plan";
  } else if (first.problem.empty()) {
    gain = fmt::format(", {:.3g} times as fast as the planner's first plan", first.milliseconds / best.milliseconds);
  }
  fmt::print("{} on {}: {}{}\n{}", bold(stdout, name), device.name(), seconds_text(best.milliseconds / 1e3), gain,
             tune_table(tuned));
  if (device.kind() == DeviceKind::kHost) {
    fmt::print("  the host device's times say nothing of a GPU's: only the host device uses this record\n");
  }
  std::fflush(stdout);
  for (std::size_t i = 0; i < tuned.candidates.size(); ++i) {
    if (const Candidate& each = tuned.candidates[i]; !each.problem.empty()) {
      print_warning(fmt::format("layer '{}': candidate {} ({}: {}) was not measured: {}", name, i + 1,
                                each.plan.template_name, each.plan.summary, each.problem));
    }
  }
}

std::vector<Direction> directions_of(const TuneVerb& options, const Layer& layer) {
  return options.direction.empty() ? layer.directions
                                   : std::vector<Direction>{direction_named(options.direction).value()};
}

/// What to tune, with the names of the layers. If a layer has no sizes, the error has been printed and `exit` is set.
std::vector<TunedLayer> jobs_of(const TuneVerb& options, const std::vector<NamedLayer>& layers,
                                const PlannedTarget& target, Exit& exit) {
  std::vector<TunedLayer> jobs;
  for (const NamedLayer& named : layers) {
    const Result<SizedLayer> sized = apply_input(named.layer, options.input);
    if (!sized) {
      print_layer_error(named.name, sized.error());
      exit = worse(exit, Exit::kUsage);
      continue;
    }
    for (const Direction direction : directions_of(options, named.layer)) {
      jobs.push_back({named.name,
                      {{sized->layer, direction, target}, sized->sizes},
                      std::nullopt,
                      fail_with(Status::kInternal, "not tuned")});
    }
  }
  return jobs;
}

/// 0 where none is given.
std::int64_t limit_of(const TuneVerb& options) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(parse_size(options.memory_limit).value_or(0), kMost));
}

std::string step_text(const std::string& name, const TuneStep& step) {
  return step.kind == TuneStep::Kind::kMeasure
             ? fmt::format("{}: measuring candidate {} of {}: {}", name, step.candidate + 1, step.candidates,
                           step.plan.summary)
             : fmt::format("{}: compiling candidate {} of {}; {} of {} kernels are compiled", name, step.candidate + 1,
                           step.candidates, step.compiled, step.to_compile);
}

Exit tune_layers(const TuneVerb& options, const std::vector<NamedLayer>& layers, const std::shared_ptr<Store>& store) {
  const DeviceName named = device_named(options.device).value();
  if (!named.architecture.empty() && !options.architectures.empty()) {
    print_error(fmt::format("--device {} and --arch both name the architecture: give one of them", options.device));
    return Exit::kUsage;
  }
  if (options.architectures.size() > 1) {
    print_error(fmt::format("--arch names {} architectures; only --compile-only takes more than one",
                            options.architectures.size()));
    return Exit::kUsage;
  }
  DeviceOptions device_options;
  device_options.host.seed = options.seed;
  const auto device = open_device(options.device, device_options);
  if (!device) {
    print_error(device.error().message);
    return Exit::kUsage;
  }
  // The host device's records are of the target that its kernels are made for; in the API that is the oldest one too.
  const Result<PlannedTarget> target =
      target_of_device(**device, options.architectures.empty() ? named.architecture : options.architectures.front(),
                       known_targets().front().architecture);
  if (!target) {
    print_error(target.error().message);
    return Exit::kUsage;
  }
  Exit exit = Exit::kOk;
  std::vector<TunedLayer> layers_tuned = jobs_of(options, layers, *target, exit);
  TuneOptions tuning{.candidates = options.candidates,
                     .of_each = options.of_each,
                     .repeats = options.repeats,
                     .seed = options.seed,
                     .again = options.again,
                     .memory_limit = limit_of(options),
                     .compile_threads = options.jobs};
  tuning.verify.samples.seed = options.seed;
  std::vector<TuneJob> jobs;
  for (TunedLayer& each : layers_tuned) {
    jobs.push_back(each.job);
    if (const auto memory = tune_memory(**device, each.job, tuning)) {
      each.memory = *memory;
    }
  }
  fmt::print("{}", memory_line(**device, layers_tuned));
  std::fflush(stdout);
  std::optional<Progress> progress(std::in_place, "planning");
  tuning.progress = [&](const TuneStep& step) {
    if (!progress) {
      progress.emplace(layers_tuned[step.job].name);
    }
    progress->update(step_text(layers_tuned[step.job].name, step), step.fraction);
  };
  const std::shared_ptr<KernelMaker> maker = maker_for(**device, store, target->architecture);
  tune_all(**device, *store, *maker, jobs, tuning, [&](std::size_t job, const Outcome<Tuned>& tuned) {
    TunedLayer& layer = layers_tuned[job];
    layer.tuned = tuned;
    progress.reset();  // off the terminal before anything is printed
    if (tuned) {
      print_tuned(layer.name, **device, *tuned);
    } else if (tuned.error().status == Status::kOutOfMemory) {
      print_warning(fmt::format("layer '{}': skipped: {}", layer.name, tuned.error().message));
    } else {
      print_layer_error(layer.name, Error{tuned.error().message});
      exit = worse(exit, tuned.error().status == Status::kNoCompiler ? Exit::kUsage : Exit::kWrong);
    }
  });
  if (!options.json.empty()) {
    if (auto written = write_file(options.json, tune_json((*device)->name(), layers_tuned)); !written) {
      print_error(written.error().message);
      exit = Exit::kUsage;
    }
  }
  return exit;
}

/// Nothing where the sizes are not known.
std::optional<TuneMemory> memory_of_call(const Problem& problem, const std::vector<Plan>& plans,
                                         const Result<InputSizes>& sizes) {
  const auto shape = sizes ? shape_of(problem.layer, *sizes) : std::unexpected(sizes.error());
  if (!shape) {
    return std::nullopt;
  }
  std::int64_t workspace = 0;
  for (const Plan& plan : plans) {
    workspace = std::max(workspace, workspace_of(plan, *shape));
  }
  return tune_memory(problem, *shape, workspace);
}

Exit compile_layers(const TuneVerb& options, const std::vector<NamedLayer>& layers,
                    const std::shared_ptr<Store>& store) {
  Exit exit = Exit::kOk;
  std::vector<LayerCandidates> candidates;
  for (const std::string& architecture :
       options.architectures.empty() ? std::vector<std::string>{"sm_90a"} : options.architectures) {
    const Result<Target> known = target_named(architecture);
    if (!known) {
      print_error(known.error().message);
      return Exit::kUsage;
    }
    const PlannedTarget target = planned_for(*known, options.chip);
    for (const NamedLayer& named : layers) {
      // Sizes that the layer leaves open are no part of its kernels.
      const Result<SizedLayer> sized =
          options.input.text.empty() ? SizedLayer{named.layer, {}} : apply_input(named.layer, options.input);
      if (!sized) {
        print_layer_error(named.name, sized.error());
        exit = worse(exit, Exit::kUsage);
        continue;
      }
      for (const Direction direction : directions_of(options, named.layer)) {
        Problem problem{sized->layer, direction, target};
        auto plans = candidates_of(problem, options.candidates, options.of_each);
        if (!plans) {
          print_layer_error(named.name, plans.error());
          exit = worse(exit, Exit::kWrong);
          continue;
        }
        auto memory =
            memory_of_call(problem, *plans, options.input.text.empty() ? known_sizes(sized->layer) : sized->sizes);
        candidates.push_back({fmt::format("{} for {}", named.name, architecture), std::move(problem), *std::move(plans),
                              std::move(memory)});
      }
    }
  }
  if (candidates.empty()) {
    return exit;
  }
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  return worse(exit, compile_candidates(store, candidates, options.jobs > 0 ? options.jobs : cores));
}

Exit run_tune(const TuneVerb& options) {
  if (!options.json.empty()) {
    if (const auto writable = check_writable(options.json); !writable) {
      print_error(writable.error().message);
      return Exit::kUsage;
    }
  }
  const auto store =
      std::make_shared<Store>(StoreOptions{.warn = [](const std::string& message) { print_warning(message); }});
  const bool moves = !options.import_file.empty() || !options.export_file.empty();
  Exit exit = Exit::kOk;
  std::optional<std::vector<NamedLayer>> layers;
  if (!moves || !options.source.files.empty() || !options.source.texts.empty()) {
    layers = load_layers(options.source, exit);
    if (!layers) {
      return exit;
    }
  }
  if (!options.import_file.empty()) {
    exit = import_records(options, *store);
  }
  if (layers && exit == Exit::kOk) {
    exit = options.compile_only ? compile_layers(options, *layers, store) : tune_layers(options, *layers, store);
  }
  if (!options.export_file.empty() && exit != Exit::kUsage) {
    exit = worse(exit, export_records(options, *store));
  }
  return exit;
}

}  // namespace

void add_tune(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<TuneVerb>();
  CLI::App* verb = app.add_subcommand("tune", "Measure the planner's best plans for each layer, and keep the fastest.");
  add_layer_options(*verb, options->source);
  add_input_option(*verb, options->input);
  CLI::Option* device =
      verb->add_option("--device", options->device,
                       "What to measure on: cuda; cuda:1, the second GPU in the driver's order; host; host:sm_80, the "
                       "host device with that architecture's kernels.")
          ->check(device_word(false))
          ->type_name("DEVICE")
          ->capture_default_str();
  add_direction_option(*verb, options->direction);
  verb->add_option("--candidates", options->candidates, "How many plans, at most.")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  verb->add_option("--of-each", options->of_each,
                   "How many plans of each template, at most: 1 compares the templates. Unless given, all.")
      ->check(CLI::Range(1, 1024));
  verb->add_option("--jobs", options->jobs,
                   "Kernels compiled at a time; 0: one for each core except the one that measures.")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  verb->add_option("--repeat", options->repeats, "Timed runs of each on a GPU; the median counts.")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  verb->add_option("--seed", options->seed, "Of the random inputs and of the outputs that are checked.")
      ->check(whole_number())
      ->capture_default_str();
  verb->add_flag("--again", options->again, "Measure, or import, also what there is a record of.");
  verb->add_option("--import", options->import_file, "First takes the records of this file.")->type_name("FILE");
  verb->add_option("--export", options->export_file, "At the end writes all records to this file, as JSON.")
      ->type_name("FILE");
  verb->add_option("--chip", options->chip,
                   "Exports only the records of the chip of this name; with --compile-only: compiles for it.")
      ->type_name("NAME");
  verb->add_flag("--best", options->best, "Exports of each record the fastest plan alone.");
  CLI::Option* memory_limit =
      verb->add_option("--memory-limit", options->memory_limit,
                       "Bytes on the device that a layer may take: 1048576, 512K, 500M, 4G; what is free there unless "
                       "given. A layer that takes more is skipped.")
          ->type_name("BYTES")
          ->check(size_in_bytes());
  CLI::Option* json =
      verb->add_option("--json", options->json, "At the end writes all candidates with their times to this file.")
          ->type_name("FILE");
  verb->add_flag("--compile-only", options->compile_only,
                 "Only compile the plans, for --arch, and keep the binaries: a later tuning with this cache "
                 "measures at once. Needs NVRTC, and no GPU.")
      ->excludes(device)
      ->excludes(memory_limit)
      ->excludes(json);
  add_architectures_option(*verb, options->architectures, Architectures::kReal);
  verb->get_option("--arch")->description(
      "Whose kernels are measured, as 'convtgen run --arch' takes it; with --compile-only one or more, sm_90a unless "
      "given.");
  verb->footer(R"(
Each plan's results are verified before its time counts. What was measured is kept at once next to the compiled
kernels, and so are the plans' binaries: a run that was ended goes on where it was. The runtime (the C and C++ API),
explain and run make a layer's kernel by its record from the next process on; emit, compile and launcher go by the
layer, by the records that ship with convtgen, and by a file that --tuned gives them, so that they give the same
everywhere. The binaries of --compile-only serve machines with the same NVRTC, or with none.
What a GPU takes for an older chip's kernels (--arch, CONVTGEN_ARCHITECTURE) is kept as of "NVIDIA H200 as sm_80", and
chooses the plans of such runs alone.
A layer takes its arrays, the largest workspace of its plans and twice the L2 cache on the GPU. Where that is more than
is free, or than --memory-limit, nothing of the layer is allocated or measured, and the next one has its turn.
Examples:
  convtgen tune layers.convt
  convtgen tune layers.convt --layer up --input 8x64x64 --repeat 100
  convtgen tune layers.convt --compile-only --arch sm_90a
  convtgen tune layers.convt --memory-limit 4G
  convtgen tune --export h200.json --chip "NVIDIA H200"    for 'convtgen emit --tuned h200.json'
  convtgen tune --import h200.json
Exit codes: 0 all is well, or a layer was skipped for lack of memory; 1 a layer is wrong, or none of its plans works;
2 wrong usage, no such device or compiler.)");
  verb->callback([options, &exit] { exit = run_tune(*options); });
}

}  // namespace convtgen::cli
