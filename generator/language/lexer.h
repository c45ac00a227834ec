// Text to tokens. Nothing is lost but blanks: comments and line ends are tokens too, for the formatter.
#pragma once

#include <string_view>
#include <vector>

#include "generator/language/diagnostics.h"

namespace convtgen {

enum class TokenKind {
  kAtom,  // a word, a number or a size: letters, digits and _ . ? + -
  kArrow,
  kOpenBrace,
  kCloseBrace,
  kOpenParenthesis,
  kCloseParenthesis,
  kComma,
  kSemicolon,
  kNewline,
  kComment,  // from '#' to the last visible character of the line
  kStray,    // characters that the language has no use for; reported by the lexer
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;  // a view into the source
  int line = 1;
  int column = 1;
};

/// The tokens of a text, the last of them kEnd. Stray characters are added to `diagnostics`, a run of them once.
[[nodiscard]] std::vector<Token> lex(std::string_view text, std::vector<Diagnostic>& diagnostics);

}  // namespace convtgen
