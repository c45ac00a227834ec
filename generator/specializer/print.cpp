#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "generator/specializer/kernel_source.h"
#include "generator/specializer/layout.h"
#include "generator/specializer/primitives.h"
#include "generator/specializer/residual.h"

namespace convtgen {
namespace {

using Kind = Residual::Kind;

constexpr std::size_t kShortColumns = 110;  // of a loop or an `if` that is one line

// nvcc's -arch=sm_90a also makes PTX of compute_90, whose assembler would print an error for each instruction.
constexpr std::string_view kOnlyOnSm90a =
    "#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)\n"
    "#error \"for sm_90a alone: nvcc -gencode arch=compute_90a,code=sm_90a, or NVRTC --gpu-architecture=sm_90a\"";

/// Head and body of a function on a line, if each is a line and both fit; else nothing.
std::string joined(const std::vector<std::string>& head, const std::vector<std::string>& body) {
  if (head.size() != 1 || body.size() != 1) {
    return "";
  }
  std::string whole = head[0] + " " + body[0].substr(body[0].find_first_not_of(' ')) + " }";
  return whole.size() <= kColumns ? whole : "";
}

/// A primitive's text: lists of an asm statement's operands follow one another on a line, and so does the whole
/// function, where it can be.
std::string shortened(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    const std::size_t first = line.find_first_not_of(' ');
    const bool is_list = first != line.npos && line[first] == ':';
    if (is_list && !lines.empty() && lines.back().size() + 1 + line.size() - first <= kColumns) {
      lines.back() += " " + line.substr(first);
    } else {
      lines.push_back(line);
    }
    at = end + 1;
  }
  for (std::size_t i = 0; i + 2 < lines.size(); ++i) {
    if (lines[i].starts_with("  if (") && lines[i].ends_with('{') && lines[i + 2] == "  }") {
      const std::string whole =
          lines[i].substr(0, lines[i].size() - 1) + lines[i + 1].substr(lines[i + 1].find_first_not_of(' '));
      if (whole.size() <= kColumns) {
        lines[i] = whole;
        lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                    lines.begin() + static_cast<std::ptrdiff_t>(i) + 3);
      }
    }
  }
  const std::size_t count = lines.size();
  if (count >= 3 && lines[count - 1] == "}" && lines[count - 3].starts_with("__device__") &&
      lines[count - 3].ends_with('{')) {
    if (const std::string whole = joined({lines[count - 3]}, {lines[count - 2]}); !whole.empty()) {
      lines.resize(count - 3);
      lines.push_back(whole);
    }
  }
  std::string out;
  for (const std::string& line : lines) {
    out += (out.empty() ? "" : "\n") + line;
  }
  return out;
}

class Printer {
 public:
  [[nodiscard]] Text take() {
    align_trails();
    return std::move(out_);
  }

  void line(std::string_view text, int template_line) {
    align_trails();
    out_.text += text;
    out_.text += '\n';
    out_.lines.push_back(template_line);
  }

