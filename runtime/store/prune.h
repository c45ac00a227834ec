// Keeping a folder of entries within its bound, and clear of what dead processes left.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/store/folder.h"

namespace convtgen {

struct PruneReport {
  bool skipped = false;     // another process is pruning
  std::size_t evicted = 0;  // entries, least recently used first
  std::uint64_t freed = 0;  // bytes of those
  std::size_t swept = 0;    // staged files, locks that nobody holds, and what is no plain file in place of one
  std::uint64_t bytes = 0;  // of the entries that are left
};

/// How far from now, before or after, a staged file must be dated for its writer to be dead.
inline constexpr std::chrono::seconds kSweepAge = std::chrono::hours(1);

/// Held while a folder is pruned.
inline constexpr std::string_view kPruneLock = "prune.lock";

/// Removes entries until at most `limit` bytes are left, staged files of that age, locks that nobody holds, and
/// folders, links and FIFOs that have the name of an entry, a lock or a staged file.
PruneReport prune_folder(const Folder& folder, std::uint64_t limit);

/// Entries of other versions of the store (format.h).
struct ForeignEntries {
  std::size_t count = 0;
  std::uint64_t bytes = 0;
};
/// Reads the first bytes of every entry. Where `remove`, those that it counts are removed.
ForeignEntries foreign_entries(const Folder& folder, bool remove = false);

}  // namespace convtgen
