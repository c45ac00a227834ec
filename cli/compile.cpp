// convtgen compile: layers to cubins or PTX with NVRTC, or to libraries for the host device.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "cli/architectures.h"
#include "cli/command.h"
#include "cli/layers.h"
#include "cli/products.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "generator/launcher/names.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/device/host/host_device.h"
#include "runtime/make/cubin_maker.h"
#include "runtime/make/device_maker.h"
#include "runtime/make/shared_store.h"

namespace convtgen::cli {
namespace {

struct CompileOptions {
  LayerSource source;
  std::vector<std::string> architectures{"sm_90a"};
  std::string direction;
  std::string format = "cubin";
  std::string tuned;
  OutputOptions output{".", "", ""};
  bool no_cache = false;
  std::size_t jobs = 0;
};

std::string usage_text(const Binary& binary) {
  const auto usage = resource_usage(binary);
  return usage ? fmt::format("; {} registers, {} bytes spilled, {} shared", usage->registers, usage->spill_bytes,
                             bytes_text(static_cast<double>(main_kernel(binary).shared_bytes + usage->static_shared)))
               : "";
}

/// What compiles, whichever it is.
struct Compiler {
  std::unique_ptr<HostDevice> device;  // of a host compiler
  std::shared_ptr<KernelMaker> maker;
  std::string name;
  std::string path;  // the file that it is
};

std::shared_ptr<Store> store_for(bool cache) {
  return cache ? store_of("") : store_in_memory();
}

Result<Compiler> nvrtc_compiler(bool cache) {
  if (auto there = check_nvrtc(); !there) {
    return std::unexpected(there.error());
  }
  std::string path = locate_nvrtc().path;
  if (path.empty()) {  // the loader knows it, by no path that we would find
    path = find_nvrtc().path;
  }
  return Compiler{nullptr, std::make_shared<CubinMaker>(store_for(cache)), "NVRTC", std::move(path)};
}

Result<Compiler> host_compiler(bool cache) {
  HostOptions options;
  options.portable = true;
  auto path = host_compiler_path(options);
  if (!path) {
    return std::unexpected(path.error());
  }
  auto device = open_host_device(std::move(options));
  if (!device) {
    return std::unexpected(device.error());
  }
  auto maker = std::make_shared<DeviceMaker>(**device, store_for(cache));
  return Compiler{*std::move(device), std::move(maker), "the host compiler", *std::move(path)};
}

/// "up_forward.sm_80.cubin", "up_forward.compute_80.ptx", "up_forward.host.so".
std::string file_name(const PlannedLayer& layer, const CodeTarget& code, bool host) {
  const std::string stem = stem_of(layer.layer, layer.problem.direction);
  return host ? host_file(stem) : code_file(stem, code);
}

/// What to compile for, each once. Errors: several for the host device.
Result<std::vector<CodeTarget>> code_targets(const CompileOptions& options) {
  if (options.format == "host" && options.architectures.size() > 1) {
    return fail(
        fmt::format("--format host makes one library of a kernel, from the source for one architecture: give one with "
                    "--arch instead of {}",
                    options.architectures.size()));
  }
  std::vector<CodeTarget> codes;
  for (const std::string& name : options.architectures) {
    auto code = code_target_named(name);
    if (!code) {
      return std::unexpected(code.error());
    }
    code->is_ptx |= options.format == "ptx";
    if (std::ranges::find(codes, *code) == codes.end()) {
      codes.push_back(*std::move(code));
    }
  }
  return codes;
}

/// A kernel to compile.
struct Job {
  const PlannedLayer* layer;
  const CodeTarget* code;
};

/// Shows how far a call has come: on a terminal as a bar, elsewhere (a build's log) by a line for each kernel that is
/// done once some seconds have passed.
class Report {
 public:
  Report(const Compiler& compiler, std::size_t count)
      : count_(count), progress_(fmt::format("compiling with {}", compiler.name)) {}

  void begin(const Job& job) {
    progress_.update(fmt::format("[{}/{}] compiling {}", done_ + 1, count_, text_of(job)),
                     static_cast<double>(done_) / static_cast<double>(count_));
  }
  void end(const Job& job) {
    const std::lock_guard lock(mutex_);
    ++done_;
    if (!is_terminal(stderr) && count_ > 1 && std::chrono::steady_clock::now() - start_ > kQuiet) {
      print_on_stderr(fmt::format("[{}/{}] compiled {}\n", done_.load(), count_, text_of(job)));
    }
  }

 private:
  static constexpr std::chrono::seconds kQuiet{5};
  static std::string text_of(const Job& job) { return fmt::format("{} for {}", job.layer->name, name_of(*job.code)); }

