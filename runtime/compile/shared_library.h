// A shared library opened at run time.
#pragma once

#include <string>

#include "generator/support/error.h"

namespace convtgen {

/// Stays open until the process ends: NVRTC and the CUDA driver keep threads and state that outlive their last call.
class SharedLibrary {
 public:
  /// `name` is a file, or a bare name that the loader looks for ("libcuda.so.1").
  /// Errors: the loader's words.
  [[nodiscard]] static Result<SharedLibrary> open(const std::string& name);

  /// The address of a function, or null.
  [[nodiscard]] void* symbol(const char* name) const;
  /// The file that the loader took.
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Sets `function` to the library's function of that name; false when it has none.
  template <typename Function>
  [[nodiscard]] bool bind(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(symbol(name));
    return function != nullptr;
  }

 private:
  SharedLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

  void* handle_;
  std::string path_;
};

}  // namespace convtgen
