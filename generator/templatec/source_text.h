// What the AST does not hold of a template's text: comments, pragmas, directives and macro expansions, by position.
#pragma once

#include <clang/Basic/SourceLocation.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Lex/Preprocessor.h>

#include <memory>
#include <string>
#include <vector>

namespace convtgen::templatec {

/// A place in a file that macros are followed back to.
struct Position {
  clang::FileID file;
  unsigned offset = 0;
};

struct Comment {
  Position begin, end;
  std::string text;       // without the slashes, one line each
  bool trailing = false;  // something stands before it on its line
};

struct Mark {
  Position position;
  clang::SourceLocation location;
  std::string name;  // of a macro or directive
};

/// Everything recorded while the preprocessor ran, in the order of the text.
struct SourceText {
  std::vector<Comment> comments;
  std::vector<Mark> unroll_pragmas;      // `#pragma convtgen unroll`
  std::vector<Position> unrolled_loops;  // the `for` after each of them
  std::vector<Mark> directives;          // #if, #ifdef, #ifndef, #elif, #else, #endif
  std::vector<Mark> expansions;          // of macros that the template or its headers define
};

/// The position of a location, expansions followed to where they stand in the file.
[[nodiscard]] Position position_of(const clang::SourceManager& sources, clang::SourceLocation location);

/// Records into `text` what the preprocessor of `compiler` meets; call before parsing starts. `shared` is the folder of
/// what templates share; empty without it.
/// Returns what must live as long as the preprocessor, which owns its other listeners but not this one.
[[nodiscard]] std::unique_ptr<clang::CommentHandler> record_source_text(clang::CompilerInstance& compiler,
                                                                        SourceText& text, const std::string& shared);

/// Finds the loop after every `#pragma convtgen unroll`; reports those that don't stand directly before a `for`.
void find_unrolled_loops(clang::CompilerInstance& compiler, SourceText& text);

}  // namespace convtgen::templatec
