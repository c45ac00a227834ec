#include "generator/templatec/expressions.h"

#include <clang/AST/ExprCXX.h>
#include <fmt/format.h>

#include <optional>

namespace convtgen::templatec {
namespace {

using clang::Expr;
using Kind = Expression::Kind;

/// Conversions that nobody wrote.
const Expr& strip(const Expr& expression) {
  const Expr* inner = expression.IgnoreUnlessSpelledInSource()->IgnoreParenImpCasts();
  if (const auto* construct = llvm::dyn_cast<clang::CXXConstructExpr>(inner)) {
    if (construct->getConstructor()->isCopyOrMoveConstructor() && construct->getNumArgs() == 1) {
      return strip(*construct->getArg(0));
    }
  }
  return inner == &expression ? *inner : strip(*inner);
}

std::optional<Scalar> scalar_of(const Context& context, clang::QualType type) {
  const auto* builtin = type.getCanonicalType()->getAs<clang::BuiltinType>();
  if (builtin == nullptr) {
    return std::nullopt;
  }
  return scalar_named(builtin->getName(context.ast.getPrintingPolicy()).str());
}

class ExpressionBuilder {
 public:
  explicit ExpressionBuilder(const Context& context) : context_(context) {}

  Expression build(const Expr& given) {
    const Expr& e = strip(given);
    switch (e.getStmtClass()) {
      case clang::Stmt::IntegerLiteralClass:
        return written_integer(e, llvm::cast<clang::IntegerLiteral>(e).getValue().getZExtValue());
      case clang::Stmt::CXXBoolLiteralExprClass:
        return literal(e, llvm::cast<clang::CXXBoolLiteralExpr>(e).getValue() ? 1 : 0);
      case clang::Stmt::CharacterLiteralClass:
        return literal(e, llvm::cast<clang::CharacterLiteral>(e).getValue());
      case clang::Stmt::FloatingLiteralClass: {
        const std::optional<Scalar> scalar = scalar_of(context_, e.getType());
        if (!scalar) {
          return unsupported(e, "this literal");
        }
        return {.kind = Kind::kLiteral,
                .value = real_value(*scalar, llvm::cast<clang::FloatingLiteral>(e).getValue().convertToDouble())};
      }
      case clang::Stmt::DeclRefExprClass:
        return name(llvm::cast<clang::DeclRefExpr>(e));
      case clang::Stmt::UnaryOperatorClass:
        return unary(llvm::cast<clang::UnaryOperator>(e));
      case clang::Stmt::BinaryOperatorClass:
      case clang::Stmt::CompoundAssignOperatorClass: {
        const auto& binary = llvm::cast<clang::BinaryOperator>(e);
        if (binary.isPtrMemOp() || binary.getOpcode() == clang::BO_Cmp) {
          return unsupported(e, "this operator");
        }
        return {.kind = Kind::kBinary,
                .text = binary.getOpcodeStr().str(),
                .operands = {build(*binary.getLHS()), build(*binary.getRHS())}};
      }
      case clang::Stmt::ConditionalOperatorClass: {
        const auto& choice = llvm::cast<clang::ConditionalOperator>(e);
        return {.kind = Kind::kConditional,
                .operands = {build(*choice.getCond()), build(*choice.getTrueExpr()), build(*choice.getFalseExpr())}};
      }
      case clang::Stmt::ArraySubscriptExprClass: {
        const auto& index = llvm::cast<clang::ArraySubscriptExpr>(e);
        return {.kind = Kind::kIndex, .operands = {build(*index.getLHS()), build(*index.getRHS())}};
      }
      case clang::Stmt::MemberExprClass:
        return member(llvm::cast<clang::MemberExpr>(e));
      case clang::Stmt::CallExprClass:
        return call(llvm::cast<clang::CallExpr>(e));
      case clang::Stmt::CXXStaticCastExprClass:
        return cast("static_cast", llvm::cast<clang::ExplicitCastExpr>(e));
      case clang::Stmt::CXXReinterpretCastExprClass:
        return cast("reinterpret_cast", llvm::cast<clang::ExplicitCastExpr>(e));
      case clang::Stmt::CXXConstCastExprClass:
        return cast("const_cast", llvm::cast<clang::ExplicitCastExpr>(e));
      case clang::Stmt::CXXFunctionalCastExprClass:
        if (llvm::isa<clang::InitListExpr>(llvm::cast<clang::ExplicitCastExpr>(e).getSubExpr())) {
          return unsupported(e, "a braced temporary");
        }
        return cast("cast", llvm::cast<clang::ExplicitCastExpr>(e));
      case clang::Stmt::CStyleCastExprClass:
        return unsupported(e, "a C-style cast", "write static_cast");
      case clang::Stmt::UnaryExprOrTypeTraitExprClass:
        return size_of(llvm::cast<clang::UnaryExprOrTypeTraitExpr>(e));
      case clang::Stmt::InitListExprClass:
        return list(llvm::cast<clang::InitListExpr>(e));
      case clang::Stmt::CXXOperatorCallExprClass:
        return record_assignment(llvm::cast<clang::CXXOperatorCallExpr>(e));
      case clang::Stmt::LambdaExprClass:
        return unsupported(e, "a lambda", "write a device function");
      default:
        return unsupported(e, fmt::format("this expression ({})", e.getStmtClassName()));
    }
  }

