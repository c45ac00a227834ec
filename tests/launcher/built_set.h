// A layer set made as a build makes it: by the real binary and the system's compilers.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "generator/launcher/launcher.h"
#include "tests/cli/process.h"

namespace convtgen::test {

/// The generated C types, of any namespace.
struct SetSizes {
  std::int64_t batch, in_channels, in_height, in_width, out_channels, out_height, out_width;
  std::int64_t x_elements, weight_elements, bias_elements, y_elements, element_bytes;
};
struct SetKernelFacts {
  const char *name, *layer, *direction, *text, *architectures;
  const void* recipe;
};

struct Compiler {
  std::string name;
  std::vector<std::string> command;
};
inline void PrintTo(const Compiler& compiler, std::ostream* out) {
  *out << compiler.name;
}
/// C99 and C++17, every warning an error.
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
