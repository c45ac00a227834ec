#include "runtime/store/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

namespace convtgen {
namespace {

struct CloseStream {
  void operator()(DIR* stream) const { closedir(stream); }
};
using Stream = std::unique_ptr<DIR, CloseStream>;

// Null where it can't be opened.
Stream open_stream(int folder, const char* name) {
  const int descriptor = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  DIR* stream = descriptor >= 0 ? fdopendir(descriptor) : nullptr;
  if (stream == nullptr && descriptor >= 0) {
    close(descriptor);
  }
  return Stream(stream);
}

// The next name that is not "." or "..", or null at the end.
const char* next_name(const Stream& stream) {
  const dirent* entry = readdir(stream.get());
  while (entry != nullptr && (std::string_view(entry->d_name) == "." || std::string_view(entry->d_name) == "..")) {
    entry = readdir(stream.get());
  }
  return entry != nullptr ? entry->d_name : nullptr;
}

}  // namespace

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  if (const Stream stream = open_stream(folder, ".")) {
    while (const char* name = next_name(stream)) {
      names.emplace_back(name);
    }
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> names_in(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    return {};
  }
  struct Close {
    int descriptor;
    ~Close() { close(descriptor); }
  };
  const Close after{descriptor};
  return names_in(descriptor);
}

bool remove_tree(int folder, const char* name) noexcept {
  if (unlinkat(folder, name, 0) == 0) {
    return true;
  }
  if (errno != EISDIR) {
    return false;
  }
  if (const Stream stream = open_stream(folder, name)) {
    while (const char* inner = next_name(stream)) {
      (void)remove_tree(dirfd(stream.get()), inner);
    }
  }
  return unlinkat(folder, name, AT_REMOVEDIR) == 0;
}

}  // namespace convtgen
