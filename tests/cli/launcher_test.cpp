#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kLayers =
    "layer up { conv_transpose2d 4 -> 2; kernel 3 }\n"
    "layer while { conv_transpose2d 4 -> 2; kernel 5 }\n";

/// Runs `launcher layers.convt --namespace net` in a folder that has that file.
Outcome launcher(const Folder& folder, const std::vector<std::string>& words) {
  write(folder / "layers.convt", kLayers);
  std::vector<std::string> command{"launcher", "layers.convt", "--namespace", "net"};
  command.insert(command.end(), words.begin(), words.end());
  return convtgen(command, {.folder = folder.path()});
}

TEST(Launcher, WritesWhatIsAskedFor) {
  const Folder folder;
  const std::string shared = "out/net.h\nout/net_support.h\nout/net_support.c\n";
  EXPECT_EQ(launcher(folder, {"-o", "out"}).out, shared + "out/net_up_forward.c\nout/net_while_forward.c\n");
  EXPECT_EQ(launcher(folder, {"-o", "out", "--shared-only"}).out, shared);
  EXPECT_EQ(launcher(folder, {"-o", "out", "--layer", "while", "--direction", "forward"}).out,
            "out/net_while_forward.c\n");
  EXPECT_EQ(launcher(folder, {"-o", "out", "--shared-only", "--direction", "forward"}).out, shared);
  EXPECT_EQ(launcher(folder, {"-o", "out", "--layer", "while", "--host"}).out,
            "out/net_while_forward.c\nout/net_while_forward_host.c\n");
  EXPECT_EQ(launcher(folder, {"-o", "src", "--format", "source", "--header", "layers.h"}).out,
            "src/layers.h\nsrc/net_support.h\nsrc/net_support.cu\nsrc/net_up_forward.cu\nsrc/net_while_forward.cu\n");
}

TEST(Launcher, ALayersFilesDependOnThatLayerAlone) {
  const Folder folder;
  ASSERT_EQ(launcher(folder, {"-o", "all"}).exit, 0);
  write(folder / "one.convt", "layer while { conv_transpose2d 4 -> 2; kernel 5 }\n");
  ASSERT_EQ(convtgen({"launcher", "one.convt", "--namespace", "net", "--layer", "while", "-o", "one"},
                     {.folder = folder.path()})
                .exit,
            0);
  EXPECT_EQ(read(folder / "all/net_while_forward.c"), read(folder / "one/net_while_forward.c"));
  write(folder / "changed.convt",
        "layer up { conv_transpose2d 8 -> 2; kernel 3 }\nlayer while { conv_transpose2d 4 -> 2; kernel 7 }\n");
  ASSERT_EQ(
      convtgen({"launcher", "changed.convt", "--namespace", "net", "-o", "changed"}, {.folder = folder.path()}).exit,
      0);
  for (const std::string file : {"net_support.c", "net_support.h"}) {
    EXPECT_EQ(read(folder / ("all/" + file)), read(folder / ("changed/" + file))) << file;
  }
}

TEST(Launcher, Depfile) {
  const Folder folder;
  ASSERT_EQ(launcher(folder, {"-o", "out", "--shared-only", "--depfile", "net.d", "--manifest", "net.json"}).exit, 0);
  EXPECT_THAT(read(folder / "net.d"), StartsWith("out/net.h out/net_support.h out/net_support.c: \\\n  layers.convt"));
  EXPECT_THAT(read(folder / "net.json"), AllOf(HasSubstr("\"layer\": \"while\""), Not(HasSubstr("\"file\""))));
}

TEST(Launcher, WrongUsage) {
  const Folder folder;
  const auto expect = [&](const std::vector<std::string>& words, int exit, const std::string& message) {
    const Outcome outcome = launcher(folder, words);
    EXPECT_EQ(outcome.exit, exit) << message;
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  };
  expect({"-o", "out", "--shared-only", "--layer", "up"}, 2, "--shared-only is for the whole set");
  expect({"-o", "out", "--header", "net.hpp"}, 2, "header 'net.hpp'");
  expect({"-o", "out", "--arch", "compute_90a"}, 2, "compute_80");
  expect({"-o", "out", "--direction", "grad_input"}, 1,
         "layer 'up': directions: the layer has forward, and a kernel for grad_input");
  expect({"-o", "out", "--direction", "forward", "--direction", "grad_weight"}, 1,
         "a kernel for grad_weight is wanted");
  expect({"-o", "out", "layers.convt"}, 2, "layer 'up' is in the set twice");
  const Outcome word = convtgen({"launcher", seeds(), "--namespace", "class"});
  EXPECT_EQ(word.exit, 2);
  EXPECT_THAT(word.err, HasSubstr("namespace 'class': that is a word of C or C++"));
  EXPECT_THAT(convtgen({"launcher", seeds()}).err, HasSubstr("--namespace"));
}

}  // namespace
}  // namespace convtgen::test
