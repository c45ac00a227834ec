// The constants of a template program (kSharedBytes, kThreads, pitches) as functions of its parameters. A planner asks
// for those of thousands of blocks, so names are resolved once, and a constant is evaluated again only when a parameter
// that it depends on has changed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generator/program/constant_nodes.h"
#include "generator/program/parameters.h"
#include "generator/program/program.h"
#include "generator/support/error.h"

namespace convtgen {

/// The constants and constexpr functions of a program, their names resolved. What is computed from them is a Constants.
class ConstantProgram {
 public:
  /// Of a program's text (program_text.h). Items that constants are not computed from are skipped.
  /// Errors: the text is no program, or it has more names than are provided for.
  [[nodiscard]] static Result<ConstantProgram> read(std::string_view text);
  [[nodiscard]] static Result<ConstantProgram> make(const Program& program);

  [[nodiscard]] const std::string& name() const { return name_; }
  /// The names of constants that have integers (bool too) as values, in the order of the program.
  [[nodiscard]] std::vector<std::string_view> constant_names() const;

 private:
  friend class Constants;
  friend class ConstantResolver;

  std::string name_;
  std::map<std::string, int, std::less<>> parameter_ids_;
  std::map<std::string, int, std::less<>> constant_ids_;
  std::vector<std::string> parameter_names_;
  std::vector<ConstantSet> dependents_;  // of each parameter
  std::vector<ConstantNode> nodes_;
  std::vector<int> arguments_;  // of all calls
  std::vector<ConstantRoot> constants_;
  std::vector<ConstantFunction> functions_;
};

/// The values of a program's constants for one set of parameters, which may change one by one.
///
/// An integer has 64 bits here whatever its type is in the template, and a result beyond 64 bits is the nearest value
/// that they hold: so a planner can see by how much a block is too large whose sizes the template's int can't hold.
/// Where the specializer takes the parameters, both give the same values, except that a function which takes more than
/// a million steps ends with the largest integer. Where C++ defines no value, one is arbitrary.
class Constants {
 public:
  /// Parameters in `parameters` have these values, and those in `changing` are 0 until set() is called for them.
  /// `wanted` are the constants that are asked for. The program and `wanted` must live as long as this does.
  /// Errors: the program has none of a name, or no integer is the value of it.
  [[nodiscard]] static Result<Constants> make(const ConstantProgram& program, const Parameters& parameters,
                                              std::span<const std::string_view> changing,
                                              std::span<const std::string_view> wanted);

  /// Changes the parameter of this index in `changing`.
  void set(std::size_t index, std::int64_t value) {
    if (parameters_[static_cast<std::size_t>(changing_[index])] != value) {
      set_parameter(changing_[index], value);
    }
  }
  /// The constant of this index in `wanted`.
  [[nodiscard]] std::int64_t operator[](std::size_t index) {
    const int id = wanted_[index];
    return known_[static_cast<std::size_t>(id)] ? values_[static_cast<std::size_t>(id)] : constant(id);
  }
  [[nodiscard]] double number(std::size_t index) { return static_cast<double>((*this)[index]); }

 private:
  explicit Constants(const ConstantProgram& program);

  Result<void> give(std::string_view name, const ParameterValue& value);
  void set_parameter(int id, std::int64_t value);
  std::int64_t constant(int id);
  bool has_read_anew(std::size_t constant);
  std::int64_t value_of(int node);
  std::int64_t evaluate(const ConstantNode& node);
  std::int64_t call(const ConstantNode& node);
  enum class Flow { kNext, kBreak, kContinue, kReturn };
  Flow run(const std::vector<ConstantStep>& steps);

  const ConstantProgram* program_;
  std::vector<int> changing_;
  std::vector<int> wanted_;
  std::vector<std::int64_t> parameters_;
  std::vector<std::int64_t> values_;
  ConstantSet known_;                            // values that hold for the parameters
  std::vector<std::vector<std::int64_t>> read_;  // of what each constant that a loop makes was made of
  std::vector<std::int64_t> locals_;             // of the static calls at hand, the innermost last
  std::size_t frame_ = 0;                        // where the innermost call's locals begin
  std::int64_t result_ = 0;
  int steps_ = 0;  // of the evaluation at hand
  int depth_ = 0;
};

/// The values of these constants. Errors: as Constants::make() has them.
[[nodiscard]] Result<std::vector<std::int64_t>> constants_of(const ConstantProgram& program,
                                                             const Parameters& parameters,
                                                             std::span<const std::string_view> names);

}  // namespace convtgen
