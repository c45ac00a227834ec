#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "generator/program/program_text.h"
#include "generator/program/sexp.h"

namespace convtgen {
namespace {

/// Walks one list. The first error stays; after it everything reads as empty.
class Reader {
 public:
  std::optional<Error> error;

  Program read(const Sexp& root) {
    Program out;
    if (!root.is("program") || root.items.size() < 2) {
      report(root, "expected (program NAME ...)");
      return out;
    }
    out.name = word(root, 1);
    std::string file;
    for (std::size_t i = 2; i < root.items.size() && !error; ++i) {
      const Sexp& s = root.items[i];
      if (s.is("digest")) {
        out.digest = word(s, 1);
      } else if (s.is("file")) {
        file = word(s, 1);
      } else if (s.is("parameter")) {
        out.parameters.push_back({false, word(s, 2), type(s, 1), expression(s, 3)});
      } else if (s.is("type_parameter")) {
        out.parameters.push_back({true, word(s, 1), type(s, 2), {}});
      } else {
        out.items.push_back(item(s, file));
      }
    }
    return out;
  }

 private:
  void report(const Sexp& where, std::string_view message) {
    if (!error) {
      error = Error{fmt::format("line {}: {}", where.line, message)};
    }
  }

  const Sexp& at(const Sexp& s, std::size_t i) {
    static const Sexp kNothing;
    if (!s.is_list || i >= s.items.size()) {
      report(s, fmt::format("expected {} elements after the first", i));
      return kNothing;
    }
    return s.items[i];
  }

  std::string word(const Sexp& s, std::size_t i) {
    const Sexp& item = at(s, i);
    if (item.is_list) {
      report(item, "expected a word or a string");
    }
    return item.atom;
  }

  std::int64_t number(const Sexp& s, std::string_view text) {
    std::int64_t out = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (status != std::errc() || end != text.data() + text.size()) {
      report(s, fmt::format("expected a number, not '{}'", text));
    }
    return out;
  }

  /// The line of an item or statement: the element after its name.
  int line_of(const Sexp& s) {
    const std::string text = word(s, 1);
    if (!text.starts_with('@')) {
      report(s, "expected @ and a line number after the first word");
      return 0;
    }
    return static_cast<int>(number(s, std::string_view(text).substr(1)));
  }

  Type type(const Sexp& s, std::size_t i) { return type(at(s, i)); }
  Type type(const Sexp& s) {
    if (!s.is_list) {
      Type out;
      out.name = s.atom;
      if (s.atom.empty()) {
        report(s, "expected a type");
      }
      return out;
    }
    if (s.is("const") || s.is("restrict")) {
      Type out = type(s, 1);
      (s.is("const") ? out.is_const : out.is_restrict) = true;
      return out;
    }
    Type out;
    if (s.is("pointer") || s.is("reference")) {
      out.kind = s.is("pointer") ? Type::Kind::kPointer : Type::Kind::kReference;
    } else if (s.is("array")) {
      out.kind = Type::Kind::kArray;
      if (s.items.size() > 2) {
        out.extent.push_back(expression(s, 2));
      }
    } else {
      report(s, "expected a type");
      return out;
    }
    out.element.push_back(type(s, 1));
    return out;
  }

  void operands(const Sexp& s, std::size_t first, Expression& out) {
    for (std::size_t i = first; i < s.items.size(); ++i) {
      out.operands.push_back(expression(s.items[i]));
    }
  }

