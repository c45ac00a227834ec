// What can go wrong and is the caller's to handle: one value type for every stage.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace convtgen {

/// What went wrong, in words for the user: it names the field and what would be legal.
struct [[nodiscard]] Error {
  std::string message;
};

template <typename T>
using Result = std::expected<T, Error>;

/// Shorthand for `return fail("...")` from a function that returns a Result.
[[nodiscard]] inline std::unexpected<Error> fail(std::string message) {
  return std::unexpected(Error{std::move(message)});
}

}  // namespace convtgen
