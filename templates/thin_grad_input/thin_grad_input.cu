// Gradient of the input of layers whose groups have few output channels: FMA arithmetic, windows of grad_y in
// registers, weights in shared memory.
//
// The gradient at (iy, ix) adds up, over output channels and taps (kh, kw), grad_y at iy * stride - padding +
// kh * dilation (and as much along the row) times the tap's weight. A thread makes adjacent columns of some input
// channels. It reads of each row of grad_y the window that its taps reach, by vectors, from global memory: threads of a
// block that read the same find it in L1. With three axes a block is of one plane, and goes over the depth taps.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/call_sizes.h"
#include "device/depth.h"
#include "device/memory.h"
#include "device/template.h"

using P = Parameters;
using Element = P::Element;
using Sum = P::Sum;
using Offset = P::Offset;
using WeightIndex = long long;

// ---- Elements ----
#include "device/store_vector.h"
#include "device/weight_order.h"
#include "thin/window.h"

// Shared memory: the weights of a block's slots of one depth tap. A thread reads those of a kernel row's taps one after
// another; where lanes are along channels, they read adjacent vectors of weights.
constexpr int kTogether = sizeof(Sum) == 4 && P::channels_per_thread % 4 == 0 ? 4 : 1;
constexpr int kRun = P::kernel_w * P::channels_per_thread;
constexpr int kRunPitch = P::lanes_of_channels ? kRun : ceil_div(kRun, 4) * 4;
constexpr int kRunRead = P::taps_w * P::channels_per_thread;
constexpr int kRead = kTogether == 4 || (!P::lanes_of_channels && sizeof(Sum) == 4 && kRunRead >= 4 &&
                                         (kTapTiles == 1 || kRunRead % 4 == 0))
                          ? 4
                          : 1;  // that are read at once
constexpr long long kSharedWeights = static_cast<long long>(P::threads_c) * kGroupOut * P::kernel_h * kRunPitch;
constexpr long long kSharedBytes = sizeof(Sum) * ((kSharedWeights + 3) / 4 * 4);

// How many elements are stored together: of a pixel's channels, or of a row.
constexpr int kStored = P::channels_last ? P::channels_per_thread : P::columns_per_thread;
constexpr bool kAllInside = P::channels_last ? kWholeChannels : kWholeColumns;
constexpr int kElements = 16 / sizeof(Element);
constexpr int kStoreBytes = P::store * static_cast<int>(sizeof(Element));
constexpr int kLoadBytes = P::vector == 1 ? 0 : 16;
constexpr int kAlignment = P::store > 1 && kStoreBytes > kLoadBytes ? kStoreBytes : kLoadBytes;
static_assert(kStored % P::store == 0, "a thread stores whole vectors");

// ---- Weights ----

// Where a weight of a thread's slot lies.
__device__ __forceinline__ int weight_place(const int slot, const int out, const int kh, const int in_run) {
  return P::lanes_of_channels
             ? ((out * P::kernel_h + kh) * (kRun / kTogether) + in_run / kTogether) * (P::threads_c * kTogether) +
                   slot * kTogether + in_run % kTogether
             : ((slot * kGroupOut + out) * P::kernel_h + kh) * kRunPitch + in_run;
}

// Copies the weights of a block's slots to shared memory; zeros where the channels end.
__device__ __forceinline__ void stage_weights(Sum* __restrict__ weights, const Element* __restrict__ weight,
                                              int first_slot, int kd) {
#pragma unroll 4
  for (int i = threadIdx.x; i < P::threads_c * P::channels_per_thread * kGroupOut * kTaps; i += kThreads) {
    const int tap = P::weight_channels_last ? i / kGroupOut % kTaps : i % kTaps;
    const int out = P::weight_channels_last ? i % kGroupOut : i / kTaps % kGroupOut;
    const int channel = i / (kTaps * kGroupOut) % P::channels_per_thread;
    const int slot = i / (kTaps * kGroupOut * P::channels_per_thread);
    const int group = (first_slot + slot) / kSlotsOfGroup;
    const int in = (first_slot + slot) % kSlotsOfGroup * P::channels_per_thread + channel;
    Sum value = 0;
    if ((kWholeSlots || first_slot + slot < kSlots) && (kWholeChannels || in < kGroupIn)) {
      value = widen(weight[depth_weight_offset(static_cast<WeightIndex>(group) * kGroupIn + in, out, kd, tap, kGroupOut,
                                               P::kernel_d, kTaps)]);
    }
    weights[weight_place(slot, out, tap / P::kernel_w, tap % P::kernel_w * P::channels_per_thread + channel)] = value;
  }
}

