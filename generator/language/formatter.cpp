// The formatter works on the tokens of a file without errors: it moves blanks and line ends, and nothing else.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "generator/language/language.h"
#include "generator/language/lexer.h"
#include "generator/language/values.h"

namespace convtgen {

namespace {

constexpr std::size_t kLongestOneLiner = 100;

// A property, a block or a comment that has its line to itself.
struct Piece {
  std::string word;      // a property's word, a block's head, or the whole comment
  std::string value;     // of a property
  std::string trailing;  // the comment after it on the same line; for a block, after its '}'
  bool blank_before = false;
  bool is_comment = false;
  bool is_block = false;
  bool one_line = false;     // a block that is written on one line, without comments
  std::string head_comment;  // after a block's '{'
  std::vector<Piece> children;
};

class Collector {
 public:
  explicit Collector(const std::vector<Token>& tokens) : cursor_(tokens) {}

  std::vector<Piece> file() {
    std::vector<Piece> pieces;
    collect(pieces, nullptr);
    return pieces;
  }

 private:
  // The pieces up to the '}' of `block`, or to the end of the file.
  void collect(std::vector<Piece>& pieces, Piece* block) {
    int line_ends = block == nullptr ? 1 : 0;  // since the last piece
    while (!cursor_.at(TokenKind::kEnd) && !cursor_.at(TokenKind::kCloseBrace)) {
      if (cursor_.at(TokenKind::kNewline) || cursor_.at(TokenKind::kSemicolon)) {
        line_ends += cursor_.next().kind == TokenKind::kNewline ? 1 : 0;
        continue;
      }
      if (cursor_.at(TokenKind::kComment) && line_ends == 0) {
        std::string* place = block != nullptr && pieces.empty()             ? &block->head_comment
                             : !pieces.empty() && !pieces.back().is_comment ? &pieces.back().trailing
                                                                            : nullptr;
        if (place != nullptr && place->empty()) {
          *place = cursor_.next().text;
          continue;
        }
      }
      Piece piece = cursor_.at(TokenKind::kComment) ? comment(cursor_.next())
                    : block == nullptr              ? this->block()
                                                    : property();
      piece.blank_before = line_ends > 1 && !pieces.empty();
      pieces.push_back(std::move(piece));
      line_ends = 0;
    }
  }

  static Piece comment(const Token& token) {
    Piece piece;
    piece.word = token.text;
    piece.is_comment = true;
    return piece;
  }

  Piece property() {
    Piece piece;
    piece.word = cursor_.next().text;
    TokenKind before = TokenKind::kEnd;
    while (!cursor_.at_property_end()) {
      const Token token = cursor_.next();
      const bool tight = before == TokenKind::kEnd || before == TokenKind::kOpenParenthesis ||
                         token.kind == TokenKind::kComma || token.kind == TokenKind::kOpenParenthesis ||
                         token.kind == TokenKind::kCloseParenthesis;
      piece.value += tight ? "" : " ";
      piece.value += token.text;
      before = token.kind;
    }
    return piece;
  }

  Piece block() {
    Piece piece;
    piece.is_block = true;
    bool line_ended = false;
    while (!cursor_.at(TokenKind::kOpenBrace)) {
      const Token token = cursor_.next();
      if (token.kind == TokenKind::kNewline) {
        line_ended = true;
      } else if (token.kind != TokenKind::kComment) {
        piece.word += piece.word.empty() ? "" : " ";
        piece.word += token.text;
      } else if (!line_ended) {
        piece.head_comment = token.text;
      } else {
        piece.children.push_back(comment(token));
      }
    }
    const int first_line = cursor_.next().line;
    collect(piece.children, &piece);
    piece.one_line = cursor_.next().line == first_line && piece.head_comment.empty() &&
                     std::ranges::none_of(piece.children, &Piece::is_comment) &&
                     one_line(piece).size() <= kLongestOneLiner;
    return piece;
  }

 public:
  static std::string one_line(const Piece& block) {
    std::string text = block.word + " {";
    for (const Piece& child : block.children) {
      text += &child == block.children.data() ? " " : "; ";
      text += child.word + (child.value.empty() ? "" : " " + child.value);
    }
    return text + (block.children.empty() ? "}" : " }");
  }

 private:
  Cursor cursor_;
};

std::string trail(const std::string& comment) {
  return comment.empty() ? std::string() : "  " + comment;
}

// The operator stands apart: its word is too long for the column.
bool in_column(const Piece& piece) {
  return !piece.is_comment && !piece.value.empty() && !piece.word.starts_with("conv_");
}

std::string print_block(const Piece& block) {
  if (block.one_line) {
    return Collector::one_line(block) + trail(block.trailing) + "\n";
  }
  std::size_t width = 0;
  for (const Piece& child : block.children) {
    width = in_column(child) ? std::max(width, child.word.size()) : width;
  }
  std::string text = fmt::format("{} {{{}\n", block.word, trail(block.head_comment));
  for (const Piece& child : block.children) {
    text += child.blank_before ? "\n" : "";
    text += "  ";
    text += child.value.empty() ? child.word
            : in_column(child)  ? fmt::format("{:<{}} {}", child.word, width, child.value)
                                : fmt::format("{} {}", child.word, child.value);
    text += trail(child.trailing) + "\n";
  }
  return text + "}" + trail(block.trailing) + "\n";
}

}  // namespace

std::expected<std::string, std::vector<Diagnostic>> format_file(std::string_view text) {
  if (auto layers = parse_file(text); !layers) {
    return std::unexpected(std::move(layers.error()));
  }
  std::vector<Diagnostic> none;
  const std::vector<Token> tokens = lex(text, none);
  const std::vector<Piece> pieces = Collector(tokens).file();
  std::string result;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    // A block of several lines stands apart from what is before and after it, but not from the comment on it.
    const bool apart =
        i > 0 && pieces[i - 1].is_block && (!pieces[i - 1].one_line || (piece.is_block && !piece.one_line));
    result += piece.blank_before || apart ? "\n" : "";
    result += piece.is_block ? print_block(piece) : piece.word + "\n";
  }
  return result;
}

}  // namespace convtgen
