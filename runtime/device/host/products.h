// Collectives of a warpgroup: its warps arrive one after the other, and all at the same collectives.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/device/host/worker.h"

namespace convtgen::host {

/// Notes that a warp has arrived at a collective of its warpgroup; `form` is equal for equal operands. `what` must be
/// one pointer for one primitive. Errors: the block ends within the warpgroup, or another of its warps came to
/// something else as its collective of this number.
[[nodiscard]] std::optional<Fault> take_part(Worker& worker, const char* what, std::uint32_t first_thread,
                                             std::uint64_t form);

}  // namespace convtgen::host
