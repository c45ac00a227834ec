#include "generator/language/suggest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "generator/language/language.h"
#include "runtime/reference/fuse.h"

namespace convtgen {
namespace {

TEST(EditDistance, CountsSingleSlips) {
  EXPECT_EQ(edit_distance("padding", "padding"), 0);
  EXPECT_EQ(edit_distance("pading", "padding"), 1);
  EXPECT_EQ(edit_distance("paddding", "padding"), 1);
  EXPECT_EQ(edit_distance("pudding", "padding"), 1);
  EXPECT_EQ(edit_distance("apdding", "padding"), 1) << "neighbours swapped";
  EXPECT_EQ(edit_distance("PADDING", "padding"), 0) << "letter case does not count";
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("kernel", "stride"), 5);
}

TEST(Nearest, NamesWhatIsNearAndNothingElse) {
  constexpr auto kWords =
      std::to_array<std::string_view>({"kernel", "stride", "padding", "output_padding", "on", "off", "f32"});
  EXPECT_EQ(nearest("pading", kWords), "padding");
  EXPECT_EQ(nearest("Kernel", kWords), "kernel");
  EXPECT_EQ(nearest("outputpadding", kWords), "output_padding");
  EXPECT_EQ(nearest("kernel_size", kWords), "kernel");
  EXPECT_EQ(nearest("of", kWords), "off") << "as far from 'on', but with less in common";
  EXPECT_EQ(nearest("float", kWords), "f32");
  EXPECT_EQ(nearest("half", kWords), "") << "f16 is no candidate";
  EXPECT_EQ(nearest("momentum", kWords), "");
  EXPECT_EQ(nearest("x", kWords), "");
  EXPECT_EQ(nearest("", kWords), "");
  EXPECT_EQ(nearest(std::string(100000, 'k'), kWords), "");
}

TEST(SameChain, NamesTheSameMathematicsOrNone) {
  EXPECT_EQ(same_chain("relu6"), "hardtanh(0, 6)");
  EXPECT_EQ(same_chain("ReLU6"), "hardtanh(0, 6)");
  for (const char* other : {"SELU", "celu", "glu", "log_sigmoid", "LogSigmoid", "prelu", "atanh", "tan"}) {
    EXPECT_EQ(same_chain(other), "") << other << " is near a word of ours";
  }
  for (const char* ours : {"relu", "rleu", "leakyrelu", "gelu", "tanh", "sigmoid", "clamp", "swish", ""}) {
    EXPECT_EQ(same_chain(ours), std::nullopt) << ours;
  }
}

TEST(SameChain, HardsigmoidIsWhatItSays) {
  const auto layer = parse_layer(fmt::format("conv_transpose2d 1 -> 1; kernel 1; fuse {}", *same_chain("hardsigmoid")));
  ASSERT_TRUE(layer);
  for (const double v : {-4.0, -3.0, -1.5, 0.0, 2.0, 3.0, 7.0}) {
    EXPECT_NEAR(apply_fuse(layer->fuse, v), std::min(std::max(v + 3, 0.0), 6.0) / 6, 1e-15) << v;
  }
}

TEST(Alternatives, ReadAsASentence) {
  constexpr auto kWords = std::to_array<std::string_view>({"a", "b", "c"});
  EXPECT_EQ(alternatives(kWords), "a, b or c");
  EXPECT_EQ(alternatives(std::span(kWords).first(2)), "a or b");
  EXPECT_EQ(alternatives(std::span(kWords).first(1)), "a");
}

}  // namespace
}  // namespace convtgen
