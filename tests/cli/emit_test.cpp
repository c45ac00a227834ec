#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/manifest.h"
#include "generator/language/language.h"
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
    const std::string file = "out/deep/" + name + "_forward.sm_90a.cu";
    listed += file + "\n";
    const std::string source = read(folder / file);
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
  EXPECT_EQ(read(folder / "strided_forward.sm_90a.cu"), file);
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

TEST(Emit, SeveralArchitecturesAndOneFile) {
  const Folder folder;
  const Setting here{.folder = folder.path()};
  ASSERT_EQ(convtgen({"emit", seeds(), "--layer", "strided", "--arch", "sm_80,sm_90a", "-o", "out"}, here).exit, 0);
  ASSERT_EQ(convtgen({"emit", seeds(), "--layer", "strided", "--arch", "sm_80", "-o", "made/one.cu"}, here).exit, 0);
  EXPECT_EQ(read(folder / "made/one.cu"), read(folder / "out/strided_forward.sm_80.cu"));
  EXPECT_NE(read(folder / "made/one.cu"), read(folder / "out/strided_forward.sm_90a.cu"));
  const Outcome many = convtgen({"emit", seeds(), "-o", "many.cu"}, here);
  EXPECT_EQ(many.exit, 2);
  EXPECT_THAT(many.err, HasSubstr("-o many.cu names one file, and there are 7 kernels"));
  EXPECT_FALSE(std::filesystem::exists(folder / "many.cu"));
}

TEST(Emit, DepfileAndManifest) {
  const Folder folder;
  const Setting here{.folder = folder.path()};
  std::filesystem::create_directory(folder / "a b$#");
  write(folder / "a b$#/x.convt", "layer up { conv_transpose2d 4 -> 2; kernel 3; input 1x8x8 }\n");
  const Outcome outcome =
      convtgen({"emit", "a b$#/x.convt", "-o", "out", "--depfile", "x.d", "--manifest", "x.json"}, here);
  ASSERT_EQ(outcome.exit, 0) << outcome.err;
  const std::string rule = read(folder / "x.d");
  EXPECT_THAT(rule, StartsWith("out/up_forward.sm_90a.cu: \\\n  a\\ b$$\\#/x.convt \\\n  /"));
  EXPECT_THAT(rule, HasSubstr("convtgen"));
  const std::string manifest = read(folder / "x.json");
  EXPECT_THAT(manifest, Not(HasSubstr(folder.path().string())));
  const auto kernel = nlohmann::json::parse(manifest).at("kernels").at(0);
  EXPECT_EQ(kernel.at("layer"), "up");
  EXPECT_EQ(kernel.at("direction"), "forward");
  EXPECT_EQ(kernel.at("architecture"), "sm_90a");
  EXPECT_EQ(kernel.at("plan").at("template"), "direct");
  EXPECT_EQ(kernel.at("file").at("name"), "up_forward.sm_90a.cu");
  EXPECT_EQ(kernel.at("source_sha256"), kernel.at("file").at("sha256"));
  EXPECT_EQ(kernel.at("launch").at("blocks"), 1);
  EXPECT_EQ(kernel.at("launch").at("workspace_bytes"), 0);
  EXPECT_TRUE(kernel.at("launch").at("packing").is_null());
  EXPECT_THAT(read(folder / "out/up_forward.sm_90a.cu"), HasSubstr(kernel.at("symbol").get<std::string>()));
  EXPECT_THAT(convtgen({"emit", "a b$#/x.convt", "--depfile", "y.d"}, here).err, HasSubstr("--depfile is for files"));
}

TEST(Emit, ManifestOfAKernelThatPacksItsWeights) {
  cli::Product product;
  product.problem = {parse_layer("conv_transpose2d 4 -> 2; kernel 3").value(), Direction::kForward,
                     target_named("sm_90a").value()};
  product.plan = plan(product.problem).value().front();
  product.source.packing = PackingKernel{"pack_it", {{"weight", "const float*"}, {"packed", "float*"}}, 96, 5, 4096};
  const auto launch = nlohmann::json::parse(cli::manifest_text({product})).at("kernels").at(0).at("launch");
  EXPECT_EQ(launch.at("workspace_bytes"), 4096);
  EXPECT_EQ(launch.at("workspace_alignment"), 128);
  EXPECT_EQ(launch.at("packing").at("symbol"), "pack_it");
  EXPECT_EQ(launch.at("packing").at("threads"), 96);
  EXPECT_EQ(launch.at("packing").at("blocks"), 5);
  EXPECT_EQ(launch.at("packing").at("overlaps"), false);
  EXPECT_EQ(launch.at("packing").at("arguments").at(1).at("name"), "packed");
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
  EXPECT_THAT(twice.err, HasSubstr("asymmetric_forward.sm_90a.cu: two outputs have this name"));
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  // One of several files can't be written: none is.
  write(folder / "blocked", "");
  const Outcome late = convtgen({"emit", seeds(), "-o", "late", "--depfile", "blocked/x.d"}, {.folder = folder.path()});
  EXPECT_EQ(late.exit, 2);
  EXPECT_THAT(late.err, HasSubstr("blocked"));
  EXPECT_FALSE(std::filesystem::exists(folder / "late"));
}

TEST(Emit, UnknownLayersGetASuggestion) {
  const Outcome outcome = convtgen({"emit", seeds(), "--layer", "upsampel"});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_THAT(outcome.err, HasSubstr("did you mean 'upsample'?"));
  EXPECT_THAT(outcome.err, HasSubstr("unpadded"));
}

}  // namespace
}  // namespace convtgen::test
