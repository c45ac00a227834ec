// Errors of templates, through Clang's own diagnostics: `file:line:col: error: ...` with the line and a caret.
#pragma once

#include <clang/Basic/Diagnostic.h>

#include <string_view>

namespace convtgen::templatec {

inline void error_at(clang::DiagnosticsEngine& diagnostics, clang::SourceLocation location, std::string_view message) {
  const unsigned id = diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Error, "%0");
  diagnostics.Report(location, id) << llvm::StringRef(message.data(), message.size());
}

}  // namespace convtgen::templatec
