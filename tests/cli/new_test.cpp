#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "cli/new/activations.h"
#include "cli/new_project.h"
#include "generator/language/language.h"
#include "runtime/reference/fuse.h"
#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kDoubling = "conv_transpose2d 8 -> 4; kernel 4; stride 2; padding 1";

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

TEST(New, WritesAProjectOfTheLayer) {
  const Folder folder;
  const Outcome outcome = convtgen({"new", "a/b", "-e", kDoubling}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("a/b/main.cpp\n"));
  EXPECT_THAT(outcome.out, HasSubstr("cmake -S a/b"));
  EXPECT_THAT(names_in(folder / "a/b"),
              testing::ElementsAre("CMakeLists.txt", "README.md", "arrays.h", "layers.convt", "main.cpp"));
  EXPECT_EQ(convtgen({"fmt", "--check", folder / "a/b/layers.convt"}).exit, 0);
  for (const std::string& name : names_in(folder / "a/b")) {
    EXPECT_EQ(read(folder.path() / "a/b" / name).find('@'), std::string::npos) << name;
  }
}

TEST(New, ReadsALayerFileAndTakesSizes) {
  const Folder folder;
  const Outcome outcome =
      convtgen({"new", ".", "--layer", "-", "--input", "1x3x2"},
               {.input = "layer up { conv_transpose2d 4 -> 2; kernel 3; input 8x64x?; bias; fuse relu }",
                .folder = folder.path()});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(read(folder / "layers.convt"), HasSubstr("layer up {"));
  EXPECT_THAT(read(folder / "layers.convt"), HasSubstr("1x3x?"));
  EXPECT_THAT(read(folder / "main.cpp"), HasSubstr("kSizes(1, 3, 2)"));
  EXPECT_TRUE(fs::exists(folder / "activations.h"));
}

TEST(New, WhatIsWrongIsSaidAndNothingIsWritten) {
  struct Wrong {
    std::vector<std::string> arguments;
    std::string input;
    int exit;
    std::string message;
  };
  const std::vector<Wrong> all{
      {{"new", "made", "--layer", "conv_tranpose2d 8 -> 4; kernel 3"}, "", 1, "did you mean 'conv_transpose2d'?"},
      {{"new", "made", "--layer", "-"}, "layer a { conv_transpose2d 8 -> 4 }", 1, "<stdin>:1"},
      {{"new", "made", "--layer", "-"}, "", 1, "the file has no layer"},
      {{"new", "made", "--layer", "-"},
       "layer a { conv_transpose1d 1 -> 1; kernel 1 }\nlayer b { conv_transpose1d 1 -> 1; kernel 1 }",
       1,
       "standard input has 2 layers; a project is made of one"},
      {{"new", "made", "--layer", "conv_transpose1d 1 -> 1; kernel 1; input 0x4"}, "", 1, "the batch is 0"},
      {{"new", "made", "--layer", kDoubling, "--input", "1x2"}, "", 1, "--input '1x2'"},
      {{"new", "made"}, "", 2, "--layer is required"},
      {{"new", "--layer", kDoubling}, "", 2, "DIR is required"},
      {{"new", "full", "--layer", kDoubling}, "", 2, "full: is not empty"},
      {{"new", "file", "--layer", kDoubling}, "", 2, "file: is no folder"},
      {{"new", "file/made", "--layer", kDoubling}, "", 2, "file/made: "},
  };
  for (const Wrong& wrong : all) {
    const Folder folder;
    fs::create_directory(folder / "full");
    write(folder / "full/kept", "as it was");
    write(folder / "file", "as it was");
    const Outcome outcome = convtgen(wrong.arguments, {.input = wrong.input, .folder = folder.path()});
    EXPECT_EQ(outcome.exit, wrong.exit) << wrong.message;
    EXPECT_THAT(outcome.err, HasSubstr(wrong.message));
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(names_in(folder.path()), testing::ElementsAre("file", "full")) << wrong.message;
    EXPECT_THAT(names_in(folder / "full"), testing::ElementsAre("kept"));
  }
}

TEST(New, AFileThatCantBeWrittenLeavesNothing) {
  const Folder folder;
  // A name in the folder that no file can have: the path is too long by then.
  const std::string deep = "new/" + std::string(250, 'd');
  fs::create_directory(folder / "new");
  std::string path = deep;
  while (path.size() + 20 < 4096 - 8 - 250) {
    path += "/" + std::string(250, 'd');
  }
  path += "/" + std::string(4096 - 16 - path.size(), 'e');
  const Outcome outcome = convtgen({"new", path, "--layer", kDoubling}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_NE(outcome.err, "");
  EXPECT_THAT(names_in(folder / "new"), testing::IsEmpty());
}

TEST(New, OpenSizesAreSmallOnesWithOutputs) {
  const auto sizes_of = [](const std::string& text) { return cli::small_sizes(parse_layer(text).value()); };
  EXPECT_EQ(sizes_of("conv_transpose2d 1 -> 1; kernel 3"), (InputSizes{2, {5, 6}}));
  EXPECT_EQ(sizes_of("conv_transpose2d 1 -> 1; kernel 3; padding 20x0; input 7x?x3"), (InputSizes{7, {39, 3}}));
  EXPECT_EQ(sizes_of("conv_transpose1d 1 -> 1; kernel 1; stride 3; padding 1000000000"),
            (InputSizes{2, {1, 666666668}}));
}

TEST(New, ItsActivationsAreTheDefinition) {
  for (const ActivationKind kind : all_activations()) {
    const Activation step{kind, 0.25, 1.5};
    for (double v = -30; v <= 30; v += 0.125) {
      const double expected = activate(step, v);
      const double got = [&] {
        namespace a = activations;
        switch (kind) {
          case ActivationKind::kRelu:
            return a::relu(v);
          case ActivationKind::kLeakyRelu:
            return a::leaky_relu(v, step.a);
          case ActivationKind::kGelu:
            return a::gelu(v);
          case ActivationKind::kGeluTanh:
            return a::gelu_tanh(v);
          case ActivationKind::kSilu:
            return a::silu(v);
          case ActivationKind::kMish:
            return a::mish(v);
          case ActivationKind::kTanh:
            return a::tanh(v);
          case ActivationKind::kSigmoid:
            return a::sigmoid(v);
          case ActivationKind::kHardtanh:
            return a::hardtanh(v, step.a, step.b);
          case ActivationKind::kClamp:
            return a::clamp(v, step.a, step.b);
          case ActivationKind::kScale:
            return a::scale(v, step.a);
          case ActivationKind::kAdd:
            return a::add(v, step.a);
          case ActivationKind::kElu:
            return a::elu(v, step.a);
        }
        return expected + 1;
      }();
      EXPECT_NEAR(got, expected, 1e-14 * std::max(1.0, std::abs(v))) << name_of(kind) << " of " << v;
    }
  }
}

TEST(New, EveryActivationHasAFunctionOfItsName) {
  for (const ActivationKind kind : all_activations()) {
    NamedLayer layer{"layer", parse_layer(kDoubling).value()};
    layer.layer.fuse = {{kind, 0.5, 1}};
    std::string main, functions;
    for (const auto& [name, text] : cli::project_files(layer, cli::small_sizes(layer.layer))) {
      (name == "main.cpp" ? main : name == "activations.h" ? functions : layer.name) = text;
    }
    EXPECT_THAT(main, HasSubstr("activations::" + std::string(name_of(kind)) + "(v"));
    EXPECT_THAT(functions, HasSubstr("inline double " + std::string(name_of(kind)) + "(double v"));
  }
}

}  // namespace
}  // namespace convtgen::test
