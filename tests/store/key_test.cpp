// What makes another key, and how two keys' differences are printed.
#include <gtest/gtest.h>

#include <clocale>
#include <set>

#include "runtime/store/digest.h"
#include "tests/store/folders.h"

namespace convtgen::testing {
namespace {

TEST(Digest, IsSha256) {
  EXPECT_EQ(hex_of(digest_of("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex_of(digest_of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(KeyTest, IsTheSameInEveryProcess) {
  // A change of these loses every user's entries: only with another kKeyFormat.
  const Key key = key_of("source");
  EXPECT_EQ(key.fields(), (KeyFields{{"format", "1"},
                                     {"kind", "cubin"},
                                     {"source", "source"},
                                     {"architecture", "sm_90a"},
                                     {"compiler", "nvrtc a"},
                                     {"option", "--std=c++17"}}));
  const std::string text =
      "6:format1:14:kind5:cubin6:source6:source12:architecture6:sm_90a8:compiler7:nvrtc a6:option11:--std=c++17";
  EXPECT_EQ(key.hex(), hex_of(digest_of(text)));
  const std::string family = "6:format1:14:kind5:cubin6:source6:source12:architecture6:sm_90a6:option11:--std=c++17";
  EXPECT_EQ(key.family(), hex_of(digest_of(family)));
  EXPECT_EQ(key.name(), key.family() + "-" + key.hex().substr(0, 16));
}

TEST(KeyTest, EveryFieldMakesAnother) {
  std::set<std::string> names;
  std::size_t count = 0;
  const auto add = [&](const Key& key) {
    names.insert(key.hex());
    ++count;
  };
  for (const EntryKind kind :
       {EntryKind::kCubin, EntryKind::kPtx, EntryKind::kHostLibrary, EntryKind::kTuningRecord, EntryKind::kChoice}) {
    add(kernel_key(kind, "s", "sm_90a", "c", {"o"}));
  }
  add(kernel_key(EntryKind::kCubin, "t", "sm_90a", "c", {"o"}));
  add(kernel_key(EntryKind::kCubin, "s", "sm_90", "c", {"o"}));
  add(kernel_key(EntryKind::kCubin, "s", "sm_90a", "d", {"o"}));
  add(kernel_key(EntryKind::kCubin, "s", "sm_90a", "", {"o"}));
  add(kernel_key(EntryKind::kCubin, "s", "sm_90a", "c", {}));
  add(kernel_key(EntryKind::kCubin, "s", "sm_90a", "c", {"o", "p"}));
  add(kernel_key(EntryKind::kCubin, "s", "sm_90a", "c", {"p", "o"}));
  add(kernel_key(EntryKind::kCubin, "s", "sm_90a", "c", {"op"}));
  add(kernel_key(EntryKind::kCubin, "ssm_", "90a", "c", {"o"}));
  // What stands in one field can't be mistaken for another.
  add(kernel_key(EntryKind::kCubin, "s", "sm_90a", "c6:option1:o", {}));
  add(Key(EntryKind::kTuningRecord, {{"a", "b"}, {"c", "d"}}));
  add(Key(EntryKind::kTuningRecord, {{"c", "d"}, {"a", "b"}}));
  add(Key(EntryKind::kTuningRecord, {{"a", "b1:c1:d"}}));
  EXPECT_EQ(names.size(), count);
}

TEST(KeyTest, DoesNotDependOnTheSurroundings) {
  const std::string before = key_of("source").name();
  const Variable language("LC_ALL", "de_DE.UTF-8");
  const Variable zone("TZ", "Asia/Tokyo");
  const Variable folder("CONVTGEN_CACHE_DIR", "/elsewhere");
  const std::string old = std::setlocale(LC_ALL, nullptr);
  std::setlocale(LC_ALL, "");
  const std::string after = key_of("source").name();
  std::setlocale(LC_ALL, old.c_str());
  EXPECT_EQ(after, before);
}

TEST(KeyTest, WithoutACompilerAnyServes) {
  const Key any = key_of("source", "");
  EXPECT_TRUE(any.any_compiler());
  EXPECT_EQ(any.family(), key_of("source", "nvrtc b").family());
  EXPECT_TRUE(any.accepts(key_of("source", "nvrtc b").fields()));
  EXPECT_FALSE(any.accepts(key_of("other", "nvrtc b").fields()));
  const Key one = key_of("source", "nvrtc a");
  EXPECT_FALSE(one.any_compiler());
  EXPECT_TRUE(one.accepts(one.fields()));
  EXPECT_FALSE(one.accepts(key_of("source", "nvrtc b").fields()));
  EXPECT_FALSE(one.accepts(any.fields()));
  EXPECT_EQ(one.field("architecture"), "sm_90a");
  EXPECT_EQ(one.field("nothing"), "");
}

TEST(KeyTest, DifferencesAreTold) {
  EXPECT_TRUE(differences(key_of("s").fields(), key_of("s").fields()).empty());
  EXPECT_EQ(differences(key_of("s", "nvrtc a").fields(), key_of("s", "nvrtc b").fields()),
            (std::vector<FieldDifference>{{"compiler", "nvrtc a", "nvrtc b"}}));
  const std::string recorded = "int a;\nint b;\nint c;\n";
  const std::string wanted = "int a;\nint b;\nlong c;\n";
  const auto found = differences(key_of(recorded).fields(), key_of(wanted).fields());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].recorded, "sha256 " + hex_of(digest_of(recorded)).substr(0, 12) + ", line 3: int c;");
  EXPECT_EQ(found[0].wanted, "sha256 " + hex_of(digest_of(wanted)).substr(0, 12) + ", line 3: long c;");
  // One is the beginning of the other.
  const auto longer = differences({{"source", "a\nb"}}, {{"source", "a\nb\nc"}});
  ASSERT_EQ(longer.size(), 1u);
  EXPECT_NE(longer[0].recorded.find("line 2: b"), std::string::npos) << longer[0].recorded;
  EXPECT_EQ(differences({{"a", "1"}, {"o", "x"}, {"o", "y"}}, {{"b", "2"}, {"o", "x"}, {"o", "z"}}),
            (std::vector<FieldDifference>{{"b", "none", "2"}, {"o", "y", "z"}, {"a", "1", "none"}}));
}

}  // namespace
}  // namespace convtgen::testing
