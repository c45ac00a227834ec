// A layer whose kernel reads packed weights, with both kernels written by hand: small enough to be followed by eye.
#pragma once

#include <gtest/gtest.h>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/plan/launch_plan.h"
#include "generator/specializer/kernel_source.h"

namespace convtgen::testing {

struct PackedLayer {
  Problem problem;
  Plan plan;  // whose grid is as good as any
  KernelSource source;
};

/// 3 -> 5 channels by a kernel of one tap. The packed weights are (5, 4), the last of each four a zero: 80 bytes.
inline PackedLayer packed_layer() {
  PackedLayer layer;
  layer.problem = {parse_layer("conv_transpose2d 3 -> 5; kernel 1; bias").value(), Direction::kForward,
                   known_targets().front()};
  layer.plan = plan(layer.problem).value().front();
  layer.source.text = R"(
extern "C" __global__ void __launch_bounds__(16) pack_weights(const float* __restrict__ weight, float* __restrict__ packed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 20) {
    packed[i] = i % 4 < 3 ? weight[i % 4 * 5 + i / 4] : 0.0f;
  }
}

extern "C" __global__ void __launch_bounds__(64) convolve(const float* __restrict__ x, const float* __restrict__ packed, const float* __restrict__ bias, float* __restrict__ y, int batch, int height, int width) {
  const int plane = height * width;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < batch * 5 * plane; i += gridDim.x * blockDim.x) {
    const int channel = i / plane % 5;
    const int image = i / plane / 5;
    float sum = bias[channel];
    for (int from = 0; from < 3; ++from) {
      sum = fmaf(x[(image * 3 + from) * plane + i % plane], packed[channel * 4 + from], sum);
    }
    y[i] = sum + packed[channel * 4 + 3];
  }
}
)";
  layer.source.symbol = "convolve";
  Recipe& recipe = layer.source.recipe;
  recipe.tensors = tensors_of(layer.problem.layer, Direction::kForward, 0);
  recipe.regions = {
      {.name = "packed", .what = "a packed copy of the weights", .bytes = {.constant = 80}, .kept = true}};
  layer.plan.launch.regions = recipe.regions;
  recipe.kernels = {{.symbol = "pack_weights",
                     .threads = 16,
                     .parameters = {{"weight", "const float*"}, {"packed", "float*"}},
                     .grid = {.axes = {{{.constant = 20}, 16}}},
                     .once = true},
                    {.symbol = "convolve",
                     .threads = 64,
                     .parameters = {{"x", "const float*"},
                                    {"packed", "const float*"},
                                    {"bias", "const float*"},
                                    {"y", "float*"},
                                    {"batch", "int"},
                                    {"height", "int"},
                                    {"width", "int"}},
                     .grid = layer.plan.launch.main().grid}};
  EXPECT_TRUE(bind_arguments(recipe));
  return layer;
}

}  // namespace convtgen::testing
