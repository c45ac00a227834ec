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

// CUresult; only the values that the code distinguishes.
enum Status : int {
  kSuccess = 0,
  kErrorInvalidValue = 1,
  kErrorOutOfMemory = 2,
  kErrorNotInitialized = 3,
  kErrorNoDevice = 100,
  kErrorInvalidImage = 200,
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

// CUstreamCaptureStatus and CUstreamCaptureMode
enum StreamCaptureStatus : int { kCaptureNone = 0, kCaptureActive = 1, kCaptureInvalidated = 2 };
enum StreamCaptureMode : int { kCaptureGlobal = 0, kCaptureThreadLocal = 1, kCaptureRelaxed = 2 };

// CUtensorMap: the chip's form, opaque.
struct alignas(64) EncodedTensorMap {
  std::uint64_t words[16];
};

// CUtensorMapDataType
enum TensorMapDataType : int {
  kTensorMapUint8 = 0,
  kTensorMapUint16 = 1,
  kTensorMapUint32 = 2,
  kTensorMapFloat16 = 6,
  kTensorMapFloat32 = 7,
  kTensorMapFloat64 = 8,
  kTensorMapBfloat16 = 9,
  kTensorMapTfloat32 = 11,
};
// CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill
enum TensorMapInterleave : int { kTensorMapInterleaveNone = 0 };
enum TensorMapSwizzle : int {
  kTensorMapSwizzleNone = 0,
  kTensorMapSwizzle32 = 1,
  kTensorMapSwizzle64 = 2,
  kTensorMapSwizzle128 = 3,
};
enum TensorMapL2Promotion : int { kTensorMapL2Promotion128 = 2 };
enum TensorMapFill : int { kTensorMapFillZero = 0, kTensorMapFillNan = 1 };

// CUlaunchAttribute and CUlaunchConfig
enum LaunchAttributeId : int { kLaunchClusterDimension = 4, kLaunchProgrammaticStreamSerialization = 6 };
struct LaunchAttribute {
  LaunchAttributeId id;
  alignas(8) unsigned int value[3];          // the blocks of a cluster in each direction; 1: the launch may begin early
  char rest[64 - 3 * sizeof(unsigned int)];  // the value is a union of 64 bytes
};
/// The launch may begin before the one before it has ended.
inline constexpr LaunchAttribute kMayOverlap{
    .id = kLaunchProgrammaticStreamSerialization, .value = {1, 0, 0}, .rest = {}};
struct LaunchConfig {
  unsigned int grid[3];
  unsigned int block[3];
  unsigned int shared_bytes;
  StreamHandle stream;
  LaunchAttribute* attributes;
  unsigned int attribute_count;
};

/// The functions; mem_alloc is cuMemAlloc in its newest version, and so on.
struct Api {
  Status (*init)(unsigned int flags);
  Status (*driver_get_version)(int* version);
  Status (*get_error_name)(Status, const char** text);
  Status (*get_error_string)(Status, const char** text);
  Status (*device_get_count)(int* count);
  Status (*device_get)(DeviceOrdinal*, int ordinal);
  Status (*device_get_name)(char* name, int length, DeviceOrdinal);
  Status (*device_get_attribute)(int* value, DeviceAttribute, DeviceOrdinal);
  Status (*device_total_mem)(std::size_t* bytes, DeviceOrdinal);
  Status (*device_primary_ctx_retain)(ContextHandle*, DeviceOrdinal);
  Status (*device_primary_ctx_release)(DeviceOrdinal);
  Status (*ctx_push_current)(ContextHandle);
  Status (*ctx_pop_current)(ContextHandle*);
  Status (*ctx_get_current)(ContextHandle*);
  Status (*ctx_get_device)(DeviceOrdinal*);
  Status (*module_load_data_ex)(ModuleHandle*, const void* image, unsigned int option_count, JitOption* options,
                                void** values);
  Status (*module_unload)(ModuleHandle);
  Status (*module_get_function)(FunctionHandle*, ModuleHandle, const char* name);
  Status (*func_get_attribute)(int* value, FunctionAttribute, FunctionHandle);
  Status (*func_set_attribute)(FunctionHandle, FunctionAttribute, int value);
  Status (*func_get_param_info)(FunctionHandle, std::size_t index, std::size_t* offset, std::size_t* size);
  Status (*mem_alloc)(DevicePointer*, std::size_t bytes);
  Status (*mem_free)(DevicePointer);
  Status (*mem_get_info)(std::size_t* free, std::size_t* total);
  Status (*memcpy_to_device_async)(DevicePointer to, const void* from, std::size_t bytes, StreamHandle);
  Status (*memcpy_to_host_async)(void* to, DevicePointer from, std::size_t bytes, StreamHandle);
  Status (*memset_d8_async)(DevicePointer, unsigned char value, std::size_t bytes, StreamHandle);
  Status (*stream_create)(StreamHandle*, unsigned int flags);
  Status (*stream_destroy)(StreamHandle);
  Status (*stream_synchronize)(StreamHandle);
  Status (*stream_is_capturing)(StreamHandle, StreamCaptureStatus*);
  Status (*thread_exchange_stream_capture_mode)(StreamCaptureMode*);
  Status (*event_create)(EventHandle*, unsigned int flags);
  Status (*event_destroy)(EventHandle);
  Status (*event_record)(EventHandle, StreamHandle);
  Status (*event_synchronize)(EventHandle);
  Status (*event_elapsed_time)(float* milliseconds, EventHandle start, EventHandle end);
  Status (*launch_kernel)(FunctionHandle, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                          unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                          StreamHandle, void** parameters, void** extra);
  // Since CUDA 12.0; null where the driver is older.
  Status (*ctx_get_id)(ContextHandle, unsigned long long*);
  Status (*launch_kernel_ex)(const LaunchConfig*, FunctionHandle, void** parameters, void** extra);
  Status (*tensor_map_encode_tiled)(EncodedTensorMap*, TensorMapDataType, std::uint32_t rank, void* address,
                                    const std::uint64_t* sizes, const std::uint64_t* pitches, const std::uint32_t* box,
                                    const std::uint32_t* steps, TensorMapInterleave, TensorMapSwizzle,
                                    TensorMapL2Promotion, TensorMapFill);
};

}  // namespace convtgen::cuda
