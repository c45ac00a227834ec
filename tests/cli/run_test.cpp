#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "cli/npy.h"
#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kSmall = "conv_transpose2d 4 -> 6; kernel 3x2; stride 2; padding 1; bias; input 2x5x7";

TEST(Run, VerifiesASeed) {
  const Outcome outcome = convtgen({"run", seeds(), "--device", "host", "--layer", "strided", "--input", "1x5x6"});
  EXPECT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("strided on host"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("\n  kernel   direct[a-z_]*, made for sm_90a: convtgen_direct"));
  EXPECT_THAT(outcome.out, HasSubstr("\n  record   none: the planner's first plan\n"));
  EXPECT_THAT(outcome.out, HasSubstr(": verified\n"));
  EXPECT_THAT(outcome.out, HasSubstr("0 of 9600 checked outputs are wrong"));
  EXPECT_THAT(outcome.out, HasSubstr("GFLOP/s"));
  EXPECT_THAT(outcome.out, HasSubstr("random (seed 1)"));
}

TEST(Run, EveryDtypeAndLayout) {
  for (const char* dtype : {"f64", "f32", "f16", "bf16"}) {
    for (const char* layout : {"nchw", "nhwc"}) {
      const Outcome outcome = convtgen({"run", "--device", "host", "--seed", "5", "-e",
                                        std::string(kSmall) + "; dtype " + dtype + "; layout " + layout});
      EXPECT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
      EXPECT_THAT(outcome.out, HasSubstr("verified"));
      EXPECT_THAT(outcome.out, HasSubstr(layout == std::string("nchw") ? "y 2x6x9x12" : "y 2x9x12x6"));
    }
  }
}

TEST(Run, ThreeAxes) {
  const std::string volume =
      "conv_transpose3d 4 -> 6; kernel 3x2x3; stride 2x1x2; padding 1; output_padding 1x0x1; groups 2; bias; input "
      "1x3x4x5; directions forward, grad_input, grad_weight, grad_bias";
  for (const char* layout : {"nchw", "nhwc; weight_layout channels_last"}) {
    const Outcome outcome =
        convtgen({"run", "--device", "host", "-e", volume + "; layout " + layout, "--input", "2x3x4x5"});
    EXPECT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("4 of 4 verified"));
    EXPECT_THAT(outcome.out, HasSubstr(layout == std::string("nchw") ? "y 2x6x6x3x10" : "y 2x6x3x10x6"));
  }
  const std::string open = "conv_transpose3d 4 -> 6; kernel 3";
  const Outcome missing = convtgen({"run", "--device", "host", "-e", open});
  EXPECT_THAT(missing.err, HasSubstr("give the sizes with --input BxDxHxW, as in 8x16x32x64"));
  const Outcome flat = convtgen({"run", "--device", "host", "-e", open, "--input", "2x3x4"});
  EXPECT_EQ(flat.exit, 2);
  EXPECT_THAT(flat.err, HasSubstr("batch x depth x height x width"));
  EXPECT_EQ(convtgen({"run", "--device", "host", "-e", open, "--input", "2x3x4x5"}).exit, 0);
}

TEST(Run, OpenSizesAndEmptyBatches) {
  const std::string open = "conv_transpose2d 4 -> 6; kernel 3; stride 2";
  const Outcome missing = convtgen({"run", "--device", "host", "-e", open});
  EXPECT_EQ(missing.exit, 2);
  EXPECT_THAT(missing.err, HasSubstr("the batch is \"?\" in this layer; give the sizes with --input"));
  EXPECT_EQ(convtgen({"run", "--device", "host", "-e", open, "--input", "2x3x4"}).exit, 0);
  const Outcome empty = convtgen({"run", "--device", "host", "-e", open, "--input", "0x3x4"});
  EXPECT_EQ(empty.exit, 0) << empty.err;
  EXPECT_THAT(empty.out, HasSubstr("nothing to compute"));
  for (const char* wrong : {"2x3", "2x3x4x5", "2x-3x4", "axbxc", "2x3x", "99999999999999999999x1x1"}) {
    const Outcome outcome = convtgen({"run", "--device", "host", "-e", open, "--input", wrong});
    EXPECT_EQ(outcome.exit, 2) << wrong;
    EXPECT_THAT(outcome.err, HasSubstr("batch x height x width")) << wrong;
  }
  const Outcome line =
      convtgen({"run", "--device", "host", "-e", "conv_transpose1d 4 -> 6; kernel 3", "--input", "2x9"});
  EXPECT_EQ(line.exit, 0) << line.err;
  EXPECT_THAT(line.out, HasSubstr("y 2x6x11"));
}

