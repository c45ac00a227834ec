#include "runtime/compile/files.h"

#include "runtime/store/directory.h"

namespace convtgen {

namespace fs = std::filesystem;

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const std::string& name : names_in(folder.string())) {
    found.push_back(folder / name);
  }
  return found;
}

std::vector<fs::path> entries_starting(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found = entries_of(folder);
  std::erase_if(found, [&](const fs::path& path) { return !path.filename().string().starts_with(prefix); });
  return found;
}

}  // namespace convtgen
