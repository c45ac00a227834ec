// Breaking long lines: text in pieces, with the places where a line may break and what continued lines align to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generator/specializer/term.h"

namespace convtgen {

inline constexpr int kColumns = 120;

struct Piece {
  enum class Kind {
    kText,
    kBreak,        // a blank, or a new line that is aligned
    kAssignBreak,  // a blank, or a new line four columns in where all that follows fits there
    kOpen,         // continued lines align here
    kClose,
  };
  Kind kind = Kind::kText;
  std::string text;
};

using Pieces = std::vector<Piece>;

void add_text(Pieces& pieces, std::string_view text);
/// The term in C++; parentheses around it where it binds less than `least`.
void add_term(Pieces& pieces, const Term& term, int least = 0);

[[nodiscard]] std::string flat_text(const Pieces& pieces);
/// The lines, each indented; continued lines are aligned, or four columns in where that would be too long.
[[nodiscard]] std::vector<std::string> lay_out(const Pieces& pieces, int indent);

}  // namespace convtgen
