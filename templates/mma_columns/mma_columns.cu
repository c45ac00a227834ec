// Forward transposed convolution of fp32 on tensor cores (mma.sync), for few output channels in NCHW: the columns of a
// product are taps.
//
// M is the pixels of an image, K the input channels, N the taps of all output channels. So each pixel is read once,
// whatever the kernel and its stride, and no operand is shifted. What a pixel gives each tap goes to the workspace;
// another kernel adds to each output the products of its taps, in their order.
//
// Values are split into two of tf32, which have the exponents of fp32 and so need no scale: high * high goes to one set
// of accumulators, high * low and low * high to another. Tensor cores truncate what they add, so high products are
// promoted to fp32 totals after each stage.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/async_copy.h"
#include "device/call_sizes.h"
#include "device/memory.h"
#include "device/mma.h"
#include "device/template.h"
#include "layout.h"

using WeightIndex = long long;

#include "device/weight_order.h"

// ---- Elements ----

// A value as the sum of two that products of tf32 read: the 11 high bits, and the rest, rounded to as many. Products
// ignore the 13 low bits of a word. An infinity is infinite in `high`, a NaN is NaN.
struct Split {
  unsigned int high;
  unsigned int low;
};
__device__ __forceinline__ Split split(float value) {
  const unsigned int high = __float_as_uint(value) & 0xffffe000u;
  return {high, __float_as_uint(value - __uint_as_float(high)) + 0x1000u};
}

#include "device/finite.h"

// ---- Packing ----

// The weight of an input channel and a column, zero beyond them.
__device__ inline float weight_at(const Element* __restrict__ weight, int ci, int column) {
  return (P::in_channels % P::block_k == 0 || ci < P::in_channels) && (kColumns % P::block_n == 0 || column < kColumns)
             ? weight[weight_offset(static_cast<WeightIndex>(ci), column / kTaps, column % kTaps, P::out_channels,
                                    kTaps)]
             : 0;
}

// Packs the weights as blocks take them: for each tile of columns and k-block, by k-steps, eight columns and lanes. A
// thread packs what a lane holds of a k-step and eight columns.
extern "C" __global__ void __launch_bounds__(kPackers)
    pack_weights(const Element* __restrict__ weight, unsigned char* __restrict__ packed) {
  const long long i = static_cast<long long>(blockIdx.x) * kPackers + threadIdx.x;
  const int lane = static_cast<int>(i % 32);
  const int eight = static_cast<int>(i / 32 % (P::block_n / 8));
  const int k_step = static_cast<int>(i / (P::block_n * 4) % (kKBlocks * kKSteps));
  const int n_tile = static_cast<int>(i / (P::block_n * 4) / (kKBlocks * kKSteps));
  const int column = n_tile * P::block_n + eight * 8 + lane / 4;
  const int ci = k_step * kInstructionK + lane % 4;
  const Split first = split(weight_at(weight, ci, column));
  const Split next = split(weight_at(weight, ci + 4, column));
  reinterpret_cast<uint4*>(packed)[i] = make_uint4(first.high, next.high, first.low, next.low);
}

// ---- Staging ----

// What a thread copies of each stage: a unit of a channel's row, and the same of channels at a distance.
struct Place {
  const Element* from;  // in the first k-block
  int channel;
  int to;  // in a stage, in bytes
  bool is_pixel;
};

__device__ __forceinline__ void copy_unit(unsigned char* to, const Element* from, bool any) {
  if (P::copy_bytes == 16) {
    async_copy_16(to, from, any ? 16 : 0);
  } else {
    async_copy_4(to, from, any ? 4 : 0);
  }
}

// Issues the thread's copies of a stage.
__device__ __forceinline__ void stage_k_block(unsigned char* to, const Place& place, const unsigned char* weights,
                                              int k_block, long long plane, int thread) {
#pragma unroll
  for (int i = 0; i < kCopies; ++i) {
    const int ci = k_block * P::block_k + i * kChannelStep;
    copy_unit(to + place.to + i * (kChannelStep * kRowPitch * 4), place.from + ci * plane,
              place.is_pixel && (P::in_channels % P::block_k == 0 || ci + place.channel < P::in_channels));
  }
#pragma unroll
  for (int i = 0; i < kWeightCopies; ++i) {
    const int at = (i * kThreads + thread) * 16;
    async_copy_16(to + kInputBytes + at, weights + static_cast<long long>(k_block) * kKBlockWeightBytes + at, 16);
  }
}

// ---- Products ----

// One thread's accumulators: of each tile of 16 pixels and 8 columns.
using Accumulators = float[kWarpTiles][P::block_n / 8][4];

