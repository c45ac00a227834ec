// The CUDA device against a fake driver: memory, loading, argument packing, order of calls, errors, cleanup.
#include "runtime/device/cuda/cuda_device.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "runtime/compile/shared_library.h"
#include "runtime/device/cuda/driver.h"
#include "tests/cuda_device/fake_driver.h"

namespace convtgen {
namespace {

using testing::Test;

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

Binary binary_of(std::string image, std::int64_t shared_bytes = 0) {
  Binary binary;
  binary.architecture = "sm_90a";
  binary.symbol = image.substr(0, image.find(' '));
  binary.bytes = std::move(image);
  binary.kernels = {{binary.symbol, 64, shared_bytes}};
  return binary;
}

bool contains(const Error& error, std::string_view words) {
  return error.message.find(words) != std::string::npos;
}

class CudaDeviceTest : public Test {
 protected:
  void SetUp() override { use(CONVTGEN_FAKE_DRIVER); }
  void TearDown() override { unsetenv("CONVTGEN_CUDA_DRIVER"); }

  void use(const char* library) {
    setenv("CONVTGEN_CUDA_DRIVER", library, 1);
    const auto opened = SharedLibrary::open(library);
    ASSERT_TRUE(opened) << opened.error().message;
    fake::StateFunction function = nullptr;
    ASSERT_TRUE(opened->bind("convtgen_fake_state", function));
    state_ = function();
    *state_ = fake::State{};
  }

  std::unique_ptr<Device> open() {
    Result<std::unique_ptr<Device>> device = open_cuda_device(0);
    EXPECT_TRUE(device) << device.error().message;
    return device ? std::move(*device) : nullptr;
  }

  std::ptrdiff_t calls_of(std::string_view name) const { return std::ranges::count(state_->calls, name); }

  void expect_nothing_left() const {
    EXPECT_TRUE(state_->memory.empty());
    EXPECT_EQ(state_->live_modules, 0);
    EXPECT_EQ(state_->live_streams, 0);
    EXPECT_EQ(state_->live_events, 0);
    EXPECT_EQ(state_->live_contexts, 0);
    EXPECT_EQ(state_->current_depth, 0);
    EXPECT_EQ(state_->calls_without_context, 0);
  }

