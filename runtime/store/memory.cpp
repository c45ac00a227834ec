#include "runtime/store/memory.h"

#include <utility>

namespace convtgen {
namespace {

std::uint64_t bytes_of(const Entry& entry) {
  std::uint64_t bytes = entry.bytes.size();
  for (const KeyField& field : entry.fields) {
    bytes += field.value.size();
  }
  return bytes;
}

}  // namespace

std::optional<Entry> MemoryEntries::find(const Key& key) const {
  for (auto it = entries_.lower_bound(key.any_compiler() ? key.family() : key.name());
       it != entries_.end() && it->first.starts_with(key.family()); ++it) {
    if (key.accepts(it->second.fields)) {
      return it->second;
    }
  }
  return std::nullopt;
}

void MemoryEntries::insert(const std::string& name, Entry entry) {
  const std::uint64_t more = bytes_of(entry);
  if (const auto [it, is_new] = entries_.try_emplace(name); is_new) {
    oldest_first_.push_back(name);
    it->second = std::move(entry);
  } else {
    bytes_ -= bytes_of(it->second);
    it->second = std::move(entry);
  }
  bytes_ += more;
  // The last one stays however large it is: its caller may ask for it again.
  while (bytes_ > most_bytes_ && oldest_first_.size() > 1) {
    const auto oldest = entries_.find(oldest_first_.front());
    bytes_ -= bytes_of(oldest->second);
    entries_.erase(oldest);
    oldest_first_.pop_front();
  }
}

void MemoryEntries::clear() {
  entries_.clear();
  oldest_first_.clear();
  bytes_ = 0;
}

}  // namespace convtgen
