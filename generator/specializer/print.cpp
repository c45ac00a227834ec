// The pass `print`: source text of the output, laid out as a person would.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "generator/specializer/kernel_source.h"
#include "generator/specializer/primitives.h"
#include "generator/specializer/print_layout.h"
#include "generator/specializer/residual.h"

namespace convtgen {
namespace {

using ResidualKind = Residual::Kind;

// nvcc's -arch=sm_90a also makes PTX of compute_90, whose assembler would print an error for each instruction.
std::string only_there(const Target& target) {
  return fmt::format(
      "#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM{0}_ALL)\n"
      "#error \"for {1} alone: nvcc -gencode arch=compute_{0}a,code={1}, or NVRTC --gpu-architecture={1}\"",
      target.capability, target.architecture);
}

constexpr std::string_view kNotOnHost = "#ifndef CONVTGEN_HOST_DEVICE";

/// The declaration of a primitive that is a function: its text from below its comment to its body.
std::string prototype_of(const Primitive& primitive) {
  std::string_view text = primitive.text;
  while (text.starts_with("//")) {
    text.remove_prefix(text.find('\n') + 1);
  }
  return std::string(text.substr(0, text.find(" {"))) + ";";
}

/// The words of a comment on lines of so many columns at most, each with its slashes.
std::vector<std::string> comment_lines(std::string_view text, int indent) {
  const std::string blanks(static_cast<std::size_t>(indent), ' ');
  std::vector<std::string> lines = {blanks + "//"};
  if (blanks.size() + 3 + text.size() <= kColumns) {
    lines.back() += text.empty() ? "" : " " + std::string(text);
    return lines;
  }
  for (std::size_t at = text.find_first_not_of(' '); at != text.npos; at = text.find_first_not_of(' ', at)) {
    // No break at a tap's blank: (0, 1) is one word.
    std::size_t end = text.find(' ', at);
    for (std::size_t open = text.find('(', at); open < end && end != text.npos && text.find(')', open) > end;) {
      end = text.find(' ', end + 1);
    }
    end = std::min(end, text.size());
    const std::string_view word = text.substr(at, end - at);
    if (lines.back().size() + 1 + word.size() > kColumns && lines.back().size() > blanks.size() + 2) {
      lines.push_back(blanks + "//");
    }
    lines.back() += " " + std::string(word);
    at = end;
  }
  return lines;
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

  void comment(std::string_view text, int indent, int template_line) {
    for (const std::string& made : comment_lines(text, indent)) {
      line(made, template_line);
    }
  }
  void comment(const std::vector<std::string>& lines, int template_line) {
    for (const std::string& text : lines) {
      comment(text, 0, template_line);
    }
  }

  static std::string comment_text(std::string_view text) { return text.empty() ? "//" : "// " + std::string(text); }

  /// Long statements on several lines; the comment after them where it fits, else above.
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
      comment(trail, indent, template_line);
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
      for (const Term& bound : version.launch_bounds) {
        add_text(head, &bound == version.launch_bounds.data() ? " __launch_bounds__(" : ", ");
        add_term(head, bound);
      }
      add_text(head, version.launch_bounds.empty() ? "" : ")");
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
    pieces(head, 0, template_line);
    all(version.body, 2);
    line("}", template_line);
  }

 private:
  /// The comment after one line of code.
  struct Trail {
    std::size_t at = 0;  // of the text: after the code
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

  /// Comments after statements of successive lines stand below each other, where there is room.
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

