// The gradient of the bias: sums of grad_y over all positions, by a kernel that adds slices of them and a function that
// adds these in their order.
// Needs `Parameters` with out_channels, y_channels, channels_last and bias_slices, device/call_sizes.h, device/depth.h
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
    kBiasBytes == 8 || (Parameters::channels_last && (Parameters::out_channels * kBiasBytes % 16 != 0 ||
                                                      Parameters::y_channels * kBiasBytes % 16 != 0))
        ? 1
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

// A thread's way over the places of one slice. A place is a position, or a vector of adjacent ones of NCHW. Images of
// NCHW are not adjacent: the image of a place and the place there, and how both move on. Threads share the channels of
// a place, which are so many lanes.
struct BiasPlaces {
  long long next;
  long long end;
  long long image;
  long long place;
  long long in_image;
  int step;
};
__device__ __forceinline__ BiasPlaces places_of_slice(int slice, const int lanes, const int batch,
                                                      const long long in_image, int thread) {
  BiasPlaces places;
  places.next = batch * in_image * slice / Parameters::bias_slices + thread / lanes;
  places.end = batch * in_image * (slice + 1) / Parameters::bias_slices;
  places.image = Parameters::channels_last ? 0 : places.next / in_image;
  places.place = Parameters::channels_last ? places.next : places.next % in_image;
  places.in_image = in_image;
  places.step = kBiasThreads / lanes;
  return places;
}
__device__ __forceinline__ void next_place(BiasPlaces& places, const long long step_images,
                                           const long long step_places) {
  places.next += places.step;
  places.place += step_places;
  if (!Parameters::channels_last) {
    places.image += step_images;
    if (places.place >= places.in_image) {
      places.place -= places.in_image;
      ++places.image;
    }
  }
}

// The first element of a place, from the thread's first channel on.
__device__ __forceinline__ const Parameters::Element* at_place(const Parameters::Element* __restrict__ grad_y,
                                                               const BiasPlaces& places, const int vector,
                                                               int channel) {
  return grad_y +
         (Parameters::channels_last
              ? places.place * Parameters::y_channels + channel
              : (places.image * Parameters::y_channels + channel) * (places.in_image * vector) + places.place * vector);
}

// A thread's sums of one slice: of a channel, or of vectors.
__device__ __forceinline__ Parameters::Sum sum_elements(const Parameters::Element* __restrict__ grad_y,
                                                        BiasPlaces places, int channel) {
  const long long step_images = Parameters::channels_last ? 0 : places.step / places.in_image;
  const long long step_places = Parameters::channels_last ? places.step : places.step % places.in_image;
  Parameters::Sum total = 0;
  while (places.next < places.end) {
    Parameters::Sum sum = 0;
#pragma unroll
    for (int i = 0; i < kBiasReads; ++i) {
      if (places.next < places.end) {
        sum += widen(*at_place(grad_y, places, 1, channel));
      }
      next_place(places, step_images, step_places);
    }
    total += sum;
  }
  return total;
}
__device__ __forceinline__ void sum_vectors(Parameters::Sum (&totals)[kBiasVector],
                                            const Parameters::Element* __restrict__ grad_y, BiasPlaces places,
                                            int channel) {
  const long long step_images = Parameters::channels_last ? 0 : places.step / places.in_image;
  const long long step_places = Parameters::channels_last ? places.step : places.step % places.in_image;
  while (places.next < places.end) {
    uint4 vectors[kBiasReads];
#pragma unroll
    for (int i = 0; i < kBiasReads; ++i) {
      vectors[i] = make_uint4(0, 0, 0, 0);
      if (places.next < places.end) {
        vectors[i] = load_constant_16(at_place(grad_y, places, Parameters::channels_last ? 1 : kBiasVector, channel));
      }
      next_place(places, step_images, step_places);
    }
    Parameters::Sum sums[kBiasVector] = {};
#pragma unroll
    for (int i = 0; i < kBiasReads; ++i) {
      add_vector(sums, vectors[i]);
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
      const long long in_image = Parameters::channels_last ? plane : plane / kBiasVector;
      sum_vectors(totals, grad_y, places_of_slice(slice, kBiasLanes, batch, in_image, thread), channel);
    }
  } else {
    const int channel = first_channel + thread % kBiasChannels;
    if (channel < Parameters::out_channels) {
      totals[0] = sum_elements(grad_y, places_of_slice(slice, kBiasChannels, batch, plane, thread), channel);
    }
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
