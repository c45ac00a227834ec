#include "runtime/device/cuda/cuda_launch.h"

#include <array>

namespace convtgen {

cuda::Status enqueue(const CudaDriver& driver, int capability, const CudaLaunch& launch, void** parameters) {
  const auto blocks = static_cast<unsigned int>(launch.blocks);
  const auto threads = static_cast<unsigned int>(launch.threads);
  const auto shared_bytes = static_cast<unsigned int>(launch.shared_bytes);
  const bool overlaps = launch.overlaps && driver.launches_overlap(capability);
  if (launch.cluster == 1 && !overlaps) {
    return driver.api().launch_kernel(launch.function, blocks, 1, 1, threads, 1, 1, shared_bytes, launch.stream,
                                      parameters, nullptr);
  }
  std::array<cuda::LaunchAttribute, 2> attributes{};
  unsigned int count = 0;
  if (launch.cluster > 1) {
    attributes[count++] = {
        .id = cuda::kLaunchClusterDimension, .value = {static_cast<unsigned int>(launch.cluster), 1, 1}, .rest = {}};
  }
  if (overlaps) {
    attributes[count++] = cuda::kMayOverlap;
  }
  const cuda::LaunchConfig config{.grid = {blocks, 1, 1},
                                  .block = {threads, 1, 1},
                                  .shared_bytes = shared_bytes,
                                  .stream = launch.stream,
                                  .attributes = attributes.data(),
                                  .attribute_count = count};
  return driver.api().launch_kernel_ex(&config, launch.function, parameters, nullptr);
}

}  // namespace convtgen
