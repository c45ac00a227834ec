// The output before it is text: functions as trees of statements and terms, what they use, and the whole source.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/specializer/globals.h"
#include "generator/specializer/term.h"

namespace convtgen {

struct Residual {
  enum class Kind {
    kDeclare,  // type, name, terms: the initialiser; text: "__shared__ " before it
    kUsing,    // type, name
    kExpression,
    kIf,  // terms: the condition
    kFor,
    kWhile,
    kReturn,
    kBreak,
    kContinue,
    kBlock,
    kAsm,
    kComment,
    kBlank,
    kSplice,  // a body that needs no braces unless its names clash with others
    kGone,    // stands for what folded away, until the comments above it are judged
  };
  Kind kind = Kind::kBlank;
  int line = 0;  // of the template's main file, or 0
  Type type;     // as the output spells it
  std::string name;
  int id = 0;  // of the declared variable
  std::string text;
  std::vector<Term> terms;
  std::vector<Residual> init;
  std::vector<Term> condition;
  std::vector<Term> step;
  std::vector<Residual> body;
  std::vector<Residual> otherwise;
  std::string trail;
  bool is_iteration = false;  // of kSplice: one of several bodies of an unrolled loop
  bool was_branch = false;    // of kGone and kSplice: an `if`, so that the comment above it is its own
};

struct ResidualArgument {
  Type type;  // as the output spells it
  std::string name;
  int id = 0;
  std::size_t position = 0;  // in the template's function
};

/// A function specialised for some static arguments.
struct Version {
  const Function* function = nullptr;
  std::size_t order = 0;     // of the function among the program's items
  std::size_t sequence = 0;  // in which it was made: callees come before callers
  std::string key;           // the static arguments
  std::string name;
  std::vector<std::string> comment;
  Type type;
  std::vector<Term> launch_bounds;
  int threads = 0;  // the first of them
  int cluster = 1;  // blocks of a cluster
  std::vector<ResidualArgument> arguments;
  std::vector<Residual> body;
};

/// A record or an alias that the output declares.
struct ResidualType {
  const Record* record = nullptr;  // or
  const Alias* alias = nullptr;
  std::size_t order = 0;
  std::vector<std::string> comment;
  Type type;                  // of the alias
  std::vector<Field> fields;  // of the record; types as the output spells them
};

/// A constant of the template that the source names.
struct ResidualConstant {
  const Constant* constant = nullptr;
  Value value;
};

/// All that the source holds.
struct Output {
  const Globals* globals = nullptr;
  std::vector<Primitive> primitives;        // in the program's order, then printed ones in the order of their names
  std::vector<ResidualConstant> constants;  // in the program's order
  std::vector<ResidualType> types;
  std::vector<Version> versions;  // callees before callers
};

/// A kernel of the program that the output is to have.
struct WantedKernel {
  std::string function;
  std::string symbol;
  int cluster = 1;  // blocks of its clusters
};

/// Passes that take out what a person would not have written.
enum class CleanUp { kUnusedArguments, kConstantFields, kUnusedFields, kForwards, kArraysOfOne, kComments };

/// Evaluates these kernels, at least one, and all that they call, for an architecture ("sm_90a"). Names of functions
/// are given from the last kernel on. Errors name the template's line; one is a primitive that the architecture lacks,
/// another a kernel that the program lacks. `without` is for tests, which show that the clean-up is needed.
[[nodiscard]] Result<Output> evaluate_program(const Globals& globals, std::span<const WantedKernel> kernels,
                                              std::string_view architecture, std::optional<CleanUp> without = {});

/// Whether a function that the output calls so is reached from this one.
[[nodiscard]] bool reaches(const Output& output, const Version& from, std::string_view name);

/// How often each local variable is changed, or might be: assigned to, its address taken, bound to a reference.
using Changes = std::map<int, int>;

/// Makes a function's body what a person would have written: no copies of names, no variables that nothing needs,
/// values at their declarations, no empty blocks, no comments above what is gone, no superfluous braces.
void simplify(std::vector<Residual>& body, const std::vector<ResidualArgument>& arguments, const Changes& changes);

/// Replaces constants that only copy another name by that name. True if there was any.
bool remove_copies(std::vector<Residual>& body, const std::vector<ResidualArgument>& arguments, const Changes& changes);
/// Returns values themselves, not by names that are theirs for one line.
void join_returns(std::vector<Residual>& body);
/// Joins declarations with the assignment that follows.
void join_assignments(std::vector<Residual>& body, const Changes& changes);
[[nodiscard]] bool names_variable(const Term& term, int id);

/// Gives variables that would hide another one of the function a name of their own.
void rename_shadowing(std::vector<Residual>& body, const std::vector<ResidualArgument>& arguments);

/// The name of a function's first, second ... version.
[[nodiscard]] std::string numbered_name(const Function& function, int count);
/// Numbers the versions of each function that are left, in their order.
void number_versions(Output& output);

/// Takes out arguments that are the same number in all calls, and puts that in their place. True if there was any: then
/// the functions may hold what is known now.
bool drop_constant_arguments(Output& output, const Changes& changes);
/// Takes out arguments that a function no longer names. What calls hand over for them changes nothing.
/// True if there was any.
bool drop_unused_arguments(Output& output);

/// Puts numbers where fields are read to which nothing else is stored. True if there was any.
bool drop_constant_fields(Output& output, const Changes& changes);

/// Takes out of the records what no function reads. True if there was any: then functions may compute it in vain.
bool drop_unused_fields(Output& output);

/// Takes out functions that nothing calls, and records that nothing names. True if there was any.
bool drop_unnamed(Output& output);

/// Takes out functions that only call another one with their own arguments, or only give one of these, or a number.
/// True if there was any.
bool drop_forwards(Output& output, const Changes& changes);

/// Makes of local arrays of one element that element. What changes them is counted as more than one change. True if
/// there was any.
bool drop_arrays_of_one(Output& output, Changes& changes);

/// Chooses which of the template's constants the source declares and names; the others become numbers.
void name_constants(Output& output);
/// Constants that say where something lies, or how much room it takes, in bytes.
[[nodiscard]] bool is_of_memory_map(std::string_view constant);

/// The names of functions that are called and of types that are spelled.
[[nodiscard]] std::set<std::string> names_used(const Version& version);
void add_names_used(const Type& type, std::set<std::string>& names);

/// Whether statements or expressions among these are text: what that names or changes is not known.
[[nodiscard]] bool has_text(const std::vector<Residual>& body);

/// Whether these are no statements, but comments at most.
[[nodiscard]] bool does_nothing(const std::vector<Residual>& body);

/// Whether a function of these statements does no more than to compute what it returns.
[[nodiscard]] bool only_computes(const std::vector<Residual>& body);

/// Whether control never gets past this statement, in straight code.
[[nodiscard]] bool leaves_function(const Residual& statement);

/// Whether statements leave the loop that they are the body of, or its turn.
template <typename AStatement>
[[nodiscard]] bool leaves_loop(const std::vector<AStatement>& body) {
  using Kind = AStatement::Kind;
  return std::ranges::any_of(body, [](const AStatement& s) {
    const bool is_loop = s.kind == Kind::kFor || s.kind == Kind::kWhile;
    return s.kind == Kind::kBreak || s.kind == Kind::kContinue ||
           (!is_loop && (leaves_loop(s.body) || leaves_loop(s.otherwise)));
  });
}

/// Whether a variable is named anywhere in these statements.
[[nodiscard]] bool uses_variable(const std::vector<Residual>& body, int id);

/// Decides what the comments above functions and structs say only with a name: `{with name: ...}`.
void settle_comments(Output& output);

/// Source text with, for each of its lines, the template's line or 0.
struct Text {
  std::string text;
  std::vector<int> lines;
};

/// The whole source below `head`: constants, declarations of primitives, the records, aliases and functions, the
/// kernel, the primitives. All in a namespace of the symbol's name, from which the kernels are made global names.
[[nodiscard]] Text print(const Output& output, const std::string& head, std::string_view symbol);

}  // namespace convtgen
