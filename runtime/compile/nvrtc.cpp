#include "runtime/compile/nvrtc.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <mutex>
#include <string_view>
#include <vector>

namespace convtgen {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

// The number that `text` begins with.
std::optional<int> leading_number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end != text.data() ? std::optional(value) : std::nullopt;
}

// The number right before `words`: "Used 32 registers" has 32 before " registers".
std::optional<int> number_before(std::string_view text, std::string_view words) {
  const std::size_t end = text.find(words);
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  std::size_t begin = end;
  while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') {
    --begin;
  }
  return leading_number(text.substr(begin, end - begin));
}

// Without the line of ptxas that differs from run to run.
std::string without_times(std::string_view log) {
  std::string kept;
  for (const std::string_view line : lines_of(log)) {
    if (line.find(": Compile time = ") == std::string_view::npos) {
      kept += line;
      kept += '\n';
    }
  }
  return kept;
}

// The log, each of its errors followed by the template line that the line at fault came from. NVRTC quotes the emitted
// line itself from 11 on; where an error stands for the whole program there is nothing to quote.
std::string explained(std::string_view log, const std::string& file, const KernelSource& source) {
  const std::vector<std::string_view> emitted = lines_of(source.text);
  std::string text;
  for (const std::string_view line : lines_of(log)) {
    text += line;
    text += '\n';
    if (!line.starts_with(file + "(") || line.find(": error") == std::string_view::npos) {
      continue;
    }
    const std::optional<int> number = leading_number(line.substr(file.size() + 1));
    if (!number || *number < 1 || static_cast<std::size_t>(*number) > emitted.size()) {
      continue;
    }
    const auto index = static_cast<std::size_t>(*number - 1);
    text += fmt::format("{:>6} | {}\n", *number, emitted[index]);
    if (index < source.template_lines.size() && source.template_lines[index] > 0) {
      text += fmt::format("       from line {} of the template\n", source.template_lines[index]);
    }
  }
  return text;
}

// Whether the compiler refused the source, rather than ran out of memory or disk on the way. "Catastrophic" is what its
// front end calls what the source is not at fault for.
bool is_verdict(nvrtc::Status status, std::string_view log) {
  constexpr std::string_view kPassing[] = {"catastrophic error", "out of memory", "No space left"};
  return status == nvrtc::kErrorCompilation &&
         std::ranges::none_of(kPassing, [&](std::string_view words) { return log.find(words) != log.npos; });
}

// Destroys the program when the call is over.
class ProgramGuard {
 public:
  ProgramGuard(const nvrtc::Api& api, nvrtc::Program program) : api_(api), program_(program) {}
  ~ProgramGuard() { (void)api_.destroy_program(&program_); }
  ProgramGuard(const ProgramGuard&) = delete;
  ProgramGuard& operator=(const ProgramGuard&) = delete;

 private:
  const nvrtc::Api& api_;
  nvrtc::Program program_;
};

using SizeFunction = nvrtc::Status (*)(nvrtc::Program, std::size_t*);
using TextFunction = nvrtc::Status (*)(nvrtc::Program, char*);

Result<std::string> fetch(const nvrtc::Api& api, nvrtc::Program program, SizeFunction size_of, TextFunction get) {
  std::size_t size = 0;
  nvrtc::Status status = size_of(program, &size);
  std::string text(size, '\0');
  if (status == nvrtc::kSuccess && size > 0) {
    status = get(program, text.data());
  }
  if (status != nvrtc::kSuccess) {
    return fail(fmt::format("NVRTC: {}", api.get_error_string(status)));
  }
  return text;
}

Result<std::string> fetch_log(const nvrtc::Api& api, nvrtc::Program program) {
  Result<std::string> log = fetch(api, program, api.get_program_log_size, api.get_program_log);
  if (log) {
    log->erase(std::min(log->find('\0'), log->size()));
  }
  return log;
}

// "90a" of "sm_90a"; the number alone determines whether NVRTC knows the family.
Result<std::string> checked_suffix(const Nvrtc& nvrtc, const std::string& architecture) {
  constexpr std::string_view kPrefix = "sm_";
  const std::string supported = fmt::format("NVRTC {}.{} ({}) compiles for sm_{}", nvrtc.major, nvrtc.minor, nvrtc.path,
                                            fmt::join(nvrtc.architectures, ", sm_"));
  if (!architecture.starts_with(kPrefix)) {
    return fail(fmt::format("architecture '{}' is no name of the form sm_90a; {}", architecture, supported));
  }
  std::string suffix = architecture.substr(kPrefix.size());
  const std::optional<int> number = leading_number(suffix);
  if (!number || std::ranges::find(nvrtc.architectures, *number) == nvrtc.architectures.end()) {
    return fail(fmt::format("architecture '{}' is not known to this compiler; {}", architecture, supported));
  }
  return suffix;
}

