// What the parts of the template compiler share while they read one template.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>

#include <set>
#include <string>
#include <string_view>

#include "generator/templatec/binding_time.h"
#include "generator/templatec/layout.h"

namespace convtgen::templatec {

struct Context {
  /// `shared` is the folder of what templates share; empty without it.
  Context(clang::ASTContext& ast, const SourceText& text, std::string_view shared);

  /// Reports an error of the template at its place.
  void error(clang::SourceLocation location, std::string_view message) const;

  /// The file of a declaration, relative to the template's folder or else to the one of what templates share; empty
  /// where it is our prelude's.
  [[nodiscard]] std::string file_of(clang::SourceLocation location) const;
  [[nodiscard]] int line_of(clang::SourceLocation location) const;
  /// The text from the first to past the last token of a range, as it stands in its file.
  [[nodiscard]] std::string text_of(clang::SourceRange range) const;

  /// Whether a variable or a type is a static parameter: in the parameters' header, or a member of `Parameters`.
  [[nodiscard]] bool is_parameter(const clang::Decl& declaration) const;
  /// Whether a header's first line says that it holds device primitives.
  [[nodiscard]] bool in_primitives_header(const clang::Decl& declaration) const;
  /// Whether a function is declared in a header whose first line says that it declares printed primitives.
  [[nodiscard]] bool is_printed_primitive(const clang::FunctionDecl& function) const;

  /// The text of the file that a declaration stands in.
  [[nodiscard]] llvm::StringRef file_text_of(const clang::Decl& declaration) const;

  clang::ASTContext& ast;
  const clang::SourceManager& sources;
  const SourceText& text;
  Layout layout;
  BindingTimes times;
  std::set<std::string> acting_primitives;  // whose calls must stay, of those read so far
  std::string folder;                       // of the template
  std::string shared_folder;
  std::string template_name;  // its file without ".cu"
};

}  // namespace convtgen::templatec
