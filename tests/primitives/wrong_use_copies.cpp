// Wrong uses of cp.async, ldmatrix, TMA and bulk copies.
#include "tests/primitives/wrong_use_cases.h"

namespace convtgen::testing {

std::vector<WrongUse> wrong_copies() {
  std::vector<WrongUse> cases;
  const auto add = [&](const std::string& name, std::vector<std::string> words, const std::string& body) {
    cases.push_back({use_case({.name = name, .threads = 64}, body), std::move(words)});
  };

  add("async_copy_read_before_the_wait", {"race", "cp.async"}, R"(  async_copy_4(staged + t, x + t, 4);  // here
  async_copy_commit();
  out[t] = staged[t];  // here
)");
  add("async_copy_read_after_a_wait_for_less", {"race", "cp.async"}, R"(  async_copy_4(staged + t, x + t, 4);  // here
  async_copy_commit();
  async_copy_wait(1);
  out[t] = staged[t];  // here
)");
  add("async_copy_in_no_group", {"race", "cp.async"}, R"(  async_copy_4(staged + t, x + t, 4);  // here
  async_copy_wait(0);
  out[t] = staged[t];  // here
)");
  add("async_copy_read_by_others_before_a_barrier", {}, R"(  async_copy_4(staged + t, x + t, 4);  // here
  async_copy_commit();
  async_copy_wait(0);
  out[t] = staged[63 - t];  // here
)");
  add("async_copy_with_the_wait_after_the_barrier", {"race", "cp.async"},
      R"(  async_copy_4(staged + t, x + t, 4);  // here
  async_copy_commit();
  __syncthreads();
  async_copy_wait(0);
  out[t] = staged[63 - t];  // here
)");
  add("async_copy_overwritten", {"race", "cp.async"}, R"(  async_copy_4(staged + t, x + t, 4);  // here
  async_copy_commit();
  staged[t] = x[t];  // here
)");
  add("async_copy_over_what_is_read", {}, R"(  staged[t] = x[t];
  __syncthreads();
  out[t] = staged[63 - t];  // here
  async_copy_4(staged + t, x + t, 4);  // here
  async_copy_wait_all();
)");
  add("async_copy_arrival_not_waited_for", {"race", "cp.async"}, R"(  if (t == 0) {
    mbarrier_init(barrier, 64);
  }
  __syncthreads();
  async_copy_4(staged + t, x + t, 4);  // here
  async_copy_arrive(barrier);
  out[t] = staged[t];  // here
)");
  // The arrival is for what was asked before it.
  add("async_copy_after_the_arrival", {"race", "cp.async"}, R"(  if (t == 0) {
    mbarrier_init(barrier, 64);
  }
  __syncthreads();
  async_copy_arrive(barrier);
  async_copy_4(staged + t, x + t, 4);  // here
  mbarrier_poll(barrier, 0);
  out[t] = staged[t];  // here
)");
  add("async_copy_of_a_misaligned_source", {"async_copy_16", "16"},
      R"(  async_copy_16(staged + 4 * t, x + 4 * t + 1, 16);  // here
  async_copy_wait_all();
)");
  add("async_copy_to_a_misaligned_place", {"async_copy_8", "8"},
      R"(  async_copy_8(staged + 2 * t + 1, x + 2 * t, 8);  // here
  async_copy_wait_all();
)");
  add("async_copy_of_too_many_bytes", {"async_copy_4"}, R"(  async_copy_4(staged + t, x + t, 5);  // here
  async_copy_wait_all();
)");
  add("async_copy_out_of_bounds", {"out-of-bounds"},
      R"(  async_copy_16(staged + 4 * t, x + 2048 - 4 * 63 + 4 * t, 16);  // here
  async_copy_wait_all();
)");
  add("async_copy_to_global_memory", {"async_copy_4", "shared memory"}, R"(  async_copy_4(out + t, x + t, 4);  // here
  async_copy_wait_all();
)");

  const std::string fill = R"(  staged[t] = x[t];  // here
)";
  add("matrix_load_by_half_a_warp", {"matrix_load"}, fill + R"(  __syncthreads();
  if (t % 32 < 16) {
    unsigned int value;
    matrix_load_x1(value, staged + t % 8 * 4);  // here
    out[t] = value;
  }
)");
  add("matrix_load_of_misaligned_rows", {"matrix_load", "16"}, fill + R"(  __syncthreads();
  unsigned int value;
  matrix_load_x1(value, staged + t % 8 * 4 + 1);  // here
  out[t] = value;
)");
  add("matrix_load_of_what_nothing_wrote", {"written"}, fill + R"(  __syncthreads();
  unsigned int values[4];
  matrix_load_x4(values, staged + t % 32 * 4);  // here
  out[t] = values[0] + values[3];
)");
  add("matrix_load_before_the_barrier", {}, fill + R"(  unsigned int value;
  matrix_load_x1(value, staged + t % 8 * 4);  // here
  out[t] = value;
)");
  add("matrix_store_over_what_is_read", {"race"}, fill + R"(  __syncthreads();
  out[t] = staged[63 - t];  // here
  if (t < 32) {
    matrix_store_x1(staged + t % 8 * 4, x[t]);  // here
  }
)");
  add("matrix_load_of_global_memory", {"matrix_load", "shared memory"}, R"(  unsigned int value;
  matrix_load_x1(value, x + t % 8 * 4);  // here
  out[t] = value;
)");
  return cases;
}

