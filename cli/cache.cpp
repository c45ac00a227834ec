// convtgen cache: what was compiled before and is kept.
#include <fmt/chrono.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/cache.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "runtime/store/folder.h"
#include "runtime/store/store.h"

namespace convtgen::cli {
namespace {

using json = nlohmann::json;

std::string size_text(std::uint64_t bytes) {
  return bytes_text(static_cast<double>(bytes));
}

std::string entries_text(std::size_t count) {
  return fmt::format("{} {}", count, count == 1 ? "entry" : "entries");
}

json as_json(const Store::Listed& entry) {
  const Key key(entry.head.fields);
  return {{"key", key.hex()},
          {"kind", key.field("kind")},
          {"label", entry.head.label},
          {"architecture", key.field("architecture")},
          {"compiler", key.field(kCompilerField)},
          {"bytes", entry.bytes},
          {"used", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(entry.used / 1'000'000'000))},
          {"file", entry.name + std::string(kEntryEnding)}};
}

Exit list(bool as_array) {
  const Store store;
  if (!usable(store)) {
    return Exit::kUsage;
  }
  const std::vector<Store::Listed> entries = store.list();
  if (as_array) {
    json all = json::array();
    for (const Store::Listed& entry : entries) {
      all.push_back(as_json(entry));
    }
    fmt::print("{}\n", all.dump(2, ' ', false, json::error_handler_t::replace));
    return Exit::kOk;
  }
  constexpr const char* kRow = "{:<16}  {:<13}  {:<7}  {:>10}  {:>9}  {}\n";
  std::uint64_t bytes = 0;
  if (!entries.empty()) {
    fmt::print("{}", bold(stdout, fmt::format(kRow, "key", "kind", "arch", "size", "last use", "what")));
  }
  for (const Store::Listed& entry : entries) {
    const Key key(entry.head.fields);
    fmt::print(kRow, short_key(key), key.field("kind"), key.field("architecture"), size_text(entry.bytes),
               age_text(entry), entry.head.label);
    bytes += entry.bytes;
  }
  fmt::print("{}, {} of at most {}, in {}\n", entries_text(entries.size()), size_text(bytes), size_text(store.limit()),
             store.folder());
  return Exit::kOk;
}

Exit verify(bool remove) {
  Store store;
  if (!usable(store)) {
    return Exit::kUsage;
  }
  const Store::Verified verified = store.verify(remove);
  for (const Store::BadFile& file : verified.bad) {
    fmt::print("{} {}: {}\n", red(stdout, remove ? "removed" : "bad"), file.name, file.why);
  }
  fmt::print("{} good, {} bad{}\n", entries_text(verified.good), verified.bad.size(),
             verified.foreign == 0 ? "" : fmt::format(", {} of other versions left alone", verified.foreign));
  return verified.bad.empty() ? Exit::kOk : Exit::kWrong;
}

Exit prune(const std::string& to, bool other_versions) {
  Store store;
  if (!usable(store)) {
    return Exit::kUsage;
  }
  if (other_versions) {
    const ForeignEntries foreign = store.remove_foreign();
    fmt::print("removed {} of other versions ({})\n", entries_text(foreign.count), size_text(foreign.bytes));
  }
  const std::optional<std::uint64_t> limit = to.empty() ? std::nullopt : parse_size(to);
  PruneReport report = store.prune(limit);
  for (int i = 0; report.skipped && i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    report = store.prune(limit);
  }
  if (report.skipped) {
    print_error("another process is pruning the cache, and does not end");
    return Exit::kWrong;
  }
  fmt::print("removed {} ({}){}; {} left in {}\n", entries_text(report.evicted), size_text(report.freed),
             report.swept == 0 ? "" : fmt::format(" and {} files that dead processes left", report.swept),
             size_text(report.bytes), store.folder());
  return Exit::kOk;
}

Exit clear() {
  Store store;
  if (!usable(store)) {
    return Exit::kUsage;
  }
  fmt::print("removed {} from {}\n", entries_text(store.clear()), store.folder());
  return Exit::kOk;
}

Exit path() {
  const Store store;
  if (store.folder().empty()) {
    return usable(store) ? Exit::kOk : Exit::kUsage;
  }
  fmt::print("{}\n", store.folder());
  return Exit::kOk;
}

}  // namespace

bool usable(const Store& store) {
  if (store.folder().empty()) {
    print_error(store.limit() == 0 ? "nothing is kept: $CONVTGEN_CACHE_SIZE is 0"
                                   : "no folder for the cache is known: neither $CONVTGEN_CACHE_DIR nor $HOME is set");
    return false;
  }
  std::error_code error;
  if (std::filesystem::symlink_status(store.folder(), error).type() == std::filesystem::file_type::not_found) {
    return true;
  }
  if (const Result<Folder> folder = Folder::open(store.folder(), false); !folder) {
    print_error(fmt::format("the cache can't be used: {}", folder.error().message));
    return false;
  }
  return true;
}

std::string short_key(const Key& key) {
  return key.hex().substr(0, Key::kMemberDigits);
}

std::string age_text(const Store::Listed& entry) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(now - std::chrono::nanoseconds(entry.used));
  const std::int64_t count = std::max<std::int64_t>(minutes.count(), 0);
  return count < 60        ? fmt::format("{} min ago", count)
         : count < 48 * 60 ? fmt::format("{} h ago", count / 60)
                           : fmt::format("{} d ago", count / (24 * 60));
}

void add_cache(CLI::App& app, Exit& exit) {
  CLI::App* cache = app.add_subcommand("cache", "Look after what was compiled before and is kept.");
  cache->require_subcommand(1);
  cache->footer(R"(
Kept are compiled kernels, libraries of the host device, tuning records, and what programs chose (convtgen_choice), in
$CONVTGEN_CACHE_DIR, else $XDG_CACHE_HOME/convtgen, else $HOME/.cache/convtgen; at most $CONVTGEN_CACHE_SIZE of them (1G
unless set), those last used longest ago go first. Nothing breaks when they are removed: they are made again.
Examples:
  convtgen cache list
  convtgen cache why layers.convt --layer up --arch sm_90a
  convtgen cache prune --to 100M)");

  auto as_array = std::make_shared<bool>(false);
  CLI::App* list_verb = cache->add_subcommand("list", "List the entries, most recently used first.");
  list_verb->add_flag("--json", *as_array,
                      "An array of {key, kind, label, architecture, compiler, bytes, used, file}.");
  list_verb->footer(R"(
The last use is noted once an hour.
Examples:
  convtgen cache list
  convtgen cache list --json | jq 'map(.bytes) | add')");
  list_verb->callback([as_array, &exit] { exit = list(*as_array); });

  auto remove = std::make_shared<bool>(false);
  CLI::App* verify_verb = cache->add_subcommand("verify", "Read and check every entry, and name those that are bad.");
  verify_verb->add_flag("--remove", *remove, "Remove the bad ones; unless given, nothing is removed.");
  verify_verb->footer(R"(
A bad entry is never used: it is a miss, and is replaced when it is made anew.
Examples:
  convtgen cache verify --remove
Exit codes: 0 all are good; 1 some are bad, or were; 2 the cache can't be used.)");
  verify_verb->callback([remove, &exit] { exit = verify(*remove); });

  auto to = std::make_shared<std::string>();
  CLI::App* prune_verb = cache->add_subcommand("prune", "Remove what was not used for longest, down to a size.");
  prune_verb->add_option("--to", *to, "Bytes to keep: 1048576, 512K, 500M, 2G; the cache's bound unless given.")
      ->type_name("BYTES")
      ->check(size_in_bytes());
  auto other_versions = std::make_shared<bool>(false);
  prune_verb->add_flag("--other-versions", *other_versions,
                       "First remove all that other versions of convtgen left, which this one does not read.");
  prune_verb->footer(R"(
Also removes what processes that died while writing left there more than an hour ago.
Examples:
  convtgen cache prune
  convtgen cache prune --to 100M
  convtgen cache prune --other-versions)");
  prune_verb->callback([to, other_versions, &exit] { exit = prune(*to, *other_versions); });

  CLI::App* clear_verb = cache->add_subcommand("clear", "Remove every entry, of other versions too.");
  clear_verb->footer(R"(
Examples:
  convtgen cache clear)");
  clear_verb->callback([&exit] { exit = clear(); });

  CLI::App* path_verb = cache->add_subcommand("path", "Print the folder.");
  path_verb->footer(R"(
Examples:
  du -sh $(convtgen cache path))");
  path_verb->callback([&exit] { exit = path(); });

  add_cache_why(*cache, exit);
}

}  // namespace convtgen::cli
