// What a signal, or standard streams that are closed or full, leave of the program's work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kOneSmallLayer = "conv_transpose2d 4 -> 2; kernel 3; input 1x4x4";

/// Runs a shell's script, in which "$0" is convtgen.
Outcome shell(const std::string& script, const Setting& setting) {
  return run_program({"sh", "-c", script, CONVTGEN_BINARY}, setting);
}

std::size_t entries(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(Signals, EndACompilationAndLeaveNoFolder) {
  // A compiler that, once it is to compile, sends the signal to the program that started it.
  const Folder folder;
  write(folder / "compiler",
        "#!/bin/sh\ncase \"$*\" in *--version*|*-dM*) exec g++ \"$@\" ;; esac\n"
        "ls \"$TMPDIR\" > \"$SEEN\"; kill -$SIGNAL $(cat \"$PROGRAM\"); sleep 2\n");
  std::filesystem::permissions(folder / "compiler", std::filesystem::perms::owner_all);
  std::filesystem::create_directory(folder / "tmp");
  for (const auto& [signal, number] : {std::pair{"INT", 2}, {"TERM", 15}, {"HUP", 1}}) {
    const Outcome outcome =
        shell(std::string("echo $$ > \"$PROGRAM\"; exec \"$0\" run --device host -e '") + kOneSmallLayer + "'",
              {.environment = {{"CXX", folder / "compiler"},
                               {"CONVTGEN_CACHE_DIR", folder / "cache"},
                               {"TMPDIR", folder / "tmp"},
                               {"SEEN", folder / "seen"},
                               {"PROGRAM", folder / "pid"},
                               {"SIGNAL", signal}}});
    EXPECT_EQ(outcome.exit, 128 + number) << outcome.err;
    EXPECT_THAT(read(folder / "seen"), HasSubstr("convtgen-")) << "a folder was there when the signal came";
    EXPECT_EQ(entries(folder / "tmp"), 0U) << signal;
  }
}

/// Whether the process with these words among its arguments ends within some seconds.
bool ends(const std::string& process, const std::string& words) {
  for (int tries = 0; tries < 200; ++tries) {
    // Of a process that has ended the file is not there, or empty while nobody has waited for it.
    std::ifstream file("/proc/" + process + "/cmdline", std::ios::binary);
    std::stringstream arguments;
    arguments << file.rdbuf();
    if (arguments.str().find(words) == std::string::npos) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

TEST(Signals, EndTheCompilerToo) {
  // A compiler that waits in a child, as g++ does in cc1plus. A child that is left running is found by its arguments,
  // however long a busy machine takes to end it.
  const Folder folder;
  write(folder / "compiler",
        "#!/bin/sh\ncase \"$*\" in *--version*|*-dM*) exec g++ \"$@\" ;; esac\n"
        "sh -c 'echo $$ > \"$CHILD\"; kill -$SIGNAL $(cat \"$PROGRAM\"); sleep 60; exit'\n");
  std::filesystem::permissions(folder / "compiler", std::filesystem::perms::owner_all);
  for (const auto& [signal, number] : {std::pair{"INT", 2}, {"TERM", 15}, {"HUP", 1}}) {
    const Outcome outcome =
        shell(std::string("echo $$ > \"$PROGRAM\"; exec \"$0\" run --device host -e '") + kOneSmallLayer + "'",
              {.environment = {{"CXX", folder / "compiler"},
                               {"CONVTGEN_CACHE_DIR", folder / "cache"},
                               {"CHILD", folder / "child"},
                               {"PROGRAM", folder / "pid"},
                               {"SIGNAL", signal}}});
    EXPECT_EQ(outcome.exit, 128 + number) << outcome.err;
    const std::string child = read(folder / "child");
    EXPECT_NE(child, "") << "the compiler was running when the signal came";
    EXPECT_TRUE(ends(child.substr(0, child.find('\n')), "sleep 60; exit")) << signal;
    std::filesystem::remove(folder / "child");
  }
}

TEST(Signals, EndAWriteAndLeaveNoPart) {
  // The manifest is staged, and the depfile is a pipe that nobody reads.
  const Folder folder;
  write(folder / "m.json", "old");
  const Outcome outcome =
      shell(std::string("mkfifo pipe; \"$0\" emit -e '") + kOneSmallLayer +
                "' -o out --manifest m.json --depfile pipe & for i in $(seq 1000); do ls m.json.*.part 2>/dev/null && "
                "{ sleep 0.1; break; }; sleep 0.02; done; kill -TERM $!; wait $!; echo $?; ls",
            {.folder = folder.path()});
  EXPECT_THAT(outcome.out, testing::MatchesRegex("m.json.[0-9]+.part\n143\nm.json\npipe\n")) << outcome.err;
  EXPECT_EQ(read(folder / "m.json"), "old");
}

TEST(Signals, ThatTheCallerIgnoresAreIgnored) {
  const Folder folder;
  const Outcome outcome =
      shell(std::string("trap '' HUP; mkfifo pipe; \"$0\" emit -e '") + kOneSmallLayer +
                "' -o out --depfile pipe & sleep 0.2; kill -HUP $!; cat pipe >/dev/null; wait $!; echo $?",
            {.folder = folder.path()});
  EXPECT_EQ(outcome.out.substr(outcome.out.find('\n') + 1), "0\n") << outcome.err;
}

TEST(Streams, AClosedOrFullErrorStreamChangesNothing) {
  const Folder folder;
  write(folder / "wrong.convt", "layer a { conv_transpose2d 4 -> 2; pading 1 }\n");
  write(folder / "right.convt", std::string("layer a { ") + kOneSmallLayer + " }\n");
  for (const std::string stream : {"2>&-", "2>/dev/full"}) {
    for (const auto& [command, status] : {std::pair{"check nowhere.convt", 2},
                                          {"check wrong.convt", 1},
                                          {"check right.convt", 0},
                                          {"fmt wrong.convt", 1},
                                          {"fmt", 2},
                                          {"frobnicate", 2},
                                          {"", 2},
                                          {"tune --import nowhere.json", 2},
                                          {"emit right.convt -o out --direction grad_weight", 1},
                                          {"emit right.convt -o out", 0}}) {
      const Outcome outcome = shell(std::string("\"$0\" ") + command + " " + stream, {.folder = folder.path()});
      EXPECT_EQ(outcome.exit, status) << command << " " << stream;
    }
  }
  EXPECT_THAT(read(folder / "out/a_forward.sm_90a.cu"), Not(HasSubstr("convtgen: ")))
      << "no file got what is for stderr";
}

TEST(Streams, AClosedOrFullOutputIsAnError) {
  const Folder folder;
  const std::map<std::string, std::string> environment{{"CONVTGEN_CACHE_DIR", folder / "cache"}};
  write(folder / "wrong.convt", "layer a { conv_transpose2d 4 -> 2; pading 1 }\n");
  write(folder / "right.convt", std::string("layer a { ") + kOneSmallLayer + " }\n");
  for (const std::string stream : {">&-", ">/dev/full"}) {
    for (const std::string command : {"check right.convt",
                                      "check --diagnostics=json wrong.convt",
                                      "check --diagnostics=json right.convt",
                                      "fmt right.convt",
                                      "fmt --check nowhere.convt right.convt",
                                      "emit right.convt",
                                      "emit right.convt -o out",
                                      "emit right.convt -o out --manifest -",
                                      "launcher right.convt --namespace net -o out",
                                      "run right.convt --device host",
                                      "tune right.convt --device host --candidates 1",
                                      "cache list",
                                      "cache path",
                                      "cache why right.convt",
                                      "doctor",
                                      "completion bash",
                                      "help",
                                      "help emit",
                                      "--help",
                                      "emit --help",
                                      "--version"}) {
      const Outcome outcome =
          shell("\"$0\" " + command + " " + stream, {.environment = environment, .folder = folder.path()});
      EXPECT_EQ(outcome.exit, 2) << command << " " << stream << "\n" << outcome.err;
      EXPECT_THAT(outcome.err, HasSubstr("convtgen: error: ")) << command << " " << stream;
    }
  }
}

}  // namespace
}  // namespace convtgen::test
