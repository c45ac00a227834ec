// The boundary of the C API: failures become codes and messages, and no exception leaves it.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "convtgen/convtgen.h"
#include "runtime/api/handles.h"
#include "runtime/support/failure.h"

namespace convtgen::api {

/// Keeps the message for convtgen_last_error(). Never throws: without enough memory the message is cut.
convtgen_status report(const Failure& failure) noexcept;
convtgen_status report(Status status, const char* message) noexcept;

/// The message for a struct of another version's size: both sizes, and what to do.
[[nodiscard]] std::unexpected<Failure> wrong_struct_size(const char* name, std::size_t given, std::size_t legal);

/// Runs `work`, which returns an Outcome<void>.
template <typename Work>
convtgen_status guarded(Work&& work) noexcept {
  try {
    const Outcome<void> done = std::forward<Work>(work)();
    return done ? CONVTGEN_OK : report(done.error());
  } catch (const std::bad_alloc&) {
    return report(Status::kOutOfMemory, "out of memory");
  } catch (const std::exception& error) {
    return report(Status::kInternal, error.what());
  } catch (...) {
    return report(Status::kInternal, "an unknown exception");
  }
}

/// Errors: `handle` is null, of another kind, or destroyed; `name` is the argument's.
template <typename Handle>
[[nodiscard]] Outcome<void> check_handle(const Handle* handle, const char* name) {
  if (handle == nullptr) {
    return fail_with(Status::kInvalidArgument, fmt::format("{} is null", name));
  }
  if (find(handle) == nullptr) {
    return fail_with(Status::kInvalidArgument, fmt::format("{} ({}) is no {}, or one that was destroyed", name,
                                                           static_cast<const void*>(handle), name));
  }
  return {};
}

/// An exception of the caller's callback must not pass through this library. It is kept, and returned as a failure
/// when the call ends. Thread-safe.
class CallbackGuard {
 public:
  /// What `callback` returns; `otherwise` where it throws.
  template <typename Callback, typename Value>
  Value call(Callback&& callback, Value otherwise) noexcept {
    try {
      return std::forward<Callback>(callback)();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      thrown_ = thrown_ ? thrown_ : std::current_exception();
      return otherwise;
    }
  }
  /// Errors: kCancelled with the words of what `name` threw first.
  [[nodiscard]] Outcome<void> result(const char* name) const {
    if (!thrown_) {
      return {};
    }
    std::string words = "what is no std::exception";
    try {
      std::rethrow_exception(thrown_);
    } catch (const std::exception& error) {
      words = error.what();
    } catch (...) {
    }
    return fail_with(Status::kCancelled, fmt::format("{} threw: {}", name, words));
  }

 private:
  std::mutex mutex_;
  std::exception_ptr thrown_;
};

/// Errors: `pointer` is null; `name` is the argument's.
[[nodiscard]] inline Outcome<void> check_not_null(const void* pointer, const char* name) {
  if (pointer == nullptr) {
    return fail_with(Status::kInvalidArgument, fmt::format("{} is null", name));
  }
  return {};
}

/// Clears an output argument, so that a failure leaves NULL or zero there. Errors: `output` is null.
template <typename Value>
[[nodiscard]] Outcome<void> clear_output(Value* output, const char* name) {
  if (output != nullptr) {
    *output = Value{};
  }
  return check_not_null(output, name);
}

/// Errors: `given` is null, or its first member, struct_size, is not the size that it has in this version.
template <typename Struct>
[[nodiscard]] Outcome<void> check_struct(const Struct* given, const char* name) {
  if (auto checked = check_not_null(given, name); !checked) {
    return checked;
  }
  if (given->struct_size != sizeof(Struct)) {
    return wrong_struct_size(name, given->struct_size, sizeof(Struct));
  }
  return {};
}

/// The first failure among them.
template <typename... Checks>
[[nodiscard]] Outcome<void> first_failure(Outcome<void> first, Checks... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return first;
  } else {
    return first ? first_failure(std::move(rest)...) : first;
  }
}

}  // namespace convtgen::api
