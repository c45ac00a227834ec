#include "runtime/store/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "runtime/store/digest.h"
#include "runtime/store/directory.h"
#include "runtime/store/file_size_signal.h"
#include "runtime/store/key.h"

namespace convtgen {
namespace {

constexpr std::time_t kNoteEvery = 3600;  // seconds between notes of use: a write a look-up would be many
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 32;

std::string value_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

// Makes a folder and those above it. Returns why one could not be made, or 0.
int make_folders(const std::string& path) {
  int error = 0;
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    if (mkdir(path.substr(0, end).c_str(), 0700) != 0 && errno != EEXIST) {
      error = errno;
    }
  }
  return error;
}

// A descriptor, closed with the object.
class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() { (void)close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int get() const { return descriptor_; }
  // False where what was written is not kept after all, as a network's file system may say only now.
  bool close() { return descriptor_ < 0 || ::close(std::exchange(descriptor_, -1)) == 0; }

 private:
  int descriptor_;
};

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return false;
    }
    bytes.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
  }
  return true;
}

std::optional<std::string> read_all(int descriptor, std::size_t expected) {
  std::string bytes(expected + 1, '\0');  // one more, to see the end
  std::size_t size = 0;
  for (;;) {
    const ssize_t got = ::read(descriptor, bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno != EINTR) {
      return std::nullopt;
    }
    if (got == 0 || (size += got > 0 ? static_cast<std::size_t>(got) : 0) == bytes.size()) {
      break;  // the end, or it grew while it was read, which the checksum detects
    }
  }
  bytes.resize(size);
  return bytes;
}

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Whether a file is the store's: only such are ever removed.
bool is_own_name(std::string_view name, std::string_view ending) {
  if (!name.ends_with(ending) || name.size() <= Key::kFamilyDigits + 1 + Key::kMemberDigits) {
    return false;
  }
  const std::string_view rest = name.substr(Key::kFamilyDigits + 1 + Key::kMemberDigits);
  return is_hex(name.substr(0, Key::kFamilyDigits)) && name[Key::kFamilyDigits] == '-' &&
         is_hex(name.substr(Key::kFamilyDigits + 1, Key::kMemberDigits)) && (rest == ending || ending == kStagedEnding);
}

std::string staged_name(const std::string& name) {
  std::string random(8, '\0');
  (void)getentropy(random.data(), random.size());  // without it O_EXCL still separates two
  return fmt::format("{}.{}-{}{}", name.substr(0, name.rfind('.')), getpid(), hex_of(random), kStagedEnding);
}

}  // namespace

std::string default_store_folder() {
  if (std::string folder = value_of("CONVTGEN_CACHE_DIR"); !folder.empty()) {
    return folder;
  }
  // A relative one is to be ignored (XDG Base Directory Specification).
  if (const std::string folder = value_of("XDG_CACHE_HOME"); folder.starts_with('/')) {
    return folder + "/convtgen";
  }
  const std::string home = value_of("HOME");
  return home.empty() ? "" : home + "/.cache/convtgen";
}

Result<Folder> Folder::open(const std::string& path, bool make) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  int descriptor = ::open(path.c_str(), kFlags);
  if (descriptor < 0 && errno == ENOENT && make) {
    const int error = make_folders(path);
    descriptor = ::open(path.c_str(), kFlags);
    errno = error != 0 ? error : errno;
  }
  if (descriptor < 0) {
    return fail(fmt::format("{}: {}", path, errno == ENOTDIR ? "it is no folder" : std::strerror(errno)));
  }
  Folder folder(descriptor);
  struct stat status = {};
  if (fstat(descriptor, &status) != 0) {
    return fail(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  if (status.st_uid != geteuid()) {
    return fail(fmt::format("{}: it belongs to another user", path));
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail(fmt::format("{}: others can write to it", path));
  }
  return folder;
}

Folder::Folder(Folder&& from) noexcept : descriptor_(std::exchange(from.descriptor_, -1)) {}

Folder::~Folder() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

std::optional<std::string> Folder::read(const std::string& name, bool note_use) const {
  // Without blocking, for what is no plain file.
  const Descriptor file(openat(descriptor_, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status = {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) > kMostBytes) {
    return std::nullopt;
  }
  std::optional<std::string> bytes = read_all(file.get(), static_cast<std::size_t>(status.st_size));
  if (bytes && note_use && std::abs(std::time(nullptr) - status.st_mtime) >= kNoteEvery) {
    (void)futimens(file.get(), nullptr);
  }
  return bytes;
}

std::optional<std::string> Folder::read_begin(const std::string& name, std::size_t most) const {
  const Descriptor file(openat(descriptor_, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status = {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  std::string bytes(most, '\0');
  const ssize_t got = ::read(file.get(), bytes.data(), bytes.size());
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

Result<void> Folder::publish(const std::string& name, std::string_view bytes) const {
  const FileSizeSignalHeld held;
  const std::string staged = staged_name(name);
  const auto failed = [](const char* step) { return fail(fmt::format("{}: {}", step, std::strerror(errno))); };
  Descriptor file(openat(descriptor_, staged.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) {
    return failed("a file can't be made");
  }
  const auto rename = [&] { return renameat(descriptor_, staged.c_str(), descriptor_, name.c_str()) == 0; };
  Result<void> done;
  if (!write_all(file.get(), bytes) || fsync(file.get()) != 0 || !file.close()) {
    done = failed("a file can't be written");
  } else if (!rename() && !(errno == EISDIR && remove(name) && rename())) {
    done = failed("a file can't be renamed");
  } else {
    (void)fsync(descriptor_);  // the entry is there; not every file system can promise to keep its name
    return done;
  }
  remove(staged);
  return done;
}

bool Folder::has(const std::string& name) const {
  struct stat status = {};
  return fstatat(descriptor_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

bool Folder::is_stray(const std::string& name) const {
  struct stat status = {};
  return fstatat(descriptor_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(status.st_mode);
}

bool Folder::remove(const std::string& name) const {
  return remove_tree(descriptor_, name.c_str());
}

std::vector<Folder::File> Folder::files(std::string_view ending) const {
  std::vector<File> found;
  for (std::string& name : names_in(descriptor_)) {
    struct stat status = {};
    if (is_own_name(name, ending) && fstatat(descriptor_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
      const bool plain = S_ISREG(status.st_mode);
      found.push_back({std::move(name), plain ? static_cast<std::uint64_t>(status.st_size) : 0,
                       std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec, plain});
    }
  }
  return found;
}

std::vector<std::string> Folder::members(const std::string& family) const {
  std::vector<std::string> names = names_in(descriptor_);
  std::erase_if(names,
                [&](const std::string& name) { return !name.starts_with(family) || !is_own_name(name, kEntryEnding); });
  return names;
}

}  // namespace convtgen
