// Planted faults: each is found, and named with its thread, its line and its place.
#include "tests/host_device/bench.h"

namespace convtgen::testing {
namespace {

using ::testing::Test;

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

class Faults : public Test {
 protected:
  std::string run(const std::string& text, Shape shape, const std::vector<std::uint64_t>& arguments,
                  const std::vector<std::string>& names = {"x", "y"}) {
    return launch(*device_, source_of(text, names), shape, arguments);
  }

  std::unique_ptr<HostDevice> device_ = open_host({.workers = 1});
  Array<float> x_{*device_, std::vector<float>(100, 1.0f)};
  Array<float> y_{*device_, 100};
};

TEST_F(Faults, GlobalReadPastTheEnd) {
  const auto message = run(R"(extern "C" __global__ void kernel(const float* x, float* y) {
  const int i = threadIdx.x;
  y[i] =
      x[i + 69];
}
)",
                           {}, {x_.address(), y_.address()});
  EXPECT_EQ(message,
            "kernel 'kernel' on the host device: out-of-bounds read of 4 bytes at offset 400 of global buffer 'x' (400 "
            "bytes): block 0, thread 31, line 4 `x[i + 69];`");
}

TEST_F(Faults, GlobalReadBeforeTheBegin) {
  const auto message = run(R"(extern "C" __global__ void kernel(const float* x, float* y) {
  if (threadIdx.x == 7) y[0] = x[-1000000];
}
)",
                           {}, {x_.address(), y_.address()});
  EXPECT_HAS(message,
             "out-of-bounds read of 4 bytes at offset -4000000 of global buffer 'x' (400 bytes): block 0, "
             "thread 7, line 2 `if (threadIdx.x == 7) y[0] = x[-1000000];`");
}

TEST_F(Faults, GlobalWriteInAnInlinedFunction) {
  const auto message = run(R"(__device__ __forceinline__ void put(float* y, int i) {
  y[i] = 1.0f;
}
extern "C" __global__ void kernel(const float* x, float* y) {
  put(y, 100 + blockIdx.x * 0);
}
)",
                           {.blocks = 3, .threads = 1}, {x_.address(), y_.address()});
  EXPECT_HAS(message, "out-of-bounds write of 4 bytes at offset 400 of global buffer 'y' (400 bytes): block ");
  EXPECT_HAS(message, "thread 0, line 2 `y[i] = 1.0f;`");
}

TEST_F(Faults, NullPointer) {
  const auto message = run("extern \"C\" __global__ void kernel(float* y) { y[1] = 0; }", {}, {0});
  EXPECT_HAS(message, "out-of-bounds write of 4 bytes at address 0x4, in no memory of the kernel");
}

TEST_F(Faults, FreedBuffer) {
  std::uint64_t gone = 0;
  {
    const Array<float> freed(*device_, 4);
    gone = freed.address();
  }
  EXPECT_HAS(run("extern \"C\" __global__ void kernel(float* y) { y[0] = 0; }", {}, {gone}),
             "out-of-bounds write of 4 bytes");
}

TEST_F(Faults, SharedReadAndWriteOutOfBounds) {
  for (const char* statement : {"s[i + 33] = 1.0f;", "y[i] = s[i + 33];", "s[i - 32] = 1.0f;"}) {
    const auto message = run(std::string("extern \"C\" __global__ void kernel(const float* x, float* y) {\n"
                                         "  float* s = static_cast<float*>(shared_memory());\n"
                                         "  const int i = threadIdx.x;\n"
                                         "  s[i] = s[i + 32] = x[i];\n"
                                         "  __syncthreads();\n"
                                         "  if (i == 31) {\n    ") +
                                 statement + "\n  }\n}\n",
                             {.threads = 32, .shared_bytes = 256}, {x_.address(), y_.address()});
    if (std::string_view(statement) == "s[i - 32] = 1.0f;") {
      EXPECT_HAS(message, "out-of-bounds write of 4 bytes at offset -4 of shared memory (256 bytes)");
    } else {
      EXPECT_HAS(message, "out-of-bounds ");
      EXPECT_HAS(message, "of 4 bytes at offset 256 of shared memory (256 bytes)");
    }
    EXPECT_HAS(message, std::string("block 0, thread 31, line 7 `") + statement + "`");
  }
}

