// Files that are not the entries they should be.
#include <sys/stat.h>

#include <cstring>

#include "runtime/store/digest.h"
#include "tests/store/folders.h"

namespace convtgen::testing {
namespace {

class BadEntries : public ::testing::Test {
 protected:
  BadEntries() { store_.insert(key_, bytes_, "label"); }

  // Asked for as a program would: made anew, and found again.
  void expect_replaced(const std::string& what) {
    const std::uint64_t made = store_.counters().made;
    const Result<Entry> entry = store_.get_or_make(key_, [&] { return Made(bytes_); }, "label");
    ASSERT_TRUE(entry) << what;
    EXPECT_EQ(entry->bytes, bytes_) << what;
    EXPECT_EQ(store_.counters().made, made + 1) << what;
    EXPECT_EQ(read_whole(file_), whole_) << what;
  }

  // As if a store had written it: with a checksum.
  static std::string signed_file(const std::string& content) { return content + digest_of(content); }

  Scratch scratch_;
  Key key_ = key_of("source");
  std::string bytes_ = std::string(300, 'x') + std::string(100, '\0');
  std::vector<std::string> warnings_;
  Store store_{
      {.folder = scratch_.path().string(), .warn = [this](const std::string& why) { warnings_.push_back(why); }}};
  fs::path file_ = scratch_.path() / (key_.name() + ".entry");
  std::string whole_ = (store_.insert(key_, bytes_, "label"), read_whole(file_));
};

TEST_F(BadEntries, CutAtEveryLength) {
  for (std::size_t length = 0; length < whole_.size(); ++length) {
    write_whole(file_, whole_.substr(0, length));
    EXPECT_FALSE(store_.find(key_)) << length;
    if (length % 16 == 0 || length + 40 > whole_.size()) {
      expect_replaced("cut to " + std::to_string(length));
    }
  }
  write_whole(file_, whole_ + "x");
  expect_replaced("longer");
  EXPECT_EQ(store_.counters().bad, whole_.size() + store_.counters().made);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(BadEntries, WithAnyByteFlipped) {
  for (std::size_t i = 0; i < whole_.size(); ++i) {
    std::string flipped = whole_;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << i % 8));
    write_whole(file_, flipped);
    EXPECT_FALSE(store_.find(key_)) << i;
    if (i % 97 == 0) {
      expect_replaced("flipped at " + std::to_string(i));
    }
  }
}

TEST_F(BadEntries, OfALargeKernelWithEvery97thByteFlipped) {
  bytes_.assign(50'000, 'k');
  store_.insert(key_, bytes_, "label");
  whole_ = read_whole(file_);
  for (std::size_t i = 0; i < whole_.size(); i += 97) {
    std::string flipped = whole_;
    flipped[i] = static_cast<char>(flipped[i] + 1);
    write_whole(file_, flipped);
    EXPECT_FALSE(store_.find(key_)) << i;
  }
  expect_replaced("the last");
}

TEST_F(BadEntries, OfAnotherKey) {
  write_whole(file_, signed_file(encode_entry({key_of("other").fields(), "", bytes_})));
  expect_replaced("checksum twice");
  write_whole(file_, encode_entry({key_of("other").fields(), "", bytes_}));
  expect_replaced("another source");
  write_whole(file_, encode_entry({key_of("source", "nvrtc b").fields(), "", bytes_}));
  expect_replaced("another compiler");
  write_whole(file_, encode_entry({{}, "", bytes_}));
  expect_replaced("no fields");
}

TEST_F(BadEntries, WhoseLengthsLie) {
  const std::string content = whole_.substr(0, whole_.size() - Digest::kBytes);
  const std::size_t label = std::string("convtgen store 1\n").size();
  const std::size_t count = label + 8 + std::string("label").size();
  for (const std::size_t at : {label, count, count + 8, content.size() - bytes_.size() - 8}) {
    for (const std::uint64_t lie : {~std::uint64_t{0}, ~std::uint64_t{7}, std::uint64_t{1} << 63, std::uint64_t{1000},
                                    std::uint64_t{0}, std::uint64_t{3}}) {
      std::string changed = content;
      std::memcpy(changed.data() + at, &lie, sizeof lie);
      write_whole(file_, signed_file(changed));
      EXPECT_FALSE(store_.find(key_)) << at << " " << lie;
      EXPECT_EQ(store_.verify().bad.size(), 1u) << at << " " << lie;
      (void)store_.list();  // does not look at checksums
      write_whole(file_, changed);
      (void)store_.list();
    }
  }
  write_whole(file_, signed_file(content + "more"));
  expect_replaced("more after the bytes");
}

TEST_F(BadEntries, OfAnotherVersionAreLeftAloneUnderTheirOwnNames) {
  std::string next = whole_.substr(0, whole_.size() - Digest::kBytes);
  next.replace(next.find('1'), 1, "2");
  next = signed_file(next);
  // Another version's keys have other names, since its key format is among the fields.
  KeyFields fields = key_.fields();
  fields[0].value = "2";
  const fs::path other = scratch_.path() / (Key(fields).name() + ".entry");
  write_whole(other, next);
  EXPECT_EQ(store_.find(key_)->bytes, bytes_);
  EXPECT_FALSE(store_.find(Key(fields)));
  Store::Verified verified = store_.verify(true);
  EXPECT_EQ(verified.good, 1u);
  EXPECT_EQ(verified.foreign, 1u);
  EXPECT_TRUE(verified.bad.empty());
  EXPECT_EQ(store_.list().size(), 1u);
  EXPECT_EQ(read_whole(other), next);

  // Under our name it is no entry of ours.
  write_whole(file_, next);
  EXPECT_FALSE(store_.find(key_));
  expect_replaced("of another version");

  // It counts for the bound, and goes when it has not been used for long.
  set_age(other, std::chrono::hours(2000));
  const PruneReport report = store_.prune(whole_.size() + 10);
  EXPECT_EQ(report.evicted, 1u);
  EXPECT_FALSE(fs::exists(other));
  EXPECT_TRUE(store_.find(key_));
}

TEST_F(BadEntries, ThatAreNoPlainFiles) {
  // Reading a pipe that nobody writes to would wait for ever.
  fs::remove(file_);
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  EXPECT_FALSE(store_.find(key_));
  EXPECT_FALSE(store_.why(key_).found);
  expect_replaced("a pipe");

  const fs::path elsewhere = scratch_.path() / "elsewhere";
  fs::rename(file_, elsewhere);
  fs::create_symlink(elsewhere, file_);
  EXPECT_FALSE(store_.find(key_));
  expect_replaced("a link");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(file_)));

