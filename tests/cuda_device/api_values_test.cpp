// Our declarations of the driver and NVRTC against the headers of the CUDA toolkit. Built where there is one.
#include <cuda.h>
#include <gtest/gtest.h>
#include <nvrtc.h>

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

TEST(ApiValuesTest, DriverSignatures) {
  const cuda::Api ours{};
#define CONVTGEN_SAME(member, function) \
  EXPECT_TRUE((SameSignature<decltype(ours.member), decltype(&function)>::value)) << #function
  CONVTGEN_SAME(Init, cuInit);
  CONVTGEN_SAME(DriverGetVersion, cuDriverGetVersion);
  CONVTGEN_SAME(GetErrorName, cuGetErrorName);
  CONVTGEN_SAME(GetErrorString, cuGetErrorString);
  CONVTGEN_SAME(DeviceGetCount, cuDeviceGetCount);
  CONVTGEN_SAME(DeviceGet, cuDeviceGet);
  CONVTGEN_SAME(DeviceGetName, cuDeviceGetName);
  CONVTGEN_SAME(DeviceGetAttribute, cuDeviceGetAttribute);
  CONVTGEN_SAME(DeviceTotalMem, cuDeviceTotalMem);
  CONVTGEN_SAME(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain);
  CONVTGEN_SAME(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease);
  CONVTGEN_SAME(CtxPushCurrent, cuCtxPushCurrent);
  CONVTGEN_SAME(CtxPopCurrent, cuCtxPopCurrent);
  CONVTGEN_SAME(ModuleLoadDataEx, cuModuleLoadDataEx);
  CONVTGEN_SAME(ModuleUnload, cuModuleUnload);
  CONVTGEN_SAME(ModuleGetFunction, cuModuleGetFunction);
  CONVTGEN_SAME(FuncGetAttribute, cuFuncGetAttribute);
  CONVTGEN_SAME(FuncSetAttribute, cuFuncSetAttribute);
#if CUDA_VERSION >= 12040
  CONVTGEN_SAME(FuncGetParamInfo, cuFuncGetParamInfo);
#endif
  CONVTGEN_SAME(MemAlloc, cuMemAlloc);
  CONVTGEN_SAME(MemFree, cuMemFree);
  CONVTGEN_SAME(MemcpyHtoDAsync, cuMemcpyHtoDAsync);
  CONVTGEN_SAME(MemcpyDtoHAsync, cuMemcpyDtoHAsync);
  CONVTGEN_SAME(MemsetD8Async, cuMemsetD8Async);
  CONVTGEN_SAME(StreamCreate, cuStreamCreate);
  CONVTGEN_SAME(StreamDestroy, cuStreamDestroy);
  CONVTGEN_SAME(StreamSynchronize, cuStreamSynchronize);
  CONVTGEN_SAME(EventCreate, cuEventCreate);
  CONVTGEN_SAME(EventDestroy, cuEventDestroy);
  CONVTGEN_SAME(EventRecord, cuEventRecord);
  CONVTGEN_SAME(EventSynchronize, cuEventSynchronize);
  CONVTGEN_SAME(EventElapsedTime, cuEventElapsedTime);
  CONVTGEN_SAME(LaunchKernel, cuLaunchKernel);
}

TEST(ApiValuesTest, NvrtcValuesAndSignatures) {
  EXPECT_EQ(int{nvrtc::kErrorInvalidOption}, int{NVRTC_ERROR_INVALID_OPTION});
  EXPECT_EQ(int{nvrtc::kErrorCompilation}, int{NVRTC_ERROR_COMPILATION});
  EXPECT_EQ(int{nvrtc::kErrorBuiltinOperationFailure}, int{NVRTC_ERROR_BUILTIN_OPERATION_FAILURE});
  const nvrtc::Api ours{};
  CONVTGEN_SAME(GetErrorString, nvrtcGetErrorString);
  CONVTGEN_SAME(Version, nvrtcVersion);
  CONVTGEN_SAME(GetNumSupportedArchs, nvrtcGetNumSupportedArchs);
  CONVTGEN_SAME(GetSupportedArchs, nvrtcGetSupportedArchs);
  CONVTGEN_SAME(CreateProgram, nvrtcCreateProgram);
  CONVTGEN_SAME(DestroyProgram, nvrtcDestroyProgram);
  CONVTGEN_SAME(CompileProgram, nvrtcCompileProgram);
  CONVTGEN_SAME(GetPTXSize, nvrtcGetPTXSize);
  CONVTGEN_SAME(GetPTX, nvrtcGetPTX);
  CONVTGEN_SAME(GetCUBINSize, nvrtcGetCUBINSize);
  CONVTGEN_SAME(GetCUBIN, nvrtcGetCUBIN);
  CONVTGEN_SAME(GetProgramLogSize, nvrtcGetProgramLogSize);
  CONVTGEN_SAME(GetProgramLog, nvrtcGetProgramLog);
#undef CONVTGEN_SAME
}

}  // namespace
}  // namespace convtgen
