// S-expressions: lists of words and quoted strings, with the line each stands on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generator/support/error.h"

namespace convtgen {

struct Sexp {
  bool is_list = false;
  bool is_quoted = false;
  std::string atom;
  std::vector<Sexp> items;
  int line = 1;

  /// A list that begins with this word.
  [[nodiscard]] bool is(std::string_view head) const {
    return is_list && !items.empty() && !items[0].is_list && !items[0].is_quoted && items[0].atom == head;
  }
};

/// The one expression of a text. Errors name the line.
[[nodiscard]] Result<Sexp> parse_sexp(std::string_view text);

}  // namespace convtgen
