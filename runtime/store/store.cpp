#include "runtime/store/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "runtime/store/folder.h"
#include "runtime/store/lock.h"
#include "runtime/store/memory.h"
#include "runtime/support/log.h"

namespace convtgen {
namespace {

constexpr std::uint64_t kDefaultLimit = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostInMemory = std::uint64_t{256} << 20;
constexpr std::size_t kMostFailures = 1000;
// Pruned down to 7/8 of the limit, so that it is not for every entry; again after 1/16 more.
constexpr std::uint64_t kSpareParts = 8;
constexpr std::uint64_t kPruneParts = 16;

std::string entry_file(const std::string& name) {
  return name + std::string(kEntryEnding);
}

// Logs, once a process, that another version has left entries. No warning: after an update that is as it should be,
// and all that they hold is made anew.
void note_foreign(const Folder& folder, const std::string& path) {
  static std::atomic<bool> noted = false;
  if (noted || !heard(LogLevel::kInfo)) {
    return;
  }
  const ForeignEntries foreign = foreign_entries(folder);
  if (foreign.count > 0 && !noted.exchange(true)) {
    log(LogLevel::kInfo,
        fmt::format("the cache {} has entries of other versions of convtgen, which this one does not read: {}, of {} "
                    "bytes; 'convtgen cache prune --other-versions' removes them",
                    path, foreign.count, foreign.bytes));
  }
}

}  // namespace

// A key that a thread is making.
struct Flight {
  pid_t process = getpid();  // a forked child is not waiting for a thread that it does not have
  bool done = false;
  std::optional<Made> made;  // nothing when it was given up: another must try
};

struct Store::State {
  explicit State(StoreOptions given) : options(std::move(given)), memory(kMostInMemory) {}

  // A look-up that is the second for the same request does not count bad files again.
  std::optional<Entry> look_up(const Key& key, bool again = false);
  std::optional<Entry> look_up_on_disk(const Folder& folder, const Key& key, bool again);
  std::optional<Entry> read(const Folder& folder, const std::string& name, const Key& key, bool again);
  void insert(const Key& key, Entry entry);
  Result<void> publish(const Key& key, const Entry& entry);
  Made make_alone(const Key& key, const std::function<Made()>& make, std::string_view label, bool& found);
  void warn_once(const std::string& why);
  Result<Folder> open(bool make) const;

  StoreOptions options;
  std::uint64_t limit = kDefaultLimit;
  std::atomic<bool> warned = false;
  std::atomic<std::uint64_t> hits = 0, misses = 0, made = 0, evicted = 0, bad = 0, write_failures = 0;
  std::atomic<std::uint64_t> until_prune = 0;  // bytes to write before the folder is looked through again
  std::atomic<bool> looked_for_foreign = false;

