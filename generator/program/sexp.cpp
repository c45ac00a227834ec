#include "generator/program/sexp.h"

#include <fmt/format.h>

namespace convtgen {
namespace {

constexpr int kMaxDepth = 1000;  // bounds the reader's own recursion

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Sexp> parse() {
    Result<Sexp> result = element(0);
    skip_blanks();
    if (result && at_ != text_.size()) {
      return fail(fmt::format("line {}: nothing may follow the closing parenthesis", line_));
    }
    return result;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) {
      line_ += text_[at_] == '\n' ? 1 : 0;
      ++at_;
    }
  }

  Result<Sexp> element(int depth) {
    skip_blanks();
    Sexp out;
    out.line = line_;
    if (at_ == text_.size()) {
      return fail(fmt::format("line {}: the text ends where a closing parenthesis must stand", line_));
    }
    if (text_[at_] == '"') {
      return quoted(std::move(out));
    }
    if (text_[at_] == ')') {
      return fail(fmt::format("line {}: a closing parenthesis with no opening one", line_));
    }
    if (text_[at_] != '(') {
      while (at_ < text_.size() && std::string_view(" \n()\"").find(text_[at_]) == std::string_view::npos) {
        out.atom += text_[at_++];
      }
      return out;
    }
    if (depth == kMaxDepth) {
      return fail(fmt::format("line {}: more than {} parentheses inside each other", line_, kMaxDepth));
    }
    out.is_list = true;
    for (++at_;;) {
      skip_blanks();
      if (at_ < text_.size() && text_[at_] == ')') {
        ++at_;
        return out;
      }
      Result<Sexp> item = element(depth + 1);
      if (!item) {
        return item;
      }
      out.items.push_back(std::move(*item));
    }
  }

  Result<Sexp> quoted(Sexp out) {
    out.is_quoted = true;
    for (++at_; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      if (c == '"') {
        ++at_;
        return out;
      }
      if (c == '\\') {
        if (++at_ == text_.size()) {
          break;
        }
        c = text_[at_] == 'n' ? '\n' : text_[at_];
      } else if (c == '\n') {
        break;
      }
      out.atom += c;
    }
    return fail(fmt::format("line {}: a string without its closing quote", line_));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

Result<Sexp> parse_sexp(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace convtgen
