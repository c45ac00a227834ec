#include "generator/templatec/binding_time.h"

#include <clang/AST/ExprCXX.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <fmt/format.h>

#include <algorithm>

#include "generator/templatec/context.h"

namespace convtgen::templatec {
namespace {

using clang::Expr;

BindingTime time_of_variable(const Context& context, const clang::ValueDecl& declaration) {
  if (llvm::isa<clang::EnumConstantDecl>(declaration) || context.is_parameter(declaration)) {
    return BindingTime::kStatic;
  }
  if (const auto found = context.times.find(&declaration); found != context.times.end()) {
    return found->second;
  }
  const auto* variable = llvm::dyn_cast<clang::VarDecl>(&declaration);
  return variable != nullptr && variable->isConstexpr() ? BindingTime::kStatic : BindingTime::kDynamic;
}

BindingTime later(BindingTime a, BindingTime b) {
  return std::max(a, b);
}

/// Of an expression that some plans cut down to its static part.
BindingTime unless_cut(BindingTime decides, BindingTime cut) {
  return decides == BindingTime::kDynamic ? BindingTime::kDynamic : std::min(later(decides, cut), BindingTime::kMaybe);
}

/// Whether the body leaves or goes on with this loop, or writes its variable.
class BodyChecker : public clang::RecursiveASTVisitor<BodyChecker> {
 public:
  BodyChecker(Context& context, const clang::VarDecl& variable) : context_(context), variable_(variable) {}

  bool TraverseForStmt(clang::ForStmt* loop) { return nested(loop); }
  bool TraverseWhileStmt(clang::WhileStmt* loop) { return nested(loop); }

  bool VisitBreakStmt(clang::BreakStmt* statement) {
    if (depth_ == 0) {
      context_.error(statement->getBeginLoc(), "break in a loop that is unrolled");
    }
    return true;
  }
  bool VisitContinueStmt(clang::ContinueStmt* statement) {
    if (depth_ == 0) {
      context_.error(statement->getBeginLoc(), "continue in a loop that is unrolled");
    }
    return true;
  }
  bool VisitBinaryOperator(clang::BinaryOperator* expression) {
    if (expression->isAssignmentOp()) {
      written(*expression->getLHS());
    }
    return true;
  }
  bool VisitUnaryOperator(clang::UnaryOperator* expression) {
    if (expression->isIncrementDecrementOp() || expression->getOpcode() == clang::UO_AddrOf) {
      written(*expression->getSubExpr());
    }
    return true;
  }

 private:
  template <typename Loop>
  bool nested(Loop* loop) {
    ++depth_;
    const bool go_on = [&] {
      for (clang::Stmt* child : loop->children()) {
        if (child != nullptr && !TraverseStmt(child)) {
          return false;
        }
      }
      return true;
    }();
    --depth_;
    return go_on;
  }

  void written(const Expr& target) {
    const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(target.IgnoreParenImpCasts());
    if (reference != nullptr && reference->getDecl() == &variable_) {
      context_.error(reference->getBeginLoc(), fmt::format("the loop over '{}' is unrolled: its body can't change it",
                                                           variable_.getName().str()));
    }
  }

