// convtgen run: a layer on a device, verified against its definition.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "cli/architectures.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/layers.h"
#include "cli/npy.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/records.h"
#include "cli/run_inputs.h"
#include "cli/shapes.h"
#include "cli/terminal.h"
#include "runtime/device/open/device_name.h"
#include "runtime/device/open/open.h"
#include "runtime/make/device_maker.h"
#include "runtime/make/shared_store.h"
#include "runtime/reference/run_layer.h"
#include "runtime/tune/tune.h"

namespace convtgen::cli {
namespace {

struct RunOptions {
  LayerSource source;
  std::vector<std::string> architectures{};  // whose kernels run; none: a GPU's own, on the host device sm_90a's
  std::string direction;
  InputOption input;
  ArrayFiles arrays;
  std::string out;
  std::string device = "auto";
  bool planned = false;
  std::uint64_t seed = 1;
  int repeats = 20;
};

/// The host device makes about this many multiply-adds a second, all its checks included.
constexpr double kHostRate = 20e6;

struct RunOutcome {
  Exit exit = Exit::kOk;
  std::string problem;  // for the user, where exit is not kOk and nothing more was printed
};

RunOutcome wrong(const Error& error, Exit exit = Exit::kWrong) {
  return {exit, error.message};
}

/// Milliseconds of one call.
Result<double> measure(Device& device, LoadedLayer& layer, const LayerCall& call, int repeats, double first_run_ms) {
  if (call.is_empty() || device.kind() == DeviceKind::kHost || repeats == 0) {
    return first_run_ms;
  }
  return time_call(device, layer, call, repeats);
}

Result<void> write_output(const RunOptions& options, Device& device, const Layer& layer, const LayerCall& call) {
  const Role role = roles_of(layer, call.direction).written.front();
  Result<HostArray> array = read_output(device, layer, call, role);
  if (!array) {
    return std::unexpected(array.error());
  }
  array->shape = user_shape(layer, role, array->shape);
  return write_file(options.out, npy_bytes(*array));
}

/// What a call computes: multiply-adds, the same of all directions except grad_bias, which adds up grad_y.
struct Work {
  double operations;  // multiply-adds, or additions
  double flops;
  std::string_view name;
};

Work work_of(const Layer& layer, const Shape& shape, Direction direction) {
  if (direction == Direction::kGradBias) {
    const auto additions = static_cast<double>(shape.output_elements);
    return {additions, additions, "additions"};
  }
  const auto multiplies = static_cast<double>(multiply_adds(layer, shape));
  return {multiplies, 2 * multiplies, "multiply-adds"};
}

/// "error" and "checked" of each array that was written; with its name where there are several.
void print_errors(const Verification& verification, const Layer& layer) {
  for (const auto& [comparison, sampled, all_borders] : verification.arrays) {
    const std::string_view name = name_of(comparison.role);
    std::string error = describe(comparison, layer);
    if (const std::size_t line = error.find('\n'); line != std::string::npos) {
      error.replace(line, 1, "\n           ");
    }
    fmt::print("  error    {}{}\n", verification.arrays.size() > 1 ? fmt::format("{}: ", name) : "", error);
    if (!sampled) {
      continue;
    }
    if (comparison.role == Role::kY || comparison.role == Role::kGradX) {
      fmt::print("  checked  random elements of {} and {} of every image and channel\n", name,
                 all_borders ? "all border rows and columns" : "samples of the border rows and columns");
    } else {
      fmt::print("  checked  random elements of {}\n", name);
    }
  }
}

/// The first plan that can be specialised and compiled, loaded.
Result<LoadedLayer> load_first(Device& device, KernelMaker& maker, const Problem& problem,
                               const std::vector<Plan>& plans) {
  auto made = maker.make_first(problem, plans);
  if (!made) {
    return fail(made.error().message);
  }
  return load_binary(device, problem, made->plan, std::move(made->source), std::move(made->binary));
}

/// What is the same for all kernels of a call of the program.
struct Runner {
  const RunOptions& options;
  Device& device;
  Store& store;
  KernelMaker& maker;
};

/// The heading's verdict.
std::string verdict_of(const Verification& verification) {
  if (!verification.passed()) {
    return red(stdout, "WRONG");
  }
  const bool limited = std::ranges::any_of(verification.arrays,
                                           [](const ArrayVerification& array) { return array.comparison.limited > 0; });
  return limited ? yellow(stdout, "differs as the README's limits say") : green(stdout, "verified");
}

RunOutcome run_one(const Runner& runner, const NamedLayer& named, Direction direction, const PlannedTarget& target) {
  const auto& [options, device, store, maker] = runner;
  const std::string name =
      direction == Direction::kForward ? named.name : fmt::format("{}_{}", named.name, name_of(direction));
  std::optional<Progress> progress(std::in_place, fmt::format("{}: making inputs", name));
  const Result<RunInputs> inputs = make_inputs(named.layer, direction, options.input, options.arrays, options.seed);
  if (!inputs) {
    return wrong(inputs.error(), Exit::kUsage);
  }
  const Problem problem{inputs->sized.layer, direction, target};
  const auto plans = plans_on_chip(store, problem, options.planned);
  if (!plans) {
    return wrong(plans.error());
  }
  progress->update(fmt::format("{}: compiling", name));
  auto layer = load_first(device, maker, problem, *plans);
  if (!layer) {
    return wrong(layer.error());
  }
  progress->update(fmt::format("{}: running on {}", name, device.name()));
  auto call = make_call(device, *layer, inputs->sized.sizes, inputs->arrays);
  if (!call) {
    return wrong(call.error());
  }
  const Work work = work_of(problem.layer, call->shape, direction);
  if (device.kind() == DeviceKind::kHost && work.operations > 120 * kHostRate) {
    print_warning(fmt::format("layer '{}': {} {} take the host device some {} minutes; --input makes it less", name,
                              count_text(work.operations), work.name,
                              static_cast<int>(work.operations / kHostRate / 60)));
  }
  const auto start = std::chrono::steady_clock::now();
  if (auto done = run_call(device, *layer, *call); !done) {
    return wrong(done.error());
  }
  const std::chrono::duration<double, std::milli> first_run = std::chrono::steady_clock::now() - start;
  if (!options.out.empty()) {
    if (auto written = write_output(options, device, problem.layer, *call); !written) {
      return wrong(written.error(), Exit::kUsage);
    }
  }
  progress->update(fmt::format("{}: computing the definition in fp64", name));
  VerifyOptions verify;
  verify.samples.seed = options.seed;
  verify.zero_taps = has_zero_taps(layer->plan);
  verify.progress = [&](double fraction) { progress->update(fraction); };
  const auto verification = verify_call(device, problem.layer, *call, inputs->arrays, verify);
  if (!verification) {
    return wrong(verification.error());
  }
  progress->update(fmt::format("{}: timing", name));
  const Result<double> milliseconds = measure(device, *layer, *call, options.repeats, first_run.count());
  if (!milliseconds) {
    return wrong(milliseconds.error());
  }

  progress.reset();  // off the terminal before anything is printed
  const bool passed = verification->passed();
  fmt::print("{} on {}: {}\n", bold(stdout, name), device.name(), verdict_of(*verification));
  fmt::print("  kernel   {}, made for {}: {}\n", layer->plan.template_name, target.architecture, layer->source.symbol);
  fmt::print("  record   {}\n", record_text(layer->plan, options.planned));
  fmt::print("  inputs   {}\n", inputs->origin);
  fmt::print("  shapes   {}\n", shapes_text(problem.layer, call->shape, direction));
  print_errors(*verification, problem.layer);
  if (call->is_empty()) {
    fmt::print("  time     none: there is nothing to compute\n");
  } else {
    fmt::print("  time     {}, {:.4g} GFLOP/s{}\n", seconds_text(*milliseconds / 1e3),
               work.flops / (*milliseconds * 1e6),
               device.kind() == DeviceKind::kHost
                   ? " (the host device is made to find faults, not to be fast)"
                   : fmt::format(" (median of {} runs{})", options.repeats,
                                 layer->form.recipe().may_omit_weight() ? ", each packing the weights" : ""));
  }
  if (!options.out.empty()) {
    fmt::print("  output   {}\n", options.out);
  }
  return {passed ? Exit::kOk : Exit::kWrong, ""};
}

Exit run(const RunOptions& options) {
  Exit exit = Exit::kOk;
  const auto layers = load_layers(options.source, exit);
  if (!layers) {
    return exit;
  }
  if ((options.arrays.any() || !options.out.empty()) && layers->size() > 1) {
    print_error(
        fmt::format("--x, --w, --bias, --grad-y and --out are for one layer, and there are {}; choose one with --layer",
                    layers->size()));
    return Exit::kUsage;
  }
  if (const std::size_t directions = layers->front().layer.directions.size();
      !options.out.empty() && options.direction.empty() && directions > 1) {
    print_error(
        fmt::format("--out is for one direction, and the layer has {}; choose one with --direction", directions));
    return Exit::kUsage;
  }
  const DeviceName named = device_named(options.device).value();
  if (!named.architecture.empty() && !options.architectures.empty()) {
    print_error(fmt::format("--device {} and --arch both name the architecture: give one of them", options.device));
    return Exit::kUsage;
  }
  if (auto writable = options.out.empty() ? Result<void>() : check_writable(options.out); !writable) {
    print_error(writable.error().message);
    return Exit::kUsage;
  }
  std::string why_host;
  DeviceOptions device_options;
  device_options.host.seed = options.seed;
  const auto device = open_device(options.device, device_options, &why_host);
  if (!device) {
    print_error(device.error().message);
    return Exit::kUsage;
  }
  if (const auto compiler = (*device)->find_compiler(); !compiler) {
    print_error(compiler.error().message);
    return Exit::kUsage;
  }
  if (!why_host.empty()) {
    // Its beginning says what is missing; doctor reports the rest.
    print_on_stderr(fmt::format("convtgen: no GPU is used: {} ('convtgen doctor' says more)\n",
                                why_host.substr(0, why_host.find_first_of(";(\n"))));
  }
  std::vector<PlannedTarget> targets;
  for (const std::string& architecture :
       options.architectures.empty() ? std::vector{named.architecture} : options.architectures) {
    const Result<PlannedTarget> target = target_of_device(**device, architecture, "sm_90a");
    if (!target) {
      print_error(target.error().message);
      return Exit::kUsage;
    }
    if (std::ranges::find(targets, target->architecture, &Target::architecture) == targets.end()) {
      targets.push_back(*target);
    }
  }
  if (!options.out.empty() && targets.size() > 1) {
    print_error(fmt::format("--out is for one architecture, and --arch names {}; choose one", targets.size()));
    return Exit::kUsage;
  }
  const std::shared_ptr<Store> store = store_of("");
  int runs = 0, failures = 0;
  for (const NamedLayer& layer : *layers) {
    std::vector<Direction> directions = layer.layer.directions;
    if (!options.direction.empty()) {
      directions = {direction_named(options.direction).value()};
    }
    for (const Direction direction : directions) {
      for (const PlannedTarget& target : targets) {
        const std::shared_ptr<KernelMaker> maker = maker_for(**device, store, target.architecture);
        const RunOutcome outcome = run_one({options, **device, *store, *maker}, layer, direction, target);
        if (!outcome.problem.empty()) {
          print_layer_error(layer.name, {outcome.problem});
        }
        exit = worse(exit, outcome.exit);
        ++runs;
        failures += outcome.exit == Exit::kOk ? 0 : 1;
      }
    }
  }
  if (runs > 1) {
    fmt::print("{} of {} verified\n", runs - failures, runs);
  }
  return exit;
}

}  // namespace

void add_run(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* verb = app.add_subcommand("run", "Run each layer, verify it against its definition in fp64, and time it.");
  add_layer_options(*verb, options->source);
  add_input_option(*verb, options->input);
  verb->add_option("--device", options->device,
                   "cuda; cuda:1, the second GPU in the driver's order; host; host:sm_80, the host device with that "
                   "architecture's kernel; auto, the first GPU where it can be used, else host.")
      ->check(device_word(true))
      ->type_name("DEVICE")
      ->capture_default_str();
  add_architectures_option(*verb, options->architectures, Architectures::kReal);
  verb->get_option("--arch")->description(
      "Whose kernels the device runs, one or more: --arch sm_80,sm_90a. A GPU runs those of older chips as PTX; unless "
      "given, or named by the environment variable CONVTGEN_ARCHITECTURE, its own, and the host device those of "
      "sm_90a.");
  add_planned_option(*verb, options->planned);
  add_direction_option(*verb, options->direction);
  verb->add_option("--x", options->arrays.x, "Input, (N, C, H, W), or (N, H, W, C) for layout nhwc.")->type_name("NPY");
  verb->add_option("--w", options->arrays.weight,
                   "Weights, (Cin, Cout/groups, KH, KW), or (Cin, KH, KW, Cout/groups) if they are channels_last.")
      ->type_name("NPY");
  verb->add_option("--bias", options->arrays.bias, "Bias, (Cout).")->type_name("NPY");
  verb->add_option("--grad-y", options->arrays.grad_y, "Gradient of the output, in the order of --x.")
      ->type_name("NPY");
  verb->add_option("--out", options->out, "Writes the result here: y, grad_x, grad_weight or grad_bias.")
      ->type_name("NPY");
  verb->add_option("--seed", options->seed, "Of random inputs, samples, and the host device's order of threads.")
      ->check(whole_number())
      ->capture_default_str();
  verb->add_option("--repeat", options->repeats, "Timed runs on a GPU.")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  verb->footer(R"(
A plan is chosen as the API does it: by a tuning record of the device in the store, else by one that ships, else as the
planner thinks best. Records of a GPU that runs an older chip's kernels are apart from its own.
Arrays are .npy files of the layer's dtype, in C order: float64, float32, float16, and for bf16 ml_dtypes' bfloat16 or
uint16 with its bits; results are written as the latter.
Those that are not given are random. Every element of the results is compared; of large y and grad_x 100,000 random ones
and all borders, of grad_weight and grad_bias as many random ones as have 2^30 terms.
Examples:
  convtgen run layers.convt --input 1x32x64
  convtgen run layers.convt --layer up --x x.npy --w w.npy --out y.npy
  convtgen run layers.convt --layer up --direction grad_weight --x x.npy --grad-y g.npy --out grad_weight.npy
  convtgen run -e "conv_transpose2d 8 -> 4; kernel 3; stride 2; input 1x16x16" --device host:sm_80 --seed 7
  convtgen run layers.convt --device cuda --arch sm_80
Exit codes: 0 verified, or different as the README's limits say; 1 a result or a layer is wrong; 2 wrong usage, or no
such device or compiler.)");
  verb->callback([options, &exit] { exit = run(*options); });
}

}  // namespace convtgen::cli
