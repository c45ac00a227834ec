// A compiled kernel in this process: its library, its entry function, and the source lines of its instructions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "generator/specializer/kernel_source.h"
#include "generator/support/error.h"
#include "runtime/compile/binary.h"
#include "runtime/device/host/memory.h"

namespace convtgen::host {

/// What the host device loads. The bytes are a shared library, followed by what messages need of the source. (A
/// loader ignores bytes after the library's end.)
[[nodiscard]] Binary library_binary(std::string library, const KernelSource& source);
/// The shared library in the bytes of such a Binary. Errors: they are of no version of the host device, or cut short.
[[nodiscard]] Result<std::string_view> library_in(std::string_view bytes);

class Library {
 public:
  /// For the kernel of this name in it.
  /// Errors: the bytes are no library of this version of the host device, the system won't load them, or they have no
  /// such kernel.
  [[nodiscard]] static Result<std::unique_ptr<Library>> load(const std::string& bytes, const std::string& symbol);

  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  using Entry = void (*)(const unsigned long long* slots);
  [[nodiscard]] Entry entry() const { return entry_; }
  [[nodiscard]] int parameter_count() const { return parameter_count_; }
  /// Blocks of a cluster in all its launches; 1 where the kernel does not say it.
  [[nodiscard]] int cluster() const { return cluster_; }
  /// Whether it uses primitives that need the asynchronous machine.
  [[nodiscard]] bool asynchronous() const { return asynchronous_; }
  /// Empty where the source did not name it.
  [[nodiscard]] std::string_view parameter_name(std::size_t index) const;
  [[nodiscard]] std::uintptr_t base() const { return base_; }
  /// The kernel's constants, which it may read.
  [[nodiscard]] const std::vector<Region>& constants() const { return constants_; }

  /// "line 12 `y[i] = x[i];`" of the emitted source for a return address; "an unknown line" where the system has no
  /// addr2line. Slow: it runs that program.
  [[nodiscard]] std::string line_of(std::uintptr_t return_address) const;

 private:
  Library() = default;

  int file_ = -1;  // stays open: the loader knows libraries by their path, which names it
  void* handle_ = nullptr;
  Entry entry_ = nullptr;
  int parameter_count_ = 0;
  int cluster_ = 1;
  bool asynchronous_ = false;
  std::vector<std::string> parameter_names_;
  std::uintptr_t base_ = 0;
  std::vector<Region> constants_;
  std::string source_;
};

}  // namespace convtgen::host
