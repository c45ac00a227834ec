// The whole of a template as a program: its parameters and, in the order of the text, everything at namespace scope.
#pragma once

#include <clang/AST/ASTContext.h>

#include <string_view>

#include "generator/program/program.h"
#include "generator/templatec/source_text.h"

namespace convtgen::templatec {

/// `shared` is the folder of what templates share; empty without it. Where errors were reported, the program
/// is not whole. The digest is left empty.
[[nodiscard]] Program build_program(clang::ASTContext& ast, const SourceText& text, std::string_view shared);

}  // namespace convtgen::templatec
