// Our declarations of the driver and NVRTC against the headers of the CUDA toolkit. Built where there is one.
#include <cuda.h>
#include <gtest/gtest.h>
#include <nvrtc.h>

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "runtime/compile/nvrtc_api.h"
#include "runtime/device/cuda/cuda_api.h"

namespace convtgen {
namespace {

// Both are passed alike: an enumeration as an int, a pointer as a pointer, a pointer to those likewise.
template <typename Ours, typename Theirs>
constexpr bool kSamePassing =
    sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
    (std::is_integral_v<Ours> || std::is_enum_v<Ours>) == (std::is_integral_v<Theirs> || std::is_enum_v<Theirs>);

template <typename Ours, typename Theirs>
struct SameSignature : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
  requires(sizeof...(A) == sizeof...(B))
struct SameSignature<R (*)(A...), S (*)(B...)> : std::bool_constant<kSamePassing<R, S> && (kSamePassing<A, B> && ...)> {
};

TEST(ApiValuesTest, DriverValues) {
  EXPECT_EQ(int{cuda::kErrorInvalidValue}, int{CUDA_ERROR_INVALID_VALUE});
  EXPECT_EQ(int{cuda::kErrorOutOfMemory}, int{CUDA_ERROR_OUT_OF_MEMORY});
  EXPECT_EQ(int{cuda::kErrorNoDevice}, int{CUDA_ERROR_NO_DEVICE});
  EXPECT_EQ(int{cuda::kErrorNoBinaryForGpu}, int{CUDA_ERROR_NO_BINARY_FOR_GPU});
  EXPECT_EQ(int{cuda::kErrorIllegalAddress}, int{CUDA_ERROR_ILLEGAL_ADDRESS});
  EXPECT_EQ(int{cuda::kErrorLaunchTimeout}, int{CUDA_ERROR_LAUNCH_TIMEOUT});
  EXPECT_EQ(int{cuda::kErrorAssert}, int{CUDA_ERROR_ASSERT});
  EXPECT_EQ(int{cuda::kErrorHardwareStackError}, int{CUDA_ERROR_HARDWARE_STACK_ERROR});
  EXPECT_EQ(int{cuda::kErrorIllegalInstruction}, int{CUDA_ERROR_ILLEGAL_INSTRUCTION});
  EXPECT_EQ(int{cuda::kErrorMisalignedAddress}, int{CUDA_ERROR_MISALIGNED_ADDRESS});
  EXPECT_EQ(int{cuda::kErrorInvalidAddressSpace}, int{CUDA_ERROR_INVALID_ADDRESS_SPACE});
  EXPECT_EQ(int{cuda::kErrorInvalidPc}, int{CUDA_ERROR_INVALID_PC});
  EXPECT_EQ(int{cuda::kErrorLaunchFailed}, int{CUDA_ERROR_LAUNCH_FAILED});
  EXPECT_EQ(int{cuda::kMultiprocessorCount}, int{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT});
  EXPECT_EQ(int{cuda::kL2CacheSize}, int{CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE});
  EXPECT_EQ(int{cuda::kCapabilityMajor}, int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR});
  EXPECT_EQ(int{cuda::kCapabilityMinor}, int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR});
  EXPECT_EQ(int{cuda::kMaxSharedMemoryPerBlockOptin}, int{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN});
  EXPECT_EQ(int{cuda::kSharedSizeBytes}, int{CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES});
  EXPECT_EQ(int{cuda::kMaxDynamicSharedSizeBytes}, int{CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES});
  EXPECT_EQ(int{cuda::kJitErrorLogBuffer}, int{CU_JIT_ERROR_LOG_BUFFER});
  EXPECT_EQ(int{cuda::kJitErrorLogBufferSizeBytes}, int{CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES});
  EXPECT_EQ(cuda::kStreamNonBlocking, unsigned{CU_STREAM_NON_BLOCKING});
  EXPECT_EQ(cuda::kEventDefault, unsigned{CU_EVENT_DEFAULT});
}

