#include "generator/templatec/statements.h"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>
#include <fmt/format.h>

#include <algorithm>

#include "generator/program/comment.h"
#include "generator/templatec/expressions.h"

namespace convtgen::templatec {
namespace {

using StatementKind = Statement::Kind;

class BodyBuilder {
 public:
  BodyBuilder(Context& context, int function_line) : context_(context), function_line_(function_line) {}

  std::vector<Statement> function_body(const clang::FunctionDecl& function) {
    for (const clang::ParmVarDecl* parameter : function.parameters()) {
      visible_.push_back(parameter);
    }
    return body(*function.getBody());
  }

 private:
  /// The statements of a compound or of the single statement that stands in its place.
  std::vector<Statement> body(const clang::Stmt& statement) {
    const std::size_t outer = visible_.size();
    std::vector<Statement> out;
    const auto* compound = llvm::dyn_cast<clang::CompoundStmt>(&statement);
    if (compound == nullptr) {
      add(statement, out);
    } else {
      Position at = after(compound->getLBracLoc());
      for (const clang::Stmt* child : compound->body()) {
        gap(at, context_.layout.begin_of(unmarked(*child)), out);
        at = context_.layout.end_of(*child);
        if (!llvm::isa<clang::NullStmt>(child)) {
          add(*child, out);
        }
      }
      gap(at, position_of(context_.sources, compound->getRBracLoc()), out);
      while (!out.empty() && out.back().kind == StatementKind::kBlank) {
        out.pop_back();
      }
    }
    visible_.resize(outer);
    return out;
  }

  /// The statement that a `#pragma unroll` belongs to begins where the pragma does not.
  static const clang::Stmt& unmarked(const clang::Stmt& statement) {
    const auto* attributed = llvm::dyn_cast<clang::AttributedStmt>(&statement);
    return attributed != nullptr ? *attributed->getSubStmt() : statement;
  }

  [[nodiscard]] Position after(clang::SourceLocation token) const {
    Position position = position_of(context_.sources, token);
    ++position.offset;
    return position;
  }

  /// Comments and blank lines between two statements.
  void gap(Position begin, Position end, std::vector<Statement>& out) {
    Layout::Gap gap = context_.layout.take_gap(begin, end);
    for (const Comment* comment : gap.trailing) {
      check_holes(*comment);
      if (out.empty() || !out.back().trail.empty()) {
        comment_lines(*comment, out);
      } else {
        std::string text = comment->text;
        std::replace(text.begin(), text.end(), '\n', ' ');
        out.back().trail = text;
      }
    }
    for (const Layout::Gap::Line& line : gap.lines) {
      check_holes(*line.comment);
      if (line.blank_before) {
        blank(out);
      }
      comment_lines(*line.comment, out);
    }
    if (gap.blank_before_end) {
      blank(out);
    }
  }

  static void blank(std::vector<Statement>& out) {
    if (!out.empty() && out.back().kind != StatementKind::kBlank) {
      out.push_back({.kind = StatementKind::kBlank, .line = out.back().line});
    }
  }

  void comment_lines(const Comment& comment, std::vector<Statement>& out) const {
    int line = context_.layout.line_of(comment.begin) - function_line_;
    for (std::string& text : lines_of(comment)) {
      out.push_back({.kind = StatementKind::kComment, .line = line++, .text = std::move(text)});
    }
  }

  /// A hole must name something static that is visible where the comment stands.
  void check_holes(const Comment& comment) const {
    if (!names_asked_for(parts_of_comment(comment.text)).empty()) {
      context_.error(context_.layout.location_of(comment.begin), "{with ...} stands above functions and structs only");
    }
    for (const std::string& name : holes_of(parts_of_comment(comment.text))) {
      if (!may_be_static(name)) {
        context_.error(context_.layout.location_of(comment.begin),
                       fmt::format("the comment's {{{}}} names nothing static here", name));
      }
    }
  }

