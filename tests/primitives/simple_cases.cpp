// Memory with cache hints, conversions, warps, launches.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "runtime/reference/numbers.h"
#include "tests/primitives/case.h"

namespace convtgen::testing {
namespace {

std::uint32_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

// Ordinary values, ties, subnormals, limits, infinities and NaN.
Words interesting_floats() {
  Words words = random_words(200, 71);
  for (const float value : {0.0f, -0.0f, 1.0f, 65504.0f, 65519.9f, 65520.0f, -65536.0f, 6e-8f, 2.98e-8f, 3e-8f, 1e-45f,
                            3.4e38f, 3.3895314e38f, std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    words.push_back(bits_of(value));
  }
  for (const std::uint32_t bits : {0x3f801000u, 0x3f803000u, 0xbf801000u, 0x3f800fffu, 0x3f808000u, 0x3f818000u,
                                   0x3f807fffu, 0x7f7fffffu, 0x7f7ff000u, 0x7f7fefffu}) {
    words.push_back(bits);
  }
  while (words.size() % 32 != 0) {
    words.push_back(bits_of(static_cast<float>(words.size()) * 0.1f));
  }
  return words;
}

bool is_nan(std::uint32_t bits) {
  return (bits & 0x7fffffffu) > 0x7f800000u;
}

std::uint32_t half_of(std::uint32_t bits) {
  return is_nan(bits) ? 0x7fffu : encode_f16(std::bit_cast<float>(bits));
}

std::uint32_t bfloat16_of(std::uint32_t bits) {
  return is_nan(bits) ? 0x7fffu : encode_bf16(std::bit_cast<float>(bits));
}

}  // namespace

std::vector<Case> memory_cases() {
  Case one;
  one.name = "memory_with_cache_hints";
  one.body = R"(extern "C" __global__ void __launch_bounds__(32) kernel(const unsigned int* __restrict__ x,
                                                        unsigned int* __restrict__ out) {
  const int t = threadIdx.x;
  store_global_4(out + t, x[t]);
  store_global_8(out + 32 + 2 * t, make_uint2(x[32 + 2 * t], x[33 + 2 * t]));
  store_global_16(out + 96 + 4 * t, load_constant_16(x + 96 + 4 * t));
  const uint4 four = load_constant_16(x + 4 * t);
  out[224 + t] = four.x + 3 * four.y + 5 * four.z + 7 * four.w;
  unsigned char* base = shared_align(static_cast<unsigned char*>(shared_memory()) + 16 * t, 256);
  out[256 + t] = shared_address(base) % 256 + (shared_address(base) - shared_address(shared_memory()) >= 16 * t) * 1000 +
                 (base - static_cast<unsigned char*>(shared_memory()) - 16 * t < 256) * 2000;
}
)";
  one.shared_bytes = 1024;
  one.inputs = {random_words(224, 1)};
  const Words& x = one.inputs[0];
  one.want = x;
  for (std::size_t t = 0; t < 32; ++t) {
    one.want.push_back(x[4 * t] + 3 * x[4 * t + 1] + 5 * x[4 * t + 2] + 7 * x[4 * t + 3]);
  }
  one.want.insert(one.want.end(), 32, 3000);
  return {one};
}

