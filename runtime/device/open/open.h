// Opens a device of either kind.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "generator/support/error.h"
#include "runtime/device/device.h"
#include "runtime/device/host/host_device.h"

namespace convtgen {

struct DeviceOptions {
  HostOptions host;
};

/// Opens a device by its name (device_name.h). With "auto" that is the first GPU when there is one that can be used
/// here, NVRTC included, else the host device; `*why_host` is then the reason why the GPU can't be used, and is empty
/// otherwise. The architecture of "host:ARCH" is the caller's to use.
/// Errors: another word; the named device can't be opened.
[[nodiscard]] Result<std::unique_ptr<Device>> open_device(std::string_view which, const DeviceOptions& options = {},
                                                          std::string* why_host = nullptr);

}  // namespace convtgen
