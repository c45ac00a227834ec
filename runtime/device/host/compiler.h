// The system's C++ compiler, which turns an emitted kernel into a library for this machine.
#pragma once

#include <string>
#include <vector>

#include "generator/specializer/kernel_source.h"
#include "generator/support/error.h"
#include "runtime/store/key.h"
#include "runtime/support/compile_error.h"

namespace convtgen::host {

struct HostCompiler {
  std::vector<std::string> command;  // the program, and the options after it in $CXX
  std::string version;               // the first line of what --version prints
  std::vector<std::string> flags;    // for every kernel, on this machine
};

/// `wanted` if it is not empty, else $CXX if that is set and not empty, else the first of g++, c++ and clang++ that is
/// GCC or Clang and runs. Where `portable`, its flags are for every machine of this kind.
/// Errors: the compiler that is named is neither or does not run; none of the three is, with what was tried.
[[nodiscard]] Result<HostCompiler> find_host_compiler(const std::string& wanted = {}, bool portable = false);

/// The C++ that is compiled: the host device's header, the source, and an entry function for each of its kernels.
[[nodiscard]] std::string host_translation_unit(const KernelSource& source);

/// What a library depends on: the source, the header, the kind of machine and the compiler.
[[nodiscard]] Key host_library_key(const HostCompiler& compiler, const std::string& unit);

/// The bytes of a shared library. Errors: the compiler's log; its lines are those of the emitted source. Errors of the
/// source are lasting; a full disk or a killed compiler is not.
[[nodiscard]] Compiled<std::string> compile_host_library(const HostCompiler& compiler, const std::string& unit,
                                                         const std::string& symbol);

/// The name that the emitted source has in the compiler's messages and in debug information.
inline constexpr const char* kSourceName = "kernel.cu";

}  // namespace convtgen::host