  [[nodiscard]] bool may_be_static(const std::string& name) const {
    for (auto declaration = visible_.rbegin(); declaration != visible_.rend(); ++declaration) {
      if ((*declaration)->getName() == name) {
        return time_of(**declaration) != BindingTime::kDynamic;
      }
    }
    llvm::StringRef plain = name;
    const bool of_parameters = plain.consume_front("P::");
    const clang::DeclContext* scope = context_.ast.getTranslationUnitDecl();
    if (of_parameters) {
      for (const clang::Decl* declaration : scope->decls()) {
        if (const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(declaration);
            record != nullptr && record->getName() == "Parameters" && record->hasDefinition()) {
          scope = record->getDefinition();
          break;
        }
      }
    }
    const auto found = scope->lookup(&context_.ast.Idents.get(plain));
    return std::any_of(found.begin(), found.end(), [&](const clang::NamedDecl* declaration) {
      const auto* variable = llvm::dyn_cast<clang::VarDecl>(declaration);
      return llvm::isa<clang::EnumConstantDecl>(declaration) || (variable != nullptr && variable->isConstexpr());
    });
  }

  [[nodiscard]] BindingTime time_of(const clang::ValueDecl& declaration) const {
    const auto found = context_.times.find(&declaration);
    return found == context_.times.end() ? BindingTime::kDynamic : found->second;
  }

  [[nodiscard]] int line_of(clang::SourceLocation location) const {
    return context_.line_of(location) - function_line_;
  }

  void add(const clang::Stmt& statement, std::vector<Statement>& out) {
    const int line = line_of(statement.getBeginLoc());
    inner_comments(statement, out);
    switch (statement.getStmtClass()) {
      case clang::Stmt::CompoundStmtClass:
        out.push_back({.kind = StatementKind::kBlock, .line = line, .body = body(statement)});
        return;
      case clang::Stmt::DeclStmtClass:
        for (const clang::Decl* declaration : llvm::cast<clang::DeclStmt>(statement).decls()) {
          this->declaration(*declaration, out);
        }
        return;
      case clang::Stmt::ReturnStmtClass: {
        Statement result{.kind = StatementKind::kReturn, .line = line};
        if (const clang::Expr* value = llvm::cast<clang::ReturnStmt>(statement).getRetValue()) {
          result.expressions.push_back(build_expression(context_, *value));
        }
        out.push_back(std::move(result));
        return;
      }
      case clang::Stmt::IfStmtClass:
        out.push_back(branch(llvm::cast<clang::IfStmt>(statement)));
        return;
      case clang::Stmt::ForStmtClass:
        out.push_back(loop(llvm::cast<clang::ForStmt>(statement), ""));
        return;
      case clang::Stmt::WhileStmtClass: {
        const auto& loop = llvm::cast<clang::WhileStmt>(statement);
        if (loop.getConditionVariable() != nullptr) {
          unsupported(statement, "a variable declared in a condition");
          return;
        }
        out.push_back({.kind = StatementKind::kWhile,
                       .line = line,
                       .condition = {build_expression(context_, *loop.getCond())},
                       .body = body(*loop.getBody())});
        return;
      }
      case clang::Stmt::AttributedStmtClass:
        attributed(llvm::cast<clang::AttributedStmt>(statement), out);
        return;
      case clang::Stmt::BreakStmtClass:
        out.push_back({.kind = StatementKind::kBreak, .line = line});
        return;
      case clang::Stmt::ContinueStmtClass:
        out.push_back({.kind = StatementKind::kContinue, .line = line});
        return;
      case clang::Stmt::GCCAsmStmtClass:
        out.push_back(
            {.kind = StatementKind::kAsm, .line = line, .text = context_.text_of(statement.getSourceRange()) + ";"});
        return;
      case clang::Stmt::GotoStmtClass:
        unsupported(statement, "goto");
        return;
      case clang::Stmt::LabelStmtClass:
        // Only goto, which is reported, could come here.
        add(*llvm::cast<clang::LabelStmt>(statement).getSubStmt(), out);
        return;
      case clang::Stmt::SwitchStmtClass:
        unsupported(statement, "switch", "write if and else");
        return;
      case clang::Stmt::DoStmtClass:
        unsupported(statement, "do while", "write while");
        return;
      case clang::Stmt::CXXForRangeStmtClass:
        unsupported(statement, "a range-based for", "write for (int i = 0; i < n; ++i)");
        return;
      case clang::Stmt::CXXTryStmtClass:
        unsupported(statement, "try");
        return;
      default:
        break;
    }
    if (const auto* expression = llvm::dyn_cast<clang::Expr>(&statement)) {
      out.push_back(
          {.kind = StatementKind::kExpression, .line = line, .expressions = {build_expression(context_, *expression)}});
    } else {
      unsupported(statement, fmt::format("this statement ({})", statement.getStmtClassName()));
    }
  }

