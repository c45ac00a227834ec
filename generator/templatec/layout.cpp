#include "generator/templatec/layout.h"

#include <clang/Lex/Lexer.h>

#include <algorithm>

namespace convtgen::templatec {
namespace {

bool inside(const Comment& comment, Position begin, Position end) {
  return comment.begin.file == begin.file && comment.begin.offset >= begin.offset && comment.end.offset <= end.offset;
}

}  // namespace

Layout::Layout(const clang::ASTContext& context, const SourceText& text)
    : context_(context), sources_(context.getSourceManager()) {
  for (const Comment& comment : text.comments) {
    entries_.push_back({&comment});
  }
}

Layout::Gap Layout::take_gap(Position begin, Position end) {
  Gap gap;
  unsigned at = begin.offset;
  const int first_line = line_of(begin);
  for (Entry& entry : entries_) {
    const Comment& comment = *entry.comment;
    if (entry.taken || !inside(comment, begin, end)) {
      continue;
    }
    entry.taken = true;
    if (line_of(comment.begin) == first_line && comment.trailing) {
      gap.trailing.push_back(&comment);
    } else {
      gap.lines.push_back({&comment, blank_line_between(at, comment.begin.offset, begin.file)});
    }
    at = comment.end.offset;
  }
  gap.blank_before_end = blank_line_between(at, end.offset, begin.file);
  return gap;
}

std::vector<const Comment*> Layout::take_description(Position before) {
  std::vector<const Comment*> found;
  int line = line_of(before);
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    const Comment& comment = *entry->comment;
    if (entry->taken || comment.trailing || comment.begin.file != before.file ||
        comment.begin.offset >= before.offset || line_of(comment.end) + 1 != line) {
      continue;
    }
    entry->taken = true;
    line = line_of(comment.begin);
    found.push_back(&comment);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

std::vector<Layout::Heading> Layout::take_headings(clang::SourceLocation before) {
  constexpr llvm::StringRef kMark = "----";
  std::vector<Heading> found;
  for (Entry& entry : entries_) {
    llvm::StringRef title = entry.comment->text;
    if (entry.taken || entry.comment->trailing || !title.consume_front(kMark) || !title.consume_back(kMark)) {
      continue;
    }
    const clang::SourceLocation here = location_of(entry.comment->begin);
    if (sources_.isBeforeInTranslationUnit(here, before)) {
      entry.taken = true;
      found.push_back({here, title.trim("- ").str()});
    }
  }
  return found;
}

void Layout::skip(Position begin, Position end) {
  for (Entry& entry : entries_) {
    entry.taken = entry.taken || inside(*entry.comment, begin, end);
  }
}

const Comment* Layout::left_over(Position begin, Position end) const {
  for (const Entry& entry : entries_) {
    if (!entry.taken && inside(*entry.comment, begin, end)) {
      return entry.comment;
    }
  }
  return nullptr;
}

Position Layout::begin_of(const clang::Stmt& statement) const {
  return position_of(sources_, statement.getBeginLoc());
}

Position Layout::end_of(const clang::Stmt& statement) const {
  const clang::SourceLocation last = sources_.getExpansionLoc(statement.getEndLoc());
  clang::SourceLocation after =
      clang::Lexer::findLocationAfterToken(last, clang::tok::semi, sources_, context_.getLangOpts(), false);
  if (after.isInvalid()) {
    after = clang::Lexer::getLocForEndOfToken(last, 0, sources_, context_.getLangOpts());
  }
  return position_of(sources_, after);
}

clang::SourceLocation Layout::location_of(Position position) const {
  return sources_.getLocForStartOfFile(position.file).getLocWithOffset(static_cast<int>(position.offset));
}

int Layout::line_of(Position position) const {
  return static_cast<int>(sources_.getLineNumber(position.file, position.offset));
}

bool Layout::blank_line_between(unsigned begin, unsigned end, clang::FileID file) const {
  if (begin >= end) {
    return false;
  }
  // Whole lines only: the first and the last piece belong to what stands there.
  llvm::SmallVector<llvm::StringRef> lines;
  sources_.getBufferData(file).slice(begin, end).split(lines, '\n');
  for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
    if (lines[i].trim().empty()) {
      return true;
    }
  }
  return false;
}

}  // namespace convtgen::templatec
