// convtgen compile: layers to cubins or PTX with NVRTC, or to libraries for the host device.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "cli/architectures.h"
#include "cli/command.h"
#include "cli/layers.h"
#include "cli/products.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "generator/launcher/names.h"
#include "runtime/compile/identity.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/device/host/host_device.h"
#include "runtime/make/kernel_maker.h"
#include "runtime/make/shared_store.h"

namespace convtgen::cli {
namespace {

struct CompileOptions {
  LayerSource source;
  std::vector<std::string> architectures{"sm_90a"};
  std::string direction;
  std::string format = "cubin";
  OutputOptions output{".", "", ""};
  bool no_cache = false;
  std::size_t jobs = 0;
};

std::string usage_text(const Binary& binary) {
  const auto usage = resource_usage(binary);
  return usage ? fmt::format("; {} registers, {} bytes spilled, {} shared", usage->registers, usage->spill_bytes,
                             bytes_text(static_cast<double>(binary.shared_bytes + usage->static_shared)))
               : "";
}

/// What compiles, whichever it is: a source for an architecture becomes a binary. Thread-safe.
class Compiler {
 public:
  virtual ~Compiler() = default;
  [[nodiscard]] virtual Result<Binary> compile(const PlannedLayer& layer, const CodeTarget& code) = 0;
  [[nodiscard]] virtual std::string name() const = 0;
  /// The file that it is.
  [[nodiscard]] virtual std::string path() const = 0;
};

class NvrtcCompiler final : public Compiler {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Compiler>> make(bool cache) {
    if (auto there = check_nvrtc(); !there) {
      return std::unexpected(there.error());
    }
    NvrtcFile file = locate_nvrtc();
    if (!file.found()) {  // the loader knows it, by no path that we would find
      file.path = find_nvrtc().path;
      auto identity = library_identity(file.path);
      if (!identity) {
        return std::unexpected(identity.error());
      }
      file.identity = *std::move(identity);
    }
    return std::unique_ptr<Compiler>(new NvrtcCompiler(std::move(file), cache));
  }

  [[nodiscard]] Result<Binary> compile(const PlannedLayer& layer, const CodeTarget& code) override {
    MadeKernel made;
    made.problem = layer.problem;
    made.plan = layer.plan;
    made.source = layer.source;
    return find_or_compile(store_.get(), [this] { return open(); }, file_.identity, made, code);
  }
  [[nodiscard]] std::string name() const override { return "NVRTC"; }
  [[nodiscard]] std::string path() const override { return file_.path; }

 private:
  NvrtcCompiler(NvrtcFile file, bool cache) : file_(std::move(file)), store_(cache ? store_of("") : nullptr) {}

  Result<const Nvrtc*> open() {
    const std::lock_guard lock(mutex_);
    if (!nvrtc_) {
      auto opened = open_nvrtc(file_.path);
      if (!opened) {
        return std::unexpected(opened.error());
      }
      nvrtc_ = *std::move(opened);
    }
    return &*nvrtc_;
  }

  NvrtcFile file_;
  std::mutex mutex_;
  std::optional<Nvrtc> nvrtc_;  // once something had to be compiled
  std::shared_ptr<Store> store_;
};

class HostCompiler final : public Compiler {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Compiler>> make(bool cache) {
    HostOptions options;
    options.cache = cache;
    options.portable = true;
    auto path = host_compiler_path(options);
    if (!path) {
      return std::unexpected(path.error());
    }
    auto device = open_host_device(std::move(options));
    if (!device) {
      return std::unexpected(device.error());
    }
    return std::unique_ptr<Compiler>(new HostCompiler(*std::move(device), *std::move(path)));
  }

  [[nodiscard]] Result<Binary> compile(const PlannedLayer& layer, const CodeTarget& code) override {
    return device_->compile(layer.source, code.target.architecture);
  }
  [[nodiscard]] std::string name() const override { return "the host compiler"; }
  [[nodiscard]] std::string path() const override { return path_; }

 private:
  HostCompiler(std::unique_ptr<HostDevice> device, std::string path)
      : device_(std::move(device)), path_(std::move(path)) {}

  std::unique_ptr<HostDevice> device_;
  std::string path_;
};

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

/// Tells how far a call has come: on a terminal as a bar, elsewhere (a build's log) by a line for each kernel that is
/// done once some seconds have passed.
class Report {
 public:
  Report(const Compiler& compiler, std::size_t count)
      : count_(count), progress_(fmt::format("compiling with {}", compiler.name())) {}

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

/// The binary of each job, in their order, of which `most` are made at a time; 0: one for each core.
std::vector<Result<Binary>> compile_all(Compiler& compiler, const std::vector<Job>& jobs, std::size_t most) {
  std::vector<Result<Binary>> binaries(jobs.size(), fail("not compiled"));
  Report report(compiler, jobs.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++) {
      report.begin(jobs[i]);
      try {
        binaries[i] = compiler.compile(*jobs[i].layer, *jobs[i].code);
      } catch (const std::exception& error) {  // of memory: a thread must not end the process
        binaries[i] = fail(error.what());
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
  return binaries;
}

Exit compile(const CompileOptions& options) {
  Exit exit = Exit::kOk;
  const auto layers = load_layers(options.source, exit);
  if (!layers) {
    return exit;
  }
  const bool host = options.format == "host";
  const auto codes = code_targets(options);
  auto compiler = codes ? host ? HostCompiler::make(!options.no_cache) : NvrtcCompiler::make(!options.no_cache)
                        : std::unexpected(codes.error());
  if (!compiler) {
    print_error(compiler.error().message);
    return Exit::kUsage;
  }
  std::vector<std::vector<PlannedLayer>> planned;
  for (const CodeTarget& code : *codes) {
    auto plans = plan_layers(*layers, options.direction, code.target.architecture, exit);
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
  const std::vector<Result<Binary>> binaries = compile_all(**compiler, jobs, options.jobs);
  std::vector<Product> products;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const PlannedLayer& layer = *jobs[i].layer;
    const CodeTarget& code = *jobs[i].code;
    const Result<Binary>& binary = binaries[i];
    if (!binary) {
      print_layer_error(layer.name, binary.error());
      exit = Exit::kWrong;
      continue;
    }
    const std::filesystem::path path = output_path(options.output, file_name(layer, code, host));
    lines.push_back(fmt::format("{}: {}, kernel {}{}\n", path.string(),
                                bytes_text(static_cast<double>(binary->bytes.size())), binary->symbol,
                                usage_text(*binary)));
    products.push_back({layer.layer,
                        layer.problem,
                        layer.plan,
                        layer.source,
                        name_of(code),
                        host          ? "host"
                        : code.is_ptx ? "ptx"
                                      : "cubin",
                        {path, binary->bytes}});
  }
  if (exit != Exit::kOk) {
    return exit;
  }
  if (auto written = write_products(options.output, options.source, products, {(*compiler)->path()}); !written) {
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