TEST(Run, ArraysGoInAndOutThroughNpy) {
  const Folder folder;
  const auto save = [&](const std::string& name, Dtype dtype, std::vector<std::int64_t> shape,
                        const std::vector<double>& values) {
    write(folder / name, cli::npy_bytes(make_array(dtype, std::move(shape), values)));
  };
  // One row (1, 2) by the kernel (10, 200), stride 2: 10, 200, 20, 400, and the bias 0.5.
  for (const auto& [dtype, name] :
       {std::pair{Dtype::kF64, "f64"}, {Dtype::kF32, "f32"}, {Dtype::kF16, "f16"}, {Dtype::kBf16, "bf16"}}) {
    save("x.npy", dtype, {1, 1, 1, 2}, {1, 2});
    save("w.npy", dtype, {1, 1, 1, 2}, {10, 200});
    save("b.npy", dtype, {1}, {0.5});
    const Outcome outcome =
        convtgen({"run", "--device", "host", "--x", "x.npy", "--w", "w.npy", "--bias", "b.npy", "--out", "y.npy", "-e",
                  std::string("conv_transpose2d 1 -> 1; kernel 1x2; stride 2; bias; dtype ") + name},
                 {.folder = folder.path()});
    ASSERT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("x from x.npy; weight from w.npy; bias from b.npy"));
    const auto y = cli::read_npy(folder / "y.npy", dtype);
    ASSERT_TRUE(y) << y.error().message;
    EXPECT_EQ(y->shape, (std::vector<std::int64_t>{1, 1, 1, 4}));
    EXPECT_EQ(y->bytes, make_array(dtype, {4}, {10.5, 200.5, 20.5, 400.5}).bytes);
  }
  // Channels last, and one dimension: (N, L, C), with no height.
  save("x.npy", Dtype::kF32, {1, 2, 2}, {1, 2, 3, 4});
  save("w.npy", Dtype::kF32, {2, 1, 1}, {10, 100});
  const Outcome line = convtgen({"run", "--device", "host", "--x", "x.npy", "--w", "w.npy", "--out", "y.npy", "-e",
                                 "conv_transpose1d 2 -> 1; kernel 1; layout nhwc"},
                                {.folder = folder.path()});
  ASSERT_EQ(line.exit, 0) << line.out << line.err;
  const auto y = cli::read_npy(folder / "y.npy", Dtype::kF32);
  ASSERT_TRUE(y) << y.error().message;
  EXPECT_EQ(y->shape, (std::vector<std::int64_t>{1, 2, 1}));
  EXPECT_EQ(y->at(0), 210);
  EXPECT_EQ(y->at(1), 430);
}

TEST(Run, ArraysThatDoNotGoWithTheLayer) {
  const Folder folder;
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"run", "--device", "host", "-e", kSmall});
    const Outcome outcome = convtgen(arguments, {.folder = folder.path()});
    EXPECT_EQ(outcome.exit, 2) << outcome.out;
    return outcome.err;
  };
  const auto save = [&](const std::string& name, Dtype dtype, std::vector<std::int64_t> shape) {
    write(folder / name, cli::npy_bytes(random_array(dtype, std::move(shape), 1, 1)));
  };
  save("x.npy", Dtype::kF32, {2, 5, 7, 4});
  EXPECT_THAT(run({"--x", "x.npy"}),
              HasSubstr("x.npy: x is 2x5x7x4, and the layer (layout nchw) takes (N, C, H, W) with C = 4"));
  save("x.npy", Dtype::kF32, {2, 4, 5});
  EXPECT_THAT(run({"--x", "x.npy"}), HasSubstr("(N, C, H, W)"));
  save("x.npy", Dtype::kF64, {2, 4, 5, 7});
  EXPECT_THAT(run({"--x", "x.npy"}),
              HasSubstr("holds float64 (<f8); the layer's dtype f32 takes little-endian float32"));
  save("x.npy", Dtype::kF32, {3, 4, 6, 8});
  EXPECT_THAT(run({"--x", "x.npy", "--input", "2x5x7"}), HasSubstr("x is for --input 3x6x8"));
  EXPECT_THAT(run({"--x", "x.npy"}), HasSubstr("x.npy: x is for an input of 3x6x8, and this layer's is 2x5x7; --input "
                                               "3x6x8 changes the layer to that"));
  save("g.npy", Dtype::kF32, {3, 6, 9, 12});
  EXPECT_THAT(run({"--direction", "grad_input", "--grad-y", "g.npy"}),
              HasSubstr("g.npy: grad_y is for an input of 3x5x7, and this layer's is 2x5x7"));
  save("w.npy", Dtype::kF32, {6, 4, 3, 2});
  EXPECT_THAT(run({"--w", "w.npy"}),
              HasSubstr("w.npy: weight is 6x4x3x2, and the layer takes 4x6x3x2 (Cin, Cout/groups, KH, KW) for "
                        "weight_layout contiguous"));
  save("b.npy", Dtype::kF32, {4});
  EXPECT_THAT(run({"--bias", "b.npy"}), HasSubstr("b.npy: bias is 4, and the layer takes 6 (Cout)"));
  EXPECT_THAT(run({"--x", "nowhere.npy"}), HasSubstr("nowhere.npy: can't be read"));
  const Outcome no_bias =
      convtgen({"run", "--device", "host", "--bias", "b.npy", "-e", "conv_transpose2d 4 -> 4; kernel 3; input 1x2x2"},
               {.folder = folder.path()});
  EXPECT_EQ(no_bias.exit, 2);
  EXPECT_THAT(no_bias.err, HasSubstr("write 'bias' in the layer"));
  const Outcome several = convtgen({"run", seeds(), "--device", "host", "--x", "x.npy"}, {.folder = folder.path()});
  EXPECT_EQ(several.exit, 2);
  EXPECT_THAT(several.err, HasSubstr("--layer"));
}

