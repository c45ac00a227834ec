// A lock between processes.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "runtime/store/folder.h"

namespace convtgen {

/// A lock file that this process holds (flock: the system releases it when the process dies). The holder removes the
/// file before it releases the lock, so that no file stays. A process that waited sees that the file is gone and makes
/// a new one.
class FileLock {
 public:
  /// Waits up to `wait` for it. Anything else than a plain file in its place is removed. nullopt after a time-out,
  /// or if files can't be made or locked; the caller then works without a lock.
  [[nodiscard]] static std::optional<FileLock> take(const Folder& folder, const std::string& name,
                                                    std::chrono::milliseconds wait);
  FileLock(FileLock&& from) noexcept;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  FileLock(int folder, int descriptor, std::string name);

  int folder_;  // a descriptor of the Folder, which outlives the lock
  int descriptor_;
  int process_;
  std::string name_;
};

}  // namespace convtgen
