// Where comments and blank lines stand among statements.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Stmt.h>

#include <string>
#include <vector>

#include "generator/templatec/source_text.h"

namespace convtgen::templatec {

/// Hands out each comment of the template once; what nobody took can't be kept in the output.
class Layout {
 public:
  Layout(const clang::ASTContext& context, const SourceText& text);

  /// What stands between two places of one file: own-line comments in order, each with whether a blank line is before.
  struct Gap {
    struct Line {
      const Comment* comment;
      bool blank_before;
    };
    std::vector<const Comment*> trailing;  // on the line where the gap begins
    std::vector<Line> lines;
    bool blank_before_end = false;
  };
  /// Takes the comments between the positions.
  Gap take_gap(Position begin, Position end);
  /// Takes the comments of the lines directly before a position: a function's description.
  std::vector<const Comment*> take_description(Position before);
  /// Takes the headings that stand before a place, above all that was read before it: comments `---- Title ----`.
  struct Heading {
    clang::SourceLocation location;
    std::string title;
  };
  std::vector<Heading> take_headings(clang::SourceLocation before);
  /// Forgets the comments between the positions: their text is kept otherwise.
  void skip(Position begin, Position end);
  /// The first comment between the positions that nobody took, or null.
  [[nodiscard]] const Comment* left_over(Position begin, Position end) const;

  /// The position just after a statement, its semicolon included.
  [[nodiscard]] Position end_of(const clang::Stmt& statement) const;
  [[nodiscard]] Position begin_of(const clang::Stmt& statement) const;
  [[nodiscard]] clang::SourceLocation location_of(Position position) const;
  [[nodiscard]] int line_of(Position position) const;

 private:
  struct Entry {
    const Comment* comment;
    bool taken = false;
  };

  [[nodiscard]] bool blank_line_between(unsigned begin, unsigned end, clang::FileID file) const;

  const clang::ASTContext& context_;
  const clang::SourceManager& sources_;
  std::vector<Entry> entries_;
};

}  // namespace convtgen::templatec