 private:
  Expression unsupported(const Expr& e, std::string_view what, std::string_view instead = "") {
    context_.error(e.getBeginLoc(), fmt::format("{} is outside the subset of templates{}{}", what,
                                                instead.empty() ? "" : "; ", instead));
    return {.kind = Kind::kText};
  }

  Expression literal(const Expr& e, std::uint64_t bits) {
    const std::optional<Scalar> scalar = scalar_of(context_, e.getType());
    if (!scalar) {
      return unsupported(e, "this literal");
    }
    return {.kind = Kind::kLiteral, .value = integer_value(*scalar, static_cast<std::int64_t>(bits))};
  }

  /// An integer with the radix that it is written in.
  Expression written_integer(const Expr& e, std::uint64_t bits) {
    Expression out = literal(e, bits);
    const std::string text = context_.text_of(e.getSourceRange());
    out.value.is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    return out;
  }

  Expression name(const clang::DeclRefExpr& e) {
    const clang::ValueDecl& declaration = *e.getDecl();
    const std::string spelled = declaration.getName().str();
    if (llvm::isa<clang::FunctionDecl>(declaration)) {
      return unsupported(e, "a function that is not called");
    }
    return {.kind = Kind::kName, .text = context_.is_parameter(declaration) ? "P::" + spelled : spelled};
  }

  Expression unary(const clang::UnaryOperator& e) {
    switch (e.getOpcode()) {
      case clang::UO_Plus:
      case clang::UO_Minus:
      case clang::UO_Not:
      case clang::UO_LNot:
      case clang::UO_AddrOf:
      case clang::UO_Deref:
      case clang::UO_PreInc:
      case clang::UO_PreDec:
      case clang::UO_PostInc:
      case clang::UO_PostDec:
        break;
      default:
        return unsupported(e, "this operator");
    }
    const std::string op = clang::UnaryOperator::getOpcodeStr(e.getOpcode()).str();
    return {.kind = Kind::kUnary, .text = (e.isPostfix() ? "post" : "") + op, .operands = {build(*e.getSubExpr())}};
  }

  Expression member(const clang::MemberExpr& e) {
    if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(e.getMemberDecl())) {
      return unsupported(e, fmt::format("the static member '{}' of an object", variable->getName().str()));
    }
    if (!llvm::isa<clang::FieldDecl>(e.getMemberDecl())) {
      return unsupported(e, "a member function");
    }
    return {.kind = e.isArrow() ? Kind::kArrow : Kind::kMember,
            .text = e.getMemberDecl()->getName().str(),
            .operands = {build(*e.getBase())}};
  }

  Expression call(const clang::CallExpr& e) {
    const clang::FunctionDecl* callee = e.getDirectCallee();
    if (callee == nullptr) {
      return unsupported(e, "a call through a pointer");
    }
    if (context_.is_printed_primitive(*callee)) {
      check_static_arguments(context_, e);
    } else if (callee->isTemplateInstantiation()) {
      return unsupported(e, fmt::format("the function template '{}'", callee->getName().str()),
                         "make its static parameters `const` parameters");
    }
    Expression call{.kind = Kind::kCall, .text = callee->getName().str()};
    for (const Expr* argument : e.arguments()) {
      if (!llvm::isa<clang::CXXDefaultArgExpr>(argument)) {
        call.operands.push_back(build(*argument));
      }
    }
    return call;
  }

  Expression cast(const char* kind, const clang::ExplicitCastExpr& e) {
    return {.kind = Kind::kCast,
            .text = kind,
            .type = build_type(context_, e.getTypeInfoAsWritten()->getTypeLoc()),
            .operands = {build(*e.getSubExprAsWritten())}};
  }

  /// Of records with the assignment that every record has.
  Expression record_assignment(const clang::CXXOperatorCallExpr& e) {
    const auto* method = llvm::dyn_cast_or_null<clang::CXXMethodDecl>(e.getDirectCallee());
    if (e.getOperator() != clang::OO_Equal || method == nullptr || !method->isDefaulted()) {
      return unsupported(e, "an overloaded operator");
    }
    return {.kind = Kind::kBinary, .text = "=", .operands = {build(*e.getArg(0)), build(*e.getArg(1))}};
  }

  Expression size_of(const clang::UnaryExprOrTypeTraitExpr& e) {
    if (e.getKind() != clang::UETT_SizeOf || !e.isArgumentType()) {
      return unsupported(e, "this operator", "only sizeof(type) is in it");
    }
    return {.kind = Kind::kSizeof, .type = build_type(context_, e.getArgumentTypeInfo()->getTypeLoc())};
  }

