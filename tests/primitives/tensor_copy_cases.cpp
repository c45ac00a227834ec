// TMA: loads and stores of every rank, out of bounds, swizzles, fill, steps, rounding, multicast; bulk copies.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <bit>

#include "tests/primitives/case.h"

namespace convtgen::testing {
namespace {

using Coordinates = std::array<int, kMaxTensorRank>;
constexpr std::array<std::uint64_t, kMaxTensorRank> kSizes = {20, 6, 5, 4, 3};
constexpr std::array<std::uint32_t, kMaxTensorRank> kBox = {8, 3, 2, 2, 2};
// Inside, at both ends partly outside, and wholly outside. Innermost coordinates are multiples of 16 bytes: others are
// an illegal instruction on an H200, whatever box and sizes are.
constexpr std::array<Coordinates, 3> kPlaces = {Coordinates{4, 1, 2, 1, 0}, Coordinates{-4, 4, -1, 3, 2},
                                                Coordinates{16, -3, 1, 0, 0}};
// Where stores go: inside, and partly beyond the end. A negative coordinate of a store is an illegal instruction on an
// H200.
constexpr std::array<Coordinates, 2> kStorePlaces = {Coordinates{4, 1, 2, 1, 0}, Coordinates{16, 4, 4, 3, 2}};

// An f32 array of the first `rank` sizes, packed.
TensorMap packed_map(int rank, std::uint64_t address) {
  TensorMap map{.rank = rank, .address = address};
  std::uint64_t pitch = 4;
  for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
    map.sizes[d] = kSizes[d];
    map.pitches[d] = pitch;
    map.box[d] = kBox[d];
    pitch *= kSizes[d];
  }
  return map;
}

std::size_t words_of_array(const TensorMap& map) {
  std::size_t last = 1;
  for (std::size_t d = 0; d < static_cast<std::size_t>(map.rank); ++d) {
    last += (map.sizes[d] - 1) * (d == 0 ? 1 : map.pitches[d] / 4);
  }
  return last;
}

// Calls visit(index in the array, or -1 outside) for every element of the box in the order of shared memory.
template <typename Visit>
void for_box(const TensorMap& map, const Coordinates& place, Visit visit) {
  std::array<std::uint32_t, kMaxTensorRank> counts{1, 1, 1, 1, 1};
  std::size_t total = 1;
  for (std::size_t d = 0; d < static_cast<std::size_t>(map.rank); ++d) {
    counts[d] = (map.box[d] + map.steps[d] - 1) / map.steps[d];
    total *= counts[d];
  }
  for (std::size_t i = 0; i < total; ++i) {
    std::size_t rest = i;
    std::int64_t index = 0;
    for (std::size_t d = 0; d < static_cast<std::size_t>(map.rank); ++d) {
      const std::int64_t at = place[d] + static_cast<std::int64_t>(rest % counts[d]) * map.steps[d];
      rest /= counts[d];
      const bool inside = at >= 0 && at < static_cast<std::int64_t>(map.sizes[d]);
      index = inside && index >= 0 ? index + at * static_cast<std::int64_t>(d == 0 ? 1 : map.pitches[d] / 4) : -1;
    }
    visit(index);
  }
}

std::string arguments(const Coordinates& place, int rank) {
  return fmt::format("{}", fmt::join(place.begin(), place.begin() + rank, ", "));
}

constexpr const char* kHead =
    R"(extern "C" __global__ void __launch_bounds__(32) kernel(const unsigned int* __restrict__ x,
                                                        unsigned int* __restrict__ out,
                                                        __grid_constant__ const TensorMap map) {
  unsigned char* base = shared_align(shared_memory(), 1024);
  unsigned int* staged = reinterpret_cast<unsigned int*>(base);
  unsigned long long* barrier = reinterpret_cast<unsigned long long*>(base + 16384);
)";
constexpr int kShared = 16384 + 1024 + 16;

