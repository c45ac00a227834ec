// A GPU as a Device, through the CUDA driver.
#pragma once

#include <memory>

#include "generator/support/error.h"
#include "runtime/device/device.h"

namespace convtgen {

/// Opens a GPU by its ordinal in the driver's order. Its kernels run on a stream of its own in the primary context.
/// Errors: no driver, no such GPU, or one that no known architecture's kernels run on.
[[nodiscard]] Result<std::unique_ptr<Device>> open_cuda_device(int ordinal);

}  // namespace convtgen
