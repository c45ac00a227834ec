#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "generator/program/program_text.h"

namespace convtgen {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '"' || c == '\\') {
        out += '\\';
      }
      out += c;
    }
  }
  return out + '"';
}

/// The word as it is where it can stand unquoted.
std::string atom(std::string_view text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isgraph(static_cast<unsigned char>(c)) != 0 && c != '(' && c != ')' && c != '"' && c != '@' && c != ';';
  });
  return plain ? std::string(text) : quoted(text);
}

std::string text_of(const Expression& e);

std::string text_of(const Type& type) {
  std::string out;
  switch (type.kind) {
    case Type::Kind::kNamed:
      out = atom(type.name);
      break;
    case Type::Kind::kPointer:
      out = fmt::format("(pointer {})", text_of(type.element.at(0)));
      break;
    case Type::Kind::kReference:
      out = fmt::format("(reference {})", text_of(type.element.at(0)));
      break;
    case Type::Kind::kArray:
      out = fmt::format("(array {}{}{})", text_of(type.element.at(0)), type.extent.empty() ? "" : " ",
                        type.extent.empty() ? "" : text_of(type.extent[0]));
      break;
  }
  if (type.is_restrict) {
    out = fmt::format("(restrict {})", out);
  }
  if (type.is_const) {
    out = fmt::format("(const {})", out);
  }
  return out;
}

std::string list(std::string head, const std::vector<Expression>& operands) {
  for (const Expression& operand : operands) {
    head += ' ' + text_of(operand);
  }
  return '(' + head + ')';
}

std::string text_of(const Expression& e) {
  switch (e.kind) {
    case Expression::Kind::kLiteral:
      if (e.value.type < Scalar::kInt && e.value.type != Scalar::kBool) {
        return fmt::format("(cast {} {})", atom(spelling_of(e.value.type)), static_cast<std::int64_t>(wide(e.value)));
      }
      return literal_text(e.value);
    case Expression::Kind::kName:
      return atom(e.text);
    case Expression::Kind::kUnary:
    case Expression::Kind::kBinary:
      return list(atom(e.text), e.operands);
    case Expression::Kind::kConditional:
      return list("?", e.operands);
    case Expression::Kind::kIndex:
      return list("at", e.operands);
    case Expression::Kind::kMember:
      return fmt::format("(. {} {})", text_of(e.operands.at(0)), atom(e.text));
    case Expression::Kind::kArrow:
      return fmt::format("(-> {} {})", text_of(e.operands.at(0)), atom(e.text));
    case Expression::Kind::kCall:
      return list("call " + atom(e.text), e.operands);
    case Expression::Kind::kCast:
      return list(e.text + ' ' + text_of(e.type), e.operands);
    case Expression::Kind::kSizeof:
      return fmt::format("(sizeof {})", text_of(e.type));
    case Expression::Kind::kInit:
      return list("init", e.operands);
    case Expression::Kind::kText:
      return fmt::format("(text {})", quoted(e.text));
  }
  return {};
}

class Writer {
 public:
  std::string write(const Program& program) {
    open(fmt::format("(program {}", atom(program.name)));
    if (!program.digest.empty()) {
      line(fmt::format("(digest {})", quoted(program.digest)));
    }
    for (const ParameterDeclaration& p : program.parameters) {
      line(p.is_type ? fmt::format("(type_parameter {} {})", atom(p.name), text_of(p.type))
                     : fmt::format("(parameter {} {} {})", text_of(p.type), atom(p.name), text_of(p.default_value)));
    }
    std::string file;
    for (const Item& item : program.items) {
      std::visit(
          [&](const auto& i) {
            if (i.place.file != file) {
              file = i.place.file;
              line(fmt::format("(file {})", quoted(file)));
            }
            write_item(i);
          },
          item);
    }
    close();
    return out_ + "\n";
  }

 private:
  void line(std::string_view text) {
    if (!out_.empty()) {
      out_ += '\n';
    }
    out_.append(static_cast<std::size_t>(2 * depth_), ' ');
    out_ += text;
  }
  void open(std::string_view text) {
    line(text);
    ++depth_;
  }
  void close() {
    out_ += ')';
    --depth_;
  }

