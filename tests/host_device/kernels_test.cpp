// Kernels without faults compute what they should, whatever the order of threads and blocks.
#include <cmath>
#include <numeric>

#include "tests/host_device/bench.h"

namespace convtgen::testing {
namespace {

TEST(Kernels, AddsVectors) {
  const auto device = open_host();
  constexpr int kCount = 10000;
  std::vector<float> a(kCount);
  std::iota(a.begin(), a.end(), 0.0f);
  Array<float> x(*device, a);
  Array<float> y(*device, kCount);
  const auto source = source_of(R"(
extern "C" __global__ void __launch_bounds__(256) kernel(const float* __restrict__ x, float* __restrict__ y, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    y[i] = x[i] + 2.0f * static_cast<float>(gridDim.x);
  }
}
)");
  ASSERT_EQ(launch(*device, source, {.blocks = 40, .threads = 256}, {x.address(), y.address(), kCount}), "");
  const auto values = y.values();
  for (int i = 0; i < kCount; ++i) {
    ASSERT_EQ(values[static_cast<std::size_t>(i)], static_cast<float>(i) + 80.0f);
  }
}

constexpr const char* kTranspose = R"(
// One block transposes a square of 32 x 32.
extern "C" __global__ void kernel(const float* __restrict__ x, float* __restrict__ y) {
  float* tile = static_cast<float*>(shared_memory());
  for (int round = 0; round < 3; ++round) {
    __syncthreads();
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
      tile[i / 32 * 33 + i % 32] = x[blockIdx.x * 1024 + i];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
      y[blockIdx.x * 1024 + i] = tile[i % 32 * 33 + i / 32];
    }
  }
}
)";

TEST(Kernels, TransposesThroughSharedMemoryForEverySeedAndBlockSize) {
  const auto device = open_host();
  constexpr std::size_t kBlocks = 7;
  std::vector<float> a(kBlocks * 1024);
  std::iota(a.begin(), a.end(), 1.0f);
  Array<float> x(*device, a);
  auto kernel = build(*device, source_of(kTranspose));
  ASSERT_TRUE(kernel) << kernel.error().message;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const int threads : {1, 32, 96, 256, 1024}) {
      device->set_seed(seed);
      Array<float> y(*device, a.size());
      const auto ran = device->run(**kernel, {.blocks = kBlocks,
                                              .threads = threads,
                                              .shared_bytes = 32 * 33 * 4,
                                              .arguments = {x.address(), y.address()}});
      ASSERT_TRUE(ran) << ran.error().message;
      const auto values = y.values();
      for (std::size_t i = 0; i < a.size(); ++i) {
        ASSERT_EQ(values[i], a[i / 1024 * 1024 + i % 32 * 32 + i / 32 % 32]) << "seed " << seed;
      }
    }
  }
}

TEST(Kernels, TakesEveryKindOfArgument) {
  const auto device = open_host();
  Array<double> y(*device, 5);
  const auto source = source_of(R"(
extern "C" __global__ void kernel(double* y, int a, long long b, unsigned short c, float d, bool e) {
  if (threadIdx.x == 0) {
    y[0] = a;
    y[1] = static_cast<double>(b);
    y[2] = c;
    y[3] = d;
    y[4] = e ? 1 : 0;
  }
}
)");
  const auto b = static_cast<std::uint64_t>(std::int64_t{-5000000000});
  const std::uint64_t d = 0x3fc00000;  // 1.5f
  // Bytes above a parameter's own are nothing to it.
  ASSERT_EQ(
      launch(*device, source, {}, {y.address(), 0xabcdef00fffffffdULL, b, 0xffffffff0000fffeULL, d | 0xffULL << 32, 1}),
      "");
  EXPECT_EQ(y.values(), (std::vector<double>{-3, -5e9, 65534, 1.5, 1}));
}

TEST(Kernels, FusesOnlyWhatIsWrittenAsFma) {
  const auto device = open_host();
  const float a = 1.0f + 0x1p-12f;  // a * a has a bit that float can't hold
  Array<float> x(*device, std::vector<float>{a, -(a * a)});
  Array<float> y(*device, 2);
  const auto source = source_of(R"(
extern "C" __global__ void kernel(const float* x, float* y) {
  if (threadIdx.x == 0) {
    y[0] = x[0] * x[0] + x[1];
    y[1] = fma(x[0], x[0], x[1]);
  }
}
)");
  ASSERT_EQ(launch(*device, source, {}, {x.address(), y.address()}), "");
  EXPECT_EQ(y.values(), (std::vector<float>{0.0f, 0x1p-24f}));
}

TEST(Kernels, MovesVectorsAndStructures) {
  const auto device = open_host();
  std::vector<float> a(256);
  std::iota(a.begin(), a.end(), 0.0f);
  Array<float> x(*device, a);
  Array<float> y(*device, 256);
  const auto source = source_of(R"(
struct Five {
  float values[5];
};
extern "C" __global__ void kernel(const float* __restrict__ x, float* __restrict__ y) {
  const int t = threadIdx.x;
  float4* stage = static_cast<float4*>(shared_memory());
  stage[t] = reinterpret_cast<const float4*>(x)[t];
  __syncthreads();
  const float4 v = stage[t ^ 1];
  float2* out = reinterpret_cast<float2*>(y) + 2 * t;
  out[0] = make_float2(v.w, v.z);
  float2 second = {v.y, v.x};
  out[1] = second;
  if (t == 0) {
    // 20 bytes at an address that is no multiple of them
    *reinterpret_cast<Five*>(y + 201) = *reinterpret_cast<const Five*>(x + 203);
  }
}
)");
  ASSERT_EQ(launch(*device, source, {.threads = 32, .shared_bytes = 512}, {x.address(), y.address()}), "");
  const auto values = y.values();
  for (std::size_t i = 0; i < 128; ++i) {
    ASSERT_EQ(values[i], static_cast<float>((i / 4 ^ 1) * 4 + 3 - i % 4));
  }
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(values[201 + i], a[203 + i]);
  }
}

TEST(Kernels, ComputesTheActivationsFunctions) {
  const auto device = open_host();
  Array<float> y(*device, 6);
  Array<double> z(*device, 6);
  const auto source = source_of(R"(
template <typename T>
__device__ __forceinline__ void all(T* y, T a) {
  y[0] = exp(a);
  y[1] = tanh(a);
  y[2] = erf(a);
  y[3] = log1p(a);
  y[4] = min(a, static_cast<T>(2));
  y[5] = max(a, static_cast<T>(2));
}
extern "C" __global__ void kernel(float* y, double* z, float a) {
  if (threadIdx.x == 0) {
    all(y, a);
    all(z, static_cast<double>(a));
  }
}
)");
  ASSERT_EQ(launch(*device, source, {}, {y.address(), z.address(), 0x3f400000}), "");  // 0.75
  EXPECT_EQ(y.values(),
            (std::vector<float>{std::exp(0.75f), std::tanh(0.75f), std::erf(0.75f), std::log1p(0.75f), 0.75f, 2.0f}));
  EXPECT_EQ(z.values(),
            (std::vector<double>{std::exp(0.75), std::tanh(0.75), std::erf(0.75), std::log1p(0.75), 0.75, 2.0}));
}

}  // namespace
}  // namespace convtgen::testing
