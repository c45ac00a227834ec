// The device itself: launches, buffers, several devices and threads.
#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/host_device/bench.h"

namespace convtgen::testing {
namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

constexpr const char* kAdd = R"(
extern "C" __global__ void kernel(int* __restrict__ y, int a) {
  int* s = static_cast<int*>(shared_memory());
  s[threadIdx.x] = blockIdx.x * blockDim.x + threadIdx.x;
  __syncthreads();
  const int other = threadIdx.x ^ 1;
  y[blockIdx.x * blockDim.x + other] = s[other] + a;
}
)";

TEST(HostDevice, SaysWhatItIs) {
  const auto device = open_host({.seed = 5, .workers = 3});
  EXPECT_EQ(device->kind(), DeviceKind::kHost);
  EXPECT_EQ(device->name(), "host (3 workers)");
  EXPECT_EQ(device->workers(), 3);
  EXPECT_EQ(device->seed(), 5u);
  EXPECT_FALSE(open_host_device({.workers = -1}));
}

TEST(HostDevice, RunsNoBlocksAndManyLaunches) {
  const auto device = open_host();
  const auto kernel = build(*device, source_of(kAdd));
  ASSERT_TRUE(kernel) << kernel.error().message;
  Array<int> y(*device, 128);
  // No block touches the null pointer.
  ASSERT_TRUE(device->run(**kernel, {.blocks = 0, .threads = 64, .shared_bytes = 256, .arguments = {0, 0}}));
  for (int a = 0; a < 2000; ++a) {
    const auto ran = device->run(
        **kernel,
        {.blocks = 2, .threads = 64, .shared_bytes = 256, .arguments = {y.address(), static_cast<std::uint64_t>(a)}});
    ASSERT_TRUE(ran) << ran.error().message;
  }
  const auto values = y.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i], static_cast<int>(i) + 1999);
  }
}

// What a kernel's text says of its clusters holds in every launch, as it does on a chip.
TEST(HostDevice, RunsAKernelInTheClustersThatItIsMadeFor) {
  const auto device = open_host();
  KernelSource source = source_of(R"(
extern "C" __global__ void __cluster_dims__(4, 1, 1) kernel(unsigned int* y) {
  y[blockIdx.x] = 10 * cluster_size() + cluster_rank();
}
)");
  source.recipe.kernels[0].cluster = 4;
  const auto kernel = build(*device, source);
  ASSERT_TRUE(kernel) << kernel.error().message;
  Array<unsigned int> y(*device, 8);
  const auto run = [&](std::int64_t blocks, int cluster) {
    const auto ran =
        device->run(**kernel, {.blocks = blocks, .threads = 1, .arguments = {y.address()}, .cluster = cluster});
    return ran ? std::string() : ran.error().message;
  };
  EXPECT_EQ(run(8, 1), "");
  EXPECT_EQ(y.values(), (std::vector<unsigned int>{40, 41, 42, 43, 40, 41, 42, 43}));
  EXPECT_EQ(run(8, 4), "");
  EXPECT_HAS(run(8, 2), "a cluster of 2 blocks; the kernel is made for 4");
  EXPECT_HAS(run(6, 1), "a cluster of 4 blocks in a grid of 6");
}

TEST(HostDevice, RefusesWrongLaunches) {
  const auto device = open_host();
  auto source = source_of(kAdd);
  source.recipe.kernels[0].threads = 64;
  const auto kernel = build(*device, source);
  ASSERT_TRUE(kernel) << kernel.error().message;
  Array<int> y(*device, 128);
  const auto message = [&](std::int64_t blocks, int threads, std::int64_t shared, std::size_t arguments) {
    std::vector<std::uint64_t> slots(arguments, y.address());
    const auto ran = device->run(
        **kernel, {.blocks = blocks, .threads = threads, .shared_bytes = shared, .arguments = std::move(slots)});
    return ran ? "" : ran.error().message;
  };
  EXPECT_EQ(message(-1, 64, 0, 2), "launch of 'kernel': -1 blocks; a grid has 0 to 2147483647");
  EXPECT_EQ(message(1, 0, 0, 2), "launch of 'kernel': 0 threads; a block has 1 to 1024");
  EXPECT_EQ(message(1, 2048, 0, 2), "launch of 'kernel': 2048 threads; a block has 1 to 1024");
  EXPECT_HAS(message(1, 96, 0, 2), "96 threads; the kernel is made for 64");
  EXPECT_HAS(message(1, 64, 1 << 20, 2), "1048576 bytes of shared memory; a block has 0 to 232448");
  EXPECT_EQ(message(1, 64, 256, 3), "launch of 'kernel': 3 arguments; the kernel has 2 parameters");
}

