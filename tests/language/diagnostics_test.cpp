// How errors are shown, to people and to tools.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "generator/language/language.h"

namespace convtgen {
namespace {

TEST(RenderText, SourceLineCaretAndSuggestion) {
  const std::string text = "layer a {\n  conv_transpose2d 8 -> 8; kernel 3\n\tpading 1x1\n}\n";
  const auto layers = parse_file(text);
  ASSERT_FALSE(layers);
  EXPECT_EQ(render_text(layers.error(), text, "a.convt", false),
            "a.convt:3:2: error: unknown property 'pading'; did you mean 'padding'?\n"
            "    3 | \tpading 1x1\n"
            "      | \t^~~~~~\n");
}

TEST(RenderText, ColoursOnlyWhenAskedFor) {
  const std::vector<Diagnostic> diagnostics{{1, 1, 3, "wrong", ""}};
  EXPECT_EQ(render_text(diagnostics, "abc", "f", false).find('\x1b'), std::string::npos);
  EXPECT_EQ(render_text(diagnostics, "abc", "f", true),
            "\x1b[1mf:1:1:\x1b[0m \x1b[1;31merror:\x1b[0m \x1b[1mwrong\x1b[0m\n"
            "    1 | abc\n"
            "      | \x1b[1;32m^~~\x1b[0m\n");
}

TEST(RenderText, CaretsCountCharactersNotBytes) {
  const std::string text = "# \xC3\xA4\xE2\x86\x92 x";
  EXPECT_EQ(render_text({{1, 9, 1, "here", ""}}, text, "f", false),
            "f:1:9: error: here\n    1 | # \xC3\xA4\xE2\x86\x92 x\n      |      ^\n");
}

TEST(RenderText, TerminalsSeeNoControlCharacters) {
  const std::string text = std::string("a\x1b[31m\xFF\x00z", 9);
  const std::string shown = render_text({{1, 1, 1, "bad \x1b", ""}}, text, "f\x07", false);
  EXPECT_EQ(shown, "f?:1:1: error: bad ?\n    1 | a?[31m??z\n      | ^\n");
}

TEST(RenderText, LongLinesAreCut) {
  const std::string text(1000, 'a');
  const std::string shown = render_text({{1, 501, 5, "here", ""}}, text, "f", false);
  EXPECT_EQ(shown, "f:1:501: error: here\n    1 | ..." + std::string(160, 'a') + "...\n      | " +
                       std::string(63, ' ') + "^~~~~\n");
}

TEST(RenderText, LongLinesOfStrayBytesAreCutToo) {
  // Each byte looks like the middle of a character, so there is no first byte to go back to.
  const std::string text = std::string(10000, 'a') + std::string(1000, '\xB1');
  const std::string shown = render_text({{1, 10501, 1, "here", ""}}, text, "f", false);
  EXPECT_EQ(shown, "f:1:10501: error: here\n    1 | ..." + std::string(160, '?') + "...\n      | " +
                       std::string(66, ' ') + "^\n");
}

TEST(RenderText, EndOfLineAndOfText) {
  EXPECT_EQ(render_text({{1, 3, 1, "end", ""}}, "ab\r\n", "f", false), "f:1:3: error: end\n    1 | ab\n      |   ^\n");
  EXPECT_EQ(render_text({{1, 1, 1, "empty", ""}}, "", "f", false), "f:1:1: error: empty\n    1 | \n      | ^\n");
}

TEST(RenderText, WhatIsNoTextIsNotShown) {
  const std::string text("\xFF\xFEl\0a\0y\0", 8);
  const auto layers = parse_file(text);
  ASSERT_FALSE(layers);
  EXPECT_EQ(render_text(layers.error(), text, "f", false), "f:1:1: error: the file is UTF-16; save it as UTF-8\n");
}

TEST(RenderJson, HoldsEveryField) {
  const std::string text = "layer a { conv_transpose2d 8 -> 8; kernel 3; dtype float32; stride 0 }";
  const auto layers = parse_file(text);
  ASSERT_FALSE(layers);
  const auto json = nlohmann::json::parse(render_json(layers.error(), "a.convt"));
  const auto expected = nlohmann::json::parse(R"([
    {"file": "a.convt", "line": 1, "column": 52, "length": 7,
     "message": "unknown dtype 'float32'; did you mean 'f32'?", "suggestion": "f32"},
    {"file": "a.convt", "line": 1, "column": 61, "length": 6, "message": "stride 0 must be at least 1", "suggestion": ""}
  ])");
  EXPECT_EQ(json, expected);
  EXPECT_EQ(render_json({}, "a.convt"), "[]\n");
}

TEST(RenderJson, IsUtf8WhateverTheFileIsCalled) {
  const auto json = nlohmann::json::parse(render_json({{1, 1, 1, "wrong", ""}}, "\xFF.convt"));
  EXPECT_EQ(json[0]["file"], "\xEF\xBF\xBD.convt");
}

}  // namespace
}  // namespace convtgen
