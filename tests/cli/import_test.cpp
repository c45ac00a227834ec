#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/npy.h"
#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

using testing::HasSubstr;

namespace fs = std::filesystem;

std::string model(const std::string& name) {
  return std::string(CONVTGEN_ONNX_MODELS "/") + name;
}

TEST(Import, WritesLayersAndWeights) {
  const Folder folder;
  const Outcome outcome =
      convtgen({"import", model("decoder.onnx"), "-o", "out/l.convt", "--weights", "w"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("taken      dec_0_up  conv_transpose2d 8 -> 4; kernel 4x4;"));
  EXPECT_THAT(
      outcome.out,
      HasSubstr("\n           node /dec/0/up\n           fused into the input: before\n           fused: after\n"));
  EXPECT_THAT(outcome.out, HasSubstr("2 taken, 0 not\n\nNext:\n  convtgen check out/l.convt\n"));
  EXPECT_THAT(outcome.out, HasSubstr("  convtgen run out/l.convt --layer dec_0_up --input 1x8x6 --w "
                                     "w/dec_0_up.weight.npy --bias w/dec_0_up.bias.npy\n"));
  EXPECT_EQ(convtgen({"check", folder / "out/l.convt"}).out, "2 layers: no errors\n");
  EXPECT_THAT(read(folder / "out/l.convt"), HasSubstr("# Node /dec/0/up: x is 'c1', y is 'u1'\nlayer dec_0_up {\n"));
  const auto weight = cli::read_npy(folder / "w/dec_0_up.weight.npy", Dtype::kF32);
  ASSERT_TRUE(weight) << weight.error().message;
  EXPECT_EQ(weight->shape, (std::vector<std::int64_t>{8, 4, 4, 4}));
  EXPECT_FALSE(fs::exists(folder / "w/dec_1_up.bias.npy"));
}

TEST(Import, WithoutAFilePrintsTheLayers) {
  const Outcome outcome = convtgen({"import", model("parts.onnx")});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.out, HasSubstr("layer taken {\n  conv_transpose1d 2 -> 3\n"));
  EXPECT_THAT(outcome.err,
              HasSubstr("convtgen: warning: node computed is not taken: W ww: is computed: 'square' (Mul)"));
  const Outcome piped = convtgen({"import", "-"}, {.input = read(model("parts.onnx"))});
  EXPECT_EQ(piped.exit, 1);
  EXPECT_THAT(piped.out, HasSubstr("layer taken {\n"));
}

TEST(Import, AutoPadAsOnnxRuntimeTakesWhatIsContradictory) {
  const Outcome standard = convtgen({"import", model("contradictions.onnx"), "--json"});
  const Outcome runtime = convtgen({"import", model("contradictions.onnx"), "--json", "--auto-pad-as", "onnxruntime"});
  EXPECT_EQ(nlohmann::json::parse(standard.out).at("not_taken").size(), 3U);
  const auto rows = nlohmann::json::parse(runtime.out);
  ASSERT_EQ(rows.at("not_taken").size(), 1U);  // a layer can't add as much at its end
  EXPECT_EQ(rows.at("not_taken").at(0).at("node"), "larger");
  EXPECT_THAT(rows.dump(), HasSubstr("kernel 3; stride 2; padding 1; output_padding 1; input 1x3; dtype f32; compute "
                                     "f32; layout nchw\",\"name\":\"added\""));
  EXPECT_EQ(convtgen({"import", model("decoder.onnx"), "--auto-pad-as", "tensorrt"}).exit, 2);
}

TEST(Import, WhatIsNoModelIsAnError) {
  const Folder folder;
  write(folder / "a.onnx", "no model");
  const Outcome outcome = convtgen({"import", folder / "a.onnx", "-o", folder / "l.convt"});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("a.onnx: not an ONNX model"));
  EXPECT_FALSE(fs::exists(folder / "l.convt"));
  EXPECT_EQ(convtgen({"import", folder / "missing.onnx"}).exit, 2);
}

