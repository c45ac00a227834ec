// Wrong uses of mbarriers, named barriers and clusters.
#include "tests/primitives/wrong_use_cases.h"

namespace convtgen::testing {

std::vector<WrongUse> wrong_barriers() {
  std::vector<WrongUse> cases;
  const auto add = [&](const Frame& frame, std::vector<std::string> words, const std::string& body) {
    cases.push_back({use_case(frame, body), std::move(words)});
  };
  const std::string make = kMakeBarrier;

  add({.name = "mbarrier_never_made"}, {"mbarrier_arrive"}, R"(  if (t == 0) {
    mbarrier_arrive(barrier);  // here
  }
)");
  add({.name = "mbarrier_made_by_another_warp", .threads = 64}, {"mbarrier_arrive"}, R"(  if (t == 0) {
    mbarrier_init(barrier, 1);
  }
  if (t == 32) {
    mbarrier_arrive(barrier);  // here
  }
)");
  add({.name = "mbarrier_misaligned"}, {"mbarrier_init", "8"}, R"(  if (t == 0) {
    mbarrier_init(reinterpret_cast<unsigned long long*>(base + 8196), 1);  // here
  }
)");
  add({.name = "mbarrier_of_no_arrivals"}, {"mbarrier_init"}, R"(  if (t == 0) {
    mbarrier_init(barrier, 0);  // here
  }
)");
  add({.name = "mbarrier_outside_shared_memory"}, {"mbarrier_init"}, R"(  if (t == 0) {
    mbarrier_init(barrier + 1024, 1);  // here
  }
)");
  add({.name = "mbarrier_plainly_written"}, {"mbarrier"}, make + R"(  if (t == 3) {
    reinterpret_cast<unsigned int*>(barrier)[1] = 0;  // here
  }
)");
  add({.name = "mbarrier_plainly_read"}, {"mbarrier"}, make + R"(  if (t == 3) {
    out[t] = reinterpret_cast<unsigned int*>(barrier)[0];  // here
  }
)");
  add({.name = "mbarrier_invalidated_while_waited_for", .threads = 64}, {"mbarrier_"}, make + R"(  if (t == 32) {
    mbarrier_wait(barrier, 0);  // here
  }
  if (t == 0) {
    mbarrier_invalidate(barrier);  // here
  }
)");
  add({.name = "mbarrier_used_after_invalidation"}, {"mbarrier_arrive"}, make + R"(  if (t == 0) {
    mbarrier_invalidate(barrier);
    mbarrier_arrive(barrier);  // here
  }
)");
  add({.name = "more_arrivals_than_the_count"}, {"mbarrier_arrive", "arrivals"}, make + R"(  if (t == 0) {
    mbarrier_arrive_expect(barrier, 128);
    mbarrier_arrive(barrier);  // here
  }
)");
  add({.name = "more_bytes_than_an_mbarrier_counts"}, {"mbarrier_arrive_expect"}, make + R"(  if (t == 0) {
    mbarrier_arrive_expect(barrier, 1 << 20);  // here
  }
)");
  // Both sides count phases, except at one wait, which forgets to.
  for (const bool forgets_full : {true, false}) {
    add({.name = forgets_full ? "full_waited_for_with_one_parity" : "empty_waited_for_with_one_parity", .threads = 64},
        {},
        std::string(R"(  unsigned long long* full = barrier;
  unsigned long long* empty = barrier + 1;
  if (t == 0) {
    mbarrier_init(full, 32);
    mbarrier_init(empty, 32);
  }
  __syncthreads();
  for (int i = 0; i < 4; ++i) {
    if (t < 32) {
      mbarrier_wait(empty, )") +
            (forgets_full ? "(i & 1) ^ 1" : "1") + R"();  // here
      staged[t] = x[32 * i + t];  // here
      mbarrier_arrive(full);  // here
    } else {
      mbarrier_wait(full, )" +
            (forgets_full ? "0" : "i & 1") + R"();  // here
      out[t] = staged[63 - t];  // here
      mbarrier_arrive(empty);  // here
    }
  }
)");
  }
  add({.name = "read_without_waiting_for_the_mbarrier", .threads = 64}, {}, make + R"(  if (t == 0) {
    staged[0] = x[0];  // here
    mbarrier_arrive(barrier);
  }
  if (t == 32) {
    out[t] = staged[0];  // here
    mbarrier_wait(barrier, 0);
  }
)");
  add({.name = "written_after_the_arrival", .threads = 64}, {}, make + R"(  if (t == 0) {
    mbarrier_arrive(barrier);
    staged[0] = x[0];  // here
  }
  if (t == 32) {
    mbarrier_wait(barrier, 0);
    out[t] = staged[0];  // here
  }
)");
  // What other lanes have written is not handed on by the arrival of one, without a barrier of the warp.
  add({.name = "one_lane_arrives_for_all", .threads = 64}, {}, make + R"(  if (t < 32) {
    staged[t] = x[t];  // here
    if (t == 0) {
      mbarrier_arrive(barrier);
    }
  } else {
    mbarrier_wait(barrier, 0);
    out[t] = staged[(t - 32) ^ 1];  // here
  }
)");

  add({.name = "two_waits_for_each_other", .threads = 64}, {"deadlock", "mbarrier_wait"}, R"(  if (t == 0) {
    mbarrier_init(barrier, 1);
    mbarrier_init(barrier + 1, 1);
  }
  __syncthreads();
  if (t == 0) {
    mbarrier_wait(barrier, 0);  // here
    mbarrier_arrive(barrier + 1);
  } else if (t == 32) {
    mbarrier_wait(barrier + 1, 0);  // here
    mbarrier_arrive(barrier);
  }
)");
  add({.name = "phase_short_of_one_arrival"}, {"deadlock", "mbarrier_wait"}, R"(  if (t == 0) {
    mbarrier_init(barrier, 32);
  }
  __syncthreads();
  if (t != 17) {
    mbarrier_arrive(barrier);
  }
  mbarrier_wait(barrier, 0);  // here
)");
  add({.name = "phase_short_of_bytes", .map = MapOf::kInput}, {"deadlock", "mbarrier_wait"}, make + R"(  if (t == 0) {
    mbarrier_arrive_expect(barrier, 256);
    tensor_load_1d(base, map, barrier, 0);
  }
  mbarrier_wait(barrier, 0);  // here
)");
  add({.name = "endless_polling"}, {"mbarrier_test"}, make + R"(  unsigned int polls = 0;
  while (!mbarrier_test(barrier, 0)) {  // here
    ++polls;
  }
  out[t] = polls;
)");
  add({.name = "endless_polling_by_trying"}, {"mbarrier_t"},
      make + R"(  while (!mbarrier_try_wait(barrier, 0)) {  // here
  }
)");
  add({.name = "arrival_after_an_endless_wait", .threads = 64}, {"deadlock", "mbarrier_"}, make + R"(  if (t == 40) {
    mbarrier_poll(barrier, 0);  // here
    mbarrier_arrive(barrier);
  }
)");

  add({.name = "named_barrier_of_half_warps", .threads = 64}, {"named_barrier_sync"},
      R"(  named_barrier_sync(1, 48);  // here
)");
  add({.name = "named_barrier_zero", .threads = 64}, {"named_barrier_sync"}, R"(  named_barrier_sync(0, 64);  // here
)");
  add({.name = "named_barrier_sixteen", .threads = 64}, {"named_barrier_arrive"},
      R"(  named_barrier_arrive(16, 64);  // here
)");
  add({.name = "named_barrier_of_different_counts", .threads = 96}, {"named_barrier_sync"}, R"(  if (t / 32 == 1) {
    named_barrier_sync(2, 96);  // here
  } else {
    named_barrier_sync(2, 64);  // here
  }
)");
  add({.name = "named_barrier_by_half_a_warp", .threads = 64}, {"named_barrier_sync"}, R"(  if (t < 48) {
    named_barrier_sync(1, 64);  // here
  }
)");
  add({.name = "named_barrier_that_one_warp_misses", .threads = 96}, {"named_barrier_sync"}, R"(  if (t < 64) {
    named_barrier_sync(1, 96);  // here
  }
)");
  add({.name = "named_barrier_hands_on_nothing_to_who_arrives", .threads = 64}, {}, R"(  if (t < 32) {
    named_barrier_arrive(1, 64);
    out[t] = staged[t];  // here
  } else {
    staged[t - 32] = x[t];  // here
    named_barrier_sync(1, 64);
  }
)");
  return cases;
}

