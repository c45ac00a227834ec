// Kernels that keep to the rules where it is easy to suspect them.
#include "tests/primitives/wrong_use_cases.h"

namespace convtgen::testing {
namespace {

using Cases = std::vector<Case>;

void add_mbarriers(Cases& cases) {
  const auto add = [&](const Frame& frame, const std::string& body) { cases.push_back(use_case(frame, body)); };
  // The warp that reads comes together before one of its lanes says so; so does the one that writes.
  add({.name = "one_lane_arrives_for_a_warp", .threads = 64}, R"(  unsigned long long* full = barrier;
  unsigned long long* empty = barrier + 1;
  if (t == 0) {
    mbarrier_init(full, 1);
    mbarrier_init(empty, 1);
  }
  __syncthreads();
  for (int i = 0; i < 6; ++i) {
    if (t < 32) {
      mbarrier_wait(empty, (i & 1) ^ 1);
      staged[t] = x[32 + t] + i;
      __syncwarp();
      if (t == 5) {
        mbarrier_arrive(full);
      }
    } else {
      mbarrier_wait(full, i & 1);
      out[t ^ 1] = staged[(t ^ 1) - 32] - i;
      __syncwarp();
      if (t == 60) {
        mbarrier_arrive(empty);
      }
    }
  }
  if (t < 32) {
    out[t] = x[t];
  }
)");
  // The second thread hands on what the first wrote, without having looked at it.
  add({.name = "chain_of_three", .threads = 96}, R"(  if (t == 0) {
    mbarrier_init(barrier, 1);
    mbarrier_init(barrier + 1, 1);
  }
  __syncthreads();
  if (t == 0) {
    staged[0] = x[95];
    mbarrier_arrive(barrier);
  }
  if (t == 40) {
    mbarrier_wait(barrier, 0);
    mbarrier_arrive(barrier + 1);
  }
  unsigned int value = x[t];
  if (t == 95) {
    mbarrier_wait(barrier + 1, 0);
    value = staged[0];
    staged[0] = 0;
  }
  out[t] = value;
)");
  add({.name = "five_phases", .threads = 96}, R"(  if (t == 0) {
    mbarrier_init(barrier, 96);
  }
  __syncthreads();
  unsigned int value = x[95 - t];
  for (int phase = 0; phase < 5; ++phase) {
    staged[96 * (phase & 1) + t] = value;
    mbarrier_arrive(barrier);
    mbarrier_wait(barrier, phase & 1);
    value = staged[96 * (phase & 1) + 95 - t];
  }
  out[t] = value;
)");
  add({.name = "one_waits_for_all", .threads = 64}, R"(  if (t == 0) {
    mbarrier_init(barrier, 32);
  }
  __syncthreads();
  if (t >= 32) {
    staged[t - 32] = x[t];
    staged[t] = x[t - 32];
    mbarrier_arrive(barrier);
  } else if (t == 7) {
    mbarrier_wait(barrier, 0);
  }
  __syncthreads();
  out[t] = staged[t ^ 32];
)");
  add({.name = "polling_with_work_between", .threads = 64}, R"(  if (t == 0) {
    mbarrier_init(barrier, 32);
  }
  __syncthreads();
  unsigned int polls = 0;
  if (t < 32) {
    while (!mbarrier_test(barrier, 0)) {
      ++polls;
    }
    out[t] = staged[t];
    if (polls == ~0u) {
      out[t] = 0;
    }
  } else {
    staged[t - 32] = x[t - 32];
    out[t] = x[t];
    mbarrier_arrive(barrier);
  }
)");
  add({.name = "writers_end_early", .threads = 64}, R"(  if (t == 0) {
    mbarrier_init(barrier, 32);
  }
  __syncthreads();
  out[t] = x[t];
  if (t >= 32) {
    staged[t] = x[63 - t];
    mbarrier_arrive(barrier);
    return;
  }
  mbarrier_wait(barrier, 0);
  out[t] = staged[63 - t];
)");
  add({.name = "mbarrier_becomes_memory_again"}, R"(  if (t == 0) {
    mbarrier_init(barrier, 32);
  }
  __syncwarp();
  mbarrier_arrive(barrier);
  mbarrier_wait(barrier, 0);
  __syncwarp();
  if (t == 0) {
    mbarrier_invalidate(barrier);
  }
  __syncwarp();
  unsigned int* words = reinterpret_cast<unsigned int*>(barrier);
  if (t < 2) {
    words[t] = x[t];
  }
  __syncwarp();
  out[t] = t < 2 ? words[t] : x[t];
  __syncwarp();
  if (t == 1) {
    mbarrier_init(barrier, 1);
    mbarrier_arrive(barrier);
    mbarrier_wait(barrier, 0);
  }
)");
  add({.name = "named_barriers_back_and_forth", .threads = 96}, R"(  const int t64 = t - 32;
  for (int i = 0; i < 5; ++i) {
    if (t < 32) {
      if (i > 0) {
        named_barrier_sync(2, 96);
      }
      staged[t] = x[32 + t] + i;
      staged[32 + t] = x[64 + t] + i;
      named_barrier_arrive(1, 96);
    } else {
      named_barrier_sync(1, 96);
      out[t] = staged[t64] - i;
      if (i < 4) {
        named_barrier_arrive(2, 96);
      }
    }
  }
  if (t < 32) {
    out[t] = x[t];
  }
)");
}

