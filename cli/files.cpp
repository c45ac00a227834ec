#include "cli/files.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "cli/signals.h"

namespace convtgen::cli {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

std::string reason() {
  return std::generic_category().message(errno);
}

Result<void> make_folder_of(const std::filesystem::path& path) {
  std::error_code error;
  if (path.has_parent_path()) {
    std::filesystem::create_directories(path.parent_path(), error);
  }
  if (error) {
    return fail(fmt::format("{}: the folder can't be made: {}", path.parent_path().string(), error.message()));
  }
  return {};
}

Result<void> unwritable(const std::filesystem::path& path, const std::string& why) {
  return fail(fmt::format("{}: can't be written: {}", path.string(), why));
}

/// An existing file that may not be written to is not replaced either. Errors: that, and a folder.
Result<void> check_existing(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return unwritable(path, "it is a folder");
  }
  if (std::filesystem::exists(path, error) && access(path.c_str(), W_OK) != 0) {
    return unwritable(path, reason());
  }
  return {};
}

/// What is there and no plain file, a device or a pipe, can't be renamed onto: it is written to as it stands.
bool is_replaced(const std::filesystem::path& path) {
  std::error_code error;
  return !std::filesystem::exists(path, error) || std::filesystem::is_regular_file(path, error);
}

/// The file that a path leads to through symbolic links, whether it is there or not. Links of /proc to pipes and the
/// like can't be followed by their names.
std::filesystem::path followed(std::filesystem::path path) {
  constexpr int kMostLinks = 40;  // as the system has it
  std::error_code error;
  if (!is_replaced(path)) {
    return path;
  }
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(path, error); ++i) {
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
  }
  return path;
}

/// The new bytes of a file, next to it until they are put in its place; removed if they never are. They get the mode of
/// the existing file, and its owners as far as this user may give them.
class StagedFile {
 public:
  explicit StagedFile(const std::filesystem::path& path) : path_(followed(path)), written_(path_) {
    if (is_replaced(path_)) {
      written_ += fmt::format(".{}.part", getpid());
    }
  }
  StagedFile(StagedFile&& from) noexcept : path_(std::move(from.path_)), written_(std::exchange(from.written_, {})) {}
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;
  StagedFile& operator=(StagedFile&&) = delete;
  ~StagedFile() {
    if (is_staged()) {
      std::error_code ignored;
      std::filesystem::remove(written_, ignored);
      keep_on_signal(written_);
    }
  }

  [[nodiscard]] Result<void> write(const std::string& bytes) {
    if (is_staged()) {
      remove_on_signal(written_);
    }
    if (auto writable = check_existing(path_); !writable) {
      return writable;
    }
    const File file(std::fopen(written_.c_str(), "wb"));
    struct stat old{};
    if (file && is_staged() && stat(path_.c_str(), &old) == 0) {
      const bool given = fchown(fileno(file.get()), old.st_uid, old.st_gid) == 0;
      fchmod(fileno(file.get()), old.st_mode & (given ? 07777 : 0777));
    }
    if (!file || std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size() ||
        std::fflush(file.get()) != 0) {
      return unwritable(path_, reason());
    }
    return {};
  }

  [[nodiscard]] Result<void> put_in_place() {
    std::error_code error;
    if (is_staged()) {
      std::filesystem::rename(written_, path_, error);
    }
    if (error) {
      return unwritable(path_, error.message());
    }
    keep_on_signal(written_);
    written_.clear();
    return {};
  }

 private:
  [[nodiscard]] bool is_staged() const { return !written_.empty() && written_ != path_; }

  std::filesystem::path path_;
  std::filesystem::path written_;  // empty when it is in place
};

}  // namespace

Result<std::string> read_file(const std::string& path) {
  File opened;
  std::FILE* stream = stdin;
  if (path != "-") {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
      return fail(fmt::format("{}: a folder, where a file should be", path));
    }
    opened.reset(std::fopen(path.c_str(), "rb"));
    if (!opened) {
      return fail(fmt::format("{}: can't be read: {}", path, reason()));
    }
    stream = opened.get();
  }
  std::string text;
  char buffer[1 << 16];
  for (std::size_t count = 0; (count = std::fread(buffer, 1, sizeof buffer, stream)) > 0;) {
    text.append(buffer, count);
  }
  if (std::ferror(stream) != 0) {
    return fail(fmt::format("{}: can't be read: {}", path, reason()));
  }
  return text;
}

Result<void> check_writable(const std::filesystem::path& path) {
  if (auto writable = check_existing(path); !writable) {
    return writable;
  }
  if (!is_replaced(path)) {
    return {};
  }
  // A temporary file in the same folder, as in write_file().
  const std::filesystem::path trial = fmt::format("{}.{}.part", followed(path).string(), getpid());
  if (const File file(std::fopen(trial.c_str(), "wb")); !file) {
    return unwritable(path, reason());
  }
  std::error_code ignored;
  std::filesystem::remove(trial, ignored);
  return {};
}

Result<void> write_file(const std::filesystem::path& path, const std::string& bytes) {
  return write_files({{path, bytes}});
}

Result<void> write_files(const std::vector<OutputFile>& files) {
  std::set<std::filesystem::path> names;
  for (const OutputFile& file : files) {
    if (!names.insert(file.path.lexically_normal()).second) {
      return fail(fmt::format("{}: two outputs have this name; give the layers different names", file.path.string()));
    }
  }
  std::vector<StagedFile> staged;
  for (const OutputFile& file : files) {
    if (auto made = make_folder_of(file.path); !made) {
      return made;
    }
    if (auto written = staged.emplace_back(file.path).write(file.bytes); !written) {
      return written;
    }
  }
  for (StagedFile& file : staged) {
    if (auto done = file.put_in_place(); !done) {
      return done;
    }
  }
  return {};
}

}  // namespace convtgen::cli