std::vector<WrongUse> wrong_tensor_copies() {
  std::vector<WrongUse> cases;
  const auto add = [&](const Frame& frame, std::vector<std::string> words, const std::string& body) {
    cases.push_back({use_case(frame, body), std::move(words)});
  };
  const auto load = [&](const std::string& name, std::vector<std::string> words, const std::string& body) {
    add({.name = name, .threads = 64, .map = MapOf::kInput}, std::move(words), kMakeBarrier + body);
  };
  const auto store = [&](const std::string& name, std::vector<std::string> words, const std::string& body) {
    add({.name = name, .threads = 64, .map = MapOf::kOutput}, std::move(words), body);
  };
  // One load whose arguments are wrong.
  const auto load_of = [](const std::string& call) {
    return "  if (t == 0) {\n    mbarrier_arrive_expect(barrier, 128);\n    " + call +
           "  // here\n    mbarrier_wait(barrier, 0);\n  }\n";
  };

  load("tensor_load_to_a_misaligned_place", {"tensor_load", "128"},
       load_of("tensor_load_1d(base + 16, map, barrier, 0);"));
  load("tensor_load_at_an_odd_coordinate", {"tensor_load", "coordinate"},
       load_of("tensor_load_1d(base, map, barrier, 1);"));
  load("tensor_load_beyond_shared_memory", {"tensor_load", "shared memory"},
       load_of("tensor_load_1d(base + 16384, map, barrier, 0);"));
  load("tensor_load_of_another_rank", {"tensor_load"}, load_of("tensor_load_2d(base, map, barrier, 0, 0);"));
  load("tensor_load_reported_to_no_mbarrier", {"tensor_load"}, load_of("tensor_load_1d(base, map, barrier + 1, 0);"));
  load("bulk_load_of_odd_bytes", {"bulk_load", "16"}, load_of("bulk_load(base, x, 124, barrier);"));
  load("bulk_load_of_a_misaligned_source", {"bulk_load", "16"}, load_of("bulk_load(base, x + 1, 128, barrier);"));
  load("bulk_load_to_a_misaligned_place", {"bulk_load", "16"}, load_of("bulk_load(base + 8, x, 128, barrier);"));
  load("bulk_load_out_of_bounds", {}, load_of("bulk_load(base, x + 2032, 128, barrier);"));
  load("tensor_load_read_before_the_wait", {}, R"(  if (t == 0) {
    mbarrier_arrive_expect(barrier, 128);
    tensor_load_1d(base, map, barrier, 0);  // here
  }
  __syncthreads();
  out[t] = staged[t % 32];  // here
)");
  load("tensor_load_overwritten", {}, R"(  if (t == 0) {
    mbarrier_arrive_expect(barrier, 128);
    tensor_load_1d(base, map, barrier, 0);  // here
    staged[5] = x[5];  // here
    mbarrier_wait(barrier, 0);
  }
)");
  load("tensor_load_over_what_is_read", {}, R"(  staged[t] = x[t];
  __syncthreads();
  out[t] = staged[63 - t];  // here
  if (t == 0) {
    mbarrier_arrive_expect(barrier, 128);
    tensor_load_1d(base, map, barrier, 0);  // here
  }
  mbarrier_wait(barrier, 0);
)");
  load("tensor_load_twice_to_one_place", {}, R"(  if (t == 0) {
    mbarrier_arrive_expect(barrier, 256);
    tensor_load_1d(base, map, barrier, 0);  // here
    tensor_load_1d(base, map, barrier, 32);  // here
  }
  mbarrier_wait(barrier, 0);
)");
  // The phase is complete without them.
  load("tensor_load_of_bytes_not_expected", {}, R"(  if (t == 0) {
    mbarrier_arrive(barrier);
    tensor_load_1d(base, map, barrier, 0);  // here
  }
  mbarrier_wait(barrier, 0);
  out[t] = staged[t % 32];  // here
)");
  load("tensor_load_waited_for_by_another_thread_only", {}, R"(  if (t == 0) {
    mbarrier_arrive_expect(barrier, 128);
    tensor_load_1d(base, map, barrier, 0);  // here
  }
  if (t == 1) {
    mbarrier_wait(barrier, 0);
  }
  out[t] = staged[t % 32];  // here
)");
  add({.name = "mbarrier_init_not_fenced", .threads = 64, .map = MapOf::kInput}, {"fence_mbarrier_init"},
      R"(  if (t == 0) {
    mbarrier_init(barrier, 1);
  }
  __syncthreads();
  if (t == 0) {
    mbarrier_arrive_expect(barrier, 128);
    tensor_load_1d(base, map, barrier, 0);  // here
  }
  mbarrier_wait(barrier, 0);
)");
  add({.name = "mbarrier_init_fenced_by_another_thread", .threads = 64, .map = MapOf::kInput}, {"fence_mbarrier_init"},
      R"(  if (t == 0) {
    mbarrier_init(barrier, 1);
  }
  __syncthreads();
  if (t == 32) {
    fence_mbarrier_init();
    mbarrier_arrive_expect(barrier, 128);
    tensor_load_1d(base, map, barrier, 0);  // here
  }
  mbarrier_wait(barrier, 0);
)");

  const std::string fill = "  staged[t] = x[t];\n";
  const std::string send = R"(  if (t == 0) {
    tensor_store_1d(map, base, 0);  // here
    tensor_store_1d(map, base + 128, 32);  // here
    bulk_commit();  // here
)";
  const std::string finish = "    bulk_wait(0);\n  }\n";
  store("tensor_store_without_a_fence", {"fence_proxy_async"}, fill + "  __syncthreads();\n" + send + finish);
  store("tensor_store_fenced_after_the_barrier", {"fence_proxy_async"},
        fill + "  __syncthreads();\n  fence_proxy_async();\n" + send + finish);
  store("tensor_store_fenced_by_one_thread", {"fence_proxy_async"},
        fill + "  if (t == 0) {\n    fence_proxy_async();\n  }\n  __syncthreads();\n" + send + finish);
  store("tensor_store_written_again_after_the_fence", {"fence_proxy_async"},
        fill + "  fence_proxy_async();\n  staged[t] = x[t];\n  __syncthreads();\n" + send + finish);
  store("tensor_store_fenced_with_no_barrier", {},
        "  staged[t] = x[t];  // here\n  fence_proxy_async();\n" + send + finish);
  const std::string ready = fill + "  fence_proxy_async();\n  __syncthreads();\n";
  store("tensor_store_not_waited_for", {"bulk_wait"}, ready + send + "  }\n");
  store("tensor_store_waited_for_without_a_group", {"bulk_wait"}, ready + R"(  if (t == 0) {
    tensor_store_1d(map, base, 0);  // here
    bulk_wait(0);
  }
)");
  store("tensor_store_overwritten", {"race"}, ready + send + "    staged[1] = 0;  // here\n" + finish);
  store("tensor_store_overwritten_by_others", {"race"}, ready + send + finish + R"(  if (t == 33) {
    staged[1] = 0;  // here
  }
)");
  store("tensor_store_overwritten_after_a_wait_for_less", {"race"},
        ready + send + "    bulk_wait_read(1);\n    staged[1] = 0;  // here\n" + finish);
  store("tensor_store_at_a_negative_coordinate", {"tensor_store", "coordinate"}, ready + R"(  if (t == 0) {
    tensor_store_1d(map, base, -4);  // here
    bulk_commit();
)" + finish);
  store("tensor_store_from_a_misaligned_place", {"tensor_store", "128"}, ready + R"(  if (t == 0) {
    tensor_store_1d(map, base + 64, 0);  // here
    bulk_commit();
)" + finish);
  store("tensor_store_of_what_nothing_wrote", {"written"}, ready + R"(  if (t == 0) {
    tensor_store_1d(map, base + 1024, 0);  // here
    bulk_commit();
)" + finish);
  store("bulk_store_out_of_bounds", {}, ready + R"(  if (t == 0) {
    bulk_store(out + 60, base, 32);  // here
    bulk_commit();
)" + finish);
  return cases;
}

}  // namespace convtgen::testing
