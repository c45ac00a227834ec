#include "generator/specializer/print_layout.h"

#include <algorithm>

namespace convtgen {
namespace {

using Kind = Expression::Kind;

void add(Pieces& pieces, Piece::Kind kind) {
  pieces.push_back({kind, {}});
}

void add_list(Pieces& pieces, std::string_view open, const std::vector<Term>& terms, std::string_view close) {
  add_text(pieces, open);
  add(pieces, Piece::Kind::kOpen);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    add_term(pieces, terms[i], precedence::kAssignment);
    if (i + 1 < terms.size()) {
      add_text(pieces, ",");
      add(pieces, Piece::Kind::kBreak);
    }
  }
  add(pieces, Piece::Kind::kClose);
  add_text(pieces, close);
}

/// C++ ranks & and | below ==, and shifts below +; readers (and compilers' warnings) need those parentheses.
bool wants_parentheses(std::string_view outer, const Term& operand) {
  if (operand.kind == Kind::kBinary) {
    const std::string_view inner = operand.text;
    const auto is_bitwise = [](std::string_view op) {
      return op == "&" || op == "|" || op == "^" || op == "<<" || op == ">>";
    };
    return (is_bitwise(outer) && inner != outer) || (outer == "||" && inner == "&&") ||
           (is_bitwise(inner) && inner != outer && precedence_of(outer) > precedence_of("&&"));
  }
  return operand.value && (outer == "+" || outer == "-") && text_of(operand).starts_with('-');
}

void add_binary(Pieces& pieces, const Term& term) {
  const int rank = precedence_of(term.text);
  const bool is_assignment = rank == precedence::kAssignment;
  const auto operand = [&](const Term& t, int least) {
    if (wants_parentheses(term.text, t)) {
      add_text(pieces, "(");
      add_term(pieces, t);
      add_text(pieces, ")");
    } else {
      add_term(pieces, t, least);
    }
  };
  // The operands of a chain share one alignment.
  const Term& left = term.operands[0];
  const bool chained = !is_assignment && left.kind == Kind::kBinary && precedence_of(left.text) == rank &&
                       !wants_parentheses(term.text, left);
  if (chained) {
    add_binary(pieces, left);
  } else {
    operand(left, is_assignment ? rank + 1 : rank);
  }
  add_text(pieces, term.text == "," ? "," : " " + term.text);
  add(pieces, is_assignment ? Piece::Kind::kAssignBreak : Piece::Kind::kBreak);
  operand(term.operands[1], is_assignment ? rank : rank + 1);
}

}  // namespace

void add_text(Pieces& pieces, std::string_view text) {
  if (!pieces.empty() && pieces.back().kind == Piece::Kind::kText) {
    pieces.back().text += text;
  } else {
    pieces.push_back({Piece::Kind::kText, std::string(text)});
  }
}

void add_term(Pieces& pieces, const Term& term, int least) {
  const int rank = precedence_of(term);
  if (rank < least) {
    add_text(pieces, "(");
    add_term(pieces, term);
    add_text(pieces, ")");
    return;
  }
  switch (term.kind) {
    case Kind::kLiteral:
      add_text(pieces, term.constant.empty() ? literal_text(*term.value) : term.constant);
      break;
    case Kind::kName:
    case Kind::kText:
      add_text(pieces, term.text);
      break;
    case Kind::kUnary: {
      const bool postfix = term.text.starts_with("post");
      const std::string op = postfix ? term.text.substr(4) : term.text;
      if (!postfix) {
        add_text(pieces, op);
      }
      const std::string inner = text_of(term.operands[0]);
      const bool glued = !postfix && !inner.empty() && inner[0] == op[0];  // - -x must not become --x
      add_term(pieces, term.operands[0],
               glued ? precedence::kPostfix : (postfix ? precedence::kPostfix : precedence::kUnary));
      if (postfix) {
        add_text(pieces, op);
      }
      break;
    }
    case Kind::kBinary:
      add(pieces, Piece::Kind::kOpen);
      add_binary(pieces, term);
      add(pieces, Piece::Kind::kClose);
      break;
    case Kind::kConditional:
      add(pieces, Piece::Kind::kOpen);
      add_term(pieces, term.operands[0], rank + 1);
      add(pieces, Piece::Kind::kBreak);
      add_text(pieces, "? ");
      add_term(pieces, term.operands[1], rank);
      add(pieces, Piece::Kind::kBreak);
      add_text(pieces, ": ");
      add_term(pieces, term.operands[2], rank);
      add(pieces, Piece::Kind::kClose);
      break;
    case Kind::kIndex:
      add_term(pieces, term.operands[0], precedence::kPostfix);
      add_text(pieces, "[");
      add_term(pieces, term.operands[1]);
      add_text(pieces, "]");
      break;
    case Kind::kMember:
    case Kind::kArrow:
      add_term(pieces, term.operands[0], precedence::kPostfix);
      add_text(pieces, (term.kind == Kind::kMember ? "." : "->") + term.text);
      break;
    case Kind::kCall:
      add_list(pieces, term.text + "(", term.operands, ")");
      break;
    case Kind::kCast:
      add_list(
          pieces,
          term.text == "cast" ? text_of_type(term.written) + "(" : term.text + "<" + text_of_type(term.written) + ">(",
          term.operands, ")");
      break;
    case Kind::kSizeof:
      add_text(pieces, "sizeof(" + text_of_type(term.written) + ")");
      break;
    case Kind::kInit:
      add_list(pieces, "{", term.operands, "}");
      break;
  }
}

