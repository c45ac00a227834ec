// Kernel source to cubin or PTX, with NVRTC.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "generator/specializer/kernel_source.h"
#include "generator/support/error.h"
#include "runtime/compile/binary.h"
#include "runtime/compile/nvrtc_search.h"

namespace convtgen {

/// The options of every compile, beside the architecture: a key of the bytes holds them. (Those that change the log
/// alone, or turn off NVRTC's own cache, are none of them.)
inline constexpr std::array<const char*, 1> kNvrtcOptions = {"--std=c++17"};

/// Compiles for an exact architecture ("sm_90a"; PTX is made for its virtual one, "compute_90a"). `kind` is kCubin or
/// kPtx. The bytes depend on source, architecture, kind and NVRTC's version alone.
/// Errors: an architecture that this NVRTC doesn't know (names those it does); a source that does not compile, with
/// NVRTC's log, each line at fault and the template line it came from. Lasting is what NVRTC says of the source, not a
/// lack of memory.
[[nodiscard]] Compiled<Binary> compile_with_nvrtc(const Nvrtc& nvrtc, const KernelSource& source,
                                                  const std::string& architecture, BinaryKind kind);

/// The same with the NVRTC of this machine, which is looked for once; a search that found none is done again.
/// Errors: also that there is no NVRTC, with the places looked at.
[[nodiscard]] Compiled<Binary> compile_with_nvrtc(const KernelSource& source, const std::string& architecture,
                                                  BinaryKind kind);

/// What one thread or block of a kernel takes, as ptxas counts it.
struct ResourceUsage {
  int registers = 0;      // a thread, 32 bits each
  int spill_bytes = 0;    // stores and loads of registers to local memory, a thread
  int stack_bytes = 0;    // a thread
  int static_shared = 0;  // bytes a block, beside the dynamic shared memory that the launch names
  bool operator==(const ResourceUsage&) const = default;
};

/// Read from the log of a cubin that compile_with_nvrtc made; nothing where the log does not tell it, as for PTX.
[[nodiscard]] std::optional<ResourceUsage> resource_usage(const Binary& binary);

}  // namespace convtgen
