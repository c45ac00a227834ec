// Messages for faults.
#pragma once

#include <span>
#include <string>

#include "runtime/device/host/fault.h"
#include "runtime/device/host/library.h"
#include "runtime/device/host/worker.h"

namespace convtgen::host {

/// One message: what, where in memory, which thread, which line of the emitted source. `worker` has the shared
/// memory that the fault is about, `slots` are the launch's arguments.
[[nodiscard]] std::string describe(const Fault& fault, const Library& library, const LaunchContext& launch,
                                   const Worker& worker, std::span<const unsigned long long> slots,
                                   const std::string& symbol);

}  // namespace convtgen::host
