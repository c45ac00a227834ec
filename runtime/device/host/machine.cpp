#include "runtime/device/host/machine.h"

#include <algorithm>

namespace convtgen::host {
namespace {

constexpr std::uint32_t kRegisters = 65536;  // of a multiprocessor
constexpr std::uint32_t kMostRegisters = 256;

// An agent's id, made at its first use; ids of agents are never 0.
std::uint32_t ensure(std::uint32_t& id, Ordering& ordering, AgentKind kind, std::uint32_t owner) {
  if (id == 0) {
    id = ordering.make_agent(kind, owner);
  }
  return id;
}

}  // namespace

void Machine::begin(std::uint32_t block_count, std::uint32_t thread_count, std::uint32_t shared_bytes, Random& random) {
  block_threads = thread_count;
  block_warps = (thread_count + 31) / 32;
  all_threads = block_count * thread_count;
  ordering.begin(block_count, thread_count);
  shadow.begin(block_count * shared_bytes, ordering);
  operations.begin(3 * all_threads + block_count * block_warps, random);
  mbarriers.clear();
  cluster = {};
  blocks.assign(block_count, {});
  warps.assign(std::size_t{block_count} * block_warps, {});
  threads.assign(all_threads, {});
  warpgroups.assign(std::size_t{block_count} * ((block_warps + 3) / 4), {});
  polling.clear();
  rounds_of_polling = 0;
  // A kernel of this many threads has at most so many registers in each at its start, in steps of 8. What the chip has
  // besides is not the block's: setmaxnreg only moves its own.
  const std::uint32_t registers = std::min(kMostRegisters, kRegisters / (block_warps * 32) / 8 * 8);
  for (WarpState& warp : warps) {
    warp.registers = registers;
  }
}

std::uint32_t Machine::copies_agent(std::uint32_t thread) {
  return ensure(threads[thread].copies, ordering, AgentKind::kCopies, thread);
}

std::uint32_t Machine::stores_agent(std::uint32_t thread) {
  return ensure(threads[thread].stores, ordering, AgentKind::kStores, thread);
}

std::uint32_t Machine::products_agent(std::uint32_t warp) {
  const std::uint32_t first = warp / block_warps * block_threads + warp % block_warps * 32;
  return ensure(warps[warp].products, ordering, AgentKind::kProducts, first);
}

}  // namespace convtgen::host
