// The lock alone: one holder, and no file that stays.
#include "runtime/store/lock.h"

#include <sys/stat.h>

#include <atomic>
#include <functional>
#include <thread>

#include "tests/store/folders.h"

namespace convtgen::testing {
namespace {

using std::chrono::milliseconds;

class Lock : public ::testing::Test {
 protected:
  [[nodiscard]] std::optional<FileLock> take(milliseconds wait) const {
    return FileLock::take(folder_, "a.lock", wait);
  }

  Scratch scratch_;
  Folder folder_ = std::move(*Folder::open(scratch_.path().string(), false));
};

TEST_F(Lock, HasOneHolder) {
  {
    const auto lock = take(milliseconds(0));
    ASSERT_TRUE(lock);
    EXPECT_FALSE(take(milliseconds(0)));
    EXPECT_FALSE(take(milliseconds(20)));
    EXPECT_TRUE(FileLock::take(folder_, "b.lock", milliseconds(0)));
    EXPECT_TRUE(fs::exists(scratch_.path() / "a.lock"));
  }
  EXPECT_TRUE(files_in(scratch_.path()).empty());
  EXPECT_TRUE(take(milliseconds(0)));
}

TEST_F(Lock, IsNotTheFileThatTheLastHolderRemoved) {
  std::optional<FileLock> first = take(milliseconds(0));
  ASSERT_TRUE(first);
  std::jthread waiting([&] {
    const auto second = take(std::chrono::minutes(1));  // opens the first one's file
    EXPECT_TRUE(second);
    // Were it that file, which has no name any more, a third would get a file and a lock of its own.
    EXPECT_TRUE(fs::exists(scratch_.path() / "a.lock"));
    EXPECT_FALSE(take(milliseconds(0)));
  });
  std::this_thread::sleep_for(milliseconds(100));
  first.reset();
}

TEST_F(Lock, HoldsUnderContention) {
  std::atomic<int> inside = 0;
  std::atomic<int> taken = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&] {
        for (int turn = 0; turn < 20; ++turn) {
          const auto lock = take(std::chrono::minutes(1));
          EXPECT_TRUE(lock);
          EXPECT_EQ(++inside, 1);
          std::this_thread::yield();
          --inside;
          ++taken;
        }
      });
    }
  }
  EXPECT_EQ(taken, 120);
  EXPECT_TRUE(files_in(scratch_.path()).empty());
}

TEST_F(Lock, CanNotBeHadWhereNoFileCanBeMade) {
  fs::remove_all(scratch_.path());
  EXPECT_FALSE(take(std::chrono::minutes(1)));
}

TEST_F(Lock, TakesThePlaceOfWhatIsNoPlainFile) {
  const fs::path path = scratch_.path() / "a.lock";
  const std::vector<std::function<void()>> plants = {
      [&] { fs::create_directories(path / "full"); },
      [&] { fs::create_symlink("elsewhere", path); },
      [&] { ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); },
  };
  for (const auto& plant : plants) {
    plant();
    const auto lock = take(milliseconds(0));
    ASSERT_TRUE(lock);
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path)));
    EXPECT_FALSE(take(milliseconds(0)));
  }
  EXPECT_TRUE(files_in(scratch_.path()).empty());
}

}  // namespace
}  // namespace convtgen::testing
