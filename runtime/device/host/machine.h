// The asynchronous machine of a cluster: what its threads share beyond plain memory, and the operations in flight. The
// primitives in mbarriers.cpp, copies.cpp, tensor_copies.cpp, products.cpp and clusters.cpp work on it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/device/host/clock.h"
#include "runtime/device/host/clocked_shadow.h"
#include "runtime/device/host/operations.h"

namespace convtgen::host {

inline constexpr std::uint32_t kNamedBarriers = 16;

struct Mbarrier {
  std::uint32_t count = 0;    // arrivals of a phase
  std::uint32_t missing = 0;  // of the current one
  std::uint64_t phase = 0;    // the current one
  std::int64_t bytes = 0;     // expected in the current phase and not yet copied
  std::uint32_t agent = 0;    // of the copies that report here
  std::uint32_t maker = 0;    // the thread that made it, and when
  Time made = 0;
  Clock arriving;      // joined clocks of the threads that have arrived in the current phase
  Clock complete;      // joined clocks of the phases before it
  Clock arriving_far;  // likewise of other blocks, for those who acquire at the scope of the cluster
  Clock complete_far;
  std::vector<std::uint32_t> waiting;
};

struct NamedBarrier {
  std::uint32_t threads = 0;  // to meet; 0 while nobody has come
  std::uint32_t come = 0;
  std::uint32_t first = 0;  // the thread that came first, and where
  std::uintptr_t first_pc = 0;
  Clock arriving;
  std::vector<std::uint32_t> waiting;
};

struct ClusterBarrier {
  std::uint32_t come = 0;
  std::uint64_t phase = 0;
  Clock arriving;
  Clock complete;
  std::vector<std::uint32_t> waiting;
};

/// Registers of a thread that products use: memory on its stack.
struct ProductRegisters {
  std::uintptr_t begin = 0;
  std::uint32_t bytes = 0;
  bool accumulators = false;  // else A
  std::uint64_t product = 0;  // the last one that uses them, by number in its warp's stream, counted from 1
  bool touched = false;       // by the thread, since its last wgmma_fence()
};

struct ThreadState {
  std::vector<ProductRegisters> registers;
  std::uint64_t products_done = 0;  // of its warp's stream, waited for
  bool fenced = false;              // it has called wgmma_fence()
  std::uint64_t cluster_arrivals = 0;
  std::uint64_t cluster_waits = 0;
  std::uint32_t copies = 0;  // agents; 0 before the first
  std::uint32_t stores = 0;
  std::uintptr_t last_store = 0;  // where it last issued one
};

/// A warp's part of the accumulators of products that have not been waited for: 16 rows of d.
struct Accumulators {
  std::array<std::uintptr_t, 32> places = {};  // of each lane's array
  std::uint32_t n = 0;                         // columns
  std::uint64_t product = 0;                   // the last one that uses them
  std::vector<float> values;                   // by rows
};

struct WarpState {
  std::uint32_t products = 0;     // agent
  std::uint32_t registers = 0;    // of each thread
  bool registers_known = false;   // by a setmaxnreg; at its start a warp has at most `registers`
  std::uint64_t collectives = 0;  // of its warpgroup that it has taken part in
  std::vector<std::shared_ptr<Accumulators>> accumulators;
};

/// A collective of a warpgroup, at which its warps arrive one after the other.
struct WarpgroupCollective {
  const char* what = "";
  std::uint64_t form = 0;    // equal for the same operands
  std::uint32_t thread = 0;  // of the warp that came first, and where
  std::uintptr_t pc = 0;
};

/// An access of another block's shared memory.
struct RemoteAccess {
  std::uint32_t thread = 0;
  Time time = 0;
  std::uint64_t cluster_arrivals = 0;  // of the thread, before it
  std::uintptr_t pc = 0;
};

struct BlockState {
  std::uint32_t at_barrier = 0;
  std::uint32_t done = 0;  // threads that have ended
  std::int64_t free_registers = 0;
  std::array<NamedBarrier, kNamedBarriers> named;
  std::vector<RemoteAccess> remote;  // the last of each thread of another block
};

struct Machine {
  /// A new cluster of blocks of so many threads and bytes of shared memory.
  void begin(std::uint32_t blocks, std::uint32_t threads, std::uint32_t shared_bytes, Random& random);

  // Where operations of a thread or warp stand in `operations`.
  [[nodiscard]] std::uint32_t copies_stream(std::uint32_t thread) const { return thread; }
  [[nodiscard]] std::uint32_t stores_stream(std::uint32_t thread) const { return all_threads + thread; }
  [[nodiscard]] std::uint32_t writes_stream(std::uint32_t thread) const {
    return 2 * all_threads + thread;
  }  // of stores
  [[nodiscard]] std::uint32_t products_stream(std::uint32_t warp) const { return 3 * all_threads + warp; }
  [[nodiscard]] std::uint32_t warp_of(std::uint32_t thread) const {
    return thread / block_threads * block_warps + thread % block_threads / 32;
  }
  // Agents are made as they are needed.
  [[nodiscard]] std::uint32_t copies_agent(std::uint32_t thread);
  [[nodiscard]] std::uint32_t stores_agent(std::uint32_t thread);
  [[nodiscard]] std::uint32_t products_agent(std::uint32_t warp);

  std::uint32_t block_threads = 0;
  std::uint32_t block_warps = 0;
  std::uint32_t all_threads = 0;
  Ordering ordering;
  ClockedShadow shadow;
  Operations operations;
  std::unordered_map<std::uint32_t, Mbarrier> mbarriers;  // by offset in the cluster's shared memory
  ClusterBarrier cluster;
  std::vector<BlockState> blocks;
  std::vector<WarpState> warps;
  std::vector<ThreadState> threads;
  std::vector<std::vector<WarpgroupCollective>> warpgroups;
  std::vector<std::uint32_t> polling;   // threads in WaitKind::kPolling
  std::uint32_t rounds_of_polling = 0;  // since something happened
};

}  // namespace convtgen::host