  fs::remove(file_);
  fs::create_directories(file_ / "full");
  EXPECT_FALSE(store_.find(key_));
  expect_replaced("a folder");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(file_)));
  EXPECT_TRUE(warnings_.empty());
  EXPECT_EQ(read_whole(elsewhere), whole_) << "what a link points to is left";
}

TEST_F(BadEntries, ThatAreNoPlainFilesAreToldAndSwept) {
  const Scratch other;
  const fs::path& outside = other.path();
  write_whole(outside / "kept", "bytes");
  const fs::path folder = file_.parent_path();
  const std::string name = file_.stem().string();
  const auto plant = [&] {
    fs::create_directories(folder / (name + ".lock") / "deep" / "deeper");
    fs::create_directory_symlink(outside, folder / (name + ".lock") / "deep" / "link");
    fs::create_symlink("nowhere", folder / "prune.lock");
    fs::remove_all(file_);
    ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  };
  plant();
  for (const bool remove : {false, true}) {
    const Store::Verified verified = store_.verify(remove);
    EXPECT_EQ(verified.good, 0u);
    ASSERT_EQ(verified.bad.size(), 3u);
    for (const Store::BadFile& bad : verified.bad) {
      EXPECT_EQ(bad.why, "it is no plain file") << bad.name;
    }
  }
  EXPECT_TRUE(fs::is_empty(folder));
  plant();
  EXPECT_EQ(store_.prune().swept, 2u);  // and its own lock, which it holds
  EXPECT_TRUE(fs::is_empty(folder));
  EXPECT_EQ(read_whole(outside / "kept"), "bytes");
}

TEST_F(BadEntries, ALockThatIsNoPlainFileKeepsNobodyFromLocking) {
  const fs::path lock = fs::path(file_).replace_extension(".lock");
  fs::remove(file_);
  fs::create_directories(lock / "full");
  bool locked = false;
  const auto make = [&]() -> Made {
    locked = fs::is_regular_file(fs::symlink_status(lock));
    return bytes_;
  };
  EXPECT_TRUE(store_.get_or_make(key_, make));
  EXPECT_TRUE(locked);
  EXPECT_FALSE(fs::exists(fs::symlink_status(lock)));
}

}  // namespace
}  // namespace convtgen::testing
