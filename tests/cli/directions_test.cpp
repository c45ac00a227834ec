// Every verb in every direction, and what all of them say of one that the layer lacks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cli/npy.h"
#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kAll[] = {"forward", "grad_input", "grad_weight", "grad_bias"};
constexpr const char* kUp = "conv_transpose2d 4 -> 6; kernel 3; stride 2; bias; input 1x5x4; directions ";

class DirectionsTest : public testing::Test {
 protected:
  [[nodiscard]] Outcome call(std::vector<std::string> words) const {
    return convtgen(std::move(words), {.environment = {{"CONVTGEN_NVRTC", CONVTGEN_FAKE_NVRTC},
                                                       {"CONVTGEN_CACHE_DIR", folder_ / "store"}},
                                       .folder = folder_.path()});
  }
  void SetUp() override {
    write(folder_ / "up.convt", std::string("layer up { ") + kUp + "forward, grad_input, grad_weight, grad_bias }\n");
  }

  Folder folder_;
};

TEST_F(DirectionsTest, EmitCompileLauncherAndExplainTakeAllOfThem) {
  EXPECT_EQ(call({"check", "up.convt"}).exit, 0);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"emit", "up.convt", "-o", "out"},
                                                {"compile", "up.convt", "-o", "out"},
                                                {"launcher", "up.convt", "--namespace", "net", "-o", "out"}}) {
    const Outcome outcome = call(words);
    EXPECT_EQ(outcome.exit, 0) << words.front() << outcome.err;
  }
  const Outcome explained = call({"explain", "up.convt", "--arch", "sm_90a"});
  EXPECT_EQ(explained.exit, 0) << explained.err;
  for (const std::string direction : kAll) {
    const Outcome alone = call({"emit", "--arch", "sm_90a", "-e", kUp + direction});
    EXPECT_TRUE(read(folder_ / ("out/up_" + direction + ".sm_90a.cu")) == alone.out)
        << "the bytes of " << direction << " depend on the layer's other directions";
    EXPECT_TRUE(std::filesystem::exists(folder_ / ("out/up_" + direction + ".sm_90a.cubin"))) << direction;
    EXPECT_THAT(read(folder_ / ("out/net_up_" + direction + ".c")), HasSubstr("int net_up_" + direction + "("));
    const std::string name = direction == "forward" ? "up" : "up_" + direction;
    EXPECT_THAT(explained.out, HasSubstr(name)) << direction;
  }
}

TEST_F(DirectionsTest, RunVerifiesEachByItsDefinition) {
  const Outcome all = call({"run", "up.convt", "--device", "host"});
  EXPECT_EQ(all.exit, 0) << all.err;
  EXPECT_THAT(all.out, HasSubstr("4 of 4 verified"));
  EXPECT_THAT(all.out, AllOf(HasSubstr("0 of 594 checked"), HasSubstr("0 of 80 checked"), HasSubstr("0 of 216 checked"),
                             HasSubstr("0 of 6 checked")));
  const Outcome one = call({"run", "up.convt", "--device", "host", "--direction", "grad_weight"});
  EXPECT_EQ(one.exit, 0) << one.err;
  EXPECT_THAT(one.out, AllOf(HasSubstr("0 of 216 checked"), HasSubstr("0 of 6 checked"))) << "grad_bias comes along";
}

