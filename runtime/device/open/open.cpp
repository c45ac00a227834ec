#include "runtime/device/open/open.h"

#include <fmt/format.h>

#include "runtime/compile/nvrtc_search.h"
#include "runtime/device/cuda/cuda_device.h"

namespace convtgen {

Result<std::unique_ptr<Device>> open_device(std::string_view which, const DeviceOptions& options,
                                            std::string* why_host) {
  if (why_host != nullptr) {
    why_host->clear();
  }
  if (which == "host") {
    return open_host_device(options.host);
  }
  if (which == "cuda") {
    return open_cuda_device(options.gpu);
  }
  if (which != "auto") {
    return fail(fmt::format("unknown device '{}'; known are auto, cuda, host", which));
  }
  Result<std::unique_ptr<Device>> gpu = open_cuda_device(options.gpu);
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
