#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