TEST(Run, AWrongResultIsTold) {
  // The sum is 3e38, but in fp32 every order of adding these, or nearly, overflows on the way.
  const Folder folder;
  write(folder / "x.npy", cli::npy_bytes(make_array(Dtype::kF32, {1, 5, 1, 1}, {3e38, 3e38, 3e38, -3e38, -3e38})));
  write(folder / "w.npy", cli::npy_bytes(make_array(Dtype::kF32, {5, 1, 1, 1}, {1, 1, 1, 1, 1})));
  const Outcome outcome = convtgen({"run", "--device", "host", "--x", "x.npy", "--w", "w.npy", "--out", "y.npy", "-e",
                                    "conv_transpose2d 5 -> 1; kernel 1"},
                                   {.folder = folder.path()});
  EXPECT_EQ(outcome.exit, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("WRONG"));
  EXPECT_THAT(outcome.out, HasSubstr("1 of 1 checked outputs are wrong"));
  EXPECT_THAT(outcome.out, HasSubstr("worst: y[n=0, c=0, y=0, x=0]"));
  EXPECT_TRUE(std::filesystem::exists(folder / "y.npy"));
}

TEST(Run, XOfAnotherSizeRunsWhereInputSaysSoOrTheLayerLeavesItOpen) {
  const Folder folder;
  write(folder / "x.npy", cli::npy_bytes(random_array(Dtype::kF32, {3, 4, 6, 8}, 1, 1)));
  const auto run = [&](const std::string& input, std::vector<std::string> more) {
    more.insert(more.begin(), {"run", "--device", "host", "--x", "x.npy", "-e",
                               "conv_transpose2d 4 -> 6; kernel 3x2; stride 2; input " + input});
    return convtgen(more, {.folder = folder.path()});
  };
  EXPECT_EQ(run("2x5x7", {}).exit, 2);
  EXPECT_EQ(run("3x5x8", {}).exit, 2) << "one size differs";
  EXPECT_EQ(run("?x5x8", {}).exit, 2);
  EXPECT_EQ(run("2x5x7", {"--input", "3x6x8"}).exit, 0);
  EXPECT_EQ(run("?x6x?", {}).exit, 0);
  EXPECT_EQ(run("3x6x8", {}).exit, 0);
}

TEST(Run, NumbersBelowTheNormalOnesAreVerified) {
  const Folder folder;
  for (const char* compute : {"f32", "tf32", "f32x3"}) {
    write(folder / "x.npy", cli::npy_bytes(random_array(Dtype::kF32, {1, 16, 5, 6}, 1, 1e-42)));
    const Outcome outcome =
        convtgen({"run", "--device", "host:sm_90a", "--x", "x.npy", "-e",
                  std::string("conv_transpose2d 16 -> 16; kernel 3; input 1x5x6; compute ") + compute},
                 {.folder = folder.path()});
    EXPECT_EQ(outcome.exit, 0) << compute << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(": verified\n")) << compute;
  }
}

TEST(Run, ANaNOfAnInfiniteWeightWhereTheImageEndsIsWhatTheReadmeSays) {
  const Folder folder;
  HostArray weight = random_array(Dtype::kF32, {4, 3, 3, 3}, 1, 1);
  write(folder / "x.npy", cli::npy_bytes(make_array(Dtype::kF32, {1, 4, 5, 6}, std::vector<double>(120, 0.5))));
  const auto run = [&](const char* dtype) {
    write(folder / "w.npy", cli::npy_bytes(weight));
    return convtgen({"run", "--device", "host:sm_90a", "--x", "x.npy", "--w", "w.npy", "-e",
                     std::string("conv_transpose2d 4 -> 3; kernel 3; padding 1; input 1x5x6; dtype ") + dtype},
                    {.folder = folder.path()});
  };
  weight.set(0, std::numeric_limits<double>::infinity());
  const Outcome limited = run("f32");
  EXPECT_EQ(limited.exit, 0) << limited.err;
  EXPECT_THAT(limited.out, HasSubstr(": differs as the README's limits say\n"));
  EXPECT_THAT(limited.out, HasSubstr("; 0 of 90 checked outputs are wrong; 10 are NaN, as the README's limits say: "));
  weight.set(0, 0);
  EXPECT_THAT(run("f32").out, HasSubstr(": verified\n"));
}

