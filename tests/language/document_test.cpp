// docs/language.md says what the code does: its examples are read here.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "generator/language/language.h"
#include "generator/language/syntax.h"

namespace convtgen {
namespace {

// The fenced blocks of the document, by the word after the fence.
std::multimap<std::string, std::string> fenced_blocks() {
  std::ifstream file(CONVTGEN_LANGUAGE_DOCUMENT, std::ios::binary);
  EXPECT_TRUE(file) << CONVTGEN_LANGUAGE_DOCUMENT << " can't be read";
  std::multimap<std::string, std::string> blocks;
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with("```")) {
      continue;
    }
    const std::string kind = line.substr(3);
    std::string text;
    while (std::getline(file, line) && line != "```") {
      text += line + "\n";
    }
    blocks.emplace(kind, text);
  }
  return blocks;
}

std::string only(const std::multimap<std::string, std::string>& blocks, const std::string& kind) {
  EXPECT_EQ(blocks.count(kind), 1U) << kind;
  return blocks.contains(kind) ? blocks.find(kind)->second : std::string();
}

TEST(Document, ExamplesParseAndShowEveryProperty) {
  const auto blocks = fenced_blocks();
  std::set<PropertyKind> shown;
  const auto [first, last] = blocks.equal_range("convt");
  for (auto block = first; block != last; ++block) {
    const std::string& text = block->second;
    const auto layers = parse_file(text);
    EXPECT_TRUE(layers) << render_text(layers.error(), text, "language.md", false);
    std::vector<Diagnostic> none;
    for (const Item& item : parse_items(lex(text, none), none)) {
      for (const auto& property : item.block.properties) {
        if (property) {
          shown.insert(property->kind);
        }
      }
    }
  }
  EXPECT_EQ(shown.size(), static_cast<std::size_t>(kPropertyKinds));
}

TEST(Document, ErrorsAreTheOnesReported) {
  const auto blocks = fenced_blocks();
  const std::string text = only(blocks, "wrong");
  const auto layers = parse_file(text);
  ASSERT_FALSE(layers);
  EXPECT_EQ(render_text(layers.error(), text, "up.convt", false), only(blocks, "errors"));
}

TEST(Document, CanonicalFormIsCanonical) {
  const std::string text = only(fenced_blocks(), "canonical");
  const auto layer = parse_layer(text);
  ASSERT_TRUE(layer) << render_text(layer.error(), text, "language.md", false);
  EXPECT_EQ(canonical_form(*layer) + "\n", text);
}

}  // namespace
}  // namespace convtgen
