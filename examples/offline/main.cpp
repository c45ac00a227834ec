// A layer whose kernel was made beforehand, on a GPU, with nothing but its driver: no CUDA toolkit, no NVRTC, no
// convtgen. Where no GPU is, it lists what it has.
#include <offline.h>

#include <cmath>
#include <cstdint>
#include <cstdio>

#include "../api/arrays.h"

int main() {
  for (const offline_kernel* const* kernel = offline_kernels(); *kernel != nullptr; ++kernel) {
    std::printf("%s for %s: %s\n", (*kernel)->name, (*kernel)->architectures, (*kernel)->text);
  }
  const int ready = offline_prepare();
  if (ready == OFFLINE_NO_DEVICE) {
    std::printf("not run: %s\n", offline_last_error());
    return 0;
  }
  if (ready != OFFLINE_OK) {
    std::fprintf(stderr, "%s: %s\n", offline_error_text(ready), offline_last_error());
    return 1;
  }

  const Arrays arrays = arrays_open(0);
  offline_sizes sizes{};
  offline::up_forward_sizes(&sizes);
  auto allocate = [&](std::int64_t count) {
    return static_cast<float*>(arrays_allocate(&arrays, static_cast<std::size_t>(count) * sizeof(float)));
  };
  float *x = allocate(sizes.x_elements), *weight = allocate(sizes.weight_elements), *y = allocate(sizes.y_elements);
  for (std::int64_t i = 0; i < sizes.x_elements; ++i) {
    x[i] = 1;
  }
  for (std::int64_t i = 0; i < sizes.weight_elements; ++i) {
    weight[i] = 0.25F;
  }
  const std::size_t workspace_bytes = offline::up_forward_workspace();
  void* workspace = arrays_allocate(&arrays, workspace_bytes);
  if (const int status = offline::up_forward(x, weight, y, workspace, workspace_bytes, nullptr); status != OFFLINE_OK) {
    std::fprintf(stderr, "%s: %s\n", offline_error_text(status), offline_last_error());
    return 1;
  }
  arrays_wait(&arrays);
  // Away from the edges, each output is the sum of 2x2 taps of 8 channels.
  const float inside = y[5 * sizes.out[2] + 5];
  std::printf("one output of %lldx%lld: %g, expected 8\n", static_cast<long long>(sizes.out[1]),
              static_cast<long long>(sizes.out[2]), inside);
  return inside == 8.0F ? 0 : 1;
}