  void write_item(const Section& i) { line(fmt::format("(section @{} {})", i.place.line, quoted(i.title))); }
  void write_item(const Constant& i) {
    line(fmt::format("(constant @{} {} {} {}{})", i.place.line, text_of(i.type), atom(i.name), text_of(i.value),
                     i.trail.empty() ? "" : fmt::format(" (trail {})", quoted(i.trail))));
  }
  void write_item(const Enumeration& i) {
    std::string text = fmt::format("(enum @{} {}", i.place.line, atom(i.name));
    for (const auto& [name, value] : i.enumerators) {
      text += fmt::format(" ({} {})", atom(name), value);
    }
    line(text + ')');
  }
  void write_item(const Alias& i) {
    open(fmt::format("(alias @{} {} {}", i.place.line, atom(i.name), text_of(i.type)));
    write_comment(i.comment);
    close();
  }
  void write_item(const Record& i) {
    open(fmt::format("(record @{} {}", i.place.line, atom(i.name)));
    if (!i.attribute.empty()) {
      line(fmt::format("(attribute {})", quoted(i.attribute)));
    }
    write_comment(i.comment);
    for (const Field& f : i.fields) {
      line(fmt::format("(field {} {}{})", text_of(f.type), atom(f.name),
                       f.trail.empty() ? "" : fmt::format(" (trail {})", quoted(f.trail))));
    }
    close();
  }
  void write_item(const StaticAssertion& i) {
    line(fmt::format("(static_assert @{} {} {})", i.place.line, text_of(i.condition), quoted(i.message)));
  }
  void write_item(const Primitive& i) {
    if (i.is_declaration) {
      line(fmt::format("(verbatim @{} {} {})", i.place.line, atom(i.name), quoted(i.text)));
      return;
    }
    std::string uses = "uses";
    for (const std::string& name : i.uses) {
      uses += ' ' + atom(name);
    }
    line(fmt::format("(primitive @{} {} {} {} ({}) {})", i.place.line, i.only_computes ? "computes" : "acts",
                     text_of(i.type), atom(i.name), uses, quoted(i.text)));
  }
  void write_item(const PrintedPrimitive& i) {
    std::string text = fmt::format("(printed @{} {}", i.place.line, atom(i.name));
    for (const PrintedPrimitive::Parameter& p : i.parameters) {
      text += fmt::format(" ({} {})", p.is_static ? "static" : "argument", atom(p.name));
    }
    line(text + ')');
  }
  void write_item(const Function& i) {
    constexpr std::string_view kKinds[] = {"constexpr", "device", "kernel"};
    open(fmt::format("(function @{} {} {} {}", i.place.line, kKinds[static_cast<int>(i.kind)], text_of(i.type),
                     atom(i.name)));
    write_comment(i.comment);
    if (!i.attributes.empty()) {
      line(fmt::format("(attributes {})", quoted(i.attributes)));
    }
    if (!i.launch_bounds.empty()) {
      line(list("launch_bounds", i.launch_bounds));
    }
    for (const Argument& a : i.arguments) {
      line(
          fmt::format("(argument {} {}{})", text_of(a.type), atom(a.name), a.is_grid_constant ? " grid_constant" : ""));
    }
    write_all(i.body);
    close();
  }
  void write_comment(const std::vector<std::string>& lines) {
    for (const std::string& text : lines) {
      line(fmt::format("(comment {})", quoted(text)));
    }
  }
  void write_all(const std::vector<Statement>& statements) {
    for (const Statement& s : statements) {
      write_statement(s);
    }
  }

  /// What stands in the statement's own line after its name.
  std::string head_of(const Statement& s) {
    const auto expressions = [&] {
      std::string text;
      for (const Expression& e : s.expressions) {
        text += ' ' + text_of(e);
      }
      return text;
    };
    const std::string at = fmt::format(" @{}", s.line);
    switch (s.kind) {
      case Statement::Kind::kDeclare:
        return fmt::format("declare{} {} {}{}", at, text_of(s.type), atom(s.name), expressions());
      case Statement::Kind::kDeclareConstexpr:
        return fmt::format("declare_constexpr{} {} {}{}", at, text_of(s.type), atom(s.name), expressions());
      case Statement::Kind::kDeclareShared:
        return fmt::format("declare_shared{} {} {}", at, text_of(s.type), atom(s.name));
      case Statement::Kind::kUsing:
        return fmt::format("using{} {} {}", at, atom(s.name), text_of(s.type));
      case Statement::Kind::kExpression:
        return "do" + at + expressions();
      case Statement::Kind::kIf:
        return "if" + at + expressions();
      case Statement::Kind::kIfConstexpr:
        return "if_constexpr" + at + expressions();
      case Statement::Kind::kFor: {
        const std::string loop = s.unrolled       ? "unrolled"
                                 : s.text.empty() ? "plain"
                                                  : fmt::format("(pragma {})", quoted(s.text));
        return fmt::format("for{} {} {} {} {}", at, loop, s.init.empty() ? "none" : '(' + head_of(s.init[0]) + ')',
                           s.condition.empty() ? "none" : text_of(s.condition[0]),
                           s.step.empty() ? "none" : text_of(s.step[0]));
      }
      case Statement::Kind::kWhile:
        return fmt::format("while{} {}", at, text_of(s.condition.at(0)));
      case Statement::Kind::kReturn:
        return "return" + at + expressions();
      case Statement::Kind::kBreak:
        return "break" + at;
      case Statement::Kind::kContinue:
        return "continue" + at;
      case Statement::Kind::kBlock:
        return "block" + at;
      case Statement::Kind::kAsm:
        return fmt::format("asm{} {}", at, quoted(s.text));
      case Statement::Kind::kComment:
        return fmt::format("comment{} {}", at, quoted(s.text));
      case Statement::Kind::kBlank:
        return "blank" + at;
      case Statement::Kind::kStaticAssert:
        return fmt::format("static_assert{}{} {}", at, expressions(), quoted(s.text));
    }
    return {};
  }

  void write_statement(const Statement& s) {
    open('(' + head_of(s));
    if (s.kind == Statement::Kind::kIf || s.kind == Statement::Kind::kIfConstexpr) {
      open("(then");
      write_all(s.body);
      close();
      if (!s.otherwise.empty()) {
        open("(else");
        write_all(s.otherwise);
        close();
      }
    } else {
      write_all(s.body);
    }
    if (!s.trail.empty()) {
      line(fmt::format("(trail {})", quoted(s.trail)));
    }
    close();
  }

  std::string out_;
  int depth_ = 0;
};

}  // namespace

std::string write_program(const Program& program) {
  return Writer().write(program);
}

}  // namespace convtgen
