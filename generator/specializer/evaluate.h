// The partial evaluator: walks the functions of a template program with what is static known, and writes down the rest.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/program/comment.h"
#include "generator/specializer/residual.h"

namespace convtgen {

class Evaluator {
 public:
  Evaluator(const Globals& globals, std::string_view architecture) : globals_(globals), architecture_(architecture) {}

  [[nodiscard]] Result<Output> run(std::span<const WantedKernel> kernels, std::optional<CleanUp> without);

 private:
  /// What a local name means.
  struct Entry {
    enum class Kind { kStatic, kStaticArray, kDynamic, kType };
    Kind kind = Kind::kDynamic;
    Value value;
    std::string constant;  // of kStatic: the template's constant of this value, if it is one
    StaticArray array;
    Type type;     // resolved
    Type written;  // of kType
    int id = 0;
    std::optional<Range> range;  // of kDynamic
  };
  using Scope = std::map<std::string, Entry, std::less<>>;
  struct Frame {
    const Function* function = nullptr;
    int line = 0;  // of the statement at hand, minus the function's
    std::vector<Scope> scopes;
  };

  // evaluate.cpp: names, types, errors, functions
  void report(std::string_view message);
  Entry* find(std::string_view name);
  Type resolve(const Type& type);
  Type spell(const Type& type);
  int extent_of(const Type& type);
  bool resolve_alias(std::string_view name, bool spelling, Type& out);
  std::optional<Scalar> scalar(const Type& resolved);
  std::size_t specialise(const Function& function, const std::vector<Term>& arguments);
  int line_here() const;
  Place place_here() const;
  void specialise_kernel(const WantedKernel& wanted);

  // collect.cpp: what the kernels reach
  void collect(Output& output, std::set<std::string> reached);
  void check_architecture(const Output& output);
  ResidualType spell_item(const Item& item, std::size_t order);

  // evaluate_expression.cpp
  Term evaluate(const Expression& e);
  Term evaluate_name(const Expression& e);
  Term evaluate_unary(const Expression& e);
  Term evaluate_binary_operator(const Expression& e);
  Term evaluate_conditional(const Expression& e);
  Term evaluate_index(const Expression& e);
  Term evaluate_member(const Expression& e);
  Term evaluate_cast_operator(const Expression& e);
  Term evaluate_sizeof(const Expression& e);
  Term probe(const Expression& e);
  Term take(Result<Term> term);
  void note_change(const Term& term);
  const StaticArray* static_array(const Expression& e);
  std::optional<std::uint64_t> size_of(const Type& resolved);
  Type pointee(const Type& type);

  // evaluate_call.cpp
  Term evaluate_call(const Expression& e);
  Term call_primitive(const Primitive& primitive, std::vector<Term> arguments);
  Term call_printed(const PrintedPrimitive& printed, std::vector<Term> arguments);

  // evaluate_inline.cpp
  std::optional<Term> inline_call(const Version& version, const std::vector<Term>& arguments);

  // evaluate_statement.cpp
  std::vector<Residual> evaluate_all(const std::vector<Statement>& statements);
  std::vector<Residual> evaluate_scoped(const std::vector<Statement>& statements);
  void evaluate(const Statement& s, std::vector<Residual>& out);
  void evaluate_declaration(const Statement& s, std::vector<Residual>& out);
  void evaluate_if(const Statement& s, std::vector<Residual>& out);
  Residual make(Residual::Kind kind, const Statement& s);

  // evaluate_loop.cpp
  void evaluate_loop(const Statement& s, std::vector<Residual>& out);
  bool evaluate_unrolled(const Statement& s, std::vector<Residual>& out, int most);
  bool runs_at_most_once(const Statement& s);
  std::optional<Range> range_in_body(const Statement& s, const Residual& loop);

  // evaluate_comment.cpp
  std::string fill_holes(std::string_view text);
  std::string fill(const std::vector<CommentPart>& parts);
  const Value* comment_value(const std::string& name);
  std::int64_t comment_number(const std::string& word);

  const Globals& globals_;
  const std::string_view architecture_;
  std::optional<Error> error_;
  Frame* frame_ = nullptr;
  std::vector<Version> versions_;
  std::map<std::pair<std::string, std::string>, std::size_t> memo_;  // name and static arguments
  std::map<std::string, int> names_;                                 // how many versions a function has
  std::map<std::string, Primitive> printed_;                         // by their whole names
  std::map<std::string, Place> first_calls_;                         // of primitives
  std::map<std::string, std::set<std::string>> constants_;  // first arguments of primitives; "" for one without a name
  Changes changes_;
  int ids_ = 0;
  int depth_ = 0;
  bool probing_ = false;
};

/// An expression whose value is not used: i += 1 is ++i.
[[nodiscard]] Term as_statement(Term term);

}  // namespace convtgen
