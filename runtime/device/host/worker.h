// A worker: runs the clusters of a launch one at a time, the threads of their blocks as fibers in a random order.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "generator/support/error.h"
#include "runtime/device/device.h"
#include "runtime/device/host/fault.h"
#include "runtime/device/host/fiber.h"
#include "runtime/device/host/host_device.h"
#include "runtime/device/host/machine.h"
#include "runtime/device/host/memory.h"
#include "runtime/device/host/random.h"
#include "runtime/device/host/shared_shadow.h"

struct ConvtgenHostTable;

namespace convtgen::host {

inline constexpr std::uint32_t kMaxThreads = 1024;
inline constexpr std::uint32_t kMaxCluster = 8;
inline constexpr std::uint32_t kWarp = 32;
/// Where a block's dynamic shared memory begins in its shared window: a multiple of 16 only, since the chip
/// guarantees no more.
inline constexpr std::uint32_t kSharedStart = 1040;

[[nodiscard]] inline std::uintptr_t address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

/// What all workers of a launch share, read-only.
struct LaunchContext {
  void (*entry)(const unsigned long long* slots) = nullptr;
  const unsigned long long* slots = nullptr;
  std::uint32_t blocks = 0;
  std::uint32_t threads = 0;
  std::uint32_t cluster = 1;  // blocks of one
  std::uint32_t shared_bytes = 0;
  std::uint32_t shared_stride =
      128;  // from a block's bytes to the next one's where those of a cluster are counted through
  bool races = true;
  bool asynchronous = false;  // the kernel uses primitives that need the asynchronous machine
  std::uint64_t seed = 0;
  std::span<const Region> regions;    // by address
  std::span<const Region> constants;  // of the kernel's library
  std::span<const TensorMapArgument> tensor_maps;
  std::uintptr_t library_base = 0;
  const std::function<void(const SharedRead&)>* on_shared_read = nullptr;  // null: reads are not reported
};

enum class WaitKind : std::uint8_t {
  kRunning,
  kReady,
  kDone,
  kBarrier,
  kWarpSync,
  kShuffle,
  kBallot,
  kWarpAction,  // a primitive of a whole warp
  kMbarrier,    // a phase of an mbarrier
  kPolling,     // a test of an mbarrier failed, and the kernel is about to repeat it
  kNamedBarrier,
  kCluster,
  kRegisters,
};

class Worker;

/// The last lane to arrive runs it for the whole warp: from each lane's operand to each lane's result.
/// Returns the fault that this shows, if any.
using WarpAction = std::optional<Fault> (*)(Worker& worker, std::uint32_t first_thread,
                                            std::span<std::uint64_t, kWarp> operands);

/// One thread of the cluster, and what it waits for.
struct Thread {
  WaitKind wait = WaitKind::kReady;
  const char* what = "";      // the primitive it waits at
  std::uintptr_t pc = 0;      // of that
  std::uint32_t mask = 0;     // of a warp collective
  std::uint64_t operand = 0;  // its operand of the collective, then its result
  std::uint32_t source_lane = 0;
  WarpAction action = nullptr;
  std::uint32_t place = 0;   // of an mbarrier, its offset in the cluster's shared memory; the number of a named barrier
  std::uint32_t parity = 0;  // of the phase of an mbarrier
  bool wide = false;         // also acquires what other blocks release
  bool has_waited_for_grid = false;  // called grid_dependency_wait()
  // Accesses before this time, by threads of this mask, are ordered before what the thread does now.
  std::uint32_t warp_time = 0;
  std::uint32_t warp_mask = 0;
};

class Worker {
 public:
  Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();

  /// Errors: no memory.
  [[nodiscard]] Result<void> begin_launch(const LaunchContext& launch);

  /// Runs the blocks from `first_block` on that make a cluster. The fault that stopped them, if one did. Only one
  /// worker runs in an OS thread at a time.
  [[nodiscard]] std::optional<Fault> run_cluster(std::uint32_t first_block);

  // What follows is for the functions that a kernel calls; `current()` is the worker whose cluster runs in this OS
  // thread. A function that raises or waits must hold no object with a destructor at that time: its fiber may
  // never be resumed.
  static Worker& current() { return *current_; }

  [[nodiscard]] const LaunchContext& launch() const { return *launch_; }
  [[nodiscard]] std::uint32_t thread() const { return thread_; }  // in the cluster
  [[nodiscard]] std::uint32_t rank() const { return rank_; }      // of its block
  [[nodiscard]] std::uint32_t thread_in_block() const { return thread_ - rank_ * launch_->threads; }
  [[nodiscard]] std::uint32_t block() const { return first_block_ + rank_; }
  [[nodiscard]] std::byte* shared(std::uint32_t rank) const { return windows_[rank].data() + kSharedStart; }
  [[nodiscard]] std::byte* shared() const { return shared(rank_); }
  /// Of a launch that is asynchronous.
  [[nodiscard]] Machine& machine() { return *machine_; }
  [[nodiscard]] Random& random() { return random_; }

