// Entries that are not on disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "runtime/store/entry_file.h"

namespace convtgen {

/// Entries of this process, by name; the oldest are removed when there are too many bytes. Not thread-safe.
class MemoryEntries {
 public:
  explicit MemoryEntries(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

  [[nodiscard]] std::optional<Entry> find(const Key& key) const;
  /// Replaces an existing entry.
  void insert(const std::string& name, Entry entry);
  void clear();
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  std::uint64_t most_bytes_;
  std::uint64_t bytes_ = 0;
  std::map<std::string, Entry> entries_;
  std::deque<std::string> oldest_first_;
};

}  // namespace convtgen
