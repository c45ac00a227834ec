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

pid_t start_worker(const std::string& what, const fs::path& folder, const std::string& last) {
  std::array<std::string, 4> words = {CONVTGEN_STORE_WORKER, what, folder.string(), last};
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

}  // namespace
}  // namespace convtgen::testing
