// A stand-in for libcuda.so.1 with memory, modules, launches and events simulated: what can be tested of the CUDA
// device on a machine with no GPU. A kernel named "double_it" with parameters (pointer, count) doubles that many bytes.
#include "tests/cuda_device/fake_driver.h"

#include <cstring>
#include <sstream>

#include "runtime/device/cuda/cuda_api.h"

using namespace convtgen::cuda;
using convtgen::fake::SeenLaunch;
using convtgen::fake::State;

namespace {

State state;

struct FakeModule {
  std::string symbol;
  std::vector<std::size_t> parameter_bytes;
};

// The status that a test asked this function to return, with the call written down.
Status enter(const char* name, bool question = false, bool needs_context = true) {
  if (!question) {
    state.calls.emplace_back(name);
  }
  if (needs_context && state.current_depth == 0) {
    ++state.calls_without_context;
  }
  if (const auto failure = state.failures.find(name); failure != state.failures.end()) {
    if (const auto left = state.failures_after.find(name); left != state.failures_after.end() && left->second > 0) {
      --left->second;
      return kSuccess;
    }
    return static_cast<Status>(failure->second);
  }
  return kSuccess;
}

FakeModule* module_of(FunctionHandle function) {
  return reinterpret_cast<FakeModule*>(function);
}

// The allocation that holds these bytes whole, or null.
unsigned char* locate(DevicePointer address, std::size_t bytes) {
  const auto above = state.memory.upper_bound(address);
  if (above == state.memory.begin()) {
    return nullptr;
  }
  auto& [base, block] = *std::prev(above);
  const std::size_t offset = address - base;
  return offset <= block.size() && bytes <= block.size() - offset ? block.data() + offset : nullptr;
}

int opaque_object;  // what handles without content point to

}  // namespace

