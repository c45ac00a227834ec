// The part of the CUDA driver's C interface that is used here, declared by ourselves so that no CUDA header is needed
// to build. Names and values as in the public reference, https://docs.nvidia.com/cuda/cuda-driver-api/; a test compares
// them with cuda.h where there is one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace convtgen::cuda {

using DeviceOrdinal = int;            // CUdevice
using DevicePointer = std::uint64_t;  // CUdeviceptr

struct ContextOpaque;
struct ModuleOpaque;
struct FunctionOpaque;
struct StreamOpaque;
struct EventOpaque;
using ContextHandle = ContextOpaque*;    // CUcontext
using ModuleHandle = ModuleOpaque*;      // CUmodule
using FunctionHandle = FunctionOpaque*;  // CUfunction
using StreamHandle = StreamOpaque*;      // CUstream
using EventHandle = EventOpaque*;        // CUevent

// CUresult; only those that are told apart.
enum Status : int {
  kSuccess = 0,
  kErrorInvalidValue = 1,
  kErrorOutOfMemory = 2,
  kErrorNoDevice = 100,
  kErrorNoBinaryForGpu = 209,
  kErrorUnsupportedPtxVersion = 222,
  kErrorIllegalAddress = 700,
  kErrorLaunchTimeout = 702,
  kErrorAssert = 710,
  kErrorHardwareStackError = 714,
  kErrorIllegalInstruction = 715,
  kErrorMisalignedAddress = 716,
  kErrorInvalidAddressSpace = 717,
  kErrorInvalidPc = 718,
  kErrorLaunchFailed = 719,
};

// CUdevice_attribute
enum DeviceAttribute : int {
  kMultiprocessorCount = 16,
  kL2CacheSize = 38,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
  kMaxSharedMemoryPerBlockOptin = 97,
};

// CUfunction_attribute
enum FunctionAttribute : int {
  kSharedSizeBytes = 1,  // static
  kMaxDynamicSharedSizeBytes = 8,
};

// CUjit_option
enum JitOption : int {
  kJitErrorLogBuffer = 5,
  kJitErrorLogBufferSizeBytes = 6,
};

constexpr unsigned int kStreamNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
constexpr unsigned int kEventDefault = 0;       // CU_EVENT_DEFAULT

/// The functions, by the names that the library exports without "cu" and version.
struct Api {
  Status (*Init)(unsigned int flags);
  Status (*DriverGetVersion)(int* version);
  Status (*GetErrorName)(Status, const char** text);
  Status (*GetErrorString)(Status, const char** text);
  Status (*DeviceGetCount)(int* count);
  Status (*DeviceGet)(DeviceOrdinal*, int ordinal);
  Status (*DeviceGetName)(char* name, int length, DeviceOrdinal);
  Status (*DeviceGetAttribute)(int* value, DeviceAttribute, DeviceOrdinal);
  Status (*DeviceTotalMem)(std::size_t* bytes, DeviceOrdinal);
  Status (*DevicePrimaryCtxRetain)(ContextHandle*, DeviceOrdinal);
  Status (*DevicePrimaryCtxRelease)(DeviceOrdinal);
  Status (*CtxPushCurrent)(ContextHandle);
  Status (*CtxPopCurrent)(ContextHandle*);
  Status (*ModuleLoadDataEx)(ModuleHandle*, const void* image, unsigned int option_count, JitOption* options,
                             void** values);
  Status (*ModuleUnload)(ModuleHandle);
  Status (*ModuleGetFunction)(FunctionHandle*, ModuleHandle, const char* name);
  Status (*FuncGetAttribute)(int* value, FunctionAttribute, FunctionHandle);
  Status (*FuncSetAttribute)(FunctionHandle, FunctionAttribute, int value);
  Status (*FuncGetParamInfo)(FunctionHandle, std::size_t index, std::size_t* offset, std::size_t* size);
  Status (*MemAlloc)(DevicePointer*, std::size_t bytes);
  Status (*MemFree)(DevicePointer);
  Status (*MemcpyHtoDAsync)(DevicePointer to, const void* from, std::size_t bytes, StreamHandle);
  Status (*MemcpyDtoHAsync)(void* to, DevicePointer from, std::size_t bytes, StreamHandle);
  Status (*MemsetD8Async)(DevicePointer, unsigned char value, std::size_t bytes, StreamHandle);
  Status (*StreamCreate)(StreamHandle*, unsigned int flags);
  Status (*StreamDestroy)(StreamHandle);
  Status (*StreamSynchronize)(StreamHandle);
  Status (*EventCreate)(EventHandle*, unsigned int flags);
  Status (*EventDestroy)(EventHandle);
  Status (*EventRecord)(EventHandle, StreamHandle);
  Status (*EventSynchronize)(EventHandle);
  Status (*EventElapsedTime)(float* milliseconds, EventHandle start, EventHandle end);
  Status (*LaunchKernel)(FunctionHandle, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                         unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                         StreamHandle, void** parameters, void** extra);
};

}  // namespace convtgen::cuda
