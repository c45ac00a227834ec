#include "generator/templatec/declarations.h"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Lex/Lexer.h>
#include <fmt/format.h>

#include <algorithm>

#include "generator/program/comment.h"
#include "generator/templatec/expressions.h"
#include "generator/templatec/statements.h"

namespace convtgen::templatec {
namespace {

/// What a primitive names: what it uses of the template's files, and the first static value among that.
class UseCollector : public clang::RecursiveASTVisitor<UseCollector> {
 public:
  explicit UseCollector(const Context& context) : context_(context) {}

  bool VisitDeclRefExpr(clang::DeclRefExpr* reference) {
    const clang::ValueDecl& used = *reference->getDecl();
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(&used);
    if (llvm::isa<clang::EnumConstantDecl>(used) || context_.is_parameter(used) ||
        (variable != nullptr && variable->isConstexpr() && variable->hasGlobalStorage())) {
      static_name_ = reference;
    } else if (used.getDeclContext()->getRedeclContext()->isFileContext() &&
               !context_.file_of(used.getLocation()).empty()) {
      names_.push_back(used.getName().str());
    }
    return true;
  }
  bool VisitRecordTypeLoc(clang::RecordTypeLoc type) {
    const clang::RecordDecl& used = *type.getDecl();
    if (!context_.file_of(used.getLocation()).empty()) {
      names_.push_back(used.getName().str());
    }
    return true;
  }
  bool VisitGCCAsmStmt(clang::GCCAsmStmt* statement) {
    has_asm_ = true;
    acts_ = acts_ || statement->isVolatile();
    return true;
  }

  [[nodiscard]] std::vector<std::string> names() {
    std::sort(names_.begin(), names_.end());
    names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
    return names_;
  }
  [[nodiscard]] const clang::DeclRefExpr* static_name() const { return static_name_; }
  [[nodiscard]] bool has_asm() const { return has_asm_; }
  /// Whether it has asm that must not go though nobody uses what it gives.
  [[nodiscard]] bool acts() const { return acts_; }

