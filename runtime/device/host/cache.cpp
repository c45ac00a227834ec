#include "runtime/device/host/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "runtime/device/host/process.h"

namespace convtgen::host {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".hostlib";
constexpr std::uintmax_t kMostBytes = std::uintmax_t{512} << 20;

std::string hex_of(const std::array<unsigned char, crypto_hash_sha256_BYTES>& digest) {
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += fmt::format("{:02x}", byte);
  }
  return hex;
}

std::string sha256(std::string_view bytes) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest;
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  return hex_of(digest);
}

std::string value_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

std::string default_folder() {
  if (std::string folder = value_of("CONVTGEN_CACHE_DIR"); !folder.empty()) {
    return folder + "/host";
  }
  if (std::string folder = value_of("XDG_CACHE_HOME"); !folder.empty()) {
    return folder + "/convtgen/host";
  }
  std::string home = value_of("HOME");
  return home.empty() ? "" : home + "/.cache/convtgen/host";
}

// Why a folder can't be trusted with code that will run, or nothing. It is made if it is not there.
std::string reason_against(const std::string& folder) {
  if (folder.empty()) {
    return "no home folder is known";
  }
  std::error_code error;
  fs::create_directories(fs::path(folder).parent_path(), error);
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return fmt::format("{} can't be made: {}", folder, std::strerror(errno));
  }
  struct stat status = {};
  if (stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return fmt::format("{} is no folder", folder);
  }
  if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fmt::format("{} belongs to somebody else, or others can write to it", folder);
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return fmt::format("{} can't be written: {}", folder, std::strerror(errno));
  }
  return "";
}

}  // namespace

LibraryCache::LibraryCache(std::string folder) : folder_(folder.empty() ? default_folder() : std::move(folder)) {
  why_ = reason_against(folder_);
  if (!why_.empty()) {
    folder_.clear();
  }
}

std::string LibraryCache::key(const std::vector<std::string>& fields) {
  crypto_hash_sha256_state state;
  crypto_hash_sha256_init(&state);
  for (const std::string& field : fields) {
    const std::string length = fmt::format("{}:", field.size());
    for (const std::string* part : {&length, &field}) {
      crypto_hash_sha256_update(&state, reinterpret_cast<const unsigned char*>(part->data()), part->size());
    }
  }
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest;
  crypto_hash_sha256_final(&state, digest.data());
  return hex_of(digest);
}

std::optional<std::string> LibraryCache::find(const std::string& key) const {
  if (folder_.empty()) {
    return std::nullopt;
  }
  const std::string path = fmt::format("{}/{}{}", folder_, key, kExtension);
  auto entry = read_file(path);
  constexpr std::size_t kDigest = 2 * crypto_hash_sha256_BYTES;
  if (!entry || entry->size() < kDigest) {
    return std::nullopt;
  }
  std::string bytes = entry->substr(kDigest);
  if (sha256(bytes) != entry->substr(0, kDigest)) {
    return std::nullopt;
  }
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // used just now, for prune()
  return bytes;
}

void LibraryCache::insert(const std::string& key, const std::string& bytes) {
  if (folder_.empty()) {
    return;
  }
  std::string staged = fmt::format("{}/{}.XXXXXX", folder_, key);
  const int file = mkostemp(staged.data(), O_CLOEXEC);
  if (file < 0) {
    return;
  }
  close(file);
  const std::string path = fmt::format("{}/{}{}", folder_, key, kExtension);
  if (!write_file(staged, sha256(bytes) + bytes) || rename(staged.c_str(), path.c_str()) != 0) {
    unlink(staged.c_str());
    return;
  }
  prune();
}

void LibraryCache::prune() const {
  struct Entry {
    fs::path path;
    fs::file_time_type time;
    std::uintmax_t bytes;
  };
  // One insertion in 64 looks: a folder of thousands of entries takes milliseconds.
  if (randombytes_uniform(64) != 0) {
    return;
  }
  std::vector<Entry> entries;
  std::uintmax_t total = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    const Entry entry = {it->path(), it->last_write_time(gone), it->file_size(gone)};
    if (!gone && it->is_regular_file(gone)) {
      entries.push_back(entry);
      total += entry.bytes;
    }
  }
  std::ranges::sort(entries, {}, &Entry::time);
  for (const Entry& entry : entries) {
    if (total <= kMostBytes) {
      break;
    }
    if (fs::remove(entry.path, error)) {
      total -= entry.bytes;
    }
  }
}

}  // namespace convtgen::host