std::string flat_text(const Pieces& pieces) {
  std::string out;
  for (const Piece& piece : pieces) {
    if (piece.kind == Piece::Kind::kText) {
      out += piece.text;
    } else if (piece.kind == Piece::Kind::kBreak || piece.kind == Piece::Kind::kAssignBreak) {
      out += ' ';
    }
  }
  return out;
}

namespace {

/// Columns from after the break at `at` to the next break that is no deeper inside, or, `filling`, to the next one.
int width_after(const Pieces& pieces, std::size_t at, bool to_end, bool filling) {
  int width = 0;
  int depth = 0;
  for (std::size_t i = at + 1; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    if (piece.kind == Piece::Kind::kText) {
      width += static_cast<int>(piece.text.size());
    } else if (piece.kind == Piece::Kind::kOpen) {
      ++depth;
    } else if (piece.kind == Piece::Kind::kClose) {
      --depth;
    } else if ((depth <= 0 || filling) && !to_end) {
      break;
    } else {
      ++width;
    }
  }
  return width;
}

std::vector<std::string> lay_out(const Pieces& pieces, int indent, bool aligned, bool filling) {
  std::vector<std::string> lines(1, std::string(static_cast<std::size_t>(indent), ' '));
  std::vector<int> columns(1, indent + 4);
  const auto column = [&] { return static_cast<int>(lines.back().size()); };
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    switch (piece.kind) {
      case Piece::Kind::kText:
        lines.back() += piece.text;
        break;
      case Piece::Kind::kOpen:
        columns.push_back(aligned && column() > indent ? column() : indent + 4);
        break;
      case Piece::Kind::kClose:
        columns.pop_back();
        break;
      case Piece::Kind::kBreak:
      case Piece::Kind::kAssignBreak: {
        const bool assign = piece.kind == Piece::Kind::kAssignBreak;
        const int target = assign ? indent + 4 : columns.back();
        const int width = width_after(pieces, i, assign, filling);
        const bool breaks =
            column() + 1 + width > kColumns && target < column() && (!assign || target + width <= kColumns);
        if (breaks) {
          lines.emplace_back(static_cast<std::size_t>(target), ' ');
        } else {
          lines.back() += ' ';
        }
        break;
      }
    }
  }
  return lines;
}

}  // namespace

std::vector<std::string> lay_out(const Pieces& pieces, int indent) {
  std::vector<std::string> lines = lay_out(pieces, indent, true, false);
  const auto longest = [](const std::vector<std::string>& all) {
    return std::ranges::max_element(all, {}, &std::string::size)->size();
  };
  if (longest(lines) > kColumns) {
    std::vector<std::string> others = lay_out(pieces, indent, false, false);
    if (longest(others) < longest(lines)) {
      return others;
    }
  }
  // Inside of an argument only where that spares a line.
  std::vector<std::string> filled = lay_out(pieces, indent, true, true);
  return filled.size() < lines.size() && longest(filled) <= kColumns ? filled : lines;
}

}  // namespace convtgen
