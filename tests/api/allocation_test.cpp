// A prepared launch allocates nothing. The program's operator new is this file's, the library's too.
#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/api/fake_gpu.h"
#include "tests/api/packed_record.h"

namespace {

std::atomic<long> allocations{0};

}  // namespace

// The sanitizers have their own.
#ifndef CONVTGEN_SANITIZED
#define CONVTGEN_COUNTS_ALLOCATIONS
// NOLINTBEGIN(misc-new-delete-overloads): what is not here calls these.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) {
    return memory;
  }
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
// NOLINTEND(misc-new-delete-overloads)
#endif

namespace convtgen::api_test {
namespace {

class AllocationTest : public FakeGpuTest {};

TEST_F(AllocationTest, APreparedLaunchAllocatesNothing) {
#ifndef CONVTGEN_COUNTS_ALLOCATIONS
  GTEST_SKIP() << "allocations are the sanitizer's";
#endif
  const Device device("cuda");
  const Layer layer(kOpenLayer);
  state_->record = false;
  const long before_prepare = allocations;
  const Kernel kernel = device.prepare(layer);
  EXPECT_GT(allocations, before_prepare) << "this test sees the library's allocations";
  push(make_context(0));
  (void)device.prepare(layer);
  const Tensors tensors = some_tensors();
  const long before = allocations;
  for (int i = 0; i < 100; ++i) {
    const Sizes sizes(1 + i % 3, 5, 7 + i), none(0, 5, 7);
    ASSERT_EQ(convtgen_launch(kernel.handle(), &tensors, &sizes, nullptr), CONVTGEN_OK);
    ASSERT_EQ(convtgen_run(device.handle(), layer.handle(), CONVTGEN_FORWARD, &tensors, &none, nullptr), CONVTGEN_OK);
  }
  EXPECT_EQ(allocations, before);
  pop();
  kernel.launch(tensors, {1, 5, 7});  // in the primary context, where it is too
}

TEST_F(AllocationTest, NorDoesOneThatPacksTheWeights) {
#ifndef CONVTGEN_COUNTS_ALLOCATIONS
  GTEST_SKIP() << "allocations are the sanitizer's";
#endif
  constexpr const char* kLayer =
      "conv_transpose2d 64 -> 64; kernel 4; stride 2; padding 1; compute tf32; input ?x32x32";
  ASSERT_GT(record_packed_plan(kLayer, "Fake GPU", folder_ / "store"), 0);
  const Device device("cuda");
  const Kernel kernel = device.prepare(Layer(kLayer));
  ASSERT_GT(kernel.workspace({1, 32, 32}), 0u);
  push(make_context(0));
  (void)device.prepare(Layer(kLayer));
  Tensors tensors = some_tensors();
  tensors.bias = nullptr;
  tensors.workspace = address(0x70000000);
  tensors.workspace_bytes = kernel.workspace({1, 32, 32});
  const void* const weight = tensors.weight;
  const auto launch = [&](const void* given, std::int64_t batch) {
    tensors.weight = given;
    const Sizes sizes(batch, 32, 32);
    return convtgen_launch(kernel.handle(), &tensors, &sizes, nullptr);
  };
  state_->calls.clear();
  ASSERT_EQ(launch(weight, 1), CONVTGEN_OK);
  EXPECT_EQ(state_->calls, (std::vector<std::string>(2, "cuLaunchKernel"))) << "the driver is asked for nothing else";
  state_->record = false;
  const long before = allocations;
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(launch(weight, 1 + i), CONVTGEN_OK);
    ASSERT_EQ(launch(nullptr, 1 + i), CONVTGEN_OK);
  }
  EXPECT_EQ(allocations, before);
  pop();
}

}  // namespace
}  // namespace convtgen::api_test
