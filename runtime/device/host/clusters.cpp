// Clusters of blocks: their barrier, and the way to each other's shared memory.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/device/host/abi.h"
#include "runtime/device/host/worker.h"

namespace convtgen::host {
namespace {

constexpr const char* kArrive = "cluster_arrive";
constexpr const char* kWait = "cluster_wait";

// A warp's coming; operands say whether it hands on what it knows.
std::optional<Fault> arrive_warp(Worker& worker, std::uint32_t first, std::span<std::uint64_t, kWarp> operands) {
  Machine& machine = worker.machine();
  ClusterBarrier& barrier = machine.cluster;
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    ThreadState& thread = machine.threads[first + lane];
    if (thread.cluster_arrivals != thread.cluster_waits) {
      return worker.misuse(kArrive, first + lane, worker.state(first + lane).pc,
                           "a second arrival with no cluster_wait() between");
    }
    ++thread.cluster_arrivals;
    if (operands[lane] != 0) {
      join(barrier.arriving, machine.ordering.release(first + lane));
    }
  }
  barrier.come += kWarp;
  if (barrier.come == machine.all_threads) {
    ++barrier.phase;
    barrier.come = 0;
    join(barrier.complete, barrier.arriving);
    barrier.arriving.clear();
    for (const std::uint32_t thread : std::exchange(barrier.waiting, {})) {
      machine.ordering.acquire(thread, barrier.complete);
      worker.wake(thread);
    }
  }
  return std::nullopt;
}

std::optional<Fault> begin_wait(Worker& worker, std::uint32_t first, std::span<std::uint64_t, kWarp> operands) {
  Machine& machine = worker.machine();
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    ThreadState& thread = machine.threads[first + lane];
    if (thread.cluster_arrivals != thread.cluster_waits + 1) {
      return worker.misuse(kWait, first + lane, worker.state(first + lane).pc,
                           "there was no cluster_arrive() before it");
    }
    ++thread.cluster_waits;
    operands[lane] = thread.cluster_waits;
  }
  return std::nullopt;
}

unsigned cluster_rank() {
  return Worker::current().rank();
}

unsigned cluster_size() {
  return Worker::current().launch().cluster;
}

void cluster_arrive(int releases, void* pc) {
  Worker& worker = Worker::current();
  worker.act_in_warp(kArrive, arrive_warp, static_cast<std::uint64_t>(releases), address_of(pc));
}

void cluster_wait(void* pc) {
  Worker& worker = Worker::current();
  Machine& machine = worker.machine();
  const std::uint64_t phase = worker.act_in_warp(kWait, begin_wait, 0, address_of(pc));
  if (machine.cluster.phase >= phase) {
    machine.ordering.acquire(worker.thread(), machine.cluster.complete);
  } else {
    machine.cluster.waiting.push_back(worker.thread());
    worker.wait(WaitKind::kCluster, kWait, address_of(pc));
  }
}

std::optional<Fault> point_into(Worker& worker, const char* what, void* local, unsigned rank, std::uintptr_t pc,
                                void*& remote) {
  if (rank >= worker.launch().cluster) {
    return worker.misuse(
        what, pc, fmt::format("block {} of the cluster; it has {} (ranks from 0)", rank, worker.launch().cluster));
  }
  const auto offset = worker.shared_offset(address_of(local), 1);
  if (!offset) {
    return worker.misuse(what, pc, "the pointer is not into the block's shared memory");
  }
  remote = worker.shared(rank) + *offset % worker.launch().shared_stride;
  return std::nullopt;
}

void* cluster_pointer(void* local, unsigned rank, const char* name, void* pc) {
  Worker& worker = Worker::current();
  void* remote = nullptr;
  worker.raise_if(point_into(worker, name, local, rank, address_of(pc), remote));
  return remote;
}

}  // namespace

// The last thread of a block to end takes its shared memory away: others must have finished with it, by a phase of the
// cluster's barrier or by something that the block waited for.
std::optional<Fault> leaves_cluster(Worker& worker) {
  Machine& machine = worker.machine();
  const BlockState& block = machine.blocks[worker.rank()];
  if (block.done != machine.block_threads) {
    return std::nullopt;
  }
  const std::uint32_t first = worker.rank() * machine.block_threads;
  const auto told = [&](const RemoteAccess& access) {
    for (std::uint32_t thread = first; thread < first + machine.block_threads; ++thread) {
      if (machine.threads[thread].cluster_waits > access.cluster_arrivals ||
          machine.ordering.knows(thread, access.thread, access.time)) {
        return true;
      }
    }
    return false;
  };
  const auto found = std::ranges::find_if_not(block.remote, told);
  if (found == block.remote.end()) {
    return std::nullopt;
  }
  return worker.misuse("the end of a block", found->thread, found->pc,
                       fmt::format("block {} does not wait for {}, which uses its shared memory; a cluster barrier "
                                   "before the end does",
                                   worker.block(), worker.name_of_thread(found->thread)));
}

void add_clusters(ConvtgenHostTable& table) {
  table.grid_dependency_wait = [] {
    Worker::current().await_launch();
    Worker::current().pause();
  };
  table.cluster_rank = cluster_rank;
  table.cluster_size = cluster_size;
  table.cluster_arrive = cluster_arrive;
  table.cluster_wait = cluster_wait;
  table.cluster_pointer = cluster_pointer;
}

}  // namespace convtgen::host
