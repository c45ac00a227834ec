#include "runtime/device/host/block.h"

#include <cstring>
#include <utility>

namespace convtgen::host {
namespace {

constexpr std::size_t kSharedGap = std::size_t{64} << 20;
constexpr int kPoison = 0xff;  // a NaN in every floating-point type

std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed) : state_(mix(seed) | 1) {}

thread_local constinit Worker* Worker::current_ = nullptr;

Worker::Worker() = default;

Result<void> Worker::begin_launch(const LaunchContext& launch) {
  launch_ = &launch;
  races_ = launch.races;
  library_base_ = launch.library_base;
  recent_ = {};
  if (shared_.data() == nullptr) {
    auto memory = GuardedMemory::map(std::size_t{256} << 10, kSharedGap);
    if (!memory) {
      return std::unexpected(memory.error());
    }
    shared_ = std::move(*memory);
  }
  shared_begin_ = reinterpret_cast<std::uintptr_t>(shared_.data());
  shared_bytes_ = launch.shared_bytes;
  shadow_.reserve(launch.shared_bytes);
  threads_.resize(launch.threads);
  ready_.reserve(launch.threads);
  return fibers_.reserve(launch.threads);
}

void Worker::run_thread(void* worker) {
  auto& self = *static_cast<Worker*>(worker);
  self.launch_->entry(self.launch_->slots);
  self.threads_[self.thread_].wait = WaitKind::kDone;
  ++self.done_;
  self.fibers_.leave(self.thread_);
}

std::optional<Fault> Worker::run_block(std::uint32_t block) {
  block_ = block;
  std::memset(shared_.data(), kPoison, shared_bytes_);
  shadow_.begin_block();
  const std::uint32_t count = launch_->threads;
  ready_.clear();
  for (std::uint32_t thread = 0; thread < count; ++thread) {
    threads_[thread] = Thread();
    fibers_.start(thread, &Worker::run_thread, this);
    ready_.push_back(thread);
  }
  done_ = 0;
  at_barrier_ = 0;
  fault_.reset();
  Random random(mix(launch_->seed) + block);

  current_ = this;
  while (!fault_) {
    while (!ready_.empty() && !fault_) {
      const std::uint32_t pick = random.below(static_cast<std::uint32_t>(ready_.size()));
      thread_ = std::exchange(ready_[pick], ready_.back());
      ready_.pop_back();
      threads_[thread_].wait = WaitKind::kRunning;
      stack_begin_ = reinterpret_cast<std::uintptr_t>(fibers_.stack(thread_));
      fibers_.resume(thread_);
    }
    if (fault_ || done_ == count) {
      break;
    }
    if (at_barrier_ == count) {
      release_barrier();
    } else {
      fault_ = divergence();
    }
  }
  current_ = nullptr;
  return fault_;
}

void Worker::wait() {
  fibers_.give_way(thread_);
}

void Worker::raise(Fault fault) {
  fault_ = fault;
  fibers_.leave(thread_);
}

Fault Worker::fault(FaultKind kind, std::uintptr_t pc) const {
  Fault fault;
  fault.kind = kind;
  fault.block = block_;
  fault.thread = thread_;
  fault.pc = pc;
  return fault;
}

Fault Worker::access_fault(FaultKind kind, std::uintptr_t address, std::uint64_t bytes, bool write,
                           std::uintptr_t pc) const {
  Fault made = fault(kind, pc);
  made.address = address;
  made.size = bytes;
  made.write = write;
  return made;
}

}  // namespace convtgen::host
