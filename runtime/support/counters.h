// What the runtime has done in this process.
#pragma once

#include <atomic>
#include <cstdint>

namespace convtgen {

struct Counters {
  std::atomic<std::uint64_t> prepared{0};  // kernels made ready, from wherever
  std::atomic<std::uint64_t> reused{0};    // kernels that were ready already
  std::atomic<std::uint64_t> hits{0};      // binaries found in the store
  std::atomic<std::uint64_t> misses{0};    // binaries not found there
  std::atomic<std::uint64_t> compiles{0};  // runs of a compiler
  std::atomic<std::uint64_t> evicted{0};   // kernels released to keep a device's bound
  std::atomic<std::uint64_t> loads{0};     // modules loaded
  std::atomic<std::uint64_t> unloads{0};   // modules unloaded
};

[[nodiscard]] Counters& counters();

inline void count(std::atomic<std::uint64_t>& counter) {
  counter.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace convtgen