std::vector<WrongUse> wrong_clusters() {
  std::vector<WrongUse> cases;
  const auto add = [&](const std::string& name, std::vector<std::string> words, const std::string& body) {
    cases.push_back(
        {use_case({.name = name, .blocks = 2, .cluster = 2, .map = MapOf::kInput}, body), std::move(words)});
  };
  const std::string begin = R"(  const unsigned int rank = cluster_rank();
  if (t == 0) {
    mbarrier_init(barrier, 1);
    fence_mbarrier_init();
  }
  cluster_arrive();
  cluster_wait();
)";
  const std::string end = R"(  cluster_arrive();
  cluster_wait();
)";

  add("cluster_memory_before_its_barrier", {"cluster"}, R"(  if (cluster_rank() == 0 && t == 0) {
    cluster_store_4(staged, 1, x[0]);  // here
  }
)" + end);
  add("cluster_memory_of_an_ended_block", {"shared memory"}, R"(  staged[t] = x[t];
)" + end + R"(  if (cluster_rank() == 0) {
    out[t] = cluster_load_4(staged + t, 1);  // here
  }
)");
  add("cluster_pointer_to_an_ended_block", {"shared memory"}, R"(  staged[t] = x[t];
)" + end + R"(  if (cluster_rank() == 0) {
    out[t] = static_cast<unsigned int*>(cluster_pointer(staged + t, 1))[0];  // here
  }
)");
  add("cluster_arrival_at_an_ended_block", {"block"}, begin + R"(  if (rank == 0 && t == 0) {
    mbarrier_arrive_remote(barrier, 1);  // here
  }
)");
  add("cluster_load_out_of_bounds", {"shared memory"}, begin + R"(  if (t == 0) {
    out[rank] = cluster_load_4(staged + 4096, rank ^ 1);  // here
  }
)" + end);
  add("cluster_rank_out_of_bounds", {"cluster"}, begin + R"(  if (t == 0) {
    out[rank] = cluster_load_4(staged, 2);  // here
  }
)" + end);
  add("cluster_arrival_out_of_bounds", {"mbarrier_arrive_remote"}, begin + R"(  if (t == 0) {
    mbarrier_arrive_remote(barrier, 2);  // here
  }
)" + end);
  add("cluster_load_of_what_nothing_wrote", {"written"}, begin + R"(  if (t == 0) {
    out[rank] = cluster_load_4(staged, rank ^ 1);  // here
  }
)" + end);
  add("cluster_memory_raced_for", {}, begin + R"(  if (rank == 0) {
    cluster_store_4(staged + t, 1, x[t]);  // here
  } else {
    out[t] = staged[t];  // here
  }
)" + end);
  add("cluster_arrival_that_hands_on_nothing", {"race"}, begin + R"(  if (rank == 0) {
    cluster_store_4(staged + t, 1, x[t]);  // here
  }
  cluster_arrive_relaxed();
  cluster_wait();
  if (rank == 1) {
    out[t] = staged[t];  // here
  }
)" + end);
  add("cluster_wait_that_acquires_too_little", {"race"}, begin + R"(  if (rank == 0 && t == 0) {
    cluster_store_4(staged, 1, x[0]);  // here
    mbarrier_arrive_remote(barrier, 1);
  }
  if (rank == 1 && t == 0) {
    mbarrier_wait(barrier, 0);
    out[t] = staged[0];  // here
  }
)" + end);
  add("cluster_barrier_without_arrival", {"cluster_wait"}, R"(  cluster_wait();  // here
)");
  add("cluster_barrier_arrived_at_twice", {"cluster_arrive"}, R"(  cluster_arrive();
  cluster_arrive();  // here
)");
  add("cluster_barrier_that_one_block_comes_to_too_late", {"deadlock"}, begin + R"(  if (rank == 1) {
    mbarrier_wait_cluster(barrier, 0);  // here
  }
  cluster_arrive();
  cluster_wait();  // here
  if (rank == 0 && t == 0) {
    mbarrier_arrive_remote(barrier, 1);
  }
)");
  add("cluster_barrier_by_half_a_warp", {"cluster_arrive"}, R"(  if (t < 16) {
    cluster_arrive();  // here
  }
)");
  add("cluster_init_not_fenced", {"fence_mbarrier_init"}, R"(  if (t == 0) {
    mbarrier_init(barrier, 1);
  }
)" + end + R"(  if (t == 0) {
    mbarrier_arrive_remote(barrier, cluster_rank() ^ 1);  // here
  }
)" + end);
  add("cluster_multicast_before_its_barrier", {"tensor_load_multicast"}, R"(  if (t == 0) {
    mbarrier_init(barrier, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect(barrier, 128);
    if (cluster_rank() == 0) {
      tensor_load_multicast_1d(base, map, barrier, 3, 0);  // here
    }
    mbarrier_wait(barrier, 0);
  }
)" + end);
  add("cluster_multicast_beyond_its_blocks", {"tensor_load_multicast"}, begin + R"(  if (t == 0 && rank == 0) {
    mbarrier_arrive_expect(barrier, 128);
    tensor_load_multicast_1d(base, map, barrier, 5, 0);  // here
  }
)" + end);
  return cases;
}

}  // namespace convtgen::testing