  void unsupported(const clang::Stmt& statement, std::string_view what, std::string_view instead = "") const {
    context_.error(statement.getBeginLoc(), fmt::format("{} is outside the subset of templates{}{}", what,
                                                        instead.empty() ? "" : "; ", instead));
  }

  /// Comments inside a statement that has no body of its own stand before it.
  void inner_comments(const clang::Stmt& statement, std::vector<Statement>& out) {
    clang::SourceLocation end = statement.getEndLoc();
    if (const auto* branch = llvm::dyn_cast<clang::IfStmt>(&statement)) {
      end = branch->getThen()->getBeginLoc();
    } else if (const auto* loop = llvm::dyn_cast<clang::ForStmt>(&statement)) {
      end = loop->getBody()->getBeginLoc();
    } else if (const auto* other = llvm::dyn_cast<clang::WhileStmt>(&statement)) {
      end = other->getBody()->getBeginLoc();
    } else if (llvm::isa<clang::CompoundStmt, clang::AttributedStmt>(statement)) {
      return;
    }
    const Position first = context_.layout.begin_of(statement);
    const Position last = position_of(context_.sources, end);
    if (llvm::isa<clang::GCCAsmStmt>(statement)) {
      context_.layout.skip(first, last);
      return;
    }
    const Layout::Gap gap = context_.layout.take_gap(first, last);
    for (const Comment* comment : gap.trailing) {
      check_holes(*comment);
      comment_lines(*comment, out);
    }
    for (const Layout::Gap::Line& line : gap.lines) {
      check_holes(*line.comment);
      comment_lines(*line.comment, out);
    }
  }

  void declaration(const clang::Decl& declaration, std::vector<Statement>& out) {
    const int line = line_of(declaration.getBeginLoc());
    if (const auto* alias = llvm::dyn_cast<clang::TypedefNameDecl>(&declaration)) {
      out.push_back({.kind = StatementKind::kUsing,
                     .line = line,
                     .type = build_type(context_, alias->getTypeSourceInfo()->getTypeLoc()),
                     .name = alias->getName().str()});
      return;
    }
    if (const auto* assertion = llvm::dyn_cast<clang::StaticAssertDecl>(&declaration)) {
      const auto* message = llvm::dyn_cast_or_null<clang::StringLiteral>(assertion->getMessage());
      out.push_back({.kind = StatementKind::kStaticAssert,
                     .line = line,
                     .text = message != nullptr ? message->getString().str() : "",
                     .expressions = {build_expression(context_, *assertion->getAssertExpr())}});
      return;
    }
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(&declaration);
    if (variable == nullptr) {
      context_.error(declaration.getBeginLoc(),
                     "this declaration is outside the subset of templates inside a function; move it out");
      return;
    }
    out.push_back(this->variable(*variable));
  }

