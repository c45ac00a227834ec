// Wrong layer files, each with all of its errors next to it: "line:column: message", one a line.
//
// CONVTGEN_WRITE_EXPECTED=1 in the environment writes the .expected files anew, for a person to read and commit; the
// test fails then, so that no run of it is mistaken for a check.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "generator/language/language.h"

namespace convtgen {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> wrong_files() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(CONVTGEN_WRONG_FILES)) {
    if (entry.path().extension() == ".convt") {
      names.push_back(entry.path().stem().string());
    }
  }
  std::ranges::sort(names);
  return names;
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path << " can't be read";
  return {std::istreambuf_iterator<char>(file), {}};
}

class WrongFile : public testing::TestWithParam<std::string> {};

TEST_P(WrongFile, GivesEveryErrorAtItsPlace) {
  const fs::path base = fs::path(CONVTGEN_WRONG_FILES) / GetParam();
  const std::string text = read(base.string() + ".convt");
  const auto layers = parse_file(text);
  ASSERT_FALSE(layers);
  std::string found;
  for (const Diagnostic& diagnostic : layers.error()) {
    found += fmt::format("{}:{}: {}\n", diagnostic.line, diagnostic.column, diagnostic.message);
  }
  if (std::getenv("CONVTGEN_WRITE_EXPECTED") != nullptr) {
    std::ofstream(base.string() + ".expected", std::ios::binary) << found;
    FAIL() << "written anew: read it, and run without CONVTGEN_WRITE_EXPECTED";
  }
  EXPECT_EQ(found, read(base.string() + ".expected"));
  // The formatter refuses the file for the same reasons.
  const auto formatted = format_file(text);
  ASSERT_FALSE(formatted);
  EXPECT_EQ(formatted.error(), layers.error());
}

INSTANTIATE_TEST_SUITE_P(Language, WrongFile, testing::ValuesIn(wrong_files()),
                         [](const testing::TestParamInfo<std::string>& info) { return "file" + info.param; });

TEST(WrongFiles, AreFortyAtLeast) {
  EXPECT_GE(wrong_files().size(), 40U);
}

}  // namespace
}  // namespace convtgen