extern "C" {

State* convtgen_fake_state() {
  return &state;
}

Status cuInit(unsigned int) {
  return enter("cuInit", true, false);
}
Status cuDriverGetVersion(int* version) {
  *version = 13010;
  return enter("cuDriverGetVersion", true, false);
}
Status cuGetErrorName(Status status, const char** text) {
  *text = status == kErrorIllegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_OF_THE_TEST";
  return status == 9999 ? kErrorInvalidValue : kSuccess;
}
Status cuGetErrorString(Status status, const char** text) {
  *text = status == kErrorIllegalAddress ? "an illegal memory access was encountered" : "as the test asked";
  return kSuccess;
}
Status cuDeviceGetCount(int* count) {
  *count = state.device_count;
  return enter("cuDeviceGetCount", true, false);
}
Status cuDeviceGet(DeviceOrdinal* device, int ordinal) {
  *device = ordinal;
  return ordinal < state.device_count ? enter("cuDeviceGet", true, false) : static_cast<Status>(101);
}
Status cuDeviceGetName(char* name, int length, DeviceOrdinal) {
  std::strncpy(name, "Fake GPU", static_cast<std::size_t>(length));
  return enter("cuDeviceGetName", true, false);
}
Status cuDeviceGetAttribute(int* value, DeviceAttribute attribute, DeviceOrdinal) {
  switch (attribute) {
    case kMultiprocessorCount:
      *value = 132;
      break;
    case kL2CacheSize:
      *value = state.l2_bytes;
      break;
    case kCapabilityMajor:
      *value = state.capability_major;
      break;
    case kCapabilityMinor:
      *value = state.capability_minor;
      break;
    case kMaxSharedMemoryPerBlockOptin:
      *value = state.max_shared_bytes;
      break;
  }
  return enter("cuDeviceGetAttribute", true, false);
}
Status cuDeviceTotalMem_v2(std::size_t* bytes, DeviceOrdinal) {
  *bytes = state.memory_bytes;
  return enter("cuDeviceTotalMem", true, false);
}

Status cuDevicePrimaryCtxRetain(ContextHandle* context, DeviceOrdinal) {
  const Status status = enter("cuDevicePrimaryCtxRetain", false, false);
  if (status == kSuccess) {
    ++state.live_contexts;
    *context = reinterpret_cast<ContextHandle>(&opaque_object);
  }
  return status;
}
Status cuDevicePrimaryCtxRelease_v2(DeviceOrdinal) {
  --state.live_contexts;
  return enter("cuDevicePrimaryCtxRelease", false, false);
}
Status cuCtxPushCurrent_v2(ContextHandle) {
  ++state.current_depth;
  return enter("cuCtxPushCurrent", true, false);
}
Status cuCtxPopCurrent_v2(ContextHandle* context) {
  --state.current_depth;
  *context = nullptr;
  return enter("cuCtxPopCurrent", true, false);
}

Status cuModuleLoadDataEx(ModuleHandle* module, const void* image, unsigned int count, JitOption* options,
                          void** values) {
  const Status status = enter("cuModuleLoadDataEx");
  if (status != kSuccess) {
    return status;
  }
  const std::string text = static_cast<const char*>(image);
  if (text == "bad") {
    if (count == 2 && options[0] == kJitErrorLogBuffer && options[1] == kJitErrorLogBufferSizeBytes) {
      std::strncpy(static_cast<char*>(values[0]), "ptxas fatal: nonsense", reinterpret_cast<std::size_t>(values[1]));
    }
    return kErrorNoBinaryForGpu;
  }
  auto* loaded = new FakeModule;
  std::istringstream words(text);
  words >> loaded->symbol;
  for (std::size_t bytes = 0; words >> bytes;) {
    loaded->parameter_bytes.push_back(bytes);
  }
  ++state.live_modules;
  *module = reinterpret_cast<ModuleHandle>(loaded);
  return kSuccess;
}
Status cuModuleUnload(ModuleHandle module) {
  delete reinterpret_cast<FakeModule*>(module);
  --state.live_modules;
  return enter("cuModuleUnload");
}
Status cuModuleGetFunction(FunctionHandle* function, ModuleHandle module, const char* name) {
  *function = reinterpret_cast<FunctionHandle>(module);
  return reinterpret_cast<FakeModule*>(module)->symbol == name ? enter("cuModuleGetFunction")
                                                               : static_cast<Status>(500);
}
Status cuFuncGetAttribute(int* value, FunctionAttribute attribute, FunctionHandle) {
  *value = attribute == kSharedSizeBytes ? state.static_shared : state.allowed_shared;
  return enter("cuFuncGetAttribute", true);
}
Status cuFuncSetAttribute(FunctionHandle, FunctionAttribute attribute, int value) {
  if (attribute == kMaxDynamicSharedSizeBytes) {
    state.allowed_shared = value;
  }
  return enter("cuFuncSetAttribute");
}
#ifndef CONVTGEN_FAKE_OLD_DRIVER
Status cuFuncGetParamInfo(FunctionHandle function, std::size_t index, std::size_t* offset, std::size_t* size) {
  const FakeModule* module = module_of(function);
  if (index >= module->parameter_bytes.size()) {
    return kErrorInvalidValue;
  }
  *offset = 8 * index;
  *size = module->parameter_bytes[index];
  return enter("cuFuncGetParamInfo", true);
}
#endif

Status cuMemAlloc_v2(DevicePointer* address, std::size_t bytes) {
  const Status status = enter("cuMemAlloc");
  if (status != kSuccess) {
    return status;
  }
  if (bytes == 0) {
    return kErrorInvalidValue;
  }
  static DevicePointer next = 0x7f0000000000;
  *address = next;
  next += (bytes / 256 + 2) * 256;
  state.memory[*address].assign(bytes, 0xcc);
  return kSuccess;
}
Status cuMemFree_v2(DevicePointer address) {
  const Status status = enter("cuMemFree");
  return state.memory.erase(address) == 1 ? status : kErrorInvalidValue;
}
Status cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, std::size_t bytes, StreamHandle) {
  const Status status = enter("cuMemcpyHtoDAsync");
  unsigned char* place = locate(to, bytes);
  if (status != kSuccess || place == nullptr) {
    return status != kSuccess ? status : kErrorInvalidValue;
  }
  std::memcpy(place, from, bytes);
  return kSuccess;
}
Status cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t bytes, StreamHandle) {
  const Status status = enter("cuMemcpyDtoHAsync");
  const unsigned char* place = locate(from, bytes);
  if (status != kSuccess || place == nullptr) {
    return status != kSuccess ? status : kErrorInvalidValue;
  }
  std::memcpy(to, place, bytes);
  return kSuccess;
}
Status cuMemsetD8Async(DevicePointer to, unsigned char value, std::size_t bytes, StreamHandle) {
  const Status status = enter("cuMemsetD8Async");
  unsigned char* place = locate(to, bytes);
  if (status != kSuccess || place == nullptr) {
    return status != kSuccess ? status : kErrorInvalidValue;
  }
  std::memset(place, value, bytes);
  return kSuccess;
}

