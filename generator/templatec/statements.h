// Function bodies of the AST as statements of a template program, comments and blank lines among them.
#pragma once

#include <clang/AST/Decl.h>

#include <vector>

#include "generator/program/program.h"
#include "generator/templatec/context.h"

namespace convtgen::templatec {

/// The body of a function, its lines counted from `function_line`. Reports what is outside the subset, comment holes
/// that name nothing static, and comments that the output could not hold.
[[nodiscard]] std::vector<Statement> build_body(Context& context, const clang::FunctionDecl& function,
                                                int function_line);

/// The lines of a comment, one each.
[[nodiscard]] std::vector<std::string> lines_of(const Comment& comment);

/// The comment of a function, record or alias: the lines directly above it, down to the first empty one. What comes
/// after that is for the template's reader alone.
[[nodiscard]] std::vector<std::string> description_of(Context& context, const clang::Decl& declaration);

}  // namespace convtgen::templatec