TEST(HostDevice, RefusesWhatItDidNotCompile) {
  const auto device = open_host();
  Binary cubin;
  cubin.bytes =
      "\x7f"
      "ELF";
  EXPECT_HAS(device->load(cubin).error().message, "for a GPU");
  Binary binary = *device->compile(source_of(kAdd), "");
  EXPECT_EQ(binary.kind, BinaryKind::kHostLibrary);
  EXPECT_EQ(binary.symbol, "kernel");
  EXPECT_TRUE(device->load(binary));
  Binary cut = binary;
  cut.bytes.resize(cut.bytes.size() / 2);
  EXPECT_HAS(device->load(cut).error().message, "no library for the host device");
  Binary no_library = binary;
  no_library.bytes.erase(0, 1000);
  EXPECT_HAS(device->load(no_library).error().message, "can't be loaded");
}

TEST(HostDevice, ReportsTheCompilersErrorsWithTheLinesOfTheSource) {
  const auto device = open_host();
  const auto binary =
      device->compile(source_of("extern \"C\" __global__ void kernel(int* y) {\n  y[0] = nothing;\n}\n"), "");
  ASSERT_FALSE(binary);
  EXPECT_HAS(binary.error().message, "refused kernel 'kernel'");
  EXPECT_HAS(binary.error().message, "kernel.cu:2:");
  EXPECT_HAS(binary.error().message, "nothing");
}

TEST(HostDevice, RefusesAFrameThatFitsNoStack) {
  const auto device = open_host();
  const auto binary = device->compile(source_of(R"(
extern "C" __global__ void kernel(int* y, int i) {
  int large[40000];
  large[i] = 1;
  y[0] = large[i + y[0]];
}
)"),
                                      "");
  ASSERT_FALSE(binary);
  EXPECT_HAS(binary.error().message, "frame size");
}

TEST(HostDevice, SaysWhichCompilerIsMissing) {
  const auto device = open_host({.compiler = "convtgen-no-such-compiler"});
  const auto binary = device->compile(source_of(kAdd), "");
  ASSERT_FALSE(binary);
  EXPECT_HAS(binary.error().message, "convtgen-no-such-compiler can't be started");
  EXPECT_EQ(device->find_compiler().error().message, binary.error().message);
  EXPECT_HAS(open_host({.compiler = "true"})->compile(source_of(kAdd), "").error().message, "neither GCC nor Clang");
  EXPECT_NE(inspect_host().compiler, "");
  EXPECT_NE(inspect_host({.compiler = "false"}).compiler_problem, "");
}

TEST(HostDevice, CopiesPartsAndChecksSizes) {
  const auto device = open_host();
  Array<int> y(*device, std::vector<int>{1, 2, 3, 4});
  int part[2] = {};
  ASSERT_TRUE(device->download_part(std::as_writable_bytes(std::span(part)), y.buffer(), 8));
  EXPECT_EQ(part[0], 3);
  EXPECT_EQ(part[1], 4);
  EXPECT_HAS(device->download_part(std::as_writable_bytes(std::span(part)), y.buffer(), 12).error().message,
             "a download of 8 bytes at offset 12 from a buffer of 16");
  const std::vector<int> more(5);
  EXPECT_HAS(device->upload(y.buffer(), std::as_bytes(std::span(more))).error().message,
             "an upload of 20 bytes to a buffer of 16");
  ASSERT_TRUE(device->poison(y.buffer(), std::byte{0x5a}));
  EXPECT_EQ(y.values()[3], 0x5a5a5a5a);
  Array<int> empty(*device, 0);
  EXPECT_TRUE(empty.values().empty());
  EXPECT_FALSE(device->allocate(~std::size_t{0}));
  EXPECT_FALSE(device->allocate(std::size_t{1} << 60));
}