 private:
  const Context& context_;
  std::vector<std::string> names_;
  const clang::DeclRefExpr* static_name_ = nullptr;
  bool has_asm_ = false;
  bool acts_ = false;
};

Place place_of(const Context& context, const clang::Decl& declaration) {
  return {context.file_of(declaration.getLocation()), context.line_of(declaration.getBeginLoc())};
}

/// Comment lines and the text below them, verbatim; a declaration's text with its semicolon.
Primitive verbatim(Context& context, const clang::NamedDecl& declaration) {
  Primitive primitive{.place = place_of(context, declaration), .name = declaration.getName().str()};
  for (const std::string& line : description_of(context, declaration)) {
    primitive.text += "//" + (line.empty() ? "" : " " + line) + "\n";
  }
  const clang::SourceRange range = declaration.getSourceRange();
  context.layout.skip(position_of(context.sources, range.getBegin()), position_of(context.sources, range.getEnd()));
  primitive.text += context.text_of(range);
  return primitive;
}

/// A declaration of a header of device primitives that is no function.
Primitive build_verbatim(Context& context, const clang::NamedDecl& named) {
  Primitive declaration = verbatim(context, named);
  declaration.text += ";";
  declaration.is_declaration = true;
  return declaration;
}

/// Its `const` parameters are the static ones.
PrintedPrimitive build_printed(const Context& context, const clang::FunctionDecl& function) {
  PrintedPrimitive printed{.place = place_of(context, function), .name = function.getName().str()};
  for (const clang::ParmVarDecl* parameter : function.parameters()) {
    printed.parameters.push_back(
        {.is_static = parameter->getType().isConstQualified(), .name = parameter->getName().str()});
  }
  return printed;
}

Primitive build_primitive(Context& context, const clang::FunctionDecl& function) {
  UseCollector uses(context);
  uses.TraverseDecl(const_cast<clang::FunctionDecl*>(&function));
  if (const clang::DeclRefExpr* name = uses.static_name()) {
    context.error(name->getBeginLoc(),
                  fmt::format("a device primitive is kept as it stands and can't use the static '{}'; pass it as an "
                              "argument",
                              name->getDecl()->getName().str()));
  }
  Primitive primitive = verbatim(context, function);
  primitive.type = build_type(context, function.getFunctionTypeLoc().getReturnLoc());
  primitive.uses = uses.names();
  std::erase(primitive.uses, primitive.name);
  const bool uses_what_acts = std::ranges::any_of(
      primitive.uses, [&](const std::string& name) { return context.acting_primitives.contains(name); });
  primitive.only_computes = !function.getReturnType()->isVoidType() && !uses.acts() && !uses_what_acts;
  if (!primitive.only_computes) {
    context.acting_primitives.insert(primitive.name);
  }
  return primitive;
}

bool is_grid_constant(const clang::ParmVarDecl& parameter) {
  const auto* attribute = parameter.getAttr<clang::AnnotateAttr>();
  return attribute != nullptr && attribute->getAnnotation() == "grid_constant" &&
         parameter.getType().isConstQualified();
}

/// Structs come to a kernel as tensor maps, which TMA reads where the launch put them: a copy would not do.
void check_kernel_parameter(const Context& context, const clang::ParmVarDecl& parameter) {
  const auto* record = parameter.getType()->getAsRecordDecl();
  if (record != nullptr && (record->getName() != "TensorMap" || !is_grid_constant(parameter))) {
    context.error(parameter.getLocation(),
                  "the one struct that a kernel takes is `__grid_constant__ const TensorMap` (device/tensor_copy.h)");
  }
}

/// A comment asks for names of what it stands above: parameters or fields.
template <typename Named>
void check_names_asked_for(const Context& context, const clang::Decl& declaration,
                           const std::vector<std::string>& comment, const std::vector<Named>& all) {
  for (const std::string& line : comment) {
    for (const std::string& name : names_asked_for(parts_of_comment(line))) {
      if (std::ranges::find(all, name, &Named::name) == all.end()) {
        context.error(declaration.getLocation(),
                      fmt::format("the comment's {{with {}: ...}} names nothing here", name));
      }
    }
  }
}

std::optional<Item> build_function(Context& context, const clang::FunctionDecl& function) {
  if (context.is_printed_primitive(function)) {
    return build_printed(context, function);
  }
  if (!function.doesThisDeclarationHaveABody()) {
    if (function.getDefinition() == nullptr) {
      context.error(function.getLocation(), fmt::format("'{}' is declared and not defined", function.getName().str()));
    }
    return std::nullopt;
  }
  const bool is_kernel = function.hasAttr<clang::CUDAGlobalAttr>();
  UseCollector uses(context);
  uses.TraverseStmt(function.getBody());
  if (!is_kernel && !function.isConstexpr() && (uses.has_asm() || context.in_primitives_header(function))) {
    return build_primitive(context, function);
  }
  if (!is_kernel && !function.isConstexpr() && !function.hasAttr<clang::CUDADeviceAttr>()) {
    context.error(function.getLocation(), "a template holds __device__, __global__ and constexpr functions only");
    return std::nullopt;
  }

  Function result{.place = place_of(context, function), .comment = description_of(context, function)};
  result.kind = is_kernel                ? Function::Kind::kKernel
                : function.isConstexpr() ? Function::Kind::kConstexpr
                                         : Function::Kind::kDevice;
  if (function.hasAttr<clang::AlwaysInlineAttr>()) {
    result.attributes = "__forceinline__";
  } else if (function.hasAttr<clang::NoInlineAttr>()) {
    result.attributes = "__noinline__";
  } else if (result.kind == Function::Kind::kDevice && function.isInlineSpecified()) {
    result.attributes = "inline";
  }
  if (const auto* bounds = function.getAttr<clang::CUDALaunchBoundsAttr>()) {
    for (const clang::Expr* bound : {bounds->getMaxThreads(), bounds->getMinBlocks()}) {
      if (bound != nullptr) {
        result.launch_bounds.push_back(build_expression(context, *bound));
      }
    }
  }
  result.type = build_type(context, function.getFunctionTypeLoc().getReturnLoc());
  result.name = function.getName().str();
  for (const clang::ParmVarDecl* parameter : function.parameters()) {
    if (parameter->hasDefaultArg()) {
      context.error(parameter->getLocation(), "default arguments are outside the subset of templates");
    }
    if (is_kernel) {
      check_kernel_parameter(context, *parameter);
    }
    result.arguments.push_back(
        {build_type(context, *parameter), parameter->getName().str(), is_grid_constant(*parameter)});
    const bool may_fold = result.kind == Function::Kind::kConstexpr ||
                          (result.kind == Function::Kind::kDevice && parameter->getType().isConstQualified() &&
                           parameter->getType()->isArithmeticType());
    context.times[parameter] = may_fold ? BindingTime::kMaybe : BindingTime::kDynamic;
  }
  // Comments of the signature have no place in a signature that is printed anew.
  const clang::SourceLocation begin = function.getBeginLoc();
  const Position body_begin = position_of(context.sources, function.getBody()->getBeginLoc());
  if (const Comment* comment = context.layout.left_over(position_of(context.sources, begin), body_begin)) {
    context.error(context.layout.location_of(comment->begin), "a comment in a signature would be lost; put it above");
  }
  check_names_asked_for(context, function, result.comment, result.arguments);
  result.body = build_body(context, function, result.place.line);
  return result;
}

/// The comment after a field or a constant on its line.
std::string trail_of(Context& context, const clang::DeclaratorDecl& declaration) {
  const clang::SourceLocation after =
      clang::Lexer::findLocationAfterToken(context.sources.getExpansionLoc(declaration.getEndLoc()), clang::tok::semi,
                                           context.sources, context.ast.getLangOpts(), false);
  if (after.isInvalid()) {
    return "";
  }
  const Position begin = position_of(context.sources, after);
  Position end = begin;
  end.offset = static_cast<unsigned>(context.sources.getBufferData(begin.file).find('\n', begin.offset));
  const Layout::Gap gap = context.layout.take_gap(begin, end);
  return gap.trailing.empty() ? "" : gap.trailing.front()->text;
}

std::optional<Item> build_record(Context& context, const clang::CXXRecordDecl& record) {
  if (context.in_primitives_header(record)) {
    return build_verbatim(context, record);
  }
  if (!record.isThisDeclarationADefinition()) {
    context.error(record.getLocation(), "declare a struct by defining it");
    return std::nullopt;
  }
  if (record.isUnion() || record.getNumBases() != 0 || !record.isAggregate() || record.getName().empty()) {
    context.error(record.getLocation(),
                  "a struct of a template has a name and plain fields: no bases, no "
                  "constructors; unions are outside the subset");
    return std::nullopt;
  }
  Record result{
      .place = place_of(context, record), .comment = description_of(context, record), .name = record.getName().str()};
  if (const auto* aligned = record.getAttr<clang::AlignedAttr>()) {
    result.attribute = fmt::format("__align__({})", aligned->getAlignment(context.ast) / 8);
  }
  for (const clang::Decl* member : record.decls()) {
    if (member->isImplicit()) {
      continue;
    }
    const auto* field = llvm::dyn_cast<clang::FieldDecl>(member);
    if (field == nullptr || field->isBitField() || field->hasInClassInitializer()) {
      context.error(member->getLocation(), "a struct of a template holds plain fields only");
      continue;
    }
    result.fields.push_back({build_type(context, *field), field->getName().str(), trail_of(context, *field)});
  }
  check_names_asked_for(context, record, result.comment, result.fields);
  return result;
}

std::optional<Item> build_variable(Context& context, const clang::VarDecl& variable) {
  if (context.in_primitives_header(variable)) {
    return build_verbatim(context, variable);
  }
  if (!variable.isConstexpr() || variable.getInit() == nullptr) {
    context.error(variable.getLocation(),
                  fmt::format("'{}' is a variable that can change; at namespace scope a template has constexpr "
                              "variables only",
                              variable.getName().str()));
    return std::nullopt;
  }
  Constant result{.place = place_of(context, variable),
                  .type = build_type(context, variable),
                  .name = variable.getName().str(),
                  .value = build_expression(context, *variable.getInit()),
                  .trail = trail_of(context, variable)};
  result.type.is_const = false;
  return result;
}

}  // namespace

std::optional<Item> build_item(Context& context, const clang::Decl& declaration) {
  if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(&declaration)) {
    return build_function(context, *function);
  }
  if (const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(&declaration)) {
    return build_record(context, *record);
  }
  if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(&declaration)) {
    return build_variable(context, *variable);
  }
  if (const auto* alias = llvm::dyn_cast<clang::TypedefNameDecl>(&declaration)) {
    const auto* record = alias->getUnderlyingType()->getAsRecordDecl();
    if (record != nullptr && record->getName() == "Parameters") {
      return std::nullopt;
    }
    return Alias{.place = place_of(context, *alias),
                 .comment = description_of(context, *alias),
                 .name = alias->getName().str(),
                 .type = build_type(context, alias->getTypeSourceInfo()->getTypeLoc())};
  }
  if (const auto* enumeration = llvm::dyn_cast<clang::EnumDecl>(&declaration)) {
    Enumeration result{.place = place_of(context, *enumeration), .name = enumeration->getName().str()};
    for (const clang::EnumConstantDecl* enumerator : enumeration->enumerators()) {
      result.enumerators.emplace_back(enumerator->getName().str(), enumerator->getInitVal().getExtValue());
    }
    return result;
  }
  if (const auto* assertion = llvm::dyn_cast<clang::StaticAssertDecl>(&declaration)) {
    const auto* message = llvm::dyn_cast_or_null<clang::StringLiteral>(assertion->getMessage());
    return StaticAssertion{.place = place_of(context, *assertion),
                           .condition = build_expression(context, *assertion->getAssertExpr()),
                           .message = message != nullptr ? message->getString().str() : ""};
  }
  if (llvm::isa<clang::EmptyDecl>(declaration)) {
    return std::nullopt;
  }
  if (const auto* generic = llvm::dyn_cast<clang::FunctionTemplateDecl>(&declaration)) {
    if (context.is_printed_primitive(*generic->getTemplatedDecl())) {
      return build_printed(context, *generic->getTemplatedDecl());
    }
    context.error(generic->getLocation(),
                  fmt::format("the function template '{}' is outside the subset; make its static parameters `const` "
                              "parameters",
                              generic->getName().str()));
    return std::nullopt;
  }
  context.error(declaration.getLocation(),
                fmt::format("this declaration ({}) is outside the subset of templates", declaration.getDeclKindName()));
  return std::nullopt;
}

}  // namespace convtgen::templatec
