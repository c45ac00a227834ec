// A layer set made as a build makes it: by the real binary and the system's compilers.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "generator/launcher/launcher.h"
#include "tests/cli/process.h"

namespace convtgen::test {

/// The generated C types, of any namespace.
struct SetInput {
  std::int64_t batch, extents[3];
};
struct SetSizes {
  std::int64_t batch, in_channels, out_channels, in[3], out[3];
  std::int64_t x_elements, weight_elements, bias_elements, y_elements, element_bytes;
};
struct SetKernelFacts {
  const char *name, *layer, *direction, *text, *architectures;
  const void* recipe;
};

struct SetTensors {
  const void *x = nullptr, *weight = nullptr, *bias = nullptr;
  void* y = nullptr;
  const void* grad_y = nullptr;
  void *grad_x = nullptr, *grad_weight = nullptr, *grad_bias = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};
using KernelLaunch = int (*)(const void* kernel, const SetTensors*, const SetInput*, void* stream);
using KernelWorkspace = std::size_t (*)(const void* kernel, const SetInput*);

struct Compiler {
  std::string name;
  std::vector<std::string> command;
};
inline void PrintTo(const Compiler& compiler, std::ostream* out) {
  *out << compiler.name;
}
/// C99, C++17 and C++20, every warning an error.
[[nodiscard]] std::vector<Compiler> strict_compilers();

/// Layers as files in a folder, their set in a shared library of this process.
class BuiltSet {
 public:
  BuiltSet() = default;
  BuiltSet(const BuiltSet&) = delete;
  BuiltSet& operator=(const BuiltSet&) = delete;

  /// Writes layers.convt, compiles it for the architectures (and the host device) and writes the launch code.
  void generate(const std::string& layers, const std::string& architectures, bool host,
                const std::map<std::string, std::string>& environment);
  /// The same of a kernel that no command makes. Its binaries are left to the caller.
  void write_launch_code(const LayerSet& set, const SetKernel& kernel, const std::vector<TargetKernel>& made);
  /// Compiles and loads what was generated.
  void build(const Compiler& compiler);

  [[nodiscard]] const Folder& folder() const { return folder_; }
  /// "net_" and this.
  template <typename Function>
  [[nodiscard]] Function function(const std::string& name) const {
    return reinterpret_cast<Function>(symbol("net_" + name));
  }
  [[nodiscard]] std::string last_error() const { return function<const char* (*)()>("last_error")(); }

 private:
  [[nodiscard]] void* symbol(const std::string& name) const;

  Folder folder_;
  void* library_ = nullptr;  // never closed: the set keeps what it has loaded for good
};

}  // namespace convtgen::test
