#include "cli/files.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <system_error>

namespace convtgen::cli {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

std::string reason() {
  return std::generic_category().message(errno);
}

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
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) {
    // A device or a pipe can't be renamed onto.
    const File file(std::fopen(path.c_str(), "wb"));
    if (!file || std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size() ||
        std::fflush(file.get()) != 0) {
      return fail(fmt::format("{}: can't be written: {}", path.string(), reason()));
    }
    return {};
  }
  const std::filesystem::path beside = fmt::format("{}.{}.part", path.string(), getpid());
  bool written = false;
  if (File file(std::fopen(beside.c_str(), "wb")); file) {
    written = std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size() && std::fflush(file.get()) == 0;
  }
  std::string why = reason();
  if (written) {
    std::filesystem::rename(beside, path, error);
    if (!error) {
      return {};
    }
    why = error.message();
  }
  std::filesystem::remove(beside, error);
  return fail(fmt::format("{}: can't be written: {}", path.string(), why));
}

Result<void> write_files(const std::vector<OutputFile>& files) {
  std::set<std::filesystem::path> names;
  for (const OutputFile& file : files) {
    if (!names.insert(file.path.lexically_normal()).second) {
      return fail(fmt::format("{}: two outputs have this name; give the layers different names", file.path.string()));
    }
  }
  for (const OutputFile& file : files) {
    if (file.path.has_parent_path()) {
      std::error_code error;
      std::filesystem::create_directories(file.path.parent_path(), error);
      if (error) {
        return fail(fmt::format("{}: the folder can't be made: {}", file.path.parent_path().string(), error.message()));
      }
    }
    if (auto written = write_file(file.path, file.bytes); !written) {
      return written;
    }
  }
  return {};
}

}  // namespace convtgen::cli
