// A kernel on the host device: its calls copy the caller's arrays to checked memory and back.
#pragma once

#include <memory>

#include "runtime/device/device.h"
#include "runtime/jit/kernel.h"

namespace convtgen::jit {

/// Errors: those of Device::load().
[[nodiscard]] Outcome<std::shared_ptr<PreparedKernel>> load_on_host(std::shared_ptr<Device> device, KernelFacts facts,
                                                                    const Binary& binary);

}  // namespace convtgen::jit