  Statement variable(const clang::VarDecl& variable) {
    Statement result{.kind = StatementKind::kDeclare,
                     .line = line_of(variable.getBeginLoc()),
                     .type = build_type(context_, variable),
                     .name = variable.getName().str()};
    if (variable.hasAttr<clang::CUDASharedAttr>()) {
      result.kind = StatementKind::kDeclareShared;
    } else if (variable.isConstexpr()) {
      result.kind = StatementKind::kDeclareConstexpr;
      result.type.is_const = false;
    } else if (variable.isStaticLocal()) {
      context_.error(variable.getBeginLoc(),
                     fmt::format("the static variable '{}' keeps a value that changes; only constexpr ones are in the "
                                 "subset of templates",
                                 variable.getName().str()));
    }
    if (has_initialiser(variable) && result.kind != StatementKind::kDeclareShared) {
      result.expressions.push_back(build_expression(context_, *variable.getInit()));
    }
    BindingTime time = BindingTime::kDynamic;
    if (variable.isConstexpr()) {
      time = BindingTime::kStatic;
    } else if (variable.getType().isConstQualified() && variable.getType()->isArithmeticType() &&
               variable.getInit() != nullptr) {
      time = binding_time_of(context_, *variable.getInit());
    }
    context_.times[&variable] = time;
    visible_.push_back(&variable);
    return result;
  }

  Statement branch(const clang::IfStmt& branch) {
    if (branch.getInit() != nullptr || branch.getConditionVariable() != nullptr) {
      unsupported(branch, "a declaration in an if");
    }
    Statement result{.kind = branch.isConstexpr() ? StatementKind::kIfConstexpr : StatementKind::kIf,
                     .line = line_of(branch.getBeginLoc()),
                     .expressions = {build_expression(context_, *branch.getCond())},
                     .body = body(*branch.getThen())};
    if (branch.getElse() != nullptr) {
      result.otherwise = body(*branch.getElse());
    }
    return result;
  }

  Statement loop(const clang::ForStmt& loop, std::string pragma) {
    const std::size_t outer = visible_.size();
    Statement result{.kind = StatementKind::kFor, .line = line_of(loop.getForLoc()), .text = std::move(pragma)};
    result.unrolled = is_marked(loop);
    if (loop.getConditionVariable() != nullptr) {
      unsupported(loop, "a variable declared in a condition");
    }
    if (result.unrolled) {
      if (!result.text.empty()) {
        context_.error(loop.getForLoc(), "a loop has either the unroll mark or a #pragma unroll");
      }
      check_unrolled(context_, loop);
    }
    if (loop.getInit() != nullptr) {
      std::vector<Statement> init;
      add(*loop.getInit(), init);
      if (init.size() > 1) {
        unsupported(loop, "a loop that declares several variables");
      }
      result.init = std::move(init);
    }
    if (result.unrolled) {
      mark_static(loop);
    }
    if (loop.getCond() != nullptr) {
      result.condition.push_back(build_expression(context_, *loop.getCond()));
    }
    if (loop.getInc() != nullptr) {
      result.step.push_back(build_expression(context_, *loop.getInc()));
    }
    result.body = body(*loop.getBody());
    visible_.resize(outer);
    return result;
  }

  void mark_static(const clang::ForStmt& loop) {
    if (const auto* init = llvm::dyn_cast_or_null<clang::DeclStmt>(loop.getInit());
        init != nullptr && init->isSingleDecl()) {
      if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(init->getSingleDecl())) {
        context_.times[variable] = BindingTime::kStatic;
      }
    }
  }

  [[nodiscard]] bool is_marked(const clang::ForStmt& loop) const {
    const Position here = position_of(context_.sources, loop.getForLoc());
    return std::any_of(context_.text.unrolled_loops.begin(), context_.text.unrolled_loops.end(),
                       [&](Position marked) { return marked.file == here.file && marked.offset == here.offset; });
  }

