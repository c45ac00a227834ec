// Clusters: ranks, distributed shared memory, remote arrivals.
#include "tests/primitives/case.h"

namespace convtgen::testing {

std::vector<Case> cluster_cases() {
  Case memory;
  memory.name = "cluster_shared_memory";
  memory.blocks = 8;
  memory.cluster = 4;
  memory.shared_bytes = 1024;
  memory.inputs = {random_words(8 * 32, 51)};
  // Each block reads from the next one by loads of 4 and 16 bytes and by a pointer, and writes to the one before.
  memory.body = R"(extern "C" __global__ void __launch_bounds__(32) kernel(const unsigned int* __restrict__ x,
                                                        unsigned int* __restrict__ out) {
  unsigned int* own = static_cast<unsigned int*>(shared_memory());
  const unsigned int t = threadIdx.x;
  const unsigned int next = (cluster_rank() + 1) % cluster_size();
  const unsigned int before = (cluster_rank() + cluster_size() - 1) % cluster_size();
  own[t] = x[32 * blockIdx.x + t];
  cluster_arrive();
  cluster_wait();
  unsigned int* to = out + 192 * blockIdx.x;
  to[t] = cluster_rank() + 16 * cluster_size();
  to[32 + t] = cluster_load_4(own + t, next);
  const uint4 four = cluster_load_16(own + t / 4 * 4, next);
  to[64 + t] = four.x + 3 * four.y + 5 * four.z + 7 * four.w;
  to[96 + t] = static_cast<unsigned int*>(cluster_pointer(own + t, next))[0] + 1;
  cluster_store_4(own + 32 + t, before, own[t] + 2);
  if (t < 8) {
    cluster_store_16(own + 64 + 4 * t, before, make_uint4(t, cluster_rank(), own[t], 9));
  }
  cluster_arrive();
  cluster_wait();
  to[128 + t] = own[32 + t];
  to[160 + t] = own[64 + t];
}
)";
  const Words& x = memory.inputs[0];
  for (std::uint32_t block = 0; block < 8; ++block) {
    const std::uint32_t rank = block % 4, next = block / 4 * 4 + (rank + 1) % 4;
    const auto of_next = [&](std::size_t t) { return x[32 * next + t]; };
    memory.want.insert(memory.want.end(), 32, rank + 64);
    for (std::size_t t = 0; t < 32; ++t) {
      memory.want.push_back(of_next(t));
    }
    for (std::size_t t = 0; t < 32; ++t) {
      const std::size_t first = t / 4 * 4;
      memory.want.push_back(of_next(first) + 3 * of_next(first + 1) + 5 * of_next(first + 2) + 7 * of_next(first + 3));
    }
    for (std::size_t t = 0; t < 32; ++t) {
      memory.want.push_back(of_next(t) + 1);
    }
    for (std::size_t t = 0; t < 32; ++t) {
      memory.want.push_back(of_next(t) + 2);
    }
    for (std::uint32_t t = 0; t < 8; ++t) {
      memory.want.insert(memory.want.end(), {t, next % 4, of_next(t), 9});
    }
  }

  // A ring of tokens: each block waits for the arrivals of the one before, reads what it wrote here, and goes on.
  Case remote;
  remote.name = "mbarrier_arrive_remote";
  remote.blocks = 2;
  remote.cluster = 2;
  remote.shared_bytes = 256;
  remote.inputs = {random_words(64, 52)};
  remote.body = R"(extern "C" __global__ void __launch_bounds__(32) kernel(const unsigned int* __restrict__ x,
                                                        unsigned int* __restrict__ out) {
  unsigned long long* barrier = static_cast<unsigned long long*>(shared_memory());
  unsigned int* slot = reinterpret_cast<unsigned int*>(barrier + 2);
  const int t = threadIdx.x;
  const unsigned int other = cluster_rank() ^ 1;
  if (t == 0) {
    mbarrier_init(barrier, 32);
    fence_mbarrier_init();
  }
  __syncwarp();
  cluster_arrive();
  cluster_wait();
  unsigned int value = x[32 * cluster_rank() + t];
  for (int round = 0; round < 4; ++round) {
    if ((round & 1) == static_cast<int>(cluster_rank())) {
      cluster_store_4(slot + t, other, value);
      mbarrier_arrive_remote(barrier, other);
    } else {
      mbarrier_wait_cluster(barrier, round / 2 & 1);
      value = 3 * value + slot[31 - t];
    }
  }
  out[32 * blockIdx.x + t] = value;
  cluster_arrive();
  cluster_wait();
}
)";
  std::vector<Words> value(2);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    value[rank].assign(remote.inputs[0].begin() + static_cast<std::ptrdiff_t>(32 * rank),
                       remote.inputs[0].begin() + static_cast<std::ptrdiff_t>(32 * rank + 32));
  }
  for (std::size_t round = 0; round < 4; ++round) {
    const Words& sent = value[round % 2];
    Words& got = value[1 - round % 2];
    for (std::size_t t = 0; t < 32; ++t) {
      got[t] = 3 * got[t] + sent[31 - t];
    }
  }
  remote.want = value[0];
  remote.want.insert(remote.want.end(), value[1].begin(), value[1].end());
  return {memory, remote};
}

}  // namespace convtgen::testing
