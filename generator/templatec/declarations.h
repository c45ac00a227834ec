// Declarations at namespace scope as items of a template program.
#pragma once

#include <clang/AST/Decl.h>

#include <optional>

#include "generator/program/program.h"
#include "generator/templatec/context.h"

namespace convtgen::templatec {

/// Nothing for what leaves no trace (`using P = Parameters`), and for what is outside the subset, which is reported.
[[nodiscard]] std::optional<Item> build_item(Context& context, const clang::Decl& declaration);

}  // namespace convtgen::templatec