TEST_F(Faults, SharedReadOfWhatNothingWrote) {
  const auto message = run(R"(extern "C" __global__ void kernel(const float* x, float* y) {
  float* s = static_cast<float*>(shared_memory());
  if (threadIdx.x != 5) s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];
}
)",
                           {.threads = 32, .shared_bytes = 128}, {x_.address(), y_.address()});
  EXPECT_HAS(message,
             "read of 4 bytes that nothing has written, at offset 20 of shared memory (128 bytes): block 0, "
             "thread 5, line 5 `y[threadIdx.x] = s[threadIdx.x];`");
}

TEST_F(Faults, SharedMemoryIsNewInEveryBlock) {
  // The second block reads what only the first wrote.
  Array<float> zeros(*device_, std::vector<float>(100));
  const auto message = run(R"(extern "C" __global__ void kernel(const float* x, float* y) {
  float* s = static_cast<float*>(shared_memory());
  if (x[0] > 0 && y[99] == 0.0f) s[0] = 1.0f;
  y[99] = 1.0f;
  y[blockIdx.x] = s[0];
}
)",
                           {.blocks = 2, .threads = 1, .shared_bytes = 16}, {x_.address(), zeros.address()});
  EXPECT_HAS(message, "read of 4 bytes that nothing has written, at offset 0 of shared memory (16 bytes)");
}

TEST_F(Faults, GlobalReadOfWhatNothingWrote) {
  constexpr const char* kText = R"(extern "C" __global__ void kernel(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];
}
)";
  // Never uploaded; poisoned after an upload; uploaded only in part.
  Array<float> fresh(*device_, 32);
  Array<float> poisoned(*device_, std::vector<float>(32, 1.0f));
  ASSERT_TRUE(device_->poison(poisoned.buffer(), std::byte{0xff}));
  Array<float> partial(*device_, 32);
  const std::vector<float> few(31, 1.0f);
  ASSERT_TRUE(device_->upload(partial.buffer(), std::as_bytes(std::span(few))));
  for (const Array<float>* array : {&fresh, &poisoned, &partial}) {
    const auto message = run(kText, {}, {array->address(), y_.address()});
    EXPECT_HAS(message, "read of 4 bytes that nothing has written, at offset ");
    EXPECT_HAS(message, "of global buffer 'x' (128 bytes): block 0, thread ");
  }
  EXPECT_HAS(run(kText, {}, {partial.address(), y_.address()}), "offset 124 of global buffer 'x' (128 bytes)");
  // What a kernel has written may be read.
  EXPECT_EQ(run(kText, {}, {x_.address(), poisoned.address()}), "");
  EXPECT_EQ(run(kText, {}, {poisoned.address(), y_.address()}), "");
}

TEST_F(Faults, MisalignedVector) {
  // Read whole, read for some of its members, and written, in global and in shared memory.
  for (const char* statement : {"reinterpret_cast<float4*>(y)[1] = reinterpret_cast<const float4*>(x + 1)[i];",
                                "float4 v = reinterpret_cast<const float4*>(x + 1)[i]; y[i] = v.x + v.w;",
                                "reinterpret_cast<float4*>(y + 1)[i] = make_float4(x[0], 1, 2, 3);",
                                "float2 v = *reinterpret_cast<const float2*>(s + 1 + 2 * i); y[0] = v.x;"}) {
    const auto message = run(std::string("extern \"C\" __global__ void kernel(const float* x, float* y) {\n"
                                         "  float* s = static_cast<float*>(shared_memory());\n"
                                         "  const int i = threadIdx.x;\n"
                                         "  s[i] = x[i];\n  __syncthreads();\n  ") +
                                 statement + "\n}\n",
                             {.threads = 8, .shared_bytes = 128}, {x_.address(), y_.address()});
    EXPECT_HAS(message, "misaligned ");
    EXPECT_HAS(message, "line 6 `");
    EXPECT_HAS(message, "the address must be a multiple of ");
  }
  EXPECT_EQ(run(R"(extern "C" __global__ void kernel(const float* x, float* y) {
  if (threadIdx.x == 0) reinterpret_cast<float4*>(y)[1] = *reinterpret_cast<const float4*>(x + 1);
}
)",
                {.threads = 8}, {x_.address(), y_.address()}),
            "kernel 'kernel' on the host device: misaligned read of 16 bytes at offset 4 of global buffer 'x' (400 "
            "bytes); the address must be a multiple of 16: block 0, thread 0, line 2 `if (threadIdx.x == 0) "
            "reinterpret_cast<float4*>(y)[1] = *reinterpret_cast<const float4*>(x + 1);`");
}

