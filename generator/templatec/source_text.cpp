#include "generator/templatec/source_text.h"

#include <clang/Lex/Lexer.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Pragma.h>
#include <clang/Lex/Preprocessor.h>

#include <filesystem>
#include <memory>

#include "generator/templatec/diagnose.h"

namespace convtgen::templatec {
namespace {

using clang::SourceLocation;
using clang::SourceManager;
using clang::SourceRange;

/// The lines of a comment, each without its slashes or stars and one leading blank.
std::string comment_text(llvm::StringRef raw) {
  if (raw.consume_front("//")) {
    raw.consume_front(" ");
    return raw.rtrim().str();
  }
  raw.consume_front("/*");
  raw.consume_back("*/");
  std::string text;
  llvm::SmallVector<llvm::StringRef> lines;
  raw.trim().split(lines, '\n');
  for (llvm::StringRef line : lines) {
    line = line.trim();
    line.consume_front("*");
    text += (text.empty() ? "" : "\n") + line.trim().str();
  }
  return text;
}

class CommentRecorder : public clang::CommentHandler {
 public:
  explicit CommentRecorder(SourceText& text) : text_(text) {}

  bool HandleComment(clang::Preprocessor& preprocessor, SourceRange range) override {
    const SourceManager& sources = preprocessor.getSourceManager();
    Comment comment;
    comment.begin = position_of(sources, range.getBegin());
    comment.end = position_of(sources, range.getEnd());
    const llvm::StringRef buffer = sources.getBufferData(comment.begin.file);
    comment.text = comment_text(buffer.slice(comment.begin.offset, comment.end.offset));
    const llvm::StringRef before = buffer.take_front(comment.begin.offset);
    const llvm::StringRef line = before.substr(before.rfind('\n') + 1);
    comment.trailing = !line.trim().empty();
    text_.comments.push_back(std::move(comment));
    return false;
  }

 private:
  SourceText& text_;
};

/// `#pragma convtgen unroll`, and an error for any other word after `convtgen`.
class ConvtgenPragma : public clang::PragmaHandler {
 public:
  explicit ConvtgenPragma(SourceText& text) : PragmaHandler("convtgen"), text_(text) {}

  void HandlePragma(clang::Preprocessor& preprocessor, clang::PragmaIntroducer introducer,
                    clang::Token& first) override {
    clang::Token word;
    preprocessor.Lex(word);
    const bool unroll = word.is(clang::tok::identifier) && word.getIdentifierInfo()->isStr("unroll");
    preprocessor.Lex(word);
    if (!unroll || word.isNot(clang::tok::eod)) {
      error_at(preprocessor.getDiagnostics(), first.getLocation(),
               "unknown convtgen pragma; `#pragma convtgen unroll` is the only one");
      return;
    }
    text_.unroll_pragmas.push_back({position_of(preprocessor.getSourceManager(), introducer.Loc), introducer.Loc, ""});
  }

 private:
  SourceText& text_;
};

/// A folder's path in one form: "." for the one that we are in.
std::filesystem::path normal(const std::filesystem::path& folder) {
  return (folder / ".").lexically_normal();
}

class DirectiveRecorder : public clang::PPCallbacks {
 public:
  DirectiveRecorder(clang::CompilerInstance& compiler, SourceText& text, const std::string& shared)
      : diagnostics_(compiler.getDiagnostics()),
        sources_(compiler.getSourceManager()),
        text_(text),
        shared_(shared.empty() ? std::filesystem::path() : normal(shared)) {}