void add_clusters(Cases& cases) {
  const auto add = [&](const std::string& name, const std::string& body) {
    cases.push_back(use_case({.name = name, .blocks = 4, .cluster = 2, .map = MapOf::kInput}, body));
  };
  const std::string begin = R"(  const unsigned int rank = cluster_rank();
  const unsigned int other = rank ^ 1;
  x += blockIdx.x / 2 * 64;
  out += blockIdx.x * 32;
  if (t == 0) {
    mbarrier_init(barrier, 32);
    fence_mbarrier_init();
  }
  cluster_arrive();
  cluster_wait();
)";
  // All that touches the other block is waited for by that block, so none ends too soon.
  add("cluster_store_and_remote_arrival", begin + R"(  cluster_store_4(staged + t, other, x[32 * other + t]);
  mbarrier_arrive_remote(barrier, other);
  mbarrier_wait_cluster(barrier, 0);
  out[31 - t] = staged[31 - t];
)");
  add("cluster_ends_with_a_relaxed_barrier", begin + R"(  staged[t] = x[32 * other + t];
  cluster_arrive();
  cluster_wait();
  out[t] = cluster_load_4(staged + t, other);
  cluster_arrive_relaxed();
  cluster_wait();
)");
  add("cluster_barrier_with_work_between", begin + R"(  staged[t] = x[32 * other + t];
  cluster_arrive();
  staged[64 + t] = t;
  __syncwarp();
  unsigned int own = staged[64 + (t ^ 3)] ^ 3;
  cluster_wait();
  out[t] = cluster_load_4(staged + own, other);
  cluster_arrive();
  cluster_wait();
)");
  // Each loads for both; expectations may come after bytes, as long as no phase can be complete before.
  add("cluster_multicast_halves", begin + R"(  if (t == 0) {
    tensor_load_multicast_1d(base + 128 * rank, map, barrier, 3, blockIdx.x / 2 * 64 + 32 * rank);
    mbarrier_expect(barrier, 256);
  }
  __syncwarp();
  mbarrier_arrive(barrier);
  mbarrier_wait(barrier, 0);
  out[t] = staged[32 * rank + t];
  cluster_arrive_relaxed();
  cluster_wait();
)");
  // A block that has its bytes may end, whoever asked for them.
  add("cluster_ends_with_its_bytes", begin + R"(  if (t == 0) {
    mbarrier_expect(barrier, 128);
  }
  __syncwarp();
  cluster_arrive();
  cluster_wait();
  if (t == 0 && rank == 1) {
    tensor_load_multicast_1d(base, map, barrier, 3, blockIdx.x / 2 * 64);
  }
  __syncwarp();
  mbarrier_arrive(barrier);
  mbarrier_wait(barrier, 0);
  out[t] = rank == 0 ? staged[t] : x[32 + t];
)");
}