constexpr const char* kReduce = R"(extern "C" __global__ void kernel(const float* x, float* y) {
  float* s = static_cast<float*>(shared_memory());
  const int i = threadIdx.x;
  for (int round = 0; round < 2; ++round) {
    BEFORE
    s[i] = x[i];
    AFTER
    y[i] = s[(i + 1) % blockDim.x];
  }
}
)";

std::string reduce_with(const std::string& before, const std::string& after) {
  std::string text = kReduce;
  text.replace(text.find("BEFORE"), 6, before);
  text.replace(text.find("AFTER"), 5, after);
  return text;
}

TEST_F(Faults, MissingBarrierForEverySeed) {
  const std::string barrier = "__syncthreads();";
  const Shape shape = {.threads = 64, .shared_bytes = 256};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    device_->set_seed(seed);
    EXPECT_EQ(run(reduce_with(barrier, barrier), shape, {x_.address(), y_.address()}), "");
    // The reader meets a neighbour's value, or none.
    const auto no_after = run(reduce_with(barrier, ""), shape, {x_.address(), y_.address()});
    EXPECT_NE(no_after, "");
    const auto no_before = run(reduce_with("", barrier), shape, {x_.address(), y_.address()});
    EXPECT_HAS(no_before, "race: ");
    EXPECT_HAS(no_before, "of shared memory (256 bytes) with no barrier since thread ");
    EXPECT_HAS(no_before, "line 6 `s[i] = x[i];`");
    EXPECT_HAS(no_before, "line 8 `y[i] = s[(i + 1) % blockDim.x];`");
    // A barrier of the warp is not enough for two warps.
    EXPECT_NE(run(reduce_with(barrier, "__syncwarp();"), shape, {x_.address(), y_.address()}), "");
  }
}

TEST_F(Faults, RaceOfReadModifyWrite) {
  EXPECT_HAS(run(R"(extern "C" __global__ void kernel(const float* x, float* y) {
  float* s = static_cast<float*>(shared_memory());
  if (threadIdx.x == 0) s[0] = 0;
  __syncthreads();
  s[0] += x[threadIdx.x];
}
)",
                 {.threads = 64, .shared_bytes = 16}, {x_.address(), y_.address()}),
             "line 5 `s[0] += x[threadIdx.x];`");
}

TEST_F(Faults, NeighbouringHalvesAreNoRace) {
  EXPECT_EQ(run(R"(extern "C" __global__ void kernel(const float* x, float* y) {
  unsigned short* s = static_cast<unsigned short*>(shared_memory());
  s[threadIdx.x] = static_cast<unsigned short>(threadIdx.x);
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x ^ 1];
}
)",
                {.threads = 64, .shared_bytes = 128}, {x_.address(), y_.address()}),
            "");
}

TEST_F(Faults, DivergentBarrier) {
  const auto ended = run(R"(extern "C" __global__ void kernel(const float* x, float* y) {
  if (threadIdx.x == 9) return;
  __syncthreads();
}
)",
                         {.threads = 32}, {x_.address(), y_.address()});
  EXPECT_EQ(
      ended,
      "kernel 'kernel' on the host device: divergent __syncthreads(): block 0, thread 0, line 3 `__syncthreads();` "
      "waits there for ever; thread 9 has ended");
  const auto elsewhere = run(R"(extern "C" __global__ void kernel(const float* x, float* y) {
  if (threadIdx.x == 0) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}
)",
                             {.threads = 32}, {x_.address(), y_.address()});
  EXPECT_HAS(elsewhere, "divergent ");
  EXPECT_HAS(elsewhere, "__syncwarp()");
  EXPECT_HAS(elsewhere, "__syncthreads()");
}