  Expression list(const clang::InitListExpr& e) {
    const clang::InitListExpr& written =
        e.isSemanticForm() && e.getSyntacticForm() != nullptr ? *e.getSyntacticForm() : e;
    Expression list{.kind = Kind::kInit};
    for (const Expr* element : written.inits()) {
      if (llvm::isa<clang::DesignatedInitExpr>(element)) {
        return unsupported(*element, "a designated initialiser");
      }
      list.operands.push_back(build(*element));
    }
    return list;
  }

  const Context& context_;
};

Type unsupported_type(const Context& context, clang::TypeLoc type, std::string_view instead = "") {
  context.error(type.getBeginLoc(), fmt::format("the type '{}' is outside the subset of templates{}{}",
                                                type.getType().getAsString(), instead.empty() ? "" : "; ", instead));
  return {.name = "void"};
}

Type named_type(const Context& context, clang::TypeLoc type) {
  clang::QualType written = type.getType().getUnqualifiedType();
  if (const auto* elaborated = written->getAs<clang::ElaboratedType>()) {
    written = elaborated->getNamedType();
  }
  if (const auto* alias = llvm::dyn_cast<clang::TypedefType>(written.getTypePtr())) {
    const clang::TypedefNameDecl& declaration = *alias->getDecl();
    const std::string name = declaration.getName().str();
    if (context.is_parameter(declaration)) {
      return {.name = "P::" + name};
    }
    if (!context.file_of(declaration.getLocation()).empty()) {
      return {.name = name};
    }
    written = written.getCanonicalType();  // size_t of the prelude: spell what it is
  }
  if (const auto* record = llvm::dyn_cast<clang::RecordType>(written.getTypePtr())) {
    return {.name = record->getDecl()->getName().str()};
  }
  if (const auto* enumeration = llvm::dyn_cast<clang::EnumType>(written.getTypePtr())) {
    return {.name = enumeration->getDecl()->getName().str()};
  }
  if (const auto* builtin = llvm::dyn_cast<clang::BuiltinType>(written.getTypePtr())) {
    const std::string name = builtin->getName(context.ast.getPrintingPolicy()).str();
    if (const std::optional<Scalar> scalar = scalar_named(name)) {
      return {.name = std::string(spelling_of(*scalar))};
    }
    if (builtin->isVoidType()) {
      return {.name = "void"};
    }
  }
  return unsupported_type(context, type, written->getContainedAutoType() != nullptr ? "write its name" : "");
}

}  // namespace

Expression build_expression(const Context& context, const Expr& expression) {
  return ExpressionBuilder(context).build(expression);
}

Type build_type(const Context& context, clang::TypeLoc given) {
  bool is_const = false;
  bool is_restrict = false;
  clang::TypeLoc type = given;
  while (true) {
    if (const auto qualified = type.getAs<clang::QualifiedTypeLoc>()) {
      is_const |= qualified.getType().isLocalConstQualified();
      is_restrict |= qualified.getType().isLocalRestrictQualified();
      if (qualified.getType().isVolatileQualified()) {
        return unsupported_type(context, type);
      }
      type = qualified.getUnqualifiedLoc();
    } else if (const auto parentheses = type.getAs<clang::ParenTypeLoc>()) {
      type = parentheses.getInnerLoc();
    } else if (const auto attributed = type.getAs<clang::AttributedTypeLoc>()) {
      type = attributed.getModifiedLoc();
    } else {
      break;
    }
  }
  if (const auto pointer = type.getAs<clang::PointerTypeLoc>()) {
    if (pointer.getPointeeLoc().IgnoreParens().getAs<clang::FunctionTypeLoc>()) {
      return unsupported_type(context, type);
    }
    return {.kind = Type::Kind::kPointer,
            .is_const = is_const,
            .is_restrict = is_restrict,
            .element = {build_type(context, pointer.getPointeeLoc())}};
  }
  if (const auto reference = type.getAs<clang::LValueReferenceTypeLoc>()) {
    return {.kind = Type::Kind::kReference, .element = {build_type(context, reference.getPointeeLoc())}};
  }
  if (const auto array = type.getAs<clang::ArrayTypeLoc>()) {
    if (!llvm::isa<clang::ConstantArrayType, clang::IncompleteArrayType>(array.getTypePtr())) {
      return unsupported_type(context, type, "an extent must be static");
    }
    Type result{.kind = Type::Kind::kArray, .element = {build_type(context, array.getElementLoc())}};
    if (const Expr* extent = array.getSizeExpr()) {
      result.extent.push_back(build_expression(context, *extent));
    }
    return result;
  }
  Type result = named_type(context, type);
  result.is_const = is_const;
  return result;
}

Type build_type(const Context& context, const clang::DeclaratorDecl& declaration) {
  return build_type(context, declaration.getTypeSourceInfo()->getTypeLoc());
}

bool has_initialiser(const clang::VarDecl& variable) {
  const Expr* init = variable.getInit();
  if (init == nullptr) {
    return false;
  }
  const auto* construct = llvm::dyn_cast<clang::CXXConstructExpr>(init->IgnoreUnlessSpelledInSource());
  return construct == nullptr || construct->getNumArgs() != 0;
}

}  // namespace convtgen::templatec
