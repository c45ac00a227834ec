// The gradient of the bias: sums of grad_y over all positions, by a kernel that adds slices of them and a function that
// adds these in their order.
// Needs `Parameters` with out_channels, channels_last and bias_slices, device/call_sizes.h, device/depth.h
// and device/memory.h; and, above its line, widen() of device/scalar.h or device/element.h.
#pragma once

#include "device/call_sizes.h"
#include "device/depth.h"
#include "device/memory.h"
#include "device/template.h"

constexpr int kBiasThreads = 256;
// Adjacent threads read adjacent memory: channels where these lie innermost, else positions.
constexpr int kBiasChannels = !Parameters::channels_last           ? 1
                              : Parameters::out_channels >= 32 ? 32
                                                                   : 1 << highest_bit(2 * Parameters::out_channels - 1);
constexpr int kBiasPositions = kBiasThreads / kBiasChannels;
constexpr int kBiasTiles = ceil_div(Parameters::out_channels, kBiasChannels);
constexpr int kBiasReads = 8;  // of a thread, that are added before they go to its total
constexpr int kBiasPiece = kBiasReads * kBiasPositions;

// (slice, channel): the sums of the channels over one slice of all positions.
extern "C" __global__ void __launch_bounds__(kBiasThreads)
    sum_channels(const Parameters::Element* __restrict__ grad_y, Parameters::Sum* __restrict__ partial_bias, int batch,
                 int depth, int height, int width) {
  const int out_d = output_depth(input_depth(depth));
  const int out_h = output_rows(input_rows(height));
  const int out_w = output_columns(input_columns(width));
  const long long plane = static_cast<long long>(out_h) * out_w * out_d;
  const long long pieces = (plane + (kBiasPiece - 1)) / kBiasPiece;  // of an image
  const int thread = threadIdx.x;
  const int slice = blockIdx.x / kBiasTiles;
  const int channel = blockIdx.x % kBiasTiles * kBiasChannels + thread % kBiasChannels;
  Parameters::Sum total = 0;
  if (channel < Parameters::out_channels) {
    const long long end = batch * pieces * (slice + 1) / Parameters::bias_slices;
    for (long long piece = batch * pieces * slice / Parameters::bias_slices; piece < end; ++piece) {
      const long long image = piece / pieces;
      const long long first = piece % pieces * kBiasPiece + thread / kBiasChannels;
      Parameters::Sum sum = 0;
#pragma unroll
      for (int i = 0; i < kBiasReads; ++i) {
        const long long position = first + i * kBiasPositions;
        if (position < plane) {
          if (Parameters::channels_last) {
            sum += widen(grad_y[(image * plane + position) * Parameters::out_channels + channel]);
          } else {
            sum += widen(grad_y[(image * Parameters::out_channels + channel) * plane + position]);
          }
        }
      }
      total += sum;
    }
  }
  // The threads of a channel add their totals in a tree.
  Parameters::Sum* totals = static_cast<Parameters::Sum*>(shared_memory());
  totals[thread] = total;
#pragma unroll 1
  for (int step = kBiasThreads / 2; step >= kBiasChannels; step /= 2) {
    __syncthreads();
    if (thread < step) {
      totals[thread] += totals[thread + step];
    }
  }
  if (thread < kBiasChannels && channel < Parameters::out_channels) {
    partial_bias[slice * Parameters::out_channels + channel] = totals[thread];
  }
}

// A channel's sum over all slices.
__device__ __forceinline__ Parameters::Sum channel_sum(const Parameters::Sum* __restrict__ partial_bias, int channel) {
  Parameters::Sum sum = 0;
#pragma unroll 8
  for (int slice = 0; slice < Parameters::bias_slices; ++slice) {
    sum += partial_bias[slice * Parameters::out_channels + channel];
  }
  return sum;
}
