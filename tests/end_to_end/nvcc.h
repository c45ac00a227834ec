// nvcc for tests, where there is one.
#pragma once

#include <string>

namespace convtgen::testing {

/// The command of nvcc: what CUDACXX names, or nvcc of PATH, or the one where CUDA's installer puts it. Empty if there
/// is not found: a test is then skipped, and says kNoNvcc.
[[nodiscard]] std::string nvcc();
inline constexpr const char* kNoNvcc = "there is no nvcc: cmake/install_nvcc.sh gets one";

struct NvccResult {
  bool compiles;
  std::string log;  // its command, and what nvcc printed
  std::string output;
};

/// Compiles a source with these options, warnings as errors, in a folder of its own.
[[nodiscard]] NvccResult compile_with_nvcc(const std::string& text, const std::string& options);

}  // namespace convtgen::testing
