// The same bytes, whoever makes them, where and when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

constexpr const char* kLayers =
    "layer up { conv_transpose2d 8 -> 6; kernel 4; stride 2; padding 1; bias; fuse leaky_relu(0.25) }\n"
    "layer line { conv_transpose1d 4 -> 2; kernel 8; stride 4; dtype f16; input 3x20 }\n";

struct Maker {
  std::map<std::string, std::string> environment;
  bool as_nobody = false;
};

/// Every file that the verbs write, by its name.
std::map<std::string, std::string> made_by(const Maker& maker) {
  const Folder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  write(folder / "layers.convt", kLayers);
  Setting here{.environment = maker.environment, .folder = folder.path()};
  here.environment["CONVTGEN_CACHE_DIR"] = folder / "cache";
  here.environment["HOME"] = folder.path().string();
  here.environment["TMPDIR"] = folder.path().string();
  here.environment["ASAN_OPTIONS"] = "detect_leaks=0";  // of the threads that NVRTC leaves
  const std::vector<std::vector<std::string>> commands = {
      {"emit", "layers.convt", "--arch", "sm_80,sm_90a", "-o", "out", "--manifest", "out/sources.json"},
      {"compile", "layers.convt", "--arch", "sm_80,compute_80", "-o", "out", "--manifest", "out/binaries.json"},
      {"compile", "layers.convt", "--arch", "sm_80", "--format", "host", "-o", "out", "--manifest", "out/host.json"},
      {"launcher", "layers.convt", "--namespace", "net", "--arch", "sm_80,compute_80", "--host", "-o", "out"},
      {"launcher", "layers.convt", "--namespace", "net", "--arch", "sm_80,sm_90a", "--format", "source", "-o", "out"}};
  for (const auto& words : commands) {
    std::vector<std::string> command{CONVTGEN_BINARY};
    if (maker.as_nobody) {
      command = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", CONVTGEN_BINARY};
    }
    command.insert(command.end(), words.begin(), words.end());
    const Outcome outcome = run_program(command, here);
    EXPECT_EQ(outcome.exit, 0) << words[0] << ": " << outcome.err;
  }
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "out")) {
    files[entry.path().filename().string()] = read(entry.path());
    EXPECT_THAT(files.rbegin()->second, testing::Not(testing::HasSubstr(folder.path().string())));
  }
  return files;
}

/// Whether this succeeds as another user, who may lack access to the folders of this one.
bool nobody_can(const std::vector<std::string>& words) {
  std::vector<std::string> command = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", CONVTGEN_BINARY};
  command.insert(command.end(), words.begin(), words.end());
  return geteuid() == 0 && run_program(command).exit == 0;
}

TEST(Reproducible, FoldersLocalesDatesAndUsers) {
  const std::vector<std::string> finds_nvrtc = {"doctor", "--quiet", "nvrtc"};
  const bool has_nvrtc = convtgen(finds_nvrtc).exit == 0;
  Maker first{{{"LC_ALL", "C"}, {"TZ", "UTC"}, {"CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC}}, false};
  Maker second{{{"LC_ALL", "de_DE.UTF-8"},
                {"LANG", "tr_TR.UTF-8"},
                {"TZ", "Asia/Kolkata"},
                {"SOURCE_DATE_EPOCH", "1"},
                {"CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC}},
               nobody_can(has_nvrtc ? finds_nvrtc : std::vector<std::string>{"--version"})};
  if (has_nvrtc) {
    first.environment.erase("CONVTGEN_NVRTC");
    second.environment.erase("CONVTGEN_NVRTC");
  }
  const auto files = made_by(first);
  EXPECT_EQ(files.size(), 23u);
  const auto again = made_by(second);
  for (const auto& [name, bytes] : files) {
    EXPECT_TRUE(again.contains(name) && again.at(name) == bytes) << name;
  }
}

}  // namespace
}  // namespace convtgen::test
