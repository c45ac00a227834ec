// Entries in memory: bounded, the oldest first.
#include "runtime/store/memory.h"

#include "tests/store/folders.h"

namespace convtgen::testing {
namespace {

Entry entry_of(const Key& key, std::size_t bytes) {
  return {key.fields(), "", std::string(bytes, 'x')};
}

TEST(MemoryEntriesTest, KeepsTheNewestWithinItsBound) {
  MemoryEntries entries(4000);
  const auto insert = [&](const std::string& source, std::size_t bytes) {
    entries.insert(key_of(source).name(), entry_of(key_of(source), bytes));
  };
  for (int i = 0; i < 10; ++i) {
    insert("0", 1500);  // one entry, however often
  }
  insert("1", 1500);
  EXPECT_TRUE(entries.find(key_of("0")));
  EXPECT_TRUE(entries.find(key_of("1")));
  EXPECT_TRUE(entries.find(key_of("1", "")));
  EXPECT_FALSE(entries.find(key_of("1", "nvrtc b")));
  insert("2", 1500);
  EXPECT_FALSE(entries.find(key_of("0")));
  EXPECT_TRUE(entries.find(key_of("1")));
  EXPECT_TRUE(entries.find(key_of("2")));
  insert("large", 10'000);
  EXPECT_TRUE(entries.find(key_of("large")));
  EXPECT_EQ(entries.size(), 1u);
  insert("3", 100);
  EXPECT_EQ(entries.size(), 1u);
  EXPECT_TRUE(entries.find(key_of("3")));
  entries.clear();
  EXPECT_EQ(entries.size(), 0u);
  EXPECT_FALSE(entries.find(key_of("3")));
}

}  // namespace
}  // namespace convtgen::testing
