// convtgen doctor: what works on this machine, what does not, and why.
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/terminal.h"
#include "runtime/compile/nvrtc_search.h"
#include "runtime/device/cuda/driver.h"
#include "runtime/device/host/host_device.h"
#include "runtime/make/shared_store.h"

namespace convtgen::cli {
namespace {

struct DoctorOptions {
  std::vector<std::string> parts;
  bool quiet = false;
};

/// What was found of one part.
struct Finding {
  bool works = false;
  std::string summary;               // one line
  std::vector<std::string> details;  // more lines
  std::string without;               // what does not work when this does not
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines{""};
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  while (!lines.empty() && lines.back().empty()) {
    lines.pop_back();
  }
  return lines;
}

Finding failure(const std::string& message, std::string without) {
  std::vector<std::string> lines = lines_of(message);
  Finding finding{false, lines.empty() ? "not found" : lines.front(), {}, std::move(without)};
  if (!lines.empty()) {
    finding.details.assign(lines.begin() + 1, lines.end());
  }
  return finding;
}

Finding examine_nvrtc() {
  constexpr const char* kWithout = "compile, explain's registers, and run on a GPU";
  const NvrtcSearch search = find_nvrtc();
  if (!search.found()) {
    return failure(describe_missing_nvrtc(search), kWithout);
  }
  const Result<Nvrtc> nvrtc = open_nvrtc(search.path);
  if (!nvrtc) {
    return failure(nvrtc.error().message, kWithout);
  }
  return {true,
          fmt::format("NVRTC {}.{}, {}", nvrtc->major, nvrtc->minor, search.path),
          {fmt::format("compiles for compute capabilities {}", fmt::join(nvrtc->architectures, ", "))},
          kWithout};
}

Finding examine_cuda() {
  constexpr const char* kWithout = "run --device cuda";
  const Result<CudaDriverInfo> driver = find_cuda_driver();
  if (!driver) {
    return failure(driver.error().message, kWithout);
  }
  Finding finding;
  finding.without = kWithout;
  int usable = 0;
  for (const CudaDeviceInfo& device : driver->devices) {
    usable += device.architecture.empty() ? 0 : 1;
    finding.details.push_back(fmt::format("GPU {}: {}, {}, {} SMs, {}", device.ordinal, device.name,
                                          bytes_text(static_cast<double>(device.memory_bytes)), device.multiprocessors,
                                          device.architecture.empty()
                                              ? fmt::format("compute capability {}.{}: no kernels are made for it",
                                                            device.capability / 10, device.capability % 10)
                                              : "runs kernels for " + device.architecture));
  }
  finding.works = usable > 0;
  finding.summary = fmt::format("driver for CUDA {}.{}, {}{}", driver->version / 1000, driver->version % 1000 / 10,
                                driver->path, driver->devices.empty() ? "; it has no GPU" : "");
  return finding;
}

Finding examine_host() {
  constexpr const char* kWithout = "run --device host";
  const HostReport report = inspect_host();
  return report.compiler.empty() ? failure(report.compiler_problem, kWithout)
                                 : Finding{true, report.compiler, {}, kWithout};
}

Finding examine_cache() {
  constexpr const char* kWithout = "nothing, but kernels are compiled anew in every run";
  const std::shared_ptr<Store> store = store_of("");
  const std::string problem = store->problem();
  return problem.empty() ? Finding{true, store->folder(), {}, kWithout} : failure(problem, kWithout);
}

struct Part {
  const char* name;
  const char* title;
  Finding (*examine)();
};
constexpr Part kParts[] = {
    {"nvrtc", "NVRTC (compiles CUDA source)", examine_nvrtc},
    {"cuda", "CUDA driver and GPUs", examine_cuda},
    {"host", "host device (runs kernels on the CPU)", examine_host},
    {"cache", "cache folder", examine_cache},
};

void print_finding(const Part& part, const Finding& finding) {
  fmt::print("{} {}\n", finding.works ? green(stdout, "[works]  ") : red(stdout, "[missing]"),
             bold(stdout, part.title));
  fmt::print("          {}\n", finding.summary);
  for (const std::string& line : finding.details) {
    fmt::print("          {}\n", line);
  }
  if (!finding.works) {
    fmt::print("          Without it does not work: {}.\n", finding.without);
  }
}

Exit doctor(const DoctorOptions& options) {
  Exit exit = Exit::kOk;
  bool all_work = true;
  for (const Part& part : kParts) {
    const bool asked = std::find(options.parts.begin(), options.parts.end(), part.name) != options.parts.end();
    if (!options.parts.empty() && !asked) {
      continue;
    }
    const Finding finding = part.examine();
    all_work = all_work && finding.works;
    if (asked && !finding.works) {
      exit = Exit::kUsage;
    }
    if (!options.quiet) {
      print_finding(part, finding);
    }
  }
  if (options.parts.empty() && !options.quiet) {
    fmt::print("check, fmt, emit, explain and completion work on every machine.{}\n",
               all_work ? " Here, all else does too." : "");
  }
  return exit;
}

}  // namespace

void add_doctor(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* verb = app.add_subcommand("doctor", "Tell what works on this machine, what does not, and why.");
  std::vector<std::string> names;
  for (const Part& part : kParts) {
    names.emplace_back(part.name);
  }
  verb->add_option("PART", options->parts, "Only these parts; exit with 2 if one of them does not work.")
      ->check(CLI::IsMember(names));
  verb->add_flag("-q,--quiet", options->quiet, "Print nothing.");
  verb->footer(R"(
Examples:
  convtgen doctor
  if convtgen doctor --quiet nvrtc; then ...; fi      in scripts)");
  verb->callback([options, &exit] { exit = doctor(*options); });
}

}  // namespace convtgen::cli