TEST(ApiValuesTest, LaunchesAndTensorMaps) {
  EXPECT_EQ(sizeof(cuda::LaunchAttribute), sizeof(CUlaunchAttribute));
  EXPECT_EQ(offsetof(cuda::LaunchAttribute, value), offsetof(CUlaunchAttribute, value));
  EXPECT_EQ(int{cuda::kLaunchClusterDimension}, int{CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION});
  EXPECT_EQ(int{cuda::kLaunchProgrammaticStreamSerialization},
            int{CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION});
  CUlaunchAttributeValue overlap{};
  overlap.programmaticStreamSerializationAllowed = 1;
  EXPECT_EQ(std::memcmp(&overlap, cuda::kMayOverlap.value, sizeof overlap), 0);
  EXPECT_EQ(sizeof(cuda::LaunchConfig), sizeof(CUlaunchConfig));
  EXPECT_EQ(offsetof(cuda::LaunchConfig, block), offsetof(CUlaunchConfig, blockDimX));
  EXPECT_EQ(offsetof(cuda::LaunchConfig, shared_bytes), offsetof(CUlaunchConfig, sharedMemBytes));
  EXPECT_EQ(offsetof(cuda::LaunchConfig, stream), offsetof(CUlaunchConfig, hStream));
  EXPECT_EQ(offsetof(cuda::LaunchConfig, attributes), offsetof(CUlaunchConfig, attrs));
  EXPECT_EQ(offsetof(cuda::LaunchConfig, attribute_count), offsetof(CUlaunchConfig, numAttrs));
  EXPECT_EQ(sizeof(cuda::EncodedTensorMap), sizeof(CUtensorMap));
  EXPECT_EQ(alignof(cuda::EncodedTensorMap), 64u);
  EXPECT_EQ(int{cuda::kErrorNotInitialized}, int{CUDA_ERROR_NOT_INITIALIZED});
  EXPECT_EQ(int{cuda::kErrorInvalidImage}, int{CUDA_ERROR_INVALID_IMAGE});
  EXPECT_EQ(int{cuda::kCaptureNone}, int{CU_STREAM_CAPTURE_STATUS_NONE});
  EXPECT_EQ(int{cuda::kCaptureActive}, int{CU_STREAM_CAPTURE_STATUS_ACTIVE});
  EXPECT_EQ(int{cuda::kCaptureInvalidated}, int{CU_STREAM_CAPTURE_STATUS_INVALIDATED});
  EXPECT_EQ(int{cuda::kCaptureGlobal}, int{CU_STREAM_CAPTURE_MODE_GLOBAL});
  EXPECT_EQ(int{cuda::kCaptureThreadLocal}, int{CU_STREAM_CAPTURE_MODE_THREAD_LOCAL});
  EXPECT_EQ(int{cuda::kCaptureRelaxed}, int{CU_STREAM_CAPTURE_MODE_RELAXED});
  EXPECT_EQ(int{cuda::kTensorMapUint8}, int{CU_TENSOR_MAP_DATA_TYPE_UINT8});
  EXPECT_EQ(int{cuda::kTensorMapUint16}, int{CU_TENSOR_MAP_DATA_TYPE_UINT16});
  EXPECT_EQ(int{cuda::kTensorMapUint32}, int{CU_TENSOR_MAP_DATA_TYPE_UINT32});
  EXPECT_EQ(int{cuda::kTensorMapFloat16}, int{CU_TENSOR_MAP_DATA_TYPE_FLOAT16});
  EXPECT_EQ(int{cuda::kTensorMapFloat32}, int{CU_TENSOR_MAP_DATA_TYPE_FLOAT32});
  EXPECT_EQ(int{cuda::kTensorMapFloat64}, int{CU_TENSOR_MAP_DATA_TYPE_FLOAT64});
  EXPECT_EQ(int{cuda::kTensorMapBfloat16}, int{CU_TENSOR_MAP_DATA_TYPE_BFLOAT16});
  EXPECT_EQ(int{cuda::kTensorMapTfloat32}, int{CU_TENSOR_MAP_DATA_TYPE_TFLOAT32});
  EXPECT_EQ(int{cuda::kTensorMapInterleaveNone}, int{CU_TENSOR_MAP_INTERLEAVE_NONE});
  EXPECT_EQ(int{cuda::kTensorMapSwizzleNone}, int{CU_TENSOR_MAP_SWIZZLE_NONE});
  EXPECT_EQ(int{cuda::kTensorMapSwizzle32}, int{CU_TENSOR_MAP_SWIZZLE_32B});
  EXPECT_EQ(int{cuda::kTensorMapSwizzle64}, int{CU_TENSOR_MAP_SWIZZLE_64B});
  EXPECT_EQ(int{cuda::kTensorMapSwizzle128}, int{CU_TENSOR_MAP_SWIZZLE_128B});
  EXPECT_EQ(int{cuda::kTensorMapL2Promotion128}, int{CU_TENSOR_MAP_L2_PROMOTION_L2_128B});
  EXPECT_EQ(int{cuda::kTensorMapFillZero}, int{CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE});
  EXPECT_EQ(int{cuda::kTensorMapFillNan}, int{CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA});
}