TEST_F(DirectionsTest, ArraysOfGradientsGoInAndOutThroughNpy) {
  const auto save = [&](const std::string& name, std::vector<std::int64_t> shape, const std::vector<double>& values) {
    write(folder_ / name, cli::npy_bytes(make_array(Dtype::kF32, std::move(shape), values)));
  };
  save("x.npy", {1, 1, 2}, {1, 10});
  save("w.npy", {1, 1, 3}, {1, 2, 3});
  save("g.npy", {1, 1, 5}, {1, -1, 2, 0, 3});
  const auto run = [&](const std::string& direction, const std::vector<std::string>& arrays) {
    std::vector<std::string> words{"run",
                                   "--device",
                                   "host",
                                   "--out",
                                   "out.npy",
                                   "-e",
                                   "conv_transpose1d 1 -> 1; kernel 3; stride 2; bias; directions " + direction};
    words.insert(words.end(), arrays.begin(), arrays.end());
    return call(words);
  };
  const auto expect = [&](const std::string& direction, const std::vector<std::string>& arrays,
                          const std::vector<std::int64_t>& shape, const std::vector<double>& values) {
    const Outcome outcome = run(direction, arrays);
    ASSERT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
    const auto out = cli::read_npy(folder_ / "out.npy", Dtype::kF32);
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_EQ(out->shape, shape) << direction;
    EXPECT_EQ(out->bytes, make_array(Dtype::kF32, shape, values).bytes) << direction;
  };
  expect("grad_input", {"--grad-y", "g.npy", "--w", "w.npy"}, {1, 1, 2}, {5, 11});
  expect("grad_weight", {"--x", "x.npy", "--grad-y", "g.npy"}, {1, 1, 3}, {21, -1, 32});
  expect("grad_bias", {"--grad-y", "g.npy"}, {1}, {5});

  const Outcome weight = run("grad_weight", {"--x", "x.npy", "--w", "w.npy"});
  EXPECT_EQ(weight.exit, 2);
  EXPECT_THAT(weight.err, HasSubstr("w.npy: --w gives weight, and grad_weight reads x and grad_y; leave it out"));
  save("g.npy", {1, 1, 6}, {1, 2, 3, 4, 5, 6});
  const Outcome length = run("grad_input", {"--grad-y", "g.npy", "--w", "w.npy"});
  EXPECT_EQ(length.exit, 2);
  EXPECT_THAT(length.err, HasSubstr("g.npy: grad_y has length 6, and an output of this layer has 5 or 7 there"));
}

TEST_F(DirectionsTest, TuneMeasuresEach) {
  const Outcome tuned = call({"tune", "up.convt", "--device", "host", "--candidates", "1", "--export", "up.json"});
  EXPECT_EQ(tuned.exit, 0) << tuned.err;
  EXPECT_THAT(tuned.out, HasSubstr("up.json: 4 records"));
  for (const std::string direction : kAll) {
    EXPECT_THAT(read(folder_ / "up.json"), HasSubstr("\"direction\":\"" + direction + "\""));
  }
}

TEST_F(DirectionsTest, OneThatTheLayerLacksIsTheSameErrorOfEachVerb) {
  write(folder_ / "plain.convt", "layer up { conv_transpose2d 4 -> 6; kernel 3; input 1x5x4 }\n");
  write(folder_ / "fused.convt", "layer up { conv_transpose2d 4 -> 6; kernel 3; bias; fuse relu; input 1x5x4 }\n");
  write(folder_ / "wrong.convt",
        "layer up { conv_transpose2d 4 -> 6; kernel 3; fuse relu; directions forward, grad_input }\n");
  const std::string fused =
      "fuse: gradients are those of the convolution alone; leave the activations out of the layer and apply them "
      "outside of it";
  const std::vector<std::vector<std::string>> verbs{
      {"emit", "--arch", "sm_90a"},    {"compile", "--arch", "sm_90a", "-o", "out"},
      {"explain", "--arch", "sm_90a"}, {"launcher", "--namespace", "net", "-o", "out"},
      {"run", "--device", "host"},     {"tune", "--device", "host"}};
  for (const std::vector<std::string>& verb : verbs) {
    const auto expect = [&](const std::vector<std::string>& words, const std::string& message) {
      std::vector<std::string> command = verb;
      command.insert(command.end(), words.begin(), words.end());
      const Outcome outcome = call(command);
      EXPECT_EQ(outcome.exit, 1) << verb.front();
      EXPECT_THAT(outcome.err, HasSubstr(message)) << verb.front();
    };
    expect({"plain.convt", "--direction", "grad_input"},
           "layer 'up': directions: the layer has forward, and a kernel for grad_input is wanted; legal is "
           "'directions forward, grad_input'");
    expect({"plain.convt", "--direction", "grad_bias"}, "layer 'up': directions: grad_bias is of layers with 'bias'");
    expect({"fused.convt", "--direction", "grad_input"}, "layer 'up': " + fused);
    expect({"fused.convt", "--direction", "grad_weight"}, "layer 'up': " + fused);
    expect({"wrong.convt"}, "wrong.convt:1:47: error: " + fused);
  }
}

}  // namespace
}  // namespace convtgen::test
