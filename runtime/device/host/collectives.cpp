// Barriers, and what the lanes of a warp do together.
#include <algorithm>

#include "runtime/device/host/abi.h"
#include "runtime/device/host/worker.h"

namespace convtgen::host {
namespace {

const char* name_of(WaitKind kind) {
  return kind == WaitKind::kWarpSync ? "__syncwarp()" : kind == WaitKind::kShuffle ? "a warp shuffle" : "a warp vote";
}

}  // namespace

void Worker::sync_threads(std::uintptr_t pc) {
  std::uint32_t& come = clocked_ ? machine_->blocks[rank_].at_barrier : at_barrier_;
  ++come;
  if (clocked_ && come == launch_->threads) {
    threads_[thread_].wait = WaitKind::kBarrier;
    release_barrier(rank_);
    give_way();
  } else {
    wait(WaitKind::kBarrier, "__syncthreads()", pc);
  }
}

void Worker::release_barrier(std::uint32_t rank) {
  if (clocked_) {
    machine_->ordering.synchronise_block(rank);
    machine_->blocks[rank].at_barrier = 0;
  } else {
    shadow_.synchronise_block();
    at_barrier_ = 0;
  }
  for (std::uint32_t i = rank * launch_->threads; i < (rank + 1) * launch_->threads; ++i) {
    wake(i);
  }
}

void Worker::raise_bad_width(std::uint32_t width, std::uintptr_t pc) {
  Fault bad = fault(FaultKind::kBadWidth, pc);
  bad.what = name_of(WaitKind::kShuffle);
  bad.size = width;
  raise(bad);
}

std::uint64_t Worker::meet_warp(WaitKind kind, std::uint32_t mask, std::uint64_t operand, std::uint32_t source_lane,
                                std::uintptr_t pc) {
  Thread& thread = threads_[thread_];
  const std::uint32_t lane = thread_in_block() % kWarp;
  if ((mask >> lane & 1) == 0 || (kind == WaitKind::kShuffle && (mask >> source_lane & 1) == 0)) {
    Fault bad = fault(FaultKind::kBadMask, pc);
    bad.what = name_of(kind);
    bad.address = mask;
    bad.size = (mask >> lane & 1) == 0 ? lane : source_lane;
    raise(bad);
  }
  thread.mask = mask;
  thread.operand = operand;
  thread.source_lane = source_lane;
  thread.action = nullptr;
  come_to_warp(kind, name_of(kind), pc);
  return threads_[thread_].operand;
}

std::uint64_t Worker::act_in_warp(const char* what, WarpAction action, std::uint64_t operand, std::uintptr_t pc) {
  Thread& thread = threads_[thread_];
  thread.mask = ~0U;
  thread.operand = operand;
  thread.action = action;
  come_to_warp(WaitKind::kWarpAction, what, pc);
  return threads_[thread_].operand;
}

// The last lane of the mask does what is to be done.
void Worker::come_to_warp(WaitKind kind, const char* what, std::uintptr_t pc) {
  Thread& me = threads_[thread_];
  me.wait = kind;
  me.what = what;
  me.pc = pc;
  const std::uint32_t lane = thread_in_block() % kWarp;
  const std::uint32_t first = thread_ - lane;
  const std::uint32_t lanes = std::min(kWarp, launch_->threads - (thread_in_block() - lane));
  bool all = lanes == kWarp || me.mask >> lanes == 0;
  for (std::uint32_t i = 0; i < lanes && all; ++i) {
    const Thread& other = threads_[first + i];
    all = (me.mask >> i & 1) == 0 ||
          (other.wait == kind && other.mask == me.mask && other.action == me.action && other.what == me.what);
  }
  if (all) {
    complete_warp(first, me.mask, kind);
  }
  give_way();
}

void Worker::complete_warp(std::uint32_t first_thread, std::uint32_t mask, WaitKind kind) {
  std::array<std::uint64_t, kWarp> operands = {};
  std::uint64_t ballot = 0;
  for (std::uint32_t i = 0; i < kWarp; ++i) {
    if ((mask >> i & 1) != 0) {
      operands[i] = threads_[first_thread + i].operand;
      ballot |= (operands[i] & 1) << i;
    }
  }
  std::uint32_t time = 0;
  if (kind == WaitKind::kWarpAction) {
    raise_if(threads_[first_thread].action(*this, first_thread, operands));
  } else if (kind == WaitKind::kWarpSync && clocked_) {
    machine_->ordering.synchronise_warp(first_thread, mask);
  } else if (kind == WaitKind::kWarpSync) {
    time = shadow_.synchronise_warp();
  }
  for (std::uint32_t i = 0; i < kWarp; ++i) {
    if ((mask >> i & 1) == 0) {
      continue;
    }
    Thread& thread = threads_[first_thread + i];
    if (kind == WaitKind::kWarpSync) {
      thread.warp_time = time;
      thread.warp_mask = mask;
    } else {
      thread.operand = kind == WaitKind::kWarpAction ? operands[i]
                       : kind == WaitKind::kShuffle  ? operands[thread.source_lane]
                                                     : ballot;
    }
    wake(first_thread + i);
  }
}

namespace {

void sync_threads(void* pc) {
  Worker::current().sync_threads(address_of(pc));
}

void sync_warp(unsigned mask, void* pc) {
  Worker::current().meet_warp(WaitKind::kWarpSync, mask, 0, 0, address_of(pc));
}

// The lane that a shuffle reads from, as PTX's shfl.sync defines it: outside its segment, a lane reads itself.
std::uint32_t source_of(std::uint32_t lane, unsigned kind, unsigned operand, unsigned width) {
  const std::uint32_t segment = lane / width * width;
  const std::uint32_t place = lane - segment;
  switch (kind) {
    case 0:
      return segment + operand % width;
    case 1:
      return operand <= place ? lane - operand : lane;
    case 2:
      return operand < width - place ? lane + operand : lane;
    default:
      // A lane may read one of an earlier segment, but not of a later.
      return (lane ^ (operand % kWarp)) < segment + width ? lane ^ (operand % kWarp) : lane;
  }
}

unsigned long long shuffle(unsigned mask, unsigned long long bits, unsigned kind, unsigned operand, unsigned width,
                           void* pc) {
  Worker& worker = Worker::current();
  if (width == 0 || width > kWarp || (width & (width - 1)) != 0) {
    worker.raise_bad_width(width, address_of(pc));
  }
  return worker.meet_warp(WaitKind::kShuffle, mask, bits,
                          source_of(worker.thread_in_block() % kWarp, kind, operand, width), address_of(pc));
}

unsigned ballot(unsigned mask, int predicate, void* pc) {
  return static_cast<unsigned>(Worker::current().meet_warp(
      WaitKind::kBallot, mask, static_cast<std::uint64_t>(predicate & 1), 0, address_of(pc)));
}

unsigned thread_index() {
  return Worker::current().thread_in_block();
}
unsigned block_index() {
  return Worker::current().block();
}
unsigned block_threads() {
  return Worker::current().launch().threads;
}
unsigned grid_blocks() {
  return Worker::current().launch().blocks;
}
void* shared_memory() {
  return Worker::current().shared();
}

}  // namespace

void add_collectives(ConvtgenHostTable& table) {
  table.thread_index = thread_index;
  table.block_index = block_index;
  table.block_threads = block_threads;
  table.grid_blocks = grid_blocks;
  table.shared_memory = shared_memory;
  table.sync_threads = sync_threads;
  table.sync_warp = sync_warp;
  table.shuffle = shuffle;
  table.ballot = ballot;
}

}  // namespace convtgen::host