  // Accesses by the thread, checked as it makes them. They raise.
  template <std::uint32_t kBytes, bool kWrite>
  void check(std::uintptr_t address, std::uintptr_t pc);
  void check_range(std::uintptr_t address, std::uint64_t bytes, bool write, std::uintptr_t pc);

  // Accesses of asynchronous operations. They return the fault.
  /// Of global memory.
  [[nodiscard]] std::optional<Fault> check_global(std::uintptr_t address, std::uint64_t bytes, bool write,
                                                  std::uintptr_t pc);
  /// Of the cluster's shared memory, by its offset there: whether the thread may let an operation read or write it.
  [[nodiscard]] std::optional<Fault> check_clocked(std::uint32_t offset, std::uint32_t bytes, bool write,
                                                   std::uint32_t thread, std::uintptr_t pc) const;
  /// Whether the asynchronous proxy may read or overwrite it on the thread's behalf: what was written plainly is
  /// fenced.
  [[nodiscard]] std::optional<Fault> check_fenced(const char* what, std::uint32_t offset, std::uint32_t bytes,
                                                  std::uint32_t thread, std::uintptr_t pc) const;
  /// The thread is about to use the shared memory of a block of its cluster, which must not end before; `now`, or by an
  /// operation that looks itself whether the block has ended. Errors: that block may not have begun, or has ended.
  [[nodiscard]] std::optional<Fault> touch_block(const char* what, std::uint32_t rank, bool now, std::uintptr_t pc);
  /// Where bytes of the thread's own block's shared memory lie in the cluster's. Errors: they are not in it.
  [[nodiscard]] std::optional<std::uint32_t> shared_offset(std::uintptr_t address, std::uint64_t bytes) const;
  [[nodiscard]] std::byte* shared_at(std::uint32_t offset) const {
    return shared(offset / launch_->shared_stride) + offset % launch_->shared_stride;
  }
  [[nodiscard]] std::uint32_t relative(std::uintptr_t pc) const {
    return static_cast<std::uint32_t>(pc - library_base_);
  }

  void sync_threads(std::uintptr_t pc);
  /// Passes the thread's operand to the collective of its warp, and returns its result.
  std::uint64_t meet_warp(WaitKind kind, std::uint32_t mask, std::uint64_t operand, std::uint32_t source_lane,
                          std::uintptr_t pc);
  [[noreturn]] void raise_bad_width(std::uint32_t width, std::uintptr_t pc);
  /// All lanes of the thread's warp arrive at `what` with an operand each; then `action` runs for all of them.
  std::uint64_t act_in_warp(const char* what, WarpAction action, std::uint64_t operand, std::uintptr_t pc);

  /// Waits, until wake() by another thread or an operation, as the fields say that are set in the thread before.
  void wait(WaitKind kind, const char* what, std::uintptr_t pc);
  void wake(std::uint32_t thread);
  /// From now on the thread may access what the previous launch wrote.
  void await_launch() { threads_[thread_].has_waited_for_grid = true; }
  [[nodiscard]] Thread& state(std::uint32_t thread) { return threads_[thread]; }
  /// Sometimes lets others run first: between two primitives of a thread anything may happen.
  void pause();

  /// Ends the launch; the fiber is never resumed.
  [[noreturn]] void raise(const Fault& fault);
  void raise_if(const std::optional<Fault>& fault) {
    if (fault) {
      raise(*fault);
    }
  }
  [[nodiscard]] Fault fault(FaultKind kind, std::uintptr_t pc) const { return fault_of(kind, thread_, pc); }
  [[nodiscard]] Fault fault_of(FaultKind kind, std::uint32_t thread, std::uintptr_t pc) const;
  /// A primitive used against its rules: which one, and what is wrong with it.
  [[nodiscard]] Fault misuse(const char* what, std::uint32_t thread, std::uintptr_t pc,
                             const std::string& detail) const;
  [[nodiscard]] Fault misuse(const char* what, std::uintptr_t pc, const std::string& detail) const {
    return misuse(what, thread_, pc, detail);
  }
  /// "thread 3", with its block where the cluster has several.
  [[nodiscard]] std::string name_of_thread(std::uint32_t thread) const;

 private:
  static void run_thread(void* worker);

