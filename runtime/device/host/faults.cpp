// Faults as a worker makes them.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/device/host/worker.h"

namespace convtgen::host {
namespace {

void set_detail(Fault& fault, const std::string& text) {
  const std::size_t length = std::min(text.size(), fault.detail.size() - 1);
  std::copy_n(text.begin(), length, fault.detail.begin());
  fault.detail[length] = '\0';
}

const char* name_of(AgentKind kind) {
  switch (kind) {
    case AgentKind::kThread:
      return "";
    case AgentKind::kCopies:
      return "cp.async";
    case AgentKind::kLoads:
      return "an asynchronous load";
    case AgentKind::kStores:
      return "an asynchronous store";
    case AgentKind::kProducts:
      return "wgmma";
  }
  return "";
}

}  // namespace

std::string Worker::name_of_thread(std::uint32_t thread) const {
  const std::uint32_t in_block = thread % launch_->threads;
  return launch_->cluster == 1
             ? fmt::format("thread {}", in_block)
             : fmt::format("thread {} of block {}", in_block, first_block_ + thread / launch_->threads);
}

Fault Worker::fault_of(FaultKind kind, std::uint32_t thread, std::uintptr_t pc) const {
  Fault fault;
  fault.kind = kind;
  fault.block = first_block_ + thread / launch_->threads;
  fault.thread = thread % launch_->threads;
  fault.pc = pc;
  return fault;
}

Fault Worker::misuse(const char* what, std::uint32_t thread, std::uintptr_t pc, const std::string& detail) const {
  Fault made = fault_of(FaultKind::kMisuse, thread, pc);
  made.what = what;
  set_detail(made, detail);
  return made;
}

Fault Worker::access_fault(FaultKind kind, std::uintptr_t address, std::uint64_t bytes, bool write,
                           std::uintptr_t pc) const {
  Fault made = fault(kind, pc);
  made.address = address;
  made.size = bytes;
  made.write = write;
  return made;
}

Fault Worker::conflict_fault(const Conflict& conflict, std::uint32_t thread, std::uint32_t bytes, bool write,
                             std::uintptr_t pc) const {
  Fault made = fault_of(conflict.kind == Conflict::Kind::kNeverWritten ? FaultKind::kNeverWritten : FaultKind::kRace,
                        thread, pc);
  made.address = reinterpret_cast<std::uintptr_t>(shared_at(conflict.byte));
  made.size = bytes;
  made.write = write;
  if (conflict.kind != Conflict::Kind::kNeverWritten) {
    const Agent agent = machine_->ordering.agent(conflict.id);
    made.has_other = true;
    made.other_known = true;
    made.other_in_flight = conflict.in_flight;
    made.other_write = conflict.kind == Conflict::Kind::kWrite;
    made.other_block = first_block_ + agent.owner / launch_->threads;
    made.other_thread = agent.owner % launch_->threads;
    made.other_what = name_of(agent.kind);
    made.other_pc = library_base_ + conflict.pc;
  }
  return made;
}

// What a thread that waits is waiting for, beyond the primitive's name.
std::string Worker::state_of_wait(std::uint32_t index) const {
  const Thread& thread = threads_[index];
  switch (thread.wait) {
    case WaitKind::kMbarrier:
    case WaitKind::kPolling: {
      const auto found = machine_->mbarriers.find(thread.place);
      if (found == machine_->mbarriers.end()) {
        return "";
      }
      const Mbarrier& barrier = found->second;
      return fmt::format(
          " for parity {} of the mbarrier at offset {}: its phase {} misses {} of {} arrivals and {} bytes",
          thread.parity, thread.place % launch_->shared_stride, barrier.phase, barrier.missing, barrier.count,
          barrier.bytes);
    }
    case WaitKind::kNamedBarrier: {
      const NamedBarrier& barrier = machine_->blocks[index / launch_->threads].named[thread.place];
      return fmt::format(" {}: {} of {} threads have come", thread.place, barrier.come, barrier.threads);
    }
    case WaitKind::kCluster:
      return fmt::format(": {} of {} threads have come", machine_->cluster.come, machine_->all_threads);
    case WaitKind::kRegisters:
      return fmt::format(": {} registers are free", machine_->blocks[index / launch_->threads].free_registers);
    default:
      return "";
  }
}

Fault Worker::standstill() const {
  // Where a collective waits for a thread that waits elsewhere, the latter is nearer to the cause, and a thread that
  // waits at an mbarrier or the like nearer than one at a barrier of its block.
  const auto waits = [&](std::uint32_t thread) {
    const WaitKind kind = threads_[thread].wait;
    return kind == WaitKind::kMbarrier || kind == WaitKind::kPolling || kind == WaitKind::kNamedBarrier ||
           kind == WaitKind::kCluster || kind == WaitKind::kRegisters;
  };
  std::string others;
  int told = 0;
  std::optional<std::uint32_t> first;
  for (std::uint32_t thread = 0; thread < threads_.size(); ++thread) {
    if (!waits(thread)) {
      continue;
    }
    if (!first) {
      first = thread;
      continue;
    }
    const Thread& last = threads_[*first];
    const Thread& here = threads_[thread];
    if (told < 2 && (here.pc != last.pc || here.place != last.place || here.parity != last.parity)) {
      ++told;
      others += fmt::format("; {} waits at {}{}", name_of_thread(thread), here.what, state_of_wait(thread));
      thread = (thread / kWarp + 1) * kWarp - 1;  // one of a warp is enough
    }
  }
  if (!first) {
    std::uint32_t waiting = 0;
    while (threads_[waiting].wait == WaitKind::kDone) {
      ++waiting;
    }
    return divergence(waiting);
  }
  Fault made = fault_of(FaultKind::kDeadlock, *first, threads_[*first].pc);
  made.what = threads_[*first].what;
  set_detail(made, state_of_wait(*first) + others);
  return made;
}

Fault Worker::divergence(std::uint32_t waiting) const {
  // A thread that waits, and one that it waits for in vain.
  const Thread& waiter = threads_[waiting];
  Fault made = fault_of(FaultKind::kDivergence, waiting, waiter.pc);
  made.what = waiter.what;
  made.has_other = true;
  made.other_known = true;
  const bool barrier = waiter.wait == WaitKind::kBarrier;
  const std::uint32_t first = waiting / launch_->threads * launch_->threads;  // of its block
  const std::uint32_t warp = (waiting - first) / kWarp;
  std::optional<std::uint32_t> other;
  for (std::uint32_t i = first; i < first + launch_->threads && !other; ++i) {
    const bool wanted = barrier || ((i - first) / kWarp == warp && (waiter.mask >> (i - first) % kWarp & 1) != 0);
    const bool there = threads_[i].wait == waiter.wait && threads_[i].action == waiter.action &&
                       (barrier || threads_[i].mask == waiter.mask);
    if (wanted && !there) {
      other = i;
    }
  }
  if (!other) {  // the mask names lanes beyond the end of the block
    made.other_known = false;
    return made;
  }
  made.other_block = first_block_ + *other / launch_->threads;
  made.other_thread = *other % launch_->threads;
  if (threads_[*other].wait != WaitKind::kDone) {
    made.other_pc = threads_[*other].pc;
    made.other_what = threads_[*other].what;
  }
  return made;
}

}  // namespace convtgen::host