  Expression expression(const Sexp& s, std::size_t i) { return expression(at(s, i)); }
  Expression expression(const Sexp& s) {
    using Kind = Expression::Kind;
    Expression out;
    if (!s.is_list) {
      if (const std::optional<Value> value = s.is_quoted ? std::nullopt : parse_literal(s.atom)) {
        out.value = *value;
        return out;
      }
      out.kind = Kind::kName;
      out.text = s.atom;
      if (s.atom.empty()) {
        report(s, "expected an expression");
      } else if ((s.atom[0] >= '0' && s.atom[0] <= '9') || s.atom[0] == '-') {
        report(s, fmt::format("'{}' is no literal", s.atom));
      }
      return out;
    }
    if (s.items.empty() || s.items[0].is_list) {
      report(s, "expected an expression");
      return out;
    }
    const std::string head = word(s, 0);
    if (head == "static_cast" || head == "reinterpret_cast" || head == "const_cast" || head == "cast") {
      out.kind = Kind::kCast;
      out.text = head;
      out.type = type(s, 1);
      operands(s, 2, out);
      need(s, out.operands.size() == 1 || head == "cast");
    } else if (head == "sizeof") {
      out.kind = Kind::kSizeof;
      out.type = type(s, 1);
    } else if (head == "text") {
      out.kind = Kind::kText;
      out.text = word(s, 1);
    } else if (head == "init") {
      out.kind = Kind::kInit;
      operands(s, 1, out);
    } else if (head == "call") {
      out.kind = Kind::kCall;
      out.text = word(s, 1);
      operands(s, 2, out);
    } else if (head == "." || head == "->") {
      out.kind = head == "." ? Kind::kMember : Kind::kArrow;
      out.operands.push_back(expression(s, 1));
      out.text = word(s, 2);
    } else if (head == "at") {
      out.kind = Kind::kIndex;
      operands(s, 1, out);
      need(s, out.operands.size() == 2);
    } else if (head == "?") {
      out.kind = Kind::kConditional;
      operands(s, 1, out);
      need(s, out.operands.size() == 3);
    } else {
      operator_expression(s, head, out);
    }
    return out;
  }

  void operator_expression(const Sexp& s, const std::string& head, Expression& out) {
    constexpr std::array<std::string_view, 10> kUnary = {"-", "!", "~", "+", "*", "&", "++", "--", "post++", "post--"};
    constexpr std::array<std::string_view, 30> kBinary = {
        "+", "-",  "*",  "/", "%",  "<<", ">>", "<",  ">",  "<=", ">=", "==", "!=",  "&",   "|",
        "^", "&&", "||", "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", ","};
    out.text = head;
    operands(s, 1, out);
    const auto known = [&](const auto& operators) {
      return std::find(operators.begin(), operators.end(), head) != operators.end();
    };
    if (out.operands.size() == 1 && known(kUnary)) {
      out.kind = Expression::Kind::kUnary;
    } else if (out.operands.size() == 2 && known(kBinary)) {
      out.kind = Expression::Kind::kBinary;
    } else {
      report(s, fmt::format("'{}' with {} operands is no expression", head, out.operands.size()));
    }
  }

  void need(const Sexp& s, bool holds) {
    if (!holds) {
      report(s, fmt::format("'{}' with {} elements", s.items[0].atom, s.items.size()));
    }
  }

  Item item(const Sexp& s, const std::string& file) {
    if (!s.is_list || s.items.empty()) {
      report(s, "expected an item of the program");
      return Section{};
    }
    const Place place{file, line_of(s)};
    if (s.is("section")) {
      return Section{place, word(s, 2)};
    }
    if (s.is("constant")) {
      return Constant{place, type(s, 2), word(s, 3), expression(s, 4),
                      s.items.size() > 5 ? tagged(s.items[5], "trail") : ""};
    }
    if (s.is("enum")) {
      Enumeration out{place, word(s, 2), {}};
      for (std::size_t i = 3; i < s.items.size(); ++i) {
        out.enumerators.emplace_back(word(s.items[i], 0), number(s.items[i], word(s.items[i], 1)));
      }
      return out;
    }
    if (s.is("alias")) {
      Alias out{place, {}, word(s, 2), type(s, 3)};
      for (std::size_t i = 4; i < s.items.size(); ++i) {
        out.comment.push_back(tagged(s.items[i], "comment"));
      }
      return out;
    }
    if (s.is("static_assert")) {
      return StaticAssertion{place, expression(s, 2), word(s, 3)};
    }
    if (s.is("verbatim")) {
      return Primitive{place, true, false, {}, word(s, 2), {}, word(s, 3)};
    }
    if (s.is("primitive")) {
      const std::string effect = word(s, 2);
      if (effect != "computes" && effect != "acts") {
        report(s, fmt::format("a primitive computes or acts, and '{}' is neither", effect));
      }
      Primitive out{place, false, effect == "computes", type(s, 3), word(s, 4), {}, word(s, 6)};
      const Sexp& uses = at(s, 5);
      for (std::size_t i = 1; uses.is("uses") && i < uses.items.size(); ++i) {
        out.uses.push_back(uses.items[i].atom);
      }
      return out;
    }
    if (s.is("printed")) {
      PrintedPrimitive out{place, word(s, 2), {}};
      for (std::size_t i = 3; i < s.items.size(); ++i) {
        const bool is_static = s.items[i].is("static");
        out.parameters.push_back({is_static, tagged(s.items[i], is_static ? "static" : "argument")});
      }
      return out;
    }
    if (s.is("record")) {
      return record(s, place);
    }
    if (s.is("function")) {
      return function(s, place);
    }
    report(s, fmt::format("'{}' is no item of a program", s.items[0].atom));
    return Section{};
  }