// From CUDA 12.9 on, NVRTC keeps what it compiled on a machine with a driver, and gives it back without the log.
bool has_own_cache(const Nvrtc& nvrtc) {
  return nvrtc.major > 12 || (nvrtc.major == 12 && nvrtc.minor >= 9);
}

Result<Nvrtc> find_and_open() {
  const NvrtcSearch search = find_nvrtc();
  if (!search.found()) {
    return fail(describe_missing_nvrtc(search));
  }
  return open_nvrtc(search.path);
}

}  // namespace

Compiled<Binary> compile_with_nvrtc(const Nvrtc& nvrtc, const KernelSource& source, const std::string& architecture,
                                    BinaryKind kind) {
  if (kind == BinaryKind::kHostLibrary) {
    return fail("NVRTC makes cubin or ptx, not host libraries");
  }
  const Result<std::string> suffix = checked_suffix(nvrtc, architecture);
  if (!suffix) {
    return std::unexpected(suffix.error());
  }
  const bool cubin = kind == BinaryKind::kCubin;
  const std::string target = fmt::format("--gpu-architecture={}{}", cubin ? "sm_" : "compute_", *suffix);
  std::vector<const char*> options{target.c_str()};
  options.insert(options.end(), kNvrtcOptions.begin(), kNvrtcOptions.end());
  if (cubin) {
    options.push_back("--ptxas-options=--verbose");  // resource_usage reads registers and spills in the log
  }
  if (has_own_cache(nvrtc)) {
    options.push_back("--no-cache");
  }
  const std::string file = source.symbol + ".cu";

  const nvrtc::Api& api = nvrtc.api;
  nvrtc::Program program = nullptr;
  nvrtc::Status status = api.create_program(&program, source.text.c_str(), file.c_str(), 0, nullptr, nullptr);
  if (status != nvrtc::kSuccess) {
    return fail(fmt::format("NVRTC could not take the source of {}: {}", source.symbol, api.get_error_string(status)));
  }
  const ProgramGuard guard(api, program);
  status = api.compile_program(program, static_cast<int>(options.size()), options.data());
  const Result<std::string> log = fetch_log(api, program);
  if (!log) {
    return std::unexpected(log.error());
  }
  if (status != nvrtc::kSuccess) {
    const char* hint = status == nvrtc::kErrorBuiltinOperationFailure
                           ? "; libnvrtc-builtins, which belongs next to libnvrtc, may be missing"
                           : "";
    return std::unexpected(CompileError(
        {fmt::format("NVRTC {}.{} could not compile {} for {} ({}{}):\n{}", nvrtc.major, nvrtc.minor, source.symbol,
                     architecture, api.get_error_string(status), hint, explained(*log, file, source))},
        is_verdict(status, *log)));
  }
  Result<std::string> bytes = cubin ? fetch(api, program, api.get_cubin_size, api.get_cubin)
                                    : fetch(api, program, api.get_ptx_size, api.get_ptx);
  if (!bytes) {
    return std::unexpected(bytes.error());
  }
  return Binary{.kind = kind,
                .architecture = architecture,
                .symbol = source.symbol,
                .bytes = std::move(*bytes),
                .log = without_times(*log),
                .kernels = kernels_in(source)};
}

Compiled<Binary> compile_with_nvrtc(const KernelSource& source, const std::string& architecture, BinaryKind kind) {
  static std::mutex mutex;
  static std::optional<Nvrtc> found;
  {
    const std::lock_guard lock(mutex);
    if (!found) {
      Result<Nvrtc> nvrtc = find_and_open();
      if (!nvrtc) {
        return std::unexpected(nvrtc.error());
      }
      found = std::move(*nvrtc);
    }
  }
  return compile_with_nvrtc(*found, source, architecture, kind);
}

std::optional<ResourceUsage> resource_usage(const Binary& binary) {
  ResourceUsage usage;
  bool in_kernel = false;
  for (const std::string_view line : lines_of(binary.log)) {
    if (line.find("Function properties for ") != std::string_view::npos) {
      in_kernel = line.ends_with(" " + binary.symbol);
    } else if (line.find("Compiling entry function '") != std::string_view::npos) {
      in_kernel = line.find("'" + binary.symbol + "'") != std::string_view::npos;
    } else if (in_kernel) {
      usage.stack_bytes = number_before(line, " bytes stack frame").value_or(usage.stack_bytes);
      if (const auto stores = number_before(line, " bytes spill stores")) {
        usage.spill_bytes = *stores + number_before(line, " bytes spill loads").value_or(0);
      }
      if (const auto registers = number_before(line, " registers")) {
        usage.registers = *registers;
        usage.static_shared = number_before(line, " bytes smem").value_or(0);
      }
    }
  }
  return usage.registers > 0 ? std::optional(usage) : std::nullopt;
}

}  // namespace convtgen
