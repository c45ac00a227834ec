// What kernels run on: a GPU through the CUDA driver, or the host device, with one interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "generator/planner/chip/chip_code.h"
#include "generator/recipe/tensor_map.h"
#include "generator/specializer/kernel_source.h"
#include "generator/support/error.h"
#include "runtime/compile/binary.h"
#include "runtime/store/key.h"

namespace convtgen {

enum class DeviceKind { kCuda, kHost };

/// A compiled kernel, loaded and ready to launch. It must not outlive its device.
class LoadedKernel {
 public:
  virtual ~LoadedKernel() = default;
};

/// Memory of a device; freed with the object. It must not outlive its device.
class Buffer {
 public:
  virtual ~Buffer() = default;
  [[nodiscard]] virtual std::uint64_t address() const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
};

/// A kernel parameter `__grid_constant__ const TensorMap` (templates/device/tensor_copy.h).
struct TensorMapArgument {
  std::size_t parameter = 0;  // its place among the parameters; that slot of Launch::arguments is not read
  TensorMap map;
};

struct Launch {
  std::int64_t blocks = 0;  // a 1-D grid
  int threads = 0;
  std::int64_t shared_bytes = 0;
  /// One 8-byte slot for each kernel parameter, in their order: a device address, or an
  /// integer whose low bytes are the parameter's (little-endian).
  std::vector<std::uint64_t> arguments;
  int cluster = 1;  // blocks of a cluster, 1 to 8; a divisor of `blocks`. 1 if the kernel has __cluster_dims__
  std::vector<TensorMapArgument> tensor_maps = {};
  /// The PDL buffer: address of a buffer that the previous launch writes. The two launches may overlap (programmatic
  /// dependent launch), and the kernel calls grid_dependency_wait() (templates/device/grid.h) before it reads that
  /// buffer. 0: no overlap.
  std::uint64_t pdl_buffer = 0;
};

/// One of the launches that make a call.
struct KernelLaunch {
  LoadedKernel& kernel;
  const Launch& launch;
};

class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual DeviceKind kind() const = 0;
  [[nodiscard]] virtual std::string name() const = 0;
  /// The GPU, by which code for it is chosen; nullopt where code for any chip does, as on the host device.
  [[nodiscard]] virtual std::optional<Chip> chip() const { return std::nullopt; }

  /// Checks that compile() has its compiler. Errors: no NVRTC, or no C++ compiler for the host device; what was tried.
  [[nodiscard]] virtual Result<void> find_compiler() = 0;
  /// Compiles a source, each time anew, to a binary for load(); runtime/make looks in the store first. `architecture`
  /// is exact ("sm_90a"); the host device ignores it.
  [[nodiscard]] virtual Compiled<Binary> compile(const KernelSource& source, const std::string& architecture) = 0;
  /// The key of the library that compile() makes of a source. nullopt if stores keep no libraries of this
  /// device, or there is no compiler.
  [[nodiscard]] virtual std::optional<Key> library_key(const KernelSource&) { return std::nullopt; }
  /// One of the binary's kernels.
  [[nodiscard]] virtual Result<std::unique_ptr<LoadedKernel>> load(const Binary& binary,
                                                                   const BinaryKernel& kernel) = 0;
  /// The main one.
  [[nodiscard]] Result<std::unique_ptr<LoadedKernel>> load(const Binary& binary) {
    return load(binary, main_kernel(binary));
  }

  [[nodiscard]] virtual Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) = 0;
  [[nodiscard]] virtual Result<void> upload(Buffer& to, std::span<const std::byte> from) = 0;
  [[nodiscard]] virtual Result<void> download(std::span<std::byte> to, const Buffer& from) = 0;
  /// Copies part of a buffer out, from a byte offset: verification reads samples of large results.
  [[nodiscard]] virtual Result<void> download_part(std::span<std::byte> to, const Buffer& from, std::size_t offset) = 0;
  /// Sets every byte. The host device then counts the buffer as never written: it is how outputs are poisoned.
  [[nodiscard]] virtual Result<void> poison(Buffer& buffer, std::byte value) = 0;

  /// Free bytes for allocate(). nullopt if there is no bound, as on the host device, or if it is unknown.
  [[nodiscard]] virtual std::optional<std::size_t> free_memory() const { return std::nullopt; }
  /// Bytes that time() will allocate for itself; 0 after its first call, since it keeps them.
  [[nodiscard]] virtual std::size_t timing_bytes() const { return 0; }

  /// Runs the kernel to its end. Errors: a fault of the kernel, with thread and source line where the device knows
  /// them.
  [[nodiscard]] virtual Result<void> run(LoadedKernel& kernel, const Launch& launch) = 0;
  /// Median milliseconds of `repeats` runs of the launches, one after the other, after one more run to warm up; on a
  /// GPU the L2 cache is flushed before each run.
  [[nodiscard]] virtual Result<double> time(std::span<const KernelLaunch> launches, int repeats) = 0;
  [[nodiscard]] Result<double> time(LoadedKernel& kernel, const Launch& launch, int repeats) {
    const KernelLaunch only{kernel, launch};
    return time(std::span(&only, 1), repeats);
  }
};

}  // namespace convtgen
