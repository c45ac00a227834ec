// What is in a store, and why a key is not.
#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

#include "runtime/store/folder.h"
#include "runtime/store/store.h"

namespace convtgen {
namespace {

std::string without_ending(const std::string& name) {
  return name.substr(0, name.size() - kEntryEnding.size());
}

// What is wrong with the file of an entry, or nothing.
std::string problem_of(const std::string& name, std::string_view bytes) {
  const Result<Entry> entry = decode_entry(bytes);
  if (!entry) {
    return entry.error().message;
  }
  return Key(entry->fields).name() == name ? "" : "it is the entry of another key";
}

// So much of a file holds its kind, unless its label is long.
constexpr std::size_t kKindBytes = 1024;

bool may_be_of(EntryKind kind, std::string_view beginning) {
  const std::optional<std::string> kind_in_file = decode_kind(beginning);
  return !kind_in_file || *kind_in_file == name_of(kind);
}

constexpr std::size_t kMostAlike = std::numeric_limits<std::size_t>::max();

// How many bytes two texts begin with alike.
std::size_t alike(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

Result<Folder> open_to_look(const std::string& folder) {
  return folder.empty() ? fail("there is no folder") : Folder::open(folder, false);
}

}  // namespace

std::vector<Store::Listed> Store::list() const {
  return list_of(std::nullopt);
}

std::vector<Store::Listed> Store::list(EntryKind kind) const {
  return list_of(kind);
}

std::vector<Store::Listed> Store::list_of(std::optional<EntryKind> kind) const {
  std::vector<Listed> found;
  const Result<Folder> folder = open_to_look(this->folder());
  if (!folder) {
    return found;
  }
  for (const Folder::File& file : folder->files(kEntryEnding)) {
    if (kind && !may_be_of(*kind, folder->read_begin(file.name, kKindBytes).value_or(""))) {
      continue;
    }
    const std::optional<std::string> bytes = folder->read(file.name, false);
    Result<Entry> head = bytes ? decode_head(*bytes) : fail("it is gone");
    if (!head) {
      continue;
    }
    const Key key(head->fields);
    if (key.name() == without_ending(file.name) && (!kind || key.field("kind") == name_of(*kind))) {
      found.push_back({without_ending(file.name), std::move(*head), file.bytes, file.used});
    }
  }
  std::ranges::stable_sort(found, std::greater{}, &Listed::used);
  return found;
}

Store::Verified Store::verify(bool remove) {
  Verified report;
  const Result<Folder> folder = open_to_look(this->folder());
  if (!folder) {
    return report;
  }
  const auto add_bad = [&](const std::string& name, std::string why) {
    report.bad.push_back({name, std::move(why)});
    if (remove) {
      (void)folder->remove(name);
    }
  };
  constexpr const char* kNotPlain = "it is no plain file";
  if (folder->is_stray(std::string(kPruneLock))) {
    add_bad(std::string(kPruneLock), kNotPlain);
  }
  for (const Folder::File& lock : folder->files(kLockEnding)) {
    if (!lock.plain) {
      add_bad(lock.name, kNotPlain);
    }
  }
  for (const Folder::File& file : folder->files(kEntryEnding)) {
    if (!file.plain) {
      add_bad(file.name, kNotPlain);
      continue;
    }
    const std::optional<std::string> bytes = folder->read(file.name, false);
    if (bytes && is_foreign_entry(*bytes)) {
      ++report.foreign;
      continue;
    }
    if (!bytes && !folder->has(file.name)) {
      continue;  // another process removed it
    }
    std::string problem = bytes ? problem_of(without_ending(file.name), *bytes) : "it can't be read";
    if (problem.empty()) {
      ++report.good;
      continue;
    }
    add_bad(file.name, std::move(problem));
  }
  return report;
}

Store::Why Store::why(const Key& key, std::string_view label) const {
  Why why;
  std::vector<Listed> entries = list();
  if (const Result<Folder> folder = open_to_look(this->folder())) {
    if (const auto bytes = folder->read(key.name() + std::string(kEntryEnding), false)) {
      why.problem = problem_of(key.name(), *bytes);
      why.found = why.problem.empty();
    }
    why.found = why.found || std::ranges::any_of(entries, [&](const Listed& entry) {
                  const auto bytes = key.accepts(entry.head.fields)
                                         ? folder->read(entry.name + std::string(kEntryEnding), false)
                                         : std::nullopt;
                  return bytes && decode_entry(*bytes);
                });
  }
  if (why.found) {
    why.problem.clear();
    return why;
  }
  // An entry of another kind, layer or architecture says little; of one source two directions differ early in the text.
  std::tuple<bool, bool, bool, std::size_t, std::size_t> least;
  for (Listed& entry : entries) {
    std::vector<FieldDifference> different = differences(entry.head.fields, key.fields());
    const Key other(entry.head.fields);
    const auto differs = [&](std::string_view name) { return other.field(name) != key.field(name); };
    const std::tuple distance(differs("kind"), label.empty() || entry.head.label != label, differs("architecture"),
                              different.size(), kMostAlike - alike(other.field("source"), key.field("source")));
    if (!different.empty() && (!why.nearest || distance < least)) {
      least = distance;
      why.nearest = std::move(entry);
      why.differences = std::move(different);
    }
  }
  return why;
}

}  // namespace convtgen