  std::size_t count_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::atomic<std::size_t> done_ = 0;
  Progress progress_;
};

/// The kernel of each job, in their order, at most `most` at a time; 0: one for each core.
std::vector<Outcome<MadeKernel>> compile_all(const Compiler& compiler, const std::vector<Job>& jobs, std::size_t most) {
  std::vector<Outcome<MadeKernel>> kernels(jobs.size(), fail_with(Status::kInternal, "not compiled"));
  Report report(compiler, jobs.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++) {
      report.begin(jobs[i]);
      try {
        const auto& [layer, code] = jobs[i];
        kernels[i] = compiler.maker->find_or_compile(generated_kernel(layer->problem, layer->plan, layer->source),
                                                     code->is_ptx ? BinaryKind::kPtx : BinaryKind::kCubin);
      } catch (const std::exception& error) {  // of memory: a thread must not end the process
        kernels[i] = fail_with(Status::kOutOfMemory, error.what());
      }
      report.end(jobs[i]);
    }
  };
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> helpers;
  for (std::size_t i = 1; i < std::min(most > 0 ? most : cores, jobs.size()); ++i) {
    helpers.emplace_back(work);
  }
  work();
  helpers.clear();  // joins them
  return kernels;
}

Exit compile(const CompileOptions& options) {
  Exit exit = Exit::kOk;
  const auto layers = load_layers(options.source, exit);
  if (!layers) {
    return exit;
  }
  const auto planner = planner_of_file(options.tuned, exit);
  if (!planner) {
    return exit;
  }
  const bool host = options.format == "host";
  const auto codes = code_targets(options);
  auto compiler = codes ? host ? host_compiler(!options.no_cache) : nvrtc_compiler(!options.no_cache)
                        : std::unexpected(codes.error());
  if (!compiler) {
    print_error(compiler.error().message);
    return Exit::kUsage;
  }
  std::vector<std::vector<PlannedLayer>> planned;
  for (const CodeTarget& code : *codes) {
    auto plans = plan_layers(*layers, options.direction, code.target.architecture, *planner, exit);
    if (!plans) {
      return exit;
    }
    planned.push_back(*std::move(plans));
  }
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < codes->size(); ++i) {
    for (const PlannedLayer& layer : planned[i]) {
      jobs.push_back({&layer, &(*codes)[i]});
    }
  }
  if (auto checked = check_outputs(options.output, jobs.size()); !checked) {
    print_error(checked.error().message);
    return Exit::kUsage;
  }
  const std::vector<Outcome<MadeKernel>> kernels = compile_all(*compiler, jobs, options.jobs);
  std::vector<Product> products;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const PlannedLayer& layer = *jobs[i].layer;
    const CodeTarget& code = *jobs[i].code;
    if (!kernels[i]) {
      print_layer_error(layer.name, {kernels[i].error().message});
      exit = Exit::kWrong;
      continue;
    }
    const Binary& binary = kernels[i]->binary;
    const std::filesystem::path path = output_path(options.output, file_name(layer, code, host));
    lines.push_back(fmt::format("{}: {}, kernel {}{}\n", path.string(),
                                bytes_text(static_cast<double>(binary.bytes.size())), binary.symbol,
                                usage_text(binary)));
    products.push_back({layer.layer,
                        layer.problem,
                        layer.plan,
                        layer.source,
                        name_of(code),
                        host          ? "host"
                        : code.is_ptx ? "ptx"
                                      : "cubin",
                        {path, binary.bytes}});
  }
  if (exit != Exit::kOk) {
    return exit;
  }
  std::vector<std::string> inputs = inputs_of_tuned(options.tuned);
  inputs.push_back(compiler->path);
  if (auto written = write_products(options.output, options.source, products, inputs); !written) {
    print_error(written.error().message);
    return Exit::kUsage;
  }
  for (const std::string& line : lines) {
    if (!options.output.prints_manifest()) {
      fmt::print("{}", line);
    }
  }
  return exit;
}

}  // namespace

void add_compile(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<CompileOptions>();
  CLI::App* verb = app.add_subcommand("compile", "Compile each layer's kernel, with NVRTC or for the host device.");
  add_layer_options(*verb, options->source);
  add_architectures_option(*verb, options->architectures, Architectures::kRealAndVirtual);
  add_direction_option(*verb, options->direction);
  add_tuned_option(*verb, options->tuned);
  verb->add_option("--format", options->format,
                   "cubin runs as it is; ptx is compiled again by the driver; host is a library for the host device, "
                   "of the source for one --arch.")
      ->check(CLI::IsMember({"cubin", "ptx", "host"}))
      ->capture_default_str();
  verb->add_option("-o,--output", options->output.output,
                   "Folder for <layer>_<direction>.<arch>.cubin (or .ptx; .host.so), or the file itself where it ends "
                   "so; the current folder unless given. Nothing is written unless all succeed.")
      ->type_name("DIR");
  add_output_options(*verb, options->output);
  verb->add_option("--jobs", options->jobs, "Kernels compiled at a time; 0: one for each core.")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  verb->add_flag("--no-cache", options->no_cache, "Compile, whatever the cache of compiled kernels has.");
  verb->footer(R"(
Needs NVRTC (of the CUDA toolkit, or Python's nvidia-cuda-nvrtc package), for the host device g++ or clang++; no GPU.
A virtual architecture (compute_80) is PTX, for that chip and all later ones.
Examples:
  convtgen compile layers.convt --arch sm_80,sm_90a,compute_80 -o out
  convtgen compile layers.convt --layer up --format ptx --arch sm_80 -o up.ptx
  convtgen compile layers.convt --format host -o out)");
  verb->callback([options, &exit] { exit = compile(*options); });
}

}  // namespace convtgen::cli
