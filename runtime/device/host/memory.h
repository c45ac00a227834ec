// Memory of the host device: buffers far apart from each other, and which of their bytes have been written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "generator/support/error.h"

namespace convtgen::host {

/// Mapped bytes with unmapped room before and after, so that a wrong index does not reach another buffer.
class GuardedMemory {
 public:
  GuardedMemory() = default;
  GuardedMemory(GuardedMemory&& from) noexcept;
  GuardedMemory& operator=(GuardedMemory&& from) noexcept;
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory();

  /// Zeros, page-aligned, with up to `gap` bytes unmapped on both sides. Errors: no memory.
  [[nodiscard]] static Result<GuardedMemory> map(std::size_t bytes, std::size_t gap);

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t gap() const { return gap_; }
  /// Makes every byte zero again without touching it.
  void clear();

 private:
  std::byte* base_ = nullptr;  // of the whole reservation
  std::size_t reserved_ = 0;
  std::byte* data_ = nullptr;
  std::size_t mapped_ = 0;
  std::size_t gap_ = 0;
};

/// A live buffer as the checks see it. `written` has a byte for each byte (0: never written), or is null where all
/// have been.
struct Region {
  std::uintptr_t begin = 0;
  std::uintptr_t bytes = 0;
  std::uint8_t* written = nullptr;
  std::uintptr_t gap = 0;      // an address this near counts as an index out of this buffer
  bool is_pdl_buffer = false;  // the launch before may still write it: legal only after grid_dependency_wait()
};

/// A buffer's memory, and which of its bytes were written. Launches in other threads check all buffers, so this record
/// may be read and changed concurrently; callers must synchronise accesses of the bytes themselves.
class BufferMemory {
 public:
  [[nodiscard]] static Result<std::unique_ptr<BufferMemory>> make(std::size_t bytes);

  [[nodiscard]] std::byte* data() const { return data_.data(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] Region region() const;
  void mark_written(std::size_t offset, std::size_t bytes);
  [[nodiscard]] Result<void> mark_never_written();

 private:
  GuardedMemory data_;
  mutable std::mutex mutex_;  // of written_
  GuardedMemory written_;     // empty where every byte has been written
  std::size_t bytes_ = 0;
};

/// The live buffers of a device. Thread-safe.
class BufferTable {
 public:
  void insert(const BufferMemory* memory);
  void erase(const BufferMemory* memory);
  /// By address.
  [[nodiscard]] std::vector<Region> snapshot() const;

 private:
  mutable std::mutex mutex_;
  std::vector<const BufferMemory*> live_;
};

}  // namespace convtgen::host