Status cuStreamCreate(StreamHandle* stream, unsigned int) {
  const Status status = enter("cuStreamCreate");
  if (status == kSuccess) {
    ++state.live_streams;
    *stream = reinterpret_cast<StreamHandle>(&opaque_object);
  }
  return status;
}
Status cuStreamDestroy_v2(StreamHandle) {
  --state.live_streams;
  return enter("cuStreamDestroy");
}
Status cuStreamSynchronize(StreamHandle) {
  return enter("cuStreamSynchronize");
}
Status cuEventCreate(EventHandle* event, unsigned int) {
  const Status status = enter("cuEventCreate");
  if (status == kSuccess) {
    ++state.live_events;
    *event = reinterpret_cast<EventHandle>(&opaque_object);
  }
  return status;
}
Status cuEventDestroy_v2(EventHandle) {
  --state.live_events;
  return enter("cuEventDestroy");
}
Status cuEventRecord(EventHandle, StreamHandle) {
  return enter("cuEventRecord");
}
Status cuEventSynchronize(EventHandle) {
  return enter("cuEventSynchronize");
}
Status cuEventElapsedTime(float* milliseconds, EventHandle, EventHandle) {
  *milliseconds = state.elapsed.empty() ? 1.0f : state.elapsed.front();
  if (state.elapsed.size() > 1) {
    state.elapsed.erase(state.elapsed.begin());
  }
  return enter("cuEventElapsedTime", true);
}

Status cuLaunchKernel(FunctionHandle function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                      unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                      StreamHandle, void** parameters, void**) {
  const Status status = enter("cuLaunchKernel");
  if (status != kSuccess) {
    return status;
  }
  const FakeModule* module = module_of(function);
  SeenLaunch launch{module->symbol, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, {}};
  for (std::size_t i = 0; i < module->parameter_bytes.size(); ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, parameters[i], module->parameter_bytes[i]);
    launch.arguments.push_back(value);
  }
  if (static_cast<int>(shared_bytes) > state.allowed_shared) {
    return kErrorInvalidValue;
  }
  if (module->symbol == "double_it") {
    unsigned char* bytes = locate(launch.arguments[0], launch.arguments[1]);
    if (bytes == nullptr) {
      return kErrorIllegalAddress;
    }
    for (std::size_t i = 0; i < launch.arguments[1]; ++i) {
      bytes[i] = static_cast<unsigned char>(2 * bytes[i]);
    }
  }
  state.launches.push_back(std::move(launch));
  return kSuccess;
}

#ifndef CONVTGEN_FAKE_OLD_DRIVER
Status cuLaunchKernelEx(const LaunchConfig* config, FunctionHandle function, void** parameters, void** extra) {
  const Status status =
      cuLaunchKernel(function, config->grid[0], config->grid[1], config->grid[2], config->block[0], config->block[1],
                     config->block[2], config->shared_bytes, config->stream, parameters, extra);
  if (status == kSuccess && config->attribute_count == 1 && config->attributes[0].id == kLaunchClusterDimension) {
    state.launches.back().cluster = config->attributes[0].cluster[0];
  }
  return status;
}

// The map's address and type stand in its first words, so that a test sees which map a launch got.
Status cuTensorMapEncodeTiled(EncodedTensorMap* map, TensorMapDataType type, std::uint32_t, void* address,
                              const std::uint64_t*, const std::uint64_t*, const std::uint32_t*, const std::uint32_t*,
                              TensorMapInterleave, TensorMapSwizzle, TensorMapL2Promotion, TensorMapFill) {
  map->words[0] = reinterpret_cast<std::uint64_t>(address) + static_cast<std::uint64_t>(type);
  return enter("cuTensorMapEncodeTiled");
}
#endif

}  // extern "C"