// The products of a stage. `pixels` is the lane's first pixel of its first channel, `weights` the lane's.
__device__ __forceinline__ void multiply_stage(Accumulators& high, Accumulators& low, const float* pixels,
                                               const unsigned char* weights) {
#pragma unroll
  for (int k_step = 0; k_step < kKSteps; ++k_step) {
    unsigned int a[kWarpTiles][4];
    unsigned int rest[kWarpTiles][4];
#pragma unroll
    for (int tile = 0; tile < kWarpTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const Split parts = split(pixels[(k_step * kInstructionK + i / 2 * 4) * kRowPitch + tile * 16 + i % 2 * 8]);
        a[tile][i] = parts.high;
        rest[tile][i] = parts.low;
      }
    }
#pragma unroll
    for (int eight = 0; eight < P::block_n / 8; ++eight) {
      const uint4 words = *reinterpret_cast<const uint4*>(weights + k_step * kStepBytes + eight * kFragmentBytes);
      const unsigned int b[2] = {words.x, words.y};
      const unsigned int rest_of_b[2] = {words.z, words.w};
#pragma unroll
      for (int tile = 0; tile < kWarpTiles; ++tile) {
        mma_k8_tf32(high[tile][eight], a[tile], b);
        mma_k8_tf32(low[tile][eight], a[tile], rest_of_b);
        mma_k8_tf32(low[tile][eight], rest[tile], b);
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, P::blocks_per_sm)
    mma_columns(const Element* __restrict__ x, const unsigned char* __restrict__ packed, float* __restrict__ products,
                int height, int width) {
  const long long plane = static_cast<long long>(input_rows(height)) * input_columns(width);  // pixels of an image
  const int tiles = static_cast<int>((plane + (kPixels - 1)) / kPixels);
  // Blocks that read the same pixels have adjacent indices.
  const int n_tile = blockIdx.x % kNTiles;
  const long long image = blockIdx.x / kNTiles / tiles;
  const long long first = static_cast<long long>(blockIdx.x / kNTiles % tiles) * kPixels;
  const unsigned char* weights = packed + static_cast<long long>(n_tile) * kKBlocks * kKBlockWeightBytes;
  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  const int thread = threadIdx.x;
  const int lane = thread % 32;
  Place place;
  place.channel = thread / kRowUnits;
  place.to = place.channel * (kRowPitch * 4) + thread % kRowUnits * P::copy_bytes;
  const long long own = first + thread % kRowUnits * (P::copy_bytes / 4);
  place.is_pixel = own < plane;
  place.from = x + (image * P::x_channels + place.channel) * plane + own;
#pragma unroll 1
  for (int stage = 0; stage < P::stages - 1; ++stage) {
    if (stage < kKBlocks) {
      stage_k_block(shared + stage * kStageBytes, place, weights, stage, plane, thread);
    }
    async_copy_commit();
  }
  Accumulators totals = {};
  Accumulators low = {};
  const int pixel = thread / 32 * (16 * kWarpTiles) + lane / 4;
  int stage = 0;
#pragma unroll 1
  for (int k_block = 0; k_block < kKBlocks; ++k_block) {
    async_copy_wait(P::stages - 2);
    __syncthreads();  // the stage has come, and all have read the one before it, whose place is that of the newest
    if (k_block + (P::stages - 1) < kKBlocks) {
      stage_k_block(shared + (stage == 0 ? P::stages - 1 : stage - 1) * kStageBytes, place, weights,
                    k_block + (P::stages - 1), plane, thread);
    }
    async_copy_commit();
    const unsigned char* from = shared + stage * kStageBytes;
    Accumulators high = {};
    multiply_stage(high, low, reinterpret_cast<const float*>(from) + lane % 4 * kRowPitch + pixel,
                   from + kInputBytes + lane * 16);
#pragma unroll
    for (int tile = 0; tile < kWarpTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < P::block_n / 2; ++i) {
        totals[tile][i / 4][i % 4] += high[tile][i / 4][i % 4];
      }
    }
    stage = stage + 1 == P::stages ? 0 : stage + 1;
  }
  // Of each column a plane of products. Infinities have no low parts: a total that isn't finite is the result.
  float* to = products + image * kColumns * plane;
#pragma unroll
  for (int tile = 0; tile < kWarpTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < P::block_n / 2; ++i) {
      const int column = n_tile * P::block_n + i / 4 * 8 + lane % 4 * 2 + i % 2;
      const long long at = first + pixel + tile * 16 + i % 4 / 2 * 8;
      if (at < plane && (kColumns % P::block_n == 0 || column < kColumns)) {
        const float total = totals[tile][i / 4][i % 4];
        to[column * plane + at] = is_finite(total) ? total + low[tile][i / 4][i % 4] : total;
      }
    }
  }
}

// ---- Adding ----
#include "device/epilogue.h"

// A thread adds the products of an output's taps.
extern "C" __global__ void __launch_bounds__(kAdders)
    add_columns(const float* __restrict__ products, const Element* __restrict__ bias, Element* __restrict__ y,
                int batch, int height, int width) {
  constexpr int kLastRow = P::kernel_h - 1;
  constexpr int kLastColumn = P::kernel_w - 1;
  const int in_h = input_rows(height);
  const int in_w = input_columns(width);
  const int out_h = output_rows(in_h);
  const int out_w = output_columns(in_w);
  const long long plane = static_cast<long long>(in_h) * in_w;
  const long long i = static_cast<long long>(blockIdx.x) * kAdders + threadIdx.x;
  const long long row = i / out_w;
  const long long channel = row / out_h;  // of all images
  if (channel < static_cast<long long>(batch) * P::out_channels) {
    const int end_w = static_cast<int>(i % out_w) + P::padding_w;
    const int end_h = static_cast<int>(row % out_h) + P::padding_h;
    const int co = static_cast<int>(channel % P::out_channels);
    const float* from = products + channel * kTaps * plane;
    float sum = 0;
    // Those of the output's phase, of taps (0 to {kLastRow}, 0 to {kLastColumn}).
    for (int kh = end_h % P::stride_h; kh < P::kernel_h; kh += P::stride_h) {
      const int iy = (end_h - kh) / P::stride_h;
      if (kh <= end_h && iy < in_h) {
        for (int kw = end_w % P::stride_w; kw < P::kernel_w; kw += P::stride_w) {
          const int ix = (end_w - kw) / P::stride_w;
          if (kw <= end_w && ix < in_w) {
            sum += from[(kh * P::kernel_w + kw) * plane + static_cast<long long>(iy) * in_w + ix];
          }
        }
      }
    }
    const long long skipped = P::y_channels == P::out_channels
                                  ? 0
                                  : channel / P::out_channels * (P::y_channels - P::out_channels) * out_h * out_w;
    y[i + skipped] = epilogue(sum, P::has_bias ? bias[co] : 0);
  }
}
