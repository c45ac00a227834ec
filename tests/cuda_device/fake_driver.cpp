// A stand-in for libcuda.so.1 with memory, modules, launches and events simulated: what can be tested of the CUDA
// device on a machine with no GPU. A kernel named "double_it" with parameters (pointer, count) doubles that many bytes.
#include "tests/cuda_device/fake_driver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <sstream>

#include "runtime/device/cuda/cuda_api.h"
#include "tests/cuda_device/fake_image.h"

using namespace convtgen::cuda;
using convtgen::fake::Image;
using convtgen::fake::image_at;
using convtgen::fake::judgement;
using convtgen::fake::SeenLaunch;
using convtgen::fake::State;

namespace {

int number_in(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : otherwise;
}

State state_of_environment() {
  State own;
  const int capability = number_in("CONVTGEN_FAKE_CAPABILITY", 10 * own.capability_major + own.capability_minor);
  if (const char* name = std::getenv("CONVTGEN_FAKE_NAME")) {
    own.name = name;
  }
  own.capability_major = capability / 10;
  own.capability_minor = capability % 10;
  own.driver_version = number_in("CONVTGEN_FAKE_DRIVER_VERSION", own.driver_version);
  own.max_shared_bytes = number_in("CONVTGEN_FAKE_SHARED", own.max_shared_bytes);
  return own;
}

State state = state_of_environment();
std::recursive_mutex mutex;  // of all that is here
using Lock = std::lock_guard<std::recursive_mutex>;

struct FakeContext {
  int device = 0;
  unsigned long long id = 0;
  bool alive = true;
};
// Never freed, so that a handle of a context that is gone is still told from others.
std::vector<std::unique_ptr<FakeContext>>& contexts() {
  static std::vector<std::unique_ptr<FakeContext>> all;
  return all;
}
std::map<int, FakeContext*> primary;
thread_local std::vector<FakeContext*> stack;
thread_local StreamCaptureMode capture_mode = kCaptureGlobal;

FakeContext* make_context(int device) {
  contexts().push_back(std::make_unique<FakeContext>(FakeContext{device, contexts().size() + 1, true}));
  return contexts().back().get();
}

FakeContext* current() {
  return stack.empty() ? nullptr : stack.back();
}

struct FakeModule;

struct FakeFunction {
  FakeModule* module = nullptr;
  std::string symbol;
  std::vector<std::size_t> parameter_bytes;
};

struct FakeModule {
  FakeContext* context = nullptr;
  bool has_all = false;                // kernels of every name
  std::deque<FakeFunction> functions;  // that stay where they are
};

// The status that a test asked this function to return, with the call written down.
Status enter(const char* name, bool question = false, bool needs_context = true) {
  if (!question && state.record) {
    state.calls.emplace_back(name);
  }
  if (needs_context && current() == nullptr) {
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

std::set<FakeModule*> modules;  // those that are loaded

void unload(FakeModule* module) {
  modules.erase(module);
  delete module;
  --state.live_modules;
}

const FakeFunction& function_of(FunctionHandle function) {
  return *reinterpret_cast<const FakeFunction*>(function);
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

std::size_t allocated() {
  std::size_t bytes = 0;
  for (const auto& [address, block] : state.memory) {
    bytes += block.size();
  }
  return bytes;
}

// Counts the use of a module where it is not loaded.
bool at_home(const FakeModule* module) {
  const bool home = module->context == current() && module->context != nullptr && module->context->alive;
  state.wrong_contexts += home ? 0 : 1;
  return home;
}

int opaque_object;  // what handles without content point to

}  // namespace

extern "C" {

State* convtgen_fake_state() {
  return &state;
}
void* convtgen_fake_make_context(int device) {
  const Lock lock(mutex);
  return make_context(device);
}
void convtgen_fake_destroy_context(void* context) {
  const Lock lock(mutex);
  auto* gone = static_cast<FakeContext*>(context);
  gone->alive = false;
  for (FakeModule* module : std::set(modules)) {
    if (module->context == gone) {
      unload(module);  // as the driver does
    }
  }
}

Status cuInit(unsigned int) {
  const Lock lock(mutex);
  return enter("cuInit", true, false);
}
Status cuDriverGetVersion(int* version) {
  const Lock lock(mutex);
  *version = state.driver_version;
  return enter("cuDriverGetVersion", true, false);
}
Status cuGetErrorName(Status status, const char** text) {
  const Lock lock(mutex);
  *text = status == kErrorIllegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_OF_THE_TEST";
  return status == 9999 ? kErrorInvalidValue : kSuccess;
}
Status cuGetErrorString(Status status, const char** text) {
  const Lock lock(mutex);
  *text = status == kErrorIllegalAddress ? "an illegal memory access was encountered" : "as the test asked";
  return kSuccess;
}
Status cuDeviceGetCount(int* count) {
  const Lock lock(mutex);
  *count = state.device_count;
  return enter("cuDeviceGetCount", true, false);
}
Status cuDeviceGet(DeviceOrdinal* device, int ordinal) {
  const Lock lock(mutex);
  *device = ordinal;
  return ordinal < state.device_count ? enter("cuDeviceGet", true, false) : static_cast<Status>(101);
}
Status cuDeviceGetName(char* name, int length, DeviceOrdinal) {
  const Lock lock(mutex);
  std::strncpy(name, state.name.c_str(), static_cast<std::size_t>(length));
  return enter("cuDeviceGetName", true, false);
}
Status cuDeviceGetAttribute(int* value, DeviceAttribute attribute, DeviceOrdinal) {
  const Lock lock(mutex);
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
  const Lock lock(mutex);
  *bytes = state.memory_bytes;
  return enter("cuDeviceTotalMem", true, false);
}

Status cuDevicePrimaryCtxRetain(ContextHandle* context, DeviceOrdinal device) {
  const Lock lock(mutex);
  const Status status = enter("cuDevicePrimaryCtxRetain", false, false);
  if (status == kSuccess) {
    ++state.live_contexts;
    FakeContext*& own = primary[device];
    own = own == nullptr ? make_context(device) : own;
    *context = reinterpret_cast<ContextHandle>(own);
  }
  return status;
}
Status cuDevicePrimaryCtxRelease_v2(DeviceOrdinal) {
  const Lock lock(mutex);
  --state.live_contexts;
  return enter("cuDevicePrimaryCtxRelease", false, false);
}
Status cuCtxPushCurrent_v2(ContextHandle context) {
  const Lock lock(mutex);
  stack.push_back(reinterpret_cast<FakeContext*>(context));
  ++state.current_depth;
  return enter("cuCtxPushCurrent", true, false);
}
Status cuCtxPopCurrent_v2(ContextHandle* context) {
  const Lock lock(mutex);
  --state.current_depth;
  *context = reinterpret_cast<ContextHandle>(current());
  stack.pop_back();
  return enter("cuCtxPopCurrent", true, false);
}
Status cuCtxGetCurrent(ContextHandle* context) {
  const Lock lock(mutex);
  *context = reinterpret_cast<ContextHandle>(current());
  return enter("cuCtxGetCurrent", true, false);
}
Status cuCtxGetDevice(DeviceOrdinal* device) {
  const Lock lock(mutex);
  if (current() == nullptr) {
    return static_cast<Status>(201);
  }
  *device = current()->device;
  return enter("cuCtxGetDevice", true);
}
#ifndef CONVTGEN_FAKE_OLD_DRIVER
Status cuCtxGetId(ContextHandle context, unsigned long long* id) {
  const Lock lock(mutex);
  const auto* known = reinterpret_cast<FakeContext*>(context);
  if (known == nullptr || !known->alive) {
    return static_cast<Status>(709);
  }
  *id = known->id;
  return enter("cuCtxGetId", true, false);
}
#endif

Status cuModuleLoadDataEx(ModuleHandle* module, const void* image, unsigned int count, JitOption* options,
                          void** values) {
  const Lock lock(mutex);
  const Status status = enter("cuModuleLoadDataEx");
  if (status != kSuccess) {
    return status;
  }
  if (!state.capturing.empty() && capture_mode != kCaptureRelaxed) {
    ++state.spoiled_captures;
    return static_cast<Status>(900);
  }
  const Image told = image_at(image);
  const Status judged =
      state.refused_images.contains(told.architecture())
          ? kErrorNoBinaryForGpu
          : judgement(told, 10 * state.capability_major + state.capability_minor, state.driver_version);
  if (judged != kSuccess) {
    return judged;
  }
  state.last_image = told.architecture();
  if (told.kernels == "bad") {
    if (count == 2 && options[0] == kJitErrorLogBuffer && options[1] == kJitErrorLogBufferSizeBytes) {
      std::strncpy(static_cast<char*>(values[0]), "ptxas fatal: nonsense", reinterpret_cast<std::size_t>(values[1]));
    }
    return kErrorNoBinaryForGpu;
  }
  auto* loaded = new FakeModule;
  modules.insert(loaded);
  loaded->context = current();
  loaded->has_all = told.kernels.empty();
  std::istringstream lines(told.kernels);
  for (std::string line; std::getline(lines, line);) {
    FakeFunction& function = loaded->functions.emplace_back();
    function.module = loaded;
    std::istringstream words(line);
    words >> function.symbol;
    for (std::size_t bytes = 0; words >> bytes;) {
      function.parameter_bytes.push_back(bytes);
    }
  }
  ++state.live_modules;
  *module = reinterpret_cast<ModuleHandle>(loaded);
  return kSuccess;
}
Status cuModuleUnload(ModuleHandle module) {
  const Lock lock(mutex);
  (void)at_home(reinterpret_cast<FakeModule*>(module));
  unload(reinterpret_cast<FakeModule*>(module));
  return enter("cuModuleUnload");
}
Status cuModuleGetFunction(FunctionHandle* function, ModuleHandle module, const char* name) {
  const Lock lock(mutex);
  for (FakeFunction& each : reinterpret_cast<FakeModule*>(module)->functions) {
    if (each.symbol == name) {
      *function = reinterpret_cast<FunctionHandle>(&each);
      return enter("cuModuleGetFunction");
    }
  }
  auto* home = reinterpret_cast<FakeModule*>(module);
  if (!home->has_all) {
    return static_cast<Status>(500);
  }
  FakeFunction& made = home->functions.emplace_back();
  made.module = home;
  made.symbol = name;
  *function = reinterpret_cast<FunctionHandle>(&made);
  return enter("cuModuleGetFunction");
}
Status cuFuncGetAttribute(int* value, FunctionAttribute attribute, FunctionHandle) {
  const Lock lock(mutex);
  *value = attribute == kSharedSizeBytes ? state.static_shared : state.allowed_shared;
  return enter("cuFuncGetAttribute", true);
}
Status cuFuncSetAttribute(FunctionHandle, FunctionAttribute attribute, int value) {
  const Lock lock(mutex);
  if (attribute == kMaxDynamicSharedSizeBytes) {
    state.allowed_shared = value;
  }
  return enter("cuFuncSetAttribute");
}
#ifndef CONVTGEN_FAKE_OLD_DRIVER
Status cuFuncGetParamInfo(FunctionHandle function, std::size_t index, std::size_t* offset, std::size_t* size) {
  const Lock lock(mutex);
  const FakeFunction& asked = function_of(function);
  if (index >= asked.parameter_bytes.size()) {
    return kErrorInvalidValue;
  }
  *offset = 8 * index;
  *size = asked.parameter_bytes[index];
  return enter("cuFuncGetParamInfo", true);
}
#endif

Status cuMemAlloc_v2(DevicePointer* address, std::size_t bytes) {
  const Lock lock(mutex);
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
  state.most_memory = std::max(state.most_memory, allocated());
  return kSuccess;
}
Status cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  const Lock lock(mutex);
  *total = state.memory_bytes;
  *free = state.memory_bytes - std::min(state.memory_bytes, allocated());
  return enter("cuMemGetInfo", true);
}
Status cuMemFree_v2(DevicePointer address) {
  const Lock lock(mutex);
  const Status status = enter("cuMemFree");
  return state.memory.erase(address) == 1 ? status : kErrorInvalidValue;
}
Status cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, std::size_t bytes, StreamHandle) {
  const Lock lock(mutex);
  const Status status = enter("cuMemcpyHtoDAsync");
  unsigned char* place = locate(to, bytes);
  if (status != kSuccess || place == nullptr) {
    return status != kSuccess ? status : kErrorInvalidValue;
  }
  std::memcpy(place, from, bytes);
  return kSuccess;
}
Status cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t bytes, StreamHandle) {
  const Lock lock(mutex);
  const Status status = enter("cuMemcpyDtoHAsync");
  const unsigned char* place = locate(from, bytes);
  if (status != kSuccess || place == nullptr) {
    return status != kSuccess ? status : kErrorInvalidValue;
  }
  std::memcpy(to, place, bytes);
  return kSuccess;
}
Status cuMemsetD8Async(DevicePointer to, unsigned char value, std::size_t bytes, StreamHandle) {
  const Lock lock(mutex);
  const Status status = enter("cuMemsetD8Async");
  unsigned char* place = locate(to, bytes);
  if (status != kSuccess || place == nullptr) {
    return status != kSuccess ? status : kErrorInvalidValue;
  }
  std::memset(place, value, bytes);
  return kSuccess;
}

Status cuStreamCreate(StreamHandle* stream, unsigned int) {
  const Lock lock(mutex);
  const Status status = enter("cuStreamCreate");
  if (status == kSuccess) {
    ++state.live_streams;
    *stream = reinterpret_cast<StreamHandle>(&opaque_object);
  }
  return status;
}
Status cuStreamDestroy_v2(StreamHandle) {
  const Lock lock(mutex);
  --state.live_streams;
  return enter("cuStreamDestroy");
}
Status cuStreamIsCapturing(StreamHandle stream, StreamCaptureStatus* status) {
  const Lock lock(mutex);
  *status = state.capturing.contains(reinterpret_cast<std::uint64_t>(stream)) ? kCaptureActive : kCaptureNone;
  return enter("cuStreamIsCapturing", true);
}
Status cuThreadExchangeStreamCaptureMode(StreamCaptureMode* mode) {
  const Lock lock(mutex);
  std::swap(*mode, capture_mode);
  return enter("cuThreadExchangeStreamCaptureMode", true, false);
}
Status cuStreamSynchronize(StreamHandle) {
  const Lock lock(mutex);
  return enter("cuStreamSynchronize");
}
Status cuEventCreate(EventHandle* event, unsigned int) {
  const Lock lock(mutex);
  const Status status = enter("cuEventCreate");
  if (status == kSuccess) {
    ++state.live_events;
    *event = reinterpret_cast<EventHandle>(&opaque_object);
  }
  return status;
}
Status cuEventDestroy_v2(EventHandle) {
  const Lock lock(mutex);
  --state.live_events;
  return enter("cuEventDestroy");
}
Status cuEventRecord(EventHandle, StreamHandle) {
  const Lock lock(mutex);
  return enter("cuEventRecord");
}
Status cuEventSynchronize(EventHandle) {
  const Lock lock(mutex);
  return enter("cuEventSynchronize");
}
Status cuEventElapsedTime(float* milliseconds, EventHandle, EventHandle) {
  const Lock lock(mutex);
  *milliseconds = state.elapsed.empty() ? 1.0f : state.elapsed.front();
  if (state.elapsed.size() > 1) {
    state.elapsed.erase(state.elapsed.begin());
  }
  return enter("cuEventElapsedTime", true);
}

Status cuLaunchKernel(FunctionHandle function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                      unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                      StreamHandle stream, void** parameters, void**) {
  const Lock lock(mutex);
  const Status status = enter("cuLaunchKernel");
  if (status != kSuccess) {
    return status;
  }
  const FakeFunction& launched = function_of(function);
  if (!at_home(launched.module)) {
    return static_cast<Status>(400);
  }
  if (!state.record) {
    return kSuccess;
  }
  SeenLaunch launch{launched.symbol, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, {}};
  launch.stream = reinterpret_cast<std::uint64_t>(stream);
  launch.context = current()->id;
  for (std::size_t i = 0; i < launched.parameter_bytes.size(); ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, parameters[i], launched.parameter_bytes[i]);
    launch.arguments.push_back(value);
  }
  if (static_cast<int>(shared_bytes) > state.allowed_shared) {
    return kErrorInvalidValue;
  }
  if (state.launches_clear) {
    for (auto& [address, block] : state.memory) {
      std::ranges::fill(block, 0);
    }
  }
  if (launched.symbol == "double_it") {
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
  const Lock lock(mutex);
  const Status status =
      cuLaunchKernel(function, config->grid[0], config->grid[1], config->grid[2], config->block[0], config->block[1],
                     config->block[2], config->shared_bytes, config->stream, parameters, extra);
  for (unsigned int i = 0; status == kSuccess && state.record && i < config->attribute_count; ++i) {
    const LaunchAttribute& attribute = config->attributes[i];
    if (attribute.id == kLaunchClusterDimension) {
      state.launches.back().cluster = attribute.value[0];
    } else if (attribute.id == kLaunchProgrammaticStreamSerialization) {
      state.launches.back().overlaps = attribute.value[0] == 1;
    }
  }
  return status;
}

// The map's address and type stand in its first words, so that a test sees which map a launch got.
Status cuTensorMapEncodeTiled(EncodedTensorMap* map, TensorMapDataType type, std::uint32_t, void* address,
                              const std::uint64_t*, const std::uint64_t*, const std::uint32_t*, const std::uint32_t*,
                              TensorMapInterleave, TensorMapSwizzle, TensorMapL2Promotion, TensorMapFill) {
  const Lock lock(mutex);
  map->words[0] = reinterpret_cast<std::uint64_t>(address) + static_cast<std::uint64_t>(type);
  return enter("cuTensorMapEncodeTiled");
}
#endif

}  // extern "C"