  Context& context_;
  const clang::VarDecl& variable_;
  int depth_ = 0;
};

/// `what` it is, such as "the bound of a loop that is unrolled".
void check_static(const Context& context, const Expr& expression, std::string_view what) {
  if (binding_time_of(context, expression) != BindingTime::kDynamic) {
    return;
  }
  const clang::DeclRefExpr* part = dynamic_part(context, expression);
  context.error(part != nullptr ? part->getBeginLoc() : expression.getBeginLoc(),
                part != nullptr ? fmt::format("{} must be static, but '{}' is known only when the kernel runs", what,
                                              part->getDecl()->getName().str())
                                : fmt::format("{} must be static", what));
}

}  // namespace

BindingTime binding_time_of(const Context& context, const Expr& given) {
  const Expr& expression = *given.IgnoreParenImpCasts();
  if (const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(&expression)) {
    return time_of_variable(context, *reference->getDecl());
  }
  if (const auto* choice = llvm::dyn_cast<clang::ConditionalOperator>(&expression)) {
    const BindingTime decides = binding_time_of(context, *choice->getCond());
    const BindingTime first = binding_time_of(context, *choice->getTrueExpr());
    const BindingTime second = binding_time_of(context, *choice->getFalseExpr());
    if (first == second) {
      return later(decides, first);
    }
    return unless_cut(decides, later(first, second));
  }
  if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(&expression)) {
    const BindingTime left = binding_time_of(context, *binary->getLHS());
    const BindingTime right = binding_time_of(context, *binary->getRHS());
    if (binary->isAssignmentOp()) {
      return BindingTime::kDynamic;
    }
    if (binary->isLogicalOp()) {
      return left == BindingTime::kDynamic ? unless_cut(right, left) : unless_cut(left, right);
    }
    return later(left, right);
  }
  if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(&expression)) {
    const bool pure = !unary->isIncrementDecrementOp() && unary->getOpcode() != clang::UO_AddrOf &&
                      unary->getOpcode() != clang::UO_Deref;
    return pure ? binding_time_of(context, *unary->getSubExpr()) : BindingTime::kDynamic;
  }
  if (const auto* call = llvm::dyn_cast<clang::CallExpr>(&expression)) {
    const clang::FunctionDecl* callee = call->getDirectCallee();
    BindingTime time = callee != nullptr && callee->isConstexpr() ? BindingTime::kStatic : BindingTime::kDynamic;
    for (const Expr* argument : call->arguments()) {
      time = later(time, binding_time_of(context, *argument));
    }
    return time;
  }
  if (const auto* index = llvm::dyn_cast<clang::ArraySubscriptExpr>(&expression)) {
    return later(binding_time_of(context, *index->getBase()), binding_time_of(context, *index->getIdx()));
  }
  if (const auto* cast = llvm::dyn_cast<clang::ExplicitCastExpr>(&expression)) {
    return binding_time_of(context, *cast->getSubExpr());
  }
  if (llvm::isa<clang::IntegerLiteral, clang::FloatingLiteral, clang::CXXBoolLiteralExpr, clang::CharacterLiteral,
                clang::UnaryExprOrTypeTraitExpr>(expression)) {
    return BindingTime::kStatic;
  }
  return BindingTime::kDynamic;
}

const clang::DeclRefExpr* dynamic_part(const Context& context, const Expr& expression) {
  if (const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(&expression)) {
    return llvm::isa<clang::VarDecl>(reference->getDecl()) &&
                   time_of_variable(context, *reference->getDecl()) == BindingTime::kDynamic
               ? reference
               : nullptr;
  }
  for (const clang::Stmt* child : expression.children()) {
    const auto* part = llvm::dyn_cast_or_null<Expr>(child);
    if (const auto* found = part != nullptr ? dynamic_part(context, *part) : nullptr) {
      return found;
    }
  }
  return nullptr;
}

void check_static_arguments(const Context& context, const clang::CallExpr& call) {
  const clang::FunctionDecl& callee = *call.getDirectCallee();
  for (unsigned i = 0; i < call.getNumArgs() && i < callee.getNumParams(); ++i) {
    const clang::ParmVarDecl& parameter = *callee.getParamDecl(i);
    if (parameter.getType().isConstQualified()) {
      check_static(context, *call.getArg(i),
                   fmt::format("argument '{}' of {}", parameter.getName().str(), callee.getName().str()));
    }
  }
}

void check_unrolled(Context& context, const clang::ForStmt& loop) {
  const auto* init = llvm::dyn_cast_or_null<clang::DeclStmt>(loop.getInit());
  const auto* variable =
      init != nullptr && init->isSingleDecl() ? llvm::dyn_cast<clang::VarDecl>(init->getSingleDecl()) : nullptr;
  if (variable == nullptr || !variable->getType()->isIntegralType(context.ast) || variable->getInit() == nullptr ||
      loop.getCond() == nullptr || loop.getInc() == nullptr) {
    context.error(loop.getForLoc(),
                  "a loop that is unrolled declares one integer variable and has a condition and a step: "
                  "for (int i = 0; i < n; ++i)");
    return;
  }
  check_static(context, *variable->getInit(), "the start of a loop that is unrolled");
  context.times[variable] = BindingTime::kStatic;
  check_static(context, *loop.getCond(), "the bound of a loop that is unrolled");
  if (const auto* step = llvm::dyn_cast<clang::BinaryOperator>(loop.getInc()->IgnoreParenImpCasts())) {
    check_static(context, *step->getRHS(), "the step of a loop that is unrolled");
  }
  BodyChecker(context, *variable).TraverseStmt(const_cast<clang::Stmt*>(loop.getBody()));
}

}  // namespace convtgen::templatec
