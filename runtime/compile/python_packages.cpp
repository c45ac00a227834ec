#include "runtime/compile/python_packages.h"

#include <stdio.h>

#include <algorithm>
#include <array>
#include <string>
#include <system_error>

#include "runtime/compile/files.h"
#include "runtime/support/environment.h"

namespace convtgen {

namespace fs = std::filesystem;

namespace {

void append(std::vector<fs::path>& all, const std::vector<fs::path>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// "a:b" or "a\nb" in parts; empty ones left out.
std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) {
      parts.push_back(text.substr(begin, end - begin));
    }
    begin = end + 1;
  }
  return parts;
}

// Of a prefix with lib/python3.*/site-packages below it.
std::vector<fs::path> nvidia_libraries_below(const fs::path& prefix) {
  std::vector<fs::path> found;
  for (const char* lib : {"lib", "lib64"}) {
    for (const fs::path& python : entries_starting(prefix / lib, "python3")) {
      append(found, nvidia_libraries_in(python / "site-packages"));
      append(found, nvidia_libraries_in(python / "dist-packages"));
    }
  }
  return found;
}

}  // namespace

std::vector<fs::path> nvidia_libraries_in(const fs::path& site_packages) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::path& package : entries_of(site_packages / "nvidia")) {
    if (fs::is_directory(package / "lib", error)) {
      found.push_back(package / "lib");
    }
  }
  return found;
}

fs::path python_on_path() {
  for (const std::string& folder : parts_of(environment("PATH"), ':')) {
    std::error_code error;
    if (fs::path program = fs::path(folder) / "python3"; fs::exists(program, error)) {
      return program;
    }
  }
  return {};
}

std::vector<fs::path> nvidia_libraries_of_python() {
  std::vector<fs::path> prefixes;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (std::string prefix = environment(variable); !prefix.empty()) {
      prefixes.emplace_back(std::move(prefix));
    }
  }
  if (const fs::path python = python_on_path(); !python.empty()) {
    prefixes.push_back(python.parent_path().parent_path());
    std::error_code error;
    if (const fs::path linked = fs::canonical(python, error); !error) {
      prefixes.push_back(linked.parent_path().parent_path());
    }
  }
  if (const std::string home = environment("HOME"); !home.empty()) {
    prefixes.push_back(fs::path(home) / ".local");
  }
  prefixes.emplace_back("/usr/local");
  prefixes.emplace_back("/usr");

  std::vector<fs::path> found;
  for (const fs::path& prefix : prefixes) {
    for (const fs::path& folder : nvidia_libraries_below(prefix)) {
      if (std::ranges::find(found, folder) == found.end()) {
        found.push_back(folder);
      }
    }
  }
  return found;
}

std::vector<fs::path> nvidia_libraries_asking_python() {
  FILE* pipe = popen("python3 -c 'import sys; print(\"\\n\".join(sys.path))' 2>/dev/null </dev/null", "re");
  if (pipe == nullptr) {
    return {};
  }
  std::string text;
  std::array<char, 4096> part;
  while (const std::size_t count = fread(part.data(), 1, part.size(), pipe)) {
    text.append(part.data(), count);
  }
  pclose(pipe);
  std::vector<fs::path> found;
  for (const std::string& folder : parts_of(text, '\n')) {
    append(found, nvidia_libraries_in(folder));
  }
  return found;
}

}  // namespace convtgen