TEST_F(Faults, ReadOfAnotherThreadsStack) {
  const auto message = run(R"(extern "C" __global__ void kernel(const float* x, float* y) {
  float** s = static_cast<float**>(shared_memory());
  float mine[4];
  mine[x[threadIdx.x] > 0 ? 1 : 0] = x[0];
  s[threadIdx.x] = mine;
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x ^ 1][1];
}
)",
                           {.threads = 32, .shared_bytes = 256}, {x_.address(), y_.address()});
  EXPECT_HAS(message, "out-of-bounds read of 4 bytes at address ");
}

TEST_F(Faults, WriteToAConstant) {
  EXPECT_HAS(run(R"(__constant__ const float table[64] = {1.0f};
extern "C" __global__ void kernel(const float* x, float* y) {
  const_cast<volatile float*>(table)[threadIdx.x] = x[0];
}
)",
                 {.threads = 32}, {x_.address(), y_.address()}),
             "read-only memory, the kernel's constants");
}

TEST_F(Faults, DeviceStaysUsable) {
  const std::string good = R"(extern "C" __global__ void kernel(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];
}
)";
  const std::string bad = R"(extern "C" __global__ void kernel(const float* x, float* y) {
  __syncthreads();
  y[threadIdx.x] = x[threadIdx.x + 1000];
}
)";
  for (int i = 0; i < 20; ++i) {
    EXPECT_HAS(run(bad, {.blocks = 5, .threads = 96}, {x_.address(), y_.address()}), "out-of-bounds");
    EXPECT_EQ(run(good, {.blocks = 5, .threads = 96}, {x_.address(), y_.address()}), "");
  }
}

// What the launch before may still write is for threads that have waited for it, each itself.
TEST_F(Faults, WhatTheLaunchBeforeWritesIsReadAfterItsWait) {
  const auto run_after = [&](const std::string& statements) {
    const auto kernel = build(*device_, source_of("extern \"C\" __global__ void kernel(const float* x, float* y) {\n" +
                                                      statements + "  y[threadIdx.x] = x[threadIdx.x];\n}\n",
                                                  {"x", "y"}));
    EXPECT_TRUE(kernel) << kernel.error().message;
    const auto ran = device_->run(
        **kernel, {.blocks = 2, .threads = 32, .arguments = {x_.address(), y_.address()}, .pdl_buffer = x_.address()});
    return ran ? std::string() : ran.error().message;
  };
  EXPECT_EQ(run_after("  grid_dependency_wait();\n"), "");
  EXPECT_HAS(run_after(""), "read of 4 bytes that the launch before may still write, at offset ");
  EXPECT_HAS(run_after(""), "of global buffer 'x' (400 bytes); grid_dependency_wait() comes first: block ");
  const auto message = run_after("  if (threadIdx.x != 3) grid_dependency_wait();\n  __syncthreads();\n");
  EXPECT_HAS(message, "at offset 12 of global buffer 'x' (400 bytes); grid_dependency_wait() comes first: block ");
  EXPECT_HAS(message, "thread 3, line 4 `y[threadIdx.x] = x[threadIdx.x];`");
}

TEST_F(Faults, WhatIsAwaitedIsABuffer) {
  const auto kernel = build(*device_, source_of("extern \"C\" __global__ void kernel(float* y) { y[0] = 0; }", {"y"}));
  ASSERT_TRUE(kernel) << kernel.error().message;
  const auto ran =
      device_->run(**kernel, {.blocks = 1, .threads = 32, .arguments = {y_.address()}, .pdl_buffer = y_.address() + 4});
  ASSERT_FALSE(ran);
  EXPECT_HAS(ran.error().message, "launch of 'kernel': no buffer begins at its PDL buffer's address 0x");
}

}  // namespace
}  // namespace convtgen::testing
