// Running a compiler in a program of any kind: its signals, its limits, its memory, and what is left of killed ones.
#include "runtime/device/host/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>

#include "runtime/compile/files.h"
#include "runtime/device/host/compiler.h"
#include "runtime/store/store.h"

// The sanitizers have their own.
#ifndef CONVTGEN_SANITIZED
#define CONVTGEN_BOUNDS_ALLOCATIONS
namespace {

thread_local long allocations_left = -1;  // negative: no bound

}  // namespace

// NOLINTBEGIN(misc-new-delete-overloads): what is not here calls these.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* memory = allocations_left == 0 ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
  allocations_left -= allocations_left > 0 ? 1 : 0;
  return memory != nullptr ? memory : throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
// NOLINTEND(misc-new-delete-overloads)
#endif

namespace convtgen::host {
namespace {

namespace fs = std::filesystem;

int status_of(const std::string& script) {
  const Result<ProcessResult> ran = run_process({"sh", "-c", script});
  return ran ? ran->status : -1;
}

class HostProcess : public ::testing::Test {
 protected:
  TemporaryFolder folder_ = std::move(*TemporaryFolder::make());
};

// What a program's status and output are, whatever this process does with SIGCHLD.
void expect_statuses() {
  for (int turn = 0; turn < 20; ++turn) {
    EXPECT_EQ(status_of("exit 0"), 0);
    EXPECT_EQ(status_of("exit 3"), 3);
  }
  EXPECT_EQ(status_of("kill -9 $$"), 128 + SIGKILL);
  const Result<ProcessResult> said = run_process({"sh", "-c", "echo out; echo err >&2; read none || echo empty"});
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ(said->output, "out\nerr\nempty\n");
  EXPECT_EQ(run_process({"printf", "%s|", "a b", "", "$HOME", "'"})->output, "a b||$HOME|'|");
  const Result<ProcessResult> none = run_process({"convtgen-no-such-program"});
  ASSERT_FALSE(none);
  EXPECT_TRUE(none.error().message.starts_with("convtgen-no-such-program can't be started")) << none.error().message;
  EXPECT_FALSE(run_process({"/etc/passwd"}));
}

TEST_F(HostProcess, TellsTheStatus) {
  expect_statuses();
}

TEST_F(HostProcess, TellsTheStatusWhereSigchldIsIgnored) {
  auto* const before = signal(SIGCHLD, SIG_IGN);
  expect_statuses();
  EXPECT_EQ(signal(SIGCHLD, before), SIG_IGN);
}

TEST_F(HostProcess, TellsTheStatusWhereAHandlerWaitsForAllChildren) {
  auto* const before = signal(SIGCHLD, [](int) {
    const int error = errno;
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    errno = error;
  });
  expect_statuses();
  signal(SIGCHLD, before);
}

TEST_F(HostProcess, TellsTheStatusWhereStandardStreamsAreClosed) {
  const pid_t child = fork();
  if (child == 0) {
    close(0);
    close(1);
    close(2);
    const Result<ProcessResult> said = run_process({"sh", "-c", "echo out; exit 3"});
    _exit(said && said->status == 3 && said->output == "out\n" ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(HostProcess, OnlyTheCompilersVerdictOnTheSourceIsLasting) {
  const Result<HostCompiler> found = find_host_compiler();
  ASSERT_TRUE(found) << found.error().message;
  const auto wrong = compile_host_library(*found, "int f() { return nothing; }\n", "kernel");
  ASSERT_FALSE(wrong);
  EXPECT_TRUE(wrong.error().lasting) << wrong.error().message;
  EXPECT_NE(wrong.error().message.find("refused kernel 'kernel'"), std::string::npos) << wrong.error().message;

  const std::string script = folder_.path() + "/compiler";
  for (const char* how :
       {"kill -9 $$", "echo 'g++: fatal error: Killed signal terminated program cc1plus'; exit 1",
        "echo 'cc1plus: out of memory allocating 65536 bytes after a total of 1 bytes'; exit 1",
        "echo 'kernel.cu:3:1: fatal error: error writing to /tmp/a.s: No space left on device'; exit 1",
        "echo 'virtual memory exhausted: Cannot allocate memory'; exit 1",
        "echo 'kernel.cu:3:1: internal compiler error: Segmentation fault'; exit 4", "exit 127"}) {
    std::ofstream(script) << "#!/bin/sh\n" << how << "\n";
    fs::permissions(script, fs::perms::owner_all);
    HostCompiler failing = *found;
    failing.command = {script};
    const auto failed = compile_host_library(failing, "", "kernel");
    ASSERT_FALSE(failed) << how;
    EXPECT_FALSE(failed.error().lasting) << how;
  }
}

// A limit on files ends a program by default; the compiler, which has it too, is ended by it.
TEST_F(HostProcess, AFileSizeLimitIsAnError) {
  const Result<HostCompiler> compiler = find_host_compiler();
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit least = {100, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &least), 0);
  const Result<void> written = write_file(folder_.path() + "/large", std::string(100000, 'x'));
  const auto compiled = compile_host_library(*compiler, "int f() { return 0; }\n", "kernel");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find("File too large"), std::string::npos) << written.error().message;
  ASSERT_FALSE(compiled);
  EXPECT_FALSE(compiled.error().lasting);
}

class TemporaryFolders : public HostProcess {
 protected:
  TemporaryFolders() { setenv("TMPDIR", folder_.path().c_str(), 1); }
  ~TemporaryFolders() override { before_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before_.c_str(), 1); }

 private:
  std::string before_ = std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : "";
};

TEST_F(TemporaryFolders, OfKilledProcessesAreRemovedAndOthersStay) {
  const fs::path place = folder_.path();
  const pid_t child = fork();
  if (child == 0) {
    const auto left = TemporaryFolder::make();
    fs::create_directories(left->path() + "/deep/deeper");
    fs::create_directory_symlink("/", left->path() + "/deep/link");
    std::ofstream(left->path() + "/deep/unit.cpp") << "source";
    kill(getpid(), SIGKILL);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto in_place = [&] { return entries_starting(place, "convtgen-"); };
  ASSERT_EQ(in_place().size(), 1u);
  const fs::path left = in_place()[0];

  for (const char* name : {"convtgen-mine", "convtgen-abcdefg", "convtgen-young1", "convtgen-older1"}) {
    fs::create_directory(place / name);
    fs::last_write_time(place / name, fs::file_time_type::clock::now() - std::chrono::hours(2));
  }
  fs::last_write_time(place / "convtgen-young1", fs::file_time_type::clock::now());
  std::ofstream(place / "convtgen-afile1") << "no folder";
  fs::create_directory_symlink(place / "convtgen-mine", place / "convtgen-alink1");

  const auto first = TemporaryFolder::make();
  ASSERT_TRUE(first);
  const auto second = TemporaryFolder::make();
  ASSERT_TRUE(second);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_FALSE(fs::exists(place / "convtgen-older1"));  // that no process came to hold
  EXPECT_TRUE(fs::exists(first->path()));
  for (const char* name :
       {"convtgen-mine", "convtgen-abcdefg", "convtgen-young1", "convtgen-afile1", "convtgen-alink1"}) {
    EXPECT_TRUE(fs::exists(place / name)) << name;
  }
}

#ifdef CONVTGEN_BOUNDS_ALLOCATIONS

// Runs `work` with no memory, then with room for one allocation, and so on, until it has enough.
template <typename Work>
void with_little_memory(Work&& work) {
  for (long enough = 0;; ++enough) {
    allocations_left = enough;
    bool done = true;
    try {
      work();
    } catch (const std::bad_alloc&) {
      done = false;
    }
    allocations_left = -1;
    if (done) {
      EXPECT_GT(enough, 0) << "nothing was allocated";
      return;
    }
    ASSERT_LT(enough, 100000);
  }
}

std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), {}));
}