// Loads boxes one after the other (each at a multiple of 128 bytes) and writes out the words of shared memory.
Case load_case(std::string name, const TensorMap& form, const std::vector<Coordinates>& places, Words x,
               std::size_t first_byte = 0) {
  Case one;
  one.name = std::move(name);
  one.shared_bytes = kShared;
  const std::size_t bytes = box_bytes(form);
  const std::size_t pitch = (bytes + 127) / 128 * 128;
  one.body = kHead;
  one.body += fmt::format(
      "  if (threadIdx.x == 0) {{\n    mbarrier_init(barrier, 1);\n    fence_mbarrier_init();\n    "
      "tensor_prefetch(map);\n"
      "    mbarrier_arrive_expect(barrier, {});\n",
      bytes * places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    one.body += fmt::format("    tensor_load_{}d(base + {}, map, barrier, {});\n", form.rank, first_byte + i * pitch,
                            arguments(places[i], form.rank));
  }
  one.body += "  }\n  __syncwarp();\n  mbarrier_wait(barrier, 0);\n";
  for (std::size_t i = 0; i < places.size(); ++i) {
    one.body +=
        fmt::format("  for (int i = threadIdx.x; i < {0}; i += 32) {{\n    out[{1} + i] = staged[{2} + i];\n  }}\n",
                    bytes / 4, i * bytes / 4, (first_byte + i * pitch) / 4);
    Words box;
    for_box(form, places[i], [&](std::int64_t at) { box.push_back(at < 0 ? 0 : x[static_cast<std::size_t>(at)]); });
    const auto swizzle = static_cast<std::size_t>(swizzle_bytes(form.swizzle));
    const std::size_t mask = swizzle == 0 ? 0 : swizzle / 16 - 1;
    Words swizzled(box.size());
    for (std::size_t word = 0; word < box.size(); ++word) {
      const std::size_t address = first_byte + 4 * word;
      swizzled[((address ^ ((address >> 7 & mask) << 4)) - first_byte) / 4] = box[word];
    }
    one.want.insert(one.want.end(), swizzled.begin(), swizzled.end());
  }
  one.body += "}\n";
  one.inputs = {std::move(x)};
  one.maps = {[form](const std::vector<std::uint64_t>& addresses) {
    TensorMap map = form;
    map.address = addresses[0];
    return map;
  }};
  return one;
}

Case store_case(int rank) {
  Case one;
  one.name = fmt::format("tensor_store_{}d", rank);
  one.shared_bytes = kShared;
  const TensorMap form = packed_map(rank, 0);
  const std::size_t words = box_bytes(form) / 4;
  one.inputs = {random_words(words, 41)};
  one.want = Words(words_of_array(form), kPoison);
  // Two stores from the same bytes: the second after the first has read them and they are written anew.
  one.body = kHead;
  one.body += fmt::format(R"(  for (int i = threadIdx.x; i < {0}; i += 32) {{
    staged[i] = x[i];
  }}
  fence_proxy_async();
  __syncwarp();
  if (threadIdx.x == 0) {{
    tensor_store_{1}d(map, base, {2});
    bulk_commit();
    bulk_wait_read(0);
  }}
  __syncwarp();
  for (int i = threadIdx.x; i < {0}; i += 32) {{
    staged[i] = x[i] + 1;
  }}
  fence_proxy_async();
  __syncwarp();
  if (threadIdx.x == 0) {{
    bulk_wait(0);
    tensor_store_{1}d(map, base, {3});
    bulk_commit();
    bulk_wait(0);
  }}
}}
)",
                          words, rank, arguments(kStorePlaces[0], rank), arguments(kStorePlaces[1], rank));
  for (std::size_t place = 0; place < 2; ++place) {
    std::size_t word = 0;
    for_box(form, kStorePlaces[place], [&](std::int64_t at) {
      if (at >= 0) {
        one.want[static_cast<std::size_t>(at)] = one.inputs[0][word] + static_cast<std::uint32_t>(place);
      }
      ++word;
    });
  }
  one.maps = {[rank](const std::vector<std::uint64_t>& addresses) { return packed_map(rank, addresses.back()); }};
  return one;
}

Case swizzle_case(TensorMap::Swizzle swizzle, std::size_t first_byte) {
  const auto bytes = static_cast<std::uint64_t>(swizzle == TensorMap::Swizzle::kNone ? 64 : swizzle_bytes(swizzle));
  TensorMap form{.rank = 2, .swizzle = swizzle};
  form.sizes = {bytes / 4, 40};
  form.pitches = {4, bytes};
  form.box = {static_cast<std::uint32_t>(bytes / 4), 24};
  return load_case(fmt::format("tensor_load_swizzle_{}_at_{}", swizzle_bytes(swizzle), first_byte), form, {{0, 5}},
                   random_words(40 * bytes / 4, 42), first_byte);
}

