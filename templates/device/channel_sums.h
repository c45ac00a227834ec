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
constexpr int kBiasChannels = !Parameters::channels_last       ? 1
                              : Parameters::out_channels >= 32 ? 32
                                                               : 1 << highest_bit(2 * Parameters::out_channels - 1);
constexpr int kBiasTiles = ceil_div(Parameters::out_channels, kBiasChannels);
constexpr int kBiasReads = 8;  // of a thread, that are added before they go to its total
// Elements of 16 bytes, which threads read at once where grad_y is aligned to them: adjacent channels or positions.
constexpr int kBiasBytes = static_cast<int>(sizeof(Parameters::Element));
constexpr int kBiasVector =
    kBiasBytes == 8 || (Parameters::channels_last && Parameters::out_channels * kBiasBytes % 16 != 0) ? 1
                                                                                                      : 16 / kBiasBytes;
constexpr int kBiasLanes = Parameters::channels_last ? kBiasChannels / kBiasVector : 1;  // that share such a place
constexpr int kBiasTotals = kBiasThreads * (Parameters::channels_last ? kBiasVector : 1);

// Adds the elements of a vector.
__device__ __forceinline__ void add_vector(Parameters::Sum (&sums)[kBiasVector], const uint4& vector) {
  const unsigned int words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int i = 0; i < kBiasVector; ++i) {
    if constexpr (kBiasBytes == 2) {
      sums[i] += widen(static_cast<unsigned short>(words[i / 2] >> i % 2 * 16 & 0xffffu));
    } else if constexpr (kBiasBytes == 4) {
      sums[i] += __uint_as_float(words[i]);
    }
  }
}

// A thread's sums of one slice of all places, from its first channel on. A place is a position, or a vector of adjacent
// ones of NCHW. Threads share the channels of a place, which are so many lanes.
__device__ __forceinline__ void sum_places(Parameters::Sum (&totals)[kBiasVector],
                                           const Parameters::Element* __restrict__ grad_y, const bool by_vectors,
                                           const int lanes, int slice, int channel, const int batch,
                                           const long long plane, int thread) {
  const int step = kBiasThreads / lanes;
  const long long places = by_vectors && !Parameters::channels_last ? plane / kBiasVector : plane;  // of an image
  const long long end = batch * places * (slice + 1) / Parameters::bias_slices;
  long long next = batch * places * slice / Parameters::bias_slices + thread / lanes;
  // Images of NCHW are not adjacent: the image of a place and the place there, and how both move on.
  long long image = Parameters::channels_last ? 0 : next / places;
  long long place = Parameters::channels_last ? next : next % places;
  const long long step_images = Parameters::channels_last ? 0 : step / places;
  const long long step_places = Parameters::channels_last ? step : step % places;
  for (; next < end; next += kBiasReads * step) {
    uint4 vectors[kBiasReads];
    Parameters::Sum values[kBiasReads];
#pragma unroll
    for (int i = 0; i < kBiasReads; ++i) {
      vectors[i] = make_uint4(0, 0, 0, 0);
      values[i] = 0;
      if (next + i * step < end) {
        const Parameters::Element* from =
            grad_y + (Parameters::channels_last ? place * Parameters::out_channels + channel
                                                : (image * Parameters::out_channels + channel) * plane +
                                                      place * (by_vectors ? kBiasVector : 1));
        if (by_vectors) {
          vectors[i] = load_constant_16(from);
        } else {
          values[i] = widen(*from);
        }
      }
      place += step_places;
      image += step_images;
      if (!Parameters::channels_last && place >= places) {
        place -= places;
        ++image;
      }
    }
    Parameters::Sum sums[kBiasVector] = {};
#pragma unroll
    for (int i = 0; i < kBiasReads; ++i) {
      if (by_vectors) {
        add_vector(sums, vectors[i]);
      } else {
        sums[0] += values[i];
      }
    }
#pragma unroll
    for (int i = 0; i < kBiasVector; ++i) {
      totals[i] += sums[i];
    }
  }
}

// (slice, channel): the sums of the channels over one slice of all positions.
extern "C" __global__ void __launch_bounds__(kBiasThreads)
    sum_channels(const Parameters::Element* __restrict__ grad_y, Parameters::Sum* __restrict__ partial_bias, int batch,
                 int depth, int height, int width) {
  const int out_d = output_depth(input_depth(depth));
  const int out_h = output_rows(input_rows(height));
  const int out_w = output_columns(input_columns(width));
  const long long plane = static_cast<long long>(out_h) * out_w * out_d;
  const int thread = threadIdx.x;
  const int slice = blockIdx.x / kBiasTiles;
  const int first_channel = blockIdx.x % kBiasTiles * kBiasChannels;
  const bool by_vectors = kBiasVector > 1 && reinterpret_cast<unsigned long long>(grad_y) % 16 == 0 &&
                          (Parameters::channels_last || plane % kBiasVector == 0);
  Parameters::Sum totals[kBiasVector] = {};
  if (by_vectors) {
    const int channel = first_channel + thread % kBiasLanes * (kBiasChannels / kBiasLanes);
    if (channel < Parameters::out_channels) {
      sum_places(totals, grad_y, true, kBiasLanes, slice, channel, batch, plane, thread);
    }
  } else if (first_channel + thread % kBiasChannels < Parameters::out_channels) {
    sum_places(totals, grad_y, false, kBiasChannels, slice, first_channel + thread % kBiasChannels, batch, plane,
               thread);
  }
  // The threads of a channel add their totals in a tree.
  Parameters::Sum* shared = static_cast<Parameters::Sum*>(shared_memory());
  const int kept = by_vectors && Parameters::channels_last ? kBiasVector : 1;  // of a thread
#pragma unroll
  for (int i = 1; i < kBiasVector; ++i) {
    if (kept > 1) {
      shared[thread * kept + i] = totals[i];
    } else {
      totals[0] += totals[i];
    }
  }
  shared[thread * kept] = totals[0];
#pragma unroll 1
  for (int half = kBiasThreads * kept / 2; half >= kBiasChannels; half /= 2) {
    __syncthreads();
    for (int i = thread; i < half; i += kBiasThreads) {
      shared[i] += shared[i + half];
    }
  }
  if (thread < kBiasChannels && first_channel + thread < Parameters::out_channels) {
    partial_bias[slice * Parameters::out_channels + first_channel + thread] = shared[thread];
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
