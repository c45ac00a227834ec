#include "runtime/device/open/open.h"

#include "runtime/compile/nvrtc_search.h"
#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/open/device_name.h"

namespace convtgen {

Result<std::unique_ptr<Device>> open_device(std::string_view which, const DeviceOptions& options,
                                            std::string* why_host) {
  if (why_host != nullptr) {
    why_host->clear();
  }
  const Result<DeviceName> name = device_named(which);
  if (!name) {
    return std::unexpected(name.error());
  }
  if (name->kind == DeviceName::Kind::kHost) {
    return open_host_device(options.host);
  }
  Result<std::unique_ptr<Device>> gpu = open_cuda_device(name->ordinal);
  if (name->kind == DeviceName::Kind::kCuda) {
    return gpu;
  }
  std::string why;
  if (!gpu) {
    why = std::move(gpu.error().message);
  } else if (auto nvrtc = check_nvrtc(); !nvrtc) {
    why = std::move(nvrtc.error().message);
  } else {
    return gpu;
  }
  if (why_host != nullptr) {
    *why_host = std::move(why);
  }
  return open_host_device(options.host);
}

}  // namespace convtgen
