// A worker: runs the blocks of a launch one at a time, their threads as fibers in a random order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "generator/support/error.h"
#include "runtime/device/host/fault.h"
#include "runtime/device/host/fiber.h"
#include "runtime/device/host/memory.h"
#include "runtime/device/host/shared_shadow.h"

struct ConvtgenHostTable;

namespace convtgen::host {

inline constexpr std::uint32_t kMaxThreads = 1024;
inline constexpr std::uint32_t kWarp = 32;

/// What all workers of a launch share, read-only.
struct LaunchContext {
  void (*entry)(const unsigned long long* slots) = nullptr;
  const unsigned long long* slots = nullptr;
  std::uint32_t blocks = 0;
  std::uint32_t threads = 0;
  std::uint32_t shared_bytes = 0;
  bool races = true;
  std::uint64_t seed = 0;
  std::span<const Region> regions;    // by address
  std::span<const Region> constants;  // of the kernel's library
  std::uintptr_t library_base = 0;
};

/// xorshift64*, seeded through splitmix64: equal seeds give equal orders on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed);
  std::uint32_t below(std::uint32_t bound) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::uint32_t>((state_ * 0x2545f4914f6cdd1dULL >> 32) * bound >> 32);
  }

 private:
  std::uint64_t state_;
};

enum class WaitKind : std::uint8_t { kRunning, kReady, kDone, kBarrier, kWarpSync, kShuffle, kBallot };

/// One thread of the block, and what it waits for.
struct Thread {
  WaitKind wait = WaitKind::kReady;
  std::uintptr_t pc = 0;      // of the collective it waits at
  std::uint32_t mask = 0;     // of a warp collective
  std::uint64_t operand = 0;  // what it brings to the collective, then what it gets
  std::uint32_t source_lane = 0;
  // Accesses before this time, by threads of this mask, are ordered before what the thread does now.
  std::uint32_t warp_time = 0;
  std::uint32_t warp_mask = 0;
};

class Worker {
 public:
  Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Errors: no memory.
  [[nodiscard]] Result<void> begin_launch(const LaunchContext& launch);

  /// The fault that stopped the block, if one did. Only one worker runs in an OS thread at a time.
  [[nodiscard]] std::optional<Fault> run_block(std::uint32_t block);

  // What follows is for the functions that a kernel calls; `current()` is the worker whose block runs in this OS
  // thread.
  static Worker& current() { return *current_; }

  [[nodiscard]] const LaunchContext& launch() const { return *launch_; }
  [[nodiscard]] std::uint32_t thread() const { return thread_; }
  [[nodiscard]] std::uint32_t block() const { return block_; }
  [[nodiscard]] std::byte* shared() const { return shared_.data(); }

  template <std::uint32_t kBytes, bool kWrite>
  void check(std::uintptr_t address, std::uintptr_t pc);
  void check_range(std::uintptr_t address, std::uint64_t bytes, bool write, std::uintptr_t pc);

  void sync_threads(std::uintptr_t pc);
  /// Gives what the thread brings to the collective of its warp, and returns what it takes from it.
  std::uint64_t meet_warp(WaitKind kind, std::uint32_t mask, std::uint64_t operand, std::uint32_t source_lane,
                          std::uintptr_t pc);
  [[noreturn]] void raise_bad_width(std::uint32_t width, std::uintptr_t pc);

 private:
  static void run_thread(void* worker);

  // Ends the block; the fiber is never resumed.
  [[noreturn]] void raise(Fault fault);
  [[nodiscard]] Fault fault(FaultKind kind, std::uintptr_t pc) const;
  [[nodiscard]] Fault access_fault(FaultKind kind, std::uintptr_t address, std::uint64_t bytes, bool write,
                                   std::uintptr_t pc) const;

  void wait();
  void release_barrier();
  void complete_warp(std::uint32_t first_thread, std::uint32_t mask, WaitKind kind);
  [[nodiscard]] Fault divergence() const;

  template <std::uint32_t kBytes, bool kWrite>
  void check_shared(std::uint32_t offset, std::uintptr_t pc);
  void check_elsewhere(std::uintptr_t address, std::uint64_t bytes, bool write, std::uintptr_t pc);
  void look_closer(std::uint32_t offset, std::uint32_t bytes, bool write, std::uintptr_t pc);
  [[nodiscard]] bool ordered(std::uint32_t cell, bool reader) const;
  [[nodiscard]] const Region* find_region(std::uintptr_t address);

  // Set while a worker runs a block; fibers stay on their OS thread.
  [[gnu::tls_model("initial-exec")]] static thread_local constinit Worker* current_;

  // First what every access needs.
  std::uintptr_t shared_begin_ = 0;
  std::uintptr_t shared_bytes_ = 0;
  std::uintptr_t stack_begin_ = 0;
  std::uint32_t thread_ = 0;
  std::uint32_t block_ = 0;
  bool races_ = true;
  std::uintptr_t library_base_ = 0;
  std::array<Region, 4> recent_ = {};  // the buffers met last
  std::uint32_t next_recent_ = 0;
  SharedShadow shadow_;

  const LaunchContext* launch_ = nullptr;
  Fibers fibers_;
  GuardedMemory shared_;
  std::vector<Thread> threads_;
  std::vector<std::uint32_t> ready_;
  std::uint32_t done_ = 0;
  std::uint32_t at_barrier_ = 0;
  std::optional<Fault> fault_;
};

/// The functions that a kernel calls, for the table of its library: checks of its accesses, then what it asks and waits
/// for.
void add_access_checks(ConvtgenHostTable& table);
void add_collectives(ConvtgenHostTable& table);

}  // namespace convtgen::host