// Rows of 32 bytes where the swizzle is of more: they lie as many bytes apart as it is of, and what is between stays.
// (Seen on an H200.)
Case narrow_case(TensorMap::Swizzle swizzle) {
  constexpr std::size_t kRows = 12, kRowWords = 8;
  const auto pitch = static_cast<std::size_t>(swizzle_bytes(swizzle));
  Case one;
  one.name = fmt::format("tensor_load_narrow_swizzle_{}", pitch);
  one.shared_bytes = kShared;
  one.inputs = {random_words(kRows * kRowWords, 49)};
  one.want = Words(512, 0xaaaaaaaau);
  one.body = kHead;
  one.body += fmt::format(R"(  for (int i = threadIdx.x; i < 512; i += 32) {{
    staged[i] = 0xaaaaaaaau;
  }}
  fence_proxy_async();
  if (threadIdx.x == 0) {{
    mbarrier_init(barrier, 1);
    fence_mbarrier_init();
  }}
  __syncwarp();
  if (threadIdx.x == 0) {{
    mbarrier_arrive_expect(barrier, {});
    tensor_load_2d(base, map, barrier, 0, 0);
  }}
  __syncwarp();
  mbarrier_wait(barrier, 0);
  for (int i = threadIdx.x; i < 512; i += 32) {{
    out[i] = staged[i];
  }}
}}
)",
                          4 * kRows * kRowWords);
  const std::size_t mask = pitch / 16 - 1;
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t word = 0; word < kRowWords; ++word) {
      const std::size_t address = row * pitch + 4 * word;
      one.want[(address ^ ((address >> 7 & mask) << 4)) / 4] = one.inputs[0][row * kRowWords + word];
    }
  }
  one.maps = {[swizzle](const std::vector<std::uint64_t>& addresses) {
    TensorMap map{.rank = 2, .address = addresses[0], .swizzle = swizzle};
    map.sizes = {kRowWords, kRows};
    map.pitches = {4, 4 * kRowWords};
    map.box = {kRowWords, kRows};
    return map;
  }};
  return one;
}

Case multicast_case(int rank) {
  Case one;
  one.name = fmt::format("tensor_load_multicast_{}d", rank);
  one.shared_bytes = kShared;
  one.blocks = 4;
  one.cluster = 2;
  const TensorMap form = packed_map(rank, 0);
  const std::size_t words = box_bytes(form) / 4;
  one.inputs = {random_words(words_of_array(form), 43)};
  // The second block of each cluster loads for both.
  one.body = kHead;
  one.body += fmt::format(R"(  if (threadIdx.x == 0) {{
    mbarrier_init(barrier, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect(barrier, {0});
  }}
  __syncwarp();
  cluster_arrive();
  cluster_wait();
  if (cluster_rank() == 1 && threadIdx.x == 0) {{
    tensor_load_multicast_{1}d(base, map, barrier, 3, {2});
  }}
  __syncwarp();
  mbarrier_wait(barrier, 0);
  for (int i = threadIdx.x; i < {3}; i += 32) {{
    out[blockIdx.x * {3} + i] = staged[i];
  }}
  cluster_arrive_relaxed();
  cluster_wait();
}}
)",
                          4 * words, rank, arguments(kPlaces[1], rank), words);
  for (int block = 0; block < 4; ++block) {
    for_box(form, kPlaces[1],
            [&](std::int64_t at) { one.want.push_back(at < 0 ? 0 : one.inputs[0][static_cast<std::size_t>(at)]); });
  }
  one.maps = {[rank](const std::vector<std::uint64_t>& addresses) { return packed_map(rank, addresses[0]); }};
  return one;
}

// f32 bits whose low parts are ties and what lies next to them.
Words near_ties() {
  Words words = random_words(192, 44);
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = (words[i] & 0x8fffffffu) | 0x30000000u;  // finite
    const std::uint32_t low[] = {0x1000u, 0x0fffu, 0x1001u, 0x0000u};
    if (i % 2 == 0) {
      words[i] = (words[i] & ~0x1fffu) | low[i / 2 % 4];
    }
  }
  return words;
}

Case rounding_case() {
  TensorMap form{.element = TensorMap::Element::kTf32, .rank = 1};
  form.sizes[0] = 192;
  form.box[0] = 192;
  Case one = load_case("tensor_load_tf32_rounding", form, {{0}}, near_ties());
  for (std::uint32_t& word : one.want) {
    word = (word + 0x0fffu + (word >> 13 & 1u)) & 0xffffe000u;  // to nearest, ties to even: seen on an H200
  }
  return one;
}

Case nan_case() {
  TensorMap form = packed_map(2, 0);
  form.fill = TensorMap::Fill::kNan;
  Case one = load_case("tensor_load_nan_fill", form, {kPlaces[1]}, Words(120, std::bit_cast<std::uint32_t>(1.5f)));
  for (std::uint32_t& word : one.want) {
    word = word == 0 ? 1 : 0;
  }
  const std::string plain = "= staged[0 + i];";
  const std::size_t at = one.body.find(plain);
  one.body.replace(at, plain.size(), "= (staged[i] & 0x7fffffffu) > 0x7f800000u;");
  return one;
}