  void verbatim(std::string_view text, int template_line) {
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      line(text.substr(at, end - at), template_line);
      at = end + 1;
    }
  }

  void comment(const std::vector<std::string>& lines, int template_line) {
    for (const std::string& text : lines) {
      line(comment_text(text), template_line);
    }
  }

  static std::string comment_text(std::string_view text) { return text.empty() ? "//" : "// " + std::string(text); }

  /// Long statements on several lines; the comment behind them where it fits, else above.
  void pieces(const Pieces& pieces, int indent, int template_line, std::string_view trail = "") {
    std::vector<std::string> lines = lay_out(pieces, indent);
    if (!trail.empty()) {
      const std::string text = comment_text(trail);
      if (lines.back().size() + 2 + text.size() <= kColumns) {
        for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
          line(lines[i], template_line);
        }
        trailed_line(lines.back(), text, template_line);
        return;
      }
      lines.insert(lines.begin(), std::string(static_cast<std::size_t>(indent), ' ') + text);
    }
    for (const std::string& text : lines) {
      line(text, template_line);
    }
  }

  void all(const std::vector<Residual>& body, int indent) {
    for (const Residual& r : body) {
      statement(r, indent);
    }
  }

  void function(const Version& version, int template_line) {
    comment(version.comment, template_line);
    const bool is_kernel = version.function->kind == Function::Kind::kKernel;
    Pieces head;
    if (is_kernel) {
      add_text(head, "extern \"C\" __global__ " + text_of_type(version.type));
      if (!version.launch_bounds.empty()) {
        add_text(head, " __launch_bounds__(" + version.launch_bounds + ")");
      }
      if (version.cluster > 1) {
        add_text(head, " __cluster_dims__(" + std::to_string(version.cluster) + ", 1, 1)");
      }
      head.push_back({Piece::Kind::kBreak, {}});
    } else {
      const std::string& given = version.function->attributes;
      const std::string attributes = given == "inline" ? "__forceinline__" : given;
      add_text(head, "__device__ " + attributes + (attributes.empty() ? "" : " ") + text_of_type(version.type) + " ");
    }
    add_text(head, version.name + "(");
    head.push_back({Piece::Kind::kOpen, {}});
    for (std::size_t i = 0; i < version.arguments.size(); ++i) {
      const ResidualArgument& argument = version.arguments[i];
      const bool is_grid_constant = version.function->arguments[argument.position].is_grid_constant;
      add_text(head, (is_grid_constant ? "__grid_constant__ " : "") + declaration_text(argument.type, argument.name));
      if (i + 1 < version.arguments.size()) {
        add_text(head, ",");
        head.push_back({Piece::Kind::kBreak, {}});
      }
    }
    head.push_back({Piece::Kind::kClose, {}});
    add_text(head, ") {");
    if (const std::string whole = one_line(head, version.body);
        !is_kernel && !whole.empty() && version.body[0].trail.empty()) {
      line(whole, version.body[0].line);
      return;
    }
    pieces(head, 0, template_line);
    all(version.body, 2);
    line("}", template_line);
  }

 private:
  /// The comment behind one line of code.
  struct Trail {
    std::size_t at = 0;  // of the text: behind the code
    std::size_t code = 0;
    std::size_t comment = 0;
  };

  void trailed_line(std::string_view code, std::string_view comment_text, int template_line) {
    out_.text += code;
    trails_.push_back({out_.text.size(), code.size(), comment_text.size()});
    out_.text += "  ";
    out_.text += comment_text;
    out_.text += '\n';
    out_.lines.push_back(template_line);
  }

  /// Comments behind statements of successive lines stand below each other, where there is room.
  void align_trails() {
    std::size_t widest = 0;
    for (const Trail& trail : trails_) {
      widest = std::max(widest, trail.code);
    }
    for (std::size_t i = trails_.size(); i-- > 0;) {
      const Trail& trail = trails_[i];
      if (widest + 2 + trail.comment <= kColumns) {
        out_.text.insert(trail.at, widest - trail.code, ' ');
      }
    }
    trails_.clear();
  }

  static std::string blanks(int indent) { return std::string(static_cast<std::size_t>(indent), ' '); }

  static bool is_one_statement(const std::vector<Residual>& body) {
    using enum Residual::Kind;
    return body.size() == 1 && (body[0].kind == kReturn || body[0].kind == kExpression || body[0].kind == kBreak ||
                                body[0].kind == kContinue);
  }

  /// A function of one statement, on a line; nothing if it has more or the line were too long.
  static std::string one_line(const Pieces& head, const std::vector<Residual>& body) {
    return is_one_statement(body) ? joined(lay_out(head, 0), lay_out(statement_pieces(body[0]), 0)) : "";
  }

  /// What stands before the body of a loop or an `if`.
  static Pieces head_of(const Residual& r) {
    Pieces head;
    if (r.kind == Kind::kIf) {
      add_text(head, "if (");
      add_term(head, r.terms[0]);
      add_text(head, ")");
      return head;
    }
    if (!r.text.empty()) {
      add_text(head, "_Pragma(\"" + r.text + "\") ");
    }
    if (r.kind == Kind::kWhile) {
      add_text(head, "while (");
      add_term(head, r.condition[0]);
    } else {
      add_text(head, "for (");
      head.push_back({Piece::Kind::kOpen, {}});
      if (!r.init.empty() && r.init[0].kind == Kind::kDeclare) {
        add_declaration(head, r.init[0]);
      } else if (!r.init.empty() && !r.init[0].terms.empty()) {
        add_term(head, r.init[0].terms[0]);
      }
      add_text(head, ";");
      if (!r.condition.empty()) {
        head.push_back({Piece::Kind::kBreak, {}});
        add_term(head, r.condition[0]);
      }
      add_text(head, ";");
      if (!r.step.empty()) {
        head.push_back({Piece::Kind::kBreak, {}});
        add_term(head, r.step[0]);
      }
      head.push_back({Piece::Kind::kClose, {}});
    }
    add_text(head, ")");
    return head;
  }

  /// A statement that is one line, and the comment behind it; a loop or an `if` is one with a short statement in it.
  struct Line {
    std::string code;
    std::string trail;
  };
  static std::optional<Line> line_of(const Residual& r, int indent) {
    const bool has_body = r.kind == Kind::kFor || r.kind == Kind::kWhile || r.kind == Kind::kIf;
    if (has_body && (!is_one_statement(r.body) || !r.otherwise.empty())) {
      return std::nullopt;
    }
    std::vector<std::string> lines = lay_out(has_body ? head_of(r) : statement_pieces(r), indent);
    if (lines.size() != 1) {
      return std::nullopt;
    }
    Line out{std::move(lines[0]), r.trail};
    if (has_body) {
      const std::optional<Line> inner = line_of(r.body[0], 0);
      if (!inner || (!inner->trail.empty() && !out.trail.empty())) {
        return std::nullopt;
      }
      out.code += " " + inner->code;
      out.trail += inner->trail;
    }
    const bool has_pragma = r.kind != Kind::kIf && !r.text.empty();
    const std::size_t most = has_body && !has_pragma ? kShortColumns : kColumns;
    const std::size_t room = out.trail.empty() ? 0 : 2 + comment_text(out.trail).size();
    return out.code.size() <= most && out.code.size() + room <= kColumns ? std::optional(out) : std::nullopt;
  }

  void one_line(const Line& text, int template_line) {
    if (text.trail.empty()) {
      line(text.code, template_line);
    } else {
      trailed_line(text.code, comment_text(text.trail), template_line);
    }
  }

  /// A loop or an `if` around what is one line has no braces, and stands on that line where it can.
  bool without_braces(const Residual& r, int indent) {
    using enum Residual::Kind;
    if (const std::optional<Line> whole = line_of(r, indent)) {
      one_line(*whole, r.body[0].line);
      return true;
    }
    const bool is_around_one =
        r.body.size() == 1 && r.otherwise.empty() &&
        (is_one_statement(r.body) || r.body[0].kind == kFor || r.body[0].kind == kWhile || r.body[0].kind == kIf);
    const std::optional<Line> inner = is_around_one ? line_of(r.body[0], indent + 2) : std::nullopt;
    const Pieces head = head_of(r);
    if (!inner || lay_out(head, indent).size() != 1) {
      return false;
    }
    pieces(head, indent, r.line, r.trail);
    one_line(*inner, r.body[0].line);
    return true;
  }

  static void add_declaration(Pieces& to, const Residual& r) {
    add_text(to, r.text + declaration_text(r.type, r.name));
    if (!r.terms.empty()) {
      add_text(to, " =");
      to.push_back({Piece::Kind::kAssignBreak, {}});
      add_term(to, r.terms[0], 2);
    }
  }

  void conditional(const Residual& r, int indent, std::string_view before) {
    if (before.empty() && without_braces(r, indent)) {
      return;
    }
    Pieces head;
    add_text(head, std::string(before) + "if (");
    add_term(head, r.terms[0]);
    add_text(head, ") {");
    pieces(head, indent, r.line, before.empty() ? std::string_view(r.trail) : "");
    all(r.body, indent + 2);
    if (r.otherwise.size() == 1 && r.otherwise[0].kind == Kind::kIf) {
      conditional(r.otherwise[0], indent, "} else ");
      return;
    }
    if (!r.otherwise.empty()) {
      line(blanks(indent) + "} else {", r.line);
      all(r.otherwise, indent + 2);
    }
    line(blanks(indent) + "}", r.line);
  }

  void loop(const Residual& r, int indent) {
    if (without_braces(r, indent)) {
      return;
    }
    Pieces head = head_of(r);
    add_text(head, " {");
    pieces(head, indent, r.line, r.trail);
    all(r.body, indent + 2);
    line(blanks(indent) + "}", r.line);
  }

  /// A statement that ends with a semicolon.
  static Pieces statement_pieces(const Residual& r) {
    Pieces text;
    if (r.kind == Kind::kDeclare) {
      add_declaration(text, r);
    } else if (r.kind == Kind::kUsing) {
      add_text(text, "using " + r.name + " = " + text_of_type(r.type));
    } else if (r.kind == Kind::kExpression) {
      add_term(text, r.terms[0]);
    } else if (r.kind == Kind::kReturn) {
      add_text(text, r.terms.empty() ? "return" : "return ");
      if (!r.terms.empty()) {
        add_term(text, r.terms[0]);
      }
    } else {
      add_text(text, r.kind == Kind::kBreak ? "break" : "continue");
    }
    add_text(text, ";");
    return text;
  }

  void statement(const Residual& r, int indent) {
    switch (r.kind) {
      case Kind::kDeclare:
      case Kind::kUsing:
      case Kind::kExpression:
      case Kind::kReturn:
      case Kind::kBreak:
      case Kind::kContinue:
        pieces(statement_pieces(r), indent, r.line, r.trail);
        return;
      case Kind::kIf:
        conditional(r, indent, "");
        return;
      case Kind::kFor:
      case Kind::kWhile:
        loop(r, indent);
        return;
      case Kind::kBlock:
      case Kind::kSplice:
        line(blanks(indent) + "{", r.line);
        all(r.body, indent + 2);
        line(blanks(indent) + "}", r.line);
        return;
      case Kind::kAsm:
        verbatim(blanks(indent) + r.text, r.line);
        return;
      case Kind::kComment:
        line(blanks(indent) + comment_text(r.text), r.line);
        return;
      case Kind::kBlank:
        line("", r.line);
        return;
      case Kind::kGone:
        return;
    }
  }

  Text out_;
  std::vector<Trail> trails_;  // of the lines just printed
};

}  // namespace

