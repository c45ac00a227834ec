#include "runtime/compile/loader_path.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

#include "runtime/compile/identity.h"
#include "runtime/support/environment.h"

namespace convtgen {
namespace {

// struct cache_file_new and file_entry_new of glibc (sysdeps/generic/dl-cache.h); offsets count from the header.
struct CacheHeader {
  char magic[20];
  std::uint32_t entries;
  std::uint32_t string_bytes;
  std::uint32_t unused[5];
};
struct CacheEntry {
  std::int32_t flags;
  std::uint32_t name;
  std::uint32_t path;
  std::uint32_t os_version;
  std::uint64_t hwcap;
};
static_assert(sizeof(CacheHeader) == 48 && sizeof(CacheEntry) == 24);
constexpr std::string_view kCacheMagic = "glibc-ld.so.cache1.1";

// The text at an offset, up to its zero byte; empty if the offset is outside.
std::string_view text_at(std::string_view bytes, std::size_t offset) {
  if (offset >= bytes.size()) {
    return {};
  }
  const std::string_view rest = bytes.substr(offset);
  const std::size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

std::string already_loaded(const std::string& name) {
  void* handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) {
    return "";
  }
  link_map* map = nullptr;
  std::string path;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map != nullptr && map->l_name != nullptr) {
    path = map->l_name;
  }
  dlclose(handle);
  return path;
}

bool is_library(const std::string& file) {
  return library_identity(file).has_value();
}

std::string in_library_path(const std::string& name) {
  const std::string folders = environment("LD_LIBRARY_PATH");
  for (std::size_t begin = 0; !folders.empty() && begin <= folders.size();) {
    const std::size_t end = std::min(folders.find_first_of(":;", begin), folders.size());
    std::string file = end > begin ? folders.substr(begin, end - begin) + "/" + name : "./" + name;
    if (is_library(file)) {
      return file;
    }
    begin = end + 1;
  }
  return "";
}

}  // namespace

std::string find_in_loader_cache(const std::string& cache, const std::string& name) {
  // An older format may come before it in the file.
  const std::size_t begin = cache.find(kCacheMagic);
  if (begin == std::string::npos || cache.size() - begin < sizeof(CacheHeader)) {
    return "";
  }
  const std::string_view bytes = std::string_view(cache).substr(begin);
  CacheHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (std::size_t i = 0; i < header.entries; ++i) {
    const std::size_t at = sizeof header + i * sizeof(CacheEntry);
    if (at + sizeof(CacheEntry) > bytes.size()) {
      return "";
    }
    CacheEntry entry;
    std::memcpy(&entry, bytes.data() + at, sizeof entry);
    if (text_at(bytes, entry.name) == name) {
      // The cache may also list libraries of other machine types; is_library() reads the file to find out.
      if (std::string path(text_at(bytes, entry.path)); is_library(path)) {
        return path;
      }
    }
  }
  return "";
}

std::string find_on_loader_path(const std::string& name) {
  if (std::string path = already_loaded(name); !path.empty()) {
    return path;
  }
  if (std::string path = in_library_path(name); !path.empty()) {
    return path;
  }
  std::ostringstream cache;
  cache << std::ifstream("/etc/ld.so.cache", std::ios::binary).rdbuf();
  if (std::string path = find_in_loader_cache(cache.str(), name); !path.empty()) {
    return path;
  }
  for (const char* folder : {"/lib64/", "/usr/lib64/", "/lib/", "/usr/lib/"}) {
    if (std::string path = folder + name; is_library(path)) {
      return path;
    }
  }
  return "";
}

}  // namespace convtgen