TEST(ApiValuesTest, DriverSignatures) {
  const cuda::Api ours{};
#define CONVTGEN_SAME(member, function) \
  EXPECT_TRUE((SameSignature<decltype(ours.member), decltype(&function)>::value)) << #function
  CONVTGEN_SAME(init, cuInit);
  CONVTGEN_SAME(driver_get_version, cuDriverGetVersion);
  CONVTGEN_SAME(get_error_name, cuGetErrorName);
  CONVTGEN_SAME(get_error_string, cuGetErrorString);
  CONVTGEN_SAME(device_get_count, cuDeviceGetCount);
  CONVTGEN_SAME(device_get, cuDeviceGet);
  CONVTGEN_SAME(device_get_name, cuDeviceGetName);
  CONVTGEN_SAME(device_get_attribute, cuDeviceGetAttribute);
  CONVTGEN_SAME(device_total_mem, cuDeviceTotalMem);
  CONVTGEN_SAME(device_primary_ctx_retain, cuDevicePrimaryCtxRetain);
  CONVTGEN_SAME(device_primary_ctx_release, cuDevicePrimaryCtxRelease);
  CONVTGEN_SAME(ctx_push_current, cuCtxPushCurrent);
  CONVTGEN_SAME(ctx_pop_current, cuCtxPopCurrent);
  CONVTGEN_SAME(ctx_get_current, cuCtxGetCurrent);
  CONVTGEN_SAME(ctx_get_device, cuCtxGetDevice);
  CONVTGEN_SAME(ctx_get_id, cuCtxGetId);
  CONVTGEN_SAME(module_load_data_ex, cuModuleLoadDataEx);
  CONVTGEN_SAME(module_unload, cuModuleUnload);
  CONVTGEN_SAME(module_get_function, cuModuleGetFunction);
  CONVTGEN_SAME(func_get_attribute, cuFuncGetAttribute);
  CONVTGEN_SAME(func_set_attribute, cuFuncSetAttribute);
#if CUDA_VERSION >= 12040
  CONVTGEN_SAME(func_get_param_info, cuFuncGetParamInfo);
#endif
  CONVTGEN_SAME(mem_alloc, cuMemAlloc);
  CONVTGEN_SAME(mem_free, cuMemFree);
  CONVTGEN_SAME(mem_get_info, cuMemGetInfo);
  CONVTGEN_SAME(memcpy_to_device_async, cuMemcpyHtoDAsync);
  CONVTGEN_SAME(memcpy_to_host_async, cuMemcpyDtoHAsync);
  CONVTGEN_SAME(memset_d8_async, cuMemsetD8Async);
  CONVTGEN_SAME(stream_create, cuStreamCreate);
  CONVTGEN_SAME(stream_destroy, cuStreamDestroy);
  CONVTGEN_SAME(stream_synchronize, cuStreamSynchronize);
  CONVTGEN_SAME(stream_is_capturing, cuStreamIsCapturing);
  CONVTGEN_SAME(thread_exchange_stream_capture_mode, cuThreadExchangeStreamCaptureMode);
  CONVTGEN_SAME(event_create, cuEventCreate);
  CONVTGEN_SAME(event_destroy, cuEventDestroy);
  CONVTGEN_SAME(event_record, cuEventRecord);
  CONVTGEN_SAME(event_synchronize, cuEventSynchronize);
  CONVTGEN_SAME(event_elapsed_time, cuEventElapsedTime);
  CONVTGEN_SAME(launch_kernel, cuLaunchKernel);
  CONVTGEN_SAME(launch_kernel_ex, cuLaunchKernelEx);
  CONVTGEN_SAME(tensor_map_encode_tiled, cuTensorMapEncodeTiled);
}

TEST(ApiValuesTest, NvrtcValuesAndSignatures) {
  EXPECT_EQ(int{nvrtc::kErrorInvalidOption}, int{NVRTC_ERROR_INVALID_OPTION});
  EXPECT_EQ(int{nvrtc::kErrorCompilation}, int{NVRTC_ERROR_COMPILATION});
  EXPECT_EQ(int{nvrtc::kErrorBuiltinOperationFailure}, int{NVRTC_ERROR_BUILTIN_OPERATION_FAILURE});
  const nvrtc::Api ours{};
  CONVTGEN_SAME(get_error_string, nvrtcGetErrorString);
  CONVTGEN_SAME(version, nvrtcVersion);
  CONVTGEN_SAME(get_num_supported_archs, nvrtcGetNumSupportedArchs);
  CONVTGEN_SAME(get_supported_archs, nvrtcGetSupportedArchs);
  CONVTGEN_SAME(create_program, nvrtcCreateProgram);
  CONVTGEN_SAME(destroy_program, nvrtcDestroyProgram);
  CONVTGEN_SAME(compile_program, nvrtcCompileProgram);
  CONVTGEN_SAME(get_ptx_size, nvrtcGetPTXSize);
  CONVTGEN_SAME(get_ptx, nvrtcGetPTX);
  CONVTGEN_SAME(get_cubin_size, nvrtcGetCUBINSize);
  CONVTGEN_SAME(get_cubin, nvrtcGetCUBIN);
  CONVTGEN_SAME(get_program_log_size, nvrtcGetProgramLogSize);
  CONVTGEN_SAME(get_program_log, nvrtcGetProgramLog);
#undef CONVTGEN_SAME
}

}  // namespace
}  // namespace convtgen
