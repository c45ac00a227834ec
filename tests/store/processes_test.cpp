// Many processes at one folder, some of them killed.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>
#include <thread>

#include "tests/store/folders.h"
#include "tests/store/payload.h"

extern char** environ;

namespace convtgen::testing {
namespace {

pid_t start_worker(const std::string& what, const fs::path& folder, const std::string& last,
                   const std::string& program = CONVTGEN_STORE_WORKER) {
  std::array<std::string, 4> words = {program, what, folder.string(), last};
  std::array<char*, 5> argv = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  pid_t worker = -1;
  EXPECT_EQ(posix_spawn(&worker, argv[0], nullptr, nullptr, argv.data(), environ), 0);
  return worker;
}

int status_of(pid_t worker) {
  int status = -1;
  EXPECT_EQ(waitpid(worker, &status, 0), worker);
  return status;
}

TEST(StoreProcesses, SixteenMakeOneEntryOnce) {
  const Scratch scratch;
  const fs::path folder = scratch.path() / "store";
  const fs::path log = scratch.path() / "log";
  std::vector<pid_t> workers;
  for (int i = 0; i < 16; ++i) {
    workers.push_back(start_worker("one", folder, log.string()));
  }
  for (const pid_t worker : workers) {
    EXPECT_EQ(status_of(worker), 0);
  }
  EXPECT_EQ(read_whole(log), "made\n");
  EXPECT_EQ(files_in(folder).size(), 1u);  // no lock stays
}

// A public report (warp#1284): many compile one kernel on a cold cache, and the one that compiles is killed.
TEST(StoreProcesses, SixteenMakeOneEntryWhereTheFirstIsKilled) {
  const Scratch scratch;
  const fs::path folder = scratch.path() / "store";
  const fs::path log = scratch.path() / "log";
  const pid_t first = start_worker("one", folder, log.string());
  while (!fs::exists(log)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::vector<pid_t> workers;
  for (int i = 0; i < 15; ++i) {
    workers.push_back(start_worker("one", folder, log.string()));
  }
  kill(first, SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(status_of(first)));
  for (const pid_t worker : workers) {
    EXPECT_EQ(status_of(worker), 0);
  }
  EXPECT_EQ(read_whole(log), "made\nmade\n");  // by the first, and by one of the others
  EXPECT_EQ(files_in(folder).size(), 1u);
}

// The bytes of every entry, by what its key says.
void expect_right_entries(Store& store) {
  const Store::Verified verified = store.verify();
  for (const Store::BadFile& bad : verified.bad) {
    ADD_FAILURE() << bad.name << ": " << bad.why;
  }
  const std::vector<Store::Listed> entries = store.list();
  EXPECT_EQ(entries.size(), verified.good);
  EXPECT_GT(entries.size(), 10u);
  for (const Store::Listed& listed : entries) {
    const std::string source(Key(listed.head.fields).field("source"));
    const auto index = static_cast<unsigned>(std::stoul(source.substr(std::string("source of ").size())));
    const auto entry = store.find(worker_key(index));
    EXPECT_TRUE(entry && entry->bytes == worker_payload(index)) << source;
  }
}

TEST(StoreProcesses, KilledAtAnyMomentLeaveGoodEntriesOrNone) {
  constexpr int kKills = 200;
  const Scratch scratch;
  const fs::path folder = scratch.path() / "store";
  std::mt19937 random(1);
  std::array<pid_t, 8> workers = {};
  int seed = 0;
  for (pid_t& worker : workers) {
    worker = start_worker("churn", folder, std::to_string(seed++));
  }
  for (int i = 0; i < kKills; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    pid_t& worker = workers[random() % workers.size()];
    kill(worker, SIGKILL);
    const int status = status_of(worker);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "a worker ended by itself: " << status;
    worker = start_worker("churn", folder, std::to_string(seed++));
  }
  for (const pid_t worker : workers) {
    kill(worker, SIGKILL);
    (void)status_of(worker);
  }
  Store store({.folder = folder.string()});
  expect_right_entries(store);

  const std::vector<fs::path> locks = files_in(folder, ".lock");
  const std::vector<fs::path> staged = files_in(folder, ".staged");
  RecordProperty("locks_left", static_cast<int>(locks.size()));
  RecordProperty("staged_left", static_cast<int>(staged.size()));
  EXPECT_FALSE(locks.empty()) << "no kill met a process that held a lock: nothing was tested";
  // They stop nobody, and go with the next pruning; what was staged goes when it is old.
  const auto start = std::chrono::steady_clock::now();
  for (unsigned index = 0; index < 200; ++index) {
    EXPECT_TRUE(store.get_or_make(worker_key(index), [&] { return Made(worker_payload(index)); }));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_FALSE(store.prune().skipped);
  EXPECT_TRUE(files_in(folder, ".lock").empty());
  EXPECT_EQ(files_in(folder, ".staged").size(), staged.size());
  for (const fs::path& path : staged) {
    set_age(path, kSweepAge + std::chrono::minutes(1));
  }
  EXPECT_EQ(store.prune().swept, staged.size());
  EXPECT_TRUE(files_in(folder, ".staged").empty());
  EXPECT_EQ(store.verify().good, 200u);
  EXPECT_EQ(files_in(folder).size(), 200u);
}

std::uintmax_t bytes_in(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  for (const fs::path& path : files_in(folder, ".entry")) {
    std::error_code gone;  // another process may remove it
    const std::uintmax_t size = fs::file_size(path, gone);
    bytes += gone ? 0 : size;
  }
  return bytes;
}

// The next version's entries have other keys and another head; the workers know its bytes from this one's, and end by
// themselves where they get the wrong ones.
TEST(StoreProcesses, TwoVersionsShareAFolderAndItsBound) {
  constexpr std::uintmax_t kLimit = 2 << 20;  // as the workers have it
  const Scratch scratch;
  const fs::path folder = scratch.path() / "store";
  std::array<pid_t, 4> workers = {};
  for (std::size_t i = 0; i < workers.size(); ++i) {
    workers[i] = start_worker("churn", folder, std::to_string(i),
                              i % 2 == 0 ? CONVTGEN_STORE_WORKER : CONVTGEN_NEXT_STORE_WORKER);
  }
  std::uintmax_t most = 0;
  for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
       std::chrono::steady_clock::now() < end;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    most = std::max(most, fs::exists(folder) ? bytes_in(folder) : 0);
  }
  for (const pid_t worker : workers) {
    kill(worker, SIGKILL);
    const int status = status_of(worker);
    EXPECT_TRUE(WIFSIGNALED(status)) << "a worker got the wrong bytes: " << status;
  }
  // Each may write a sixteenth of it, and an entry, before it looks again.
  EXPECT_GT(most, kLimit / 2) << "the folder was never full: nothing was tested";
  EXPECT_LE(most, kLimit + kLimit / 4);

  Store store({.folder = folder.string(), .limit = kLimit});
  const Store::Verified verified = store.verify(true);
  EXPECT_TRUE(verified.bad.empty()) << verified.bad.front().why;
  EXPECT_GT(verified.good, 10u);
  EXPECT_GT(verified.foreign, 10u);
  EXPECT_EQ(files_in(folder, ".entry").size(), verified.good + verified.foreign);
  EXPECT_EQ(store.list().size(), verified.good);
  expect_right_entries(store);

  // What one makes is a miss to the other, and takes nothing from it.
  const fs::path log = scratch.path() / "log";
  EXPECT_TRUE(store.get_or_make(worker_key(0), [] { return Made(worker_payload(0)); }));
  EXPECT_EQ(status_of(start_worker("one", folder, log.string(), CONVTGEN_NEXT_STORE_WORKER)), 0);
  EXPECT_EQ(store.find(worker_key(0))->bytes, worker_payload(0));
  EXPECT_EQ(store.verify().foreign + store.verify().good, files_in(folder, ".entry").size());
  EXPECT_FALSE(store.prune(0).skipped);
  EXPECT_TRUE(files_in(folder, ".entry").empty());
}

}  // namespace
}  // namespace convtgen::testing
