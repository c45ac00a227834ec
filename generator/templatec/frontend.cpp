// Runs Clang over a template with our prelude in place of the CUDA toolkit.
#include <clang/AST/ASTConsumer.h>
#include <clang/Basic/FileManager.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <clang/Tooling/Tooling.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>

#include <filesystem>

#include "convtgen_templatec_embedded.h"
#include "generator/program/program_text.h"
#include "generator/templatec/build_program.h"
#include "generator/templatec/digest.h"
#include "generator/templatec/source_text.h"
#include "generator/templatec/templatec.h"

namespace convtgen::templatec {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPreludePath = "/convtgen/prelude.cuh";

/// Parses one template and builds its program where there was no error.
class Action : public clang::ASTFrontendAction {
 public:
  Action(const Input& input, std::optional<Program>& program) : input_(input), program_(program) {}

  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler, llvm::StringRef) override {
    comment_handler_ = record_source_text(compiler, text_, input_.shared);
    return std::make_unique<Consumer>(*this, compiler);
  }

 private:
  class Consumer : public clang::ASTConsumer {
   public:
    Consumer(Action& action, clang::CompilerInstance& compiler) : action_(action), compiler_(compiler) {}
    void HandleTranslationUnit(clang::ASTContext& context) override {
      if (compiler_.getDiagnostics().hasErrorOccurred()) {
        return;
      }
      find_unrolled_loops(compiler_, action_.text_);
      Program program = build_program(context, action_.text_, action_.input_.shared);
      if (!compiler_.getDiagnostics().hasErrorOccurred()) {
        action_.program_ = std::move(program);
      }
    }

   private:
    Action& action_;
    clang::CompilerInstance& compiler_;
  };

  const Input& input_;
  SourceText text_;
  std::unique_ptr<clang::CommentHandler> comment_handler_;
  std::optional<Program>& program_;
};

/// Runs the action as Clang's tools do, but prints only the diagnostics.
class Runner : public clang::tooling::ToolAction {
 public:
  Runner(const Input& input, std::optional<Program>& program) : action_(input, program) {}

  bool runInvocation(std::shared_ptr<clang::CompilerInvocation> invocation, clang::FileManager* files,
                     std::shared_ptr<clang::PCHContainerOperations> containers,
                     clang::DiagnosticConsumer* diagnostics) override {
    clang::CompilerInstance compiler(std::move(containers));
    compiler.setVerboseOutputStream(llvm::nulls());
    compiler.setInvocation(std::move(invocation));
    compiler.setFileManager(files);
    compiler.createDiagnostics(diagnostics, /*ShouldOwnClient=*/false);
    compiler.createSourceManager(*files);
    const bool ran = compiler.ExecuteAction(action_);
    files->clearStatCache();
    return ran;
  }

 private:
  Action action_;
};

std::vector<std::string> arguments(const Input& input) {
  std::vector<std::string> out = {"templatec",
                                  "-x",
                                  "cuda",
                                  "--cuda-device-only",
                                  "--cuda-gpu-arch=sm_80",
                                  "-nocudainc",
                                  "-nocudalib",
                                  "-nostdinc",
                                  "-std=c++17",
                                  "-fsyntax-only",
                                  "-Wno-unknown-cuda-version",
                                  "-DCONVTGEN_TEMPLATEC",
                                  "-include",
                                  kPreludePath};
  const std::string folder = fs::path(input.path).parent_path().string();
  out.push_back("-I" + (folder.empty() ? "." : folder));
  if (!input.shared.empty()) {
    out.push_back("-I" + input.shared);
  }
  out.push_back(input.path);
  return out;
}

}  // namespace

Output compile_template(const Input& input) {
  auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  const std::string_view prelude = embedded::prelude();
  memory->addFile(kPreludePath, 0, llvm::MemoryBuffer::getMemBufferCopy({prelude.data(), prelude.size()}));
  for (const auto& [path, text] : input.files) {
    memory->addFile(path, 0, llvm::MemoryBuffer::getMemBufferCopy(text));
  }
  auto overlay = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(llvm::vfs::getRealFileSystem());
  overlay->pushOverlay(memory);
  auto files = llvm::makeIntrusiveRefCnt<clang::FileManager>(clang::FileSystemOptions{}, overlay);

  Output output;
  llvm::raw_string_ostream stream(output.diagnostics);
  auto options = llvm::makeIntrusiveRefCnt<clang::DiagnosticOptions>();
  clang::TextDiagnosticPrinter printer(stream, options.get());
  std::optional<Program> program;
  Runner runner(input, program);
  clang::tooling::ToolInvocation invocation(arguments(input), &runner, files.get(),
                                            std::make_shared<clang::PCHContainerOperations>());
  invocation.setDiagnosticConsumer(&printer);
  output.ok = invocation.run() && program.has_value();
  if (output.ok) {
    program->digest = digest_of(sources_of(program->name, [&](const std::string& name) -> std::optional<std::string> {
      for (const fs::path& folder : {fs::path(input.path).parent_path(), fs::path(input.shared)}) {
        if (const auto buffer = overlay->getBufferForFile((folder / name).string())) {
          return (*buffer)->getBuffer().str();
        }
      }
      return std::nullopt;
    }));
    output.program = write_program(*program);
  }
  return output;
}

}  // namespace convtgen::templatec
