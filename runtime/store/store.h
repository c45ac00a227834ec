// What was compiled or measured before, by any process of this user.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/support/error.h"
#include "runtime/store/entry_file.h"
#include "runtime/store/key.h"
#include "runtime/store/prune.h"
#include "runtime/support/compile_error.h"

namespace convtgen {

struct StoreOptions {
  /// Empty: $CONVTGEN_CACHE_DIR, $XDG_CACHE_HOME/convtgen or $HOME/.cache/convtgen.
  std::string folder = {};
  /// Bytes on disk. Nothing: $CONVTGEN_CACHE_SIZE ("500M", "2G", or bytes), else 1 GiB. With 0 nothing is on disk.
  std::optional<std::uint64_t> limit = {};
  /// Called once for a store with the reason why entries stay in memory. From any thread.
  std::function<void(const std::string& message)> warn = {};
  /// How long get_or_make waits for another process that makes the entry before it does so itself.
  std::chrono::milliseconds lock_wait = std::chrono::minutes(5);
};

/// Bytes for a key, or why they could not be made.
using Made = Compiled<std::string>;

struct StoreCounters {
  std::uint64_t hits = 0;            // look-ups that found an entry
  std::uint64_t misses = 0;          // those that did not
  std::uint64_t made = 0;            // calls of `make`
  std::uint64_t evicted = 0;         // entries removed for the bound, by this process
  std::uint64_t bad = 0;             // files that were not a valid entry of their key
  std::uint64_t write_failures = 0;  // entries that could not be put on disk
  bool operator==(const StoreCounters&) const = default;
};

/// Entries by key: checksummed files in a folder that this user alone can write to, and in memory what could not be put
/// there. A problem with the folder or a file is never an error: it is a miss, at worst with a warning.
/// Thread-safe, and safe to use after fork in the child.
class Store {
 public:
  explicit Store(StoreOptions options = {});
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();

  /// The entry, or nothing. A bad, short or foreign file is nothing, and is replaced when the entry is made anew.
  [[nodiscard]] std::optional<Entry> find(const Key& key);
  /// `label` is for people who list entries. An entry of that key is replaced.
  void insert(const Key& key, std::string_view bytes, std::string_view label = {});

  /// find(), and on a miss `make` and insert(), by one thread of one process at a time for a key; the others get what
  /// it made. `make` must not use the same key. Errors: those of `make`; a lasting one (CompileError) is
  /// remembered, and returned again without calling `make`, as long as this store lives.
  [[nodiscard]] Compiled<Entry> get_or_make(const Key& key, const std::function<Made()>& make,
                                            std::string_view label = {});

  [[nodiscard]] StoreCounters counters() const;
  /// Where entries are, or would be: empty where no home is known or the limit is 0.
  [[nodiscard]] const std::string& folder() const;
  /// Why the folder is not used; empty where it is. Makes it where it is not there.
  [[nodiscard]] std::string problem() const;
  [[nodiscard]] std::uint64_t limit() const;

  struct Listed {
    std::string name;         // of the file, without its ending
    Entry head;               // no bytes
    std::uint64_t bytes = 0;  // of the file
    std::int64_t used = 0;    // the last use, nanoseconds since 1970, as much as an hour early
  };
  /// The entries on disk, most recently used first; files that are no entries of this version are left out.
  [[nodiscard]] std::vector<Listed> list() const;
  /// Those of one kind. Of all other files only the beginning is read.
  [[nodiscard]] std::vector<Listed> list(EntryKind kind) const;

  struct BadFile {
    std::string name;  // of the file
    std::string why;
  };
  struct Verified {
    std::size_t good = 0;
    std::size_t foreign = 0;  // of another version of the store
    std::vector<BadFile> bad;
  };
  /// Reads every entry on disk and checks it, and that entries and locks are plain files; where `remove`, bad ones are
  /// removed.
  Verified verify(bool remove = false);

  /// To at most `limit` bytes on disk, or this store's own limit.
  PruneReport prune(std::optional<std::uint64_t> limit = {});
  /// Removes the entries of other versions of the store.
  ForeignEntries remove_foreign();
  /// Removes every entry, of other versions too, and forgets failures. Returns how many there were on disk.
  std::size_t clear();

  struct Why {
    bool found = false;                        // there is an entry: a hit
    std::string problem;                       // else, what is wrong with the file of that key, where there is one
    std::optional<Listed> nearest;             // else, the most alike: of its kind, label and architecture if there are
    std::vector<FieldDifference> differences;  // between that entry and the key
  };
  /// Why a key is a hit or a miss. Counts nothing.
  [[nodiscard]] Why why(const Key& key, std::string_view label = {}) const;

 private:
  struct State;
  [[nodiscard]] std::vector<Listed> list_of(std::optional<EntryKind> kind) const;
  std::unique_ptr<State> state_;
};

/// "1048576", "512K", "500M", "2G": powers of 1024. Nothing where it is no such size.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text);

}  // namespace convtgen
