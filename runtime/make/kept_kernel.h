// The store's part in making a kernel, whatever compiles it.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "runtime/make/kernel_maker.h"
#include "runtime/store/store.h"

namespace convtgen {

/// A kernel's entry in the store, and how to make it on a miss.
struct KeptKernel {
  Key key;
  std::string label;  // for people who list entries
  /// Reads the kernel from an entry's bytes. False if they don't belong to the key.
  std::function<bool(MadeKernel& made, std::string_view bytes)> take;
  /// The bytes of an entry, by a compiler.
  std::function<Made()> compile;
};

/// Whether the store has the kernel; then `made` is complete.
[[nodiscard]] bool find_kept(Store& store, const KeptKernel& kept, MadeKernel& made);

/// The kernel as find_kept() gives it, or else compiled and put into the store, by one thread of one process at a time.
/// Errors: kCompileFailed, with the compiler's log; kCancelled, before it was compiled.
[[nodiscard]] Outcome<MadeKernel> find_or_compile_kept(Store& store, const KeptKernel& kept, MadeKernel made,
                                                       const std::stop_token& stop);

}  // namespace convtgen
