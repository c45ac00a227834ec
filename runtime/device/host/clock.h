// Which accesses happen before which: vector clocks of a cluster's threads and of its asynchronous agents.
//
// Time counts synchronisations. An access is recorded with its agent and its time. Another agent may touch the same
// bytes only if the access happens before: a chain of releases and acquires at barriers leads from one to the other
// (C. Flanagan, S. N. Freund, "FastTrack: efficient and precise dynamic race detection", PLDI 2009). Asynchronous
// copies and products are agents, with ids after those of the threads. Nobody, not even the thread that issued them,
// knows of their accesses before it has waited for them.
#pragma once

#include <cstdint>
#include <vector>

namespace convtgen::host {

using Time = std::uint32_t;
using Clock = std::vector<Time>;  // [id]: accesses of `id` before this time are known; 0 where it ends

void join(Clock& into, const Clock& from);

enum class AgentKind : std::uint8_t {
  kThread,
  kCopies,    // cp.async of a thread
  kLoads,     // TMA and bulk copies that report to one mbarrier
  kStores,    // TMA and bulk copies of a thread out of shared memory
  kProducts,  // wgmma of a warp
};

struct Agent {
  AgentKind kind = AgentKind::kThread;
  std::uint32_t owner = 0;  // thread (for products, the warp's first); of loads, who made the mbarrier
};

enum class FenceKind : std::uint8_t { kProxy, kMbarrierInit };

class Ordering {
 public:
  /// A new cluster: nobody knows of anything. `threads` a block.
  void begin(std::uint32_t blocks, std::uint32_t threads);

  [[nodiscard]] Time now() const { return time_; }
  /// Accesses before this time are of earlier clusters.
  [[nodiscard]] Time first() const { return first_; }
  /// Later accesses have a later time than those before.
  Time advance() { return ++time_; }

  [[nodiscard]] std::uint32_t make_agent(AgentKind kind, std::uint32_t owner);
  [[nodiscard]] Agent agent(std::uint32_t id) const;

  /// Whether accesses of `id` at this time are known to the thread. What a block knows all its threads know, mostly.
  [[nodiscard]] bool knows(std::uint32_t thread, std::uint32_t id, Time time) const {
    return id == thread || time < known(blocks_know_[block_of(thread)], id) ||
           time < known(warps_know_[warp_of(thread)], id) || time < known(threads_know_[thread], id);
  }

  /// The thread's whole clock, with its own accesses until now: what it releases at a barrier.
  [[nodiscard]] Clock release(std::uint32_t thread);
  void acquire(std::uint32_t thread, const Clock& clock);
  /// The thread learns of what `id` did before `time`.
  void learn(std::uint32_t thread, std::uint32_t id, Time time);

  void synchronise_block(std::uint32_t block);
  /// Lanes of `mask` of the warp that begins with this thread.
  void synchronise_warp(std::uint32_t first_thread, std::uint32_t mask);

  void fence(std::uint32_t thread, FenceKind kind);
  /// Whether `owner` has executed a fence after its access at `time`, and `thread` knows of that fence.
  [[nodiscard]] bool fenced(std::uint32_t thread, std::uint32_t owner, Time time, FenceKind kind) const;

 private:
  [[nodiscard]] static Time known(const Clock& clock, std::uint32_t id) { return id < clock.size() ? clock[id] : 0; }
  [[nodiscard]] std::uint32_t block_of(std::uint32_t thread) const { return thread < threads_ ? 0 : thread / threads_; }
  [[nodiscard]] std::uint32_t warp_of(std::uint32_t thread) const {
    const std::uint32_t block = block_of(thread);
    return block * warps_ + (thread - block * threads_) / 32;
  }

  Time time_ = 1;
  Time first_ = 1;
  std::uint32_t threads_ = 1;  // of a block
  std::uint32_t warps_ = 1;
  std::vector<Agent> agents_;
  // A thread's clock is the maximum of its own, its warp's and its block's. The first two are empty if they add
  // nothing to the others.
  std::vector<Clock> threads_know_;
  std::vector<Clock> warps_know_;
  std::vector<Clock> blocks_know_;
  std::vector<std::vector<Time>> fences_[2];  // of each thread, ascending
};

}  // namespace convtgen::host
