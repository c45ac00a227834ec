#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::vector<std::string> kSeeds{"asymmetric",      "upsample",           "upsample_f64", "strided",
                                      "strided_grouped", "asymmetric_dynamic", "unpadded"};

TEST(Emit, OneFileALayer) {
  const Folder folder;
  const Outcome outcome = convtgen({"emit", seeds(), "-o", "out/deep"}, {.folder = folder.path()});
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  std::string listed;
  for (const std::string& name : kSeeds) {
    listed += "out/deep/" + name + ".cu\n";
    const std::string source = read(folder / ("out/deep/" + name + ".cu"));
    EXPECT_THAT(source, StartsWith("// conv_transpose2d "));
    EXPECT_THAT(source, HasSubstr("__global__"));
    EXPECT_THAT(source, Not(HasSubstr("#include")));
    EXPECT_THAT(source, Not(HasSubstr(folder.path().string())));
  }
  EXPECT_EQ(outcome.out, listed);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "out/deep"), {}), 7);
}

TEST(Emit, SameBytesEveryTimeAndByEveryWay) {
  const Folder folder;
  const std::string file = convtgen({"emit", seeds(), "--layer", "strided"}).out;
  EXPECT_EQ(convtgen({"emit", seeds(), "--layer", "strided"}).out, file);
  ASSERT_EQ(convtgen({"emit", seeds(), "--layer", "strided", "-o", folder.path().string()}).exit, 0);
  EXPECT_EQ(read(folder / "strided.cu"), file);
  EXPECT_EQ(convtgen({"emit", "-", "--layer", "strided"}, {.input = read(seeds())}).out, file);
  EXPECT_EQ(convtgen({"emit", "-e",
                      "conv_transpose2d 32 -> 48; kernel 3x7; stride 2x3; padding 1x2; output_padding 1x2; bias; "
                      "input 4x40x60"})
                .out,
            file);
}

TEST(Emit, TheArchitectureIsInTheSource) {
  EXPECT_THAT(convtgen({"emit", seeds(), "--layer", "strided"}).out, HasSubstr("sm_90a"));
  EXPECT_THAT(convtgen({"emit", seeds(), "--layer", "strided", "--arch", "sm_75"}).out, HasSubstr("sm_75"));
}

TEST(Emit, NothingIsWrittenUnlessAllSucceed) {
  const Folder folder;
  write(folder / "a.convt",
        "layer good { conv_transpose2d 4 -> 2; kernel 3 }\n"
        "layer later { conv_transpose2d 4 -> 2; kernel 3; directions grad_input }\n");
  const Outcome outcome = convtgen({"emit", "a.convt", "-o", "out"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("layer 'later': "));
  EXPECT_THAT(outcome.err, HasSubstr("grad_input"));
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  EXPECT_EQ(convtgen({"emit", "a.convt", "-o", "out", "--direction", "forward"}, {.folder = folder.path()}).exit, 0);
}

TEST(Emit, OutputsThatCantBeWritten) {
  const Folder folder;
  write(folder / "taken", "");
  const Outcome outcome = convtgen({"emit", seeds(), "-o", "taken"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_THAT(outcome.err, HasSubstr("taken"));
  const Outcome twice = convtgen({"emit", seeds(), seeds(), "-o", "out"}, {.folder = folder.path()});
  EXPECT_EQ(twice.exit, 2);
  EXPECT_THAT(twice.err, HasSubstr("asymmetric.cu: two outputs have this name"));
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

TEST(Emit, UnknownLayersGetASuggestion) {
  const Outcome outcome = convtgen({"emit", seeds(), "--layer", "upsampel"});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_THAT(outcome.err, HasSubstr("did you mean 'upsample'?"));
  EXPECT_THAT(outcome.err, HasSubstr("unpadded"));
}

}  // namespace
}  // namespace convtgen::test