std::vector<Case> convert_cases() {
  const Words x = interesting_floats();
  const std::string head =
      R"(extern "C" __global__ void __launch_bounds__(256) kernel(const unsigned int* __restrict__ x,
                                                         unsigned int* __restrict__ out) {
  const int t = threadIdx.x;
  const float value = __uint_as_float(x[t]);
)";
  Case sixteen;
  sixteen.name = "convert_halves";
  sixteen.threads = static_cast<int>(x.size());
  sixteen.inputs = {x};
  sixteen.body = head +
                 R"(  const unsigned short half = float_to_half(value);
  const unsigned short brain = float_to_bfloat16(value);
  unsigned short low, high;
  halves_of(half | static_cast<unsigned int>(brain) << 16, low, high);
  out[4 * t] = low;
  out[4 * t + 1] = high;
  out[4 * t + 2] = value == value ? __float_as_uint(half_to_float(accumulator_to_half(value))) : 0;
  out[4 * t + 3] = value == value ? __float_as_uint(bfloat16_to_float(brain)) : 0;
}
)";
  Case packed;
  packed.name = "convert_pairs";
  packed.threads = sixteen.threads;
  packed.inputs = {x};
  packed.body = head +
                R"(  out[2 * t] = floats_to_half2(value, 1.5f);
  out[2 * t + 1] = floats_to_bfloat162(2.5f, value);
}
)";
  // Chips without the instruction round ties away from zero, and truncate denormals.
  Case tf32;
  tf32.name = "convert_tf32";
  tf32.threads = sixteen.threads;
  tf32.inputs = {x};
  tf32.body = head +
              R"(  const bool chips_differ = (x[t] & 0x1fff) == 0x1000 || (x[t] & 0x7f800000) == 0;
  const unsigned int bits = float_to_tf32(value);
  out[t] = chips_differ ? 0 : value == value ? bits & 0xffffe000 : (bits & 0x7fffe000) > 0x7f800000;
}
)";
  for (const std::uint32_t bits : x) {
    const bool nan = is_nan(bits);
    const bool chips_differ = (bits & 0x1fffu) == 0x1000 || (bits & 0x7f800000u) == 0;
    tf32.want.push_back(chips_differ ? 0 : nan ? 1 : (bits + 0x1000u) & 0xffffe000u);
    sixteen.want.push_back(half_of(bits));
    sixteen.want.push_back(bfloat16_of(bits));
    sixteen.want.push_back(nan ? 0
                               : bits_of(static_cast<float>(decode_f16(static_cast<std::uint16_t>(half_of(bits))))));
    sixteen.want.push_back(nan ? 0 : bfloat16_of(bits) << 16);
    packed.want.push_back(half_of(bits) | 0x3e00u << 16);
    packed.want.push_back(bfloat16_of(bits) << 16 | 0x4020u);
  }
  return {sixteen, packed, tf32};
}

std::vector<Case> warp_cases() {
  Case any;
  any.name = "warp_lane_uniform";
  any.threads = 64;
  any.body = R"(extern "C" __global__ void __launch_bounds__(64) kernel(unsigned int* __restrict__ out) {
  const int t = threadIdx.x;
  out[t] = lane_id();
  out[64 + t] = warp_uniform(t / 32);
}
)";
  for (std::uint32_t t = 0; t < 64; ++t) {
    any.want.push_back(t % 32);
  }
  for (std::uint32_t t = 0; t < 64; ++t) {
    any.want.push_back(t / 32);
  }
  Case elect;
  elect.name = "warp_elect_one";
  elect.threads = 64;
  elect.body = R"(extern "C" __global__ void __launch_bounds__(64) kernel(unsigned int* __restrict__ out) {
  const unsigned int first = __ballot_sync(0xffffffffu, elect_one());
  const unsigned int second = __ballot_sync(0xffffffffu, elect_one());
  out[threadIdx.x] = __popc(first) == 1 && first == second;
}
)";
  elect.want = Words(64, 1);
  return {any, elect};
}

// A launch that overlaps with none: the runtime's own tests have one that does.
std::vector<Case> grid_cases() {
  Case alone;
  alone.name = "grid_dependencies_of_a_launch_alone";
  alone.inputs = {random_words(32, 4)};
  alone.body = R"(extern "C" __global__ void __launch_bounds__(32) kernel(const unsigned int* x,
                                                        unsigned int* __restrict__ out) {
  grid_dependents_launch();
  grid_dependency_wait();
  out[threadIdx.x] = x[threadIdx.x];
}
)";
  alone.want = alone.inputs[0];
  return {alone};
}

}  // namespace convtgen::testing
