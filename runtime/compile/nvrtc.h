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

/// The options of every compile except the architecture. They are part of the key of the binary. (Options that only
/// change the log, or turn off NVRTC's own cache, are not included.)
inline constexpr std::array<const char*, 1> kNvrtcOptions = {"--std=c++17"};

/// Compiles for an exact architecture ("sm_90a"; PTX is made for its virtual one, "compute_90a"). `kind` is kCubin or
/// kPtx. The bytes depend on source, architecture, kind and NVRTC's version alone.
/// Errors: an architecture that this NVRTC doesn't know (names those it does); a source that does not compile, with
/// NVRTC's log, each line at fault and the template line it came from. Errors of the
/// source are lasting; a lack of memory is not.
[[nodiscard]] Compiled<Binary> compile_with_nvrtc(const Nvrtc& nvrtc, const KernelSource& source,
                                                  const std::string& architecture, BinaryKind kind);

/// The same with the NVRTC of this machine. It is searched for once; a search without a result is repeated.
/// Errors: also a missing NVRTC, with the places looked at.
[[nodiscard]] Compiled<Binary> compile_with_nvrtc(const KernelSource& source, const std::string& architecture,
                                                  BinaryKind kind);

/// Resources of one thread or block of a kernel, as ptxas counts them.
struct ResourceUsage {
  int registers = 0;      // a thread, 32 bits each
  int spill_bytes = 0;    // stores and loads of registers to local memory, a thread
  int stack_bytes = 0;    // a thread
  int static_shared = 0;  // bytes a block, without the dynamic shared memory of the launch
  bool operator==(const ResourceUsage&) const = default;
};

/// Read from the log of a cubin that compile_with_nvrtc made; nullopt if the log lacks it, as for PTX.
[[nodiscard]] std::optional<ResourceUsage> resource_usage(const Binary& binary);

}  // namespace convtgen
