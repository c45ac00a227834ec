// Kernels that a device compiles itself.
#pragma once

#include <memory>
#include <string_view>

#include "runtime/device/device.h"
#include "runtime/make/kernel_maker.h"
#include "runtime/store/store.h"

namespace convtgen {

/// Makes kernels with a device's own compiler, and keeps those in the store that have a key there
/// (Device::library_key()). The device must live as long.
class DeviceMaker final : public KernelMaker {
 public:
  DeviceMaker(Device& device, std::shared_ptr<Store> store) : device_(device), store_(std::move(store)) {}

  /// Always of the kind that the device loads.
  [[nodiscard]] Outcome<MadeKernel> find_or_compile(MadeKernel generated, BinaryKind kind,
                                                    const std::stop_token& stop = {}) override;

 private:
  Device& device_;
  std::shared_ptr<Store> store_;
};

/// The maker for this device, of kernels for an architecture as chip_here() takes it: of what code_here() says for a
/// GPU, of libraries for the host device. The device must live as long.
[[nodiscard]] std::shared_ptr<KernelMaker> maker_for(Device& device, std::shared_ptr<Store> store,
                                                     std::string_view architecture = {});

}  // namespace convtgen
