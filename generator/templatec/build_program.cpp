#include "generator/templatec/build_program.h"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <fmt/format.h>

#include "generator/program/program.h"
#include "generator/templatec/context.h"
#include "generator/templatec/declarations.h"
#include "generator/templatec/digest.h"
#include "generator/templatec/expressions.h"

namespace convtgen::templatec {
namespace {

class ProgramBuilder {
 public:
  ProgramBuilder(clang::ASTContext& ast, const SourceText& text, std::string_view shared)
      : context_(ast, text, shared) {}

  Program build() {
    program_.name = context_.template_name;
    scope(*context_.ast.getTranslationUnitDecl());
    if (!has_parameters_) {
      context_.error(context_.sources.getLocForStartOfFile(context_.sources.getMainFileID()),
                     fmt::format("a template includes \"{}\", which defines struct Parameters", kParametersFile));
    }
    if (!has_kernel_) {
      context_.error(context_.sources.getLocForStartOfFile(context_.sources.getMainFileID()),
                     "a template has a __global__ function: its kernel");
    }
    return std::move(program_);
  }

 private:
  void scope(const clang::DeclContext& scope) {
    for (const clang::Decl* declaration : scope.decls()) {
      if (declaration->isImplicit() || context_.file_of(declaration->getLocation()).empty()) {
        continue;
      }
      if (const auto* linkage = llvm::dyn_cast<clang::LinkageSpecDecl>(declaration)) {
        this->scope(*linkage);
      } else if (context_.file_of(declaration->getLocation()) == kParametersFile) {
        parameters(*declaration);
      } else {
        item(*declaration);
      }
    }
  }

  void parameters(const clang::Decl& declaration) {
    if (const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(&declaration);
        record != nullptr && record->getName() == "Parameters") {
      has_parameters_ = true;
      for (const clang::Decl* member : record->decls()) {
        if (!member->isImplicit()) {
          parameter(*member);
        }
      }
      return;
    }
    if (llvm::isa<clang::VarDecl>(declaration)) {
      parameter(declaration);
    } else if (!llvm::isa<clang::EmptyDecl, clang::StaticAssertDecl>(declaration)) {
      context_.error(declaration.getLocation(),
                     "the parameters' header holds struct Parameters and constexpr arrays, nothing else");
    }
  }

  void parameter(const clang::Decl& declaration) {
    if (const auto* alias = llvm::dyn_cast<clang::TypedefNameDecl>(&declaration)) {
      program_.parameters.push_back({.is_type = true,
                                     .name = alias->getName().str(),
                                     .type = build_type(context_, alias->getTypeSourceInfo()->getTypeLoc())});
      return;
    }
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(&declaration);
    if (variable == nullptr || !variable->isConstexpr() || variable->getInit() == nullptr) {
      context_.error(declaration.getLocation(),
                     "a static parameter is a `static constexpr` scalar, a type alias, or a constexpr array");
      return;
    }
    ParameterDeclaration parameter{.name = variable->getName().str(),
                                   .type = build_type(context_, *variable),
                                   .default_value = build_expression(context_, *variable->getInit())};
    Type& scalar = parameter.type.kind == Type::Kind::kArray ? parameter.type.element.front() : parameter.type;
    scalar.is_const = false;
    if (parameter.type.kind == Type::Kind::kArray) {
      parameter.type.extent.clear();  // a plan's array has its own length
    }
    program_.parameters.push_back(std::move(parameter));
  }

  void item(const clang::Decl& declaration) {
    for (const Layout::Heading& heading :
         context_.layout.take_headings(context_.sources.getExpansionLoc(declaration.getBeginLoc()))) {
      program_.items.push_back(
          Section{.place = {.file = context_.file_of(heading.location), .line = context_.line_of(heading.location)},
                  .title = heading.title});
    }
    if (std::optional<Item> item = build_item(context_, declaration)) {
      const auto* function = std::get_if<Function>(&*item);
      has_kernel_ = has_kernel_ || (function != nullptr && function->kind == Function::Kind::kKernel);
      program_.items.push_back(std::move(*item));
    }
  }

  Context context_;
  Program program_;
  bool has_parameters_ = false;
  bool has_kernel_ = false;
};

}  // namespace

Program build_program(clang::ASTContext& ast, const SourceText& text, std::string_view shared) {
  return ProgramBuilder(ast, text, shared).build();
}

}  // namespace convtgen::templatec
