// One GPU: its primary context, and kernels loaded where their callers are.
#pragma once

#include <memory>

#include "generator/planner/chip/chip_code.h"
#include "runtime/device/cuda/driver.h"
#include "runtime/jit/kernel.h"

namespace convtgen::jit {

class Gpu : public std::enable_shared_from_this<Gpu> {
 public:
  /// Retains the primary context, and never makes one of its own.
  /// Errors: no driver, no such GPU, or a process forked after CUDA was started.
  [[nodiscard]] static Outcome<std::shared_ptr<Gpu>> open(int ordinal);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  [[nodiscard]] const CudaDeviceInfo& info() const { return info_; }
  [[nodiscard]] Chip chip() const { return {info_.capability, driver_->version(), info_.multiprocessors}; }
  [[nodiscard]] const CudaDriver& driver() const { return *driver_; }
  [[nodiscard]] const cuda::Api& api() const { return driver_->api(); }
  [[nodiscard]] cuda::ContextHandle primary() const { return primary_; }

  /// The calling thread's context if it is one of this GPU, else the primary one.
  [[nodiscard]] cuda::ContextHandle context_here() const;
  /// Distinguishes a context from a later one at the same address; 0 if the driver is too old for it.
  [[nodiscard]] unsigned long long id_of(cuda::ContextHandle context) const;
  [[nodiscard]] bool capturing(cuda::StreamHandle stream) const;

  /// Loads into context_here(). `compiled_by` names the compiler and its version, for the error of an old driver.
  /// Errors: the driver's, with both versions where it is too old for the binary.
  [[nodiscard]] Outcome<std::shared_ptr<PreparedKernel>> load(KernelFacts facts, Binary binary,
                                                              const std::string& compiled_by);

 private:
  Gpu() = default;

  std::shared_ptr<const CudaDriver> driver_;
  CudaDeviceInfo info_;
  cuda::DeviceOrdinal device_ = 0;
  cuda::ContextHandle primary_ = nullptr;
};

/// Makes a context current in the calling thread until the destructor, unless it is current already.
class ContextScope {
 public:
  ContextScope(const Gpu& gpu, cuda::ContextHandle context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  [[nodiscard]] cuda::Status status() const { return status_; }

 private:
  const Gpu& gpu_;
  bool pushed_ = false;
  cuda::Status status_ = cuda::kSuccess;
};

}  // namespace convtgen::jit