Case bulk_case() {
  Case one;
  one.name = "bulk_load_and_store";
  one.shared_bytes = 2048 + 16;
  one.inputs = {random_words(512, 45)};
  one.body = R"(extern "C" __global__ void __launch_bounds__(32) kernel(const unsigned int* __restrict__ x,
                                                        unsigned int* __restrict__ out) {
  unsigned int* staged = static_cast<unsigned int*>(shared_memory());
  unsigned long long* barrier = reinterpret_cast<unsigned long long*>(staged + 512);
  if (threadIdx.x == 0) {
    mbarrier_init(barrier, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect(barrier, 2032);
    bulk_load(staged, x + 4, 2016, barrier);
    bulk_load(staged + 504, x, 16, barrier);
    mbarrier_wait(barrier, 0);
    bulk_store(out + 8, staged, 1024);
    bulk_commit();
    bulk_store(out + 264, staged + 256, 992);
    bulk_commit();
    bulk_wait(1);
    bulk_store(out, staged + 504, 16);
    bulk_commit();
    bulk_wait(0);
  }
}
)";
  const Words& x = one.inputs[0];
  one.want = Words(512, kPoison);
  std::copy(x.begin(), x.begin() + 4, one.want.begin());
  std::copy(x.begin() + 4, x.begin() + 4 + 504, one.want.begin() + 8);
  return one;
}

Case bulk_multicast_case() {
  Case one;
  one.name = "bulk_load_multicast";
  one.shared_bytes = 1024 + 16;
  one.blocks = 4;
  one.cluster = 4;
  one.inputs = {random_words(256, 46)};
  // Every block loads a quarter for all.
  one.body = R"(extern "C" __global__ void __launch_bounds__(32) kernel(const unsigned int* __restrict__ x,
                                                        unsigned int* __restrict__ out) {
  unsigned int* staged = static_cast<unsigned int*>(shared_memory());
  unsigned long long* barrier = reinterpret_cast<unsigned long long*>(staged + 256);
  if (threadIdx.x == 0) {
    mbarrier_init(barrier, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect(barrier, 1024);
  }
  __syncwarp();
  cluster_arrive();
  cluster_wait();
  if (threadIdx.x == 0) {
    const unsigned int first = cluster_rank() * 64;
    bulk_load_multicast(staged + first, x + first, 256, barrier, 15);
  }
  __syncwarp();
  mbarrier_wait(barrier, 0);
  for (int i = threadIdx.x; i < 256; i += 32) {
    out[blockIdx.x * 256 + i] = staged[i];
  }
  cluster_arrive();
  cluster_wait();
}
)";
  for (int block = 0; block < 4; ++block) {
    one.want.insert(one.want.end(), one.inputs[0].begin(), one.inputs[0].end());
  }
  return one;
}

}  // namespace

std::vector<Case> tensor_copy_cases() {
  std::vector<Case> cases;
  for (int rank = 1; rank <= kMaxTensorRank; ++rank) {
    const TensorMap form = packed_map(rank, 0);
    cases.push_back(load_case(fmt::format("tensor_load_{}d", rank), form, {kPlaces.begin(), kPlaces.end()},
                              random_words(words_of_array(form), 40)));
    cases.push_back(store_case(rank));
    cases.push_back(multicast_case(rank));
  }
  // Pitches that are no multiples of one another, so that rows overlap.
  TensorMap odd = packed_map(3, 0);
  odd.pitches = {4, 80, 112};
  cases.push_back(
      load_case("tensor_load_odd_pitches", odd, {kPlaces[0], kPlaces[1]}, random_words(words_of_array(odd), 47)));
  TensorMap steps = packed_map(3, 0);
  steps.box = {8, 5, 4};
  steps.steps = {1, 2, 3, 1, 1};
  cases.push_back(
      load_case("tensor_load_steps", steps, {{4, 0, 0}, {-4, 1, 1}}, random_words(words_of_array(steps), 48)));
  for (const TensorMap::Swizzle swizzle :
       {TensorMap::Swizzle::kNone, TensorMap::Swizzle::k32, TensorMap::Swizzle::k64, TensorMap::Swizzle::k128}) {
    cases.push_back(swizzle_case(swizzle, 0));
    cases.push_back(swizzle_case(swizzle, 384));
  }
  cases.push_back(narrow_case(TensorMap::Swizzle::k64));
  cases.push_back(narrow_case(TensorMap::Swizzle::k128));
  cases.push_back(rounding_case());
  cases.push_back(nan_case());
  cases.push_back(bulk_case());
  cases.push_back(bulk_multicast_case());
  return cases;
}

}  // namespace convtgen::testing
