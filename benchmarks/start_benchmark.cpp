// What it takes until a layer can be launched on a GPU:
//   cold    a layer that nobody saw before, by phase: generate, NVRTC, load
//   warm    a new process whose store has the kernel, next to loading the cubin alone, each in its own
//           process. NVRTC must not be loaded.
// start_benchmark FILE.convt; without a GPU only `cold` is printed, and no loading. Exits 1 where a bound is missed.
#include <dlfcn.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <convtgen/convtgen.h>
#include <algorithm>
#include <chrono>

#include <expected>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/chip/chip_code.h"
#include "generator/planner/plan/plan.h"
#include "generator/specializer/kernel_source.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/device/cuda/cuda_device.h"

namespace {

constexpr double kMostOverLoading = 10;          // ms, of a warm start
constexpr double kMostForGeneration = 0.05;      // of a cold one
constexpr int kRepeats = 5;                      // of each process
constexpr const char* kArchitecture = "sm_90a";  // where there is no GPU

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

[[noreturn]] void stop(std::string_view why) {
  fmt::print(stderr, "start_benchmark: {}\n", why);
  std::exit(2);
}

template <typename T, typename E>
T need(std::expected<T, E> result) {
  if (!result) {
    stop(result.error().message);
  }
  return *std::move(result);
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    stop(fmt::format("{} can't be read", path));
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// ---- What the processes of a warm start do. Each prints its milliseconds. -------------------------------------------

// The driver with a context, which every user of CUDA has.
void* driver_with_context() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  void* context = nullptr;
  if (driver == nullptr || reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"))(0) != 0 ||
      reinterpret_cast<int (*)(void**, int)>(dlsym(driver, "cuDevicePrimaryCtxRetain"))(&context, 0) != 0 ||
      reinterpret_cast<int (*)(void*)>(dlsym(driver, "cuCtxSetCurrent"))(context) != 0) {
    stop("the first GPU can't be used");
  }
  return driver;
}

int load_cubin(const std::string& path, const char* symbol) {
  void* driver = driver_with_context();
  const std::string cubin = read(path);
  const auto start = Clock::now();
  void* module = nullptr;
  void* function = nullptr;
  if (reinterpret_cast<int (*)(void**, const void*)>(dlsym(driver, "cuModuleLoadData"))(&module, cubin.data()) != 0 ||
      reinterpret_cast<int (*)(void**, void*, const char*)>(dlsym(driver, "cuModuleGetFunction"))(&function, module,
                                                                                                  symbol) != 0) {
    stop("the cubin can't be loaded");
  }
  fmt::print("{}\n", milliseconds_since(start));
  return 0;
}

// The handles live as long as the process.
void prepare_through_api(const std::string& text) {
  convtgen_layer* layer = nullptr;
  convtgen_device* device = nullptr;
  convtgen_kernel* kernel = nullptr;
  if (convtgen_device_open("cuda", &device) != CONVTGEN_OK ||
      convtgen_layer_parse(text.c_str(), nullptr, &layer) != CONVTGEN_OK ||
      convtgen_prepare(device, layer, CONVTGEN_FORWARD, &kernel) != CONVTGEN_OK) {
    stop(convtgen_last_error());
  }
}

int prepare(const std::string& layer) {
  (void)driver_with_context();
  const auto start = Clock::now();
  prepare_through_api(layer);
  const double took = milliseconds_since(start);
  convtgen_counters counters{};
  counters.struct_size = sizeof counters;
  if (convtgen_get_counters(&counters) != CONVTGEN_OK || counters.compiles != 0) {
    stop("the store did not have the kernel");
  }
  if (read("/proc/self/maps").find("libnvrtc") != std::string::npos) {
    stop("NVRTC is loaded");
  }
  fmt::print("{}\n", took);
  return 0;
}

// ---- The tables -----------------------------------------------------------------------------------------------------

/// This program again, in a process of its own: the median of what it prints.
double in_new_processes(const std::vector<std::string>& arguments) {
  std::vector<double> times;
  for (int i = 0; i < kRepeats; ++i) {
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) {
      stop("no pipe");
    }
    const pid_t child = fork();  // only to run another program: CUDA is of no use in the child
    if (child == 0) {
      dup2(pipe_ends[1], STDOUT_FILENO);
      std::vector<char*> words{const_cast<char*>("start_benchmark")};
      for (const std::string& argument : arguments) {
        words.push_back(const_cast<char*>(argument.c_str()));
      }
      words.push_back(nullptr);
      execv("/proc/self/exe", words.data());
      _exit(127);
    }
    close(pipe_ends[1]);
    char text[64] = {};
    const ssize_t bytes = ::read(pipe_ends[0], text, sizeof text - 1);
    close(pipe_ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0 || bytes <= 0) {
      stop("a process of a warm start failed");
    }
    times.push_back(std::stod(text));
  }
  return median(times);
}