/// A folder with external.onnx, whose data is `location` there.
class ExternalData : public testing::Test {
 protected:
  /// What `import` reports where external.data is called something else of the same length.
  std::string error_with(const std::string& location) {
    std::string bytes = read(model("external.onnx"));
    const std::string old = "external.data";
    EXPECT_EQ(location.size(), old.size());
    for (std::size_t at = 0; (at = bytes.find(old, at)) != std::string::npos; at += old.size()) {
      bytes.replace(at, old.size(), location);
    }
    write(folder_ / "model/m.onnx", bytes);
    const Outcome outcome = convtgen({"import", folder_ / "model/m.onnx", "--weights", folder_ / "w"});
    EXPECT_EQ(outcome.exit == 0, outcome.err.empty());
    EXPECT_EQ(outcome.exit == 0, fs::exists(folder_.path() / "w/up.weight.npy"));
    return outcome.err;
  }
  void SetUp() override {
    fs::create_directories(folder_.path() / "model");
    data_ = read(model("external.data"));
    write(folder_ / "model/external.data", data_);
    write(folder_ / "outside.data_", data_);
  }

  Folder folder_;
  std::string data_;
};

TEST_F(ExternalData, IsReadFromTheModelsFolder) {
  EXPECT_EQ(error_with("external.data"), "");
  const auto weight = cli::read_npy(folder_ / "w/up.weight.npy", Dtype::kF32);
  ASSERT_TRUE(weight) << weight.error().message;
  EXPECT_EQ(weight->shape, (std::vector<std::int64_t>{4, 3, 5}));
  float first = 0;
  std::memcpy(&first, weight->bytes.data() + 4, sizeof first);
  EXPECT_EQ(first, 1);  // 0.5, 1, 1.5, ...
  fs::create_symlink("external.data", folder_.path() / "model/link_inside_b");
  EXPECT_EQ(error_with("link_inside_b"), "");
}

TEST_F(ExternalData, OutsideOfTheFolderIsRefused) {
  EXPECT_THAT(error_with("../outside.da"), HasSubstr("'../outside.da' leads out of the model's folder"));
  EXPECT_THAT(error_with("a/../b/../c.d"), HasSubstr("leads out of the model's folder"));
  EXPECT_THAT(error_with("/tmp/abcdefgh"), HasSubstr("'/tmp/abcdefgh' leads out of the model's folder"));
  fs::create_symlink(folder_ / "outside.data_", folder_.path() / "model/link_outside_");
  fs::create_symlink(folder_.path(), folder_.path() / "model/up");
  fs::rename(folder_ / "outside.data_", folder_ / "outside_da");
  fs::create_symlink(folder_ / "outside_da", folder_.path() / "model/link_outside");
  EXPECT_THAT(error_with("up/outside_da"), HasSubstr("is a link that leads out of the model's folder"));
  fs::create_symlink(folder_ / "outside_da", folder_.path() / "model/link_outside1");
  EXPECT_THAT(error_with("link_outside1"), HasSubstr("is a link that leads out of the model's folder"));
}

TEST_F(ExternalData, OfStandardInputHasNoFolder) {
  const Outcome outcome = convtgen({"import", "-", "--weights", folder_ / "w"},
                                   {.input = read(model("external.onnx")), .folder = folder_ / "model"});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("layer 'up', weight: is in another file, and standard input has no folder"));
}

TEST_F(ExternalData, ThatIsMissingOrTooShortIsAnError) {
  EXPECT_THAT(error_with("no_such_files"), HasSubstr("'no_such_files' can't be read: No such file"));
  EXPECT_THAT(error_with("..........///"), HasSubstr("can't be read"));
  fs::create_directories(folder_.path() / "model/folders_name_");
  EXPECT_THAT(error_with("folders_name_"), HasSubstr("is no plain file"));
  write(folder_ / "model/short_data_ab", data_.substr(0, 200));
  EXPECT_THAT(error_with("short_data_ab"), HasSubstr("'short_data_ab' has 200 bytes; 240 from"));
}

}  // namespace
}  // namespace convtgen::test
