// The CUDA driver, opened at run time, and what it reports about the machine.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "generator/support/error.h"
#include "runtime/device/cuda/cuda_api.h"

namespace convtgen {

/// One GPU.
struct CudaDeviceInfo {
  int ordinal = 0;
  std::string name;    // "NVIDIA H200"
  int capability = 0;  // 10 * major + minor
  std::size_t memory_bytes = 0;
  int multiprocessors = 0;
  std::size_t l2_bytes = 0;
  int max_shared_bytes = 0;  // dynamic shared memory that a block may use
  bool operator==(const CudaDeviceInfo&) const = default;
};

/// The driver and its GPUs.
struct CudaDriverInfo {
  std::string path;  // of the library
  int version = 0;   // the newest CUDA it supports: 1000 * major + 10 * minor
  std::vector<CudaDeviceInfo> devices;
};

/// The driver of this machine, for `doctor`.
/// Errors: no driver, or one that doesn't start, and why; no GPU is no error here, but an empty list.
[[nodiscard]] Result<CudaDriverInfo> find_cuda_driver();

/// An open driver, initialised.
class CudaDriver {
 public:
  /// Opens $CONVTGEN_CUDA_DRIVER (a file) where that is set, else libcuda.so.1 where the loader and NVIDIA's containers
  /// and WSL have it.
  /// Errors: not found, a function is missing, or it does not start.
  [[nodiscard]] static Result<std::shared_ptr<const CudaDriver>> open();

  [[nodiscard]] const cuda::Api& api() const { return api_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int version() const { return version_; }
  /// Whether a launch may begin before the one before it has ended (cuda::kMayOverlap), on a GPU of this compute
  /// capability: also in streams that are being captured, so since CUDA 12.3.
  [[nodiscard]] bool launches_overlap(int capability) const {
    return capability >= 90 && version_ >= 12030 && api_.launch_kernel_ex != nullptr;
  }

  /// Errors: unless `status` is success: `what` ("allocating 12 bytes") and the driver's own words.
  [[nodiscard]] Result<void> check(cuda::Status status, std::string_view what) const;

  /// Errors: the driver's own.
  [[nodiscard]] Result<int> device_count() const;
  /// Errors: no such device.
  [[nodiscard]] Result<CudaDeviceInfo> device_info(int ordinal) const;

 private:
  CudaDriver() = default;

  cuda::Api api_{};
  std::string path_;
  int version_ = 0;
};

}  // namespace convtgen
