// The check before every access of a kernel to memory: the hot path of the host device.
#include <algorithm>

#include "runtime/device/host/abi.h"
#include "runtime/device/host/worker.h"

namespace convtgen::host {
namespace {

bool all_written(const std::uint8_t* written, std::uint64_t bytes) {
  for (std::uint64_t i = 0; i < bytes; ++i) {
    if (written[i] == 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

template <std::uint32_t kBytes, bool kWrite>
inline __attribute__((always_inline)) void Worker::check(std::uintptr_t address, std::uintptr_t pc) {
  if (address % kBytes != 0) {
    raise(access_fault(FaultKind::kMisaligned, address, kBytes, kWrite, pc));
  }
  // Aligned and with its first byte inside, an access ends inside too, unless the end is ragged.
  const std::uintptr_t shared_offset = address - shared_begin_;
  if (shared_offset < shared_bytes_ && kBytes <= shared_bytes_ - shared_offset) {
    if (is_special_) [[unlikely]] {
      if constexpr (!kWrite) {
        tell_read(static_cast<std::uint32_t>(shared_offset), kBytes, pc);
      }
      if (clocked_) {
        return access_clocked(rank_ * launch_->shared_stride + static_cast<std::uint32_t>(shared_offset), kBytes,
                              kWrite, pc);
      }
    }
    return check_shared<kBytes, kWrite>(static_cast<std::uint32_t>(shared_offset), pc);
  }
  if (address - stack_begin_ < kStackBytes) {
    if (registers_) [[unlikely]] {
      access_registers(address, kBytes, kWrite, pc);
    }
    return;
  }
  for (const Region& region : recent_) {
    const std::uintptr_t offset = address - region.begin;
    if (offset < region.bytes && kBytes <= region.bytes - offset) {
      if (region.written != nullptr) {
        if constexpr (kWrite) {
          __builtin_memset(region.written + offset, 1, kBytes);
        } else if (!all_written(region.written + offset, kBytes)) {
          raise(access_fault(FaultKind::kNeverWritten, address, kBytes, false, pc));
        }
      }
      return;
    }
  }
  check_elsewhere(address, kBytes, kWrite, pc);
}

template <std::uint32_t kBytes, bool kWrite>
inline __attribute__((always_inline)) void Worker::check_shared(std::uint32_t offset, std::uintptr_t pc) {
  const bool plain =
      kWrite ? shadow_.plain_write<kBytes>(offset, thread_) : shadow_.plain_read<kBytes>(offset, thread_);
  if (!plain) [[unlikely]] {
    look_closer(offset, kBytes, kWrite, pc);
  }
  const auto relative = static_cast<std::uint32_t>(pc - library_base_);
  if constexpr (kWrite) {
    shadow_.note_write<kBytes>(offset, thread_, relative);
  } else {
    shadow_.note_read<kBytes>(offset, thread_, relative);
  }
}

void Worker::tell_read(std::uint32_t offset, std::uint32_t bytes, std::uintptr_t pc) const {
  if (launch_->on_shared_read != nullptr) {
    (*launch_->on_shared_read)({block(), thread_in_block(), offset, bytes, pc - library_base_});
  }
}

void Worker::look_closer(std::uint32_t offset, std::uint32_t bytes, bool write, std::uintptr_t pc) {
  for (std::uint32_t i = offset; i < offset + bytes; ++i) {
    if (!write && !shadow_.written(i)) {
      raise(access_fault(FaultKind::kNeverWritten, shared_begin_ + i, bytes, false, pc));
    }
    if (!races_) {
      continue;
    }
    const bool by_writer = !ordered(shadow_.writer(i), false);
    if (by_writer || (write && !ordered(shadow_.reader(i), true))) {
      const std::uint32_t cell = by_writer ? shadow_.writer(i) : shadow_.reader(i);
      Fault race = access_fault(FaultKind::kRace, shared_begin_ + i, bytes, write, pc);
      race.has_other = true;
      race.other_write = by_writer;
      race.other_block = race.block;
      race.other_thread = cell & SharedShadow::kThreadMask;
      race.other_known = race.other_thread != thread_;
      race.other_pc = library_base_ + (by_writer ? shadow_.writer_pc(i) : shadow_.reader_pc(i));
      raise(race);
    }
  }
}

// Whether the access that left this cell, or every read that it stands for, is ordered before what the thread does now.
bool Worker::ordered(std::uint32_t cell, bool reader) const {
  if (cell < shadow_.barrier()) {
    return true;
  }
  const std::uint32_t other = cell & SharedShadow::kThreadMask;
  const bool others = reader && (cell & SharedShadow::kSameWarp) != 0;
  if (reader && (cell & SharedShadow::kOtherWarps) != 0) {
    return false;
  }
  if (other == thread_ && !others) {
    return true;
  }
  const Thread& me = threads_[thread_];
  const std::uint32_t lanes = others ? ~0u : 1u << other % kWarp;
  return other / kWarp == thread_ / kWarp && (me.warp_mask & lanes) == lanes &&
         (cell >> SharedShadow::kTimeShift << SharedShadow::kTimeShift) < me.warp_time;
}

const Region* Worker::find_region(std::uintptr_t address) {
  const auto after = std::ranges::upper_bound(launch_->regions, address, {}, &Region::begin);
  if (after == launch_->regions.begin()) {
    return nullptr;
  }
  const Region& region = *(after - 1);
  return address - region.begin < region.bytes ? &region : nullptr;
}

// Not in the block's shared memory, the stack or a buffer met lately.
void Worker::check_elsewhere(std::uintptr_t address, std::uint64_t bytes, bool write, std::uintptr_t pc) {
  for (std::uint32_t rank = 0; rank < launch_->cluster; ++rank) {
    const std::uintptr_t offset = address - reinterpret_cast<std::uintptr_t>(shared(rank));
    if (rank != rank_ && offset < shared_bytes_ && bytes <= shared_bytes_ - offset) {
      return access_remote(rank, static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(bytes), write, pc);
    }
  }
  raise_if(check_global(address, bytes, write, pc));
}

std::optional<Fault> Worker::check_global(std::uintptr_t address, std::uint64_t bytes, bool write, std::uintptr_t pc) {
  if (const Region* region = find_region(address)) {
    const std::uintptr_t offset = address - region->begin;
    if (bytes <= region->bytes - offset) {
      if (region->is_pdl_buffer && !threads_[thread_].has_waited_for_grid) {
        return access_fault(FaultKind::kBeforeGridWait, address, bytes, write, pc);
      }
      if (region->written != nullptr) {
        if (write) {
          std::fill_n(region->written + offset, bytes, std::uint8_t{1});
        } else if (!all_written(region->written + offset, bytes)) {
          return access_fault(FaultKind::kNeverWritten, address, bytes, false, pc);
        }
      }
      if (!region->is_pdl_buffer) {  // which depends on the thread
        recent_[next_recent_++ % recent_.size()] = *region;
      }
      return std::nullopt;
    }
  }
  for (const Region& constant : launch_->constants) {
    const std::uintptr_t offset = address - constant.begin;
    if (offset < constant.bytes && bytes <= constant.bytes - offset) {
      return write ? std::optional(access_fault(FaultKind::kReadOnly, address, bytes, true, pc)) : std::nullopt;
    }
  }
  return access_fault(FaultKind::kOutOfBounds, address, bytes, write, pc);
}

void Worker::check_range(std::uintptr_t address, std::uint64_t bytes, bool write, std::uintptr_t pc) {
  if (bytes == 0) {
    return;
  }
  const std::uintptr_t shared_offset = address - shared_begin_;
  if (shared_offset < shared_bytes_ && bytes <= shared_bytes_ - shared_offset) {
    if (!write) {
      tell_read(static_cast<std::uint32_t>(shared_offset), static_cast<std::uint32_t>(bytes), pc);
    }
    if (clocked_) {
      return access_clocked(rank_ * launch_->shared_stride + static_cast<std::uint32_t>(shared_offset),
                            static_cast<std::uint32_t>(bytes), write, pc);
    }
    for (std::uint64_t i = 0; i < bytes; ++i) {
      const auto offset = static_cast<std::uint32_t>(shared_offset + i);
      if (write) {
        check_shared<1, true>(offset, pc);
      } else {
        check_shared<1, false>(offset, pc);
      }
    }
    return;
  }
  const std::uintptr_t stack_offset = address - stack_begin_;
  if (stack_offset < kStackBytes && bytes <= kStackBytes - stack_offset) {
    if (registers_) {
      access_registers(address, static_cast<std::uint32_t>(bytes), write, pc);
    }
    return;
  }
  check_elsewhere(address, bytes, write, pc);
}

namespace {

template <unsigned kBytes, bool kWrite>
void access(void* address, void* pc) {
  Worker::current().check<kBytes, kWrite>(address_of(address), address_of(pc));
}

template <bool kWrite>
void access_range(void* address, unsigned long bytes, void* pc) {
  Worker::current().check_range(address_of(address), bytes, kWrite, address_of(pc));
}

template <bool kWrite>
void fill(void (*(&functions)[5])(void*, void*)) {
  functions[0] = access<1, kWrite>;
  functions[1] = access<2, kWrite>;
  functions[2] = access<4, kWrite>;
  functions[3] = access<8, kWrite>;
  functions[4] = access<16, kWrite>;
}

}  // namespace

void add_access_checks(ConvtgenHostTable& table) {
  fill<false>(table.read);
  fill<true>(table.write);
  table.read_range = access_range<false>;
  table.write_range = access_range<true>;
}

}  // namespace convtgen::host