TEST(HostDevice, TwoDevicesKeepTheirBuffersApart) {
  const auto one = open_host();
  const auto two = open_host();
  Array<int> y(*one, 64);
  const Shape shape = {.threads = 64, .shared_bytes = 256};
  EXPECT_EQ(launch(*one, source_of(kAdd), shape, {y.address(), 0}), "");
  EXPECT_HAS(launch(*two, source_of(kAdd), shape, {y.address(), 0}), "out-of-bounds write of 4 bytes");
  EXPECT_HAS(two->poison(y.buffer(), std::byte{0}).error().message, "another device");
}

TEST(HostDevice, OneDeviceInSeveralThreads) {
  const auto device = open_host({.workers = 2});
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int id = 0; id < 4; ++id) {
      threads.emplace_back([&, id] {
        const auto kernel = build(*device, source_of(kAdd));
        for (int round = 0; round < 50; ++round) {
          Array<int> y(*device, 256);
          const int a = id * 1000 + round;
          const auto ran = device->run(**kernel, {.blocks = 4,
                                                  .threads = 64,
                                                  .shared_bytes = 256,
                                                  .arguments = {y.address(), static_cast<std::uint64_t>(a)}});
          const auto values = y.values();
          for (std::size_t i = 0; i < values.size(); ++i) {
            wrong += !ran || values[i] != static_cast<int>(i) + a;
          }
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

// A launch looks at what is known of all buffers; ThreadSanitizer reports whether it may.
TEST(HostDevice, BuffersChangeWhileOthersAreLaunchedOn) {
  const auto device = open_host({.workers = 2});
  const auto kernel = build(*device, source_of(kAdd));
  ASSERT_TRUE(kernel) << kernel.error().message;
  std::atomic<bool> done = false;
  std::atomic<int> failures = 0;
  std::jthread other([&] {
    while (!done) {
      Array<int> x(*device, 64);
      const std::vector<int> all(64), some(16);
      failures += !device->upload(x.buffer(), std::as_bytes(std::span(some)));
      failures += !device->upload(x.buffer(), std::as_bytes(std::span(all)));
      failures += !device->poison(x.buffer(), std::byte{0x5a});
    }
  });
  Array<int> y(*device, 128);
  for (int i = 0; i < 200; ++i) {
    failures +=
        !device->run(**kernel, {.blocks = 2, .threads = 64, .shared_bytes = 256, .arguments = {y.address(), 1}});
  }
  done = true;
  other.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(y.values()[127], 128);
}

TEST(HostDevice, EveryBlockRunsOnceInAnOrderOfTheSeed) {
  const auto device = open_host({.workers = 1});
  // A block writes its turn: one worker, so that blocks are one after the other.
  const auto kernel = build(*device, source_of(R"(
extern "C" __global__ void kernel(int* turns, int* next) {
  turns[blockIdx.x] = next[0];
  next[0] += 1;
}
)"));
  ASSERT_TRUE(kernel) << kernel.error().message;
  std::vector<std::vector<int>> orders;
  for (const std::uint64_t seed : {1, 2, 1}) {
    for (const std::size_t blocks : {1, 2, 97, 1000}) {
      device->set_seed(seed);
      Array<int> turns(*device, blocks);
      Array<int> next(*device, std::vector<int>(1));
      const auto ran = device->run(**kernel, {.blocks = static_cast<std::int64_t>(blocks),
                                              .threads = 1,
                                              .shared_bytes = 0,
                                              .arguments = {turns.address(), next.address()}});
      ASSERT_TRUE(ran) << ran.error().message;
      auto values = turns.values();
      orders.push_back(values);
      std::ranges::sort(values);
      for (std::size_t i = 0; i < blocks; ++i) {
        ASSERT_EQ(values[i], static_cast<int>(i));
      }
    }
  }
  EXPECT_EQ(orders[3], orders[11]);
  EXPECT_NE(orders[3], orders[7]);
}

TEST(HostDevice, TakesTheMedianTime) {
  const auto device = open_host();
  const auto kernel = build(*device, source_of(kAdd));
  Array<int> y(*device, 64);
  const Launch launch = {.blocks = 1, .threads = 64, .shared_bytes = 256, .arguments = {y.address(), 1}};
  const auto milliseconds = device->time(**kernel, launch, 5);
  ASSERT_TRUE(milliseconds);
  EXPECT_GT(*milliseconds, 0.0);
  EXPECT_LT(*milliseconds, 1000.0);
  EXPECT_FALSE(device->time(**kernel, launch, 0));
}

}  // namespace
}  // namespace convtgen::testing