  std::string tagged(const Sexp& s, std::string_view head) {
    if (!s.is(head)) {
      report(s, fmt::format("expected ({} \"...\")", head));
    }
    return word(s, 1);
  }

  Record record(const Sexp& s, const Place& place) {
    Record out{place, {}, {}, word(s, 2), {}};
    for (std::size_t i = 3; i < s.items.size(); ++i) {
      const Sexp& part = s.items[i];
      if (part.is("attribute")) {
        out.attribute = word(part, 1);
      } else if (part.is("field")) {
        out.fields.push_back(
            {type(part, 1), word(part, 2), part.items.size() > 3 ? tagged(part.items[3], "trail") : ""});
      } else {
        out.comment.push_back(tagged(part, "comment"));
      }
    }
    return out;
  }

  Function function(const Sexp& s, const Place& place) {
    Function out;
    out.place = place;
    const std::string kind = word(s, 2);
    out.kind = kind == "constexpr" ? Function::Kind::kConstexpr
               : kind == "kernel"  ? Function::Kind::kKernel
                                   : Function::Kind::kDevice;
    if (kind != "constexpr" && kind != "kernel" && kind != "device") {
      report(s, fmt::format("'{}' is no kind of function; expected constexpr, device or kernel", kind));
    }
    out.type = type(s, 3);
    out.name = word(s, 4);
    for (std::size_t i = 5; i < s.items.size() && !error; ++i) {
      const Sexp& part = s.items[i];
      const bool head_comment = part.is("comment") && part.items.size() == 2;
      if (head_comment) {
        out.comment.push_back(word(part, 1));
      } else if (part.is("attributes")) {
        out.attributes = word(part, 1);
      } else if (part.is("launch_bounds")) {
        for (std::size_t j = 1; j < part.items.size(); ++j) {
          out.launch_bounds.push_back(expression(part.items[j]));
        }
      } else if (part.is("argument")) {
        const bool is_grid_constant = part.items.size() > 3;
        if (is_grid_constant && word(part, 3) != "grid_constant") {
          report(part, "expected grid_constant or nothing after the name of an argument");
        }
        out.arguments.push_back({type(part, 1), word(part, 2), is_grid_constant});
      } else {
        out.body.push_back(statement(part));
      }
    }
    return out;
  }

  std::vector<Statement> statements(const Sexp& s, std::size_t first, std::string* trail = nullptr) {
    std::vector<Statement> out;
    for (std::size_t i = first; i < s.items.size() && !error; ++i) {
      if (trail != nullptr && s.items[i].is("trail")) {
        *trail = word(s.items[i], 1);
      } else {
        out.push_back(statement(s.items[i]));
      }
    }
    return out;
  }

  bool is_none(const Sexp& s) { return !s.is_list && s.atom == "none"; }

