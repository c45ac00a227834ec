// Forward transposed convolution by three kernels: the weights are packed, blocks sum the products of a slice of the input
// channels, and the sums of all slices are added in their order.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/barrier.h"
#include "device/grid.h"
#include "device/memory.h"
#include "device/template.h"
#include "device/tensor_copy.h"

using P = Parameters;
using WeightIndex = int;

#include "device/weight_order.h"

constexpr int kTaps = P::kernel_h * P::kernel_w;
constexpr int kSliceRows = P::slice * kTaps;
constexpr int kSlices = P::in_channels / P::slice;

static_assert(P::in_channels % P::slice == 0, "slices are whole");
static_assert(P::columns % 4 == 0, "rows of packed weights are multiples of 16 bytes");

// The packed weights have a row for each input channel and tap, with the output channels side by side.
extern "C" __global__ void __launch_bounds__(P::threads)
    pack_weights(const float* __restrict__ weight, float* __restrict__ packed) {
  if constexpr (P::mapped) {
    grid_dependents_launch();
  }
  const int i = blockIdx.x * P::threads + threadIdx.x;
  const int row = i / P::columns;
  const int channel = i % P::columns;
  if (row < P::in_channels * kTaps) {
    float value = 0;
    if (channel < P::out_channels) {
      value = weight[weight_offset(row / kTaps, channel, row % kTaps, P::out_channels, kTaps)];
    }
    packed[i] = value;
  }
}

// A thread makes the sums of one output pixel over one slice: (slice, pixel, column).
extern "C" __global__ void __launch_bounds__(P::threads)
    partial_sums(const float* __restrict__ x, const float* packed, __grid_constant__ const TensorMap rows,
                 float* __restrict__ partial, int batch, int height, int width) {
  unsigned char* base = shared_align(shared_memory(), 128);
  float* weights = reinterpret_cast<float*>(base);
  const int in_h = P::height >= 0 ? P::height : height;
  const int in_w = P::width >= 0 ? P::width : width;
  const int out_h =
      (in_h - 1) * P::stride_h + (P::dilation_h * (P::kernel_h - 1) + P::output_padding_h + 1 - 2 * P::padding_h);
  const int out_w =
      (in_w - 1) * P::stride_w + (P::dilation_w * (P::kernel_w - 1) + P::output_padding_w + 1 - 2 * P::padding_w);
  const int slice = blockIdx.x % kSlices;
  if constexpr (P::mapped) {
    unsigned long long* full = reinterpret_cast<unsigned long long*>(base + kSliceRows * P::columns * 4);
    grid_dependents_launch();
    grid_dependency_wait();
    if (threadIdx.x == 0) {
      mbarrier_init(full, 1);
      fence_mbarrier_init();
      mbarrier_arrive_expect(full, kSliceRows * P::columns * 4);
      tensor_load_2d(weights, rows, full, 0, slice * kSliceRows);
    }
    __syncthreads();
    mbarrier_wait(full, 0);
  } else {
    for (int i = threadIdx.x; i < kSliceRows * P::columns; i += P::threads) {
      weights[i] = packed[slice * kSliceRows * P::columns + i];
    }
    __syncthreads();
  }
  const long long pixels = static_cast<long long>(batch) * out_h * out_w;
  const long long pixel = static_cast<long long>(blockIdx.x / kSlices) * P::threads + threadIdx.x;
  if (pixel < pixels) {
    const int column = static_cast<int>(pixel % out_w);
    const int row = static_cast<int>(pixel / out_w % out_h);
    const long long image = pixel / out_w / out_h;
    float sums[P::columns];
    CONVTGEN_UNROLL
    for (int i = 0; i < P::columns; ++i) {
      sums[i] = 0;
    }
    CONVTGEN_UNROLL
    for (int kh = 0; kh < P::kernel_h; ++kh) {
      CONVTGEN_UNROLL
      for (int kw = 0; kw < P::kernel_w; ++kw) {
        // Tap ({kh}, {kw}).
        const int from_h = row + (P::padding_h - P::dilation_h * kh);
        const int from_w = column + (P::padding_w - P::dilation_w * kw);
        if (from_h >= 0 && from_h % P::stride_h == 0 && from_h / P::stride_h < in_h && from_w >= 0 &&
            from_w % P::stride_w == 0 && from_w / P::stride_w < in_w) {
#pragma unroll 1
          for (int c = 0; c < P::slice; ++c) {
            const long long plane = image * P::in_channels + slice * P::slice + c;
            const float value = x[(plane * in_h + from_h / P::stride_h) * in_w + from_w / P::stride_w];
            CONVTGEN_UNROLL
            for (int i = 0; i < P::columns; ++i) {
              sums[i] += value * weights[(c * kTaps + (kh * P::kernel_w + kw)) * P::columns + i];
            }
          }
        }
      }
    }
    CONVTGEN_UNROLL
    for (int i = 0; i < P::columns; ++i) {
      partial[(slice * pixels + pixel) * P::columns + i] = sums[i];
    }
  }
}

// A thread makes one output.
extern "C" __global__ void __launch_bounds__(P::threads)
    split(const float* __restrict__ partial, const float* __restrict__ bias, float* __restrict__ y, int batch,
          int height, int width) {
  const int in_h = P::height >= 0 ? P::height : height;
  const int in_w = P::width >= 0 ? P::width : width;
  const int out_h =
      (in_h - 1) * P::stride_h + (P::dilation_h * (P::kernel_h - 1) + P::output_padding_h + 1 - 2 * P::padding_h);
  const int out_w =
      (in_w - 1) * P::stride_w + (P::dilation_w * (P::kernel_w - 1) + P::output_padding_w + 1 - 2 * P::padding_w);
  const long long plane = static_cast<long long>(out_h) * out_w;
  const long long pixels = batch * plane;
  const long long i = static_cast<long long>(blockIdx.x) * P::threads + threadIdx.x;
  if constexpr (P::mapped) {
    grid_dependency_wait();
  }
  if (i < pixels * P::out_channels) {
    const int channel = static_cast<int>(i / plane % P::out_channels);
    const long long pixel = i / plane / P::out_channels * plane + i % plane;
    float sum = 0;
    if (P::has_bias) {
      sum = bias[channel];
    }
#pragma unroll 1
    for (int slice = 0; slice < kSlices; ++slice) {
      sum += partial[(slice * pixels + pixel) * P::columns + channel];
    }
    y[i] = sum;
  }
}
