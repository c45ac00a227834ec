// Folders that can't be used, or not any more: results are right, with one warning.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "tests/store/folders.h"

namespace convtgen::testing {
namespace {

constexpr uid_t kNobody = 65534;

// A mount that only this process sees, gone with the object; or why it failed.
class Mount {
 public:
  Mount(const fs::path& what, const fs::path& where, const char* type, unsigned long flags, const char* data)
      : where_(where) {
    if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount(what.c_str(), where.c_str(), type, flags, data) != 0) {
      problem_ = std::string("no mount can be made here: ") + std::strerror(errno);
    }
  }
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;
  ~Mount() {
    if (problem_.empty()) {
      umount2(where_.c_str(), MNT_DETACH);
    }
  }
  // What a mount that binds a folder can't have from the beginning.
  void make_read_only() {
    if (problem_.empty() && mount(nullptr, where_.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0) {
      umount2(where_.c_str(), MNT_DETACH);
      problem_ = std::string("no read-only mount can be made here: ") + std::strerror(errno);
    }
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  fs::path where_;
  std::string problem_;
};

class BadFolders : public ::testing::Test {
 protected:
  [[nodiscard]] StoreOptions options(const fs::path& folder) {
    return {.folder = folder.string(), .warn = [this](const std::string& why) { warnings_.push_back(why); }};
  }

  // Everything that a program does works, from memory, and is warned of once with these words.
  void expect_memory_only(const fs::path& folder, const std::string& words) {
    SCOPED_TRACE(folder.string());
    warnings_.clear();
    Store store(options(folder));
    expect_works(store);
    ASSERT_EQ(warnings_.size(), 1u);
    EXPECT_NE(warnings_[0].find(words), std::string::npos) << warnings_[0];
    EXPECT_NE(store.problem(), "");
    EXPECT_EQ(store.counters().write_failures, 4u);
    EXPECT_TRUE(store.list().empty());
    EXPECT_EQ(store.verify().good, 0u);
    (void)store.prune();
    EXPECT_EQ(store.clear(), 0u);
    EXPECT_EQ(warnings_.size(), 1u);
    // Another process makes its own.
    EXPECT_FALSE(Store(options(folder)).find(key_of("0")));
  }

  static void expect_works(Store& store) {
    for (int turn = 0; turn < 2; ++turn) {
      for (const std::string source : {"0", "1", "2"}) {
        const auto entry = store.get_or_make(key_of(source), [&] { return Made("bytes of " + source); });
        ASSERT_TRUE(entry);
        EXPECT_EQ(entry->bytes, "bytes of " + source);
      }
    }
    EXPECT_EQ(store.counters().made, 3u);
    store.insert(key_of("3"), "three");
    EXPECT_EQ(store.find(key_of("3"))->bytes, "three");
    EXPECT_EQ(store.find(key_of("3", ""))->bytes, "three");
    EXPECT_FALSE(store.find(key_of("4")));
  }

  Scratch scratch_;
  std::vector<std::string> warnings_;
};

TEST_F(BadFolders, NoHome) {
  const Variable own("CONVTGEN_CACHE_DIR", nullptr);
  const Variable cache("XDG_CACHE_HOME", nullptr);
  const Variable home("HOME", nullptr);
  expect_memory_only("", "no folder for the cache is known");
}

TEST_F(BadFolders, AFile) {
  write_whole(scratch_.path() / "file", "no folder");
  expect_memory_only(scratch_.path() / "file", "it is no folder");
  expect_memory_only(scratch_.path() / "file" / "below", "it is no folder");
  EXPECT_EQ(read_whole(scratch_.path() / "file"), "no folder");
}

TEST_F(BadFolders, OthersCanWriteToIt) {
  const fs::path folder = scratch_.path() / "open";
  Store(options(folder)).insert(key_of("0"), "planted");
  for (const mode_t mode : {0777, 0720, 0702, 01777}) {
    ASSERT_EQ(chmod(folder.c_str(), mode), 0);
    expect_memory_only(folder, "others can write to it");
  }
  // They may read.
  ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
  EXPECT_EQ(Store(options(folder)).find(key_of("0"))->bytes, "planted");
}

TEST_F(BadFolders, AnotherUsers) {
  if (geteuid() != 0) {
    expect_memory_only("/", "it belongs to another user");
    return;
  }
  const fs::path folder = scratch_.path() / "theirs";
  fs::create_directory(folder);
  ASSERT_EQ(chown(folder.c_str(), kNobody, kNobody), 0);
  ASSERT_EQ(chmod(folder.c_str(), 0700), 0);
  expect_memory_only(folder, "it belongs to another user");
}

TEST_F(BadFolders, ALinkIsFollowedAndItsTargetJudged) {
  const fs::path target = scratch_.path() / "target";
  const fs::path link = scratch_.path() / "link";
  fs::create_symlink(target, link);
  expect_memory_only(link, "No such file");  // it points nowhere

  fs::create_directory(target);
  ASSERT_EQ(chmod(target.c_str(), 0777), 0);
  expect_memory_only(link, "others can write to it");
  ASSERT_EQ(chmod(target.c_str(), 0700), 0);
  warnings_.clear();
  Store store(options(link));
  expect_works(store);
  EXPECT_TRUE(warnings_.empty());
  EXPECT_EQ(files_in(target, ".entry").size(), 4u);
}

TEST_F(BadFolders, ThatIsReadOnlyForThisUser) {
  ASSERT_EQ(chmod(scratch_.path().c_str(), 0755), 0);
  const fs::path folder = scratch_.path() / "closed";
  fs::create_directory(folder);
  const uid_t user = geteuid();
  if (user == 0) {
    // Root writes anywhere; another user does not.
    ASSERT_EQ(chown(folder.c_str(), kNobody, kNobody), 0);
    ASSERT_EQ(seteuid(kNobody), 0);
  }
  chmod(folder.c_str(), 0500);
  expect_memory_only(folder, "can't be written");
  chmod(folder.c_str(), 0700);
  ASSERT_EQ(seteuid(user), 0);
}

TEST_F(BadFolders, AReadOnlyMountGivesWhatItHas) {
  const fs::path folder = scratch_.path() / "store";
  Store(options(folder)).insert(key_of("there"), "bytes");
  set_age(files_in(folder)[0], std::chrono::hours(2));
  Mount mount(folder, folder, nullptr, MS_BIND, nullptr);
  mount.make_read_only();
  if (!mount.problem().empty()) {
    GTEST_SKIP() << mount.problem();
  }
  Store store(options(folder));
  EXPECT_EQ(store.get_or_make(key_of("there"), [] { return Made("made"); })->bytes, "bytes");
  EXPECT_TRUE(warnings_.empty());
  EXPECT_NE(store.problem(), "");
  EXPECT_FALSE(store.find(key_of("0")));
  EXPECT_EQ(store.get_or_make(key_of("0"), [] { return Made("made"); })->bytes, "made");
  EXPECT_EQ(store.find(key_of("0"))->bytes, "made");
  store.insert(key_of("1"), "one");
  EXPECT_EQ(warnings_.size(), 1u);
  EXPECT_EQ(store.counters().write_failures, 2u);
  EXPECT_EQ(store.clear(), 0u);
  EXPECT_EQ(store.find(key_of("there"))->bytes, "bytes");
  // One that would have to be made there.
  expect_memory_only(folder / "below", "Read-only file system");
}

TEST_F(BadFolders, AFullDisk) {
  const Mount mount("tmpfs", scratch_.path(), "tmpfs", 0, "size=64k,mode=700");
  if (!mount.problem().empty()) {
    GTEST_SKIP() << mount.problem();
  }
  const fs::path folder = scratch_.path() / "store";
  Store store(options(folder));
  const std::string bytes(20'000, 'b');
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < 6; ++i) {
      const auto entry = store.get_or_make(key_of(std::to_string(i)), [&] { return Made(bytes + std::to_string(i)); });
      ASSERT_TRUE(entry);
      EXPECT_EQ(entry->bytes, bytes + std::to_string(i));
    }
  }
  EXPECT_EQ(store.counters().made, 6u);
  const std::size_t fitting = files_in(folder).size();  // nothing staged, no locks
  EXPECT_TRUE(fitting == 2 || fitting == 3) << fitting;
  EXPECT_EQ(store.counters().write_failures, 6 - fitting);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("No space left"), std::string::npos) << warnings_[0];
  EXPECT_EQ(store.verify().good, fitting);
  // With room again it goes on.
  EXPECT_EQ(store.clear(), fitting);
  EXPECT_TRUE(store.get_or_make(key_of("6"), [&] { return Made(bytes); }));
  EXPECT_EQ(files_in(folder).size(), 1u);
}

// The same as a full disk, for any user: writing fails on the way.
TEST_F(BadFolders, AFileThatCanNotBeWrittenWhole) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  static volatile sig_atomic_t signals = 0;
  auto* const handler = signal(SIGXFSZ, [](int) { signals = signals + 1; });
  const rlimit least = {100, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &least), 0);
  Store store(options(scratch_.path() / "store"));
  expect_works(store);
  // The program's own writes get what they always got.
  const int own = open((scratch_.path() / "own").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const int from_store = signals;
  EXPECT_EQ(pwrite(own, "x", 1, 100), -1);
  close(own);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(from_store, 0) << "by default the signal ends the program";
  EXPECT_EQ(signals, 1);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("File too large"), std::string::npos) << warnings_[0];
  EXPECT_EQ(store.counters().write_failures, 4u);
  EXPECT_TRUE(files_in(scratch_.path() / "store").empty());
}

TEST_F(BadFolders, OneThatIsTakenAwayIsMadeAgain) {
  const fs::path folder = scratch_.path() / "store";
  Store store(options(folder));
  store.insert(key_of("0"), "bytes");
  fs::remove_all(folder);
  EXPECT_FALSE(store.find(key_of("0")));
  expect_works(store);
  EXPECT_EQ(files_in(folder).size(), 4u);
  EXPECT_TRUE(warnings_.empty());
}

}  // namespace
}  // namespace convtgen::testing
