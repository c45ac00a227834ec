#include "runtime/store/prune.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/store/lock.h"

namespace convtgen {

PruneReport prune_folder(const Folder& folder, std::uint64_t limit) {
  PruneReport report;
  const std::optional<FileLock> lock = FileLock::take(folder, "prune.lock", std::chrono::milliseconds(0));
  if (!lock) {
    report.skipped = true;
    return report;
  }
  constexpr std::int64_t kSweepNanoseconds = std::chrono::nanoseconds(kSweepAge).count();
  const std::int64_t now = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  for (const Folder::File& staged : folder.files(kStagedEnding)) {
    if (now - staged.used >= kSweepNanoseconds && folder.remove(staged.name)) {
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

}  // namespace convtgen
