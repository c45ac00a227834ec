// Whole kernels: matrix products out = a * transpose of b, pipelined.
#include <fmt/args.h>
#include <fmt/format.h>

#include "tests/primitives/case.h"

namespace convtgen::testing {
namespace {

std::string k_name(Number number) {
  return fmt::format("k{}_{}", 32 / bytes_of(number), word_of(number));
}

// TMA into a ring of stages, mbarriers, one producer warpgroup and two of consumers with a 64x128 tile each. In a
// cluster of 2 the blocks work on the same columns and each loads half of b for both.
Case tensor_pipeline(Number number, bool cluster) {
  constexpr int kM = 256, kN = 256, kSteps = 7, kStages = 3;
  const int depth = 128 / bytes_of(number);  // a stage's row is 128 bytes
  Case one;
  one.name = fmt::format("pipeline_tma_wgmma_{}{}", word_of(number), cluster ? "_cluster_multicast" : "");
  one.threads = 384;
  one.blocks = (kM / 128) * (kN / 128);
  one.cluster = cluster ? 2 : 1;
  one.shared_bytes = kStages * 32768 + 64 + 1024;
  one.tuned = true;
  const Matrix a = small_integers(kM, kSteps * depth, 81), b = small_integers(kN, kSteps * depth, 82);
  one.inputs = {row_major(a, number), row_major(b, number)};
  one.want = product(a, b);

  fmt::dynamic_format_arg_store<fmt::format_context> words;
  const auto set = [&](const char* name, const std::string& value) { words.push_back(fmt::arg(name, value)); };
  set("steps", std::to_string(kSteps));
  set("stages", std::to_string(kStages));
  set("depth", std::to_string(depth));
  set("n", std::to_string(kN));
  set("product", "wgmma_m64n128" + k_name(number) + "_ss");
  set("arrivals", cluster ? "16" : "8");
  set("begin", cluster ? "  cluster_arrive();\n  cluster_wait();" : "  __syncthreads();");
  set("end", cluster ? "  cluster_arrive();\n  cluster_wait();\n" : "");
  // Blocks of a cluster are neighbours: rows change first.
  set("load_b", cluster
                    ? fmt::format("tensor_load_multicast_2d(b + 8192 * cluster_rank(), map_b, &full[stage], 3, step * "
                                  "{}, column0 + 64 * cluster_rank());",
                                  depth)
                    : fmt::format("tensor_load_2d(b, map_b, &full[stage], step * {}, column0);", depth));
  set("release", cluster ? "if (threadIdx.x % 32 < 2) {\n          mbarrier_release_remote(&empty[(step - 1) % " +
                               std::to_string(kStages) + "], threadIdx.x % 32);\n        }"
                         : "if (threadIdx.x % 32 == 0) {\n          mbarrier_arrive(&empty[(step - 1) % " +
                               std::to_string(kStages) + "]);\n        }");
  set("wait_empty", cluster ? "mbarrier_wait_cluster" : "mbarrier_wait");
  one.body = fmt::vformat(R"(extern "C" __global__ void __launch_bounds__(384)
kernel(const unsigned int*, const unsigned int*, unsigned int* __restrict__ out,
       __grid_constant__ const TensorMap map_a, __grid_constant__ const TensorMap map_b) {{
  unsigned char* base = shared_align(shared_memory(), 1024);
  unsigned long long* full = reinterpret_cast<unsigned long long*>(base + {stages} * 32768);
  unsigned long long* empty = full + {stages};
  const int group = warp_uniform(threadIdx.x / 128);
  const int row0 = blockIdx.x % 2 * 128;
  const int column0 = blockIdx.x / 2 * 128;
  if (threadIdx.x == 0) {{
    for (int stage = 0; stage < {stages}; ++stage) {{
      mbarrier_init(&full[stage], 1);
      mbarrier_init(&empty[stage], {arrivals});
    }}
    fence_mbarrier_init();
  }}
{begin}
  if (group == 0) {{
    setmaxnreg_decrease_24();
    if (threadIdx.x == 0) {{
      for (int step = 0; step < {steps}; ++step) {{
        const int stage = step % {stages};
        {wait_empty}(&empty[stage], (step / {stages} & 1) ^ 1);
        mbarrier_arrive_expect(&full[stage], 32768);
        tensor_load_2d(base + stage * 32768, map_a, &full[stage], step * {depth}, row0);
        unsigned char* b = base + stage * 32768 + 16384;
        {load_b}
      }}
    }}
  }} else {{
    setmaxnreg_increase_232();
    float d[64];
#pragma unroll
    for (int i = 0; i < 64; ++i) {{
      d[i] = 0.0f;
      wgmma_pin(d[i]);
    }}
    for (int step = 0; step < {steps}; ++step) {{
      const int stage = step % {stages};
      mbarrier_wait(&full[stage], step / {stages} & 1);
      const unsigned long long a = wgmma_descriptor(base + stage * 32768 + (group - 1) * 8192, 16, 1024, 128);
      const unsigned long long b = wgmma_descriptor(base + stage * 32768 + 16384, 16, 1024, 128);
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < 4; ++k) {{
        {product}(d, wgmma_descriptor_move(a, 32 * k), wgmma_descriptor_move(b, 32 * k), 1);
      }}
      wgmma_commit();
      wgmma_wait(1);
      if (step > 0) {{
        {release}
      }}
    }}
    wgmma_wait(0);
    const int row = row0 + (group - 1) * 64 + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
    const int column = column0 + threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < 64; ++i) {{
      wgmma_pin(d[i]);
      out[(row + i / 2 % 2 * 8) * {n} + column + i / 4 * 8 + i % 2] = __float_as_uint(d[i]);
    }}
  }}
{end}}}
)",
                          words);
  const auto map_of = [number, depth](std::size_t input, int rows, int box_rows) {
    return [=](const std::vector<std::uint64_t>& addresses) {
      TensorMap map{.element = number == Number::kF16 ? TensorMap::Element::kF16 : TensorMap::Element::kTf32,
                    .rank = 2,
                    .address = addresses[input],
                    .swizzle = TensorMap::Swizzle::k128};
      map.sizes = {static_cast<std::uint64_t>(kSteps * depth), static_cast<std::uint64_t>(rows)};
      map.pitches[1] = static_cast<std::uint64_t>(kSteps) * 128;
      map.box = {static_cast<std::uint32_t>(depth), static_cast<std::uint32_t>(box_rows)};
      return map;
    };
  };
  one.maps = {map_of(0, kM, 128), map_of(1, kN, cluster ? 64 : 128)};
  return one;
}

}  // namespace

std::vector<Case> pipeline_cases() {
  return {tensor_pipeline(Number::kF16, false), tensor_pipeline(Number::kTf32, false),
          tensor_pipeline(Number::kF16, true), tensor_pipeline(Number::kTf32, true)};
}

}  // namespace convtgen::testing
