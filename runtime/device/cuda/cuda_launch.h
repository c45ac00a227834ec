// The one place that launches kernels on a GPU.
#pragma once

#include <cstdint>

#include "runtime/device/cuda/driver.h"

namespace convtgen {

struct CudaLaunch {
  cuda::FunctionHandle function = nullptr;
  std::int64_t blocks = 0;  // at least one; of a 1-D grid
  int threads = 0;
  int cluster = 1;  // 1 if the kernel has __cluster_dims__
  std::int64_t shared_bytes = 0;
  bool overlaps = false;  // may begin before the previous launch has ended; the kernel itself waits for it
  cuda::StreamHandle stream = nullptr;
};

/// Enqueues it in the current context of a GPU of this compute capability. `parameters` has a pointer for each of the
/// kernel's parameters, from which the driver reads as many bytes as the parameter has. No allocation.
[[nodiscard]] cuda::Status enqueue(const CudaDriver& driver, int capability, const CudaLaunch& launch,
                                   void** parameters);

}  // namespace convtgen