  Statement statement(const Sexp& s) {
    using Kind = Statement::Kind;
    constexpr std::array<std::pair<std::string_view, Kind>, 17> kKinds = {
        {{"declare", Kind::kDeclare},
         {"declare_constexpr", Kind::kDeclareConstexpr},
         {"declare_shared", Kind::kDeclareShared},
         {"using", Kind::kUsing},
         {"do", Kind::kExpression},
         {"if", Kind::kIf},
         {"if_constexpr", Kind::kIfConstexpr},
         {"for", Kind::kFor},
         {"while", Kind::kWhile},
         {"return", Kind::kReturn},
         {"break", Kind::kBreak},
         {"continue", Kind::kContinue},
         {"block", Kind::kBlock},
         {"asm", Kind::kAsm},
         {"comment", Kind::kComment},
         {"blank", Kind::kBlank},
         {"static_assert", Kind::kStaticAssert}}};
    Statement out;
    const auto* kind = std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& k) { return s.is(k.first); });
    if (kind == kKinds.end()) {
      report(s, s.is_list && !s.items.empty() ? fmt::format("'{}' is no statement", s.items[0].atom)
                                              : std::string("expected a statement"));
      return out;
    }
    out.kind = kind->second;
    out.line = line_of(s);
    std::size_t used = 2;  // elements read so far
    const auto initialiser = [&](std::size_t i) {
      if (i < s.items.size() && !s.items[i].is("trail")) {
        out.expressions.push_back(expression(s.items[i]));
        used = i + 1;
      }
    };
    switch (out.kind) {
      case Kind::kDeclare:
      case Kind::kDeclareConstexpr:
      case Kind::kDeclareShared:
        out.type = type(s, 2);
        out.name = word(s, 3);
        used = 4;
        initialiser(4);
        break;
      case Kind::kUsing:
        out.name = word(s, 2);
        out.type = type(s, 3);
        used = 4;
        break;
      case Kind::kExpression:
        out.expressions.push_back(expression(s, 2));
        used = 3;
        break;
      case Kind::kReturn:
        initialiser(2);
        break;
      case Kind::kIf:
      case Kind::kIfConstexpr:
        used = read_if(s, out);
        break;
      case Kind::kFor:
        read_for(s, out);
        used = 6;
        break;
      case Kind::kWhile:
        out.condition.push_back(expression(s, 2));
        used = 3;
        break;
      case Kind::kAsm:
      case Kind::kComment:
        out.text = word(s, 2);
        used = 3;
        break;
      case Kind::kStaticAssert:
        out.expressions.push_back(expression(s, 2));
        out.text = word(s, 3);
        used = 4;
        break;
      case Kind::kBreak:
      case Kind::kContinue:
      case Kind::kBlock:
      case Kind::kBlank:
        break;
    }
    const bool has_body = out.kind == Kind::kFor || out.kind == Kind::kWhile || out.kind == Kind::kBlock;
    std::vector<Statement> rest = statements(s, used, &out.trail);
    if (has_body) {
      out.body = std::move(rest);
    } else if (!rest.empty()) {
      report(s, fmt::format("'{}' has too many elements", s.items[0].atom));
    }
    return out;
  }

  std::size_t read_if(const Sexp& s, Statement& out) {
    out.expressions.push_back(expression(s, 2));
    const Sexp& taken = at(s, 3);
    if (!taken.is("then")) {
      report(s, "expected (then ...) after the condition");
      return 4;
    }
    out.body = statements(taken, 1);
    if (s.items.size() > 4 && s.items[4].is("else")) {
      out.otherwise = statements(s.items[4], 1);
      return 5;
    }
    return 4;
  }

  void read_for(const Sexp& s, Statement& out) {
    const Sexp& loop = at(s, 2);
    if (loop.is("pragma")) {
      out.text = word(loop, 1);
    } else if (loop.atom == "unrolled") {
      out.unrolled = true;
    } else if (loop.atom != "plain") {
      report(s, "expected unrolled, plain or (pragma \"...\") after the line of a for");
    }
    if (!is_none(at(s, 3))) {
      out.init.push_back(statement(at(s, 3)));
    }
    if (!is_none(at(s, 4))) {
      out.condition.push_back(expression(s, 4));
    }
    if (!is_none(at(s, 5))) {
      out.step.push_back(expression(s, 5));
    }
  }
};

}  // namespace

Result<Program> read_program(std::string_view text) {
  const Result<Sexp> root = parse_sexp(text);
  if (!root) {
    return std::unexpected(root.error());
  }
  Reader reader;
  Program program = reader.read(*root);
  if (reader.error) {
    return std::unexpected(*reader.error);
  }
  return program;
}

}  // namespace convtgen
