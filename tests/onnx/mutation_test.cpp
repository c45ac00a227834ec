// Files that were changed at random: an error or an import that holds what check_import.h lists, and never a crash.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "tests/onnx/check_import.h"

namespace convtgen::onnx::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> seeds() {
  std::vector<fs::path> paths;
  for (const char* folder : {CONVTGEN_ONNX_TESTS "/models", CONVTGEN_ONNX_TESTS "/backend"}) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".onnx") {
        paths.push_back(entry.path());
      }
    }
  }
  std::ranges::sort(paths);
  std::vector<std::string> files;
  for (const fs::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return files;
}

/// Some bytes of `file` changed, removed, doubled, or replaced by those of another file.
std::string mutated(std::string file, const std::vector<std::string>& others, std::mt19937& random) {
  const auto below = [&](std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end)(random); };
  const std::size_t changes = 1 + below(4);
  for (std::size_t i = 0; i < changes && !file.empty(); ++i) {
    const std::size_t at = below(file.size() - 1), length = std::min(below(12), file.size() - at);
    switch (below(5)) {
      case 0:
        file[at] = static_cast<char>(below(255));
        break;
      case 1:
        file[at] = static_cast<char>(file[at] ^ (1 << below(7)));
        break;
      case 2:
        file.erase(at, length);
        break;
      case 3:
        file.insert(at, file.substr(at, length));
        break;
      case 4:
        file.resize(at);
        break;
      default: {
        const std::string& other = others[below(others.size() - 1)];
        file.replace(at, length, other, below(other.size() - 1), length);
      }
    }
  }
  return file;
}

TEST(OnnxMutations, NoFileCrashes) {
  const int count = std::getenv("CONVTGEN_TEST_ALL") != nullptr ? 20000 : 500;
  const std::vector<std::string> files = seeds();
  ASSERT_EQ(files.size(), 20U);
  std::mt19937 random(51);
  for (int i = 0; i < count; ++i) {
    const std::string file = mutated(files[static_cast<std::size_t>(i) % files.size()], files, random);
    ASSERT_EQ(broken_claim(file), "") << "mutation " << i;
  }
}

}  // namespace
}  // namespace convtgen::onnx::test