// ---- Products ----

// One thread's accumulators.
using Accumulators = Sum[P::channels_per_thread][P::columns_per_thread];

// Some taps of a kernel row with one output channel of the window: each element times a weight for each channel.
// `weights` are those of the first tap.
__device__ __forceinline__ void multiply_add(Accumulators& acc, const Sum (&window)[kWindow], const int out,
                                             const Sum* __restrict__ weights) {
  Sum values[kRunRead];
#pragma unroll
  for (int i = 0; i < kRunRead; i += kRead) {
    const Sum* from = weights + (P::lanes_of_channels ? i * P::threads_c : i);
    if (kRead == 4 && (kRunRead % 4 == 0 || i + 4 <= kRunRead)) {
      const float4 vector = *reinterpret_cast<const float4*>(from);
      values[i] = vector.x;
      values[i + 1] = vector.y;
      values[i + 2] = vector.z;
      values[i + 3] = vector.w;
    } else {
#pragma unroll
      for (int k = 0; k < kRead; ++k) {
        if (kRunRead % kRead == 0 || i + k < kRunRead) {
          values[i + k] = from[k];
        }
      }
    }
  }
#pragma unroll
  for (int kw = 0; kw < P::taps_w; ++kw) {
#pragma unroll
    for (int column = 0; column < P::columns_per_thread; ++column) {
      const Sum value = window[kShift + (column * P::stride_w + P::dilation_w * kw) * kPixel + out];
#pragma unroll
      for (int channel = 0; channel < P::channels_per_thread; ++channel) {
        acc[channel][column] = fma(value, values[kw * P::channels_per_thread + channel], acc[channel][column]);
      }
    }
  }
}

// ---- Epilogue ----

// Stores adjacent elements{with count: ; `count` of them are inside}.
__device__ __forceinline__ void store_elements(Element* __restrict__ to, const Sum (&values)[kStored],
                                               const int count) {
#pragma unroll
  for (int i = 0; i < kStored; i += P::store) {
    if (kAllInside || i < count) {
      if constexpr (P::store == 1) {
        to[i] = narrow(values[i]);
      } else if constexpr (P::store == kElements) {
        store_16(to + i, values + i);
      } else {
        store_8(to + i, values + i);
      }
    }
  }
}

