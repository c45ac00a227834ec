// Steps of gradient descent for one layer, in C++: forward, then the gradients of the weights, the bias and the input.
// All results of the first step are compared with their definitions, and each step has to make the loss smaller.
// training_step [auto | host | cuda]
#include <algorithm>
#include <cmath>
#include <convtgen/convtgen.hpp>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "arrays.h"

namespace {

constexpr std::int64_t kKernel = 4, kStride = 2, kPadding = 1;
constexpr const char* kLayer =
    "conv_transpose2d 8 -> 6; kernel 4; stride 2; padding 1; bias; directions forward, grad_input, grad_weight";

/// The tensors of the layer and their gradients.
struct Tensors {
  convtgen_shape shape;
  float *x, *weight, *bias, *y;
  float *grad_x, *grad_weight, *grad_bias, *grad_y;
};

float* filled(const Arrays& arrays, std::int64_t count, float scale) {
  auto* values = static_cast<float*>(arrays_allocate(&arrays, static_cast<std::size_t>(count) * sizeof(float)));
  for (std::int64_t i = 0; i < count; ++i) {
    values[i] = scale * std::sin(static_cast<float>(i));
  }
  return values;
}

/// Half the square of what y lacks of the target, whose gradient, y - target, is grad_y.
double find_loss(const Tensors& tensors, const float* target) {
  double loss = 0;
  for (std::int64_t i = 0; i < tensors.shape.y_elements; ++i) {
    tensors.grad_y[i] = tensors.y[i] - target[i];
    loss += 0.5 * tensors.grad_y[i] * tensors.grad_y[i];
  }
  return loss;
}

double largest_error(const std::vector<double>& want, const float* got) {
  double error = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    error = std::max(error, std::fabs(got[i] - want[i]));
  }
  return error;
}

/// The definitions, term by term. Each tap joins one element of x with one of y, and adds a product to all three.
double largest_error(const Tensors& t) {
  const convtgen_shape& s = t.shape;
  std::vector<double> y(s.y_elements), grad_x(s.x_elements), grad_weight(s.weight_elements), grad_bias(s.bias_elements);
  const std::int64_t in = s.in[1] * s.in[2], out = s.out[1] * s.out[2];
  for (std::int64_t i = 0; i < s.y_elements; ++i) {
    const std::int64_t co = i / out % s.out_channels;
    y[i] += t.bias[co];
    grad_bias[co] += t.grad_y[i];
  }
  for (std::int64_t ix = 0; ix < s.x_elements; ++ix) {
    const std::int64_t n = ix / in / s.in_channels, ci = ix / in % s.in_channels;
    for (std::int64_t iw = 0; iw < s.out_channels * kKernel * kKernel; ++iw) {
      const std::int64_t co = iw / (kKernel * kKernel), kh = iw / kKernel % kKernel, kw = iw % kKernel;
      const std::int64_t row = ix % in / s.in[2] * kStride - kPadding + kh;
      const std::int64_t column = ix % s.in[2] * kStride - kPadding + kw;
      if (row < 0 || row >= s.out[1] || column < 0 || column >= s.out[2]) {
        continue;
      }
      const std::int64_t iy = ((n * s.out_channels + co) * s.out[1] + row) * s.out[2] + column;
      const std::int64_t weight = ci * s.out_channels * kKernel * kKernel + iw;
      y[iy] += static_cast<double>(t.x[ix]) * t.weight[weight];
      grad_x[ix] += static_cast<double>(t.grad_y[iy]) * t.weight[weight];
      grad_weight[weight] += static_cast<double>(t.x[ix]) * t.grad_y[iy];
    }
  }
  return std::max({largest_error(y, t.y), largest_error(grad_x, t.grad_x), largest_error(grad_weight, t.grad_weight),
                   largest_error(grad_bias, t.grad_bias)});
}

}  // namespace

int main(int argc, char** argv) try {
  const convtgen::Layer layer(kLayer);
  const convtgen::Device device(argc > 1 ? argv[1] : "auto");
  const std::vector<convtgen::Kernel> kernels =
      device.prepare_all({&layer, &layer, &layer}, {CONVTGEN_FORWARD, CONVTGEN_GRAD_WEIGHT, CONVTGEN_GRAD_INPUT});
  const convtgen::Kernel &forward = kernels[0], &grad_weight = kernels[1], &grad_input = kernels[2];
  std::printf("%s\non %s\n", layer.text().c_str(), device.name().c_str());

  const Arrays arrays = arrays_open(device.is_host() ? 1 : 0);
  const convtgen::Sizes sizes(2, 5, 7);  // of x, in all directions
  Tensors t{};
  t.shape = layer.shape(sizes);
  t.x = filled(arrays, t.shape.x_elements, 1.0F);
  t.weight = filled(arrays, t.shape.weight_elements, 0.2F);
  t.bias = filled(arrays, t.shape.bias_elements, 0.1F);
  t.y = filled(arrays, t.shape.y_elements, 0.0F);
  t.grad_x = filled(arrays, t.shape.x_elements, 9.0F);
  t.grad_weight = filled(arrays, t.shape.weight_elements, 9.0F);
  t.grad_bias = filled(arrays, t.shape.bias_elements, 9.0F);
  t.grad_y = filled(arrays, t.shape.y_elements, 0.0F);
  const float* target = filled(arrays, t.shape.y_elements, 2.0F);
  // One workspace, as large as the largest of the three needs: the calls run one after the other.
  const std::size_t bytes =
      std::max({forward.workspace(sizes), grad_weight.workspace(sizes), grad_input.workspace(sizes)});
  void* workspace = arrays_allocate(&arrays, bytes);

  constexpr int kSteps = 4;
  constexpr float kRate = 1e-3F;
  double worst = 0, loss = INFINITY;
  bool falls = true;
  for (int step = 0; step < kSteps; ++step) {
    forward.launch(convtgen::Tensors::forward(t.x, t.weight, t.bias, t.y, workspace, bytes), sizes);
    arrays_wait(&arrays);
    const double now = find_loss(t, target);
    std::printf("loss %.4f\n", now);
    falls = falls && now < loss;
    loss = now;
    // grad_bias comes with grad_weight. grad_x is the grad_y of the layer before.
    grad_weight.launch(convtgen::Tensors::for_grad_weight(t.x, t.grad_y, t.grad_weight, t.grad_bias, workspace, bytes),
                       sizes);
    grad_input.launch(convtgen::Tensors::for_grad_input(t.grad_y, t.weight, t.grad_x, workspace, bytes), sizes);
    arrays_wait(&arrays);
    if (step == 0) {
      worst = largest_error(t);
      std::printf("the largest error of y, grad_x, grad_weight and grad_bias is %g\n", worst);
    }
    for (std::int64_t i = 0; i < t.shape.weight_elements; ++i) {
      t.weight[i] -= kRate * t.grad_weight[i];
    }
    for (std::int64_t i = 0; i < t.shape.bias_elements; ++i) {
      t.bias[i] -= kRate * t.grad_bias[i];
    }
  }
  return falls && worst < 1e-4 ? 0 : 1;
} catch (const convtgen::Error& error) {
  std::fprintf(stderr, "%s: %s\n", convtgen_status_text(error.code()), error.what());
  return 1;
}
