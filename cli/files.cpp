#include "cli/files.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

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

/// The new bytes of a file, beside it until they are put in its place; removed if they never are. What is there and no
/// plain file, a device or a pipe, can't be renamed onto: it is written to as it stands.
class StagedFile {
 public:
  explicit StagedFile(std::filesystem::path path) : path_(std::move(path)), written_(path_) {
    std::error_code error;
    if (!std::filesystem::exists(path_, error) || std::filesystem::is_regular_file(path_, error)) {
      written_ += fmt::format(".{}.part", getpid());
    }
  }
  StagedFile(StagedFile&& from) noexcept : path_(std::move(from.path_)), written_(std::exchange(from.written_, {})) {}
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;
  StagedFile& operator=(StagedFile&&) = delete;
  ~StagedFile() {
    if (beside()) {
      std::error_code ignored;
      std::filesystem::remove(written_, ignored);
    }
  }

  [[nodiscard]] Result<void> write(const std::string& bytes) {
    const File file(std::fopen(written_.c_str(), "wb"));
    if (!file || std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size() ||
        std::fflush(file.get()) != 0) {
      return fail(fmt::format("{}: can't be written: {}", path_.string(), reason()));
    }
    return {};
  }

  [[nodiscard]] Result<void> put_in_place() {
    std::error_code error;
    if (beside()) {
      std::filesystem::rename(written_, path_, error);
    }
    if (error) {
      return fail(fmt::format("{}: can't be written: {}", path_.string(), error.message()));
    }
    written_.clear();
    return {};
  }

 private:
  [[nodiscard]] bool beside() const { return !written_.empty() && written_ != path_; }

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
  const auto unwritable = [&](const std::string& why) {
    return fail(fmt::format("{}: can't be written: {}", path.string(), why));
  };
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return unwritable("it is a folder");
  }
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) {
    return access(path.c_str(), W_OK) == 0 ? Result<void>() : unwritable(reason());
  }
  // A file beside it, as when it is written.
  const std::filesystem::path trial = fmt::format("{}.{}.part", path.string(), getpid());
  if (const File file(std::fopen(trial.c_str(), "wb")); !file) {
    return unwritable(reason());
  }
  std::filesystem::remove(trial, error);
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
