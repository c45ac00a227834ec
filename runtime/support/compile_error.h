// Why a source has no binary, and whether a retry can succeed.
#pragma once

#include <expected>
#include <utility>

#include "generator/support/error.h"

namespace convtgen {

/// What went wrong while a source was compiled.
struct [[nodiscard]] CompileError : Error {
  CompileError(Error error, bool is_lasting = false) : Error(std::move(error)), lasting(is_lasting) {}
  /// Whether the compiler refused the source: the same source fails in the same way whenever it is compiled
  /// again. False for causes that may pass, such as a full disk, a lack of memory, or a compiler that was killed or
  /// cancelled.
  bool lasting;
};

template <typename T>
using Compiled = std::expected<T, CompileError>;

}  // namespace convtgen
