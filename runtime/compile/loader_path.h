// Where the loader would find a library, looked up without loading it.
#pragma once

#include <string>

namespace convtgen {

/// The file that dlopen of a bare name would take: one that is loaded already, else the first shared library of that
/// name in $LD_LIBRARY_PATH, /etc/ld.so.cache or the system's folders. Empty if not found. (A program's own
/// RPATH is ignored.)
[[nodiscard]] std::string find_on_loader_path(const std::string& name);

/// The file of a name in the bytes of /etc/ld.so.cache as glibc 2.2 and later write it; empty where it is not there, or
/// the bytes are no such cache.
[[nodiscard]] std::string find_in_loader_cache(const std::string& cache, const std::string& name);

}  // namespace convtgen
