// Binding-time analysis: what of a template is static. The specializer decides finally, with a plan's values; here is
// decided what can't be static whatever they are.
#pragma once

#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>

#include <map>

namespace convtgen::templatec {

struct Context;

enum class BindingTime {
  kStatic,   // with every plan
  kMaybe,    // with some: a `const` parameter of a device function, or an expression whose dynamic part may fold away
  kDynamic,  // with none
};

/// The binding times of the variables declared so far.
using BindingTimes = std::map<const clang::ValueDecl*, BindingTime>;

[[nodiscard]] BindingTime binding_time_of(const Context& context, const clang::Expr& expression);

/// The first variable in the expression that makes it dynamic, or null.
[[nodiscard]] const clang::DeclRefExpr* dynamic_part(const Context& context, const clang::Expr& expression);

/// Reports the arguments of a call that can't be static though their parameters are `const`: of a printed primitive.
void check_static_arguments(const Context& context, const clang::CallExpr& call);

/// Reports what keeps a loop with the unroll mark from being unrolled: more or other than one integer variable of its
/// own, a dynamic bound or step, `break` or `continue`, an assignment to its variable.
void check_unrolled(Context& context, const clang::ForStmt& loop);

}  // namespace convtgen::templatec
