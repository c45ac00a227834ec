#include "runtime/device/host/compiler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "convtgen_host_device_embedded.h"
#include "runtime/device/host/fiber.h"
#include "runtime/device/host/process.h"

namespace convtgen::host {
namespace {

std::vector<std::string> flags_for(bool clang, [[maybe_unused]] bool portable) {
  std::vector<std::string> flags = {
      "-std=c++20",
      "-O1",
      "-fno-optimize-sibling-calls",  // a return address is one in the kernel
      "-g1",                          // lines for faults
      "-gdwarf-4",                    // addr2line takes files of version 5 for each other
      "-fPIC",
      "-shared",
      "-nostdlib",
      "-fvisibility=hidden",
      "-fno-exceptions",
      "-fno-rtti",
      "-fno-math-errno",
      "-ffp-contract=off",  // only what is written as fma is fused
      "-fno-strict-aliasing",
      "-fstack-clash-protection",
      "-Wno-unknown-pragmas",
      "-fsanitize=thread",  // a call before every access
  };
  // A frame must fit a thread's stack.
  flags.push_back(fmt::format("-{}frame-larger-than={}", clang ? "W" : "Werror=", kStackBytes * 3 / 4));
  if (clang) {
    flags.emplace_back("-Werror=frame-larger-than");
    for (const char* option : {"-tsan-instrument-func-entry-exit=0", "-tsan-instrument-read-before-write=1"}) {
      flags.insert(flags.end(), {"-mllvm", option});
    }
  } else {
    flags.insert(flags.end(), {"--param", "tsan-instrument-func-entry-exit=0"});
    // Where variables are: lines need none of it, and it takes a quarter of the compiler's time.
    flags.insert(flags.end(), {"-fno-var-tracking", "-fno-var-tracking-assignments"});
  }
#if defined(__x86_64__)
  if (!portable && __builtin_cpu_supports("fma")) {
    flags.emplace_back("-mfma");
  }
#endif
  return flags;
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> result;
  for (std::string word; in >> word;) {
    result.push_back(word);
  }
  return result;
}

Result<HostCompiler> try_compiler(const std::string& name, bool portable) {
  HostCompiler compiler;
  compiler.command = words(name);
  if (compiler.command.empty()) {
    return fail("no name");
  }
  const auto ask = [&](std::initializer_list<const char*> words) -> Result<std::string> {
    std::vector<std::string> arguments = compiler.command;
    arguments.insert(arguments.end(), words.begin(), words.end());
    auto said = run_process(arguments);
    if (!said) {
      return std::unexpected(said.error());
    }
    return said->status == 0 ? std::move(said->output) : std::string();
  };
  const auto version = ask({"--version"});
  const auto macros = ask({"-dM", "-E", "-x", "c++", "/dev/null"});
  if (!version || !macros) {
    return std::unexpected(version ? macros.error() : version.error());
  }
  if (macros->find("#define __GNUC__ ") == std::string::npos) {
    return fail(fmt::format("{} is neither GCC nor Clang", name));
  }
  compiler.version = version->substr(0, version->find('\n'));
  const bool clang = macros->find("#define __clang__ ") != std::string::npos;
  compiler.flags = flags_for(clang, portable);
  return compiler;
}

// Whether the compiler refused the source: it came to its end by itself, with an error at a line. What GCC and Clang
// say of disks, memory, descriptors and killed parts of theirs is a "fatal error", or names no line.
bool is_verdict(const ProcessResult& said) {
  constexpr std::string_view kMark = ": error: ";
  const std::string& text = said.output;
  bool at_line = false;
  for (std::size_t at = text.find(kMark); at != text.npos && !at_line; at = text.find(kMark, at + 1)) {
    at_line = at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9';
  }
  return said.status == 1 && at_line;
}

}  // namespace

Result<HostCompiler> find_host_compiler(const std::string& wanted, bool portable) {
  if (!wanted.empty()) {
    return try_compiler(wanted, portable);
  }
  // A compiler that is named is the one to use: another would make other libraries.
  if (const char* cxx = std::getenv("CXX"); cxx != nullptr && *cxx != '\0') {
    auto compiler = try_compiler(cxx, portable);
    if (!compiler) {
      return fail(fmt::format("the host device's C++ compiler, which the environment variable CXX names: {}",
                              compiler.error().message));
    }
    return compiler;
  }
  constexpr const char* names[] = {"g++", "c++", "clang++"};
  for (const char* name : names) {
    if (auto compiler = try_compiler(name, portable)) {
      return compiler;
    }
  }
  return fail(
      fmt::format("the host device needs a C++ compiler, GCC 11 or Clang 14 or newer; tried {}. Install one, or "
                  "name it in the environment variable CXX",
                  fmt::join(names, ", ")));
}

// Plain kernels do without the asynchronous primitives: they compile sooner, and run on the quick paths.
bool is_asynchronous(std::string_view text) {
  constexpr std::string_view kFamilies[] = {"async_copy_", "mbarrier_",   "named_barrier_", "tensor_",
                                            "bulk_",       "TensorMap",   "fence_",         "matrix_",
                                            "mma_",        "setmaxnreg_", "cluster_",       "grid_depend"};
  return std::ranges::any_of(kFamilies, [&](std::string_view family) { return text.contains(family); });
}

std::string host_translation_unit(const KernelSource& source) {
  std::string unit = fmt::format("#define CONVTGEN_HOST_DEVICE 1\n{}{}{}#line 1 \"{}\"\n{}\n#line 1 \"entry.h\"\n{}",
                                 host_sources::abi(), host_sources::twin(),
                                 is_asynchronous(source.text) ? host_sources::twin_async() : "", kSourceName,
                                 source.text, host_sources::entry());
  for (std::size_t i = source.recipe.kernels.size(); i-- > 0;) {
    const RecipeKernel& kernel = source.recipe.kernels[i];
    if (first_launch(source.recipe, i) != i) {
      continue;
    }
    unit += fmt::format("CONVTGEN_HOST_KERNEL({})\n", kernel.symbol);
    if (kernel.cluster > 1) {
      unit += fmt::format("CONVTGEN_HOST_CLUSTER({}, {})\n", kernel.symbol, kernel.cluster);
    }
  }
  return unit;
}

Key host_library_key(const HostCompiler& compiler, const std::string& unit) {
#if defined(__x86_64__)
  constexpr const char* kArchitecture = "x86_64";
#elif defined(__aarch64__)
  constexpr const char* kArchitecture = "aarch64";
#else
  constexpr const char* kArchitecture = "host";
#endif
  // Not the program, which may be a path: its version identifies it.
  std::vector<std::string> options(compiler.command.begin() + 1, compiler.command.end());
  options.insert(options.end(), compiler.flags.begin(), compiler.flags.end());
  return kernel_key(EntryKind::kHostLibrary, unit, kArchitecture, compiler.version, options);
}

Compiled<std::string> compile_host_library(const HostCompiler& compiler, const std::string& unit,
                                           const std::string& symbol) {
  auto folder = TemporaryFolder::make();
  if (!folder) {
    return std::unexpected(folder.error());
  }
  const std::string input = folder->path() + "/unit.cpp";
  const std::string output = folder->path() + "/kernel.so";
  if (auto written = write_file(input, unit); !written) {
    return std::unexpected(written.error());
  }
  std::vector<std::string> arguments = compiler.command;
  arguments.insert(arguments.end(), compiler.flags.begin(), compiler.flags.end());
  // Where it was compiled stands in no byte of it. The last that fits is taken.
  std::error_code ignored;
  for (const std::string& place : {std::filesystem::current_path(ignored).string(), folder->path()}) {
    arguments.push_back(fmt::format("-ffile-prefix-map={}=.", place));
  }
  arguments.insert(arguments.end(), {"-o", output, input, "-Wl,-z,defs", "-lm", "-lc"});
  auto said = run_process(arguments);
  if (!said) {
    return std::unexpected(said.error());
  }
  if (said->status != 0) {
    const bool refused = is_verdict(*said);
    return std::unexpected(CompileError({fmt::format("the host compiler ({}) {} kernel '{}':\n{}", compiler.version,
                                                     refused ? "refused" : "failed at", symbol, said->output)},
                                        refused));
  }
  return read_file(output);
}

}  // namespace convtgen::host
