#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/layers.h"
#include "cli/manifest.h"
#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/plan/launch_plan.h"
#include "generator/planner/records/tuning_record.h"
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

TEST(Emit, ArchitecturesByOtherNames) {
  const Folder folder;
  const auto emit = [&](std::vector<std::string> arguments, const std::string& driver = CONVTGEN_FAKE_DRIVER) {
    arguments.insert(arguments.begin(), {"emit", seeds(), "--layer", "strided"});
    return convtgen(std::move(arguments), {.environment = {{"CONVTGEN_CUDA_DRIVER", driver}}, .folder = folder.path()});
  };
  const Outcome near = emit({"--arch", "sm_90"});
  EXPECT_EQ(near.exit, 2);
  EXPECT_THAT(near.err, HasSubstr("'sm_90' is no known architecture; did you mean 'sm_90a'?"));
  EXPECT_EQ(emit({"--arch", "sm_80,sm_80", "--arch", "sm_80", "-o", "one.cu"}).exit, 0) << "twice the same is one";
  EXPECT_EQ(std::ranges::count(emit({"--arch", "all", "-o", "all"}).out, '\n'), known_targets().size());
  EXPECT_EQ(emit({"--arch", "native", "-o", "native"}).out, "native/strided_forward.sm_90a.cu\n");
  const Outcome none = emit({"--arch", "native"}, "/nowhere/driver");
  EXPECT_EQ(none.exit, 2);
  EXPECT_THAT(none.err, HasSubstr("native is the architecture of this machine's GPU"));
}

TEST(Emit, SeveralLayersByName) {
  const Folder folder;
  const Setting here{.folder = folder.path()};
  EXPECT_EQ(convtgen({"emit", seeds(), "--layer", "unpadded", "--layer", "strided", "-o", "."}, here).out,
            "./strided_forward.sm_90a.cu\n./unpadded_forward.sm_90a.cu\n");
  EXPECT_EQ(convtgen({"emit", "--arch", "sm_80", "--layer", "strided", seeds(), "-o", "."}, here).out,
            "./strided_forward.sm_80.cu\n")
      << "an option takes one word";
  const Outcome wrong = convtgen({"emit", seeds(), "--layer", "strided", "--layer", "unpaded"}, here);
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_THAT(wrong.err, HasSubstr("no layer is called 'unpaded'; did you mean 'unpadded'?"));
}

// As explain, launcher and compile do: they all take their plans from there.
TEST(PlanLayers, PassOverWhatATemplateRefuses) {
  const Layer layer = parse_layer("conv_transpose2d 8 -> 8; kernel 3; input 1x8x8").value();
  int asked = 0;
  const auto refusing = [&](const Problem& problem, const Plan& plan) -> Result<KernelSource> {
    return asked++ == 0 ? fail("the template refuses") : specialize(problem, plan);
  };
  cli::Exit exit = cli::Exit::kOk;
  const cli::Planner planner = [](const Problem& problem) { return plan(problem); };
  const auto planned = cli::plan_layers({{"up", layer}}, "", "sm_80", planner, exit, refusing);
  ASSERT_TRUE(planned);
  const Problem problem = planned->front().problem;
  const std::vector<Plan> plans = plan(problem).value();
  EXPECT_EQ(plan_json(planned->front().plan), plan_json(plans.at(1)));
  EXPECT_EQ(planned->front().source.text, specialize(problem, plans.at(1))->text);
  ASSERT_EQ(planned->front().passed_over.size(), 1u);
  EXPECT_EQ(planned->front().passed_over[0].reason, "the template refuses");
}

TEST(PlanLayers, WantADirectionOfTheLayer) {
  const Outcome outcome =
      convtgen({"emit", "--direction", "forward", "-e", "conv_transpose2d 8 -> 8; kernel 3; directions grad_input"});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("legal is 'directions forward, grad_input'"));
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
  EXPECT_EQ(kernel.at("launch").at("kernels").at(0).at("blocks"), 4);
  EXPECT_TRUE(kernel.at("launch").at("workspace").at("regions").empty());
  EXPECT_THAT(read(folder / "out/up_forward.sm_90a.cu"), HasSubstr(kernel.at("symbol").get<std::string>()));
  EXPECT_THAT(convtgen({"emit", "a b$#/x.convt", "--depfile", "y.d"}, here).err, HasSubstr("--depfile is for files"));
}

TEST(Emit, AManifestForStandardOutputIsAllThatIsThere) {
  const Folder folder;
  const Setting here{.folder = folder.path()};
  write(folder / "x.convt", "layer up { conv_transpose2d 4 -> 2; kernel 3; input 1x8x8 }\n");
  const Outcome file = convtgen({"emit", "x.convt", "-o", "out", "--manifest", "x.json"}, here);
  ASSERT_EQ(file.exit, 0) << file.err;
  const Outcome emit = convtgen({"emit", "x.convt", "-o", "again", "--manifest", "-"}, here);
  EXPECT_EQ(emit.exit, 0) << emit.err;
  EXPECT_EQ(emit.out, read(folder / "x.json"));
  EXPECT_TRUE(std::filesystem::exists(folder / "again/up_forward.sm_90a.cu"));
  EXPECT_FALSE(std::filesystem::exists(folder / "-"));
  const Outcome launcher =
      convtgen({"launcher", "x.convt", "--namespace", "net", "-o", "out", "--manifest", "-"}, here);
  EXPECT_EQ(nlohmann::json::parse(launcher.out).at("kernels").size(), 1U);
  const Outcome compile = convtgen({"compile", "x.convt", "--format", "host", "-o", "out", "--manifest", "-"}, here);
  EXPECT_EQ(nlohmann::json::parse(compile.out).at("kernels").at(0).at("file").at("kind"), "host");
  const Outcome both = convtgen({"emit", "x.convt", "--manifest", "-"}, here);
  EXPECT_EQ(both.exit, 2);
  EXPECT_EQ(both.out, "");
  EXPECT_THAT(both.err, HasSubstr("both go to standard output: give a folder or a file with -o"));
}

