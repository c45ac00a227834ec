#include "generator/templatec/context.h"

#include <clang/Lex/Lexer.h>

#include <filesystem>

#include "generator/templatec/diagnose.h"
#include "generator/templatec/digest.h"

namespace convtgen::templatec {

namespace fs = std::filesystem;

Context::Context(clang::ASTContext& context, const SourceText& source_text, std::string_view shared)
    : ast(context),
      sources(context.getSourceManager()),
      text(source_text),
      layout(context, source_text),
      shared_folder(shared.empty() ? "" : fs::path(shared).lexically_normal().string()) {
  const auto file = sources.getFileEntryRefForID(sources.getMainFileID());
  const fs::path path = fs::path(file->getName().str()).lexically_normal();
  folder = path.parent_path().string();
  template_name = path.stem().string();
}

void Context::error(clang::SourceLocation location, std::string_view message) const {
  error_at(ast.getDiagnostics(), sources.getExpansionLoc(location), message);
}

std::string Context::file_of(clang::SourceLocation location) const {
  const auto file = sources.getFileEntryRefForID(sources.getFileID(sources.getExpansionLoc(location)));
  if (!file || file->getName().starts_with("/convtgen/")) {
    return "";
  }
  const fs::path path = fs::path(file->getName().str()).lexically_normal();
  const fs::path own = folder.empty() ? path : path.lexically_relative(folder);
  const bool is_own = own.empty() || *own.begin() != "..";
  return is_own || shared_folder.empty() ? own.string() : path.lexically_relative(shared_folder).string();
}

int Context::line_of(clang::SourceLocation location) const {
  return static_cast<int>(sources.getExpansionLineNumber(location));
}

std::string Context::text_of(clang::SourceRange range) const {
  const clang::SourceRange expanded(sources.getExpansionLoc(range.getBegin()),
                                    sources.getExpansionRange(range.getEnd()).getEnd());
  return clang::Lexer::getSourceText(clang::CharSourceRange::getTokenRange(expanded), sources, ast.getLangOpts()).str();
}

bool Context::is_parameter(const clang::Decl& declaration) const {
  if (const auto* record = llvm::dyn_cast<clang::RecordDecl>(declaration.getDeclContext())) {
    return record->getName() == "Parameters";
  }
  return declaration.getDeclContext()->getRedeclContext()->isFileContext() &&
         file_of(declaration.getLocation()) == kParametersFile;
}

bool Context::in_primitives_header(const clang::Decl& declaration) const {
  return file_text_of(declaration).starts_with("// Device primitives");
}

bool Context::is_printed_primitive(const clang::FunctionDecl& function) const {
  return !function.isDefined() && file_text_of(function).starts_with("// Printed primitives");
}

llvm::StringRef Context::file_text_of(const clang::Decl& declaration) const {
  return sources.getBufferData(sources.getFileID(sources.getExpansionLoc(declaration.getLocation())));
}

}  // namespace convtgen::templatec