  fake::State* state_ = nullptr;
};

TEST_F(CudaDeviceTest, TellsWhatTheGpuIs) {
  const auto device = open();
  EXPECT_EQ(device->kind(), DeviceKind::kCuda);
  EXPECT_EQ(device->name(), "Fake GPU");
  ASSERT_TRUE(device->chip());
  EXPECT_EQ(device->chip()->capability, 90);
  EXPECT_EQ(device->chip()->driver_version, 13010);

  state_->device_count = 2;
  const Result<CudaDriverInfo> driver = find_cuda_driver();
  ASSERT_TRUE(driver) << driver.error().message;
  EXPECT_EQ(driver->path, CONVTGEN_FAKE_DRIVER);
  EXPECT_EQ(driver->version, 13010);
  ASSERT_EQ(driver->devices.size(), 2u);
  const CudaDeviceInfo& info = driver->devices[1];
  EXPECT_EQ(info.ordinal, 1);
  EXPECT_EQ(info.name, "Fake GPU");
  EXPECT_EQ(info.capability, 90);
  EXPECT_EQ(info.memory_bytes, std::size_t{1} << 30);
  EXPECT_EQ(info.multiprocessors, 132);
  EXPECT_EQ(info.l2_bytes, 1000u);
  EXPECT_EQ(info.max_shared_bytes, 227 * 1024);
}

TEST_F(CudaDeviceTest, CopiesAndPoisonsMemory) {
  {
    const auto device = open();
    const auto buffer = device->allocate(8);
    ASSERT_TRUE(buffer) << buffer.error().message;
    EXPECT_EQ((*buffer)->bytes(), 8u);
    ASSERT_TRUE(device->upload(**buffer, as_bytes("abcdefgh")));
    std::string text(8, ' ');
    ASSERT_TRUE(device->download(std::as_writable_bytes(std::span(text)), **buffer));
    EXPECT_EQ(text, "abcdefgh");
    std::string part(3, ' ');
    ASSERT_TRUE(device->download_part(std::as_writable_bytes(std::span(part)), **buffer, 5));
    EXPECT_EQ(part, "fgh");
    ASSERT_TRUE(device->poison(**buffer, std::byte{'z'}));
    ASSERT_TRUE(device->download(std::as_writable_bytes(std::span(text)), **buffer));
    EXPECT_EQ(text, "zzzzzzzz");
    EXPECT_EQ(calls_of("cuStreamSynchronize"), 5);  // each copy and fill is over when the call is
  }
  expect_nothing_left();
}

TEST_F(CudaDeviceTest, TellsWhatMemoryThereIsAndWhatTimingTakes) {
  const auto device = open();
  state_->memory_bytes = 10'000;
  EXPECT_EQ(device->free_memory(), 10'000u);
  const auto buffer = device->allocate(1'000);
  ASSERT_TRUE(buffer) << buffer.error().message;
  EXPECT_EQ(device->free_memory(), 9'000u);
  EXPECT_EQ(device->timing_bytes(), 2'000u) << "twice the L2 cache";
  const auto kernel = device->load(binary_of("k"));
  ASSERT_TRUE(kernel) << kernel.error().message;
  ASSERT_TRUE(device->time(**kernel, {.blocks = 1, .threads = 32, .arguments = {}}, 3));
  EXPECT_EQ(device->free_memory(), 7'000u) << "as much was allocated";
  EXPECT_EQ(device->timing_bytes(), 0u) << "it is there now";
  state_->failures["cuMemGetInfo"] = 1;
  EXPECT_FALSE(device->free_memory());
  EXPECT_EQ(state_->calls_without_context, 0);
}

TEST_F(CudaDeviceTest, RefusesCopiesBeyondABuffer) {
  const auto device = open();
  const auto buffer = device->allocate(4);
  ASSERT_TRUE(buffer);
  std::array<std::byte, 4> bytes{};
  EXPECT_FALSE(device->upload(**buffer, as_bytes("12345")));
  EXPECT_FALSE(device->download_part(bytes, **buffer, 1));
  EXPECT_FALSE(device->download_part(std::span(bytes).first(1), **buffer, 5));
  EXPECT_FALSE(device->download_part(bytes, **buffer, std::size_t{0} - 2));
  EXPECT_TRUE(device->download_part(std::span(bytes).first(0), **buffer, 4));
  EXPECT_EQ(calls_of("cuMemcpyHtoDAsync") + calls_of("cuMemcpyDtoHAsync"), 0);
}

TEST_F(CudaDeviceTest, AllocatesNothingForABatchOfZero) {
  const auto device = open();
  const auto buffer = device->allocate(0);
  ASSERT_TRUE(buffer) << buffer.error().message;
  EXPECT_EQ((*buffer)->bytes(), 0u);
  EXPECT_NE((*buffer)->address(), 0u);
  EXPECT_TRUE(device->upload(**buffer, {}));
  EXPECT_TRUE(device->download({}, **buffer));
  EXPECT_TRUE(device->poison(**buffer, std::byte{1}));
}

TEST_F(CudaDeviceTest, PacksArgumentsByTheWidthOfTheirParameters) {
  const auto device = open();
  const auto kernel = device->load(binary_of("conv 8 8 4 4"));
  ASSERT_TRUE(kernel) << kernel.error().message;
  const Launch launch{.blocks = 70000,
                      .threads = 96,
                      .shared_bytes = 1024,
                      .arguments = {0x7f12345678900, 0x2, 0xfffffffffffffff9, 12}};
  const Result<void> run = device->run(**kernel, launch);
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_EQ(state_->launches.size(), 1u);
  const fake::SeenLaunch& seen = state_->launches[0];
  EXPECT_EQ(seen.symbol, "conv");
  EXPECT_EQ(seen.grid, (std::vector<unsigned>{70000, 1, 1}));
  EXPECT_EQ(seen.block, (std::vector<unsigned>{96, 1, 1}));
  EXPECT_EQ(seen.shared_bytes, 1024u);
  EXPECT_EQ(seen.arguments, (std::vector<std::uint64_t>{0x7f12345678900, 0x2, 0xfffffff9, 12}));
  EXPECT_EQ(state_->calls.back(), "cuStreamSynchronize");
}

TEST_F(CudaDeviceTest, RunsAKernelOnUploadedMemory) {
  {
    const auto device = open();
    const auto kernel = device->load(binary_of("double_it 8 4"));
    const auto buffer = device->allocate(3);
    ASSERT_TRUE(kernel && buffer);
    ASSERT_TRUE(device->upload(**buffer, as_bytes("\x01\x02\x03")));
    ASSERT_TRUE(
        device->run(**kernel, {.blocks = 1, .threads = 32, .shared_bytes = 0, .arguments = {(*buffer)->address(), 3}}));
    std::string text(3, ' ');
    ASSERT_TRUE(device->download(std::as_writable_bytes(std::span(text)), **buffer));
    EXPECT_EQ(text, "\x02\x04\x06");
  }
  expect_nothing_left();
}

TEST_F(CudaDeviceTest, ChecksALaunchBeforeTheDriverSeesIt) {
  const auto device = open();
  const auto kernel = device->load(binary_of("conv 8 8"));
  ASSERT_TRUE(kernel);
  const Launch good{.blocks = 1, .threads = 32, .shared_bytes = 0, .arguments = {1, 2}};
  const auto refused = [&](auto change, std::string_view words) {
    Launch launch = good;
    change(launch);
    const Result<void> run = device->run(**kernel, launch);
    EXPECT_FALSE(run);
    EXPECT_TRUE(run || contains(run.error(), words)) << run.error().message;
  };
  refused([](Launch& launch) { launch.arguments.pop_back(); }, "1 arguments for 2 parameters");
  refused([](Launch& launch) { launch.arguments.push_back(3); }, "3 arguments for 2 parameters");
  refused([](Launch& launch) { launch.threads = 1025; }, "1025 threads");
  refused([](Launch& launch) { launch.threads = 0; }, "0 threads");
  refused([](Launch& launch) { launch.blocks = -1; }, "-1 blocks");
  refused([](Launch& launch) { launch.blocks = std::int64_t{1} << 31; }, "2147483648 blocks");
  refused([](Launch& launch) { launch.shared_bytes = -1; }, "-1 bytes");
  refused([](Launch& launch) { launch.shared_bytes = 228 * 1024; }, "233472 bytes");
  EXPECT_TRUE(state_->launches.empty());
  EXPECT_TRUE(device->run(**kernel, good));
}

TEST_F(CudaDeviceTest, LaunchesClusters) {
  const auto device = open();
  const auto kernel = device->load(binary_of("kernel 8"));
  ASSERT_TRUE(kernel) << kernel.error().message;
  ASSERT_TRUE(device->run(**kernel, {.blocks = 8, .threads = 32, .arguments = {1}, .cluster = 2}));
  ASSERT_EQ(state_->launches.size(), 1u);
  EXPECT_EQ(state_->launches[0].cluster, 2u);
  EXPECT_EQ(state_->launches[0].grid[0], 8u);
  const Result<void> odd = device->run(**kernel, {.blocks = 9, .threads = 32, .arguments = {1}, .cluster = 2});
  ASSERT_FALSE(odd);
  EXPECT_TRUE(contains(odd.error(), "no multiple of the cluster's 2")) << odd.error().message;
  const Result<void> large = device->run(**kernel, {.blocks = 16, .threads = 32, .arguments = {1}, .cluster = 16});
  ASSERT_FALSE(large);
  EXPECT_TRUE(contains(large.error(), "legal are 1 to 8")) << large.error().message;
}

TEST_F(CudaDeviceTest, EncodesTensorMapsAmongTheArguments) {
  const auto device = open();
  const auto kernel = device->load(binary_of("kernel 8 8 4"));
  ASSERT_TRUE(kernel) << kernel.error().message;
  TensorMap map{.element = TensorMap::Element::kF16, .rank = 1, .address = 0x1000};
  map.sizes[0] = 64;
  map.box[0] = 32;
  const Launch launch{.blocks = 1, .threads = 32, .arguments = {5, 0, 7}, .tensor_maps = {{1, map}}};
  const Result<void> run = device->run(**kernel, launch);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(state_->launches[0].arguments, (std::vector<std::uint64_t>{5, 0x1000 + 6, 7}));

  Launch wrong = launch;
  wrong.tensor_maps[0].parameter = 3;
  EXPECT_FALSE(device->run(**kernel, wrong));
  wrong = launch;
  wrong.tensor_maps[0].map.box[0] = 300;
  const Result<void> refused = device->run(**kernel, wrong);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(contains(refused.error(), "parameter 1: tensor map: box[0] is 300")) << refused.error().message;
}

TEST_F(CudaDeviceTest, OlderDriversHaveNeitherClustersNorTensorMaps) {
  use(CONVTGEN_FAKE_OLD_DRIVER);
  const auto device = open();
  const auto kernel = device->load(binary_of("kernel 8"));
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_FALSE(device->run(**kernel, {.blocks = 8, .threads = 32, .arguments = {1}, .cluster = 2}));
  TensorMap map{.address = 0x1000};
  map.sizes[0] = 64;
  map.box[0] = 32;
  const Result<void> refused =
      device->run(**kernel, {.blocks = 8, .threads = 32, .arguments = {1}, .tensor_maps = {{0, map}}});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(contains(refused.error(), "CUDA 12.0")) << refused.error().message;
}

TEST_F(CudaDeviceTest, LaunchesNothingForNoBlocks) {
  const auto device = open();
  const auto kernel = device->load(binary_of("conv 8"));
  ASSERT_TRUE(kernel);
  const Launch launch{.blocks = 0, .threads = 32, .shared_bytes = 0, .arguments = {1}};
  EXPECT_TRUE(device->run(**kernel, launch));
  const Result<double> time = device->time(**kernel, launch, 3);
  ASSERT_TRUE(time);
  EXPECT_EQ(*time, 0.0);
  EXPECT_EQ(calls_of("cuLaunchKernel"), 0);
}

TEST_F(CudaDeviceTest, AsksForLargeSharedMemoryOnce) {
  const auto device = open();
  const auto small = device->load(binary_of("conv 8", 48 * 1024));
  ASSERT_TRUE(small);
  EXPECT_EQ(calls_of("cuFuncSetAttribute"), 0);
  const auto large = device->load(binary_of("conv 8", 100 * 1024));
  ASSERT_TRUE(large);
  EXPECT_EQ(calls_of("cuFuncSetAttribute"), 1);
  EXPECT_EQ(state_->allowed_shared, 100 * 1024);
  EXPECT_TRUE(device->run(**large, {.blocks = 1, .threads = 32, .shared_bytes = 100 * 1024, .arguments = {1}}));
  EXPECT_EQ(calls_of("cuFuncSetAttribute"), 1);
  EXPECT_TRUE(device->run(**large, {.blocks = 1, .threads = 32, .shared_bytes = 120 * 1024, .arguments = {1}}));
  EXPECT_EQ(state_->allowed_shared, 120 * 1024);
}

TEST_F(CudaDeviceTest, CountsStaticSharedMemoryAgainstTheLimit) {
  const auto device = open();
  state_->static_shared = 0;
  EXPECT_TRUE(device->load(binary_of("conv 8", 227 * 1024)));
  state_->static_shared = 16;
  const auto kernel = device->load(binary_of("conv 8", 227 * 1024));
  ASSERT_FALSE(kernel);
  EXPECT_TRUE(contains(kernel.error(), "conv needs 232464 bytes of shared memory a block; Fake GPU has 232448"))
      << kernel.error().message;
  EXPECT_EQ(state_->live_modules, 0);
}

TEST_F(CudaDeviceTest, SaysWhyAModuleDoesNotLoad) {
  const auto device = open();
  const auto refused = device->load(binary_of("bad"));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(contains(refused.error(),
                       "loading bad, compiled for sm_90a, on Fake GPU (compute capability 9.0, driver for CUDA 13.1)"))
      << refused.error().message;
  EXPECT_TRUE(contains(refused.error(), "ptxas fatal: nonsense"));

  Binary misnamed = binary_of("conv 8");
  misnamed.symbol = "other";
  const auto missing = device->load(misnamed);
  ASSERT_FALSE(missing);
  EXPECT_TRUE(contains(missing.error(), "finding the kernel other"));
  EXPECT_EQ(state_->live_modules, 0);

  Binary host = binary_of("conv 8");
  host.kind = BinaryKind::kHostLibrary;
  EXPECT_FALSE(device->load(host));
}

TEST_F(CudaDeviceTest, TimesTheMedianWithTheCacheFlushedBeforeEachRun) {
  {
    const auto device = open();
    const auto kernel = device->load(binary_of("conv 8"));
    ASSERT_TRUE(kernel);
    const Launch launch{.blocks = 4, .threads = 32, .shared_bytes = 0, .arguments = {1}};
    state_->elapsed = {5, 1, 9, 2, 4};
    state_->calls.clear();
    const Result<double> odd = device->time(**kernel, launch, 5);
    ASSERT_TRUE(odd) << odd.error().message;
    EXPECT_EQ(*odd, 4.0);
    EXPECT_EQ(state_->launches.size(), 6u);  // one to warm up
    ASSERT_EQ(state_->memory.size(), 1u);    // the scratch
    EXPECT_EQ(state_->memory.begin()->second.size(), 2000u);

    const std::vector<std::string> first = {"cuLaunchKernel", "cuStreamSynchronize", "cuEventCreate",  "cuEventCreate",
                                            "cuMemAlloc",     "cuMemsetD8Async",     "cuEventRecord",  "cuLaunchKernel",
                                            "cuEventRecord",  "cuEventSynchronize",  "cuMemsetD8Async"};
    ASSERT_GE(state_->calls.size(), first.size());
    EXPECT_TRUE(std::equal(first.begin(), first.end(), state_->calls.begin()));

    state_->elapsed = {8, 2, 3, 1};
    const Result<double> even = device->time(**kernel, launch, 4);
    ASSERT_TRUE(even);
    EXPECT_EQ(*even, 2.5);
    EXPECT_EQ(state_->memory.size(), 1u);  // the same scratch
    EXPECT_FALSE(device->time(**kernel, launch, 0));
  }
  expect_nothing_left();
}

TEST_F(CudaDeviceTest, TimesLaunchesThatMakeACallTogether) {
  {
    const auto device = open();
    Binary binary = binary_of("conv 8\npack 8 8");
    const auto kernel = device->load(binary);
    ASSERT_TRUE(kernel) << kernel.error().message;
    const auto packing = device->load(binary, {"pack", 64, 0});
    ASSERT_TRUE(packing) << packing.error().message;
    const Launch first{.blocks = 3, .threads = 64, .shared_bytes = 0, .arguments = {1, 2}};
    const Launch second{.blocks = 4, .threads = 32, .shared_bytes = 0, .arguments = {2}};
    const std::vector<KernelLaunch> both = {{**packing, first}, {**kernel, second}};
    state_->elapsed = {7};
    const Result<double> time = device->time(both, 1);
    ASSERT_TRUE(time) << time.error().message;
    EXPECT_EQ(*time, 7.0);
    std::vector<std::string> launched;
    for (const fake::SeenLaunch& each : state_->launches) {
      launched.push_back(each.symbol);
    }
    EXPECT_EQ(launched, (std::vector<std::string>{"pack", "conv", "pack", "conv"}));
    const auto begin = std::ranges::find(state_->calls, "cuEventRecord");
    ASSERT_GE(state_->calls.end() - begin, 4);
    EXPECT_EQ(std::vector<std::string>(begin, begin + 4),
              (std::vector<std::string>{"cuEventRecord", "cuLaunchKernel", "cuLaunchKernel", "cuEventRecord"}));
  }
  expect_nothing_left();
}

TEST_F(CudaDeviceTest, TellsOfAFaultInTheDriversWords) {
  const auto device = open();
  const auto kernel = device->load(binary_of("conv 8"));
  ASSERT_TRUE(kernel);
  state_->failures["cuStreamSynchronize"] = cuda::kErrorIllegalAddress;
  const Result<void> run = device->run(**kernel, {.blocks = 1, .threads = 32, .shared_bytes = 0, .arguments = {1}});
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().message,
            "CUDA: running conv: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS); this GPU can't "
            "be used again in this process");
}

TEST_F(CudaDeviceTest, GivesEverythingBackWhicheverCallFails) {
  const std::vector<std::string> functions = {"cuInit",
                                              "cuDriverGetVersion",
                                              "cuDeviceGetCount",
                                              "cuDeviceGetName",
                                              "cuDeviceTotalMem",
                                              "cuDevicePrimaryCtxRetain",
                                              "cuStreamCreate",
                                              "cuModuleLoadDataEx",
                                              "cuModuleGetFunction",
                                              "cuFuncGetAttribute",
                                              "cuFuncSetAttribute",
                                              "cuMemAlloc",
                                              "cuMemcpyHtoDAsync",
                                              "cuMemcpyDtoHAsync",
                                              "cuMemsetD8Async",
                                              "cuStreamSynchronize",
                                              "cuLaunchKernel",
                                              "cuEventCreate",
                                              "cuEventRecord",
                                              "cuEventSynchronize",
                                              "cuEventElapsedTime"};
  const auto everything = [&]() -> Result<void> {
    const auto device = open_cuda_device(0);
    if (!device) {
      return std::unexpected(device.error());
    }
    const auto kernel = (*device)->load(binary_of("conv 8", 64 * 1024));
    if (!kernel) {
      return std::unexpected(kernel.error());
    }
    const auto buffer = (*device)->allocate(4);
    if (!buffer) {
      return std::unexpected(buffer.error());
    }
    const Launch launch{.blocks = 1, .threads = 32, .shared_bytes = 64 * 1024, .arguments = {1}};
    if (Result<void> done = (*device)->upload(**buffer, as_bytes("1234")); !done) {
      return done;
    }
    if (Result<void> done = (*device)->run(**kernel, launch); !done) {
      return done;
    }
    if (const Result<double> done = (*device)->time(**kernel, launch, 2); !done) {
      return std::unexpected(done.error());
    }
    std::array<std::byte, 4> bytes{};
    return (*device)->download(bytes, **buffer);
  };
  ASSERT_TRUE(everything());
  for (const std::string& function : functions) {
    for (const int successes : {0, 1, 2}) {
      SCOPED_TRACE(function + " after " + std::to_string(successes));
      *state_ = fake::State{};
      state_->failures[function] = 321;
      state_->failures_after[function] = successes;
      const Result<void> done = everything();
      if (successes == 0) {
        ASSERT_FALSE(done);
        EXPECT_TRUE(contains(done.error(), "as the test asked (CUDA_ERROR_OF_THE_TEST)")) << done.error().message;
      }
      expect_nothing_left();
    }
  }
}

TEST_F(CudaDeviceTest, ThingsMayOutliveTheirDevice) {
  auto device = open();
  auto kernel = device->load(binary_of("conv 8"));
  auto buffer = device->allocate(4);
  ASSERT_TRUE(kernel && buffer);
  device.reset();
  kernel->reset();
  buffer->reset();
  expect_nothing_left();
}

TEST_F(CudaDeviceTest, KeepsKernelsOfDevicesApart) {
  const auto first = open();
  const auto second = open();
  const auto kernel = first->load(binary_of("conv 8"));
  ASSERT_TRUE(kernel);
  const Launch launch{.blocks = 1, .threads = 32, .shared_bytes = 0, .arguments = {1}};
  const Result<void> run = second->run(**kernel, launch);
  ASSERT_FALSE(run);
  EXPECT_TRUE(contains(run.error(), "another device"));
  EXPECT_TRUE(first->run(**kernel, launch));
}

TEST_F(CudaDeviceTest, SaysThatThereIsNoGpu) {
  state_->device_count = 0;
  const auto none = open_cuda_device(0);
  ASSERT_FALSE(none);
  EXPECT_TRUE(contains(none.error(), "sees no GPU"));

  state_->failures["cuInit"] = cuda::kErrorNoDevice;
  state_->failures["cuDeviceGetCount"] = cuda::kErrorNoDevice;
  const auto still_none = open_cuda_device(0);
  ASSERT_FALSE(still_none);
  EXPECT_TRUE(contains(still_none.error(), "sees no GPU"));
  const Result<CudaDriverInfo> driver = find_cuda_driver();
  ASSERT_TRUE(driver) << driver.error().message;
  EXPECT_TRUE(driver->devices.empty());
}

TEST_F(CudaDeviceTest, RefusesOrdinalsThatAreNotThere) {
  state_->device_count = 2;
  for (const int ordinal : {-1, 2}) {
    const auto device = open_cuda_device(ordinal);
    ASSERT_FALSE(device);
    EXPECT_TRUE(contains(device.error(), "there are 2, counted from 0")) << device.error().message;
  }
  EXPECT_TRUE(open_cuda_device(1));
}

TEST_F(CudaDeviceTest, RefusesChipsThatAreTooOld) {
  state_->capability_major = 6;
  state_->capability_minor = 1;
  const auto device = open_cuda_device(0);
  ASSERT_FALSE(device);
  EXPECT_TRUE(contains(
      device.error(), "Fake GPU can't be used: no kernels are made for compute capability 6.1; the oldest chip is 7.5"))
      << device.error().message;
  EXPECT_EQ(state_->live_contexts, 0);
}

TEST_F(CudaDeviceTest, TellsErrorsThatTheDriverHasNoNameFor) {
  state_->failures["cuMemAlloc"] = 9999;
  const auto device = open();
  const auto buffer = device->allocate(4);
  ASSERT_FALSE(buffer);
  EXPECT_TRUE(contains(buffer.error(), "unknown error 9999"));
}

TEST_F(CudaDeviceTest, TakesAnOlderDriverThatDoesNotTellParameters) {
  use(CONVTGEN_FAKE_OLD_DRIVER);
  const auto device = open();
  const auto kernel = device->load(binary_of("conv 8 4"));
  ASSERT_TRUE(kernel);
  ASSERT_TRUE(device->run(**kernel, {.blocks = 1, .threads = 32, .shared_bytes = 0, .arguments = {1, 2}}));
  EXPECT_EQ(state_->launches[0].arguments, (std::vector<std::uint64_t>{1, 2}));
}

TEST(CudaDriverTest, SaysThatThereIsNoDriver) {
  setenv("CONVTGEN_CUDA_DRIVER", "/nonexistent/libcuda.so.1", 1);
  const auto device = open_cuda_device(0);
  ASSERT_FALSE(device);
  EXPECT_TRUE(contains(device.error(), "$CONVTGEN_CUDA_DRIVER")) << device.error().message;
  EXPECT_TRUE(contains(device.error(), "/nonexistent/libcuda.so.1")) << device.error().message;
  unsetenv("CONVTGEN_CUDA_DRIVER");

  // Without the variable it is the machine's own driver, or the plain words that it is missing.
  const Result<CudaDriverInfo> driver = find_cuda_driver();
  EXPECT_TRUE(driver || contains(driver.error(), "no NVIDIA driver: libcuda.so.1 was not found") ||
              contains(driver.error(), "starting the driver"))
      << driver.error().message;
}

TEST(CudaDriverTest, RefusesALibraryThatIsNoDriver) {
  setenv("CONVTGEN_CUDA_DRIVER", "libm.so.6", 1);
  const Result<CudaDriverInfo> driver = find_cuda_driver();
  unsetenv("CONVTGEN_CUDA_DRIVER");
  ASSERT_FALSE(driver);
  EXPECT_TRUE(contains(driver.error(), "it has no cuInit")) << driver.error().message;
}

}  // namespace
}  // namespace convtgen
