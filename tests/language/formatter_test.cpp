#include <gtest/gtest.h>

#include "generator/language/language.h"

namespace convtgen {
namespace {

// Formats, and checks what holds of every formatted text.
std::string formatted(std::string_view text) {
  const auto once = format_file(text);
  if (!once) {
    return render_text(once.error(), text, "file", false);
  }
  const auto twice = format_file(*once);
  EXPECT_TRUE(twice);
  EXPECT_EQ(*twice, *once) << "not idempotent";
  EXPECT_EQ(*parse_file(*once), *parse_file(text)) << "another meaning";
  return *once;
}

TEST(Formatter, AlignsValuesAndKeepsComments) {
  EXPECT_EQ(formatted("#  first\n\n\n\ndefaults{dtype f16;layout nhwc}# shared\n"
                      "layer  up1{ # head\n\n"
                      "conv_transpose2d 512->256\n"
                      "   kernel 4x4 ;stride 2x2# both\n"
                      "# own line\n"
                      "\n\n# another\n"
                      "bias;  fuse  relu ,scale( 0.50 ),clamp( 0 ,1 )\n\n"
                      "} # end\n# last"),
            "#  first\n\n"
            "defaults { dtype f16; layout nhwc }  # shared\n\n"
            "layer up1 {  # head\n"
            "  conv_transpose2d 512 -> 256\n"
            "  kernel 4x4\n"
            "  stride 2x2  # both\n"
            "  # own line\n\n"
            "  # another\n"
            "  bias\n"
            "  fuse   relu, scale(0.50), clamp(0, 1)\n"
            "}  # end\n\n"
            "# last\n");
}

TEST(Formatter, OneLinersStayTogether) {
  EXPECT_EQ(formatted("layer a { conv_transpose2d 1->1; kernel 3 }\nlayer b{conv_transpose2d 1->1;kernel 3}\n\n\nlayer "
                      "c { conv_transpose2d 1->1; kernel 3 } layer d { conv_transpose2d 1->1\n kernel 3 }"),
            "layer a { conv_transpose2d 1 -> 1; kernel 3 }\n"
            "layer b { conv_transpose2d 1 -> 1; kernel 3 }\n\n"
            "layer c { conv_transpose2d 1 -> 1; kernel 3 }\n\n"
            "layer d {\n"
            "  conv_transpose2d 1 -> 1\n"
            "  kernel 3\n"
            "}\n");
}

TEST(Formatter, LongOneLinersAreUnfolded) {
  EXPECT_EQ(formatted("layer a { conv_transpose2d 1->1; kernel 3; fuse relu, gelu, silu, mish, tanh, sigmoid, relu, "
                      "gelu, silu, mish }"),
            "layer a {\n"
            "  conv_transpose2d 1 -> 1\n"
            "  kernel 3\n"
            "  fuse   relu, gelu, silu, mish, tanh, sigmoid, relu, gelu, silu, mish\n"
            "}\n");
}

TEST(Formatter, CommentsInOddPlaces) {
  EXPECT_EQ(formatted("layer a # one\n# two\n{ # three\nconv_transpose2d 1->1 # four\n;kernel 3; # five\n}\n# six"),
            "layer a {  # one\n"
            "  # two\n"
            "  # three\n"
            "  conv_transpose2d 1 -> 1  # four\n"
            "  kernel 3  # five\n"
            "}\n\n"
            "# six\n");
  EXPECT_EQ(formatted("; # x\nlayer a { conv_transpose2d 1->1; kernel 3 }"),
            "# x\nlayer a { conv_transpose2d 1 -> 1; kernel 3 }\n");
}

TEST(Formatter, EmptyDefaultsAndLineEnds) {
  EXPECT_EQ(formatted("defaults{}\r\nlayer a{\tconv_transpose2d 1->1;kernel 3;bias on}   \r\n\r\n"),
            "defaults {}\nlayer a { conv_transpose2d 1 -> 1; kernel 3; bias on }\n");
  EXPECT_EQ(formatted("defaults{\n}\nlayer a{conv_transpose2d 1->1;kernel 3}"),
            "defaults {\n}\n\nlayer a { conv_transpose2d 1 -> 1; kernel 3 }\n");
}

TEST(Formatter, RefusesWrongFiles) {
  const auto result = format_file("layer a { kernl 3 }");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), parse_file("layer a { kernl 3 }").error());
}

}  // namespace
}  // namespace convtgen
