// The product: CUDA source for one layer, and what a launcher must know of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/planner/plan.h"
#include "generator/support/error.h"

namespace convtgen {

/// One parameter of the kernel. Unused ones are gone from the source, so launchers bind by name.
struct KernelParameter {
  std::string name;  // "x", "weight", "packed", "bias", "y", "batch", "height", "width"
  std::string type;  // as in the source: "const float*", "int", "TensorMap"
  /// Whether its argument is a tensor map (TensorMapArgument, runtime/device/device.h).
  [[nodiscard]] bool is_tensor_map() const { return type == "TensorMap"; }
  bool operator==(const KernelParameter&) const = default;
};

/// The kernel that makes the packed copy of the weights in the workspace of a call, before the other kernel reads it.
struct PackingKernel {
  std::string symbol;                       // extern "C" name
  std::vector<KernelParameter> parameters;  // "weight", "packed"
  int threads = 0;                          // of a block; it needs no dynamic shared memory
  std::int64_t blocks = 0;
  std::int64_t bytes = 0;  // that it writes, from the workspace's beginning, whatever the sizes of the call are
  bool overlaps = false;   // the other kernel may begin before it has ended, and waits for it (grid_dependency_wait())
  bool operator==(const PackingKernel&) const = default;
};

/// Bytes that a workspace's address is a multiple of.
inline constexpr std::int64_t kWorkspaceAlignment = 128;

/// The text's namespace is the kernel's symbol and this. Its kernels are made global names.
inline constexpr std::string_view kNamespaceSuffix = "_source";

struct KernelSource {
  std::string text;                         // the whole .cu, the same bytes in every use
  std::string symbol;                       // extern "C" name of the kernel
  std::vector<KernelParameter> parameters;  // in the order of the kernel's signature
  std::vector<int> template_lines;          // for each line of text, the template's line it came from, or 0
  int threads = 0;
  int cluster = 1;  // blocks of a cluster, as the text says it: launches need not
  std::int64_t shared_bytes = 0;
  std::optional<PackingKernel> packing;  // in the same text
};

/// Errors: a template's static assertion does not hold for the plan, or the plan names no such template or parameter,
/// or the template needs a primitive that the problem's architecture lacks.
[[nodiscard]] Result<KernelSource> specialize(const Problem& problem, const Plan& plan);

}  // namespace convtgen