Text print(const Output& output, const std::string& head) {
  Printer printer;
  printer.verbatim(head, 0);
  const std::string main_file = output.globals->program().name + ".cu";
  const auto line_of = [&](const Place& place) { return place.file == main_file ? place.line : 0; };
  // Several sources can stand in one translation unit: each has its own namespace. Its kernels are global names.
  const std::string name_space = output.versions.back().name + std::string(kNamespaceSuffix);
  printer.line("", 0);
  printer.line(fmt::format("namespace {} {{", name_space), 0);
  if (!output.primitives.empty()) {
    if (std::ranges::any_of(output.primitives, is_only_of_sm_90a, &Primitive::name)) {
      printer.verbatim(kOnlyOnSm90a, 0);
      printer.line("#elif !defined(CONVTGEN_HOST_DEVICE)", 0);
    } else {
      printer.line("#ifndef CONVTGEN_HOST_DEVICE", 0);
    }
    for (const Primitive& primitive : output.primitives) {
      printer.verbatim(shortened(primitive.text), 0);
    }
    printer.line("#endif", 0);
  }
  // Kernels stand apart, and so does what comes from different files of the template.
  std::string group;
  const auto separate = [&](const std::string& of) {
    if (of.empty() || of != group) {
      printer.line("", 0);
    }
    group = of;
  };
  std::size_t next = 0;  // of the types
  const auto types_before = [&](std::size_t order) {
    for (; next < output.types.size() && output.types[next].order < order; ++next) {
      const ResidualType& type = output.types[next];
      separate(type.alias != nullptr ? type.alias->place.file : type.record->place.file);
      if (type.alias != nullptr) {
        const int line = line_of(type.alias->place);
        printer.comment(type.alias->comment, line);
        printer.line(fmt::format("using {} = {};", type.alias->name, text_of_type(type.type)), line);
        continue;
      }
      const int line = line_of(type.record->place);
      printer.comment(type.record->comment, line);
      const std::string& attribute = type.record->attribute;
      const std::string head =
          fmt::format("struct {}{}{} {{", attribute, attribute.empty() ? "" : " ", type.record->name);
      std::string whole = head;
      for (const Field& field : type.fields) {
        whole += fmt::format(" {};", declaration_text(field.type, field.name));
      }
      if (whole.size() + 3 <= kShortColumns && std::ranges::all_of(type.fields, &std::string::empty, &Field::trail)) {
        printer.line(whole + " };", line);
        continue;
      }
      printer.line(head, line);
      for (const Field& field : type.fields) {
        Pieces text;
        add_text(text, declaration_text(field.type, field.name) + ";");
        printer.pieces(text, 2, line, field.trail);
      }
      printer.line("};", line);
    }
  };
  for (const Version& version : output.versions) {
    types_before(version.order);
    separate(version.function->kind == Function::Kind::kKernel ? "" : version.function->place.file);
    printer.function(version, line_of(version.function->place));
  }
  printer.line("", 0);
  printer.line(fmt::format("}}  // namespace {}", name_space), 0);
  for (const Version& version : output.versions) {
    if (version.function->kind == Function::Kind::kKernel) {
      printer.line(fmt::format("using {}::{};", name_space, version.name), 0);
    }
  }
  return printer.take();
}

}  // namespace convtgen
