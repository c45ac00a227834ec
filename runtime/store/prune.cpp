#include "runtime/store/prune.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/store/entry_file.h"
#include "runtime/store/lock.h"

namespace convtgen {

PruneReport prune_folder(const Folder& folder, std::uint64_t limit) {
  PruneReport report;
  const std::optional<FileLock> lock = FileLock::take(folder, std::string(kPruneLock), std::chrono::milliseconds(0));
  if (!lock) {
    report.skipped = true;
    return report;
  }
  constexpr std::int64_t kSweepNanoseconds = std::chrono::nanoseconds(kSweepAge).count();
  const std::int64_t now = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  for (const Folder::File& staged : folder.files(kStagedEnding)) {
    // One from the future was written before a clock was set back.
    const bool old = std::abs(now - staged.used) >= kSweepNanoseconds;
    if ((old || !staged.plain) && folder.remove(staged.name)) {
      ++report.swept;
    }
  }
  for (const Folder::File& left : folder.files(kLockEnding)) {
    // Taking it and letting go removes it.
    if (FileLock::take(folder, left.name, std::chrono::milliseconds(0))) {
      ++report.swept;
    }
  }
  std::vector<Folder::File> entries = folder.files(kEntryEnding);
  std::erase_if(entries, [&](const Folder::File& entry) {
    report.swept += !entry.plain && folder.remove(entry.name) ? 1 : 0;
    return !entry.plain;
  });
  std::ranges::sort(entries, {}, [](const Folder::File& file) { return std::tie(file.used, file.name); });
  for (const Folder::File& entry : entries) {
    report.bytes += entry.bytes;
  }
  for (const Folder::File& entry : entries) {
    if (report.bytes <= limit) {
      break;
    }
    if (folder.remove(entry.name)) {
      ++report.evicted;
      report.freed += entry.bytes;
      report.bytes -= entry.bytes;
    }
  }
  return report;
}

ForeignEntries foreign_entries(const Folder& folder, bool remove) {
  ForeignEntries foreign;
  for (const Folder::File& entry : folder.files(kEntryEnding)) {
    const std::optional<std::string> head = folder.read_begin(entry.name, kHeadBytes);
    if (head && is_foreign_entry(*head) && (!remove || folder.remove(entry.name))) {
      ++foreign.count;
      foreign.bytes += entry.bytes;
    }
  }
  return foreign;
}

}  // namespace convtgen
