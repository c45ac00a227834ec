// mbarriers, fences and named barriers.
#include "runtime/device/host/mbarriers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/device/host/abi.h"

namespace convtgen::host {
namespace {

constexpr std::uint32_t kMostArrivals = (1U << 20) - 1;
constexpr std::int64_t kMostBytes = (1 << 20) - 1;

// The thread learns what was handed on by the phases that are complete.
void acquire_phase(Worker& worker, const Mbarrier& barrier, std::uint32_t thread) {
  Ordering& ordering = worker.machine().ordering;
  ordering.acquire(thread, barrier.complete);
  if (worker.state(thread).wide) {
    ordering.acquire(thread, barrier.complete_far);
  }
}

// The current phase is complete: the next begins, and who waits goes on.
std::optional<Fault> finish_phase(Worker& worker, Mbarrier& barrier, std::uint32_t place) {
  Machine& machine = worker.machine();
  ++barrier.phase;
  barrier.missing = barrier.count;
  join(barrier.complete, barrier.arriving);
  join(barrier.complete_far, barrier.arriving_far);
  barrier.arriving.clear();
  barrier.arriving_far.clear();
  for (const std::uint32_t thread : std::exchange(barrier.waiting, {})) {
    const Thread& state = worker.state(thread);
    if (state.wait != WaitKind::kMbarrier || state.place != place) {
      continue;
    }
    if (state.parity == ((barrier.phase - 1) & 1)) {
      acquire_phase(worker, barrier, thread);
      worker.wake(thread);
    } else {
      barrier.waiting.push_back(thread);
    }
  }
  for (const std::uint32_t thread : std::exchange(machine.polling, {})) {
    worker.wake(thread);
  }
  machine.rounds_of_polling = 0;
  return std::nullopt;
}

std::optional<Fault> finish_if_complete(Worker& worker, Mbarrier& barrier, std::uint32_t place) {
  return barrier.missing == 0 && barrier.bytes == 0 ? finish_phase(worker, barrier, place) : std::nullopt;
}

bool is_complete(const Mbarrier& barrier, std::uint32_t parity) {
  return (barrier.phase & 1) != (parity & 1);
}

}  // namespace

std::optional<Fault> check_mbarrier(Worker& worker, const char* what, std::uint32_t place, bool asynchronous,
                                    std::uintptr_t pc) {
  const Machine& machine = worker.machine();
  const std::uint32_t offset = place % worker.launch().shared_stride;
  const auto found = machine.mbarriers.find(place);
  if (found == machine.mbarriers.end()) {
    return worker.misuse(what, pc,
                         fmt::format("no mbarrier at offset {} of shared memory: mbarrier_init() comes first", offset));
  }
  const Mbarrier& barrier = found->second;
  const std::uint32_t thread = worker.thread();
  if (!worker.launch().races) {
    return std::nullopt;
  }
  if (!machine.ordering.knows(thread, barrier.maker, barrier.made)) {
    return worker.misuse(what, pc,
                         fmt::format("the mbarrier at offset {} of shared memory was initialised by {} with no barrier "
                                     "since",
                                     offset, worker.name_of_thread(barrier.maker)));
  }
  const auto fenced = [&](FenceKind kind) {
    return machine.ordering.fenced(thread, barrier.maker, barrier.made, kind);
  };
  if (asynchronous && !fenced(FenceKind::kMbarrierInit) && !fenced(FenceKind::kProxy)) {
    return worker.misuse(what, pc,
                         fmt::format("no fence_mbarrier_init() since {} initialised the mbarrier at offset {} of "
                                     "shared memory",
                                     worker.name_of_thread(barrier.maker), offset));
  }
  return std::nullopt;
}

std::optional<std::uint32_t> find_mbarrier(Worker& worker, const char* what, const void* barrier, std::uint32_t rank,
                                           bool asynchronous, std::uintptr_t pc, std::optional<Fault>& fault) {
  const auto own = worker.shared_offset(address_of(barrier), 8);
  if (!own) {
    fault = worker.misuse(what, pc, "its mbarrier is not in the block's shared memory");
    return std::nullopt;
  }
  if (address_of(barrier) % 8 != 0) {
    fault = worker.misuse(what, pc, "its mbarrier is misaligned; it must lie at a multiple of 8 bytes");
    return std::nullopt;
  }
  if (rank >= worker.launch().cluster) {
    fault = worker.misuse(
        what, pc, fmt::format("block {} of the cluster; it has {} (ranks from 0)", rank, worker.launch().cluster));
    return std::nullopt;
  }
  const std::uint32_t stride = worker.launch().shared_stride;
  const std::uint32_t place = *own % stride + rank * stride;
  fault = worker.touch_block(what, rank, !asynchronous, pc);
  if (!fault) {
    fault = check_mbarrier(worker, what, place, asynchronous || rank != worker.rank(), pc);
  }
  return fault ? std::nullopt : std::optional(place);
}

std::optional<Fault> arrive(Worker& worker, const char* what, std::uint32_t place, const Clock& clock,
                            std::uint32_t thread, std::uintptr_t pc) {
  const auto found = worker.machine().mbarriers.find(place);
  if (found == worker.machine().mbarriers.end()) {
    return worker.misuse(what, thread, pc, "its mbarrier lives no more");
  }
  Mbarrier& barrier = found->second;
  if (barrier.missing == 0) {
    return worker.misuse(what, thread, pc,
                         fmt::format("more than the {} arrivals that the mbarrier at offset {} was initialised for in "
                                     "its phase {}",
                                     barrier.count, place % worker.launch().shared_stride, barrier.phase));
  }
  --barrier.missing;
  const std::uint32_t stride = worker.launch().shared_stride;
  const bool far = thread / worker.launch().threads != place / stride;
  join(far ? barrier.arriving_far : barrier.arriving, clock);
  return finish_if_complete(worker, barrier, place);
}

std::optional<Fault> complete_bytes(Worker& worker, std::uint32_t place, std::uint32_t bytes, std::uint32_t thread,
                                    std::uintptr_t pc) {
  Machine& machine = worker.machine();
  const auto found = machine.mbarriers.find(place);
  if (found == machine.mbarriers.end()) {
    return worker.misuse("an asynchronous load", thread, pc, "its mbarrier lives no more as its bytes arrive");
  }
  Mbarrier& barrier = found->second;
  barrier.bytes -= bytes;
  // What has been copied until now is known with the phase.
  Clock clock(barrier.agent + 1, 0);
  clock[barrier.agent] = machine.ordering.advance();
  join(barrier.arriving, clock);
  return finish_if_complete(worker, barrier, place);
}

namespace {

// What follows returns its fault, so that nothing is left on the stack that raise() abandons.

std::optional<Fault> make(Worker& worker, const void* pointer, unsigned count, std::uintptr_t pc) {
  Machine& machine = worker.machine();
  constexpr const char* kWhat = "mbarrier_init";
  if (count == 0 || count > kMostArrivals) {
    return worker.misuse(kWhat, pc, fmt::format("a count of {}; legal are 1 to {}", count, kMostArrivals));
  }
  const auto place = worker.shared_offset(address_of(pointer), 8);
  if (!place || address_of(pointer) % 8 != 0) {
    return worker.misuse(kWhat, pc, "not at a multiple of 8 bytes in the block's shared memory");
  }
  if (machine.mbarriers.contains(*place)) {
    return worker.misuse(kWhat, pc, "an mbarrier lives in this place; mbarrier_invalidate() ends it");
  }
  // Making it writes its bytes.
  if (auto fault = worker.check_clocked(*place, 8, true, worker.thread(), pc)) {
    return fault;
  }
  const Time now = machine.ordering.now();
  machine.shadow.note_write(*place, 8, worker.thread(), now, worker.relative(pc));
  Mbarrier& barrier = machine.mbarriers[*place];
  barrier.count = barrier.missing = count;
  barrier.maker = worker.thread();
  barrier.made = now;
  barrier.agent = machine.ordering.make_agent(AgentKind::kLoads, worker.thread());
  return std::nullopt;
}

std::optional<Fault> end(Worker& worker, const void* pointer, std::uintptr_t pc) {
  Machine& machine = worker.machine();
  constexpr const char* kWhat = "mbarrier_invalidate";
  std::optional<Fault> fault;
  const auto place = find_mbarrier(worker, kWhat, pointer, worker.rank(), false, pc, fault);
  if (!place) {
    return fault;
  }
  const Mbarrier& barrier = machine.mbarriers.at(*place);
  if (!barrier.waiting.empty() || barrier.bytes != 0) {
    return worker.misuse(kWhat, pc,
                         fmt::format("{} threads wait for the mbarrier and {} bytes are in flight",
                                     barrier.waiting.size(), barrier.bytes));
  }
  machine.mbarriers.erase(*place);
  machine.shadow.note_write(*place, 8, worker.thread(), machine.ordering.now(), worker.relative(pc));
  return std::nullopt;
}

std::optional<Fault> expect_or_arrive(Worker& worker, const char* what, const void* pointer, std::uint32_t rank,
                                      unsigned bytes, bool arrives, std::uintptr_t pc) {
  std::optional<Fault> fault;
  const auto place = find_mbarrier(worker, what, pointer, rank, false, pc, fault);
  if (!place) {
    return fault;
  }
  Mbarrier& barrier = worker.machine().mbarriers.at(*place);
  barrier.bytes += bytes;
  if (barrier.bytes > kMostBytes) {
    return worker.misuse(what, pc,
                         fmt::format("{} bytes are expected by now; an mbarrier counts {}", barrier.bytes, kMostBytes));
  }
  const std::uint32_t thread = worker.thread();
  return arrives ? arrive(worker, what, *place, worker.machine().ordering.release(thread), thread, pc) : std::nullopt;
}

// Whether the phase is complete; if not, the thread is noted as one that waits in this way.
bool complete_or_noted(Worker& worker, const char* what, const void* pointer, unsigned parity, WaitKind kind, bool wide,
                       std::uintptr_t pc, std::optional<Fault>& fault) {
  Machine& machine = worker.machine();
  const auto place = find_mbarrier(worker, what, pointer, worker.rank(), false, pc, fault);
  if (!place) {
    return false;
  }
  Mbarrier& barrier = machine.mbarriers.at(*place);
  Thread& thread = worker.state(worker.thread());
  thread.wide = wide;
  if (is_complete(barrier, parity)) {
    acquire_phase(worker, barrier, worker.thread());
    return true;
  }
  thread.place = *place;
  thread.parity = parity & 1;
  (kind == WaitKind::kPolling ? machine.polling : barrier.waiting).push_back(worker.thread());
  return false;
}

void mbarrier_init(void* pointer, unsigned count, void* pc) {
  Worker& worker = Worker::current();
  worker.raise_if(make(worker, pointer, count, address_of(pc)));
  worker.pause();
}

void mbarrier_invalidate(void* pointer, void* pc) {
  Worker& worker = Worker::current();
  worker.raise_if(end(worker, pointer, address_of(pc)));
}

void mbarrier_arrive(void* pointer, unsigned bytes, int arrives, void* pc) {
  Worker& worker = Worker::current();
  worker.pause();
  const char* what = arrives == 0 ? "mbarrier_expect" : bytes == 0 ? "mbarrier_arrive" : "mbarrier_arrive_expect";
  worker.raise_if(expect_or_arrive(worker, what, pointer, worker.rank(), bytes, arrives != 0, address_of(pc)));
}

void mbarrier_arrive_remote(void* pointer, unsigned rank, void* pc) {
  Worker& worker = Worker::current();
  worker.pause();
  worker.raise_if(expect_or_arrive(worker, "mbarrier_arrive_remote", pointer, rank, 0, true, address_of(pc)));
}

int mbarrier_test(void* pointer, unsigned parity, const char* name, void* pc) {
  Worker& worker = Worker::current();
  worker.pause();
  std::optional<Fault> fault;
  if (complete_or_noted(worker, name, pointer, parity, WaitKind::kPolling, false, address_of(pc), fault)) {
    return 1;
  }
  worker.raise_if(fault);
  worker.wait(WaitKind::kPolling, name, address_of(pc));
  return 0;
}

void mbarrier_wait(void* pointer, unsigned parity, int wide, const char* name, void* pc) {
  Worker& worker = Worker::current();
  worker.pause();
  std::optional<Fault> fault;
  if (!complete_or_noted(worker, name, pointer, parity, WaitKind::kMbarrier, wide != 0, address_of(pc), fault)) {
    worker.raise_if(fault);
    worker.wait(WaitKind::kMbarrier, name, address_of(pc));
  }
}

void fence(int kind) {
  Worker& worker = Worker::current();
  worker.machine().ordering.fence(worker.thread(), kind == 0 ? FenceKind::kProxy : FenceKind::kMbarrierInit);
}

// One warp's coming to a named barrier, with all of its lanes.
struct NamedMeeting {
  int id = 0;
  int threads = 0;
  bool waits = false;
  std::uintptr_t pc = 0;
};

std::optional<Fault> meet_named(Worker& worker, std::uint32_t first, std::span<std::uint64_t, kWarp> operands) {
  const auto& mine = *reinterpret_cast<const NamedMeeting*>(operands[0]);
  const char* what = mine.waits ? "named_barrier_sync" : "named_barrier_arrive";
  for (std::uint32_t lane = 1; lane < kWarp; ++lane) {
    const auto& other = *reinterpret_cast<const NamedMeeting*>(operands[lane]);
    if (other.id != mine.id || other.threads != mine.threads) {
      return worker.misuse(what, first + lane, other.pc,
                           fmt::format("lanes of one warp come to barrier {} of {} threads and to barrier {} of {}",
                                       mine.id, mine.threads, other.id, other.threads));
    }
  }
  if (mine.id < 1 || mine.id >= static_cast<int>(kNamedBarriers)) {
    return worker.misuse(what, first, mine.pc, fmt::format("barrier {}; legal are 1 to 15", mine.id));
  }
  const std::uint32_t threads = worker.launch().threads;
  if (mine.threads < 32 || mine.threads % 32 != 0 || mine.threads > static_cast<int>(threads)) {
    return worker.misuse(what, first, mine.pc,
                         fmt::format("barrier {} of {} threads; legal are multiples of 32 up to the block's {}",
                                     mine.id, mine.threads, threads));
  }
  NamedBarrier& barrier = worker.machine().blocks[worker.rank()].named[static_cast<std::size_t>(mine.id)];
  const auto wanted = static_cast<std::uint32_t>(mine.threads);
  if (barrier.come == 0) {
    barrier.threads = wanted;
    barrier.first = first;
  } else if (barrier.threads != wanted) {
    return worker.misuse(what, first, mine.pc,
                         fmt::format("barrier {} of {} threads, to which {} came as one of {}", mine.id, mine.threads,
                                     worker.name_of_thread(barrier.first), barrier.threads));
  }
  Ordering& ordering = worker.machine().ordering;
  barrier.come += kWarp;
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    join(barrier.arriving, ordering.release(first + lane));
    if (mine.waits) {
      barrier.waiting.push_back(first + lane);
    }
  }
  if (barrier.come == barrier.threads) {
    for (const std::uint32_t thread : barrier.waiting) {
      ordering.acquire(thread, barrier.arriving);
      if (worker.state(thread).wait == WaitKind::kNamedBarrier) {  // others have not got so far
        worker.wake(thread);
      }
    }
    barrier = {};
  }
  return std::nullopt;
}

void named_barrier(int id, int threads, int waits, void* pc) {
  Worker& worker = Worker::current();
  const NamedMeeting mine{id, threads, waits != 0, address_of(pc)};
  const char* what = waits != 0 ? "named_barrier_sync" : "named_barrier_arrive";
  worker.act_in_warp(what, meet_named, reinterpret_cast<std::uint64_t>(&mine), address_of(pc));
  // It is over if other lanes of the warp, or others since, were the last.
  const auto& waiting = worker.machine().blocks[worker.rank()].named[static_cast<std::size_t>(id)].waiting;
  if (waits != 0 && std::ranges::find(waiting, worker.thread()) != waiting.end()) {
    worker.state(worker.thread()).place = static_cast<std::uint32_t>(id);
    worker.wait(WaitKind::kNamedBarrier, what, address_of(pc));
  }
}

}  // namespace

void add_mbarriers(ConvtgenHostTable& table) {
  table.mbarrier_init = mbarrier_init;
  table.mbarrier_invalidate = mbarrier_invalidate;
  table.mbarrier_arrive = mbarrier_arrive;
  table.mbarrier_arrive_remote = mbarrier_arrive_remote;
  table.mbarrier_test = mbarrier_test;
  table.mbarrier_wait = mbarrier_wait;
  table.named_barrier = named_barrier;
  table.fence = fence;
}

}  // namespace convtgen::host
