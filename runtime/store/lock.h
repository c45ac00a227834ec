// One process at a time.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "runtime/store/folder.h"

namespace convtgen {

/// A lock file that this process holds (flock: the system lets go when the process dies). The file is removed while it
/// is held, so that none stays; who waited for it sees that it is gone and takes a new one.
class FileLock {
 public:
  /// Waits up to `wait` for it. What is no plain file in its place is removed. Nothing when that is over, or where
  /// files can't be locked or made: to be done without.
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
