#include "tests/primitives/wrong_use_cases.h"

#include <fmt/format.h>

namespace convtgen::testing {

Case use_case(const Frame& frame, const std::string& body) {
  Case one;
  one.name = frame.name;
  one.threads = frame.threads;
  one.blocks = frame.blocks;
  one.cluster = frame.cluster;
  one.shared_bytes = 8192 + 64 + 1024;
  one.inputs = {random_words(2048, 91)};
  one.want.assign(one.inputs[0].begin(), one.inputs[0].begin() + frame.threads * frame.blocks);
  one.body = fmt::format(R"(extern "C" __global__ void kernel(const unsigned int* x, unsigned int* out{}) {{
  unsigned char* base = shared_align(shared_memory(), 1024);
  unsigned int* staged = reinterpret_cast<unsigned int*>(base);
  unsigned long long* barrier = reinterpret_cast<unsigned long long*>(base + 8192);
  const int t = threadIdx.x;
{}}}
)",
                         frame.map == MapOf::kNothing ? "" : ", __grid_constant__ const TensorMap map", body);
  if (frame.map != MapOf::kNothing) {
    const bool of_input = frame.map == MapOf::kInput;
    const std::size_t words = of_input ? one.inputs[0].size() : one.want.size();
    one.maps = {[of_input, words](const std::vector<std::uint64_t>& addresses) {
      TensorMap map{.rank = 1, .address = of_input ? addresses.front() : addresses.back()};
      map.sizes[0] = words;
      map.box[0] = 32;
      return map;
    }};
  }
  return one;
}

std::vector<WrongUse> wrong_uses() {
  std::vector<WrongUse> all;
  for (const auto& some :
       {wrong_barriers(), wrong_clusters(), wrong_copies(), wrong_tensor_copies(), wrong_products()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace convtgen::testing
