// The host device: runs emitted kernels on the CPU, and finds what is wrong with them.
//
// The same bytes that NVRTC takes are compiled by the system's C++ compiler. Threads of a block run in a random order
// that changes at every barrier, blocks in a random order, all from one seed. Every access to memory is checked: out of
// bounds, misaligned, a read of what nothing has written, two threads at one byte of shared memory with no barrier
// between. A fault is the error of run(), with the thread and the line of the emitted source; the device stays usable.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "generator/support/error.h"
#include "runtime/device/device.h"

namespace convtgen {

/// A thread's read of its block's shared memory; of ldmatrix, of a row.
struct SharedRead {
  std::uint32_t block = 0;   // of the launch
  std::uint32_t thread = 0;  // of the block
  std::uint32_t offset = 0;  // in the block's dynamic shared memory
  std::uint32_t bytes = 0;
  std::uintptr_t place = 0;  // in the kernel's library: equal for all lanes of an instruction
};

struct HostOptions {
  std::uint64_t seed = 0;     // of the orders of threads and blocks
  int workers = 0;            // OS threads that run blocks; 0: one for each core
  bool races = true;          // look for races in shared memory
  std::string compiler = {};  // a command; empty: $CXX, g++, c++ or clang++
  bool portable = false;      // compile for every machine of this kind, and not for this one's instructions
  /// Told each read of shared memory before it is made, in the order of each thread; from all workers. May be empty.
  std::function<void(const SharedRead&)> on_shared_read = {};
};

/// Thread-safe: calls from several threads take turns at launching.
class HostDevice : public Device {
 public:
  /// For the launches that follow. A kernel without faults gives the same bits for every seed.
  virtual void set_seed(std::uint64_t seed) = 0;
  [[nodiscard]] virtual std::uint64_t seed() const = 0;
  [[nodiscard]] virtual int workers() const = 0;

  /// As run(), with a launch's blocks from `first` on alone, a multiple of its cluster: what is last of much. Errors:
  /// also a `first` below 0 or beyond the launch.
  [[nodiscard]] virtual Result<void> run_from(LoadedKernel& kernel, const Launch& launch, std::int64_t first) = 0;
  /// Takes `bytes` of the buffer from `offset` on as written, with what is there: zeros, where nothing was. The memory
  /// of a buffer is this process's own, at Buffer::address(), and takes room only where it is touched. Errors: bytes
  /// outside of the buffer.
  [[nodiscard]] virtual Result<void> mark_written(Buffer& buffer, std::size_t offset, std::size_t bytes) = 0;
};

/// Errors: a negative number of workers. A missing compiler is an error of compile() only.
[[nodiscard]] Result<std::unique_ptr<HostDevice>> open_host_device(HostOptions options = {});

/// The file of the compiler that compile() runs. Errors: no compiler was found.
[[nodiscard]] Result<std::string> host_compiler_path(const HostOptions& options = {});

/// What the host device finds on this machine, for people.
struct HostReport {
  std::string compiler;          // command and version, or empty
  std::string compiler_problem;  // why none was found
};
[[nodiscard]] HostReport inspect_host(const HostOptions& options = {});

}  // namespace convtgen