  std::mutex mutex;  // of what follows; held for no longer than it takes to look there
  std::condition_variable flight_done;
  std::map<std::string, std::shared_ptr<Flight>> flights;
  std::map<std::string, CompileError> failures;  // the lasting ones
  MemoryEntries memory;
};

void Store::State::warn_once(const std::string& why) {
  if (!warned.exchange(true) && options.warn) {
    options.warn(why + "; what is compiled is kept in memory only");
  }
}

Result<Folder> Store::State::open(bool make) const {
  if (limit == 0) {
    return fail("the limit of the cache is 0 bytes");
  }
  if (options.folder.empty()) {
    return fail("no folder for the cache is known: neither $CONVTGEN_CACHE_DIR nor $HOME is set");
  }
  Result<Folder> folder = Folder::open(options.folder, make);
  return folder ? std::move(folder) : fail(fmt::format("the cache can't be used: {}", folder.error().message));
}

std::optional<Entry> Store::State::read(const Folder& folder, const std::string& name, const Key& key, bool again) {
  const std::optional<std::string> file = folder.read(name);
  if (!file) {
    return std::nullopt;
  }
  Result<Entry> entry = decode_entry(*file);
  if (!entry || !key.accepts(entry->fields)) {
    bad += again ? 0 : 1;
    return std::nullopt;
  }
  return std::move(*entry);
}

std::optional<Entry> Store::State::look_up_on_disk(const Folder& folder, const Key& key, bool again) {
  if (std::optional<Entry> entry = read(folder, entry_file(key.name()), key, again); entry || !key.any_compiler()) {
    return entry;
  }
  for (const std::string& name : folder.members(key.family())) {
    if (std::optional<Entry> entry = read(folder, name, key, again)) {
      return entry;
    }
  }
  return std::nullopt;
}

std::optional<Entry> Store::State::look_up(const Key& key, bool again) {
  if (const Result<Folder> folder = open(false)) {
    if (std::optional<Entry> entry = look_up_on_disk(*folder, key, again)) {
      return entry;
    }
  }
  const std::lock_guard lock(mutex);
  return memory.find(key);
}

Result<void> Store::State::publish(const Key& key, const Entry& entry) {
  const Result<Folder> folder = open(true);
  if (!folder) {
    return std::unexpected(folder.error());
  }
  const std::string file = encode_entry(entry);
  if (file.size() > limit / 2) {
    return fail(fmt::format("the cache of {} bytes is too small for an entry of {}", limit, file.size()));
  }
  if (Result<void> done = folder->publish(entry_file(key.name()), file); !done) {
    return fail(fmt::format("the cache {} can't be written: {}", options.folder, done.error().message));
  }
  // The first entry looks too: other processes have filled the folder.
  if (std::uint64_t left = until_prune; left > file.size()) {
    until_prune = left - file.size();
  } else if (const PruneReport report = prune_folder(*folder, limit - limit / kSpareParts); !report.skipped) {
    evicted += report.evicted;
    until_prune = limit / kPruneParts;
  }
  if (!looked_for_foreign.exchange(true)) {
    note_foreign(*folder, options.folder);
  }
  return {};
}

void Store::State::insert(const Key& key, Entry entry) {
  const Result<void> done = publish(key, entry);
  if (done) {
    return;
  }
  {
    const std::lock_guard lock(mutex);
    memory.insert(key.name(), std::move(entry));
  }
  if (limit > 0) {
    ++write_failures;
    warn_once(done.error().message);
  }
}

// By the only thread of this process that is at this key.
Made Store::State::make_alone(const Key& key, const std::function<Made()>& make, std::string_view label, bool& found) {
  const Result<Folder> folder = open(true);
  const std::optional<FileLock> lock =
      folder ? FileLock::take(*folder, key.name() + std::string(kLockEnding), options.lock_wait) : std::nullopt;
  // Another may have made it before the lock, or this thread's turn, came.
  if (std::optional<Entry> entry = look_up(key, true)) {
    found = true;
    return std::move(entry->bytes);
  }
  ++this->made;
  Made bytes = make();
  if (bytes) {
    insert(key, {key.fields(), std::string(label), *bytes});
  }
  return bytes;
}

Store::Store(StoreOptions options) : state_(std::make_unique<State>(std::move(options))) {
  if (state_->options.folder.empty()) {
    state_->options.folder = default_store_folder();
  }
  const char* text = std::getenv("CONVTGEN_CACHE_SIZE");
  if (state_->options.limit) {
    state_->limit = *state_->options.limit;
  } else if (text != nullptr && *text != '\0') {
    if (const std::optional<std::uint64_t> limit = parse_size(text)) {
      state_->limit = *limit;
    } else if (state_->options.warn) {
      state_->options.warn(
          fmt::format("$CONVTGEN_CACHE_SIZE is '{}', no size as 500M or 2G; the cache has 1 GiB", text));
    }
  }
  if (state_->limit == 0) {
    state_->options.folder.clear();
  }
}

Store::~Store() = default;

std::optional<Entry> Store::find(const Key& key) {
  std::optional<Entry> entry = state_->look_up(key);
  ++(entry ? state_->hits : state_->misses);
  return entry;
}

void Store::insert(const Key& key, std::string_view bytes, std::string_view label) {
  state_->insert(key, {key.fields(), std::string(label), std::string(bytes)});
}

Compiled<Entry> Store::get_or_make(const Key& key, const std::function<Made()>& make, std::string_view label) {
  State& state = *state_;
  const std::string name = key.name();
  const auto answer = [&](std::atomic<std::uint64_t>& counter, const Made& made) -> Compiled<Entry> {
    ++counter;
    return made ? Compiled<Entry>(Entry{key.fields(), std::string(label), *made}) : std::unexpected(made.error());
  };
  if (std::optional<Entry> entry = state.look_up(key)) {
    ++state.hits;
    return std::move(*entry);
  }
  auto own = std::make_shared<Flight>();
  for (bool mine = false; !mine;) {
    std::unique_lock lock(state.mutex);
    if (const auto failure = state.failures.find(name); failure != state.failures.end()) {
      ++state.misses;
      return std::unexpected(failure->second);
    }
    std::shared_ptr<Flight>& flight = state.flights[name];
    mine = !flight || flight->process != own->process;
    if (mine) {
      flight = own;
      break;
    }
    const std::shared_ptr<Flight> other = flight;
    state.flight_done.wait(lock, [&] { return other->done; });
    if (other->made) {
      return answer(*other->made ? state.hits : state.misses, *other->made);
    }
  }
  // Others must not wait for ever, whatever way this is left by.
  struct Landing {
    State& state;
    const std::string& name;
    Flight& flight;
    ~Landing() {
      const std::lock_guard lock(state.mutex);
      flight.done = true;
      state.flights.erase(name);
      state.flight_done.notify_all();
    }
  };
  const Landing landing(state, name, *own);
  bool found = false;
  Made made = state.make_alone(key, make, label, found);
  if (made || made.error().lasting) {
    const std::lock_guard lock(state.mutex);
    own->made = made;
    if (!made) {
      if (state.failures.size() >= kMostFailures) {
        state.failures.clear();
      }
      state.failures.insert_or_assign(name, made.error());
    }
  }
  return answer(found ? state.hits : state.misses, made);
}

StoreCounters Store::counters() const {
  return {state_->hits, state_->misses, state_->made, state_->evicted, state_->bad, state_->write_failures};
}

const std::string& Store::folder() const {
  return state_->options.folder;
}

std::uint64_t Store::limit() const {
  return state_->limit;
}

std::string Store::problem() const {
  const Result<Folder> folder = state_->open(true);
  if (!folder) {
    return folder.error().message;
  }
  return faccessat(folder->descriptor(), ".", W_OK | X_OK, AT_EACCESS) == 0
             ? ""
             : fmt::format("the cache {} can't be written", state_->options.folder);
}

PruneReport Store::prune(std::optional<std::uint64_t> limit) {
  const Result<Folder> folder = state_->open(false);
  if (!folder) {
    return {};
  }
  const PruneReport report = prune_folder(*folder, limit.value_or(state_->limit));
  state_->evicted += report.evicted;
  return report;
}

ForeignEntries Store::remove_foreign() {
  const Result<Folder> folder = state_->open(false);
  return folder ? foreign_entries(*folder, true) : ForeignEntries();
}

std::size_t Store::clear() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->memory.clear();
    state_->failures.clear();
  }
  std::size_t count = 0;
  if (const Result<Folder> folder = state_->open(false)) {
    for (const Folder::File& file : folder->files(kEntryEnding)) {
      count += folder->remove(file.name) ? 1 : 0;
    }
    (void)prune_folder(*folder, state_->limit);
  }
  return count;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  constexpr std::string_view kUnits = "KMG";
  if (error != std::errc() || unit.size() > 1) {
    return std::nullopt;
  }
  if (unit.empty()) {
    return size;
  }
  const std::size_t index = kUnits.find(unit);
  if (index == std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t shift = 10 * (index + 1);
  return size <= std::numeric_limits<std::uint64_t>::max() >> shift ? std::optional(size << shift) : std::nullopt;
}

}  // namespace convtgen
