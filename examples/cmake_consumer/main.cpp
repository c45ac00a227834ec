// The last two layers of a decoder, one after the other, with kernels that the build made. Every value is compared with
// the definition. On a GPU the program needs its driver alone; without one the host device of libconvtgen runs the same
// kernels.
#include <decoder.h>  // made by convtgen_add_kernels()

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "../api/arrays.h"

namespace {

void check(int status) {
  if (status != DECODER_OK) {
    std::fprintf(stderr, "%s: %s\n", decoder_error_text(status), decoder_last_error());
    std::exit(1);
  }
}

float* filled(const Arrays& arrays, std::int64_t count, float scale) {
  auto* values = static_cast<float*>(arrays_allocate(&arrays, static_cast<std::size_t>(count) * sizeof(float)));
  for (std::int64_t i = 0; i < count; ++i) {
    values[i] = scale * std::sin(static_cast<float>(i));
  }
  return values;
}

/// The largest difference between y and the definition: kernel 4, stride 2, padding 1, a bias, and an activation.
double largest_error(const decoder_sizes& sizes, const float* x, const float* weight, const float* bias, const float* y,
                     double (*activation)(double)) {
  double worst = 0;
  for (std::int64_t i = 0; i < sizes.y_elements; ++i) {
    const std::int64_t ox = i % sizes.out[2], oy = i / sizes.out[2] % sizes.out[1];
    const std::int64_t co = i / (sizes.out[2] * sizes.out[1]) % sizes.out_channels;
    const std::int64_t n = i / (sizes.out[2] * sizes.out[1] * sizes.out_channels);
    double sum = bias[co];
    for (std::int64_t ci = 0; ci < sizes.in_channels; ++ci) {
      for (std::int64_t iy = 0; iy < sizes.in[1]; ++iy) {
        for (std::int64_t ix = 0; ix < sizes.in[2]; ++ix) {
          const std::int64_t kh = oy - 2 * iy + 1, kw = ox - 2 * ix + 1;  // oy = iy * stride - padding + kh
          if (kh >= 0 && kh < 4 && kw >= 0 && kw < 4) {
            sum += double{x[((n * sizes.in_channels + ci) * sizes.in[1] + iy) * sizes.in[2] + ix]} *
                   double{weight[((ci * sizes.out_channels + co) * 4 + kh) * 4 + kw]};
          }
        }
      }
    }
    worst = std::fmax(worst, std::fabs(y[i] - activation(sum)));
  }
  return worst;
}

}  // namespace

int main() {
  for (const decoder_kernel* const* kernel = decoder_kernels(); *kernel != nullptr; ++kernel) {
    std::printf("%s for %s: %s\n", (*kernel)->name, (*kernel)->architectures, (*kernel)->text);
  }
  check(decoder_prepare());
  std::printf("on %s\n", decoder_uses_host() != 0 ? "the host device" : "the GPU");
  const Arrays arrays = arrays_open(decoder_uses_host());

  // One for both: their calls don't run at the same time.
  const std::size_t workspace_bytes =
      std::max(decoder::up_forward_workspace(2, 3, 5), decoder::image_forward_workspace(2, 6, 10));
  void* workspace = arrays_allocate(&arrays, workspace_bytes);

  double worst = 0;
  for (std::int64_t batch = 1; batch <= 2; ++batch) {
    decoder_sizes up{}, image{};
    check(decoder::up_forward_sizes(batch, 3, 5, &up));
    check(decoder::image_forward_sizes(batch, up.out[1], up.out[2], &image));
    const float* x = filled(arrays, up.x_elements, 1.0F);
    const float* up_weight = filled(arrays, up.weight_elements, 0.5F);
    const float* up_bias = filled(arrays, up.bias_elements, 0.25F);
    const float* image_weight = filled(arrays, image.weight_elements, 0.5F);
    const float* image_bias = filled(arrays, image.bias_elements, 0.25F);
    float* hidden = filled(arrays, up.y_elements, 9.0F);
    float* y = filled(arrays, image.y_elements, 9.0F);

    check(decoder::up_forward(x, up_weight, up_bias, hidden, workspace, workspace_bytes, batch, 3, 5, nullptr));
    check(decoder::image_forward(hidden, image_weight, image_bias, y, workspace, workspace_bytes, batch, up.out[1],
                                 up.out[2], nullptr));
    arrays_wait(&arrays);

    worst = std::fmax(worst, largest_error(up, x, up_weight, up_bias, hidden, [](double v) { return v > 0 ? v : 0; }));
    worst = std::fmax(worst,
                      largest_error(image, hidden, image_weight, image_bias, y, [](double v) { return std::tanh(v); }));
  }
  std::printf("the largest error is %g\n", worst);
  return worst < 1e-4 ? 0 : 1;
}