// Stores what a thread made. `grad_x` is the first channel of its slot at its first position.
__device__ __forceinline__ void store(const Accumulators& acc, Element* __restrict__ grad_x, const int channels,
                                      const int columns, const long long in_pixels) {
  if (P::channels_last) {
#pragma unroll
    for (int column = 0; column < P::columns_per_thread; ++column) {
      if (kWholeColumns || column < columns) {
        Sum values[kStored];
#pragma unroll
        for (int i = 0; i < kStored; ++i) {
          values[i] = acc[i % P::channels_per_thread][column];
        }
        store_elements(grad_x + static_cast<Offset>(column) * P::x_channels, values, channels);
      }
    }
  } else {
#pragma unroll
    for (int channel = 0; channel < P::channels_per_thread; ++channel) {
      if (kWholeChannels || channel < channels) {
        Sum values[kStored];
#pragma unroll
        for (int i = 0; i < kStored; ++i) {
          values[i] = acc[channel][i % P::columns_per_thread];
        }
        store_elements(grad_x + channel * in_pixels, values, columns);
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, P::blocks_per_sm)
    thin_grad_input(const Element* __restrict__ grad_y, const Element* __restrict__ weight,
                    Element* __restrict__ grad_x, int depth, int height, int width) {
  const int in_d = input_depth(depth);
  const int in_h = input_rows(height);
  const int in_w = input_columns(width);
  const int out_d = output_depth(in_d);
  const int out_h = output_rows(in_h);
  const int out_w = output_columns(in_w);
  const int tiles_y = (in_h + (kTileRows - 1)) / kTileRows;
  const int tiles_x = (in_w + (kTileColumns - 1)) / kTileColumns;

  // The block's place: channels vary fastest, so that blocks which read the same part of grad_y run together.
  const int block = blockIdx.x;
  const int first_slot = block % kSlotTiles * P::threads_c;
  const int tile = block / kSlotTiles;
  const int tile_x = tile % tiles_x;
  const int tile_y = tile / tiles_x % tiles_y;
  const int image = tile / tiles_x / tiles_y / in_d;
  const int iz = tile / tiles_x / tiles_y % in_d;

  // The thread's place in the block.
  const Worker worker = worker_of(threadIdx.x);
  const int slot = first_slot + worker.slot;
  const int group = P::groups == 1 ? 0 : slot / kSlotsOfGroup;
  const int first_in = slot % kSlotsOfGroup * P::channels_per_thread;
  const int iy = tile_y * kTileRows + worker.row;
  const int ix = tile_x * kTileColumns + worker.column;
  const bool works = worker.works && (kWholeSlots || slot < kSlots) && iy < in_h && ix < in_w;

  // Bases are 64-bit; every offset from them fits its type.
  const long long in_pixels = static_cast<long long>(in_h) * in_w * in_d;
  const long long out_pixels = static_cast<long long>(out_h) * out_w * out_d;
  const long long image_channel = static_cast<long long>(image) * P::y_channels;
  const Element* y_group = grad_y + (P::channels_last ? image_channel * out_pixels + group * kGroupOut
                                                      : (image_channel + group * kGroupOut) * out_pixels);
  const Offset row_elements = static_cast<Offset>(out_w) * (P::channels_last ? P::y_channels : 1);
  const Offset row_end = static_cast<Offset>(out_w) * kPixel;
  const Offset first_column = (static_cast<Offset>(ix) * P::stride_w - P::padding_w) * kPixel - kShift;

  Sum* weights = static_cast<Sum*>(shared_memory());
  Accumulators acc = {};
  for (int kd = 0; kd < P::kernel_d; ++kd) {
    const int oz = iz * P::stride_d + (P::dilation_d * kd - P::padding_d);
    if (oz >= 0 && oz < out_d) {
      const Element* y_plane =
          y_group + static_cast<long long>(oz) * out_h * out_w * (P::channels_last ? P::y_channels : 1);
      if (P::kernel_d > 1) {
        __syncthreads();  // all threads have read the weights before
      }
      stage_weights(weights, weight, first_slot, kd);
      __syncthreads();  // the weights are staged
      if (works) {
#pragma unroll 2
        for (int kh = 0; kh < P::kernel_h; ++kh) {
          const int oy = iy * P::stride_h + (P::dilation_h * kh - P::padding_h);
          const bool is_there = oy >= 0 && oy < out_h;
          const Element* row = y_plane + (is_there ? oy * row_elements : 0);
#pragma unroll 1
          for (int out = 0; out < kWindows; ++out) {
#pragma unroll 1
            for (int part = 0; part < kTapTiles; ++part) {
              Sum window[kWindow];
              load_window(window,
                          row + (P::channels_last ? static_cast<Offset>(out) : out * static_cast<Offset>(out_pixels)),
                          first_column + part * (P::dilation_w * P::taps_w * kPixel), is_there ? row_end : 0);
#pragma unroll
              for (int of_pixel = 0; of_pixel < kOuts; ++of_pixel) {
                multiply_add(acc, window, of_pixel,
                             weights + weight_place(worker.slot, out + of_pixel, kh, part * kRunRead));
              }
            }
          }
        }
      }
    }
  }
  if (works) {
    const Offset position = static_cast<Offset>(iy) * in_w + ix;
    Element* x_image = grad_x + static_cast<long long>(image) * P::x_channels * in_pixels +
                       static_cast<long long>(iz) * in_h * in_w * (P::channels_last ? P::x_channels : 1);
    const int channel = group * kGroupIn + first_in;
    store(acc, x_image + (P::channels_last ? position * P::x_channels + channel : channel * in_pixels + position),
          kGroupIn - first_in, in_w - ix, in_pixels);
  }
}
