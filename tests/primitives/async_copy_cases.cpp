// cp.async: sizes, zero fill, groups, arrivals.
#include <cstring>

#include "tests/primitives/case.h"

namespace convtgen::testing {

std::vector<Case> async_copy_cases() {
  Case sizes;
  sizes.name = "async_copy_sizes_and_zero_fill";
  sizes.threads = 64;
  sizes.shared_bytes = 64 * 28;
  sizes.inputs = {random_words(64 * 7, 5)};
  // Each thread copies 4, 8 and 16 bytes into its part of the three areas, fewer of them from thread to thread.
  sizes.body = R"(extern "C" __global__ void __launch_bounds__(64) kernel(const unsigned int* __restrict__ x,
                                                        unsigned int* __restrict__ out) {
  unsigned int* staged = static_cast<unsigned int*>(shared_memory());
  const unsigned int t = threadIdx.x;
  async_copy_4(staged + t, x + t, t % 5);
  async_copy_8(staged + 64 + 2 * t, x + 64 + 2 * t, t % 9);
  async_copy_16(staged + 192 + 4 * t, x + 192 + 4 * t, t % 17);
  async_copy_commit();
  async_copy_wait(0);
  __syncthreads();
  for (int i = 63 - t; i < 448; i += 64) {
    out[i] = staged[i];
  }
}
)";
  sizes.want = Words(448, 0);
  const auto copy = [&](std::size_t word, std::size_t bytes) {
    std::memcpy(&sizes.want[word], &sizes.inputs[0][word], bytes);
  };
  for (std::size_t t = 0; t < 64; ++t) {
    copy(t, t % 5);
    copy(64 + 2 * t, t % 9);
    copy(192 + 4 * t, t % 17);
  }

  // A ring of four stages, one group each; eight rounds.
  Case groups;
  groups.name = "async_copy_groups";
  groups.threads = 32;
  groups.shared_bytes = 4 * 32 * 16;
  groups.inputs = {random_words(12 * 128, 6)};
  groups.body = R"(extern "C" __global__ void __launch_bounds__(32) kernel(const unsigned int* __restrict__ x,
                                                        unsigned int* __restrict__ out) {
  unsigned int* staged = static_cast<unsigned int*>(shared_memory());
  const int t = threadIdx.x;
  for (int stage = 0; stage < 3; ++stage) {
    async_copy_16(staged + stage * 128 + 4 * t, x + stage * 128 + 4 * t, 16);
    async_copy_commit();
  }
  for (int round = 0; round < 8; ++round) {
    async_copy_wait(2);
    __syncthreads();
    for (int i = 0; i < 4; ++i) {
      out[round * 128 + i * 32 + t] = staged[round % 4 * 128 + i * 32 + t];
    }
    async_copy_16(staged + (round + 3) % 4 * 128 + 4 * t, x + (round + 3) * 128 + 4 * t, 16);
    async_copy_commit();
  }
  async_copy_wait_all();
  __syncthreads();
  async_copy_16(staged + 4 * t, x + 11 * 128 + 4 * t, 16);
  async_copy_wait_all();
  __syncthreads();
  for (int i = 0; i < 4; ++i) {
    out[8 * 128 + i * 32 + t] = staged[i * 32 + t];
  }
}
)";
  groups.want.assign(groups.inputs[0].begin(), groups.inputs[0].begin() + 8 * 128);
  groups.want.insert(groups.want.end(), groups.inputs[0].begin() + 11 * 128, groups.inputs[0].end());

  Case arrive;
  arrive.name = "async_copy_arrive";
  arrive.threads = 64;
  arrive.shared_bytes = 64 * 16 + 8;
  arrive.inputs = {random_words(256, 7)};
  // Two copies of 8 bytes a thread; who waits for the barrier sees all of them.
  arrive.body = R"(extern "C" __global__ void __launch_bounds__(64) kernel(const unsigned int* __restrict__ x,
                                                        unsigned int* __restrict__ out) {
  unsigned int* staged = static_cast<unsigned int*>(shared_memory());
  unsigned long long* barrier = reinterpret_cast<unsigned long long*>(staged + 256);
  const int t = threadIdx.x;
  if (t == 0) {
    mbarrier_init(barrier, 64);
  }
  __syncthreads();
  async_copy_8(staged + 2 * t, x + 2 * t, 8);
  async_copy_8(staged + 128 + 2 * t, x + 128 + 2 * t, 8);
  async_copy_arrive(barrier);
  mbarrier_poll(barrier, 0);
  for (int i = 63 - t; i < 256; i += 64) {
    out[i] = staged[i];
  }
}
)";
  arrive.want = arrive.inputs[0];
  return {sizes, groups, arrive};
}

}  // namespace convtgen::testing
