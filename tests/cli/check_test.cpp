#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

using testing::HasSubstr;

constexpr const char* kWrong = "layer a {\n  conv_transpose2d 4 -> 2\n  kernel 3x3\n  pading 1x1\n  strid 2x2\n}\n";

TEST(Check, RightFilesPass) {
  const Outcome outcome = convtgen({"check", seeds()});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "7 layers: no errors\n");
  EXPECT_EQ(outcome.err, "");
}

TEST(Check, AllErrorsOfAllFilesAreTold) {
  const Folder folder;
  write(folder / "a.convt", kWrong);
  write(folder / "b.convt", "layer b { conv_transpose2d 4 - 2; kernel 3 }\n");
  const Outcome outcome = convtgen({"check", "a.convt", seeds(), "b.convt"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("a.convt:4:3: error: unknown property 'pading'; did you mean 'padding'?"));
  EXPECT_THAT(outcome.err, HasSubstr("a.convt:5:3: error: unknown property 'strid'; did you mean 'stride'?"));
  EXPECT_THAT(outcome.err, HasSubstr("b.convt:1:"));
  EXPECT_THAT(outcome.err, HasSubstr("^~~~~~"));
}

TEST(Check, JsonIsOneArray) {
  const Folder folder;
  write(folder / "a.convt", kWrong);
  write(folder / "b.convt", "layer b { conv_transpose2d 4 - 2; kernel 3 }\n");
  const Outcome outcome = convtgen({"check", "--diagnostics=json", "a.convt", "b.convt"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_EQ(outcome.err, "");
  const auto json = nlohmann::json::parse(outcome.out);
  ASSERT_TRUE(json.is_array());
  ASSERT_GE(json.size(), 3U);
  EXPECT_EQ(json[0].at("file"), "a.convt");
  EXPECT_EQ(json[0].at("line"), 4);
  EXPECT_EQ(json[0].at("column"), 3);
  EXPECT_EQ(json[0].at("length"), 6);
  EXPECT_EQ(json[0].at("suggestion"), "padding");
  EXPECT_EQ(json.back().at("file"), "b.convt");
  EXPECT_EQ(convtgen({"check", "--diagnostics=json", seeds()}).out, "[]\n");
  EXPECT_EQ(convtgen({"check", "--diagnostics=xml", seeds()}).exit, 2);
}

TEST(Check, LayersWithoutAKernelAreErrors) {
  const Folder folder;
  write(folder / "a.convt",
        "layer a { conv_transpose2d 4 -> 2; kernel 3 }\n\n  layer b {\n conv_transpose2d 4 -> 2\n kernel 1\n stride "
        "30000 "
        "}\nlayer c { conv_transpose2d 4 -> 2; kernel 3; directions forward, grad_weight }\n"
        "layer d { conv_transpose2d 4 -> 2; pading 1 }\n");
  const Outcome outcome = convtgen({"check", "a.convt"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("a.convt:3:9: error: there is no forward kernel for this layer: stride "));
  EXPECT_THAT(outcome.err, HasSubstr("a.convt:7:7: error: there is no grad_weight kernel for this layer: "));
  EXPECT_THAT(outcome.err, HasSubstr("a.convt:8:36: error: unknown property 'pading'"));
  const Outcome text = convtgen({"check", "-e", "conv_transpose2d 4 -> 2; kernel 1; stride 30000"});
  EXPECT_EQ(text.exit, 1);
  EXPECT_THAT(text.err, HasSubstr("<-e>:1:1: error: there is no forward kernel"));
}

TEST(Check, StandardInputAndTextOnTheCommandLine) {
  const Outcome input = convtgen({"check", "-"}, {.input = kWrong});
  EXPECT_EQ(input.exit, 1);
  EXPECT_THAT(input.err, HasSubstr("<stdin>:4:3: error: "));
  EXPECT_EQ(convtgen({"check", "-e", "conv_transpose2d 4 -> 2; kernel 3"}).exit, 0);
  const Outcome text = convtgen({"check", "-e", "conv_transpose2d 4 -> 2; kernel 0"});
  EXPECT_EQ(text.exit, 1);
  EXPECT_THAT(text.err, HasSubstr("<-e>:1:"));
  EXPECT_EQ(
      convtgen({"check", "-e", "conv_transpose2d 4 -> 2; kernel 3", "-e", "conv_transpose2d 4 -> 2; kernel 5"}).out,
      "2 layers: no errors\n");
  EXPECT_EQ(convtgen({"check", seeds(), "-e", "conv_transpose2d 4 -> 2; kernel 3"}).exit, 2);
}

TEST(Check, MissingFilesAreWrongUsage) {
  const Outcome missing = convtgen({"check", "nowhere.convt"});
  EXPECT_EQ(missing.exit, 2);
  EXPECT_THAT(missing.err, HasSubstr("nowhere.convt: can't be read: No such file"));
  EXPECT_THAT(convtgen({"check", "/"}).err, HasSubstr("a folder"));
  const Outcome nothing = convtgen({"check"});
  EXPECT_EQ(nothing.exit, 2);
  EXPECT_THAT(nothing.err, HasSubstr("no layers"));
}

}  // namespace
}  // namespace convtgen::test
