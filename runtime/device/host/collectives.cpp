// Barriers, and what the lanes of a warp do together.
#include "runtime/device/host/abi.h"
#include "runtime/device/host/block.h"

namespace convtgen::host {
namespace {

const char* name_of(WaitKind kind) {
  switch (kind) {
    case WaitKind::kBarrier:
      return "__syncthreads()";
    case WaitKind::kWarpSync:
      return "__syncwarp()";
    case WaitKind::kShuffle:
      return "a warp shuffle";
    case WaitKind::kBallot:
      return "a warp vote";
    default:
      return "";
  }
}

}  // namespace

void Worker::sync_threads(std::uintptr_t pc) {
  Thread& thread = threads_[thread_];
  thread.wait = WaitKind::kBarrier;
  thread.pc = pc;
  ++at_barrier_;
  wait();
}

void Worker::raise_bad_width(std::uint32_t width, std::uintptr_t pc) {
  Fault bad = fault(FaultKind::kBadWidth, pc);
  bad.what = name_of(WaitKind::kShuffle);
  bad.size = width;
  raise(bad);
}

void Worker::release_barrier() {
  shadow_.synchronise_block();
  at_barrier_ = 0;
  for (std::uint32_t i = 0; i < threads_.size(); ++i) {
    threads_[i].wait = WaitKind::kReady;
    ready_.push_back(i);
  }
}

std::uint64_t Worker::meet_warp(WaitKind kind, std::uint32_t mask, std::uint64_t operand, std::uint32_t source_lane,
                                std::uintptr_t pc) {
  Thread& thread = threads_[thread_];
  const std::uint32_t lane = thread_ % kWarp;
  if ((mask >> lane & 1) == 0 || (kind == WaitKind::kShuffle && (mask >> source_lane & 1) == 0)) {
    Fault bad = fault(FaultKind::kBadMask, pc);
    bad.what = name_of(kind);
    bad.address = mask;
    bad.size = (mask >> lane & 1) == 0 ? lane : source_lane;
    raise(bad);
  }
  thread.wait = kind;
  thread.pc = pc;
  thread.mask = mask;
  thread.operand = operand;
  thread.source_lane = source_lane;

  const std::uint32_t first = thread_ - lane;
  bool all = true;
  for (std::uint32_t i = 0; i < kWarp && all; ++i) {
    if ((mask >> i & 1) != 0) {
      all = first + i < threads_.size() && threads_[first + i].wait == kind && threads_[first + i].mask == mask;
    }
  }
  if (all) {
    complete_warp(first, mask, kind);
  }
  wait();
  return threads_[thread_].operand;
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
  const std::uint32_t time = kind == WaitKind::kWarpSync ? shadow_.synchronise_warp() : 0;
  for (std::uint32_t i = 0; i < kWarp; ++i) {
    if ((mask >> i & 1) == 0) {
      continue;
    }
    Thread& thread = threads_[first_thread + i];
    if (kind == WaitKind::kWarpSync) {
      thread.warp_time = time;
      thread.warp_mask = mask;
    } else {
      thread.operand = kind == WaitKind::kShuffle ? operands[thread.source_lane] : ballot;
    }
    thread.wait = WaitKind::kReady;
    ready_.push_back(first_thread + i);
  }
}

Fault Worker::divergence() const {
  // A thread that waits, and one that it waits for in vain.
  Fault made;
  made.kind = FaultKind::kDivergence;
  made.block = block_;
  made.has_other = true;
  made.other_known = true;
  std::uint32_t waiting = 0;
  while (threads_[waiting].wait == WaitKind::kDone) {
    ++waiting;
  }
  const Thread& waiter = threads_[waiting];
  const bool barrier = waiter.wait == WaitKind::kBarrier;
  std::uint32_t other = waiting;
  for (std::uint32_t i = 0; i < threads_.size(); ++i) {
    const bool wanted = barrier || (i / kWarp == waiting / kWarp && (waiter.mask >> i % kWarp & 1) != 0);
    if (wanted && (threads_[i].wait != waiter.wait || (!barrier && threads_[i].mask != waiter.mask))) {
      other = i;
      break;
    }
  }
  made.thread = waiting;
  made.pc = waiter.pc;
  made.what = name_of(waiter.wait);
  if (other == waiting) {  // the mask names lanes beyond the end of the block
    made.other_known = false;
    return made;
  }
  made.other_thread = other;
  if (threads_[other].wait != WaitKind::kDone) {
    made.other_pc = threads_[other].pc;
    made.other_what = name_of(threads_[other].wait);
  }
  return made;
}

namespace {

std::uintptr_t address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

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
  return worker.meet_warp(WaitKind::kShuffle, mask, bits, source_of(worker.thread() % kWarp, kind, operand, width),
                          address_of(pc));
}

unsigned ballot(unsigned mask, int predicate, void* pc) {
  return static_cast<unsigned>(Worker::current().meet_warp(
      WaitKind::kBallot, mask, static_cast<std::uint64_t>(predicate & 1), 0, address_of(pc)));
}

unsigned thread_index() {
  return Worker::current().thread();
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
