// mbarriers and named barriers.
#include "tests/primitives/case.h"

namespace convtgen::testing {

std::vector<Case> barrier_cases() {
  // What test() says about both parities before, between and after two phases of 32 arrivals.
  Case phases;
  phases.name = "mbarrier_phases";
  phases.shared_bytes = 16;
  phases.body = R"(extern "C" __global__ void __launch_bounds__(32) kernel(unsigned int* __restrict__ out) {
  unsigned long long* barrier = static_cast<unsigned long long*>(shared_memory());
  const int t = threadIdx.x;
  if (t == 0) {
    mbarrier_init(barrier, 32);
  }
  __syncwarp();
  for (int phase = 0; phase < 3; ++phase) {
    out[phase * 64 + t] = mbarrier_test(barrier, phase & 1) + 2 * mbarrier_test(barrier, (phase & 1) ^ 1);
    __syncwarp();
    mbarrier_arrive(barrier);
    mbarrier_poll(barrier, phase & 1);
    out[phase * 64 + 32 + t] = mbarrier_test(barrier, phase & 1) + 2 * mbarrier_test(barrier, (phase & 1) ^ 1);
    __syncwarp();
  }
  if (t == 0) {
    mbarrier_invalidate(barrier);
    barrier[0] = 77;
  }
  __syncwarp();
  out[192 + t] = static_cast<unsigned int>(barrier[0]);
}
)";
  for (int phase = 0; phase < 3; ++phase) {
    phases.want.insert(phases.want.end(), 32, 2);
    phases.want.insert(phases.want.end(), 32, 1);
  }
  phases.want.insert(phases.want.end(), 32, 77);

  // A producer warp hands eight values to a consumer warp through one slot, by a full and an empty barrier.
  Case handover;
  handover.name = "mbarrier_handover";
  handover.threads = 64;
  handover.shared_bytes = 160;
  handover.inputs = {random_words(256, 9)};
  handover.body = R"(extern "C" __global__ void __launch_bounds__(64) kernel(const unsigned int* __restrict__ x,
                                                        unsigned int* __restrict__ out) {
  unsigned long long* full = static_cast<unsigned long long*>(shared_memory());
  unsigned long long* empty = full + 1;
  unsigned int* slot = reinterpret_cast<unsigned int*>(full + 4);
  const int lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    mbarrier_init(full, 32);
    mbarrier_init(empty, 32);
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int i = 0; i < 8; ++i) {
      mbarrier_wait(empty, (i & 1) ^ 1);
      slot[lane] = x[32 * i + lane];
      mbarrier_arrive(full);
    }
  } else {
    for (int i = 0; i < 8; ++i) {
      while (!mbarrier_try_wait(full, i & 1)) {
      }
      out[32 * i + lane] = slot[31 - lane];
      mbarrier_arrive(empty);
    }
  }
}
)";
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t lane = 0; lane < 32; ++lane) {
      handover.want.push_back(handover.inputs[0][32 * i + 31 - lane]);
    }
  }

  // Bytes expected in two parts, apart from the arrival; copied in two parts.
  Case expect;
  expect.name = "mbarrier_expect";
  expect.shared_bytes = 1040;
  expect.inputs = {random_words(256, 10)};
  expect.body = R"(extern "C" __global__ void __launch_bounds__(32) kernel(const unsigned int* __restrict__ x,
                                                        unsigned int* __restrict__ out) {
  unsigned int* staged = static_cast<unsigned int*>(shared_memory());
  unsigned long long* barrier = reinterpret_cast<unsigned long long*>(staged + 256);
  if (threadIdx.x == 0) {
    mbarrier_init(barrier, 2);
    fence_mbarrier_init();
    mbarrier_arrive_expect(barrier, 512);
    bulk_load(staged, x, 512, barrier);
    mbarrier_expect(barrier, 512);
    bulk_load(staged + 128, x + 128, 512, barrier);
    mbarrier_arrive(barrier);
  }
  __syncwarp();
  mbarrier_wait(barrier, 0);
  for (int i = threadIdx.x; i < 256; i += 32) {
    out[i] = staged[i];
  }
}
)";
  expect.want = expect.inputs[0];

  Case named;
  named.name = "named_barriers";
  named.threads = 96;
  named.shared_bytes = 384;
  named.inputs = {random_words(96, 11)};
  // Warp 0 writes and goes on; warp 1 and 2 wait for it, then for one another.
  named.body = R"(extern "C" __global__ void __launch_bounds__(96) kernel(const unsigned int* __restrict__ x,
                                                        unsigned int* __restrict__ out) {
  unsigned int* staged = static_cast<unsigned int*>(shared_memory());
  const int t = threadIdx.x;
  if (t < 32) {
    staged[t] = x[t];
    named_barrier_arrive(1, 96);
    out[t] = x[t];
  } else {
    staged[t] = x[t];
    named_barrier_sync(1, 96);
    const unsigned int of_writer = staged[t % 32];
    staged[t] += 1;
    named_barrier_sync(15, 64);
    out[t] = of_writer + staged[128 - 1 - t];
  }
}
)";
  const Words& x = named.inputs[0];
  named.want.assign(x.begin(), x.begin() + 32);
  for (std::size_t t = 32; t < 96; ++t) {
    named.want.push_back(x[t % 32] + x[127 - t] + 1);
  }
  return {phases, handover, expect, named};
}

}  // namespace convtgen::testing
