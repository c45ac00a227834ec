// Accesses of shared memory, and of registers on a thread's stack, where the asynchronous machine is in use.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/device/host/worker.h"

namespace convtgen::host {

std::optional<std::uint32_t> Worker::shared_offset(std::uintptr_t address, std::uint64_t bytes) const {
  const std::uintptr_t offset = address - shared_begin_;
  if (offset >= shared_bytes_ || bytes > shared_bytes_ - offset) {
    return std::nullopt;
  }
  return rank_ * launch_->shared_stride + static_cast<std::uint32_t>(offset);
}

std::optional<Fault> Worker::check_clocked(std::uint32_t offset, std::uint32_t bytes, bool write, std::uint32_t thread,
                                           std::uintptr_t pc) const {
  const auto conflict = machine_->shadow.find_conflict(offset, bytes, write, thread, machine_->ordering);
  if (!conflict || (!races_ && conflict->kind != Conflict::Kind::kNeverWritten)) {
    return std::nullopt;
  }
  return conflict_fault(*conflict, thread, bytes, write, pc);
}

std::optional<Fault> Worker::check_fenced(const char* what, std::uint32_t offset, std::uint32_t bytes,
                                          std::uint32_t thread, std::uintptr_t pc) const {
  const auto conflict =
      races_ ? machine_->shadow.find_unfenced(offset, bytes, thread, machine_->ordering) : std::optional<Conflict>();
  if (!conflict) {
    return std::nullopt;
  }
  Fault made = misuse(what, thread, pc,
                      fmt::format("no fence_proxy_async() since {} wrote byte {} of shared memory (a fence of the "
                                  "writer, then a barrier)",
                                  name_of_thread(machine_->ordering.agent(conflict->id).owner),
                                  conflict->byte % launch_->shared_stride));
  made.has_other = true;
  made.other_pc = library_base_ + conflict->pc;
  return made;
}

void Worker::access_clocked(std::uint32_t offset, std::uint32_t bytes, bool write, std::uintptr_t pc) {
  raise_if(check_plain(offset, bytes, write, pc));
  const Time now = machine_->ordering.now();
  if (write) {
    machine_->shadow.note_write(offset, bytes, thread_, now, relative(pc));
  } else {
    machine_->shadow.note_read(offset, bytes, thread_, now, relative(pc));
  }
}

std::optional<Fault> Worker::check_plain(std::uint32_t offset, std::uint32_t bytes, bool write,
                                         std::uintptr_t pc) const {
  // Nothing but its own primitives may touch a living mbarrier.
  for (std::uint32_t place = offset & ~7U; place < offset + bytes && !machine_->mbarriers.empty(); place += 8) {
    if (machine_->mbarriers.contains(place)) [[unlikely]] {
      return misuse(write ? "a plain write" : "a plain read", pc,
                    fmt::format("touches the mbarrier at offset {} of shared memory, which lives until "
                                "mbarrier_invalidate()",
                                place % launch_->shared_stride));
    }
  }
  return check_clocked(offset, bytes, write, thread_, pc);
}

void Worker::access_registers(std::uintptr_t address, std::uint32_t bytes, bool write, std::uintptr_t pc) {
  raise_if(note_registers(address, bytes, write, pc));
}

// Registers that a product in flight reads or writes are its own until the thread has waited.
std::optional<Fault> Worker::note_registers(std::uintptr_t address, std::uint32_t bytes, bool write,
                                            std::uintptr_t pc) {
  ThreadState& state = machine_->threads[thread_];
  bool noted = !state.fenced;
  for (ProductRegisters& registers : state.registers) {
    if (address >= registers.begin + registers.bytes || registers.begin >= address + bytes) {
      continue;
    }
    if (registers.product > state.products_done) {
      return misuse(write ? "a write" : "a read", pc,
                    fmt::format("of {} of a wgmma in flight, before the wgmma_wait() that covers it",
                                registers.accumulators ? "accumulators" : "A registers"));
    }
    registers.touched = true;
    noted = true;
  }
  // What a product may use later: touched since the last wgmma_fence().
  if (!noted) {
    ProductRegisters* last = state.registers.empty() ? nullptr : &state.registers.back();
    if (last != nullptr && last->product == 0 && last->begin + last->bytes == address) {
      last->bytes += bytes;
    } else {
      state.registers.push_back({.begin = address, .bytes = bytes, .touched = true});
    }
  }
  return std::nullopt;
}

void Worker::access_remote(std::uint32_t rank, std::uint32_t offset, std::uint32_t bytes, bool write,
                           std::uintptr_t pc) {
  raise_if(touch_block(write ? "a write" : "a read", rank, true, pc));
  access_clocked(rank * launch_->shared_stride + offset, bytes, write, pc);
}

std::optional<Fault> Worker::touch_block(const char* what, std::uint32_t rank, bool now, std::uintptr_t pc) {
  if (rank == rank_) {
    return std::nullopt;
  }
  BlockState& block = machine_->blocks[rank];
  const std::uint64_t arrivals = machine_->threads[thread_].cluster_arrivals;
  if (machine_->threads[thread_].cluster_waits == 0) {
    return misuse(what, pc,
                  fmt::format("touches the shared memory of block {} with no cluster barrier since the start: that "
                              "block may not have begun",
                              first_block_ + rank));
  }
  if (block.done == launch_->threads) {
    return misuse(what, pc, fmt::format("touches the shared memory of block {}, which has ended", first_block_ + rank));
  }
  if (!now) {
    return std::nullopt;
  }
  const RemoteAccess access{thread_, machine_->ordering.now(), arrivals, pc};
  const auto found = std::ranges::find(block.remote, thread_, &RemoteAccess::thread);
  if (found == block.remote.end()) {
    block.remote.push_back(access);
  } else {
    *found = access;
  }
  return std::nullopt;
}

}  // namespace convtgen::host