  /// What stands before the body of a loop.
  static Pieces head_of(const Residual& r) {
    Pieces head;
    if (r.kind == ResidualKind::kWhile) {
      add_text(head, "while (");
      add_term(head, r.condition[0]);
    } else {
      add_text(head, "for (");
      head.push_back({Piece::Kind::kOpen, {}});
      if (!r.init.empty() && r.init[0].kind == ResidualKind::kDeclare) {
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

  static void add_declaration(Pieces& to, const Residual& r) {
    add_text(to, r.text + declaration_text(r.type, r.name));
    if (!r.terms.empty()) {
      add_text(to, " =");
      to.push_back({Piece::Kind::kAssignBreak, {}});
      add_term(to, r.terms[0], 2);
    }
  }

  void conditional(const Residual& r, int indent, std::string_view before) {
    Pieces head;
    add_text(head, std::string(before) + "if (");
    add_term(head, r.terms[0]);
    add_text(head, ") {");
    pieces(head, indent, r.line, before.empty() ? std::string_view(r.trail) : "");
    all(r.body, indent + 2);
    if (r.otherwise.size() == 1 && r.otherwise[0].kind == ResidualKind::kIf) {
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
    if (!r.text.empty()) {
      line(blanks(indent) + "#pragma " + r.text, r.line);
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
    if (r.kind == ResidualKind::kDeclare) {
      add_declaration(text, r);
    } else if (r.kind == ResidualKind::kUsing) {
      add_text(text, "using " + r.name + " = " + text_of_type(r.type));
    } else if (r.kind == ResidualKind::kExpression) {
      add_term(text, r.terms[0]);
    } else if (r.kind == ResidualKind::kReturn) {
      add_text(text, r.terms.empty() ? "return" : "return ");
      if (!r.terms.empty()) {
        add_term(text, r.terms[0]);
      }
    } else {
      add_text(text, r.kind == ResidualKind::kBreak ? "break" : "continue");
    }
    add_text(text, ";");
    return text;
  }

  void statement(const Residual& r, int indent) {
    switch (r.kind) {
      case ResidualKind::kDeclare:
      case ResidualKind::kUsing:
      case ResidualKind::kExpression:
      case ResidualKind::kReturn:
      case ResidualKind::kBreak:
      case ResidualKind::kContinue:
        pieces(statement_pieces(r), indent, r.line, r.trail);
        return;
      case ResidualKind::kIf:
        conditional(r, indent, "");
        return;
      case ResidualKind::kFor:
      case ResidualKind::kWhile:
        loop(r, indent);
        return;
      case ResidualKind::kBlock:
      case ResidualKind::kSplice:
        line(blanks(indent) + "{", r.line);
        all(r.body, indent + 2);
        line(blanks(indent) + "}", r.line);
        return;
      case ResidualKind::kAsm:
        verbatim(blanks(indent) + r.text, r.line);
        return;
      case ResidualKind::kComment:
        comment(r.text, indent, r.line);
        return;
      case ResidualKind::kBlank:
        line("", r.line);
        return;
      case ResidualKind::kGone:
        return;
    }
  }

  Text out_;
  std::vector<Trail> trails_;  // of the lines just printed
};

/// The whole source, piece by piece from its head on.
class SourcePrinter {
 public:
  SourcePrinter(const Output& output, std::string_view symbol)
      : output_(output),
        main_file_(output.globals->program().name + ".cu"),
        name_space_(std::string(symbol) + std::string(kNamespaceSuffix)) {
    for (const Version& version : output.versions) {
      named_.merge(names_used(version));
    }
  }

  Text print(const std::string& head) {
    printer_.verbatim(head, 0);
    // Several sources can stand in one translation unit: each has its own namespace. Its kernels are global names.
    printer_.line("", 0);
    printer_.line(fmt::format("namespace {} {{", name_space_), 0);
    constants();  // with the map of shared memory: what a reader looks for first
    declare_primitives();
    for (const Version& version : output_.versions) {
      types_before(version.order);
      begin_item(version.order, false);
      printer_.function(version, line_of(version.function->place));
    }
    define_primitives();
    printer_.line("", 0);
    printer_.line(fmt::format("}}  // namespace {}", name_space_), 0);
    for (const Version& version : output_.versions) {
      if (version.function->kind == Function::Kind::kKernel) {
        printer_.line(fmt::format("using {}::{};", name_space_, version.name), 0);
      }
    }
    return printer_.take();
  }

 private:
  [[nodiscard]] int line_of(const Place& place) const { return place.file == main_file_ ? place.line : 0; }

  void heading(std::string_view title) {
    printer_.line("", 0);
    printer_.line(fmt::format("// ---- {} ----", title), 0);
  }

  /// The primitives that the functions below name, each in a line: what they are stands at the end.
  void declare_primitives() {
    if (output_.primitives.empty()) {
      return;
    }
    heading("Device primitives, defined at the end");
    printer_.line("", 0);
    const Target* only = nullptr;
    for (const Primitive& primitive : output_.primitives) {
      only = only != nullptr ? only : only_target_with(primitive.name);
    }
    if (only != nullptr) {
      printer_.verbatim(only_there(*only), 0);
      printer_.line("#elif !defined(CONVTGEN_HOST_DEVICE)", 0);
    } else {
      printer_.line(kNotOnHost, 0);
    }
    bool was_whole = true;
    for (const Primitive& primitive : output_.primitives) {
      if (named_.contains(primitive.name)) {
        if (was_whole || primitive.is_declaration) {
          printer_.line("", 0);
        }
        printer_.verbatim(primitive.is_declaration ? primitive.text : prototype_of(primitive), 0);
        was_whole = primitive.is_declaration;
      }
    }
    printer_.line("", 0);
    printer_.line("#endif", 0);
  }

  void define_primitives() {
    const auto is_here = [&](const Primitive& each) { return !each.is_declaration || !named_.contains(each.name); };
    if (std::ranges::none_of(output_.primitives, is_here)) {
      return;
    }
    heading("Device primitives");
    printer_.line("", 0);
    printer_.line(kNotOnHost, 0);
    for (const Primitive& primitive : output_.primitives) {
      if (is_here(primitive)) {
        printer_.line("", 0);
        printer_.verbatim(primitive.text, 0);
      }
    }
    printer_.line("", 0);
    printer_.line("#endif", 0);
  }

  void constants() {
    for (const bool of_memory_map : {false, true}) {
      const auto is_here = [&](const ResidualConstant& each) {
        return is_of_memory_map(each.constant->name) == of_memory_map;
      };
      if (std::ranges::none_of(output_.constants, is_here)) {
        continue;
      }
      heading(of_memory_map ? "Shared memory and packed weights, in bytes" : "Constants");
      printer_.line("", 0);
      for (const ResidualConstant& each : output_.constants) {
        if (is_here(each)) {
          Pieces text;
          add_text(text, fmt::format("constexpr {} {} = {};", spelling_of(each.value.type), each.constant->name,
                                     literal_text(each.value)));
          printer_.pieces(text, 0, line_of(each.constant->place), each.constant->trail);
        }
      }
    }
  }

  /// What stands before an item: its section's heading if that is new, and a blank line, but none between aliases.
  void begin_item(std::size_t order, bool is_alias) {
    const std::vector<Item>& items = output_.globals->program().items;
    const Section* section = nullptr;
    for (std::size_t i = 0; i < order; ++i) {
      if (const auto* here = std::get_if<Section>(&items[i])) {
        section = here;
      }
    }
    const bool is_new = section != nullptr && (section_ == nullptr || section->title != section_->title);
    if (is_new) {
      heading(section->title);
      section_ = section;
    }
    if (is_new || !is_alias || !was_alias_) {
      printer_.line("", 0);
    }
    was_alias_ = is_alias;
  }

  void types_before(std::size_t order) {
    for (; next_ < output_.types.size() && output_.types[next_].order < order; ++next_) {
      const ResidualType& type = output_.types[next_];
      begin_item(type.order, type.alias != nullptr);
      if (type.alias != nullptr) {
        const int line = line_of(type.alias->place);
        printer_.comment(type.comment, line);
        printer_.line(fmt::format("using {} = {};", type.alias->name, text_of_type(type.type)), line);
        continue;
      }
      const int line = line_of(type.record->place);
      printer_.comment(type.comment, line);
      const std::string& attribute = type.record->attribute;
      printer_.line(fmt::format("struct {}{}{} {{", attribute, attribute.empty() ? "" : " ", type.record->name), line);
      for (const Field& field : type.fields) {
        Pieces text;
        add_text(text, declaration_text(field.type, field.name) + ";");
        printer_.pieces(text, 2, line, field.trail);
      }
      printer_.line("};", line);
    }
  }

  const Output& output_;
  const std::string main_file_;
  const std::string name_space_;
  std::set<std::string> named_;  // by functions
  Printer printer_;
  std::size_t next_ = 0;  // of the types
  const Section* section_ = nullptr;
  bool was_alias_ = false;
};

}  // namespace

Text print(const Output& output, const std::string& head, std::string_view symbol) {
  return SourcePrinter(output, symbol).print(head);
}

}  // namespace convtgen
