// Wrong uses of wgmma and setmaxnreg.
#include "tests/primitives/wrong_use_cases.h"

namespace convtgen::testing {

std::vector<WrongUse> wrong_products() {
  std::vector<WrongUse> cases;
  const auto add_plain = [&](const Frame& frame, std::vector<std::string> words, const std::string& body) {
    cases.push_back({use_case(frame, body), std::move(words)});
  };
  const auto add = [&](const std::string& name, std::vector<std::string> words, const std::string& body) {
    add_plain({.name = name, .threads = 128}, std::move(words),
              std::string(kFillOperands) + "  fence_proxy_async();\n  __syncthreads();\n" + kDescribeOperands + body);
  };
  const std::string read = "  out[t] = __float_as_uint(d[0]);\n";
  const std::string product = "  wgmma_m64n8k16_f16_ss(d, a, b, 1);  // here\n";
  const std::string one = "  wgmma_fence();\n" + product;
  const std::string finish = "  wgmma_commit();\n  wgmma_wait(0);\n";
  const std::string here = "  // here\n";

  add_plain({.name = "mma_by_half_a_warp", .threads = 32}, {"mma_k8_f16"}, R"(  if (t % 32 < 16) {
    const unsigned int a[2] = {x[t], x[t]};
    float d[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    mma_k8_f16(d, a, x[t]);  // here
    out[t] = __float_as_uint(d[0]);
  }
)");

  add("accumulators_read_before_the_wait", {"wgmma", "accumulators"},
      one + "  wgmma_commit();\n  out[t] = __float_as_uint(d[0]);" + here + "  wgmma_wait(0);\n");
  add("accumulators_written_before_the_wait", {"wgmma", "accumulators"},
      one + "  wgmma_commit();\n  d[1] = 2.0f;" + here + "  wgmma_wait(0);\n" + read);
  add("accumulators_read_after_a_wait_for_less", {"wgmma", "accumulators"},
      one + "  wgmma_commit();\n  wgmma_wait(1);\n  out[t] = __float_as_uint(d[0]);" + here);
  add("accumulators_of_the_newest_of_two_groups", {"wgmma", "accumulators"}, one + R"(  wgmma_commit();
  float e[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  wgmma_fence();
  wgmma_m64n8k16_f16_ss(e, a, b, 1);
  wgmma_commit();
  wgmma_wait(1);
  out[t] = __float_as_uint(d[0]);
  out[t] = __float_as_uint(e[0]);  // here
)");
  add("product_in_no_group", {"wgmma", "accumulators"},
      one + "  wgmma_wait(0);\n  out[t] = __float_as_uint(d[0]);" + here);
  add("a_registers_written_before_the_wait", {"wgmma", "registers"}, R"(  unsigned int values[4] = {0, 0, 0, 0};
  wgmma_fence();
  wgmma_m64n8k16_f16_rs(d, values, b, 1);
  wgmma_commit();
  values[2] = 7;  // here
  wgmma_wait(0);
)" + read);
  add("product_without_a_fence", {"wgmma", "wgmma_fence"}, product + finish + read);
  add("accumulators_touched_since_the_fence", {"wgmma", "wgmma_fence"}, R"(  wgmma_fence();
  d[0] = 1.0f;
)" + product + finish + read);
  add("accumulators_touched_after_a_second_fence", {"wgmma", "wgmma_fence"}, R"(  wgmma_fence();
  wgmma_m64n8k16_f16_ss(d, a, b, 1);
)" + finish + "  wgmma_fence();\n  d[3] = 1.0f;\n" + product + finish + read);
  add("accumulators_touched_between_two_products", {"wgmma", "wgmma_fence"}, R"(  wgmma_fence();
  wgmma_m64n8k16_f16_ss(d, a, b, 1);
)" + finish + "  d[2] += 1.0f;\n" + product + finish + read);
  add("a_registers_touched_between_two_products", {"wgmma", "wgmma_fence"},
      R"(  unsigned int values[4] = {0, 0, 0, 0};
  wgmma_fence();
  wgmma_m64n8k16_f16_rs(d, values, b, 1);
)" + finish +
          "  values[3] = 7;\n  wgmma_m64n8k16_f16_rs(d, values, b, 1);  // here\n" + finish + read);

  // What the product reads in shared memory.
  const auto unfenced = [&](const std::string& name, std::vector<std::string> words, const std::string& begin) {
    add_plain({.name = name, .threads = 128}, std::move(words), begin + kDescribeOperands + one + finish + read);
  };
  const std::string fill = kFillOperands;
  unfenced("operands_not_fenced", {"wgmma", "fence_proxy_async"}, fill + "  __syncthreads();\n");
  unfenced("operands_fenced_after_the_barrier", {"wgmma", "fence_proxy_async"},
           fill + "  __syncthreads();\n  fence_proxy_async();\n");
  unfenced("operands_fenced_by_one_thread", {"wgmma", "fence_proxy_async"},
           fill + "  if (t == 0) {\n    fence_proxy_async();\n  }\n  __syncthreads();\n");
  unfenced("operands_copied_and_not_fenced", {"wgmma", "fence_proxy_async"}, R"(  for (int i = t; i < 256; i += 128) {
    async_copy_16(staged + 4 * i, x + 4 * i, 16);
  }
  async_copy_wait_all();
  __syncthreads();
)");
  unfenced("operands_with_no_barrier", {}, R"(  for (int i = t; i < 1024; i += 128) {
    staged[i] = 0;  // here
  }
  fence_proxy_async();
)");
  unfenced("operands_that_nothing_wrote", {"written"}, R"(  staged[t] = 0;
  fence_proxy_async();
  __syncthreads();
)");
  add("operands_overwritten_before_the_wait", {"race", "wgmma"}, one + R"(  wgmma_commit();
  staged[t] = 1;  // here
  wgmma_wait(0);
)" + read);
  // Each warp has waited for its own part of the product only.
  add("operands_overwritten_with_no_barrier", {"race", "wgmma"}, one + finish + R"(  staged[512 + t] = 1;  // here
)" + read);
  add("operands_overwritten_by_a_load", {}, R"(  if (t == 0) {
    mbarrier_init(barrier, 1);
    fence_mbarrier_init();
  }
  __syncthreads();
)" + one + R"(  wgmma_commit();
  if (t == 0) {
    mbarrier_arrive_expect(barrier, 128);
    bulk_load(base, x, 128, barrier);  // here
  }
  wgmma_wait(0);
  mbarrier_wait(barrier, 0);
)" + read);

  const auto described = [&](const std::string& name, std::vector<std::string> words, const std::string& descriptor) {
    add(name,
        std::move(words), "  const unsigned long long wrong = " + descriptor + ";  // here\n" + R"(  wgmma_fence();
  wgmma_m64n8k16_f16_ss(d, wrong, b, 1);  // here
)" + finish + read);
  };
  described("descriptor_beyond_shared_memory", {"wgmma", "shared memory"},
            "wgmma_descriptor(base + 8192, 1024, 128, 0)");
  described("descriptor_whose_pitch_leaves_shared_memory", {"wgmma", "shared memory"},
            "wgmma_descriptor(base, 16384, 128, 0)");
  described("descriptor_moved_out_of_shared_memory", {"wgmma", "shared memory"}, "wgmma_descriptor_move(a, -8192)");
  described("descriptor_with_a_base_offset", {"wgmma", "base"}, "a | 1ull << 49");
  described("descriptor_misaligned", {"wgmma", "16"}, "wgmma_descriptor(base + 8, 1024, 128, 0)");
  described("descriptor_of_a_misaligned_pitch", {"wgmma", "16"}, "wgmma_descriptor(base, 1024, 136, 0)");

  add("warpgroup_short_of_a_warp", {"wgmma_fence"}, "  if (t < 96) {\n    wgmma_fence();  // here\n  }\n");
  add("warpgroup_short_of_a_warp_at_the_product", {"wgmma", "warpgroup"},
      "  wgmma_fence();\n  if (t >= 32) {\n  " + product + finish + "  }\n");
  add("warpgroup_short_of_a_warp_at_the_wait", {"wgmma", "warpgroup"},
      one + finish + "  if (t / 32 != 2) {\n    wgmma_wait(0);  // here\n  }\n");
  add("warpgroup_short_of_half_a_warp", {"wgmma_fence"}, "  if (t % 32 < 16) {\n    wgmma_fence();  // here\n  }\n");
  add("warpgroup_of_two_minds", {"wgmma", "warpgroup"}, R"(  wgmma_fence();
  if (t < 64) {
    wgmma_m64n8k16_f16_ss(d, a, b, 1);  // here
  } else {
    wgmma_m64n8k16_f16_ss(d, b, a, 1);  // here
  }
)" + finish);
  add("warpgroup_of_two_scales", {"wgmma", "warpgroup"},
      "  wgmma_fence();\n  wgmma_m64n8k16_f16_ss(d, a, b, t < 64 ? 1 : 0);  // here\n" + finish);

  const auto registers = [&](const std::string& name, std::vector<std::string> words, const std::string& body) {
    add_plain({.name = name, .threads = 384}, std::move(words), body);
  };
  registers("more_registers_than_there_are", {"setmaxnreg"}, R"(  if (t < 128) {
    setmaxnreg_decrease_40();
  } else {
    setmaxnreg_increase_240();  // here
  }
)");
  registers("more_registers_than_the_block_began_with", {"setmaxnreg"}, R"(  if (t < 128) {
    setmaxnreg_decrease_64();
  } else {
    setmaxnreg_increase_224();  // here
  }
)");
  registers("registers_that_nobody_gives_back", {"setmaxnreg"}, R"(  if (t >= 128) {
    setmaxnreg_increase_232();  // here
  }
)");
  registers("fewer_registers_that_are_more", {"setmaxnreg"}, R"(  setmaxnreg_decrease_240();  // here
)");
  registers("more_registers_that_are_fewer", {"setmaxnreg"}, R"(  setmaxnreg_decrease_40();
  __syncthreads();
  setmaxnreg_increase_24();  // here
)");
  registers("registers_by_three_warps", {"setmaxnreg"}, R"(  if (t < 96) {
    setmaxnreg_decrease_24();  // here
  }
)");
  return cases;
}

}  // namespace convtgen::testing
