// Runs the kernel where no GPU is.
#include <hosted.h>

#include <cstdio>

int main() {
  const float x[1] = {2}, weight[4] = {1, 2, 3, 4};
  float y[4] = {};
  if (hosted_use_host(1) != HOSTED_OK || hosted::up_forward(x, weight, y, nullptr, 0, nullptr) != HOSTED_OK) {
    std::printf("%s\n", hosted_last_error());
    return 1;
  }
  std::printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
  return 0;
}