TEST(Run, ANaNOfAnInfiniteInputWhereAPhaseHasNoTapIsWhatTheReadmeSays) {
  const Folder folder;
  HostArray x = random_array(Dtype::kF32, {1, 32, 3, 6, 8}, 1, 1);
  x.set(100, std::numeric_limits<double>::infinity());
  write(folder / "x.npy", cli::npy_bytes(x));
  const Outcome outcome = convtgen({"run", "--device", "host:sm_90a", "--planned", "--x", "x.npy", "-e",
                                    "conv_transpose3d 32 -> 16; kernel 3; stride 2; padding 1; input 1x3x6x8; compute "
                                    "tf32"},
                                   {.folder = folder.path()});
  EXPECT_EQ(outcome.exit, 0) << outcome.err << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr(": differs as the README's limits say\n"));
  EXPECT_THAT(outcome.out, HasSubstr("; 0 of 13200 checked outputs are wrong; "));
}

TEST(Run, SeveralLayersAndTheirErrors) {
  const Folder folder;
  write(folder / "a.convt",
        "defaults { input 1x4x4 }\nlayer a { conv_transpose2d 2 -> 2; kernel 3 }\n"
        "layer b { conv_transpose2d 2 -> 2; kernel 3; stride 200; directions grad_weight }\n"
        "layer c { conv_transpose2d 2 -> 2; kernel 2; stride 2 }\n");
  const Outcome outcome = convtgen({"run", "a.convt", "--device", "host"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.out, HasSubstr("a on host"));
  EXPECT_THAT(outcome.out, HasSubstr("c on host"));
  EXPECT_THAT(outcome.out, HasSubstr("2 of 3 verified"));
  EXPECT_THAT(outcome.err, HasSubstr("layer 'b': "));
}

TEST(Run, Devices) {
  const Setting without{.environment = {{"CONVTGEN_CUDA_DRIVER", "/nowhere/libcuda.so"}}};
  const Outcome cuda = convtgen({"run", "--device", "cuda", "-e", kSmall}, without);
  EXPECT_EQ(cuda.exit, 2);
  EXPECT_THAT(cuda.err, HasSubstr("/nowhere/libcuda.so"));
  const Outcome automatic = convtgen({"run", "-e", kSmall}, without);
  EXPECT_EQ(automatic.exit, 0) << automatic.err;
  EXPECT_THAT(automatic.err, HasSubstr("no GPU is used: "));
  EXPECT_THAT(automatic.out, HasSubstr("on host"));
  EXPECT_THAT(convtgen({"run", "--device", "host", "-e", kSmall}).err, Not(HasSubstr("GPU")));
  EXPECT_EQ(convtgen({"run", "--device", "tpu", "-e", kSmall}).exit, 2);
}

TEST(Run, AMissingCompilerIsSomethingThatTheMachineLacks) {
  const Setting without{.environment = {{"PATH", "/nowhere"}, {"CXX", ""}}};
  for (const char* verb : {"run", "tune"}) {
    const Folder cache;
    Setting setting = without;
    setting.environment["CONVTGEN_CACHE_DIR"] = cache.path().string();
    const Outcome outcome = convtgen({verb, "--device", "host", "-e", kSmall}, setting);
    EXPECT_EQ(outcome.exit, 2) << verb;
    EXPECT_THAT(outcome.err, HasSubstr("the host device needs a C++ compiler")) << verb;
  }
}

TEST(Run, WhereTheOutputGoesIsCheckedBeforeTheRun) {
  const Folder folder;
  const auto run = [&](const std::string& out) {
    return convtgen({"run", "--device", "host", "-e", kSmall, "--out", out}, {.folder = folder.path()});
  };
  for (const char* out : {"nowhere/y.npy", "."}) {
    const Outcome outcome = run(out);
    EXPECT_EQ(outcome.exit, 2) << out;
    EXPECT_THAT(outcome.err, HasSubstr(std::string(out) + ": can't be written: ")) << out;
    EXPECT_EQ(outcome.out, "") << out;
  }
  EXPECT_EQ(run("/dev/null").exit, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Run, InputsLargerThanTheMemoryAreWrongUsage) {
  const Outcome outcome = convtgen({"run", "--device", "host", "-e", kSmall, "--input", "1000000x30000x30000"});
  EXPECT_EQ(outcome.exit, 2) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("of memory; --input makes x smaller"));
}

}  // namespace
}  // namespace convtgen::test
