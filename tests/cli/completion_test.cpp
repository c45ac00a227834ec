#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// What bash offers after these words; the last one is being typed.
std::string complete(const std::string& words, const std::filesystem::path& folder = ".") {
  const std::string script =
      "set -eu\nsource <(" CONVTGEN_BINARY " completion bash)\nCOMP_WORDS=(" + words +
      ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_convtgen\nprintf '%s ' ${COMPREPLY[@]+\"${COMPREPLY[@]}\"}\n";
  const Outcome outcome = run_program({"bash", "-c", script}, {.folder = folder});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  return outcome.out;
}

TEST(Completion, Bash) {
  EXPECT_EQ(complete("convtgen em"), "emit ");
  EXPECT_THAT(complete("convtgen ''"),
              HasSubstr("new check fmt import emit explain compile launcher run tune cache doctor completion help"));
  EXPECT_EQ(complete("convtgen emit --ar"), "--arch ");
  EXPECT_EQ(complete("convtgen emit --arch sm_1"), "sm_100 sm_101 sm_103 sm_110 sm_120 sm_121 ");
  EXPECT_EQ(complete("convtgen completion z"), "zsh ");
  EXPECT_EQ(complete("convtgen help em"), "emit ");
  EXPECT_EQ(complete("convtgen check --err"), "--error-limit ");
  EXPECT_EQ(complete("convtgen doctor nv"), "nvrtc ");
  EXPECT_THAT(complete("convtgen run --"), HasSubstr("--device"));
  EXPECT_THAT(complete("convtgen check --"), Not(HasSubstr("--device")));
  EXPECT_EQ(complete("convtgen ca"), "cache ");
  EXPECT_EQ(complete("convtgen cache p"), "prune path ");
  EXPECT_EQ(complete("convtgen cache list --j"), "--json ");
  EXPECT_EQ(complete("convtgen cache why --arch sm_1"), "sm_100 sm_101 sm_103 sm_110 sm_120 sm_121 ");
  EXPECT_EQ(complete("convtgen list --j"), " ") << "'list' is a verb of cache alone";
  EXPECT_EQ(complete("convtgen check cache li"), " ") << "after a verb, 'cache' is a file";
  const Folder folder;
  write(folder / "up.convt", "");
  std::filesystem::create_directory(folder / "upper");
  EXPECT_THAT(complete("convtgen check up", folder.path()), HasSubstr("up.convt"));
  EXPECT_EQ(complete("convtgen emit -o up", folder.path()), "upper ");
}

TEST(Completion, ZshAndFishNameEverything) {
  for (const char* shell : {"zsh", "fish"}) {
    const Outcome outcome = convtgen({"completion", shell});
    EXPECT_EQ(outcome.exit, 0);
    for (const char* word : {"check", "fmt", "emit", "explain", "compile", "launcher", "run", "tune", "cache", "prune",
                             "doctor", "completion", "arch", "sm_90a", "diagnostics", "in-place", "seed"}) {
      EXPECT_THAT(outcome.out, HasSubstr(word)) << shell;
    }
    // Where the shell is there, it reads the script.
    const std::string command = std::string("command -v ") + shell +
                                " >/dev/null || exit 0; " CONVTGEN_BINARY " completion " + shell + " | " + shell +
                                " -n";
    const Outcome parsed = run_program({"bash", "-c", command});
    EXPECT_EQ(parsed.exit, 0) << parsed.err;
  }
}

TEST(Completion, UnknownShell) {
  const Outcome outcome = convtgen({"completion", "tcsh"});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_THAT(outcome.err, HasSubstr("fish"));
  EXPECT_EQ(convtgen({"completion"}).exit, 2);
}

}  // namespace
}  // namespace convtgen::test
