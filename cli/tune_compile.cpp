#include "cli/tune_compile.h"

#include <optional>

#include "cli/progress.h"
#include "cli/terminal.h"
#include "cli/tune_report.h"
#include "runtime/compile/nvrtc_search.h"
#include "runtime/make/cubin_maker.h"

namespace convtgen::cli {
namespace {

struct Counts {
  std::size_t compiled = 0, stored = 0;
  std::vector<std::string> problems;
};

/// Why a machine would have to compile what this one has: keys name the compiler.
std::string whom_it_serves() {
  const NvrtcFile nvrtc = locate_nvrtc();
  return nvrtc.found() ? fmt::format("a machine with this NVRTC ({}, {}) or with none takes them as they are",
                                     nvrtc.path, nvrtc.identity)
                       : "made by an NVRTC that is not found here; a machine with that one or with none takes them as "
                         "they are";
}

}  // namespace

Exit compile_candidates(const std::shared_ptr<Store>& store, const std::vector<LayerCandidates>& layers,
                        std::size_t threads) {
  if (const std::string problem = store->problem(); !problem.empty()) {
    print_error(fmt::format("there is no store to keep the binaries in: {}", problem));
    return Exit::kUsage;
  }
  std::vector<PlannedKernel> kernels;
  for (const LayerCandidates& layer : layers) {
    for (const Plan& plan : layer.plans) {
      kernels.push_back({layer.problem, plan});
    }
  }
  CubinMaker maker(store);
  const auto make = [&maker](const Problem& problem, const Plan& plan) { return maker.make(problem, plan); };
  CompileAhead ahead(std::move(kernels), make, threads);
  Exit exit = Exit::kOk;
  std::size_t ready = 0, place = 0;
  std::optional<Progress> progress(std::in_place, "compiling");
  for (const LayerCandidates& layer : layers) {
    std::vector<const Plan*> plans;
    for (const Plan& plan : layer.plans) {
      plans.push_back(&plan);
    }
    Counts counts;
    for (const Plan& plan : layer.plans) {
      progress->update(fmt::format("compiling {}: {} of {} kernels done", layer.name, ahead.done(), ahead.count()),
                       static_cast<double>(ahead.done()) / static_cast<double>(ahead.count()));
      if (const auto made = ahead.take(place++)) {
        ++(made->compiled ? counts.compiled : counts.stored);
      } else if (const auto nvrtc = check_nvrtc(); !nvrtc) {
        progress.reset();
        print_error(nvrtc.error().message);
        return Exit::kUsage;
      } else {
        counts.problems.push_back(
            fmt::format("{}, {}: {}", plan.template_name, differences_of(plan, plans), made.error().message));
      }
    }
    ready += counts.compiled + counts.stored;
    progress.reset();  // off the terminal while something is printed
    fmt::print("{}: {} of {} candidates compiled, {} were in the store\n", bold(stdout, layer.name), counts.compiled,
               layer.plans.size(), counts.stored);
    if (layer.memory) {
      fmt::print("  tuning takes {} on the GPU and twice its L2 cache, and {} of main memory\n",
                 bytes_text(static_cast<double>(layer.memory->device())),
                 bytes_text(static_cast<double>(layer.memory->host)));
    }
    std::fflush(stdout);
    for (const std::string& problem : counts.problems) {
      print_warning(fmt::format("layer '{}': a candidate does not compile: {}", layer.name, problem));
    }
    if (counts.problems.size() == layer.plans.size()) {
      exit = Exit::kWrong;
    }
    progress.emplace("compiling");
  }
  progress.reset();
  fmt::print("{} binaries are ready in {}; {}\n", ready, store->folder(), whom_it_serves());
  return exit;
}

}  // namespace convtgen::cli