TEST(Emit, OutputsKeepModesAndLinks) {
  namespace fs = std::filesystem;
  const Folder folder;
  const std::vector<std::string> emit{"emit", "-e", "conv_transpose2d 4 -> 2; kernel 3", "-o", "x.cu"};
  write(folder / "real.cu", "old");
  fs::permissions(folder / "real.cu", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("real.cu", folder / "x.cu");
  ASSERT_EQ(convtgen(emit, {.folder = folder.path()}).exit, 0);
  EXPECT_TRUE(fs::is_symlink(folder / "x.cu"));
  EXPECT_THAT(read(folder / "real.cu"), HasSubstr("__global__"));
  EXPECT_EQ(fs::status(folder / "real.cu").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  fs::remove(folder / "real.cu");
  ASSERT_EQ(convtgen(emit, {.folder = folder.path()}).exit, 0);
  EXPECT_TRUE(fs::is_symlink(folder / "x.cu"));
  EXPECT_THAT(read(folder / "real.cu"), HasSubstr("__global__"));
  // What a link leads to may be a pipe.
  fs::create_symlink("/dev/stdout", folder / "out.json");
  const Outcome piped =
      convtgen({"emit", "-e", "conv_transpose2d 4 -> 2; kernel 3", "-o", "y.cu", "--manifest", "out.json"},
               {.folder = folder.path()});
  EXPECT_EQ(piped.exit, 0) << piped.err;
  EXPECT_THAT(piped.out, HasSubstr("\"kernels\""));
}

TEST(Emit, ManifestOfAKernelThatPacksItsWeights) {
  cli::Product product;
  product.problem = {parse_layer("conv_transpose2d 4 -> 2; kernel 3").value(), Direction::kForward,
                     target_named("sm_90a").value()};
  product.plan = plan(product.problem).value().front();
  Recipe& recipe = product.source.recipe;
  recipe.tensors = tensors_of(product.problem.layer, Direction::kForward, 16);
  recipe.regions = {
      {.name = "packed", .what = "packed weights", .bytes = {.constant = 4096}, .kept = true},
      {.name = "partial", .what = "sums", .bytes = {.constant = 8, .factor = 4, .per = Quantity::kBatch}}};
  recipe.kernels = {{.symbol = "pack_it",
                     .threads = 96,
                     .parameters = {{"weight", "const float*"}, {"packed", "float*"}, {"height", "int"}},
                     .grid = {.axes = {{{.constant = 4096}, 1000}}},
                     .once = true}};
  ASSERT_TRUE(bind_arguments(recipe));
  const auto launch = nlohmann::json::parse(cli::manifest_text({product})).at("kernels").at(0).at("launch");
  const auto& workspace = launch.at("workspace");
  EXPECT_EQ(workspace.at("alignment"), 128);
  EXPECT_EQ(workspace.at("regions").at(0).at("bytes"), 4096);
  EXPECT_EQ(workspace.at("regions").at(0).at("kept"), true);
  EXPECT_EQ(workspace.at("regions").at(1).at("bytes").at("per"), "batch");
  EXPECT_EQ(launch.at("tensors").at(0).at("role"), "y");
  EXPECT_EQ(launch.at("tensors").at(0).at("written"), true);
  EXPECT_EQ(launch.at("tensors").at(0).at("alignment"), 16);
  const auto& kernel = launch.at("kernels").at(0);
  EXPECT_EQ(kernel.at("symbol"), "pack_it");
  EXPECT_EQ(kernel.at("threads"), 96);
  EXPECT_EQ(kernel.at("once"), true);
  EXPECT_EQ(kernel.at("waits"), false);
  EXPECT_EQ(kernel.at("grid").at("axes").at(0).at("tile"), 1000);
  EXPECT_EQ(kernel.at("arguments").at(0).at("value").at("tensor"), "weight");
  EXPECT_EQ(kernel.at("arguments").at(1).at("value").at("region"), "packed");
  EXPECT_EQ(kernel.at("arguments").at(2).at("value").at("size"), "in_height");
}

TEST(Emit, NothingIsWrittenUnlessAllSucceed) {
  const Folder folder;
  write(folder / "a.convt",
        "layer good { conv_transpose2d 4 -> 2; kernel 3 }\n"
        "layer later { conv_transpose3d 4 -> 2; kernel 3; stride 1x200x200; directions grad_input }\n");
  const Outcome outcome = convtgen({"emit", "a.convt", "-o", "out"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("layer 'later': "));
  EXPECT_THAT(outcome.err, HasSubstr("stride 200x200 has 40000 phases"));
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  EXPECT_EQ(convtgen({"emit", "a.convt", "-o", "out", "--layer", "good"}, {.folder = folder.path()}).exit, 0);
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
