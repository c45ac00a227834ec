// NVRTC, the driver and the chip together, on every GPU of the machine; with none there is nothing here to run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "generator/planner/chip/chip_code.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/cuda/driver.h"

namespace convtgen {
namespace {

std::vector<int> gpus() {
  std::vector<int> ordinals;
  if (const Result<CudaDriverInfo> driver = find_cuda_driver()) {
    for (const CudaDeviceInfo& device : driver->devices) {
      if (target_of_chip(device.capability)) {
        ordinals.push_back(device.ordinal);
      }
    }
  }
  return ordinals;
}

// y[i] = 2 * x[i] + shift through dynamic shared memory; a 64-bit and a 32-bit integer among the parameters.
KernelSource staged_kernel() {
  KernelSource source;
  source.symbol = "staged_kernel";
  source.recipe.kernels = {{.symbol = source.symbol, .threads = 256, .shared_bytes = 100 * 1024}};
  source.text =
      "extern __shared__ float staged[];\n"
      "extern \"C\" __global__ void __launch_bounds__(256)\n"
      "staged_kernel(const float* __restrict__ x, float* __restrict__ y, int shift, long long n) {\n"
      "  const long long i = blockIdx.x * 256ll + threadIdx.x;\n"
      "  const int far = 25 * 1024 - 256 + threadIdx.x;\n"
      "  staged[far] = i < n ? x[i] : 0.0f;\n"
      "  __syncthreads();\n"
      "  if (i < n) y[i] = fmaf(staged[far], 2.0f, static_cast<float>(shift));\n"
      "}\n";
  return source;
}

class GpuTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Device>> device = open_cuda_device(GetParam());
    ASSERT_TRUE(device) << device.error().message;
    device_ = std::move(*device);
  }
  std::unique_ptr<Device> device_;
};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GpuTest);
INSTANTIATE_TEST_SUITE_P(Every, GpuTest, testing::ValuesIn(gpus()));

TEST_P(GpuTest, RunsCubinAndPtx) {
  constexpr std::size_t kCount = 1'000'003;
  std::vector<float> x(kCount), y(kCount + 1);
  std::iota(x.begin(), x.end(), -500.0f);
  const auto x_device = device_->allocate(kCount * 4);
  const auto y_device = device_->allocate((kCount + 1) * 4);
  ASSERT_TRUE(x_device && y_device);
  ASSERT_TRUE(device_->upload(**x_device, std::as_bytes(std::span(x))));

  for (const BinaryKind kind : {BinaryKind::kCubin, BinaryKind::kPtx}) {
    const Result<Binary> binary =
        compile_with_nvrtc(staged_kernel(), target_of_chip(device_->chip()->capability)->architecture, kind);
    ASSERT_TRUE(binary) << binary.error().message;
    const auto kernel = device_->load(*binary);
    if (!kernel && kind == BinaryKind::kPtx) {
      // A driver takes no PTX of a newer NVRTC, and says so.
      EXPECT_NE(kernel.error().message.find("CUDA_ERROR_UNSUPPORTED_PTX_VERSION"), std::string::npos)
          << kernel.error().message;
      continue;
    }
    ASSERT_TRUE(kernel) << kernel.error().message;
    ASSERT_TRUE(device_->poison(**y_device, std::byte{0xff}));
    const Launch launch{.blocks = (kCount + 255) / 256,
                        .threads = 256,
                        .shared_bytes = 100 * 1024,
                        .arguments = {(*x_device)->address(), (*y_device)->address(),
                                      static_cast<std::uint64_t>(std::int64_t{-3}), kCount}};
    const Result<void> run = device_->run(**kernel, launch);
    ASSERT_TRUE(run) << run.error().message;
    ASSERT_TRUE(device_->download(std::as_writable_bytes(std::span(y)), **y_device));
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(y[i], 2.0f * x[i] - 3.0f) << i;
    }
    std::uint32_t beyond = 0;
    std::memcpy(&beyond, &y[kCount], 4);
    EXPECT_EQ(beyond, 0xffffffffu);
    const Result<double> time = device_->time(**kernel, launch, 11);
    ASSERT_TRUE(time) << time.error().message;
    EXPECT_GT(*time, 0.001);
    EXPECT_LT(*time, 10.0);
    RecordProperty(kind == BinaryKind::kCubin ? "cubin_milliseconds" : "ptx_milliseconds", std::to_string(*time));
  }
}

TEST_P(GpuTest, TimesWhatItTakesToMoveMemory) {
  constexpr std::size_t kBytes = std::size_t{1} << 28;
  KernelSource source;
  source.symbol = "copy_kernel";
  source.text =
      "extern \"C\" __global__ void copy_kernel(const float4* __restrict__ x, float4* __restrict__ y) {\n"
      "  const int i = blockIdx.x * 256 + threadIdx.x;\n"
      "  y[i] = x[i];\n"
      "}\n";
  const Result<Binary> binary = device_->compile(source, target_of_chip(device_->chip()->capability)->architecture);
  ASSERT_TRUE(binary) << binary.error().message;
  const auto kernel = device_->load(*binary);
  const auto x = device_->allocate(kBytes);
  const auto y = device_->allocate(kBytes);
  ASSERT_TRUE(kernel && x && y);
  const Result<double> time = device_->time(
      **kernel,
      {.blocks = kBytes / 16 / 256, .threads = 256, .shared_bytes = 0, .arguments = {(*x)->address(), (*y)->address()}},
      21);
  ASSERT_TRUE(time) << time.error().message;
  // Device memory of no chip yet moves more than 12 TB/s; a warm cache would.
  const double terabytes_per_second = 2.0 * kBytes / (*time * 1e-3) / 1e12;
  RecordProperty("terabytes_per_second", std::to_string(terabytes_per_second));
  EXPECT_GT(terabytes_per_second, 0.05);
  EXPECT_LT(terabytes_per_second, 12.0);
}

TEST_P(GpuTest, RefusesWhatItHasNoRoomFor) {
  const Result<std::unique_ptr<Buffer>> buffer = device_->allocate(std::size_t{1} << 50);
  ASSERT_FALSE(buffer);
  EXPECT_NE(buffer.error().message.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << buffer.error().message;
  EXPECT_TRUE(device_->allocate(1024));  // and goes on
}

// Last, since the GPU can't be used afterwards; each test is a process of its own under CTest.
TEST_P(GpuTest, TellsOfAFault) {
  KernelSource source;
  source.symbol = "faulty_kernel";
  source.text = "extern \"C\" __global__ void faulty_kernel(int* y) { y[threadIdx.x] = 1; }\n";
  const Result<Binary> binary = device_->compile(source, target_of_chip(device_->chip()->capability)->architecture);
  ASSERT_TRUE(binary) << binary.error().message;
  const auto kernel = device_->load(*binary);
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_FALSE(device_->run(**kernel, {.blocks = 1, .threads = 32, .shared_bytes = 0, .arguments = {}}));
  const Result<void> run = device_->run(**kernel, {.blocks = 1, .threads = 32, .shared_bytes = 0, .arguments = {64}});
  ASSERT_FALSE(run);
  EXPECT_NE(run.error().message.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos) << run.error().message;
  EXPECT_NE(run.error().message.find("faulty_kernel"), std::string::npos) << run.error().message;
}

}  // namespace
}  // namespace convtgen
