// Faults that the host device finds in a kernel.
#pragma once

#include <array>
#include <cstdint>

namespace convtgen::host {

enum class FaultKind {
  kOutOfBounds,     // an access outside everything the kernel may touch
  kReadOnly,        // a write to the kernel's constants
  kNeverWritten,    // a read of bytes that nothing has written
  kBeforeGridWait,  // an access of the PDL buffer before grid_dependency_wait()
  kMisaligned,      // an access of 2^k bytes at an address that is no multiple of them
  kRace,            // two threads touch the same byte of shared memory, one writes, and no barrier lies between
  kDivergence,      // some threads wait at a collective that others can't reach
  kBadMask,         // a warp collective whose mask leaves out the caller, or a shuffle from a lane outside it
  kBadWidth,        // a shuffle whose width is no power of two up to 32
  kMisuse,          // a primitive used against its rules, as `detail` says
  kDeadlock,        // all threads wait, and no operation in flight could wake one
};

/// One fault; `pc` are return addresses in the kernel's library. Trivial: it is made on a stack that is then abandoned.
struct Fault {
  FaultKind kind = FaultKind::kOutOfBounds;
  bool write = false;
  std::uintptr_t address = 0;
  std::uint64_t size = 0;
  std::uint32_t block = 0;
  std::uint32_t thread = 0;
  std::uintptr_t pc = 0;
  // The other side of a race or of a divergence; `other_known` says whether the thread is known.
  bool has_other = false;
  bool other_known = false;
  bool other_write = false;
  bool other_in_flight = false;  // an operation that has not yet taken effect
  std::uint32_t other_block = 0;
  std::uint32_t other_thread = 0;
  std::uintptr_t other_pc = 0;        // 0: not known; for a divergence, the thread has ended
  const char* what = "";              // the name of a collective or another primitive
  const char* other_what = "";        // likewise; of a race, what accessed for the thread
  std::array<char, 400> detail = {};  // in words, ends with a zero
};

}  // namespace convtgen::host
