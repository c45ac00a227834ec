#include "runtime/device/host/report.h"

#include <fmt/format.h>

#include <cstdint>

namespace convtgen::host {
namespace {

constexpr std::uintptr_t kSharedReach = std::uintptr_t{32} << 20;

// "offset 4092 of the 4096 bytes of buffer 'x' in global memory"
std::string place_in(std::int64_t offset, std::uint64_t bytes, const std::string& memory) {
  return fmt::format("offset {} of {} ({} bytes)", offset, memory, bytes);
}

std::string buffer_name(const Region& region, const Library& library, std::span<const unsigned long long> slots) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i] >= region.begin && slots[i] - region.begin < std::max<std::uintptr_t>(region.bytes, 1)) {
      const std::string_view name = library.parameter_name(i);
      return name.empty() ? fmt::format("the global buffer of argument {}", i)
                          : fmt::format("global buffer '{}'", name);
    }
  }
  return "a global buffer that is no argument";
}

// The memory that an address lies in, or that it misses by least.
std::string place_of(const Fault& fault, const Library& library, const LaunchContext& launch, const Worker& worker,
                     std::span<const unsigned long long> slots) {
  const auto offset_from = [&](std::uintptr_t begin) { return static_cast<std::int64_t>(fault.address - begin); };
  for (std::uint32_t rank = 0; rank < launch.cluster; ++rank) {
    const auto begin = reinterpret_cast<std::uintptr_t>(worker.shared(rank));
    if (fault.address + kSharedReach - begin < 2 * kSharedReach) {
      const std::uint32_t block = fault.block / launch.cluster * launch.cluster + rank;
      return place_in(offset_from(begin), launch.shared_bytes,
                      block == fault.block ? "shared memory" : fmt::format("shared memory of block {}", block));
    }
  }
  const Region* nearest = nullptr;
  std::uint64_t least = UINT64_MAX;
  for (const Region& region : launch.regions) {
    const std::uint64_t distance = fault.address < region.begin ? region.begin - fault.address
                                   : fault.address - region.begin < region.bytes
                                       ? 0
                                       : fault.address - region.begin - region.bytes;
    if (distance < least && distance <= region.gap) {
      least = distance;
      nearest = &region;
    }
  }
  if (nearest != nullptr) {
    return place_in(offset_from(nearest->begin), nearest->bytes, buffer_name(*nearest, library, slots));
  }
  for (const Region& constant : launch.constants) {
    if (fault.address - constant.begin < constant.bytes) {
      return "the kernel's constants";
    }
  }
  return fmt::format("address {:#x}, in no memory of the kernel", fault.address);
}

// " of block 3", where it is another one than the fault's.
std::string of_block(const Fault& fault) {
  return fault.other_block == fault.block ? "" : fmt::format(" of block {}", fault.other_block);
}

// The other side of a race: "thread 3", "cp.async of thread 3"
std::string other_of(const Fault& fault) {
  if (!fault.other_known) {
    return "another thread";
  }
  const char* agent = fault.other_what;
  return fmt::format("{}{}thread {}{}", agent, agent[0] == '\0' ? "" : " of ", fault.other_thread, of_block(fault));
}

std::string bytes_of(std::uint64_t size) {
  return fmt::format("{} byte{}", size, size == 1 ? "" : "s");
}

}  // namespace

std::string describe(const Fault& fault, const Library& library, const LaunchContext& launch, const Worker& worker,
                     std::span<const unsigned long long> slots, const std::string& symbol) {
  const std::string who = fmt::format("block {}, thread {}, {}", fault.block, fault.thread, library.line_of(fault.pc));
  const std::string access = fmt::format("{} of {}", fault.write ? "write" : "read", bytes_of(fault.size));
  const std::string head = fmt::format("kernel '{}' on the host device: ", symbol);
  const auto place = [&] { return place_of(fault, library, launch, worker, slots); };
  switch (fault.kind) {
    case FaultKind::kOutOfBounds:
      return fmt::format("{}out-of-bounds {} at {}: {}", head, access, place(), who);
    case FaultKind::kReadOnly:
      return fmt::format("{}{} in read-only memory, {}: {}", head, access, place(), who);
    case FaultKind::kNeverWritten:
      return fmt::format("{}{} that nothing has written, at {}: {}", head, access, place(), who);
    case FaultKind::kBeforeGridWait:
      return fmt::format("{}{} that the launch before may still write, at {}; grid_dependency_wait() comes first: {}",
                         head, access, place(), who);
    case FaultKind::kMisaligned:
      return fmt::format("{}misaligned {} at {}; the address must be a multiple of {}: {}", head, access, place(),
                         fault.size, who);
    case FaultKind::kRace: {
      const std::string other = other_of(fault);
      const std::string since =
          fault.other_in_flight ? fmt::format("while {} may still write", other)
          : fault.other_what[0] != '\0'
              ? fmt::format("with no wait for {} that {}", other, fault.other_write ? "writes" : "reads")
              : fmt::format("with no barrier since {} {}", other, fault.other_write ? "wrote" : "read");
      return fmt::format("{}race: {} at {} {} it: {}; the other: {}, {}", head, access, place(), since, who, other,
                         library.line_of(fault.other_pc));
    }
    case FaultKind::kDivergence: {
      std::string other = "lanes of its mask do not exist in the block";
      if (fault.other_known) {
        other = fmt::format("thread {}{}", fault.other_thread, of_block(fault));
        other += fault.other_pc == 0
                     ? " has ended"
                     : fmt::format(" waits at {}, {}", fault.other_what, library.line_of(fault.other_pc));
      }
      return fmt::format("{}divergent {}: {} waits there for ever; {}", head, fault.what, who, other);
    }
    case FaultKind::kBadMask:
      return fmt::format("{}{} with mask {:#010x}, which leaves out lane {} that takes part or is read: {}", head,
                         fault.what, fault.address, fault.size, who);
    case FaultKind::kBadWidth:
      return fmt::format("{}{} of width {}; a width is 1, 2, 4, 8, 16 or 32: {}", head, fault.what, fault.size, who);
    case FaultKind::kMisuse: {
      const std::string other =
          fault.has_other ? fmt::format("; the other: {}", library.line_of(fault.other_pc)) : std::string();
      return fmt::format("{}{}: {}: {}{}", head, fault.what, fault.detail.data(), who, other);
    }
    case FaultKind::kDeadlock:
      return fmt::format("{}deadlock: thread {} waits at {}{}: {}", head, fault.thread, fault.what, fault.detail.data(),
                         who);
  }
  return head + who;
}

}  // namespace convtgen::host