void add_copies(Cases& cases) {
  const auto add = [&](const std::string& name, MapOf map, const std::string& body) {
    cases.push_back(use_case({.name = name, .threads = 64, .map = map}, body));
  };
  add("async_copy_read_by_others", MapOf::kNothing, R"(  async_copy_4(staged + t, x + t, 4);
  async_copy_commit();
  async_copy_4(staged + 64 + t, x + t, 4);
  async_copy_commit();
  async_copy_wait(1);
  __syncthreads();
  out[63 - t] = staged[63 - t];
  async_copy_wait(0);
  staged[64 + t] += 1;
  __syncthreads();
  staged[t] = 0;
)");
  add("async_copy_arrives_for_others", MapOf::kNothing, R"(  if (t == 0) {
    mbarrier_init(barrier, 32);
  }
  __syncthreads();
  if (t < 32) {
    async_copy_8(staged + 2 * t, x + 2 * t, 8);
    async_copy_arrive(barrier);
  } else {
    mbarrier_poll(barrier, 0);
    out[t] = staged[t];
    out[t - 32] = staged[t - 32];
  }
)");
  const std::string make = kMakeBarrier;
  add("tensor_load_waited_for_by_one", MapOf::kInput, make + R"(  if (t == 0) {
    mbarrier_arrive_expect(barrier, 256);
    tensor_load_1d(base, map, barrier, 0);
    tensor_load_1d(base + 128, map, barrier, 32);
  }
  if (t == 33) {
    mbarrier_wait(barrier, 0);
  }
  __syncthreads();
  out[t] = staged[t];
)");
  // What threads have read may be loaded over with a barrier alone.
  add("tensor_load_again_and_again", MapOf::kInput, make + R"(  for (int i = 4; i >= 0; --i) {
    if (t == 0) {
      mbarrier_arrive_expect(barrier, 256);
      tensor_load_1d(base, map, barrier, 64 * i);
      tensor_load_1d(base + 128, map, barrier, 64 * i + 32);
    }
    mbarrier_wait(barrier, i & 1);
    out[t] = staged[t];
    __syncthreads();
  }
)");
  add("tensor_load_expected_by_another", MapOf::kInput, make + R"(  if (t == 0) {
    tensor_load_1d(base, map, barrier, 0);
    tensor_load_1d(base + 128, map, barrier, 32);
  }
  if (t == 32) {
    mbarrier_arrive_expect(barrier, 256);
  }
  mbarrier_wait(barrier, 0);
  out[t] = staged[t];
)");
  // What TMA loaded, TMA stores with no fence.
  add("tensor_load_then_bulk_store", MapOf::kInput, make + R"(  if (t == 0) {
    mbarrier_arrive_expect(barrier, 256);
    tensor_load_1d(base, map, barrier, 0);
    tensor_load_1d(base + 128, map, barrier, 32);
    mbarrier_wait(barrier, 0);
    bulk_store(out, base, 256);
    bulk_commit();
    bulk_wait_read(0);
  }
)");
  add("tensor_store_then_write_again", MapOf::kOutput, R"(  for (int i = 3; i >= 0; --i) {
    staged[t] = x[64 * i + t];
    fence_proxy_async();
    __syncthreads();
    if (t == 9) {
      bulk_wait(0);
      tensor_store_1d(map, base, 0);
      tensor_store_1d(map, base + 128, 32);
      bulk_commit();
      bulk_wait_read(0);
    }
    __syncthreads();
  }
)");
  add("tensor_store_after_an_mbarrier", MapOf::kOutput, R"(  if (t == 0) {
    mbarrier_init(barrier, 64);
  }
  __syncthreads();
  staged[t] = x[t];
  fence_proxy_async();
  mbarrier_arrive(barrier);
  if (t == 50) {
    mbarrier_wait(barrier, 0);
    tensor_store_1d(map, base, 0);
    tensor_store_1d(map, base + 128, 32);
    bulk_commit();
    bulk_wait(0);
  }
)");
  add("matrix_load_after_a_warp_barrier", MapOf::kNothing, R"(  unsigned int* own = staged + t / 32 * 32;
  own[t % 32] = x[t];
  __syncwarp();
  unsigned int value;
  matrix_load_x1(value, own + t % 8 * 4);
  out[t] = value;
)");
}

