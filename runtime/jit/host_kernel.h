// A kernel on the host device: its calls copy the caller's arrays to checked memory and back.
#pragma once

#include <memory>
#include <mutex>

#include "runtime/device/device.h"
#include "runtime/jit/kernel.h"

namespace convtgen::jit {

/// The host device, and whose turn it is: its launches look at all buffers there are, so none may come or change
/// meanwhile.
struct HostPlace {
  std::unique_ptr<Device> device;
  std::mutex launching;
};

/// Errors: those of Device::load().
[[nodiscard]] Outcome<std::shared_ptr<PreparedKernel>> load_on_host(std::shared_ptr<HostPlace> place, KernelFacts facts,
                                                                    const Binary& binary);

}  // namespace convtgen::jit
