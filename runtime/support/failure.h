// What can go wrong between a layer and its launch: a code that programs can act on, and a message for people.
#pragma once

#include <expected>
#include <string>
#include <utility>

#include "generator/support/error.h"
#include "runtime/support/compile_error.h"

namespace convtgen {

/// The values are those of convtgen_status (runtime/include/convtgen/convtgen.h).
enum class Status : int {
  kOk = 0,
  kInvalidArgument = 1,
  kInvalidLayer = 2,
  kUnsupported = 3,
  kNoDevice = 4,
  kNoCompiler = 5,
  kCompileFailed = 6,
  kDriver = 7,
  kNotPrepared = 8,
  kCancelled = 9,
  kOutOfMemory = 10,
  kForked = 11,
  kKernelFault = 12,
  kInternal = 13,
};

struct [[nodiscard]] Failure {
  Status status = Status::kInternal;
  std::string message;
  bool lasting = false;  // as in CompileError
};

template <typename T>
using Outcome = std::expected<T, Failure>;

[[nodiscard]] inline std::unexpected<Failure> fail_with(Status status, std::string message) {
  return std::unexpected(Failure{status, std::move(message)});
}

[[nodiscard]] inline std::unexpected<Failure> fail_with(Status status, const Error& error) {
  return std::unexpected(Failure{status, error.message});
}

[[nodiscard]] inline std::unexpected<Failure> fail_with(Status status, const CompileError& error) {
  return std::unexpected(Failure{status, error.message, error.lasting});
}

}  // namespace convtgen
