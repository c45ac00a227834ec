// mbarriers as the other primitives use them.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/device/host/worker.h"

namespace convtgen::host {

/// The mbarrier at a place of the cluster's shared memory, for the current thread. `asynchronous`: copies will report
/// to it, or another block uses it. Errors: no mbarrier is there, or the thread can't know that it was initialised.
[[nodiscard]] std::optional<Fault> check_mbarrier(Worker& worker, const char* what, std::uint32_t place,
                                                  bool asynchronous, std::uintptr_t pc);

/// Where the mbarrier that `barrier` points to lies in the cluster's shared memory, or in block `rank` the one at the
/// same place of its own. Errors: as check_mbarrier(), and a pointer that is misaligned or outside; then nullopt, with
/// the fault in `fault`.
[[nodiscard]] std::optional<std::uint32_t> find_mbarrier(Worker& worker, const char* what, const void* barrier,
                                                         std::uint32_t rank, bool asynchronous, std::uintptr_t pc,
                                                         std::optional<Fault>& fault);

/// A copy that `thread` issued has written `bytes` and reports to an mbarrier. Errors: the mbarrier was invalidated.
[[nodiscard]] std::optional<Fault> complete_bytes(Worker& worker, std::uint32_t place, std::uint32_t bytes,
                                                  std::uint32_t thread, std::uintptr_t pc);

/// An arrival of a thread. It releases the thread's clock to those who wait for the phase. Errors: more than its count.
[[nodiscard]] std::optional<Fault> arrive(Worker& worker, const char* what, std::uint32_t place, const Clock& clock,
                                          std::uint32_t thread, std::uintptr_t pc);

}  // namespace convtgen::host
