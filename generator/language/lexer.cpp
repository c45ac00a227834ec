#include "generator/language/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "generator/language/text.h"

namespace convtgen {

namespace {

bool is_atom_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '?' || c == '+' || c == '-';
}

class Lexer {
 public:
  Lexer(std::string_view text, std::vector<Diagnostic>& diagnostics) : text_(text), diagnostics_(diagnostics) {}

  std::vector<Token> run() {
    if (text_.starts_with("\xEF\xBB\xBF")) {
      at_ = 3;  // a byte order mark, as some editors leave it
    }
    while (at_ < text_.size()) {
      step();
    }
    add(TokenKind::kEnd, 0);
    return std::move(tokens_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == ' ' || c == '\t' || at_line_end_return()) {
      ++at_;
    } else if (c == '\n') {
      add(TokenKind::kNewline, 1);
      ++line_;
      line_start_ = at_;
    } else if (c == '#') {
      comment();
    } else if (text_.substr(at_, 2) == "->") {
      add(TokenKind::kArrow, 2);
    } else if (is_atom_character(c)) {
      std::size_t length = 1;
      while (at_ + length < text_.size() &&
             (is_atom_character(text_[at_ + length]) || is_between_numbers(at_ + length)) &&
             text_.substr(at_ + length, 2) != "->") {
        ++length;
      }
      add(TokenKind::kAtom, length);
    } else if (const TokenKind kind = punctuation(c); kind != TokenKind::kStray) {
      add(kind, 1);
    } else {
      stray();
    }
  }

  // The ':' of "1:2". After a word it stays a stray character: "kernel: 3" is a mistake of its own.
  [[nodiscard]] bool is_between_numbers(std::size_t at) const {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return text_[at] == ':' && is_digit(text_[at - 1]) && at + 1 < text_.size() &&
           (is_digit(text_[at + 1]) || text_[at + 1] == '-');
  }

  [[nodiscard]] bool at_line_end_return() const { return text_.substr(at_, 2) == "\r\n"; }

  static TokenKind punctuation(char c) {
    switch (c) {
      case '{':
        return TokenKind::kOpenBrace;
      case '}':
        return TokenKind::kCloseBrace;
      case '(':
        return TokenKind::kOpenParenthesis;
      case ')':
        return TokenKind::kCloseParenthesis;
      case ',':
        return TokenKind::kComma;
      case ';':
        return TokenKind::kSemicolon;
      default:
        return TokenKind::kStray;
    }
  }

  void add(TokenKind kind, std::size_t length) {
    tokens_.push_back({kind, text_.substr(at_, length), line_, static_cast<int>(at_ - line_start_) + 1});
    at_ += length;
  }

  // Comments may hold any UTF-8; other bytes, and what can't be seen,  is an error, so that a file stays text.
  void comment() {
    std::size_t end = text_.find('\n', at_);
    if (end == std::string_view::npos) {
      end = text_.size();
    }
    std::size_t visible_end = end;
    while (text_[visible_end - 1] == ' ' || text_[visible_end - 1] == '\t' || text_[visible_end - 1] == '\r') {
      --visible_end;
    }
    const std::size_t start = at_;
    for (std::size_t i = start; i < visible_end;) {
      const std::size_t length = utf8_length(text_.substr(i));
      if (length == 0 || (length == 1 && is_control(text_[i]))) {
        report(i, 1, describe(text_.substr(i, 1)) + " in a comment", {});
        break;  // one is enough to find the place
      }
      i += length;
    }
    add(TokenKind::kComment, visible_end - start);
    at_ = end;
  }

  static bool is_control(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; }

  // What to call a character that has no place.
  static std::string describe(std::string_view character) {
    const auto byte = static_cast<unsigned char>(character.front());
    if (utf8_length(character) == 0) {
      return fmt::format("byte 0x{:02x} is no UTF-8", byte);
    }
    if (character.size() == 1 && is_control(character.front())) {
      return fmt::format("control character 0x{:02x}", byte);
    }
    return fmt::format("unexpected character {}", quoted(character));
  }

  // A run of characters without a use, told once.
  void stray() {
    const std::size_t start = at_;
    std::size_t end = at_;
    std::size_t first = 0;
    while (end < text_.size()) {
      const char c = text_[end];
      if (c == ' ' || c == '\t' || c == '\n' || c == '#' || is_atom_character(c) ||
          punctuation(c) != TokenKind::kStray) {
        break;
      }
      const std::size_t length = std::max<std::size_t>(1, utf8_length(text_.substr(end)));
      first = first == 0 ? length : first;
      end += length;
    }
    // A quoted word is one mistake, not two.
    const char quote = text_[start];
    const std::size_t closing =
        quote == '"' || quote == '\'' ? text_.find_first_of("\"\'\n", start + 1) : std::string_view::npos;
    const bool is_quoted = closing != std::string_view::npos && text_[closing] == quote;
    if (is_quoted) {
      end = closing + 1;
    }
    const std::string_view run = text_.substr(start, end - start);
    std::string suggestion;
    if (run == "\xC3\x97" || run == "*") {
      suggestion = "x";
    } else if (run == "=>" || run == ">" || run == "\xE2\x86\x92") {
      suggestion = "->";
    }
    std::string message = describe(run.substr(0, first));
    const bool after_number = !tokens_.empty() && tokens_.back().kind == TokenKind::kAtom &&
                              tokens_.back().text.front() >= '0' && tokens_.back().text.front() <= '9';
    if (run == ":" && after_number) {
      message += ": padding before and after is written in one word, as in 1:2";
    } else if (run == "=" || run == ":") {
      message += ": a property and its value stand side by side, as in 'kernel 3x3'";
    } else if (run.starts_with('/')) {
      message += ": a comment starts with '#'";
    } else if (run == "=>") {
      message = "unexpected '=>'";
    } else if (is_quoted) {
      message = "unexpected quotes: words stand without them";
    }
    report(start, end - start, std::move(message), std::move(suggestion));
    add(TokenKind::kStray, end - start);
  }

  void report(std::size_t at, std::size_t length, std::string message, std::string suggestion) {
    if (!suggestion.empty()) {
      message += fmt::format("; did you mean '{}'?", suggestion);
    }
    diagnostics_.push_back({line_, static_cast<int>(at - line_start_) + 1, static_cast<int>(length), std::move(message),
                            std::move(suggestion)});
  }

  std::string_view text_;
  std::vector<Diagnostic>& diagnostics_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<Token> lex(std::string_view text, std::vector<Diagnostic>& diagnostics) {
  return Lexer(text, diagnostics).run();
}

}  // namespace convtgen
