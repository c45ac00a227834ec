#include "runtime/compile/shared_library.h"

#include <dlfcn.h>
#include <link.h>

namespace convtgen {

Result<SharedLibrary> SharedLibrary::open(const std::string& name) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    return fail(why != nullptr ? why : name + ": could not be loaded");
  }
  // The file is named as in the call, though it may already be open under another name.
  std::string path = name;
  link_map* map = nullptr;
  if (name.find('/') == std::string::npos && dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 &&
      map != nullptr && map->l_name != nullptr && *map->l_name != '\0') {
    path = map->l_name;
  }
  return SharedLibrary(handle, std::move(path));
}

void* SharedLibrary::symbol(const char* name) const {
  return dlsym(handle_, name);
}

}  // namespace convtgen
