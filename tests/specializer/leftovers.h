// What a person would not have written, found in an emitted source by its text alone.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace convtgen::testing_support {

enum class Leftover {
  kName,        // a name between backticks in a comment that its function does not have
  kCondition,   // a condition, or a part of one, of constants alone
  kRepeated,    // a part of a condition twice
  kLoop,        // a loop that runs once at most
  kParameter,   // a parameter that its function does not read
  kVariable,    // a local variable that its function only stores to
  kField,       // a field of a struct that no function reads
  kConstant,    // one to which functions store the same number wherever they do
  kArrayOfOne,  // a local array of one element
  kSplit,       // x / c * c + x % c
  kForwards,    // a function that only calls another one with its own arguments
};

struct FoundLeftover {
  Leftover kind = Leftover::kName;
  std::size_t line = 0;  // of the source, from 1 on
  std::string text;      // what was found

  friend bool operator==(const FoundLeftover&, const FoundLeftover&) = default;
};

[[nodiscard]] std::string_view name_of(Leftover kind);

/// All leftovers below the head of a source, in no order. Device primitives are left out: they are written by hand.
[[nodiscard]] std::vector<FoundLeftover> leftovers_in(std::string_view source);

}  // namespace convtgen::testing_support