struct Phases {
  double generate = 0, compile = 0, load = 0;
};

struct Cold {
  Phases phases;
  convtgen::Binary binary;
};

/// Every phase the median of kRepeats; `device` may be null.
Cold cold_start(const convtgen::NamedLayer& layer, const convtgen::Target& target, convtgen::Device* device) {
  std::vector<double> generate, compile, load;
  Cold cold;
  for (int i = 0; i < kRepeats; ++i) {
    auto start = Clock::now();
    const convtgen::Layer parsed = *convtgen::parse_layer(convtgen::canonical_form(layer.layer));
    const convtgen::Problem problem{parsed, convtgen::Direction::kForward, target};
    const auto plans = need(convtgen::plan(problem));
    const auto source = need(convtgen::specialize(problem, plans.front()));
    generate.push_back(milliseconds_since(start));

    start = Clock::now();
    cold.binary = need(convtgen::compile_with_nvrtc(source, target.architecture, convtgen::BinaryKind::kCubin));
    compile.push_back(milliseconds_since(start));

    if (device != nullptr) {
      start = Clock::now();
      const auto loaded = need(device->load(cold.binary));
      load.push_back(milliseconds_since(start));
    }
  }
  cold.phases = {median(generate), median(compile), load.empty() ? 0 : median(load)};
  return cold;
}

int measure(const std::string& path) {
  const auto layers = convtgen::parse_file(read(path));
  if (!layers) {
    stop(fmt::format("{} has errors; 'convtgen check' prints them", path));
  }
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("convtgen_start_{}", getpid());
  setenv("CONVTGEN_CACHE_DIR", folder.c_str(), 1);
  std::filesystem::create_directories(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);

  bool missed = false;
  const auto device = convtgen::open_cuda_device(0);
  const convtgen::Target target =
      need(device ? convtgen::target_of_chip((*device)->chip()->capability) : convtgen::target_named(kArchitecture));
  fmt::print("{}, {}; medians of {}, in ms\n", device ? (*device)->name() : "no GPU", target.architecture, kRepeats);
  auto start = Clock::now();
  (void)cold_start(layers->front(), target, device ? device->get() : nullptr);  // loads NVRTC and starts it
  fmt::print("the first {} kernels of the process, NVRTC's own start among them: {:.1f}\n\n", kRepeats,
             milliseconds_since(start));
  fmt::print("{:<22}{:>10}{:>10}{:>10}{:>12}{:>12}{:>12}{:>10}\n", "layer", "generate", "NVRTC", "load", "generate %",
             "warm start", "cubin only", "over");
  for (const convtgen::NamedLayer& layer : *layers) {
    const Cold one = cold_start(layer, target, device ? device->get() : nullptr);
    const double share = one.phases.generate / (one.phases.generate + one.phases.compile + one.phases.load);
    missed = missed || share > kMostForGeneration;
    fmt::print("{:<22}{:>10.2f}{:>10.1f}{:>10.2f}{:>12.2f}", layer.name, one.phases.generate, one.phases.compile,
               one.phases.load, 100 * share);
    if (!device) {
      fmt::print("\n");
      continue;
    }
    const std::string text = convtgen::canonical_form(layer.layer);
    const std::string cubin = folder / "alone.cubin";
    std::ofstream(cubin, std::ios::binary) << one.binary.bytes;
    prepare_through_api(text);  // into the store
    const double warm = in_new_processes({"--prepare", text});
    const double alone = in_new_processes({"--load", cubin, one.binary.symbol});
    missed = missed || warm - alone > kMostOverLoading;
    fmt::print("{:>12.2f}{:>12.2f}{:>10.2f}\n", warm, alone, warm - alone);
  }
  std::filesystem::remove_all(folder);
  fmt::print("\nbounds: generation {:.0f} % of a cold start, a warm start {:.0f} ms over loading the cubin: {}\n",
             100 * kMostForGeneration, kMostOverLoading, missed ? "MISSED" : "kept");
  return missed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[0] == "--prepare") {
    return prepare(words[1]);
  }
  if (words.size() == 3 && words[0] == "--load") {
    return load_cubin(words[1], words[2].c_str());
  }
  if (words.size() != 1) {
    stop("usage: start_benchmark FILE.convt");
  }
  return measure(words[0]);
}