void add_products(Cases& cases) {
  const auto add = [&](const std::string& name, int threads, const std::string& body) {
    cases.push_back(use_case({.name = name, .threads = threads}, body));
  };
  // Of zeros, so that d is 0.
  const std::string begin =
      std::string(kFillOperands) + "  fence_proxy_async();\n  __syncthreads();\n" + kDescribeOperands;
  const std::string finish = R"(  wgmma_commit();
  wgmma_wait(0);
  out[t] = x[t] + static_cast<unsigned int>(d[0] + d[3]);
)";
  const std::string product = "  wgmma_m64n8k16_f16_ss(d, a, b, 1);\n";
  add("products_in_a_row", 128,
      begin + "  wgmma_fence();\n" + product + product + "  wgmma_commit();\n  wgmma_wait(1);\n" + product + finish);
  add("products_with_accumulators_left_alone", 128,
      begin + "  wgmma_fence();\n" + product + "  wgmma_commit();\n  wgmma_wait(0);\n" + product + finish);
  add("products_with_accumulators_touched_and_fenced", 128,
      begin + "  wgmma_fence();\n" + product +
          "  wgmma_commit();\n  wgmma_wait(0);\n  d[0] += 1.0f;\n  d[0] -= 1.0f;\n" + "  wgmma_fence();\n" + product +
          finish);
  add("products_of_which_the_older_is_read", 128, begin + R"(  float e[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  wgmma_fence();
  wgmma_m64n8k16_f16_ss(e, a, b, 1);
  wgmma_commit();
)" + product + R"(  wgmma_commit();
  wgmma_wait(1);
  out[t] = x[t] + static_cast<unsigned int>(e[0] + e[2]);
  wgmma_wait(0);
  e[1] = d[1];
)");
  add("operands_written_anew", 128, begin + R"(  for (int i = 0; i < 3; ++i) {
    wgmma_fence();
  )" + product + R"(    wgmma_commit();
    wgmma_wait(0);
    __syncthreads();
    staged[t] = 0;
    staged[512 + t] = 0;
    fence_proxy_async();
    __syncthreads();
  }
  wgmma_fence();
)" + product + finish);
  add("products_of_two_warpgroups", 256,
      R"(  for (int i = t; i < 1024; i += 256) {
    staged[i] = 0;
  }
  fence_proxy_async();
  __syncthreads();
)" + std::string(kDescribeOperands) +
          "  if (t >= 128) {\n    wgmma_fence();\n  " + product + "    wgmma_commit();\n" +
          "    wgmma_wait(0);\n  }\n  wgmma_fence();\n" + product + finish);
  add("registers_handed_over", 384, R"(  if (t < 128) {
    setmaxnreg_decrease_24();
  } else {
    setmaxnreg_increase_240();
  }
  out[t] = x[t];
)");
}

}  // namespace

std::vector<Case> right_uses() {
  Cases cases;
  add_mbarriers(cases);
  add_clusters(cases);
  add_copies(cases);
  add_products(cases);
  return cases;
}

}  // namespace convtgen::testing
