// A GPU's primary context and one stream in it, shared by all objects of one device.
#pragma once

#include <memory>

#include "runtime/device/cuda/driver.h"

namespace convtgen {

/// Every object made in it keeps it alive, so that objects may be destroyed in any order.
class CudaContext {
 public:
  /// Errors: the driver's own.
  [[nodiscard]] static Result<std::shared_ptr<CudaContext>> open(std::shared_ptr<const CudaDriver> driver, int ordinal);
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  [[nodiscard]] const CudaDriver& driver() const { return *driver_; }
  [[nodiscard]] const cuda::Api& api() const { return driver_->api(); }
  [[nodiscard]] cuda::StreamHandle stream() const { return stream_; }
  /// Errors: unless `status` is success; after a fault of a kernel, also that the context is lost.
  [[nodiscard]] Result<void> check(cuda::Status status, std::string_view what) const;
  /// Waits for all that was put on the stream. Errors: what went wrong in it.
  [[nodiscard]] Result<void> synchronise(std::string_view what) const;

 private:
  friend class CurrentContext;
  explicit CudaContext(std::shared_ptr<const CudaDriver> driver) : driver_(std::move(driver)) {}

  std::shared_ptr<const CudaDriver> driver_;
  cuda::DeviceOrdinal device_ = 0;
  cuda::ContextHandle context_ = nullptr;
  cuda::StreamHandle stream_ = nullptr;
};

/// Makes a context current in the calling thread; the destructor restores the previous one.
class CurrentContext {
 public:
  explicit CurrentContext(const CudaContext& context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const CudaContext& context_;
  bool pushed_;
};

}  // namespace convtgen
