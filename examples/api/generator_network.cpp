// Two layers of an image generator, one after the other, in C++: prepared together, then run for several batches and
// image sizes with no compiling between. generator_network [auto | host | cuda]
#include <cmath>
#include <convtgen/convtgen.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "arrays.h"

namespace {

constexpr const char* kLayers = R"(
defaults { kernel 4; stride 2; padding 1 }
layer grow  { conv_transpose2d 8 -> 4; bias; fuse relu }
layer image { conv_transpose2d 4 -> 3; fuse tanh }
)";

float* filled(const Arrays& arrays, std::int64_t count, float scale) {
  auto* values = static_cast<float*>(arrays_allocate(&arrays, static_cast<std::size_t>(count) * sizeof(float)));
  for (std::int64_t i = 0; i < count; ++i) {
    values[i] = scale * std::sin(static_cast<float>(i));
  }
  return values;
}

}  // namespace

int main(int argc, char** argv) try {
  const convtgen::Layer grow(kLayers, "grow");
  const convtgen::Layer image(kLayers, "image");
  const convtgen::Device device(argc > 1 ? argv[1] : "auto");
  const std::vector<convtgen::Kernel> kernels =
      device.prepare_all({&grow, &image}, 0, [](std::size_t, std::size_t done, std::size_t count, convtgen_status) {
        std::printf("%zu of %zu kernels\n", done, count);
        return true;
      });
  std::printf("on %s, for %s\n", device.name().c_str(), kernels[0].architecture().c_str());

  const Arrays arrays = arrays_open(device.is_host() ? 1 : 0);
  const std::uint64_t compiles = convtgen::counters().compiles;
  bool right = true;
  for (const convtgen::Sizes& sizes : {convtgen::Sizes(1, 4, 4), convtgen::Sizes(2, 3, 5)}) {
    const convtgen_shape first = grow.shape(sizes);
    const convtgen::Sizes hidden_sizes(first.batch, first.out[1], first.out[2]);
    const convtgen_shape second = image.shape(hidden_sizes);
    float* x = filled(arrays, first.x_elements, 1.0F);
    float* hidden = filled(arrays, first.y_elements, 0.0F);
    float* y = filled(arrays, second.y_elements, 9.0F);
    const std::size_t first_bytes = kernels[0].workspace(sizes), second_bytes = kernels[1].workspace(hidden_sizes);
    kernels[0].launch(convtgen::Tensors::forward(x, filled(arrays, first.weight_elements, 0.2F),
                                                 filled(arrays, first.bias_elements, 0.1F), hidden,
                                                 arrays_allocate(&arrays, first_bytes), first_bytes),
                      sizes);
    kernels[1].launch(convtgen::Tensors::forward(hidden, filled(arrays, second.weight_elements, 0.2F), nullptr, y,
                                                 arrays_allocate(&arrays, second_bytes), second_bytes),
                      hidden_sizes);
    arrays_wait(&arrays);
    double sum = 0;
    for (std::int64_t i = 0; i < second.y_elements; ++i) {
      right = right && std::fabs(y[i]) <= 1.0F;  // tanh
      sum += y[i];
    }
    std::printf("%lld images of %lldx%lld, mean %.4f\n", static_cast<long long>(second.batch),
                static_cast<long long>(second.out[1]), static_cast<long long>(second.out[2]),
                sum / static_cast<double>(second.y_elements));
  }
  right = right && convtgen::counters().compiles == compiles;  // open sizes: one kernel a layer
  return right ? 0 : 1;
} catch (const convtgen::Error& error) {
  std::fprintf(stderr, "%s: %s\n", convtgen_status_text(error.code()), error.what());
  return 1;
}
