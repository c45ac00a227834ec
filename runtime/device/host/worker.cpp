#include "runtime/device/host/worker.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace convtgen::host {
namespace {

constexpr std::size_t kSharedGap = std::size_t{64} << 20;
constexpr std::size_t kWindowBytes = std::size_t{256} << 10;
constexpr int kPoison = 0xff;  // a NaN in every floating-point type
constexpr std::uint32_t kRoundsOfPolling = 2000;

}  // namespace

thread_local constinit Worker* Worker::current_ = nullptr;

Worker::Worker() = default;
Worker::~Worker() = default;

Result<void> Worker::begin_launch(const LaunchContext& launch) {
  launch_ = &launch;
  races_ = launch.races;
  clocked_ = launch.asynchronous;
  is_special_ = clocked_ || launch.on_shared_read != nullptr;
  library_base_ = launch.library_base;
  recent_ = {};
  if (fault_) {
    machine_ = nullptr;  // the fault has left operations in flight
  }
  while (windows_.size() < launch.cluster) {
    auto memory = GuardedMemory::map(kWindowBytes, kSharedGap);
    if (!memory) {
      return std::unexpected(memory.error());
    }
    windows_.push_back(std::move(*memory));
  }
  shared_bytes_ = launch.shared_bytes;
  if (!clocked_) {
    shadow_.reserve(launch.shared_bytes);
  } else if (machine_ == nullptr) {
    machine_ = std::make_unique<Machine>();
  }
  const std::uint32_t threads = launch.cluster * launch.threads;
  threads_.resize(threads);
  ready_.reserve(threads);
  return fibers_.reserve(threads);
}

void Worker::run_thread(void* worker) {
  auto& self = *static_cast<Worker*>(worker);
  self.launch_->entry(self.launch_->slots);
  if (self.clocked_) {
    self.end_thread();
  }
  self.threads_[self.thread_].wait = WaitKind::kDone;
  ++self.done_;
  self.fibers_.leave(self.thread_);
}

void Worker::end_thread() {
  raise_if(leaves_stores(*this));
  raise_if(leaves_products(*this));
  ++machine_->blocks[rank_].done;
  raise_if(leaves_cluster(*this));
}

std::optional<Fault> Worker::run_cluster(std::uint32_t first_block) {
  first_block_ = first_block;
  const std::uint32_t count = launch_->cluster * launch_->threads;
  random_ = Random(mix(launch_->seed) + first_block);
  for (std::uint32_t rank = 0; rank < launch_->cluster; ++rank) {
    std::memset(shared(rank), kPoison, shared_bytes_);
  }
  if (clocked_) {
    machine_->begin(launch_->cluster, launch_->threads, launch_->shared_stride, random_);
  } else {
    shadow_.begin_block();
  }
  ready_.clear();
  for (std::uint32_t thread = 0; thread < count; ++thread) {
    threads_[thread] = Thread();
    fibers_.start(thread, &Worker::run_thread, this);
    ready_.push_back(thread);
  }
  done_ = 0;
  at_barrier_ = 0;
  fault_.reset();

  current_ = this;
  while (!fault_ && (!ready_.empty() || go_on())) {
    if (ready_.empty()) {  // an operation took effect, and nobody waited for that
      continue;
    }
    if (clocked_ && machine_->operations.due(random_)) {
      fault_ = machine_->operations.perform_one(random_);
      continue;
    }
    const std::uint32_t pick = random_.below(static_cast<std::uint32_t>(ready_.size()));
    const std::uint32_t thread = std::exchange(ready_[pick], ready_.back());
    ready_.pop_back();
    resume(thread);
  }
  current_ = nullptr;
  return fault_;
}

void Worker::resume(std::uint32_t thread) {
  thread_ = thread;
  rank_ = thread / launch_->threads;
  shared_begin_ = reinterpret_cast<std::uintptr_t>(shared());
  stack_begin_ = reinterpret_cast<std::uintptr_t>(fibers_.stack(thread));
  registers_ = clocked_ && (machine_->threads[thread].fenced || !machine_->threads[thread].registers.empty());
  threads_[thread].wait = WaitKind::kRunning;
  fibers_.resume(thread);
}

bool Worker::go_on() {
  const auto count = static_cast<std::uint32_t>(threads_.size());
  if (clocked_ && !machine_->operations.idle()) {
    fault_ = machine_->operations.perform_one(random_);
    return !fault_;
  }
  if (done_ == count) {
    return false;
  }
  if (!clocked_ && at_barrier_ == count) {
    release_barrier(0);
    return true;
  }
  if (clocked_ && !machine_->polling.empty() && machine_->rounds_of_polling++ < kRoundsOfPolling) {
    for (const std::uint32_t thread : std::exchange(machine_->polling, {})) {
      wake(thread);
    }
    return true;
  }
  fault_ = standstill();
  return false;
}

void Worker::wait(WaitKind kind, const char* what, std::uintptr_t pc) {
  Thread& thread = threads_[thread_];
  thread.wait = kind;
  thread.what = what;
  thread.pc = pc;
  give_way();
}

void Worker::give_way() {
  fibers_.give_way(thread_);
}

void Worker::wake(std::uint32_t thread) {
  threads_[thread].wait = WaitKind::kReady;
  ready_.push_back(thread);
}

void Worker::pause() {
  if (random_.below(4) == 0) {
    wake(thread_);
    give_way();
  }
}

void Worker::raise(const Fault& fault) {
  fault_ = fault;
  fibers_.leave(thread_);
}

}  // namespace convtgen::host
