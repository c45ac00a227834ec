// A store in a folder that is as it should be.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>

#include "runtime/store/folder.h"
#include "tests/store/folders.h"

namespace convtgen::testing {
namespace {

class StoreTest : public ::testing::Test {
 protected:
  [[nodiscard]] StoreOptions options() {
    return {.folder = folder_.string(), .limit = 1 << 20, .warn = [this](const std::string& why) {
              warnings_.push_back(why);
            }};
  }
  [[nodiscard]] fs::path file_of(const Key& key) const { return folder_ / (key.name() + ".entry"); }

  Scratch scratch_;
  fs::path folder_ = scratch_.path() / "above" / "store";
  std::vector<std::string> warnings_;
};

TEST_F(StoreTest, KeepsEntriesFromOneProcessToTheNext) {
  const std::string bytes("some\0bytes", 10);
  {
    Store store(options());
    EXPECT_EQ(store.problem(), "");
    EXPECT_FALSE(store.find(key_of("one")));
    store.insert(key_of("one"), bytes, "a layer");
    EXPECT_EQ(store.find(key_of("one")), (Entry{key_of("one").fields(), "a layer", bytes}));
    EXPECT_FALSE(store.find(key_of("two")));
    EXPECT_EQ(store.counters(), (StoreCounters{.hits = 1, .misses = 2}));
  }
  EXPECT_EQ(Store(options()).find(key_of("one"))->bytes, bytes);
  // Nothing is left of the staging and of locks; nobody else can look.
  EXPECT_EQ(files_in(folder_), std::vector{file_of(key_of("one"))});
  for (const fs::path& path : {folder_, folder_.parent_path()}) {
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
  }
  EXPECT_EQ(fs::status(file_of(key_of("one"))).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(StoreTest, MakesWhatItDoesNotHave) {
  Store store(options());
  int makes = 0;
  const auto make = [&]() -> Made {
    ++makes;
    return "made";
  };
  for (int i = 0; i < 3; ++i) {
    const Result<Entry> entry = store.get_or_make(key_of("one"), make, "label");
    ASSERT_TRUE(entry);
    EXPECT_EQ(*entry, (Entry{key_of("one").fields(), "label", "made"}));
  }
  EXPECT_EQ(makes, 1);
  EXPECT_EQ(Store(options()).get_or_make(key_of("one"), make)->bytes, "made");
  EXPECT_EQ(makes, 1);
  EXPECT_EQ(store.counters(), (StoreCounters{.hits = 2, .misses = 1, .made = 1}));
  EXPECT_EQ(files_in(folder_).size(), 1u);
}

TEST_F(StoreTest, RemembersFailuresForThisProcess) {
  Store store(options());
  int makes = 0;
  const auto make = [&]() -> Made {
    ++makes;
    return std::unexpected(CompileError({"the log of " + std::to_string(makes)}, true));
  };
  EXPECT_EQ(store.get_or_make(key_of("one"), make).error().message, "the log of 1");
  EXPECT_EQ(store.get_or_make(key_of("one"), make).error().message, "the log of 1");
  EXPECT_EQ(makes, 1);
  EXPECT_TRUE(files_in(folder_).empty());
  EXPECT_EQ(Store(options()).get_or_make(key_of("one"), make).error().message, "the log of 2");

  // What may go well the next time is tried the next time.
  const auto cancelled = [&]() -> Made {
    ++makes;
    return fail("cancelled");
  };
  EXPECT_EQ(store.get_or_make(key_of("two"), cancelled).error().message, "cancelled");
  EXPECT_EQ(store.get_or_make(key_of("two"), [] { return Made("made"); })->bytes, "made");
  EXPECT_EQ(makes, 3);
}

TEST_F(StoreTest, WithoutACompilerAnEntryOfAnyServes) {
  Store store(options());
  store.insert(key_of("one", "nvrtc a"), "of a");
  EXPECT_FALSE(store.find(key_of("one", "nvrtc b")));
  const std::optional<Entry> found = store.find(key_of("one", ""));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->bytes, "of a");
  EXPECT_EQ(Key(found->fields).field("compiler"), "nvrtc a");
  EXPECT_FALSE(store.find(key_of("two", "")));
  // One of two is bad: the other serves.
  store.insert(key_of("one", "nvrtc b"), "of b");
  for (const char* compiler : {"nvrtc a", "nvrtc b"}) {
    const fs::path file = file_of(key_of("one", compiler));
    const std::string whole = read_whole(file);
    write_whole(file, whole.substr(1));
    EXPECT_TRUE(store.find(key_of("one", "")));
    write_whole(file, whole);
  }
}

TEST_F(StoreTest, ThreadsShareOneMake) {
  Store store(options());
  std::atomic<int> makes = 0;
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 16; ++i) {
      threads.emplace_back([&] {
        const auto entry = store.get_or_make(key_of("one"), [&]() -> Made {
          ++makes;
          std::this_thread::sleep_for(std::chrono::milliseconds(30));
          return "made";
        });
        right += entry && entry->bytes == "made" ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(makes, 1);
  EXPECT_EQ(right, 16);
  const StoreCounters counters = store.counters();
  EXPECT_EQ(counters.hits, 15u);
  EXPECT_EQ(counters.misses, 1u);
}

TEST_F(StoreTest, AWaitingThreadTriesWhenTheFirstGaveUp) {
  Store store(options());
  std::atomic<int> makes = 0;
  std::atomic<int> good = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        const auto entry = store.get_or_make(key_of("one"), [&]() -> Made {
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
          if (makes++ == 0) {
            return fail("cancelled");
          }
          return "made";
        });
        good += entry ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(makes, 2);
  EXPECT_EQ(good, 7);
}

TEST_F(StoreTest, AnExceptionDoesNotStopTheOthers) {
  Store store(options());
  EXPECT_ANY_THROW((void)store.get_or_make(key_of("one"), []() -> Made { throw std::bad_alloc(); }));
  EXPECT_EQ(store.get_or_make(key_of("one"), [] { return Made("made"); })->bytes, "made");
}

TEST_F(StoreTest, WorksInAForkedChild) {
  StoreOptions impatient = options();
  impatient.lock_wait = std::chrono::milliseconds(20);
  Store store(impatient);
  std::atomic<bool> making = false;
  std::atomic<bool> go_on = false;
  std::jthread maker([&] {
    (void)store.get_or_make(key_of("one"), [&]() -> Made {
      making = true;
      while (!go_on) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      return "of the parent";
    });
  });
  while (!making) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // The thread that makes it is not in the child; its lock is in the parent.
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const bool other = store.get_or_make(key_of("two"), [] { return Made("of the child"); }).has_value();
    const auto same = store.get_or_make(key_of("one"), [] { return Made("of the child"); });
    _exit(other && same && same->bytes == "of the child" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(files_in(folder_, ".lock").size(), 1u);  // the parent's still
  go_on = true;
  maker.join();
  EXPECT_EQ(store.find(key_of("two"))->bytes, "of the child");
  EXPECT_TRUE(files_in(folder_, ".lock").empty());
}

TEST_F(StoreTest, DoesNotWaitForEverForAnother) {
  StoreOptions impatient = options();
  impatient.lock_wait = std::chrono::milliseconds(50);
  Store store(impatient);
  fs::create_directories(folder_);
  const fs::path lock = folder_ / (key_of("one").name() + ".lock");
  const int held = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  EXPECT_EQ(store.get_or_make(key_of("one"), [] { return Made("made"); })->bytes, "made");
  EXPECT_TRUE(fs::exists(lock));  // it is not ours to remove
  EXPECT_EQ(store.prune().swept, 0u);
  close(held);
  EXPECT_EQ(store.prune().swept, 1u);  // nobody's any more
  EXPECT_FALSE(fs::exists(lock));
}

TEST_F(StoreTest, StaysWithinItsBoundLeastRecentlyUsedFirst) {
  Store store(options());
  const std::string bytes(50'000, 'x');
  const auto total = [&] {
    std::uintmax_t sum = 0;
    for (const fs::path& file : files_in(folder_)) {
      sum += fs::file_size(file);
    }
    return sum;
  };
  for (int i = 0; i < 12; ++i) {
    store.insert(key_of(std::to_string(i)), bytes);
    set_age(file_of(key_of(std::to_string(i))), std::chrono::hours(48 - i));
  }
  ASSERT_TRUE(store.find(key_of("0")));  // used now, so that it is not the oldest any more
  for (int i = 12; i < 100; ++i) {
    store.insert(key_of(std::to_string(i)), bytes);
    EXPECT_LE(total(), store.limit());
    if (i == 24) {
      EXPECT_TRUE(fs::exists(file_of(key_of("0"))));
      EXPECT_FALSE(fs::exists(file_of(key_of("1"))));
      EXPECT_FALSE(fs::exists(file_of(key_of("2"))));
      EXPECT_TRUE(fs::exists(file_of(key_of("11"))));
    }
  }
  EXPECT_TRUE(store.find(key_of("99")));
  const std::size_t left = files_in(folder_).size();
  EXPECT_EQ(store.counters().evicted, 100 - left);
  EXPECT_GT(left, 12u);
  // Too large for the folder: in memory.
  store.insert(key_of("large"), std::string(600'000, 'y'));
  EXPECT_EQ(store.find(key_of("large"))->bytes.size(), 600'000u);
  EXPECT_FALSE(fs::exists(file_of(key_of("large"))));
  EXPECT_EQ(warnings_.size(), 1u);
}

TEST_F(StoreTest, NotesUseOnceAnHour) {
  Store store(options());
  store.insert(key_of("one"), "bytes");
  const fs::path file = file_of(key_of("one"));
  set_age(file, std::chrono::minutes(50));
  const auto before = fs::last_write_time(file);
  ASSERT_TRUE(store.find(key_of("one")));
  EXPECT_EQ(fs::last_write_time(file), before);
  set_age(file, std::chrono::minutes(70));
  ASSERT_TRUE(store.find(key_of("one")));
  EXPECT_GT(fs::last_write_time(file), before);
  // By a clock that was set back it would be the last to go for ever.
  set_age(file, std::chrono::hours(-5));
  ASSERT_TRUE(store.find(key_of("one")));
  EXPECT_LT(fs::last_write_time(file), fs::file_time_type::clock::now() + std::chrono::hours(1));
}

TEST_F(StoreTest, SweepsWhatDeadProcessesLeft) {
  Store store(options());
  store.insert(key_of("one"), "bytes");
  const std::string stem = key_of("two").name();
  const fs::path young = folder_ / (stem + ".1-0011223344556677.staged");
  const fs::path old = folder_ / (stem + ".2-0011223344556677.staged");
  const fs::path soon = folder_ / (stem + ".3-0011223344556677.staged");
  const fs::path future = folder_ / (stem + ".4-0011223344556677.staged");
  const fs::path lock = folder_ / (stem + ".lock");
  const fs::path foreign = folder_ / "notes.staged";
  for (const fs::path& path : {young, old, soon, future, lock, foreign}) {
    write_whole(path, "left");
  }
  set_age(old, std::chrono::minutes(61));
  set_age(soon, std::chrono::minutes(-50));    // of a file system whose clock is ahead
  set_age(future, std::chrono::minutes(-61));  // of a clock that was set back
  set_age(foreign, std::chrono::hours(100));
  EXPECT_EQ(store.prune().swept, 3u);
  EXPECT_TRUE(fs::exists(young));
  EXPECT_TRUE(fs::exists(soon));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_FALSE(fs::exists(future));
  EXPECT_FALSE(fs::exists(lock));
  EXPECT_TRUE(fs::exists(foreign));  // not ours
  EXPECT_TRUE(store.find(key_of("one")));
}

TEST_F(StoreTest, ListsVerifiesAndClears) {
  Store store(options());
  store.insert(key_of("one"), "bytes", "layer one");
  store.insert(key_of("two"), "more bytes", "layer two");
  store.insert(key_of("bad"), "bytes", "");
  set_age(file_of(key_of("one")), std::chrono::minutes(5));
  const std::string whole = read_whole(file_of(key_of("bad")));
  write_whole(file_of(key_of("bad")), "no entry");
  write_whole(folder_ / "notes.txt", "not ours");

  const std::vector<Store::Listed> listed = store.list();
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[0].head.label, "layer two");
  EXPECT_EQ(listed[1].head.label, "layer one");
  EXPECT_EQ(listed[1].head.fields, key_of("one").fields());
  EXPECT_EQ(listed[1].name, key_of("one").name());
  EXPECT_EQ(listed[1].bytes, fs::file_size(file_of(key_of("one"))));
  EXPECT_GT(listed[0].used, listed[1].used);

  Store::Verified verified = store.verify();
  EXPECT_EQ(verified.good, 2u);
  ASSERT_EQ(verified.bad.size(), 1u);
  EXPECT_EQ(verified.bad[0].name, file_of(key_of("bad")).filename());
  EXPECT_EQ(verified.bad[0].why, "it is no entry of the store");
  write_whole(file_of(key_of("bad")), read_whole(file_of(key_of("one"))));
  verified = store.verify(true);
  ASSERT_EQ(verified.bad.size(), 1u);
  EXPECT_EQ(verified.bad[0].why, "it is the entry of another key");
  EXPECT_FALSE(fs::exists(file_of(key_of("bad"))));

  EXPECT_EQ(store.clear(), 2u);
  EXPECT_EQ(files_in(folder_), std::vector{folder_ / "notes.txt"});
  EXPECT_FALSE(store.find(key_of("one")));
}

TEST_F(StoreTest, ListsOneKindAlone) {
  Store store(options());
  const Key record(EntryKind::kTuningRecord, {{"layer", "one"}});
  const Key other(EntryKind::kTuningRecord, {{"layer", "two"}});
  store.insert(key_of("one"), "bytes", "layer one");
  store.insert(key_of("two"), "bytes", std::string(5000, 'l'));  // its kind stands far from the file's beginning
  store.insert(record, "a record", "layer one");
  store.insert(other, "a record", std::string(5000, 'l'));
  std::set<std::string> found;
  for (const Store::Listed& listed : store.list(EntryKind::kTuningRecord)) {
    found.insert(listed.name);
  }
  EXPECT_EQ(found, (std::set{record.name(), other.name()}));
  EXPECT_TRUE(store.list(EntryKind::kChoice).empty());

  write_whole(file_of(other), read_whole(file_of(record)));
  ASSERT_EQ(store.list(EntryKind::kTuningRecord).size(), 1u);
}

TEST_F(StoreTest, SaysWhyAKeyMisses) {
  Store store(options());
  EXPECT_FALSE(store.why(key_of("one")).nearest);
  store.insert(key_of("one", "nvrtc a"), "bytes", "layer one");
  store.insert(key_of("two", "nvrtc b"), "bytes", "layer two");
  EXPECT_TRUE(store.why(key_of("one", "nvrtc a")).found);
  EXPECT_TRUE(store.why(key_of("one", "")).found);

  Store::Why why = store.why(key_of("one", "nvrtc b"), "layer one");
  EXPECT_FALSE(why.found);
  ASSERT_TRUE(why.nearest);
  EXPECT_EQ(why.nearest->head.label, "layer one");
  EXPECT_EQ(why.differences, (std::vector<FieldDifference>{{"compiler", "nvrtc a", "nvrtc b"}}));
  // Of its label rather than of its likeness.
  why = store.why(key_of("one", "nvrtc c"), "layer two");
  ASSERT_TRUE(why.nearest);
  EXPECT_EQ(why.nearest->head.label, "layer two");
  EXPECT_EQ(why.differences.size(), 2u);

  write_whole(file_of(key_of("one")), "bad");
  why = store.why(key_of("one"));
  EXPECT_FALSE(why.found);
  EXPECT_EQ(why.problem, "it is no entry of the store");
  EXPECT_EQ(store.counters(), StoreCounters());
}

TEST(StoreSize, IsReadWithItsUnit) {
  EXPECT_EQ(parse_size("1048576"), 1048576u);
  EXPECT_EQ(parse_size("512K"), 524288u);
  EXPECT_EQ(parse_size("500M"), 524288000u);
  EXPECT_EQ(parse_size("2G"), std::uint64_t{2} << 30);
  for (const char* bad : {"", "M", "-1", "1T", "1.5G", "2 G", "2GB", "99999999999999999999", "18446744073709551615G"}) {
    EXPECT_FALSE(parse_size(bad)) << bad;
  }
}

TEST(StoreSize, ComesFromTheOptionsThenTheVariable) {
  const Scratch scratch;
  const std::string folder = scratch.path().string();
  std::vector<std::string> warnings;
  const auto warn = [&](const std::string& why) { warnings.push_back(why); };
  const Variable size("CONVTGEN_CACHE_SIZE", "5M");
  EXPECT_EQ(Store({.folder = folder, .warn = warn}).limit(), 5u << 20);
  EXPECT_EQ(Store({.folder = folder, .limit = 7, .warn = warn}).limit(), 7u);
  EXPECT_TRUE(warnings.empty());
  {
    const Variable wrong("CONVTGEN_CACHE_SIZE", "much");
    EXPECT_EQ(Store({.folder = folder, .warn = warn}).limit(), 1u << 30);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("'much'"), std::string::npos);
  }
  {
    // 0 turns the folder off, and is no reason to warn.
    const Variable none("CONVTGEN_CACHE_SIZE", "0");
    Store store({.folder = folder, .warn = warn});
    EXPECT_EQ(store.get_or_make(key_of("one"), [] { return Made("made"); })->bytes, "made");
    EXPECT_EQ(store.find(key_of("one"))->bytes, "made");
    EXPECT_EQ(store.folder(), "");
    EXPECT_TRUE(files_in(scratch.path()).empty());
    EXPECT_EQ(warnings.size(), 1u);
  }
}

TEST(StoreFolder, IsWhereTheVariablesSay) {
  const Variable own("CONVTGEN_CACHE_DIR", "/own");
  const Variable cache("XDG_CACHE_HOME", "/cache");
  const Variable home("HOME", "/home/a");
  EXPECT_EQ(default_store_folder(), "/own");
  const Variable no_own("CONVTGEN_CACHE_DIR", nullptr);
  EXPECT_EQ(default_store_folder(), "/cache/convtgen");
  const Variable relative("XDG_CACHE_HOME", "cache");
  EXPECT_EQ(default_store_folder(), "/home/a/.cache/convtgen");
  const Variable no_home("HOME", nullptr);
  EXPECT_EQ(default_store_folder(), "");
}

}  // namespace
}  // namespace convtgen::testing
