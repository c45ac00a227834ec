#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

using testing::HasSubstr;

constexpr const char* kUntidy = "# why\nlayer   a{ conv_transpose2d 4->2;kernel 3x3 # odd\n stride   2x2 }\n";

TEST(Fmt, PrintsTheOneForm) {
  const Outcome once = convtgen({"fmt", "-"}, {.input = kUntidy});
  EXPECT_EQ(once.exit, 0) << once.err;
  EXPECT_NE(once.out, kUntidy);
  EXPECT_THAT(once.out, HasSubstr("# why"));
  EXPECT_THAT(once.out, HasSubstr("# odd"));
  EXPECT_EQ(convtgen({"fmt", "-"}, {.input = once.out}).out, once.out);
}

TEST(Fmt, CheckAndInPlace) {
  const Folder folder;
  write(folder / "a.convt", kUntidy);
  const Outcome before = convtgen({"fmt", "--check", "a.convt"}, {.folder = folder.path()});
  EXPECT_EQ(before.exit, 1);
  EXPECT_EQ(before.out, "a.convt: not formatted\n");
  EXPECT_EQ(read(folder / "a.convt"), kUntidy);
  const Outcome in_place = convtgen({"fmt", "-i", "a.convt"}, {.folder = folder.path()});
  EXPECT_EQ(in_place.exit, 0);
  EXPECT_EQ(in_place.out, "");
  EXPECT_EQ(read(folder / "a.convt"), convtgen({"fmt", "-"}, {.input = kUntidy}).out);
  EXPECT_EQ(convtgen({"fmt", "--check", "a.convt"}, {.folder = folder.path()}).exit, 0);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Fmt, InPlaceKeepsModesAndWritesThroughLinks) {
  namespace fs = std::filesystem;
  const Folder folder;
  const std::string tidy = convtgen({"fmt", "-"}, {.input = kUntidy}).out;
  fs::create_directory(folder / "real");
  fs::create_directory(folder / "links");
  write(folder / "real/a.convt", kUntidy);
  constexpr fs::perms kMode = fs::perms::owner_read | fs::perms::owner_write | fs::perms::owner_exec;
  fs::permissions(folder / "real/a.convt", kMode);
  fs::create_symlink("../real/a.convt", folder / "links/near.convt");
  fs::create_symlink(folder / "links/near.convt", folder / "far.convt");
  fs::create_hard_link(folder / "real/a.convt", folder / "hard.convt");
  const Outcome outcome = convtgen({"fmt", "-i", "far.convt"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_TRUE(fs::is_symlink(folder / "far.convt"));
  EXPECT_TRUE(fs::is_symlink(folder / "links/near.convt"));
  EXPECT_EQ(read(folder / "real/a.convt"), tidy);
  EXPECT_EQ(fs::status(folder / "real/a.convt").permissions(), kMode);
  EXPECT_EQ(read(folder / "hard.convt"), kUntidy) << "replaced at once, as sed -i does, never written over";
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "real"), {}), 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "links"), {}), 1);
}

TEST(Fmt, AFileThatMayNotBeWrittenToStays) {
  namespace fs = std::filesystem;
  const Folder folder;
  write(folder / "a.convt", kUntidy);
  fs::permissions(folder / "a.convt", fs::perms::owner_read);
  const bool may = access((folder / "a.convt").c_str(), W_OK) == 0;  // root may all
  const Outcome outcome = convtgen({"fmt", "-i", "a.convt"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit, may ? 0 : 2);
  EXPECT_EQ(outcome.err, may ? "" : "convtgen: error: a.convt: can't be written: Permission denied\n");
  EXPECT_EQ(read(folder / "a.convt") == kUntidy, !may);
  EXPECT_EQ(fs::status(folder / "a.convt").permissions(), fs::perms::owner_read);
}

TEST(Fmt, ShowsAsManyErrorsAsAreAskedFor) {
  std::string wrong = "layer a {\n";
  for (int i = 0; i < 30; ++i) {
    wrong += "  @\n";
  }
  EXPECT_THAT(convtgen({"fmt", "-"}, {.input = wrong}).err, HasSubstr("more errors are not shown"));
  EXPECT_THAT(convtgen({"fmt", "--error-limit", "0", "-"}, {.input = wrong}).err, HasSubstr("<stdin>:31:3: error: "));
}

TEST(Fmt, WrongFilesAreLeftAsTheyAre) {
  const Folder folder;
  write(folder / "a.convt", "layer a { kernel }\n");
  const Outcome outcome = convtgen({"fmt", "-i", "a.convt"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("a.convt:1:"));
  EXPECT_EQ(read(folder / "a.convt"), "layer a { kernel }\n");
}

TEST(Fmt, WrongUsage) {
  EXPECT_EQ(convtgen({"fmt"}).exit, 2);
  EXPECT_EQ(convtgen({"fmt", "-i", "-"}).exit, 2);
  EXPECT_EQ(convtgen({"fmt", "-i", "--check", seeds()}).exit, 2);
  EXPECT_EQ(convtgen({"fmt", "nowhere.convt"}).exit, 2);
}

}  // namespace
}  // namespace convtgen::test