  [[nodiscard]] Fault access_fault(FaultKind kind, std::uintptr_t address, std::uint64_t bytes, bool write,
                                   std::uintptr_t pc) const;
  [[nodiscard]] Fault conflict_fault(const Conflict& conflict, std::uint32_t thread, std::uint32_t bytes, bool write,
                                     std::uintptr_t pc) const;

  void resume(std::uint32_t thread);
  void give_way();
  void end_thread();
  /// Nothing is ready: makes something so. False if all threads have ended, or a fault is found.
  [[nodiscard]] bool go_on();
  void release_barrier(std::uint32_t rank);
  void come_to_warp(WaitKind kind, const char* what, std::uintptr_t pc);
  void complete_warp(std::uint32_t first_thread, std::uint32_t mask, WaitKind kind);
  [[nodiscard]] Fault standstill() const;
  [[nodiscard]] Fault divergence(std::uint32_t waiting) const;
  [[nodiscard]] std::string state_of_wait(std::uint32_t thread) const;

  template <std::uint32_t kBytes, bool kWrite>
  void check_shared(std::uint32_t offset, std::uintptr_t pc);
  void access_clocked(std::uint32_t offset, std::uint32_t bytes, bool write, std::uintptr_t pc);
  [[nodiscard]] std::optional<Fault> check_plain(std::uint32_t offset, std::uint32_t bytes, bool write,
                                                 std::uintptr_t pc) const;
  [[nodiscard]] std::optional<Fault> note_registers(std::uintptr_t address, std::uint32_t bytes, bool write,
                                                    std::uintptr_t pc);
  void access_registers(std::uintptr_t address, std::uint32_t bytes, bool write, std::uintptr_t pc);
  void check_elsewhere(std::uintptr_t address, std::uint64_t bytes, bool write, std::uintptr_t pc);
  void access_remote(std::uint32_t rank, std::uint32_t offset, std::uint32_t bytes, bool write, std::uintptr_t pc);
  void tell_read(std::uint32_t offset, std::uint32_t bytes, std::uintptr_t pc) const;
  void look_closer(std::uint32_t offset, std::uint32_t bytes, bool write, std::uintptr_t pc);
  [[nodiscard]] bool ordered(std::uint32_t cell, bool reader) const;
  [[nodiscard]] const Region* find_region(std::uintptr_t address);

  // Set while a worker runs a cluster; fibers stay on their OS thread.
  [[gnu::tls_model("initial-exec")]] static thread_local constinit Worker* current_;

  // First what every access needs.
  std::uintptr_t shared_begin_ = 0;  // of the thread's block
  std::uintptr_t shared_bytes_ = 0;
  std::uintptr_t stack_begin_ = 0;
  std::uint32_t thread_ = 0;
  std::uint32_t rank_ = 0;
  bool races_ = true;
  bool clocked_ = false;
  bool is_special_ = false;  // accesses of shared memory are clocked, or reads are reported
  bool registers_ = false;   // the thread's products use registers of its stack
  std::uintptr_t library_base_ = 0;
  std::array<Region, 4> recent_ = {};  // the buffers accessed last
  std::uint32_t next_recent_ = 0;
  SharedShadow shadow_;

  const LaunchContext* launch_ = nullptr;
  Fibers fibers_;
  std::vector<GuardedMemory> windows_;  // of the blocks of a cluster
  std::unique_ptr<Machine> machine_;
  std::vector<Thread> threads_;
  std::vector<std::uint32_t> ready_;
  std::uint32_t first_block_ = 0;
  std::uint32_t done_ = 0;
  std::uint32_t at_barrier_ = 0;  // where the launch is not asynchronous
  Random random_{0};
  std::optional<Fault> fault_;
};

/// The functions that a kernel calls, for the table of its library, by the file that they are in.
void add_access_checks(ConvtgenHostTable& table);
void add_collectives(ConvtgenHostTable& table);
void add_mbarriers(ConvtgenHostTable& table);
void add_copies(ConvtgenHostTable& table);
void add_tensor_copies(ConvtgenHostTable& table);
void add_matrices(ConvtgenHostTable& table);
void add_warp_products(ConvtgenHostTable& table);
void add_products(ConvtgenHostTable& table);
void add_clusters(ConvtgenHostTable& table);

/// Checks when a thread ends: the rules for its own copies, stores and products, and for its block's end.
[[nodiscard]] std::optional<Fault> leaves_stores(Worker& worker);
[[nodiscard]] std::optional<Fault> leaves_products(Worker& worker);
[[nodiscard]] std::optional<Fault> leaves_cluster(Worker& worker);

}  // namespace convtgen::host