  /// A statement with `#pragma unroll` before it.
  void attributed(const clang::AttributedStmt& statement, std::vector<Statement>& out) {
    const auto* loop = llvm::dyn_cast<clang::ForStmt>(statement.getSubStmt());
    std::string pragma;
    for (const clang::Attr* attribute : statement.getAttrs()) {
      const auto* hint = llvm::dyn_cast<clang::LoopHintAttr>(attribute);
      if (hint == nullptr || loop == nullptr) {
        context_.error(attribute->getLocation(), "this attribute is outside the subset of templates");
        return;
      }
      pragma = "unroll";
      if (const clang::Expr* count = hint->getValue()) {
        const auto* literal = llvm::dyn_cast<clang::IntegerLiteral>(count->IgnoreParenImpCasts());
        if (literal == nullptr) {
          context_.error(count->getBeginLoc(), "the count of #pragma unroll must be a number");
          return;
        }
        pragma += " " + std::to_string(literal->getValue().getZExtValue());
      } else if (hint->getState() == clang::LoopHintAttr::Disable) {
        pragma = "unroll 1";
      }
    }
    inner_comments(*loop, out);
    out.push_back(this->loop(*loop, pragma));
  }

  Context& context_;
  const int function_line_;
  std::vector<const clang::ValueDecl*> visible_;
};

/// What would make the text differ from the tree: directives and macros inside the body.
void check_preprocessor(const Context& context, Position begin, Position end) {
  const auto inside = [&](const Mark& place) {
    return place.position.file == begin.file && place.position.offset > begin.offset &&
           place.position.offset < end.offset;
  };
  for (const Mark& directive : context.text.directives) {
    if (inside(directive)) {
      context.error(directive.location,
                    fmt::format("{} inside a function of a template; write if or if constexpr", directive.name));
      break;  // what belongs to it need not be said
    }
  }
  for (const Mark& expansion : context.text.expansions) {
    if (inside(expansion) && expansion.name != "CONVTGEN_UNROLL" && !expansion.name.starts_with("__")) {
      context.error(expansion.location, fmt::format("the macro '{}' inside a function of a template; write a constexpr "
                                                    "variable or a function",
                                                    expansion.name));
    }
  }
}

}  // namespace

std::vector<Statement> build_body(Context& context, const clang::FunctionDecl& function, int function_line) {
  const Position begin = position_of(context.sources, function.getBody()->getBeginLoc());
  const Position end = position_of(context.sources, function.getBody()->getEndLoc());
  check_preprocessor(context, begin, end);
  std::vector<Statement> body = BodyBuilder(context, function_line).function_body(function);
  if (const Comment* comment = context.layout.left_over(begin, end)) {
    context.error(context.layout.location_of(comment->begin),
                  "a comment here would be lost; put it on a line of its own before a statement, or after one");
  }
  return body;
}

std::vector<std::string> lines_of(const Comment& comment) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = comment.text.find('\n', begin);
    lines.push_back(comment.text.substr(begin, end == std::string::npos ? end : end - begin));
  }
  return lines;
}

std::vector<std::string> description_of(Context& context, const clang::Decl& declaration) {
  std::vector<std::string> lines;
  const Position before = position_of(context.sources, declaration.getBeginLoc());
  for (const Comment* comment : context.layout.take_description(before)) {
    for (std::string& line : lines_of(*comment)) {
      lines.push_back(std::move(line));
    }
  }
  lines.erase(std::ranges::find(lines, ""), lines.end());
  // What has alternatives is laid out when one of them is chosen.
  std::string text;
  for (const std::string& line : lines) {
    text += (text.empty() ? "" : " ") + line;
  }
  if (std::ranges::any_of(parts_of_comment(text), [](const CommentPart& part) {
        return part.kind == CommentPart::Kind::kIf || part.kind == CommentPart::Kind::kWith;
      })) {
    lines = {std::move(text)};
  }
  return lines;
}

}  // namespace convtgen::templatec
