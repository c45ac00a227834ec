#include "generator/specializer/term.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/specializer/print_layout.h"

namespace convtgen {
namespace {

using Kind = Expression::Kind;

}  // namespace

Type scalar_type(Scalar type) {
  Type out;
  out.name = spelling_of(type);
  return out;
}

Term literal(const Value& value) {
  Term out;
  out.value = value;
  out.type = scalar_type(value.type);
  out.scalar = value.type;
  return out;
}

Term without_suffix(Term term) {
  if (term.value && term.constant.empty()) {
    if (const std::optional<Value> plain = without_suffix(*term.value)) {
      return literal(*plain);
    }
  }
  return term;
}

Term name_term(std::string name, const Type& type) {
  return node(Kind::kName, name, type, {});
}

Term node(Kind kind, std::string_view text, const Type& type, std::vector<Term> operands) {
  Term out;
  out.kind = kind;
  out.text = text;
  out.type = type;
  out.type.is_const = false;
  out.operands = std::move(operands);
  if (type.kind == Type::Kind::kNamed) {
    out.scalar = scalar_named(type.name);
  }
  return out;
}

bool is_pure(const Term& term) {
  const bool changes = (term.kind == Kind::kUnary && (term.text.ends_with("++") || term.text.ends_with("--"))) ||
                       (term.kind == Kind::kBinary && precedence_of(term.text) == 2) ||
                       (term.kind == Kind::kCall && !term.only_computes) || term.kind == Kind::kText;
  return !changes && std::ranges::all_of(term.operands, is_pure);
}

bool is_same(const Term& a, const Term& b) {
  const bool same_value =
      a.value.has_value() == b.value.has_value() && (!a.value || literal_text(*a.value) == literal_text(*b.value));
  return a.kind == b.kind && a.text == b.text && a.id == b.id && same_value && a.written == b.written &&
         std::ranges::equal(a.operands, b.operands, is_same);
}

int precedence_of(std::string_view op) {
  if (op == "*" || op == "/" || op == "%") {
    return 13;
  }
  if (op == "+" || op == "-") {
    return 12;
  }
  if (op == "<<" || op == ">>") {
    return 11;
  }
  if (op == "<" || op == ">" || op == "<=" || op == ">=") {
    return 10;
  }
  if (op == "==" || op == "!=") {
    return 9;
  }
  if (op == "&") {
    return 8;
  }
  if (op == "^") {
    return 7;
  }
  if (op == "|") {
    return 6;
  }
  if (op == "&&") {
    return 5;
  }
  if (op == "||") {
    return 4;
  }
  return op == "," ? 1 : 2;
}

int precedence_of(const Term& term) {
  switch (term.kind) {
    case Kind::kLiteral:
      return term.constant.empty() && literal_text(*term.value).starts_with('-') ? precedence::kUnary
                                                                                 : precedence::kPrimary;
    case Kind::kUnary:
      return term.text.starts_with("post") ? precedence::kPostfix : precedence::kUnary;
    case Kind::kBinary:
      return precedence_of(term.text);
    case Kind::kConditional:
      return precedence::kConditional;
    case Kind::kText:
      return 1;
    default:
      return precedence::kPrimary;
  }
}

std::string text_of(const Term& term) {
  Pieces pieces;
  add_term(pieces, term);
  return flat_text(pieces);
}

std::string text_of_type(const Type& type) {
  return declaration_text(type, "");
}

std::string declaration_text(const Type& type, std::string_view name) {
  // Arrays write their extents after the name, and what points or refers to one stands in parentheses with it.
  std::string extents;
  const Type* inner = &type;
  while (inner->kind == Type::Kind::kArray) {
    const std::string extent =
        inner->extent.empty() || inner->extent[0].kind != Kind::kLiteral ? "" : literal_text(inner->extent[0].value);
    extents += "[" + extent + "]";
    inner = &inner->element.at(0);
  }
  std::string before;
  if (inner->kind != Type::Kind::kNamed && inner->element.at(0).kind == Type::Kind::kArray) {
    const std::string_view mark = inner->kind == Type::Kind::kPointer ? "*" : "&";
    return declaration_text(inner->element[0], fmt::format("({}{}{})", mark, name, extents));
  }
  if (inner->kind == Type::Kind::kNamed) {
    before = (inner->is_const ? "const " : "") + inner->name;
  } else {
    before = text_of_type(inner->element.at(0)) + (inner->kind == Type::Kind::kPointer ? "*" : "&");
    before += inner->is_const ? " const" : "";
    before += inner->is_restrict ? " __restrict__" : "";
  }
  return name.empty() ? before + extents : before + " " + std::string(name) + extents;
}

}  // namespace convtgen
