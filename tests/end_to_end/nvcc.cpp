#include "tests/end_to_end/nvcc.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <unistd.h>

namespace convtgen::testing {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace

std::string nvcc() {
  if (const char* named = std::getenv("CUDACXX"); named != nullptr && *named != '\0') {
    return named;
  }
  for (const std::string command : {"nvcc", "/usr/local/cuda/bin/nvcc"}) {
    if (std::system(("command -v " + command + " >/dev/null").c_str()) == 0) {
      return command;
    }
  }
  return "";
}

NvccResult compile_with_nvcc(const std::string& text, const std::string& options) {
  static std::atomic<int> number = 0;
  const fs::path folder = fs::path(::testing::TempDir()) / fmt::format("convtgen_nvcc_{}_{}", getpid(), ++number);
  fs::create_directories(folder);
  std::ofstream(folder / "kernel.cu") << text;
  const std::string command = fmt::format("cd '{}' && '{}' -std=c++17 -Werror all-warnings {} -o output kernel.cu",
                                          folder.string(), nvcc(), options);
  NvccResult result{.compiles = std::system((command + " >log 2>&1").c_str()) == 0, .log = {}, .output = {}};
  result.log = command + "\n" + text_of(folder / "log");
  result.output = text_of(folder / "output");
  fs::remove_all(folder);
  return result;
}

}  // namespace convtgen::testing
