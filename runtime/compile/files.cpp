#include "runtime/compile/files.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>

namespace convtgen {

namespace fs = std::filesystem;

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    found.push_back(it->path());
  }
  std::ranges::sort(found);
  return found;
}

std::vector<fs::path> entries_starting(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found = entries_of(folder);
  std::erase_if(found, [&](const fs::path& path) { return !path.filename().string().starts_with(prefix); });
  return found;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace convtgen
