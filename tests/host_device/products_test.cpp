// wgmma on the host device, as fast as tests need it.
#include <chrono>

#include "tests/host_device/bench.h"

namespace convtgen::testing {
namespace {

#if defined(NDEBUG) && !defined(CONVTGEN_SANITIZED)
constexpr double kSeconds = 1.0;
#else
constexpr double kSeconds = 30.0;
#endif

// Warpgroup g multiplies a matrix of g + 1 by one of ones, 100 times onto the same accumulators.
constexpr const char* kHundredProducts = R"(extern "C" __global__ void kernel(float* out) {
  unsigned char* base = shared_align(shared_memory(), 1024);
  const int t = threadIdx.x;
  const int group = t / 128;
  unsigned short* a = reinterpret_cast<unsigned short*>(base + 2048 * group);
  for (int i = t % 128; i < 1024; i += 128) {
    a[i] = float_to_half(group + 1.0f);
  }
  unsigned short* b = reinterpret_cast<unsigned short*>(base + 3 * 2048);
  for (int i = t; i < 96 * 16; i += 384) {
    b[i] = float_to_half(1.0f);
  }
  fence_proxy_async();
  __syncthreads();
  float d[48];
  for (int i = 0; i < 48; ++i) {
    d[i] = 0.0f;
  }
  wgmma_fence();
  for (int i = 0; i < 100; ++i) {
    wgmma_m64n96k16_f16_ss(d, wgmma_descriptor(a, 1024, 128, 0), wgmma_descriptor(b, 1536, 128, 0), 1);
    wgmma_commit();
    wgmma_wait(1);
  }
  wgmma_wait(0);
  for (int i = 0; i < 48; ++i) {
    out[48 * t + i] = d[i];
  }
}
)";

TEST(Products, HundredOfEachOfThreeWarpgroupsTakeLessThanASecond) {
  const auto device = open_host({.workers = 1});
  const Array<float> out(*device, 384 * 48);
  const auto kernel = build(*device, source_of(kHundredProducts, {"out"}));
  ASSERT_TRUE(kernel) << kernel.error().message;
  const Launch launch{
      .blocks = 1, .threads = 384, .shared_bytes = 3 * 2048 + 3072 + 1024, .arguments = {out.address()}};
  const auto begin = std::chrono::steady_clock::now();
  const auto ran = device->run(**kernel, launch);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(ran) << ran.error().message;
  RecordProperty("seconds", std::to_string(took.count()));
  EXPECT_LT(took.count(), kSeconds);
  const auto values = out.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], 1600.0F * static_cast<float>(i / (128 * 48) + 1)) << i;
  }
}

}  // namespace
}  // namespace convtgen::testing