  /// One name for each file, from the template's folder or the shared one, so that the digest finds them all.
  void InclusionDirective(SourceLocation hash, const clang::Token&, llvm::StringRef name, bool angled,
                          clang::CharSourceRange range, clang::OptionalFileEntryRef, llvm::StringRef found_in,
                          llvm::StringRef, const clang::Module*, bool, clang::SrcMgr::CharacteristicKind) override {
    if (sources_.isWrittenInBuiltinFile(hash) || sources_.isWrittenInCommandLineFile(hash)) {
      return;
    }
    const auto main_file = sources_.getFileEntryRefForID(sources_.getMainFileID());
    const std::filesystem::path folder = normal(std::filesystem::path(main_file->getName().str()).parent_path());
    const std::filesystem::path where = normal(found_in.str());
    if (angled || (where != folder && (shared_.empty() || where != shared_))) {
      error_at(diagnostics_, sources_.getExpansionLoc(range.getBegin()),
               "include \"" + name.str() + "\" by its name from the template's folder or the shared one, in quotes");
    }
  }

  void If(SourceLocation at, SourceRange, ConditionValueKind) override { directive(at, "#if"); }
  void Ifdef(SourceLocation at, const clang::Token&, const clang::MacroDefinition&) override {
    directive(at, "#ifdef");
  }
  void Ifndef(SourceLocation at, const clang::Token&, const clang::MacroDefinition&) override {
    directive(at, "#ifndef");
  }
  void Elif(SourceLocation at, SourceRange, ConditionValueKind, SourceLocation) override { directive(at, "#elif"); }
  void Else(SourceLocation at, SourceLocation) override { directive(at, "#else"); }
  void Endif(SourceLocation at, SourceLocation) override { directive(at, "#endif"); }

  void MacroExpands(const clang::Token& name, const clang::MacroDefinition& definition, SourceRange,
                    const clang::MacroArgs*) override {
    const clang::MacroInfo* info = definition.getMacroInfo();
    if (info == nullptr || info->isBuiltinMacro() || name.getLocation().isMacroID()) {
      return;
    }
    text_.expansions.push_back(
        {position_of(sources_, name.getLocation()), name.getLocation(), name.getIdentifierInfo()->getName().str()});
  }

 private:
  void directive(SourceLocation at, const char* name) {
    text_.directives.push_back({position_of(sources_, at), at, name});
  }

  clang::DiagnosticsEngine& diagnostics_;
  const SourceManager& sources_;
  SourceText& text_;
  const std::filesystem::path shared_;
};

}  // namespace

Position position_of(const SourceManager& sources, SourceLocation location) {
  const auto [file, offset] = sources.getDecomposedLoc(sources.getExpansionLoc(location));
  return {file, offset};
}

std::unique_ptr<clang::CommentHandler> record_source_text(clang::CompilerInstance& compiler, SourceText& text,
                                                          const std::string& shared) {
  clang::Preprocessor& preprocessor = compiler.getPreprocessor();
  auto recorder = std::make_unique<CommentRecorder>(text);
  preprocessor.addCommentHandler(recorder.get());
  preprocessor.AddPragmaHandler(new ConvtgenPragma(text));
  preprocessor.addPPCallbacks(std::make_unique<DirectiveRecorder>(compiler, text, shared));
  return recorder;
}

void find_unrolled_loops(clang::CompilerInstance& compiler, SourceText& text) {
  const SourceManager& sources = compiler.getSourceManager();
  for (const Mark& pragma : text.unroll_pragmas) {
    // From the macro's name, or from the end of the directive's line.
    SourceLocation at = sources.getExpansionLoc(pragma.location);
    const llvm::StringRef buffer = sources.getBufferData(pragma.position.file);
    if (buffer.substr(pragma.position.offset).starts_with("#")) {
      at = at.getLocWithOffset(static_cast<int>(buffer.find('\n', pragma.position.offset) - pragma.position.offset));
    }
    const auto next = clang::Lexer::findNextToken(at, sources, compiler.getLangOpts());
    if (!next || next->isNot(clang::tok::raw_identifier) || next->getRawIdentifier() != "for") {
      error_at(compiler.getDiagnostics(), at, "the unroll mark must stand directly before a for loop");
    } else {
      text.unrolled_loops.push_back(position_of(sources, next->getLocation()));
    }
  }
}

}  // namespace convtgen::templatec