TEST_F(TemporaryFolders, OutOfMemoryIsNotTheEnd) {
  std::ofstream(folder_.path() + "/a file with a name of some length") << "bytes";
  fs::create_directory(folder_.path() + "/a folder with a name of some length");
  const std::string path = folder_.path();
  const std::size_t before = open_descriptors();
  with_little_memory([&] { EXPECT_EQ(entries_of(path).size(), 3u); });
  EXPECT_EQ(open_descriptors(), before);

  auto made = TemporaryFolder::make();
  const std::string gone = made->path();
  std::ofstream(gone + "/a file with a name of some length") << "bytes";
  allocations_left = 0;
  {
    const TemporaryFolder last = std::move(*made);
  }
  allocations_left = -1;
  EXPECT_FALSE(fs::exists(gone));
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(TemporaryFolders, OutOfMemoryIsNotTheEndOfTheStore) {
  const Key key = kernel_key(EntryKind::kCubin, "source", "sm_90a", "nvrtc", {});
  const std::string bytes(1000, 'b');
  const std::size_t before = open_descriptors();
  {
    Store store({.folder = folder_.path() + "/store", .limit = 1 << 20});
    const auto make = [&]() -> Made { return bytes; };
    with_little_memory([&] { EXPECT_EQ(store.get_or_make(key, make)->bytes, bytes); });
    with_little_memory([&] { EXPECT_EQ(store.find(key)->bytes, bytes); });
    with_little_memory([&] { EXPECT_EQ(store.verify().good, 1u); });
    with_little_memory([&] { EXPECT_EQ(store.list().size(), 1u); });
    with_little_memory([&] { EXPECT_GT(store.prune().bytes, 1000u); });
  }
  EXPECT_EQ(open_descriptors(), before);
}

#endif

}  // namespace
}  // namespace convtgen::host
