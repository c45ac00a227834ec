// The values of properties: the tokens after a property's word.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "generator/language/syntax.h"

namespace convtgen {

/// A place in the tokens of a text. The last token is kEnd, and the cursor does not go beyond it.
class Cursor {
 public:
  explicit Cursor(const std::vector<Token>& tokens) : tokens_(&tokens) {}

  [[nodiscard]] const Token& peek(std::size_t ahead = 0) const {
    return (*tokens_)[at_ + ahead < tokens_->size() ? at_ + ahead : tokens_->size() - 1];
  }
  const Token& next() {
    const Token& token = peek();
    at_ += at_ + 1 < tokens_->size() ? 1 : 0;
    return token;
  }
  [[nodiscard]] bool at(TokenKind kind) const { return peek().kind == kind; }
  [[nodiscard]] bool at_word(std::string_view word) const { return at(TokenKind::kAtom) && peek().text == word; }
  [[nodiscard]] bool at_property_end() const {
    return at(TokenKind::kNewline) || at(TokenKind::kSemicolon) || at(TokenKind::kCloseBrace) ||
           at(TokenKind::kComment) || at(TokenKind::kEnd);
  }
  void skip_property() {
    while (!at_property_end()) {
      if (next().kind == TokenKind::kOpenBrace) {
        // Braces within a property: its own '}' does not end the block.
        while (!at_property_end()) {
          next();
        }
        if (at(TokenKind::kCloseBrace)) {
          next();
        }
      }
    }
  }

 private:
  const std::vector<Token>* tokens_;
  std::size_t at_ = 0;
};

/// The value of one property; the cursor is after the property's word, then after the value.
/// monostate where it is wrong: that has been reported then.
[[nodiscard]] PropertyValue parse_value(Cursor& cursor, PropertyKind kind, std::string_view name, const Token& word,
                                        std::vector<Diagnostic>& diagnostics);

}  // namespace convtgen
