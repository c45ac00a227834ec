// convtgen doctor: what works on this machine, what does not, and why.
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "cli/architectures.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "runtime/compile/code_here.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/compile/nvrtc_search.h"
#include "runtime/device/cuda/driver.h"
#include "runtime/device/host/host_device.h"
#include "runtime/make/shared_store.h"
#include "runtime/support/environment.h"

namespace convtgen::cli {
namespace {

struct DoctorOptions {
  std::vector<std::string> parts;
  bool quiet = false;
  bool native = false;
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
  // What it compiles with may be missing even so.
  const KernelSource probe{
      .text = "extern \"C\" __global__ void probe() {}\n", .symbol = "probe", .template_lines = {}, .recipe = {}};
  const auto compiled =
      compile_with_nvrtc(*nvrtc, probe, fmt::format("sm_{}", nvrtc->architectures.back()), BinaryKind::kCubin);
  if (!compiled) {
    return failure(fmt::format("{} was found and does not compile: {}", search.path, compiled.error().message),
                   kWithout);
  }
  return {true,
          fmt::format("NVRTC {}.{}, {}", nvrtc->major, nvrtc->minor, search.path),
          {fmt::format("compiles for compute capabilities {}", fmt::join(nvrtc->architectures, ", "))},
          kWithout};
}

/// What kernels a GPU runs, and with what note.
std::string kernels_text(const std::expected<CodeTarget, NoCode>& code, const Chip& chip) {
  if (!code) {
    return code.error().message;
  }
  const std::string note =
      chip.as.empty() ? note_of_code(chip, *code, "NVRTC") : fmt::format("{}={}", kArchitectureVariable, chip.as);
  return fmt::format("runs kernels for {}{}", name_of(*code), note.empty() ? "" : fmt::format(" ({})", note));
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
    const Chip own{.capability = device.capability, .driver_version = driver->version};
    const auto asked = chip_here(own);
    const Chip chip = asked.value_or(own);
    const auto code = asked ? code_here(chip) : std::unexpected(NoCode{NoCode::Cause::kChip, asked.error().message});
    usable += code ? 1 : 0;
    finding.details.push_back(fmt::format("GPU {}: {}, compute capability {}, {}, {} SMs, {}", device.ordinal,
                                          device.name, capability_text(device.capability),
                                          bytes_text(static_cast<double>(device.memory_bytes)), device.multiprocessors,
                                          kernels_text(code, chip)));
  }
  finding.works = usable > 0;
  finding.summary = fmt::format("driver for CUDA {}, {}{}", version_text(driver->version), driver->path,
                                driver->devices.empty() ? "; it has no GPU" : "");
  return finding;
}

Finding examine_host() {
  constexpr const char* kWithout = "run --device host";
  const HostReport report = inspect_host();
  if (report.compiler.empty()) {
    return failure(report.compiler_problem, kWithout);
  }
  Finding finding{true, report.compiler, {}, kWithout};
  if (const std::string asked = environment(kArchitectureVariable); !asked.empty()) {
    const auto target = host_target_here("", "");
    if (!target) {
      return failure(target.error().message, kWithout);
    }
    finding.details.push_back(fmt::format("runs kernels for {} ({})", asked, kArchitectureVariable));
  }
  return finding;
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

Exit print_native() {
  const auto codes = native_codes();
  if (!codes) {
    print_error(codes.error().message);
    return Exit::kUsage;
  }
  std::vector<std::string> names;
  for (const CodeTarget& code : *codes) {
    if (std::ranges::find(names, name_of(code)) == names.end()) {
      names.push_back(name_of(code));
    }
  }
  fmt::print("{}\n", fmt::join(names, "\n"));
  return Exit::kOk;
}

Exit doctor(const DoctorOptions& options) {
  if (options.native) {
    return print_native();
  }
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
  verb->add_flag("--native", options->native,
                 "Print what --arch native stands for alone, a line each; exit with 2 if it stands for nothing.");
  verb->footer(R"(
Examples:
  convtgen doctor
  if convtgen doctor --quiet nvrtc; then ...; fi      in scripts)");
  verb->callback([options, &exit] { exit = doctor(*options); });
}

}  // namespace convtgen::cli
