#include "runtime/device/cuda/driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "runtime/compile/shared_library.h"

namespace convtgen {
namespace {

// Where the driver is when the loader doesn't know of it: NVIDIA's containers, and Windows' Linux.
constexpr std::array kDriverFiles = {"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1",
                                     "/usr/lib/wsl/lib/libcuda.so.1"};

Result<SharedLibrary> open_library() {
  if (const char* file = std::getenv("CONVTGEN_CUDA_DRIVER"); file != nullptr && *file != '\0') {
    Result<SharedLibrary> library = SharedLibrary::open(file);
    if (!library) {
      return fail(fmt::format("$CONVTGEN_CUDA_DRIVER names no usable library: {}", library.error().message));
    }
    return library;
  }
  std::string why;
  for (const char* file : kDriverFiles) {
    Result<SharedLibrary> library = SharedLibrary::open(file);
    if (library) {
      return library;
    }
    why = why.empty() ? library.error().message : why;
  }
  return fail(
      fmt::format("no NVIDIA driver: libcuda.so.1 was not found ({}); kernels can still be emitted and compiled "
                  "here, and run on the host device",
                  why));
}

// The name of the first function that the library lacks, or null.
const char* bind_all(const SharedLibrary& library, cuda::Api& api) {
  const char* missing = nullptr;
  const auto need = [&](const char* name, auto& function) {
    if (!library.bind(name, function) && missing == nullptr) {
      missing = name;
    }
  };
  need("cuInit", api.init);
  need("cuDriverGetVersion", api.driver_get_version);
  need("cuGetErrorName", api.get_error_name);
  need("cuGetErrorString", api.get_error_string);
  need("cuDeviceGetCount", api.device_get_count);
  need("cuDeviceGet", api.device_get);
  need("cuDeviceGetName", api.device_get_name);
  need("cuDeviceGetAttribute", api.device_get_attribute);
  need("cuDeviceTotalMem_v2", api.device_total_mem);
  need("cuDevicePrimaryCtxRetain", api.device_primary_ctx_retain);
  need("cuDevicePrimaryCtxRelease_v2", api.device_primary_ctx_release);
  need("cuCtxPushCurrent_v2", api.ctx_push_current);
  need("cuCtxPopCurrent_v2", api.ctx_pop_current);
  need("cuCtxGetCurrent", api.ctx_get_current);
  need("cuCtxGetDevice", api.ctx_get_device);
  need("cuModuleLoadDataEx", api.module_load_data_ex);
  need("cuModuleUnload", api.module_unload);
  need("cuModuleGetFunction", api.module_get_function);
  need("cuFuncGetAttribute", api.func_get_attribute);
  need("cuFuncSetAttribute", api.func_set_attribute);
  need("cuMemAlloc_v2", api.mem_alloc);
  need("cuMemFree_v2", api.mem_free);
  need("cuMemGetInfo_v2", api.mem_get_info);
  need("cuMemcpyHtoDAsync_v2", api.memcpy_to_device_async);
  need("cuMemcpyDtoHAsync_v2", api.memcpy_to_host_async);
  need("cuMemsetD8Async", api.memset_d8_async);
  need("cuStreamCreate", api.stream_create);
  need("cuStreamDestroy_v2", api.stream_destroy);
  need("cuStreamSynchronize", api.stream_synchronize);
  need("cuStreamIsCapturing", api.stream_is_capturing);
  need("cuThreadExchangeStreamCaptureMode", api.thread_exchange_stream_capture_mode);
  need("cuEventCreate", api.event_create);
  need("cuEventDestroy_v2", api.event_destroy);
  need("cuEventRecord", api.event_record);
  need("cuEventSynchronize", api.event_synchronize);
  need("cuEventElapsedTime", api.event_elapsed_time);
  need("cuLaunchKernel", api.launch_kernel);
  (void)library.bind("cuFuncGetParamInfo", api.func_get_param_info);          // since CUDA 12.4
  (void)library.bind("cuCtxGetId", api.ctx_get_id);                           // since CUDA 12.0
  (void)library.bind("cuLaunchKernelEx", api.launch_kernel_ex);               // since CUDA 12.0
  (void)library.bind("cuTensorMapEncodeTiled", api.tensor_map_encode_tiled);  // since CUDA 12.0
  return missing;
}

}  // namespace

Result<std::shared_ptr<const CudaDriver>> CudaDriver::open() {
  const Result<SharedLibrary> library = open_library();
  if (!library) {
    return std::unexpected(library.error());
  }
  std::shared_ptr<CudaDriver> driver(new CudaDriver);
  driver->path_ = library->path();
  if (const char* missing = bind_all(*library, driver->api_)) {
    return fail(fmt::format("{} is no CUDA driver of this age: it has no {}", driver->path_, missing));
  }
  const cuda::Status status = driver->api_.init(0);
  if (status != cuda::kErrorNoDevice) {
    if (const Result<void> started = driver->check(status, "starting the driver"); !started) {
      return fail(fmt::format("{} ({})", started.error().message, driver->path_));
    }
  }
  if (const Result<void> told = driver->check(driver->api_.driver_get_version(&driver->version_), "asking its version");
      !told) {
    return std::unexpected(told.error());
  }
  return driver;
}

Result<void> CudaDriver::check(cuda::Status status, std::string_view what) const {
  if (status == cuda::kSuccess) {
    return {};
  }
  const char* name = nullptr;
  const char* words = nullptr;
  if (api_.get_error_name(status, &name) != cuda::kSuccess || name == nullptr) {
    return fail(fmt::format("CUDA: {}: unknown error {}", what, static_cast<int>(status)));
  }
  if (api_.get_error_string(status, &words) != cuda::kSuccess || words == nullptr) {
    words = "no words for it";
  }
  return fail(fmt::format("CUDA: {}: {} ({})", what, words, name));
}

Result<int> CudaDriver::device_count() const {
  int count = 0;
  const cuda::Status status = api_.device_get_count(&count);
  if (status == cuda::kErrorNoDevice) {
    return 0;
  }
  if (const Result<void> counted = check(status, "counting the GPUs"); !counted) {
    return std::unexpected(counted.error());
  }
  return count;
}

Result<CudaDeviceInfo> CudaDriver::device_info(int ordinal) const {
  cuda::DeviceOrdinal device = 0;
  if (const Result<void> got = check(api_.device_get(&device, ordinal), fmt::format("opening GPU {}", ordinal)); !got) {
    return std::unexpected(got.error());
  }
  CudaDeviceInfo info;
  info.ordinal = ordinal;
  std::array<char, 256> name{};
  int major = 0, minor = 0, l2 = 0;
  const std::array<cuda::Status, 7> asked = {
      api_.device_get_name(name.data(), static_cast<int>(name.size()) - 1, device),
      api_.device_get_attribute(&major, cuda::kCapabilityMajor, device),
      api_.device_get_attribute(&minor, cuda::kCapabilityMinor, device),
      api_.device_get_attribute(&info.multiprocessors, cuda::kMultiprocessorCount, device),
      api_.device_get_attribute(&l2, cuda::kL2CacheSize, device),
      api_.device_get_attribute(&info.max_shared_bytes, cuda::kMaxSharedMemoryPerBlockOptin, device),
      api_.device_total_mem(&info.memory_bytes, device),
  };
  for (const cuda::Status status : asked) {
    if (const Result<void> told = check(status, fmt::format("asking what GPU {} is", ordinal)); !told) {
      return std::unexpected(told.error());
    }
  }
  info.name = name.data();
  info.capability = 10 * major + minor;
  info.l2_bytes = static_cast<std::size_t>(std::max(l2, 0));
  return info;
}

Result<CudaDriverInfo> find_cuda_driver() {
  const Result<std::shared_ptr<const CudaDriver>> driver = CudaDriver::open();
  if (!driver) {
    return std::unexpected(driver.error());
  }
  CudaDriverInfo info{.path = (*driver)->path(), .version = (*driver)->version(), .devices = {}};
  const Result<int> count = (*driver)->device_count();
  if (!count) {
    return std::unexpected(count.error());
  }
  for (int ordinal = 0; ordinal < *count; ++ordinal) {
    Result<CudaDeviceInfo> device = (*driver)->device_info(ordinal);
    if (!device) {
      return std::unexpected(device.error());
    }
    info.devices.push_back(std::move(*device));
  }
  return info;
}

}  // namespace convtgen
