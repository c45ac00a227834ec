#include "runtime/make/kept_kernel.h"

#include <fmt/format.h>

#include <atomic>
#include <optional>
#include <utility>

#include "runtime/make/stored_kernel.h"
#include "runtime/support/log.h"

namespace convtgen {
namespace {

bool take(const KeptKernel& kept, MadeKernel& made, std::string_view bytes) {
  if (!kept.take(made, bytes)) {
    return false;
  }
  made.key = kept.key.hex();
  return true;
}

/// Once a process. No warning: after an update that is as it should be, and they are replaced one by one.
void note_packed_otherwise(const std::string& layer) {
  static std::atomic<bool> noted = false;
  if (!noted.exchange(true)) {
    log(LogLevel::kInfo,
        fmt::format(
            "kernels in the cache that another version of convtgen packed otherwise are compiled anew; the first "
            "is [layer: {}]",
            layer));
  }
}

}  // namespace

bool find_kept(Store& store, const KeptKernel& kept, MadeKernel& made) {
  const std::optional<Entry> entry = store.find(kept.key);
  return entry && take(kept, made, entry->bytes);
}

Outcome<MadeKernel> find_or_compile_kept(Store& store, const KeptKernel& kept, MadeKernel made,
                                         const std::stop_token& stop) {
  std::optional<Failure> failure;
  bool ran = false;
  const auto run = [&]() -> Made {
    if (stop.stop_requested()) {
      failure = Failure{Status::kCancelled, "cancelled"};
      return fail(failure->message);
    }
    ran = true;
    Made bytes = kept.compile();
    if (!bytes) {
      failure = fail_with(Status::kCompileFailed, bytes.error()).error();
    }
    return bytes;
  };
  const auto entry = store.get_or_make(kept.key, run, kept.label);
  bool taken = entry && take(kept, made, entry->bytes);
  if (entry && !taken) {
    // Whole, but not what belongs there now: of the plan before tuning, or as another version packs kernels.
    if (is_packed_otherwise(entry->bytes)) {
      note_packed_otherwise(kept.label);
    }
    if (const Made again = run()) {
      store.insert(kept.key, *again, kept.label);
      taken = take(kept, made, *again);
    }
  }
  if (failure) {
    return std::unexpected(*std::move(failure));
  }
  if (!entry) {
    return fail_with(Status::kCompileFailed, entry.error());
  }
  if (!taken) {
    return fail_with(Status::kInternal, fmt::format("{} was compiled to something else", kept.key.name()));
  }
  made.compiled = ran;
  return made;
}

}  // namespace convtgen
