// Keeping a folder of entries within its bound, and clear of what dead processes left.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "runtime/store/folder.h"

namespace convtgen {

struct PruneReport {
  bool skipped = false;     // another process was at it
  std::size_t evicted = 0;  // entries, least recently used first
  std::uint64_t freed = 0;  // bytes of those
  std::size_t swept = 0;    // staged files and locks that nobody holds
  std::uint64_t bytes = 0;  // of the entries that are left
};

/// How old a staged file must be for its writer to be dead.
inline constexpr std::chrono::seconds kSweepAge = std::chrono::hours(1);

/// Removes entries until at most `limit` bytes are left, staged files of that age, and locks that nobody holds.
PruneReport prune_folder(const Folder& folder, std::uint64_t limit);

}  // namespace convtgen
